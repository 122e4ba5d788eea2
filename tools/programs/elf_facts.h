/* What has to be known of an executable before anything is preloaded into it. Used by program.c,
 * also of the agent's own library. The file is read with libelf and may be damaged in any way. */
#ifndef FXT_TOOLS_ELF_FACTS_H
#define FXT_TOOLS_ELF_FACTS_H

#include <stdbool.h>

struct fxt_elf_facts {
	int bits;                       /* 32 or 64 */
	bool our_machine;
	bool broken;                    /* its headers lead nowhere */
	bool is_go;
	char interpreter[256];          /* the loader it asks for; empty when it is static */
	char sanitizer[64];             /* the runtime library of one that it needs, which wants to be the first; or empty */
};

/* False if the file is no ELF file at all: it does not begin as one. */
bool fxt_elf_read(int fd, struct fxt_elf_facts *facts);

#endif
