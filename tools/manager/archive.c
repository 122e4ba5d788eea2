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
#include <sys/sendfile.h>
#include <unistd.h>

#include "tools/analysis/demangle.h"
#include "tools/common/message.h"
#include "writer/fxt_encode.h"

enum {
	FIRST = 10000,                  /* the number of a first file that is kept */
	BLOCK_BYTES = FXT_ARCHIVE_MOST_WORDS * FXT_WORD_BYTES,
	MOST_RESERVED_BYTES = 32 << 20, /* at once */
};

/* Appends words, which fit in an empty block. */
static void put(struct fxt_archive *a, const uint64_t *words, size_t count)
{
	if (a->used + count * FXT_WORD_BYTES > BLOCK_BYTES)
		fxt_archive_flush(a);
	memcpy(a->block + a->used, words, count * FXT_WORD_BYTES);
	a->used += count * FXT_WORD_BYTES;
}

/* Begins the file, which is open and empty, with the magic number. */
static void begin(struct fxt_archive *a)
{
	uint64_t magic[2];

	a->bytes = a->reserved = 0;
	a->provider = 0;
	a->pack = a->packs ? fxt_pack_new(BLOCK_BYTES) : NULL;
	put(a, magic, fxt_encode_magic(magic, 2));
	fxt_archive_flush(a);
}

/* Creates the file and begins it. Returns false after a message. */
static bool create(struct fxt_archive *a)
{
	a->fd = open(a->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (a->fd < 0) {
		fxt_error(a->path, "%s", strerror(errno));
		return false;
	}
	begin(a);
	return true;
}

bool fxt_archive_open(struct fxt_archive *a, const char *path, bool packs)
{
	*a = (struct fxt_archive){.path = path, .packs = packs, .final_fd = -1};
	a->block = fxt_alloc(BLOCK_BYTES, 1);
	if (create(a))
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

static void put_name(struct fxt_archive *a, uint32_t id, const char *name, size_t bytes)
{
	uint64_t record[FXT_PROVIDER_NAME_MAX_BYTES / FXT_WORD_BYTES + 3];
	char clean[FXT_PROVIDER_NAME_MAX_BYTES];

	bytes = fxt_utf8_clean(clean, name, bytes, sizeof(clean));
	put(a, record,
	    fxt_encode_provider_info(record, sizeof(record) / sizeof(record[0]), id, clean, bytes));
	/* The records behind this one belong to the provider that it names. */
	a->provider = id;
}

void fxt_archive_name(struct fxt_archive *a, uint32_t id, const char *name, size_t bytes)
{
	put_name(a, id, name, bytes);
	if (a->keeps_first)
		fxt_archive_gap_name(&a->gap, id, name, bytes);
}

void fxt_archive_keep_first(struct fxt_archive *a)
{
	a->keeps_first = true;
}

static void put_record(void *context, const uint64_t *words, size_t count)
{
	put(context, words, count);
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

/* Returns the size of a record in words; 0 if no record has this header. Large records may have more words
 * than others, but viewers lose step at one that does. */
static size_t words_of(uint64_t header)
{
	uint64_t words = fxt_get_record_type(header) == FXT_RECORD_LARGE ? fxt_get_large_words(header)
									 : fxt_get_record_words(header);

	return words <= FXT_RECORD_MAX_WORDS ? words : 0;
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
	struct fxt_archive_span *span = a->keeps_first ? fxt_archive_gap_span(&a->gap, id) : NULL;
	uint64_t agent = span ? fxt_archive_gap_agent(&a->gap, id, NULL, 0) : 0;

	for (at = 0; at < count; at += size) {
		uint64_t header = words[at];

		size = words_of(header);
		if (!size || size > count - at) {
			a->damaged += is_whole;
			break;
		}
		type = fxt_get_record_type(header);
		events += type == FXT_RECORD_EVENT;
		if (type == FXT_RECORD_EVENT && span)
			fxt_archive_gap_count(span, header, words[at + 1], agent);
		if (type == FXT_RECORD_STRING && span)
			agent = fxt_archive_gap_agent(&a->gap, id, words + at, agent);
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

/* Gives up a block that could not be written whole: the block is whole in the file, or it is not
 * there at all. Nothing is written any more, because later records need the strings of the earlier ones. */
static void give_up(struct fxt_archive *a, int error)
{
	fxt_error(a->path, "%s; nothing is saved from here on, and what is lost is counted", strerror(error));
	a->has_failed = true;
	if (ftruncate(a->fd, (off_t)a->bytes) != 0)
		fxt_error(a->path, "%s", strerror(errno));
}

/* Reserves space for `bytes` more bytes, and for as many as the file has already: to write into reserved
 * space takes half the time, because the file system need not find space for each page. Where nothing can
 * be reserved, the file is written all the same. */
static void reserve(struct fxt_archive *a, size_t bytes)
{
	uint64_t ahead = a->bytes < MOST_RESERVED_BYTES ? a->bytes : MOST_RESERVED_BYTES;

	if (a->bytes + bytes <= a->reserved)
		return;
	if (fallocate(a->fd, FALLOC_FL_KEEP_SIZE, (off_t)a->bytes, (off_t)(bytes + ahead)) == 0)
		a->reserved = a->bytes + bytes + ahead;
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
	size_t done = 0;

	if (!a->has_failed)
		reserve(a, bytes);
	while (done < bytes && !a->has_failed) {
		ssize_t n = write(a->fd, data + done, bytes - done);

		if (n > 0)
			done += (size_t)n;
		else if (n == 0 || errno != EINTR)
			give_up(a, n ? errno : ENOSPC);
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
		a->unwritten += a->block_events;
	} else if (a->pack) {
		fxt_pack_written(a->pack);
	}
	a->block_events = 0;
	a->used = 0;
}

/* Copies the whole file to where it is to be. */
static void transfer(struct fxt_archive *a)
{
	off_t from = 0;
	ssize_t bytes;

	do {
		bytes = sendfile(a->final_fd, a->fd, &from, 1 << 30);
	} while (bytes > 0 || (bytes < 0 && errno == EINTR));
	if (bytes < 0) {
		fxt_error(a->path, "%s; it is not whole", strerror(errno));
		a->has_failed = true;
	}
	close(a->final_fd);
	a->final_fd = -1;
}

/* Writes the rest and closes the file. */
static void finish(struct fxt_archive *a)
{
	const unsigned char *table;
	size_t bytes;

	fxt_archive_flush(a);
	if (a->pack) {
		table = fxt_pack_table(a->pack, &bytes);
		write_all(a, table, bytes);
	}
	give_back(a);
	if (a->final_fd >= 0)
		transfer(a);
	if (close(a->fd) != 0)
		fxt_error(a->path, "%s", strerror(errno));
	fxt_pack_free(a->pack);
	a->pack = NULL;
	a->fd = -1;
}

/* Returns the name of the file that is `number` files old: serve.fxt.zst, serve.1.fxt.zst, ... The caller
 * frees it. */
static char *numbered(const char *path, unsigned number)
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

/* Puts the first file aside. */
static void keep_first(struct fxt_archive *a)
{
	char *first = numbered(a->path, FIRST);

	if (rename(a->path, first) != 0)
		fxt_error(a->path, "cannot be renamed: %s", strerror(errno));
	a->is_rotated = true;
	fxt_archive_gap_keep(&a->gap);
	free(first);
}

void fxt_archive_rotate(struct fxt_archive *a, unsigned count)
{
	if (a->has_failed)
		return;
	finish(a);
	a->earlier_bytes += a->bytes;
	a->bytes = 0;
	if (a->keeps_first && !a->is_rotated) {
		keep_first(a);
		a->has_failed = !create(a);
		return;
	}
	if (a->keeps_first)
		fxt_archive_gap_shift(&a->gap, count);
	if (!count && unlink(a->path) != 0)
		fxt_error(a->path, "%s", strerror(errno));
	while (count-- > 0) {
		char *from = numbered(a->path, count), *to = numbered(a->path, count + 1);

		if (rename(from, to) != 0 && errno != ENOENT)
			fxt_error(from, "cannot be renamed: %s", strerror(errno));
		free(from);
		free(to);
	}
	if (!create(a))
		a->has_failed = true;
	else
		fxt_archive_gap_put(&a->gap, put_record, a);
}

/* Returns where the records begin in a file that tells of a gap first: what a newer one tells has all of
 * it. */
static off_t behind_gaps(int fd)
{
	static uint64_t words[FXT_ARCHIVE_MOST_WORDS];
	ssize_t bytes = pread(fd, words, sizeof(words), 0);
	size_t count = bytes > 0 ? (size_t)bytes / FXT_WORD_BYTES : 0, at, end = 1;

	for (at = 1; at < count && words_of(words[at]); at += words_of(words[at])) {
		bool is_name = fxt_get_record_type(words[at]) == FXT_RECORD_METADATA;

		if (!is_name && (fxt_get_record_type(words[at]) != FXT_RECORD_EVENT ||
				 !(fxt_get_event_category(words[at]) >> 15)))
			break;
		if (!is_name)
			end = at + words_of(words[at]);
	}
	return (off_t)(end * FXT_WORD_BYTES);
}

/* Appends a file to the one that is open, without its magic number, and removes it. One that is not there
 * was never made. */
static bool append_file(int to, const char *path, bool is_newest)
{
	off_t from = FXT_WORD_BYTES;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t bytes;

	if (fd < 0)
		return errno == ENOENT;
	if (!is_newest)
		from = behind_gaps(fd);
	do {
		bytes = sendfile(to, fd, &from, 1 << 30);
	} while (bytes > 0 || (bytes < 0 && errno == EINTR));
	close(fd);
	return bytes == 0 && unlink(path) == 0;
}

bool fxt_archive_put_together(const char *path)
{
	char *first, *next;
	bool ok;
	int fd;

	first = numbered(path, FIRST);
	if (access(first, F_OK) != 0) {
		free(first);
		return true;
	}
	fd = open(first, O_WRONLY | O_CLOEXEC);
	ok = fd >= 0 && lseek(fd, 0, SEEK_END) >= 0;
	for (unsigned i = FXT_ARCHIVE_MOST_KEPT + 1; ok && i-- > 0;) {
		next = numbered(path, i);
		ok = append_file(fd, next, !i);
		free(next);
	}
	ok = ok && rename(first, path) == 0;
	if (!ok)
		fxt_error(path, "its files cannot be put together: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	free(first);
	return ok;
}

void fxt_archive_close(struct fxt_archive *a)
{
	if (a->fd >= 0)
		finish(a);
	free(a->block);
	a->block = NULL;
	fxt_archive_gap_free(&a->gap);
}
