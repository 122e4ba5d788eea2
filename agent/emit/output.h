/* Where the trace goes: FXT_OUTPUT with what it names put in. Called when the file is made. */
#ifndef FXT_OUTPUT_H
#define FXT_OUTPUT_H

#include "agent/base/agent.h"

/* Writes the path for this process to `path` (FXT_PATH_BYTES). False when it would be too long. */
bool fxt_output_path(char *path, const struct fxt_config *config, const char *program, uint32_t pid,
		     uint64_t start_seconds);

#endif
