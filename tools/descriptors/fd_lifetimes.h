/* The begins of descriptors' lifetimes in the order of time. The call that made a descriptor may be missing, overwritten in a ring or shorter
 * than the threshold; the lifetime is there, and says what the number stands for from its begin on. Called by report.
 */
#ifndef FXT_TOOLS_FD_LIFETIMES_H
#define FXT_TOOLS_FD_LIFETIMES_H

#include "tools/reading/reader.h"

struct fxt_fd_begin {
	uint64_t ns, offset;
	struct fxt_provider *provider;
};

/* All zero is the beginning. */
struct fxt_fd_lives {
	struct fxt_fd_begin *list;      /* sorted when the first is asked for */
	size_t count, capacity, next;
};

/* Any event, in the order of the file. */
void fxt_fd_lives_take(struct fxt_fd_lives *l, const struct fxt_record *rec);
/* All were taken. */
void fxt_fd_lives_sort(struct fxt_fd_lives *l);
/* The next begin, if it is no later than that. */
bool fxt_fd_lives_next(struct fxt_fd_lives *l, struct fxt_reader *r, uint64_t until_ns, struct fxt_record *rec);
/* What the lifetime calls the descriptor: its path or address, or as a label of the call that made it. Free it. */
char *fxt_fd_life_label(const struct fxt_record *rec);

bool fxt_fd_life_is_made_by(const struct fxt_record *rec, const char *call);
/* Whether it is one that accept() has made, or a duplicate of such. */
bool fxt_fd_life_is_accepted(const struct fxt_record *rec);

/* What a socket is called that has no address yet; type 0: not known. Free it. */
char *fxt_socket_label(uint64_t domain, uint64_t type);

/* The longest label. */
enum { FXT_LABEL_COLUMNS = 512 };

/* Cuts a longer one in the middle, and frees it then: one that is made of another, as of what was accepted on a connection, would grow
 * each time. */
char *fxt_short_label(char *label);

/* Cuts the port off an address: clients take any, so all of one address are one peer. */
char *fxt_address_without_port(char *address);

void fxt_fd_lives_free(struct fxt_fd_lives *l);

#endif
