/* Keeps the begins and ends of descriptors' lifetimes. See fd_lifetimes.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tools/descriptors/fd_lifetimes.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tools/common/message.h"
#include "tools/printing/print.h"

/* Returns whether the event ends a lifetime that may be that of a descriptor: nothing but its name tells. */
static bool may_end_descriptor(const struct fxt_record *rec)
{
	return rec->subtype == FXT_EVENT_ASYNC_END && !fxt_text_is(&rec->category, "malloc") &&
	       !fxt_text_is(&rec->category, "pthread") && !fxt_text_is(&rec->name, "child");
}

void fxt_fd_lives_take(struct fxt_fd_lives *l, const struct fxt_record *rec)
{
	if (!rec->known || rec->damaged ||
	    !(rec->subtype == FXT_EVENT_ASYNC_BEGIN ? fxt_argument(rec, "fd") && fxt_argument(rec, "call")
						    : may_end_descriptor(rec)))
		return;
	l->list = fxt_grow(l->list, &l->capacity, l->count + 1, sizeof(*l->list));
	l->list[l->count++] =
		(struct fxt_fd_begin){fxt_ns(rec->provider, rec->ticks), rec->offset, rec->provider};
}

static int by_time(const void *a, const void *b)
{
	const struct fxt_fd_begin *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

void fxt_fd_lives_sort(struct fxt_fd_lives *l)
{
	if (l->count)
		qsort(l->list, l->count, sizeof(*l->list), by_time);
}

bool fxt_fd_lives_next(struct fxt_fd_lives *l, struct fxt_reader *r, uint64_t until_ns,
		       struct fxt_record *rec)
{
	while (l->next < l->count && l->list[l->next].ns <= until_ns) {
		const struct fxt_fd_begin *begin = &l->list[l->next++];

		if (fxt_reader_event_at(r, begin->offset, begin->provider, rec))
			return true;
	}
	return false;
}

void fxt_fd_lives_free(struct fxt_fd_lives *l)
{
	free(l->list);
	*l = (struct fxt_fd_lives){0};
}

/* -- Labels ---------------------------------------------------------------------------------------- */

bool fxt_fd_life_is_made_by(const struct fxt_record *rec, const char *call)
{
	const struct fxt_text *made_by = fxt_argument_text(rec, "call");

	return made_by && fxt_text_is(made_by, call);
}

bool fxt_fd_life_is_accepted(const struct fxt_record *rec)
{
	return fxt_text_is(&rec->name, "connection") && !fxt_fd_life_is_made_by(rec, "connect");
}

char *fxt_short_label(char *label)
{
	struct fxt_text text = fxt_text_of(label);
	char *cut;

	if (text.bytes <= FXT_LABEL_COLUMNS)
		return label;
	cut = fxt_printable(&text, FXT_LABEL_COLUMNS, true);
	free(label);
	return cut;
}

char *fxt_address_without_port(char *address)
{
	char *port = strncmp(address, "unix:", 5) != 0 ? strrchr(address, ':') : NULL;

	if (port && port[1] && strspn(port + 1, "0123456789") == strlen(port + 1))
		*port = '\0';
	return address;
}

char *fxt_socket_label(uint64_t domain, uint64_t type)
{
	const char *family = domain == AF_UNIX	    ? "unix"
			     : domain == AF_INET    ? "IPv4"
			     : domain == AF_INET6   ? "IPv6"
			     : domain == AF_NETLINK ? "netlink"
						    : "other";

	return fxt_format("socket (%s%s)", family,
			  type == SOCK_STREAM ? " stream" : type == SOCK_DGRAM ? " datagram" : "");
}

/* Returns the label that the lifetime has as a text of its own, or NULL. The last text counts, because a
 * socket's address comes after what the socket was made with. */
static char *told_label(const struct fxt_record *rec)
{
	char *text = NULL, *label;

	for (unsigned i = 0; i < rec->arg_count; i++) {
		const struct fxt_argument *a = &rec->args[i];

		if (a->type != FXT_ARG_STRING || fxt_text_is(&a->name, "call") || !a->string.bytes)
			continue;
		free(text);
		text = fxt_printable(&a->string, FXT_LABEL_COLUMNS, true);
	}
	if (!text || !fxt_fd_life_is_accepted(rec))
		return text;
	label = fxt_format("accepted from %s", fxt_address_without_port(text));
	free(text);
	return label;
}

char *fxt_fd_life_label(const struct fxt_record *rec)
{
	const struct fxt_text *call = fxt_argument_text(rec, "call");
	char *told = told_label(rec);
	uint64_t domain;

	if (told)
		return told;
	if (fxt_text_is(&rec->name, "pipe"))
		return fxt_strdup("pipe");
	if (fxt_fd_life_is_made_by(rec, "socketpair"))
		return fxt_strdup("socketpair");
	if (fxt_text_is(&rec->name, "socket") && fxt_argument_u64(fxt_argument(rec, "domain"), &domain))
		return fxt_socket_label(domain, 0);
	if (fxt_argument(rec, "oldfd") || !call)
		return fxt_format("(%.*s)", (int)rec->name.bytes, rec->name.text);
	return fxt_format("(%.*s)", (int)call->bytes, call->text);
}
