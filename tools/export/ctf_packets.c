/* Writes the packets of one stream of a CTF trace. See ctf_packets.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "ctf_packets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAGIC = 0xC1FC1FC1 };

/* The packet's header (magic, uuid, stream class, stream instance), and its context (begin, end, sizes of
 * content and packet, number, discarded events, processor), as ctf_metadata.c declares them. */
enum { CPU_BYTES = 4, HEAD_BYTES = 4 + 16 + 4 + 8 + 6 * 8 };

static size_t head_bytes(const struct fxt_ctf_packets *p)
{
	return HEAD_BYTES + (p->cpu == FXT_CTF_NO_CPU ? 0 : CPU_BYTES);
}

bool fxt_ctf_packets_open(struct fxt_ctf_packets *p, const char *path, uint32_t class, uint64_t instance,
			  int cpu)
{
	p->class = class;
	p->instance = instance;
	p->cpu = cpu;
	p->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (p->fd < 0)
		p->error = errno;
	return p->fd >= 0;
}

void fxt_ctf_packets_close(struct fxt_ctf_packets *p)
{
	if (p->fd >= 0 && close(p->fd) != 0 && !p->error)
		p->error = errno;
	p->fd = -1;
	free(p->packet.data);
	p->packet = (struct fxt_ctf_bytes){0};
}

/* Writes bytes at this place of the file. */
static void put_bytes(struct fxt_ctf_packets *p, const unsigned char *at, size_t bytes, uint64_t place)
{
	while (bytes && !p->error) {
		ssize_t n = pwrite(p->fd, at, bytes, (off_t)place);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			p->error = n < 0 ? errno : EIO;
			return;
		}
		at += n;
		place += (uint64_t)n;
		bytes -= (size_t)n;
	}
}

/* Writes what there is of the packet. Its head stays behind, if it was not written before. */
static void flush(struct fxt_ctf_packets *p)
{
	put_bytes(p, p->packet.data, p->packet.count, p->file_bytes + p->written);
	p->written += p->packet.count;
	p->packet.count = 0;
}

void fxt_ctf_packets_begin(struct fxt_ctf_packets *p, uint64_t at_ns)
{
	if (fxt_ctf_packets_is_open(p))
		return;
	memset(fxt_ctf_room(&p->packet, head_bytes(p)), 0, head_bytes(p));
	p->is_begun = true;
	p->begin_ns = p->last_ns = at_ns > p->last_ns ? at_ns : p->last_ns;
}

void fxt_ctf_packets_event(struct fxt_ctf_packets *p, uint64_t at_ns, uint32_t class)
{
	fxt_ctf_packets_begin(p, at_ns);
	if (p->packet.count >= FXT_CTF_KEPT_BYTES)
		flush(p);
	if (p->is_wide) {
		fxt_ctf_put_u32(&p->packet, class);
	} else {
		fxt_ctf_put_u8(&p->packet, class & 0xff);
		fxt_ctf_put_u8(&p->packet, class >> 8);
	}
	fxt_ctf_put_u64(&p->packet, at_ns);
	p->last_ns = at_ns;
}

/* Puts the head in place of the room that was left for it. */
static void put_head(struct fxt_ctf_packets *p, struct fxt_ctf_bytes *out, uint64_t bytes)
{
	fxt_ctf_put_u32(out, MAGIC);
	fxt_ctf_put(out, p->uuid, sizeof(p->uuid));
	fxt_ctf_put_u32(out, p->class);
	fxt_ctf_put_u64(out, p->instance);
	fxt_ctf_put_u64(out, p->begin_ns);
	fxt_ctf_put_u64(out, p->last_ns);
	fxt_ctf_put_u64(out, bytes * 8);
	fxt_ctf_put_u64(out, bytes * 8);
	fxt_ctf_put_u64(out, p->count);
	fxt_ctf_put_u64(out, p->discarded);
	if (p->cpu != FXT_CTF_NO_CPU)
		fxt_ctf_put_u32(out, (uint32_t)p->cpu);
}

void fxt_ctf_packets_end(struct fxt_ctf_packets *p, uint64_t at_ns, uint64_t discarded)
{
	unsigned char head[HEAD_BYTES + CPU_BYTES];
	struct fxt_ctf_bytes out = {.data = head, .capacity = sizeof(head)};
	uint64_t bytes = fxt_ctf_packets_bytes(p);

	if (!fxt_ctf_packets_is_open(p))
		return;
	if (at_ns > p->last_ns)
		p->last_ns = at_ns;
	p->discarded += discarded;
	put_head(p, &out, bytes);
	if (!p->written)
		memcpy(p->packet.data, head, out.count);
	else
		put_bytes(p, head, out.count, p->file_bytes);
	flush(p);
	p->file_bytes += bytes;
	p->written = 0;
	p->is_begun = false;
	p->count++;
}
