/* What has to be known of an executable before anything is preloaded into it. Used by program.c.
 *
 * A few headers read by hand: that must work in every build of fxt, whatever libraries it was built with.
 */
#ifndef FXT_TOOLS_ELF_FACTS_H
#define FXT_TOOLS_ELF_FACTS_H

#include <stdbool.h>

struct fxt_elf_facts {
	int bits;                       /* 32 or 64 */
	bool our_machine;
	bool broken;                    /* its headers lead nowhere */
	bool is_go;
	char interpreter[256];          /* the loader it asks for; empty when it is static */
};

/* False if the file is no ELF file at all. */
bool fxt_elf_read(int fd, struct fxt_elf_facts *facts);

#endif
