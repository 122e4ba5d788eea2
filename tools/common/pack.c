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

bool fxt_is_packed(const unsigned char *data, size_t bytes)
{
	static const unsigned char magic[] = {0x28, 0xb5, 0x2f, 0xfd};

	return bytes >= sizeof(magic) && memcmp(data, magic, sizeof(magic)) == 0;
}

#ifdef HAVE_ZSTD
#include <zstd.h>

enum {
	LEVEL = 1,                      /* the fastest of the usual ones */
	READ_BYTES = 1 << 20,
	MOST_TIMES = 4096,              /* a file that unpacks to more times its size is refused */
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

/* Unpacks all that `from` has. Returns NULL, or what is wrong. */
static const char *unpack(ZSTD_DCtx *context, int from, int to, uint64_t most)
{
	unsigned char *in = fxt_alloc(READ_BYTES, 1), *out = fxt_alloc(READ_BYTES, 1);
	const char *wrong = NULL;
	uint64_t total = 0;
	ssize_t n;

	while (!wrong && (n = read(from, in, READ_BYTES)) > 0) {
		ZSTD_inBuffer input = {in, (size_t)n, 0};

		while (!wrong && input.pos < input.size) {
			ZSTD_outBuffer output = {out, READ_BYTES, 0};
			size_t result = ZSTD_decompressStream(context, &output, &input);

			total += output.pos;
			if (ZSTD_isError(result))
				wrong = ZSTD_getErrorName(result);
			else if (total > most)
				wrong = "it unpacks to far more than a trace would";
			else if (!write_all(to, out, output.pos))
				wrong = strerror(errno);
		}
	}
	free(in);
	free(out);
	return wrong ? wrong : n < 0 ? strerror(errno) : NULL;
}

int fxt_unpack(int fd, const char *path)
{
	ZSTD_DCtx *context = ZSTD_createDCtx();
	struct stat status;
	const char *wrong;
	int to = open_nameless();

	if (to < 0 || fstat(fd, &status) != 0 || lseek(fd, 0, SEEK_SET) != 0)
		wrong = strerror(errno);
	else
		wrong = unpack(context, fd, to, (uint64_t)status.st_size * MOST_TIMES);
	ZSTD_freeDCtx(context);
	if (!wrong)
		return to;
	fxt_error(path, "cannot be unpacked: %s", wrong);
	if (to >= 0)
		close(to);
	return -1;
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

int fxt_unpack(int fd, const char *path)
{
	(void)fd;
	fxt_error(path, "is compressed, and fxt was built without zstd");
	return -1;
}
#endif
