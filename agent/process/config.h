/* The configuration, from the environment: libfxtagent(7) is its reference. Called once at start. */
#ifndef FXT_CONFIG_H
#define FXT_CONFIG_H

#include "agent/base/agent.h"

/* Reads FXT_* from `environment` into *config. False when one of them is wrong: the user has been told which,
 * what was wrong with it and what is accepted. */
bool fxt_config_read(struct fxt_config *config, char **environment);

#endif
