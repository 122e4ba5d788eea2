/* What processes have mapped to run it, as the kernel's records tell it: which file an address of a process
 * is in, and where in the file. */
#ifndef FXT_TOOLS_SPACES_H
#define FXT_TOOLS_SPACES_H

#include "mapped_module.h"
#include "tools/common/map.h"
#include "tools/programs/perf_map.h"

struct fxt_mapping {
	uint64_t start, end, offset;    /* the addresses, and the offset in the file where it begins */
	struct fxt_module *module;
};

/* The mappings of a process, by their addresses. */
struct fxt_space {
	struct fxt_mapping *list;
	size_t count, capacity;
	bool is_traced;                 /* the agent's library is among them */
	bool has_rings; /* the trace says that it uses io_uring */
	struct fxt_perf_map made;       /* functions that the program has made while it ran */
	struct fxt_map words;           /* words of memory that do not change, by address: unwind_stack.h */
};

/* All members are zero at first. */
struct fxt_spaces {
	struct fxt_space **list;
	size_t count, capacity;
	struct fxt_map by_pid;
	struct fxt_modules modules;
};

/* Returns the space of a process, which is made if there is none. */
struct fxt_space *fxt_space_of(struct fxt_spaces *spaces, uint32_t pid);

/* Adds a mapping; what it covers is gone. `path` is as the kernel names it. */
void fxt_space_map(struct fxt_spaces *spaces, struct fxt_space *space, uint64_t start, uint64_t bytes,
		   uint64_t offset, const char *path, uint64_t inode);

/* Reads the mappings that a process has now, from /proc. */
void fxt_space_read(struct fxt_spaces *spaces, struct fxt_space *space, uint32_t pid);

/* The process has executed a program, and has nothing mapped any more. */
void fxt_space_clear(struct fxt_space *space);

/* The process has ended. */
void fxt_space_free(struct fxt_space *space);

/* A child has what its parent has. */
void fxt_space_copy(struct fxt_space *child, const struct fxt_space *parent);

/* Returns the mapping of an address, or NULL. */
const struct fxt_mapping *fxt_space_find(const struct fxt_space *space, uint64_t address);

void fxt_spaces_free(struct fxt_spaces *spaces);

#endif
