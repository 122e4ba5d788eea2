/* The functions of a module that have room for a call at their entry. patch.c patches those of them that are
 * chosen; it calls these functions at start, with signals blocked, apart from the program's descriptors.
 */
#ifndef FXT_PATCH_SITES_H
#define FXT_PATCH_SITES_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct link_map;

enum {
	FXT_PATCH_NOP = 0x90, FXT_PATCH_TRAP = 0xcc,
	FXT_PATCH_CALL_BYTES = 5,
};

/* A function that the section lists. */
struct fxt_patch_site {
	uintptr_t listed;               /* the address of its first NOP */
	uintptr_t call;                 /* the address to put the call at; 0: it is not chosen */
	size_t bytes;                   /* the bytes of the function from there on */
	size_t room;                    /* the bytes of the NOPs that the call takes the place of */
};

/* A module whose file is mapped. */
struct fxt_patch_module {
	const struct link_map *object;
	uintptr_t bias;                 /* address in memory less address in the file */
	const char *file;
	size_t bytes;
	const Elf64_Ehdr *header;
	const Elf64_Phdr *segments;
	const char *name;               /* the file's name without directories */
	struct fxt_patch_site *sites;             /* sorted by their listed addresses */
	size_t count, chosen, site_bytes;
	/* Some functions have too few NOPs. So the NOPs of others may be there for another reason. */
	bool is_mixed;
};

/* Maps the file of a module, whose `object` and `bias` are set. Returns false if it cannot be used; there is
 * nothing to close then. */
bool fxt_patch_open(struct fxt_patch_module *module);
/* Finds the sites. Returns false if there are none, or if the file is not the one in memory. */
bool fxt_patch_read(struct fxt_patch_module *module);
/* Chooses sites by the rules of FXT_PATCH; module->name is set. */
void fxt_patch_choose(struct fxt_patch_module *module);
void fxt_patch_close(struct fxt_patch_module *module);

/* Returns the segment that has so many bytes of the file at this address of the module, and has these flags.
 * Returns NULL if there is none. */
const Elf64_Phdr *fxt_patch_segment(const struct fxt_patch_module *module, uintptr_t address, uint64_t bytes,
				    unsigned flags);

#endif
