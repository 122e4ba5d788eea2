/* What heir.c, heir_saves.c and heir_moves.c share: the will, which is memory of the manager and its heir. */
#ifndef FXT_TOOLS_HEIR_PARTS_H
#define FXT_TOOLS_HEIR_PARTS_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "gates.h"
#include "writer/provider.h"

enum { FXT_BEQUESTS = FXT_GATES_MOST };

/* The memory of one provider, which the manager has mapped. The numbers are those of the manager's table of
 * descriptors. */
struct fxt_bequest {
	_Atomic int memory;             /* one more than its descriptor; 0: this is nobody's */
	_Atomic int connection;         /* -1: there is none */
	int process;                    /* a pidfd; -1: there is none */
	pid_t pid;
	uint32_t koid;                  /* the process's id in its trace */
	_Atomic bool is_wanted;         /* it has records of the session, of which some may not be saved */
	char name[FXT_PROVIDER_NAME_BYTES + 1];
};

/* A pass of saving that ends right now: if the memory of this provider has counted it, it has ended, and the
 * file is so long. */
struct fxt_ending_pass {
	_Atomic uint32_t whose;         /* one more than the number of the bequest; 0: there is none */
	uint32_t number;                /* of the pass */
	bool is_end;                    /* nothing is left of the memory then */
	uint64_t bytes;
};

struct fxt_will {
	_Atomic uint32_t is_over;       /* the manager has ended in peace */
	_Atomic uint32_t session;       /* its number; 0: there is none */
	/* The archive: `bytes` of it are what programs were told to be saved. More may follow, which is in
	 * their memories as well. A descriptor may have become another file's. */
	_Atomic int fd, final_fd;       /* -1: there is none */
	dev_t device;
	ino_t inode;
	_Atomic uint64_t bytes;
	char path[PATH_MAX];            /* empty: nobody knows it */
	struct fxt_ending_pass ending;
	struct fxt_bequest list[FXT_BEQUESTS];
};

struct fxt_client;

/* Goes on in the file to which a program was moving its memory when it was killed: puts there what the file
 * has not. The memory is mapped. Returns false, and writes nothing, if there is no such file. */
bool fxt_heir_completes(const struct fxt_client *p);

/* Takes the place of a manager that was killed, in a process that has its descriptors: saves what programs
 * leave that are over, or that end without having noticed. Returns when all others go on by themselves. */
void fxt_heir_inherit(struct fxt_will *will, const char *socket, const char *secret);

#endif
