/* Which file or socket a descriptor or stream stood for, at each moment. Called by report_files.c with
 * events in the order of time. Descriptors are handed on to children: fd_images.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "message.h"
#include "print.h"
#include "report.h"

/* Descriptors and streams are two spaces of numbers, of each process image. */
enum space { DESCRIPTORS, STREAMS };

static uint64_t space_of(const struct fxt_record *rec, enum space space)
{
	return (uint64_t)rec->provider->index << 1 | space;
}

static uint64_t argument(const struct fxt_record *rec, const char *name, uint64_t otherwise)
{
	uint64_t value;

	return fxt_argument_u64(fxt_argument(rec, name), &value) ? value : otherwise;
}

static char *text_argument(const struct fxt_record *rec, const char *name)
{
	const struct fxt_argument *a = fxt_argument(rec, name);

	return a && a->type == FXT_ARG_STRING && a->string.bytes ? fxt_printable(&a->string, 512, true)
								 : NULL;
}

/* Whether the descriptor that the call makes closes when a program is executed. */
static bool closes_on_exec(const struct fxt_record *rec)
{
	static const char *const always[] = {"mq_open", "shm_open", "pidfd_open", "pidfd_getfd"};
	const char *flags = strncmp(rec->name.text, "socket", rec->name.bytes < 6 ? rec->name.bytes : 6) == 0 ? "type" : "flags";
	uint64_t closes = fxt_text_is(&rec->name, "memfd_create") ? MFD_CLOEXEC : O_CLOEXEC;

	if (fxt_text_is(&rec->name, "fcntl"))
		return argument(rec, "cmd", 0) == F_DUPFD_CLOEXEC;
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		if (fxt_text_is(&rec->name, always[i]))
			return true;
	return argument(rec, flags, 0) & closes;
}

/* Whether the number is in the table that children begin with; others are known to the program alone. */
static bool is_inheritable(enum space space, uint64_t number)
{
	return space == DESCRIPTORS && number < FXT_FD_PAGES_MAX;
}

static void set(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec, enum space space,
		uint64_t number, size_t file, bool closes)
{
	struct fxt_fd_meaning meaning = {(uint32_t)file + 1, closes};
	struct fxt_slot *s;
	bool fresh;

	if (is_inheritable(space, number)) {
		fxt_fd_pages_set(fxt_fd_images_of(&f->images, r, rec), number, meaning);
		return;
	}
	s = fxt_map_put(&f->open, space_of(rec, space), number, &fresh);
	s->value[0] = file;
}

static void forget(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec, enum space space,
		   uint64_t number)
{
	struct fxt_slot *s;

	if (is_inheritable(space, number)) {
		fxt_fd_pages_set(fxt_fd_images_of(&f->images, r, rec), number, (struct fxt_fd_meaning){0});
		return;
	}
	s = fxt_map_find(&f->open, space_of(rec, space), number);
	if (s)
		fxt_map_remove(&f->open, s);
}

/* The file that is known to be behind a number. False: none is. */
static bool find(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec, enum space space,
		 uint64_t number, size_t *file)
{
	const struct fxt_slot *s;
	struct fxt_fd_meaning meaning;

	if (is_inheritable(space, number)) {
		meaning = fxt_fd_pages_get(*fxt_fd_images_of(&f->images, r, rec), number);
		*file = (size_t)meaning.file_and_1 - 1;
		return meaning.file_and_1;
	}
	s = fxt_map_find(&f->open, space_of(rec, space), number);
	*file = s ? s->value[0] : 0;
	return s;
}

/* A descriptor nobody was seen to open: inherited, or opened before the trace began. */
static char *unknown_label(const struct fxt_files *f, const struct fxt_reader *r,
			   const struct fxt_record *rec, enum space space, uint64_t number)
{
	static const char *const standard[] = {"stdin", "stdout", "stderr"};
	const struct fxt_object *object;

	if (space == STREAMS) {
		object = f->objects ? fxt_object_of(f->objects, r, rec, fxt_argument(rec, "stream")) : NULL;
		if (object)
			return object->path.bytes ? fxt_printable(&object->path, 512, true) : fxt_strdup(object->label);
		return fxt_format("stream 0x%" PRIx64, number);
	}
	if (number < 3)
		return fxt_strdup(standard[number]);
	return fxt_format("descriptor %" PRId64 " of %" PRIu64, (int64_t)number, r->threads[rec->thread].pid);
}

static size_t look_up(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
		      enum space space, uint64_t number)
{
	size_t file;

	if (find(f, r, rec, space, number, &file))
		return file;
	file = fxt_file_named(f, unknown_label(f, r, rec, space, number));
	/* Nobody knows that a program that is executed here has it as well. */
	set(f, r, rec, space, number, file, true);
	return file;
}

size_t fxt_file_of(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
		   const char *argument_name)
{
	static const char *const descriptors[] = {"fd", "sockfd", "fildes", "in_fd", "fd_in", "oldfd", "s"};
	const struct fxt_argument *stream = fxt_argument(rec, "stream");
	uint64_t number;

	/* printf and its like name no stream. */
	if (strncmp(argument_name, "std", 3) == 0)
		return fxt_file_named(f, fxt_strdup(argument_name));
	if (fxt_argument_u64(fxt_argument(rec, argument_name), &number))
		return look_up(f, r, rec, strcmp(argument_name, "stream") == 0 ? STREAMS : DESCRIPTORS,
			       number);
	if (fxt_argument_u64(stream, &number))
		return look_up(f, r, rec, STREAMS, number);
	for (size_t i = 0; i < sizeof(descriptors) / sizeof(descriptors[0]); i++) {
		if (fxt_argument_u64(fxt_argument(rec, descriptors[i]), &number))
			return look_up(f, r, rec, DESCRIPTORS, number);
	}
	return fxt_file_named(f, fxt_strdup("(unknown)"));
}

/* -- Labels of what is opened ---------------------------------------------------------------------- */

static char *path_label(const struct fxt_record *rec)
{
	static const char *const names[] = {"path", "pathname", "filename", "file",
					    "name", "command",	"template"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *path = text_argument(rec, names[i]);

		if (path)
			return path;
	}
	return NULL;
}

static char *socket_label(const struct fxt_record *rec)
{
	uint64_t domain = argument(rec, "domain", AF_UNSPEC);
	uint64_t type = argument(rec, "type", 0) & 0xf;
	const char *family = domain == AF_UNIX	    ? "unix"
			     : domain == AF_INET    ? "IPv4"
			     : domain == AF_INET6   ? "IPv6"
			     : domain == AF_NETLINK ? "netlink"
						    : "other";

	return fxt_format("socket (%s%s)", family,
			  type == SOCK_STREAM ? " stream" : type == SOCK_DGRAM ? " datagram" : "");
}

static char *accepted_label(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
			    const char *listener)
{
	char *peer = text_argument(rec, "addr"), *label, *port;
	/* On its own: it may move the list. */
	size_t file = fxt_file_of(f, r, rec, listener);

	if (!peer)
		return fxt_format("accepted on %s", f->list[file].label);
	/* Clients take any port: all of one address are one peer. */
	port = strrchr(peer, ':');
	if (port && port[1] && strspn(port + 1, "0123456789") == strlen(port + 1))
		*port = '\0';
	label = fxt_format("%s to %s", peer, f->list[file].label);
	free(peer);
	return label;
}

static bool succeeded(const struct fxt_record *rec, uint64_t *ret)
{
	*ret = argument(rec, "ret", UINT64_MAX);
	return (int64_t)*ret >= 0;
}

static void open_one(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec, enum space space, uint64_t number,
		     char *label)
{
	if (!label)
		label = fxt_format("(%.*s)", (int)rec->name.bytes, rec->name.text);
	set(f, r, rec, space, number, fxt_file_named(f, label), closes_on_exec(rec));
}

/* A socket is named for its address, and stays what it is otherwise. */
static void rename_one(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec, uint64_t number, char *label)
{
	bool closes = number < FXT_FD_PAGES_MAX && fxt_fd_pages_get(*fxt_fd_images_of(&f->images, r, rec), number).closes_on_exec;

	set(f, r, rec, DESCRIPTORS, number, fxt_file_named(f, label), closes);
}

/* What fcntl() says of a descriptor, by F_SETFD. */
static void set_flags(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec, uint64_t number)
{
	size_t file;

	if (find(f, r, rec, DESCRIPTORS, number, &file))
		set(f, r, rec, DESCRIPTORS, number, file, argument(rec, "arg", 0) & FD_CLOEXEC);
}

/* Both ends are one file: what is written to one is read from the other. */
static void open_pair(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec)
{
	static const char *const ends[] = {"fd1", "fd2"};
	const char *kind = fxt_text_is(&rec->name, "socketpair") ? "socketpair" : "pipe";

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		uint64_t number;

		if (fxt_argument_u64(fxt_argument(rec, ends[i]), &number))
			set(f, r, rec, DESCRIPTORS, number, fxt_file_named(f, fxt_strdup(kind)), closes_on_exec(rec));
	}
}

void fxt_file_table_take(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
			 const struct fxt_role *role)
{
	uint64_t ret, cmd = argument(rec, "cmd", UINT64_MAX);
	bool ok = succeeded(rec, &ret);
	char *address;

	switch (role->effect) {
	case FXT_EFFECT_OPEN:
		if (ok)
			open_one(f, r, rec, DESCRIPTORS, ret, path_label(rec));
		break;
	case FXT_EFFECT_OPEN_STREAM:
		if (ok && ret)
			open_one(f, r, rec, STREAMS, ret, path_label(rec));
		break;
	case FXT_EFFECT_STREAM_OF:
		if (ok && ret)
			set(f, r, rec, STREAMS, ret, fxt_file_of(f, r, rec, role->argument), false);
		break;
	case FXT_EFFECT_SOCKET:
		if (ok)
			open_one(f, r, rec, DESCRIPTORS, ret, socket_label(rec));
		break;
	case FXT_EFFECT_SPECIAL:
		if (ok)
			open_one(f, r, rec, DESCRIPTORS, ret, NULL);
		break;
	case FXT_EFFECT_ACCEPT:
		if (ok)
			open_one(f, r, rec, DESCRIPTORS, ret, accepted_label(f, r, rec, role->argument));
		break;
	case FXT_EFFECT_ADDRESS:
		/* What the kernel has chosen, or what was asked for. */
		address = text_argument(rec, "bound");
		if (!address)
			address = text_argument(rec, "addr");
		if (address)
			rename_one(f, r, rec, argument(rec, role->argument, UINT64_MAX), address);
		break;
	case FXT_EFFECT_PAIR: open_pair(f, r, rec); break;
	case FXT_EFFECT_FCNTL:
		if (cmd == F_SETFD && ok)
			set_flags(f, r, rec, argument(rec, role->argument, UINT64_MAX));
		if (cmd != F_DUPFD && cmd != F_DUPFD_CLOEXEC)
			break;
		/* fall through */
	case FXT_EFFECT_DUP:
		if (ok)
			set(f, r, rec, DESCRIPTORS, ret, fxt_file_of(f, r, rec, role->argument), closes_on_exec(rec));
		break;
	case FXT_EFFECT_CLOSE: forget(f, r, rec, DESCRIPTORS, argument(rec, role->argument, UINT64_MAX)); break;
	case FXT_EFFECT_CLOSE_STREAM:
		forget(f, r, rec, STREAMS, argument(rec, role->argument, UINT64_MAX));
		break;
	default: break;
	}
}
