/* See archive.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "archive_walk.h"
#include "tools/analysis/demangle.h"
#include "tools/common/host_clock.h"
#include "tools/common/message.h"
#include "writer/fxt_encode.h"

enum {
	BLOCK_BYTES = FXT_ARCHIVE_MOST_WORDS * FXT_WORD_BYTES,
	MOST_RESERVED_BYTES = 32 << 20, /* at once */
	SPARE_BYTES = 64 << 10, /* stays reserved, so that a full file can say what is lost */
	LAST_BYTES = 16 << 10, /* of these nothing else is written to */
	ROOM_BYTES = 2 << 20, /* is needed to go on: of two blocks */
};

/* Appends words, which fit in an empty block. */
static void put(struct fxt_archive *a, const uint64_t *words, size_t count)
{
	if (a->used + count * FXT_WORD_BYTES > BLOCK_BYTES)
		fxt_archive_flush(a);
	if (!a->used)
		a->block_provider = a->provider;
	memcpy(a->block + a->used, words, count * FXT_WORD_BYTES);
	a->used += count * FXT_WORD_BYTES;
}

/* Begins the file, which is open and empty, with the magic number. */
static void begin(struct fxt_archive *a)
{
	uint64_t magic[2];

	a->bytes = a->reserved = 0;
	a->provider = a->block_provider = a->written_provider = 0;
	a->has_clock = false;
	a->pack = a->packs ? fxt_pack_new(BLOCK_BYTES) : NULL;
	put(a, magic, fxt_encode_magic(magic, 2));
	fxt_archive_flush(a);
}

bool fxt_archive_create(struct fxt_archive *a)
{
	a->fd = open(a->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (a->fd < 0) {
		fxt_error(a->path, "%s", strerror(errno));
		return false;
	}
	/* Whoever finds it locked knows that it is written still (archive_join.c). */
	flock(a->fd, LOCK_EX | LOCK_NB);
	begin(a);
	return true;
}

bool fxt_archive_open(struct fxt_archive *a, const char *path, bool packs)
{
	*a = (struct fxt_archive){.path = path, .packs = packs, .final_fd = -1};
	a->block = fxt_alloc(BLOCK_BYTES, 1);
	if (fxt_archive_create(a))
		return true;
	free(a->block);
	return false;
}

bool fxt_archive_take(struct fxt_archive *a, int fd, bool is_deferred)
{
	FILE *file = is_deferred ? tmpfile() : NULL;
	int apart = file ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 0) : -1;

	if (file)
		fclose(file);
	if (is_deferred && apart < 0)
		return false;
	*a = (struct fxt_archive){.path = "the trace", .is_given = true, .fd = is_deferred ? apart : fd,
				  .final_fd = is_deferred ? fd : -1};
	a->block = fxt_alloc(BLOCK_BYTES, 1);
	begin(a);
	return true;
}

void fxt_archive_name(struct fxt_archive *a, uint32_t id, const char *name, size_t bytes)
{
	uint64_t record[FXT_PROVIDER_NAME_MAX_BYTES / FXT_WORD_BYTES + 3];
	char clean[FXT_PROVIDER_NAME_MAX_BYTES];

	bytes = fxt_utf8_clean(clean, name, bytes, sizeof(clean));
	put(a, record,
	    fxt_encode_provider_info(record, sizeof(record) / sizeof(record[0]), id, clean, bytes));
	/* The records behind this one belong to the provider that it names. */
	a->provider = id;
	/* A provider that is not our agent need not tell the time of day, so each file does. */
	if (!a->has_clock)
		put(a, record, fxt_host_clock_record(record, sizeof(record) / sizeof(record[0])));
	a->has_clock = true;
	if (a->keep)
		fxt_archive_keep_named(a->keep, id);
}

static void begin_section(struct fxt_archive *a, uint32_t id)
{
	uint64_t record[2];

	if (a->provider == id)
		return;
	put(a, record, fxt_encode_provider_section(record, 2, id));
	a->provider = id;
}

/* Appends a provider event. A provider has another id here than in its own trace. */
static void put_provider_event(struct fxt_archive *a, uint32_t id, unsigned event)
{
	uint64_t record[2];

	put(a, record, fxt_encode_provider_event(record, 2, id, event));
	a->provider_events++;
}

void fxt_archive_tell_full(struct fxt_archive *a, uint32_t id)
{
	put_provider_event(a, id, FXT_PROVIDER_EVENT_BUFFER_FULL);
}

/* Appends `count` words, which are whole records with `events` events. */
static void put_run(struct fxt_archive *a, uint32_t id, const uint64_t *words, size_t count, uint64_t events)
{
	if (!count)
		return;
	begin_section(a, id);
	put(a, words, count);
	a->events += events;
	a->block_events += events;
}

/* Appends the name of the source in place of the symbol that the string record has. Returns false if it has
 * none, and is to be appended as it is. */
static bool put_demangled(struct fxt_archive *a, uint32_t id, const uint64_t *record, size_t size)
{
	uint64_t words[FXT_DEMANGLED_WORDS];
	struct fxt_text text = {.text = (const char *)(record + 1),
				.bytes = (uint32_t)fxt_get_string_bytes(record[0])};
	size_t count = 0;

	if (fxt_words_of(text.bytes) < size)
		count = fxt_demangled_string(words, (uint16_t)fxt_get_string_index(record[0]), &text);
	if (!count)
		return false;
	begin_section(a, id);
	put(a, words, count);
	return true;
}

size_t fxt_archive_append(struct fxt_archive *a, uint32_t id, const uint64_t *words, size_t count,
			  bool is_whole)
{
	size_t at, size, run = 0, end = 0;
	uint64_t events = 0, type;

	for (at = 0; at < count; at += size) {
		uint64_t header = words[at];

		size = fxt_archive_words(header);
		if (!size || size > count - at) {
			a->damaged += is_whole;
			break;
		}
		type = fxt_get_record_type(header);
		events += type == FXT_RECORD_EVENT;
		if (type == FXT_RECORD_STRING || type == FXT_RECORD_KERNEL_OBJECT)
			fxt_lost_note(&a->lost, id, words + at);
		/* The records from `run` to one that is not appended as it is are appended at once. */
		if (type == FXT_RECORD_STRING || type == FXT_RECORD_METADATA) {
			put_run(a, id, words + run, at - run, events);
			events = 0;
			run = at;
		}
		if (type != FXT_RECORD_METADATA)
			end = at + size;
		if (type == FXT_RECORD_METADATA ||
		    (type == FXT_RECORD_STRING && put_demangled(a, id, words + at, size)))
			run = at + size;
		if (type == FXT_RECORD_METADATA &&
		    fxt_get_metadata_type(header) == FXT_METADATA_PROVIDER_EVENT)
			put_provider_event(a, id, (unsigned)fxt_get_provider_event(header));
	}
	put_run(a, id, words + run, end > run ? end - run : 0, events);
	return end;
}

static bool is_no_room(int error)
{
	return error == ENOSPC || error == EDQUOT;
}

/* Gives up a block, of which so many bytes were written: it is whole in the file, or it is not there at all.
 * Nothing is written any more, because later records need the strings of the earlier ones, until
 * fxt_archive_resume() or another file begins with these. */
static void give_up(struct fxt_archive *a, size_t written, int error)
{
	a->is_full = is_no_room(error);
	a->has_failed = true;
	if (written &&
	    (ftruncate(a->fd, (off_t)a->bytes) != 0 || lseek(a->fd, (off_t)a->bytes, SEEK_SET) < 0))
		fxt_error(a->path, "%s", strerror(errno));
	/* Room that was freed by this is for what is lost. */
	if (written)
		a->reserved = 0;
	if (a->reserved < a->bytes + SPARE_BYTES &&
	    fallocate(a->fd, FALLOC_FL_KEEP_SIZE, (off_t)a->bytes, SPARE_BYTES) == 0)
		a->reserved = a->bytes + SPARE_BYTES;
	/* Nobody hears of it, and fills the disk further, before that is reserved. */
	fxt_error(a->path, "%s; nothing is saved %s, and what is lost is counted", strerror(error),
		  a->is_full ? "until there is room again" : "from here on");
}

bool fxt_archive_has_room(const struct fxt_archive *a)
{
	struct statvfs system;

	return a->is_full && a->fd >= 0 && fstatvfs(a->fd, &system) == 0 &&
	       (uint64_t)system.f_bavail * system.f_frsize >= ROOM_BYTES;
}

/* Reserves space for `bytes` more bytes, and for as many as the file has already: to write into reserved
 * space takes half the time, because the file system need not find space for each page. Returns 0, or the
 * error if there is no room for the bytes; then the last of those that were spare still are.
 * Where nothing can be reserved for another reason, the file is written all the same. */
static int reserve(struct fxt_archive *a, size_t bytes)
{
	uint64_t most = a->most_ahead ? a->most_ahead : MOST_RESERVED_BYTES;
	uint64_t ahead = a->bytes < most ? a->bytes : most;

	if (a->bytes + bytes + SPARE_BYTES <= a->reserved)
		return 0;
	for (uint64_t wanted = bytes + ahead + SPARE_BYTES;; wanted = bytes + SPARE_BYTES) {
		if (fallocate(a->fd, FALLOC_FL_KEEP_SIZE, (off_t)a->bytes, (off_t)wanted) == 0) {
			a->reserved = a->bytes + wanted;
			return 0;
		}
		if (!is_no_room(errno))
			return 0;
		/* Small blocks may have some of what is spare. */
		if (wanted == bytes + SPARE_BYTES)
			return a->bytes + bytes + LAST_BYTES <= a->reserved ? 0 : errno;
	}
}

/* Gives back the space that is reserved behind the end of the file. */
static void give_back(const struct fxt_archive *a)
{
	if (a->reserved > a->bytes && ftruncate(a->fd, (off_t)a->bytes) != 0)
		fxt_error(a->path, "%s", strerror(errno));
}

/* Writes bytes to the file, all of them or none. */
static void write_all(struct fxt_archive *a, const unsigned char *data, size_t bytes)
{
	/* Records that tell of losses go into the space that is spare. */
	int error = a->has_failed || a->tells_lost ? 0 : reserve(a, bytes);
	size_t done = 0;

	if (error)
		give_up(a, 0, error);
	while (done < bytes && !a->has_failed) {
		ssize_t n = write(a->fd, data + done, bytes - done);

		if (n > 0)
			done += (size_t)n;
		else if (n == 0 || errno != EINTR)
			give_up(a, done, n ? errno : ENOSPC);
	}
	if (!a->has_failed)
		a->bytes += done;
}

void fxt_archive_flush(struct fxt_archive *a)
{
	size_t bytes = a->used;
	const unsigned char *data = a->block;

	if (!bytes)
		return;
	if (a->pack)
		data = fxt_pack_frame(a->pack, a->block, a->used, &bytes);
	write_all(a, data, bytes);
	if (a->has_failed) {
		a->events -= a->block_events;
		fxt_lost_take(&a->lost, (const uint64_t *)(const void *)a->block, a->used / FXT_WORD_BYTES,
			      a->block_provider);
		a->unwritten = a->lost.calls;
	} else {
		a->written_provider = a->provider;
		if (a->pack)
			fxt_pack_written(a->pack);
	}
	a->block_events = 0;
	a->used = 0;
}

bool fxt_archive_transfer(int fd, int final_fd)
{
	off_t from = 0;
	ssize_t bytes;

	do {
		bytes = sendfile(final_fd, fd, &from, 1 << 30);
	} while (bytes > 0 || (bytes < 0 && errno == EINTR));
	return !bytes;
}

static void transfer(struct fxt_archive *a)
{
	if (!fxt_archive_transfer(a->fd, a->final_fd)) {
		fxt_error(a->path, "%s; it is not whole", strerror(errno));
		a->has_failed = true;
	}
	close(a->final_fd);
	a->final_fd = -1;
}

/* Appends a record that tells what was lost. Sections begin only where another provider's is. */
static void put_told(void *context, const uint64_t *words, size_t count)
{
	struct fxt_archive *a = context;
	uint32_t id = (uint32_t)fxt_get_provider_id(words[0]);
	bool is_metadata = fxt_get_record_type(words[0]) == FXT_RECORD_METADATA;

	if (is_metadata && fxt_get_metadata_type(words[0]) == FXT_METADATA_PROVIDER_SECTION) {
		begin_section(a, id);
		return;
	}
	put(a, words, count);
	if (is_metadata && fxt_get_metadata_type(words[0]) == FXT_METADATA_PROVIDER_INFO)
		a->provider = id;
}

/* Says behind the last whole record what was lost. */
static void tell_lost(struct fxt_archive *a)
{
	bool has_failed = a->has_failed;

	if (a->lost.told == a->lost.calls)
		return;
	a->has_failed = false;
	a->tells_lost = true;
	a->provider = a->written_provider;
	fxt_lost_tell(&a->lost, put_told, a);
	fxt_archive_flush(a);
	a->tells_lost = false;
	a->has_failed = has_failed;
}

bool fxt_archive_resume(struct fxt_archive *a)
{
	if (!a->has_failed || !fxt_archive_has_room(a))
		return false;
	/* The records in the block are lost as well. */
	fxt_archive_flush(a);
	tell_lost(a);
	fxt_archive_go_on(a);
	return true;
}

void fxt_archive_go_on(struct fxt_archive *a)
{
	if (a->has_failed)
		fxt_error(a->path, "there is room again: what comes from here on is saved");
	a->has_failed = a->is_full = a->has_clock = false;
}

void fxt_archive_finish(struct fxt_archive *a)
{
	const unsigned char *table;
	size_t bytes;

	fxt_archive_flush(a);
	tell_lost(a);
	if (a->pack) {
		table = fxt_pack_table(a->pack, &bytes);
		write_all(a, table, bytes);
	}
	give_back(a);
	if (a->final_fd >= 0)
		transfer(a);
	/* A process that was forked meanwhile may have it open, too. */
	if (!a->is_given)
		flock(a->fd, LOCK_UN);
	if (close(a->fd) != 0)
		fxt_error(a->path, "%s", strerror(errno));
	fxt_pack_free(a->pack);
	a->pack = NULL;
	a->fd = -1;
}

char *fxt_archive_numbered(const char *path, unsigned number)
{
	static const char *const suffixes[] = {".fxt.zst", ".fxt", ".zst", ""};
	size_t length = strlen(path);

	for (size_t i = 0;; i++) {
		size_t suffix = strlen(suffixes[i]);

		if (length > suffix && strcmp(path + length - suffix, suffixes[i]) == 0)
			return number ? fxt_format("%.*s.%u%s", (int)(length - suffix), path, number,
						   suffixes[i])
				      : fxt_strdup(path);
	}
}

void fxt_archive_rotate(struct fxt_archive *a, unsigned count)
{
	if (a->has_failed)
		return;
	fxt_archive_finish(a);
	a->earlier_bytes += a->bytes;
	a->bytes = 0;
	if (!count && unlink(a->path) != 0)
		fxt_error(a->path, "%s", strerror(errno));
	while (count-- > 0) {
		char *from = fxt_archive_numbered(a->path, count);
		char *to = fxt_archive_numbered(a->path, count + 1);

		if (rename(from, to) != 0 && errno != ENOENT)
			fxt_error(from, "cannot be renamed: %s", strerror(errno));
		free(from);
		free(to);
	}
	if (!fxt_archive_create(a))
		a->has_failed = true;
}

void fxt_archive_close(struct fxt_archive *a)
{
	if (a->fd >= 0)
		fxt_archive_finish(a);
	free(a->block);
	a->block = NULL;
	fxt_lost_free(&a->lost);
	fxt_archive_keep_free(a->keep);
	a->keep = NULL;
}
