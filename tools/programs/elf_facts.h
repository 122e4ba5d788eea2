/* Finds out what has to be known of an executable before anything is preloaded into it. program.c calls
 * it, for the agent's own library too. The file is read with libelf and may be damaged in any way. */
#ifndef FXT_TOOLS_ELF_FACTS_H
#define FXT_TOOLS_ELF_FACTS_H

#include <stdbool.h>

struct fxt_elf_facts {
	int bits;                       /* 32 or 64 */
	bool our_machine;
	bool broken;                    /* its headers are damaged */
	bool is_go;                     /* it is a Go program */
	char interpreter[256];          /* the loader it asks for; empty when it is static */
	bool is_loader;                 /* it is glibc's loader, which loads a program if it is run */
	/* the sanitizer's library that it needs, to be loaded first; or empty */
	char sanitizer[64];
};

/* Sets *facts. Returns false if the file does not begin as an ELF file does. */
bool fxt_elf_read(int fd, struct fxt_elf_facts *facts);

/* Returns whether there is such a file of 64 bits, and it ends before its headers say that it does: it was
 * cut off, perhaps while programs used it. */
bool fxt_elf_is_cut(const char *path);

#endif
