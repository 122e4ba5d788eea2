/* The configuration, which is read from the environment once, at start. libfxtagent(7) is its reference. */
#ifndef FXT_CONFIG_H
#define FXT_CONFIG_H

#include "agent/base/agent.h"

/* Reads the variables FXT_* from `environment` into *config. Returns false if one of them is wrong: then the
 * user has been told which one, what is wrong with it, and what is accepted. */
bool fxt_config_read(struct fxt_config *config, char **environment);

#endif
