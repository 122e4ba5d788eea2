/* The begins and ends of descriptors' lifetimes in the order of time, for report. The call that made a
 * descriptor may be missing, because a ring overwrote it or it was shorter than the threshold. The lifetime
 * is there all the same, and says what the descriptor stands for from its begin on. Not every call that
 * closes a descriptor says its number, as fclose() does not. The end of the lifetime tells that the number
 * stands for nothing from there on, until a call or another lifetime says what it is; it may come back
 * unseen, as by a message.
 */
#ifndef FXT_TOOLS_FD_LIFETIMES_H
#define FXT_TOOLS_FD_LIFETIMES_H

#include "tools/reading/reader.h"

struct fxt_fd_begin {
	uint64_t ns, offset;
	struct fxt_provider *provider;
};

/* The begins and ends of lifetimes. When there are none, all members are zero. */
struct fxt_fd_lives {
	struct fxt_fd_begin *list;      /* sorted by time after fxt_fd_lives_sort() */
	size_t count, capacity, next;
};

/* Takes any event, in the order of the file. */
void fxt_fd_lives_take(struct fxt_fd_lives *l, const struct fxt_record *rec);
/* Sorts them. All events have been taken. */
void fxt_fd_lives_sort(struct fxt_fd_lives *l);
/* Decodes the next begin or end into `rec`, if it is not after until_ns; returns false otherwise. */
bool fxt_fd_lives_next(struct fxt_fd_lives *l, struct fxt_reader *r, uint64_t until_ns,
		       struct fxt_record *rec);
/* Returns the label that the lifetime gives the descriptor: its path or address, or a label that names
 * the kind of descriptor that the call makes. The caller frees it. */
char *fxt_fd_life_label(const struct fxt_record *rec);

/* Returns whether the lifetime says that this call made the descriptor. */
bool fxt_fd_life_is_made_by(const struct fxt_record *rec, const char *call);
/* Returns whether accept() made the descriptor, or it duplicates one that accept() made. */
bool fxt_fd_life_is_accepted(const struct fxt_record *rec);

/* Returns the label of a socket that has no address yet; type 0 means that its type is not known. The
 * caller frees it. */
char *fxt_socket_label(uint64_t domain, uint64_t type);

/* The characters of the longest label. */
enum { FXT_LABEL_COLUMNS = 512 };

/* Returns the label, or a copy that is cut in the middle if it is too long; the label is freed then. A
 * label that is made of another one, as that of a connection which was accepted, would otherwise grow
 * each time. */
char *fxt_short_label(char *label);

/* Cuts the port off an address. Clients use any port, so all ports of one address are one peer. */
char *fxt_address_without_port(char *address);

void fxt_fd_lives_free(struct fxt_fd_lives *l);

#endif
