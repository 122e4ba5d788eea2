/* The path of the trace file: FXT_OUTPUT with its placeholders filled in. Called when the file is made. */
#ifndef FXT_OUTPUT_H
#define FXT_OUTPUT_H

#include "agent/base/agent.h"

/* Writes the path for this process to `path`, which has FXT_PATH_BYTES. Returns false if the path would be
 * too long. */
bool fxt_output_path(char *path, const struct fxt_config *config, const char *program, uint32_t pid,
		     uint64_t start_seconds);

#endif
