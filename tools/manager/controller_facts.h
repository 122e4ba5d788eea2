/* What a session is made of, as controllers are told: controller.c sends it. */
#ifndef FXT_TOOLS_CONTROLLER_FACTS_H
#define FXT_TOOLS_CONTROLLER_FACTS_H

#include <jansson.h>

#include "trace_session.h"

/* Return the results of get_known_categories and get_providers. */
json_t *fxt_controller_known_categories(void);
json_t *fxt_controller_providers(const struct fxt_session *session);

/* Returns StopResult, with the statistics of each provider as they are at this moment. */
json_t *fxt_controller_stop_result(const struct fxt_session *session);

#endif
