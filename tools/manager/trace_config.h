/* The parameters of the controller's methods, from JSON. controller.c calls these functions. Each returns
 * NULL, or a text that says what is wrong and what is accepted, which the caller frees. */
#ifndef FXT_TOOLS_TRACE_CONFIG_H
#define FXT_TOOLS_TRACE_CONFIG_H

#include <jansson.h>
#include <stdbool.h>

#include "trace_session.h"

/* TraceConfig. `*defers` gets defer_transfer. If it fails, nothing is to be freed. */
char *fxt_trace_config_read(struct fxt_trace_config *config, bool *defers, const json_t *params);

/* StartOptions. The caller frees `*categories`, which is NULL if there are none. */
char *fxt_start_options_read(enum fxt_buffer_disposition *disposition, char **categories,
			     const json_t *params);

/* StopOptions. */
char *fxt_stop_options_read(bool *writes_results, const json_t *params);

#endif
