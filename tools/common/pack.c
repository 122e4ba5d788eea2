/* See pack.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "message.h"

#include <zlib.h>

enum {
	READ_BYTES = 1 << 20,
	MOST_TIMES = 4096,              /* a file that unpacks to more times its size is refused */
};

static bool is_zstd(const unsigned char *data, size_t bytes)
{
	static const unsigned char magic[] = {0x28, 0xb5, 0x2f, 0xfd};

	return bytes >= sizeof(magic) && memcmp(data, magic, sizeof(magic)) == 0;
}

bool fxt_is_packed(const unsigned char *data, size_t bytes)
{
	static const unsigned char gzip[] = {0x1f, 0x8b};

	return is_zstd(data, bytes) || (bytes >= sizeof(gzip) && memcmp(data, gzip, sizeof(gzip)) == 0);
}

static bool write_all(int fd, const unsigned char *data, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(fd, data, bytes);

		if (n < 0 && errno != EINTR)
			return false;
		if (n > 0) {
			data += n;
			bytes -= (size_t)n;
		}
	}
	return true;
}

/* What unpacks a file, block by block. */
struct unpacker {
	unsigned char *out;             /* READ_BYTES, which go to the descriptor `to` */
	int to;
	uint64_t total, most;           /* bytes that were unpacked, and that may be */
};

/* Writes what was unpacked. Returns NULL, or what is wrong. */
static const char *put_out(struct unpacker *u, size_t bytes)
{
	u->total += bytes;
	if (u->total > u->most)
		return "it unpacks to far more than a trace would";
	return write_all(u->to, u->out, bytes) ? NULL : strerror(errno);
}

/* Unpacks all that `from` has in gzip's format. Returns NULL, or what is wrong. */
static const char *unpack_gzip(struct unpacker *u, int from, unsigned char *in)
{
	enum { GZIP = 15 + 16 };        /* see inflateInit2() */
	z_stream stream = {0};
	const char *wrong = NULL;
	int result = Z_OK;
	ssize_t n = 0;

	if (inflateInit2(&stream, GZIP) != Z_OK)
		return strerror(ENOMEM);
	while (!wrong && (n = read(from, in, READ_BYTES)) > 0) {
		stream.next_in = in;
		stream.avail_in = (unsigned)n;
		do {
			/* A file may have several parts, one after the other. */
			if (result == Z_STREAM_END)
				inflateReset(&stream);
			stream.next_out = u->out;
			stream.avail_out = READ_BYTES;
			result = inflate(&stream, Z_NO_FLUSH);
			if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
				wrong = stream.msg ? "it is damaged" : zError(result);
			else
				wrong = put_out(u, READ_BYTES - stream.avail_out);
		} while (!wrong && (stream.avail_in || stream.avail_out == 0));
	}
	inflateEnd(&stream);
	return wrong ? wrong : n < 0 ? strerror(errno) : NULL;
}

#ifdef HAVE_ZSTD
#include <zstd.h>

enum {
	LEVEL = 1,                      /* the fastest of the usual ones */
	/* the seekable format: a frame that others skip, two sizes for each frame, and a footer */
	SKIPPABLE = 0x184d2a5e,
	HEAD_BYTES = 8,
	ENTRY_BYTES = 8,
	FOOTER_BYTES = 9,
};
static const uint32_t SEEK_MAGIC = 0x8f92eab1;

struct fxt_pack {
	ZSTD_CCtx *context;
	unsigned char *frame;
	size_t room;
	uint32_t packed, unpacked;      /* the sizes of the last frame */
	unsigned char *table;
	size_t used, capacity;
	uint32_t frames;
};

static void store32(unsigned char *at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (unsigned char)(value >> 8 * i);
}

struct fxt_pack *fxt_pack_new(size_t most)
{
	struct fxt_pack *p = fxt_alloc(1, sizeof(*p));

	p->context = ZSTD_createCCtx();
	p->room = ZSTD_compressBound(most);
	p->frame = fxt_alloc(p->room, 1);
	p->used = HEAD_BYTES;
	p->table = fxt_grow(NULL, &p->capacity, HEAD_BYTES + FOOTER_BYTES, 1);
	return p;
}

void fxt_pack_free(struct fxt_pack *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->context);
	free(p->frame);
	free(p->table);
	free(p);
}

const unsigned char *fxt_pack_frame(struct fxt_pack *p, const void *block, size_t bytes, size_t *packed)
{
	*packed = ZSTD_compressCCtx(p->context, p->frame, p->room, block, bytes, LEVEL);
	if (ZSTD_isError(*packed)) {
		/* There is room for any block, so this is a want of memory. */
		fxt_error(NULL, "zstd: %s", ZSTD_getErrorName(*packed));
		exit(EXIT_FAILURE);
	}
	p->packed = (uint32_t)*packed;
	p->unpacked = (uint32_t)bytes;
	return p->frame;
}

void fxt_pack_written(struct fxt_pack *p)
{
	p->table = fxt_grow(p->table, &p->capacity, p->used + ENTRY_BYTES + FOOTER_BYTES, 1);
	store32(p->table + p->used, p->packed);
	store32(p->table + p->used + 4, p->unpacked);
	p->used += ENTRY_BYTES;
	p->frames++;
}

const unsigned char *fxt_pack_table(struct fxt_pack *p, size_t *bytes)
{
	unsigned char *footer = p->table + p->used;

	*bytes = p->used + FOOTER_BYTES;
	store32(p->table, SKIPPABLE);
	store32(p->table + 4, (uint32_t)(*bytes - HEAD_BYTES));
	store32(footer, p->frames);
	footer[4] = 0;                  /* the entries have no checksums */
	store32(footer + 5, SEEK_MAGIC);
	return p->table;
}

static bool pack_all(struct fxt_pack *p, int from, int to, unsigned char *block)
{
	const unsigned char *frame;
	size_t bytes;
	ssize_t n;

	while ((n = read(from, block, READ_BYTES)) > 0) {
		frame = fxt_pack_frame(p, block, (size_t)n, &bytes);
		if (!write_all(to, frame, bytes))
			return false;
		fxt_pack_written(p);
	}
	frame = fxt_pack_table(p, &bytes);
	return n == 0 && write_all(to, frame, bytes);
}

bool fxt_pack_file(int from, int to)
{
	unsigned char *block = fxt_alloc(READ_BYTES, 1);
	struct fxt_pack *p = fxt_pack_new(READ_BYTES);
	bool ok = pack_all(p, from, to, block);
	int error = errno;

	fxt_pack_free(p);
	free(block);
	errno = error;
	return ok;
}

/* Unpacks all that `from` has in zstd's format. Returns NULL, or what is wrong. */
static const char *unpack_zstd(struct unpacker *u, int from, unsigned char *in)
{
	ZSTD_DCtx *context = ZSTD_createDCtx();
	const char *wrong = NULL;
	ssize_t n = 0;

	while (!wrong && (n = read(from, in, READ_BYTES)) > 0) {
		ZSTD_inBuffer input = {in, (size_t)n, 0};

		while (!wrong && input.pos < input.size) {
			ZSTD_outBuffer output = {u->out, READ_BYTES, 0};
			size_t result = ZSTD_decompressStream(context, &output, &input);

			wrong = ZSTD_isError(result) ? ZSTD_getErrorName(result) : put_out(u, output.pos);
		}
	}
	ZSTD_freeDCtx(context);
	return wrong ? wrong : n < 0 ? strerror(errno) : NULL;
}
#else
struct fxt_pack *fxt_pack_new(size_t most)
{
	(void)most;
	return NULL;
}

void fxt_pack_free(struct fxt_pack *p)
{
	(void)p;
}

const unsigned char *fxt_pack_frame(struct fxt_pack *p, const void *block, size_t bytes, size_t *packed)
{
	(void)p;
	*packed = bytes;
	return block;
}

void fxt_pack_written(struct fxt_pack *p)
{
	(void)p;
}

const unsigned char *fxt_pack_table(struct fxt_pack *p, size_t *bytes)
{
	(void)p;
	*bytes = 0;
	return NULL;
}

bool fxt_pack_file(int from, int to)
{
	(void)from;
	(void)to;
	errno = ENOSYS;
	return false;
}

static const char *unpack_zstd(struct unpacker *u, int from, unsigned char *in)
{
	(void)u;
	(void)from;
	(void)in;
	return "fxt was built without zstd";
}
#endif

/* Opens a file without a name, for as long as it is used. */
static int open_nameless(void)
{
	const char *directory = getenv("TMPDIR");
	char *name;
	int fd = open(directory && *directory ? directory : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	name = fxt_format("%s/fxt.XXXXXX", directory && *directory ? directory : "/tmp");
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		unlink(name);
	free(name);
	return fd;
}

int fxt_unpack(int fd, const char *path)
{
	struct unpacker u = {.out = fxt_alloc(READ_BYTES, 1), .to = open_nameless()};
	unsigned char *in = fxt_alloc(READ_BYTES, 1), begin[4];
	struct stat status;
	const char *wrong;
	ssize_t n;

	if (u.to < 0 || fstat(fd, &status) != 0 || (n = pread(fd, begin, sizeof(begin), 0)) < 0 ||
	    lseek(fd, 0, SEEK_SET) != 0) {
		wrong = strerror(errno);
	} else {
		u.most = (uint64_t)status.st_size * MOST_TIMES;
		wrong = is_zstd(begin, (size_t)n) ? unpack_zstd(&u, fd, in) : unpack_gzip(&u, fd, in);
	}
	free(u.out);
	free(in);
	if (!wrong)
		return u.to;
	fxt_error(path, "cannot be unpacked: %s", wrong);
	if (u.to >= 0)
		close(u.to);
	return -1;
}
