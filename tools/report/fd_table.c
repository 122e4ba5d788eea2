/* Keeps what descriptors and streams stand for. report_files.c calls this in the order of time (report.h). */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "report.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

/* Each program has two spaces of numbers: descriptors and streams. */
enum space { DESCRIPTORS, STREAMS };

/* Returns the space of the program that made the event. It is another one after each gap (gaps.h). */
static uint64_t space_of(const struct fxt_files *f, const struct fxt_record *rec, enum space space)
{
	const struct fxt_slot *gaps =
		f->gaps.used ? fxt_map_find(&f->gaps, rec->provider->index, 0) : NULL;

	return (gaps ? gaps->value[0] : 0) << 33 | (uint64_t)rec->provider->index << 1 | space;
}

static char *text_argument(const struct fxt_record *rec, const char *name)
{
	const struct fxt_text *text = fxt_argument_text(rec, name);

	return text && text->bytes ? fxt_printable(text, FXT_LABEL_COLUMNS, true) : NULL;
}

/* Returns whether the descriptor that the call makes closes on exec. */
static bool closes_on_exec(const struct fxt_record *rec)
{
	static const char *const always[] = {"mq_open", "shm_open", "pidfd_open", "pidfd_getfd"};
	const char *flags = strncmp(rec->name.text, "socket", rec->name.bytes < 6 ? rec->name.bytes : 6) == 0
				    ? "type" : "flags";
	uint64_t closes = fxt_text_is(&rec->name, "memfd_create") ? MFD_CLOEXEC : O_CLOEXEC;

	if (fxt_text_is(&rec->name, "fcntl"))
		return fxt_argument_or(rec, "cmd", 0) == F_DUPFD_CLOEXEC;
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		if (fxt_text_is(&rec->name, always[i]))
			return true;
	return fxt_argument_or(rec, flags, 0) & closes;
}

/* Returns whether the number is in the table that children begin with. Other numbers are not handed on. */
static bool is_inheritable(enum space space, uint64_t number)
{
	return space == DESCRIPTORS && number < FXT_FD_PAGES_MAX;
}

static void set(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
		enum space space, uint64_t number, struct fxt_fd_meaning meaning)
{
	struct fxt_slot *s;
	bool fresh;

	if (is_inheritable(space, number)) {
		fxt_fd_pages_set(fxt_fd_images_of(&f->images, r, rec), number, meaning);
		return;
	}
	s = fxt_map_put(&f->open, space_of(f, rec, space), number, &fresh);
	s->value[0] = meaning.file_and_1;
	s->value[1] = meaning.description;
}

static void forget(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
		   enum space space, uint64_t number)
{
	struct fxt_slot *s;

	if (is_inheritable(space, number)) {
		fxt_fd_pages_set(fxt_fd_images_of(&f->images, r, rec), number, (struct fxt_fd_meaning){0});
		return;
	}
	s = fxt_map_find(&f->open, space_of(f, rec, space), number);
	if (s)
		fxt_map_remove(&f->open, s);
}

/* Returns what is known of a number. */
static struct fxt_fd_meaning meaning_of(struct fxt_files *f, const struct fxt_reader *r,
					const struct fxt_record *rec, enum space space, uint64_t number)
{
	struct fxt_fd_meaning meaning = {0};
	const struct fxt_slot *s;

	if (is_inheritable(space, number))
		return fxt_fd_pages_get(*fxt_fd_images_of(&f->images, r, rec), number);
	s = fxt_map_find(&f->open, space_of(f, rec, space), number);
	if (s) {
		meaning.file_and_1 = (uint32_t)s->value[0];
		meaning.description = (uint32_t)s->value[1];
	}
	return meaning;
}

/* Returns what is known of a number, and gives it an open file description if it has none. */
static struct fxt_fd_meaning described(struct fxt_files *f, const struct fxt_reader *r,
				       const struct fxt_record *rec, enum space space, uint64_t number)
{
	struct fxt_fd_meaning meaning = meaning_of(f, r, rec, space, number);

	if (!meaning.description) {
		meaning.description = fxt_fd_modes_open(&f->images.modes, FXT_FD_MODE_UNKNOWN, false);
		set(f, r, rec, space, number, meaning);
	}
	return meaning;
}

/* Returns the label of a descriptor that was inherited or opened before the trace began. */
static char *unknown_label(const struct fxt_files *f, const struct fxt_reader *r,
			   const struct fxt_record *rec, enum space space, uint64_t number)
{
	static const char *const standard[] = {"stdin", "stdout", "stderr"};
	const struct fxt_object *object;

	if (space == STREAMS) {
		object = f->objects ? fxt_object_of(f->objects, r, rec, fxt_argument(rec, "stream")) : NULL;
		if (object)
			return object->path.bytes ? fxt_printable(&object->path, FXT_LABEL_COLUMNS, true)
						  : fxt_strdup(object->label);
		return fxt_format("stream 0x%" PRIx64, number);
	}
	if (number < FXT_FD_STANDARD)
		return fxt_strdup(standard[number]);
	return fxt_format("descriptor %" PRId64 " of %" PRIu64, (int64_t)number,
			  fxt_number(r, r->threads[rec->thread].pid));
}

static size_t look_up(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
		      enum space space, uint64_t number)
{
	struct fxt_fd_meaning meaning = meaning_of(f, r, rec, space, number);

	if (meaning.file_and_1)
		return (size_t)meaning.file_and_1 - 1;
	meaning.file_and_1 = (uint32_t)fxt_file_named(f, unknown_label(f, r, rec, space, number)) + 1;
	/* Programs that are executed here are known to have the standard descriptors, but no others. */
	meaning.closes_on_exec = number >= FXT_FD_STANDARD;
	set(f, r, rec, space, number, meaning);
	return (size_t)meaning.file_and_1 - 1;
}

size_t fxt_file_of(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
		   const char *argument_name)
{
	static const char *const descriptors[] = {"fd", "sockfd", "fildes", "in_fd", "fd_in", "oldfd", "s"};
	const struct fxt_argument *stream = fxt_argument(rec, "stream");
	uint64_t number;

	/* printf and its like have no argument for the stream. */
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

static char *accepted_label(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
			    const char *listener)
{
	char *peer = text_argument(rec, "addr"), *label;
	/* This is a statement of its own, because it may move the list. */
	size_t file = fxt_file_of(f, r, rec, listener);

	if (!peer)
		return fxt_short_label(fxt_format("accepted on %s", f->list[file].label));
	label = fxt_format("%s to %s", fxt_address_without_port(peer), f->list[file].label);
	free(peer);
	return fxt_short_label(label);
}

static bool succeeded(const struct fxt_record *rec, uint64_t *ret)
{
	*ret = fxt_argument_or(rec, "ret", UINT64_MAX);
	return (int64_t)*ret >= 0;
}

/* -- Modes ---------------------------------------------------------------------------------------------- */

/* Returns the mode in which the call opens a descriptor. */
static enum fxt_fd_mode opened_mode(const struct fxt_record *rec)
{
	const char *flags = fxt_text_is(&rec->name, "socket") || fxt_text_is(&rec->name, "socketpair")
				    ? "type" : fxt_text_is(&rec->name, "mq_open") ? "oflag" : "flags";
	uint64_t nonblocking = fxt_text_is(&rec->name, "fanotify_init") ? FAN_NONBLOCK : O_NONBLOCK;

	/* It duplicates another process's descriptor, and has the mode of that. */
	if (fxt_text_is(&rec->name, "pidfd_getfd"))
		return FXT_FD_MODE_UNKNOWN;
	return fxt_argument_or(rec, flags, 0) & nonblocking ? FXT_FD_NONBLOCKING : FXT_FD_BLOCKING;
}

static bool begins_with(const struct fxt_text *text, const char *start)
{
	size_t bytes = strlen(start);

	return text->bytes >= bytes && memcmp(text->text, start, bytes) == 0;
}

/* Returns the key in `fifos`: a FIFO's lifetime begins when the call that opened it ends. */
static uint64_t opened_key(const struct fxt_record *rec, uint64_t number)
{
	return (uint64_t)rec->provider->index << 32 | (uint32_t)number;
}

void fxt_files_begin(struct fxt_files *f, const struct fxt_record *rec)
{
	const struct fxt_text *call = fxt_argument_text(rec, "call");
	bool fresh;

	if (fxt_text_is(&rec->name, "pipe") && call && begins_with(call, "open"))
		fxt_map_put(&f->fifos, opened_key(rec, fxt_argument_or(rec, "fd", 0)),
			    fxt_ns(rec->provider, rec->ticks), &fresh);
}

/* Returns whether a path led to a regular file, which ignores its mode. Nothing in /dev is taken for one. */
static bool is_on_disk(struct fxt_files *f, const struct fxt_record *rec, uint64_t number)
{
	const struct fxt_text *path = fxt_argument_text(rec, "pathname");

	if (fxt_text_is(&rec->name, "mq_open") || fxt_text_is(&rec->name, "popen") ||
	    fxt_map_find(&f->fifos, opened_key(rec, number), fxt_ns(rec->provider, rec->extra)))
		return false;
	return !path || !begins_with(path, "/dev/") || begins_with(path, "/dev/shm/");
}

static void set_mode(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
		     uint64_t number, uint64_t flags)
{
	fxt_fd_modes_set(&f->images.modes, described(f, r, rec, DESCRIPTORS, number).description,
			 flags & O_NONBLOCK);
}

/* Takes what fcntl() says of a descriptor and of its description. */
static void take_fcntl(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
		       uint64_t number)
{
	struct fxt_fd_meaning meaning = meaning_of(f, r, rec, DESCRIPTORS, number);
	uint64_t arg = fxt_argument_or(rec, "arg", 0);

	switch (fxt_argument_or(rec, "cmd", UINT64_MAX)) {
	case F_SETFD:
		meaning.closes_on_exec = arg & FD_CLOEXEC;
		if (meaning.description || meaning.file_and_1)
			set(f, r, rec, DESCRIPTORS, number, meaning);
		break;
	case F_SETFL: set_mode(f, r, rec, number, arg); break;
	case F_GETFL: set_mode(f, r, rec, number, fxt_argument_or(rec, "ret", 0)); break;
	default: break;
	}
}

/* Returns the description of what an argument names; 0: nothing is known. */
static uint32_t description_of(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
			       const char *name)
{
	static const char *const standard[] = {"stdin", "stdout", "stderr"};
	bool is_stream = strcmp(name, "stream") == 0;
	const struct fxt_object *object = NULL;
	uint64_t number;

	if (fxt_argument_u64(fxt_argument(rec, name), &number)) {
		uint32_t description =
			meaning_of(f, r, rec, is_stream ? STREAMS : DESCRIPTORS, number).description;

		if (description || !is_stream)
			return description;
		object = f->objects ? fxt_object_of(f->objects, r, rec, fxt_argument(rec, name)) : NULL;
	}
	/* Roles of printf() and its like name the stream. Labels of others name its variable. */
	for (number = 0; number < FXT_FD_STANDARD; number++)
		if (strcmp(standard[number], object ? object->label : name) == 0)
			return meaning_of(f, r, rec, DESCRIPTORS, number).description;
	return 0;
}

/* Returns whether the call moves bytes or may wait for a peer, as an open does for a FIFO's other end. */
static bool goes_by_mode(const struct fxt_role *role)
{
	enum fxt_effect effect = role->effect;

	/* vmsplice has a flag of its own for that, and waits without it. */
	if (strcmp(role->name, "vmsplice") == 0)
		return false;
	return effect == FXT_EFFECT_OPEN || effect == FXT_EFFECT_ACCEPT || effect == FXT_EFFECT_CONNECT ||
	       (effect >= FXT_EFFECT_READ && effect != FXT_EFFECT_USE);
}

enum fxt_fd_mode fxt_file_mode(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
			       const struct fxt_role *role)
{
	const char *other = fxt_argument(rec, "out_fd") ? "out_fd" : "fd_out";
	bool has_other = role->effect == FXT_EFFECT_COPY || fxt_argument(rec, other);
	enum fxt_fd_mode mode;

	if (!goes_by_mode(role))
		return FXT_FD_MODE_UNKNOWN;
	mode = fxt_fd_modes_get(&f->images.modes, description_of(f, r, rec, role->argument));
	if (has_other && mode != fxt_fd_modes_get(&f->images.modes, description_of(f, r, rec, other)))
		return FXT_FD_MODE_UNKNOWN;
	return mode;
}

/* -- What is opened, duplicated and closed -------------------------------------------------------------- */

static void open_one(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
		     enum space space, uint64_t number, char *label, bool ignores_mode)
{
	struct fxt_fd_meaning meaning = {.closes_on_exec = closes_on_exec(rec)};

	if (!label)
		label = fxt_format("(%.*s)", (int)rec->name.bytes, rec->name.text);
	meaning.file_and_1 = (uint32_t)fxt_file_named(f, label) + 1;
	meaning.description = fxt_fd_modes_open(&f->images.modes, opened_mode(rec), ignores_mode);
	set(f, r, rec, space, number, meaning);
}

/* Names a socket for its address, and keeps all else about it. */
static void rename_one(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
		       uint64_t number)
{
	struct fxt_fd_meaning meaning = meaning_of(f, r, rec, DESCRIPTORS, number);
	/* This is the address that the kernel has chosen, or that was asked for. */
	char *address = text_argument(rec, "bound");

	if (!address)
		address = text_argument(rec, "addr");
	if (!address)
		return;
	meaning.file_and_1 = (uint32_t)fxt_file_named(f, address) + 1;
	set(f, r, rec, DESCRIPTORS, number, meaning);
}

/* Makes another number or stream for what the argument names. */
static void share(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
		  enum space space, uint64_t number, const char *name)
{
	struct fxt_fd_meaning meaning = {.closes_on_exec = closes_on_exec(rec)};
	uint64_t old = UINT64_MAX;

	meaning.file_and_1 = (uint32_t)fxt_file_of(f, r, rec, name) + 1;
	if (fxt_argument_u64(fxt_argument(rec, name), &old))
		meaning.description = described(f, r, rec, DESCRIPTORS, old).description;
	set(f, r, rec, space, number, meaning);
	/* Closing a stream closes its descriptor too. */
	if (space == STREAMS && is_inheritable(DESCRIPTORS, old))
		fxt_map_find(&f->open, space_of(f, rec, STREAMS), number)->value[1] |= (old + 1) << 32;
}

static void close_stream(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
			 uint64_t number)
{
	const struct fxt_slot *s = fxt_map_find(&f->open, space_of(f, rec, STREAMS), number);

	if (s && s->value[1] >> 32)
		forget(f, r, rec, DESCRIPTORS, (s->value[1] >> 32) - 1);
	forget(f, r, rec, STREAMS, number);
}

/* Makes both ends one file, because what is written to one is read from the other. */
static void open_pair(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec)
{
	static const char *const ends[] = {"fd1", "fd2"};
	const char *kind = fxt_text_is(&rec->name, "socketpair") ? "socketpair" : "pipe";

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		uint64_t number;

		if (fxt_argument_u64(fxt_argument(rec, ends[i]), &number))
			open_one(f, r, rec, DESCRIPTORS, number, fxt_strdup(kind), false);
	}
}

void fxt_file_table_take(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec,
			 const struct fxt_role *role)
{
	uint64_t ret, cmd = fxt_argument_or(rec, "cmd", UINT64_MAX),
		      number = fxt_argument_or(rec, role->argument, UINT64_MAX);
	bool ok = succeeded(rec, &ret);

	switch (role->effect) {
	case FXT_EFFECT_OPEN:
		if (ok)
			open_one(f, r, rec, DESCRIPTORS, ret, path_label(rec), is_on_disk(f, rec, ret));
		break;
	case FXT_EFFECT_OPEN_STREAM:
		if (ok && ret)
			open_one(f, r, rec, STREAMS, ret, path_label(rec), is_on_disk(f, rec, ret));
		break;
	case FXT_EFFECT_STREAM_OF:
		if (ok && ret)
			share(f, r, rec, STREAMS, ret, role->argument);
		break;
	case FXT_EFFECT_SOCKET:
		if (ok)
			open_one(f, r, rec, DESCRIPTORS, ret,
				 fxt_socket_label(fxt_argument_or(rec, "domain", AF_UNSPEC),
						  fxt_argument_or(rec, "type", 0) & 0xf), false);
		break;
	case FXT_EFFECT_SPECIAL:
		/* A signalfd() that changes an existing descriptor opens none. */
		if (ok && !(fxt_text_is(&rec->name, "signalfd") && (int)fxt_argument_or(rec, "fd", 0) >= 0))
			open_one(f, r, rec, DESCRIPTORS, ret, NULL,
				 fxt_text_is(&rec->name, "open_by_handle_at"));
		break;
	case FXT_EFFECT_ACCEPT:
		if (ok)
			open_one(f, r, rec, DESCRIPTORS, ret, accepted_label(f, r, rec, role->argument),
				 false);
		break;
	case FXT_EFFECT_CONNECT:
	case FXT_EFFECT_ADDRESS: rename_one(f, r, rec, number); break;
	case FXT_EFFECT_PAIR: open_pair(f, r, rec); break;
	case FXT_EFFECT_FCNTL:
		if (ok)
			take_fcntl(f, r, rec, number);
		if (cmd != F_DUPFD && cmd != F_DUPFD_CLOEXEC)
			break;
		/* fall through */
	case FXT_EFFECT_DUP:
		if (ok)
			share(f, r, rec, DESCRIPTORS, ret, role->argument);
		break;
	case FXT_EFFECT_IOCTL:
		if (ok && fxt_argument(rec, "arg"))
			set_mode(f, r, rec, number, fxt_argument_or(rec, "arg", 0) ? O_NONBLOCK : 0);
		break;
	case FXT_EFFECT_MODE:
		if (ok && fxt_argument(rec, "newattr"))
			set_mode(f, r, rec, number, fxt_argument_or(rec, "newattr", 0));
		break;
	case FXT_EFFECT_CLOSE: forget(f, r, rec, DESCRIPTORS, number); break;
	case FXT_EFFECT_CLOSE_RANGE:
		if (!fxt_argument(rec, "errno"))
			fxt_fd_pages_close(fxt_fd_images_of(&f->images, r, rec), number,
					   fxt_argument_or(rec, "last", UINT64_MAX),
					   fxt_argument_or(rec, "flags", 0) & CLOSE_RANGE_CLOEXEC);
		break;
	case FXT_EFFECT_CLOSE_STREAM: close_stream(f, r, rec, number); break;
	default: break;
	}
}

/* The lifetime ends. If the number has none that began later, it stands for nothing now. */
static void end(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec)
{
	struct fxt_slot *s = fxt_map_find(&f->lifetimes, rec->provider->index, rec->extra);
	const struct fxt_slot *last;

	if (!s)
		return;
	last = fxt_map_find(&f->last_lifetime, rec->provider->index, s->value[0]);
	if (last && last->value[0] == rec->extra)
		forget(f, r, rec, DESCRIPTORS, s->value[0]);
	fxt_map_remove(&f->lifetimes, s);
}

void fxt_file_table_begin(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec)
{
	uint64_t number = fxt_argument_or(rec, "fd", UINT64_MAX), old;
	bool is_duplicate = fxt_argument_u64(fxt_argument(rec, "oldfd"), &old), fresh;
	struct fxt_fd_meaning meaning = {0};

	if (rec->subtype == FXT_EVENT_ASYNC_END) {
		end(f, r, rec);
		return;
	}
	if (number > INT32_MAX)
		return;
	/* A connection is over with its socket, whose lifetime began earlier. */
	if (!fxt_fd_life_is_made_by(rec, "connect")) {
		fxt_map_put(&f->lifetimes, rec->provider->index, rec->extra, &fresh)->value[0] = number;
		fxt_map_put(&f->last_lifetime, rec->provider->index, number, &fresh)->value[0] = rec->extra;
	}
	/* A connected socket only gets a name. A duplicate is what the other number stands for now. */
	if (fxt_fd_life_is_made_by(rec, "connect"))
		meaning = meaning_of(f, r, rec, DESCRIPTORS, number);
	else if (is_duplicate)
		meaning = meaning_of(f, r, rec, DESCRIPTORS, old);
	if (!is_duplicate || !meaning.file_and_1)
		meaning.file_and_1 = (uint32_t)fxt_file_named(f, fxt_fd_life_label(rec)) + 1;
	/* A program that is executed here is known to have duplicates, but no other descriptors. */
	meaning.closes_on_exec = !is_duplicate;
	set(f, r, rec, DESCRIPTORS, number, meaning);
}

void fxt_file_table_forget(struct fxt_files *f, const struct fxt_reader *r, const struct fxt_record *rec)
{
	struct fxt_fd_pages **pages = fxt_fd_images_of(&f->images, r, rec);
	bool fresh;

	fxt_fd_pages_release(*pages);
	*pages = fxt_fd_pages_make();
	fxt_map_put(&f->gaps, rec->provider->index, 0, &fresh)->value[0]++;
}
