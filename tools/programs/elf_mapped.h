/* What an executable or library says of itself that tracers tell of what a program has mapped. The file is
 * read with libelf and may be damaged in any way. */
#ifndef FXT_TOOLS_ELF_MAPPED_H
#define FXT_TOOLS_ELF_MAPPED_H

#include <stdbool.h>
#include <stdint.h>

struct fxt_elf_mapped {
	uint64_t low, bytes;            /* where it lies in memory, from where it was loaded on */
	bool is_pic;                    /* it may lie anywhere */
	char link[256];                 /* the file with its debug information (.gnu_debuglink); or empty */
	uint32_t link_crc;
};

/* Reads the file at the path, if it has this build id; NULL: that is not known. Returns false if there is no
 * such file. */
bool fxt_elf_mapped_read(const char *path, const char *build_id, struct fxt_elf_mapped *m);

#endif
