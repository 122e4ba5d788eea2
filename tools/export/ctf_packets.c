/* Writes the packets of one stream of a CTF trace. See ctf_packets.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "ctf_packets.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { MAGIC = 0xC1FC1FC1 };

/* The packet's header (magic, uuid, stream class, stream instance), and its context (begin, end, sizes of
 * content and packet, number, discarded events, processor), as ctf_metadata.c declares them. */
enum { HEAD_BYTES = 4 + 16 + 4 + 8 + 6 * 8 + 4 };

bool fxt_ctf_packets_open(struct fxt_ctf_packets *p, const char *path, uint64_t instance, uint32_t cpu)
{
	p->instance = instance;
	p->cpu = cpu;
	p->count = p->discarded = 0;
	p->last_ns = 0;
	p->packet.count = 0;
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
}

void fxt_ctf_packets_begin(struct fxt_ctf_packets *p, uint64_t at_ns)
{
	if (fxt_ctf_packets_is_open(p))
		return;
	fxt_ctf_room(&p->packet, HEAD_BYTES);
	p->begin_ns = p->last_ns = at_ns > p->last_ns ? at_ns : p->last_ns;
}

void fxt_ctf_packets_event(struct fxt_ctf_packets *p, uint64_t at_ns, uint32_t class)
{
	fxt_ctf_packets_begin(p, at_ns);
	if (p->is_wide) {
		fxt_ctf_put_u32(&p->packet, class);
	} else {
		fxt_ctf_put_u8(&p->packet, class & 0xff);
		fxt_ctf_put_u8(&p->packet, class >> 8);
	}
	fxt_ctf_put_u64(&p->packet, at_ns);
	p->last_ns = at_ns;
}

static void put_head(struct fxt_ctf_packets *p, uint64_t bytes)
{
	p->packet.count = 0;
	fxt_ctf_put_u32(&p->packet, MAGIC);
	fxt_ctf_put(&p->packet, p->uuid, sizeof(p->uuid));
	fxt_ctf_put_u32(&p->packet, 0);
	fxt_ctf_put_u64(&p->packet, p->instance);
	fxt_ctf_put_u64(&p->packet, p->begin_ns);
	fxt_ctf_put_u64(&p->packet, p->last_ns);
	fxt_ctf_put_u64(&p->packet, bytes * 8);
	fxt_ctf_put_u64(&p->packet, bytes * 8);
	fxt_ctf_put_u64(&p->packet, p->count);
	fxt_ctf_put_u64(&p->packet, p->discarded);
	fxt_ctf_put_u32(&p->packet, p->cpu);
}

void fxt_ctf_packets_end(struct fxt_ctf_packets *p, uint64_t at_ns, uint64_t discarded)
{
	size_t bytes = p->packet.count;
	const unsigned char *at = p->packet.data;

	if (!fxt_ctf_packets_is_open(p))
		return;
	if (at_ns > p->last_ns)
		p->last_ns = at_ns;
	p->discarded += discarded;
	put_head(p, bytes);
	p->packet.count = 0;
	p->count++;
	while (bytes && !p->error) {
		ssize_t n = write(p->fd, at, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			p->error = n < 0 ? errno : EIO;
			break;
		}
		at += n;
		bytes -= (size_t)n;
		p->file_bytes += (uint64_t)n;
	}
}
