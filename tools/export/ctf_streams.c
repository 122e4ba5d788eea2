/* Makes packets of the sorted items, one stream after another. See ctf.h.
 *
 * A packet ends at 256 KiB, and at both ends of each window in which events were lost, so that the reader
 * says exactly that window. The first packet has lost nothing, because readers cannot say since when it
 * would have. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <stdlib.h>

#include "ctf.h"
#include "ctf_packets.h"

enum { PROGRESS_ITEMS = 1 << 17 };

/* The stream that is being written. */
struct stream {
	struct fxt_ctf *c;
	struct fxt_ctf_packets packets;
	uint32_t number;
	struct fxt_ctf_losses losses;
	size_t window; /* the next one, or the present one if is_lossy */
	bool is_lossy, is_open;
	uint64_t owed; /* losses that no packet has counted yet */
};

/* -- Contexts ---------------------------------------------------------------------------------------- */

int32_t fxt_ctf_number(struct fxt_ctf *c, uint64_t koid)
{
	/* Above the kernel's numbers, and above those that stand for ones that were used again. */
	static const uint64_t FIRST = 0x70000000;
	struct fxt_slot *s;
	bool fresh;

	if (koid <= INT32_MAX)
		return (int32_t)koid;
	s = fxt_map_put(&c->numbers, koid, 0, &fresh);
	if (fresh)
		s->value[0] = FIRST + c->numbers.used % (INT32_MAX - FIRST);
	return (int32_t)s->value[0];
}

/* Makes what all events of a thread have: the numbers of its process and its own, and its name. */
static void make_context(struct fxt_ctf *c, uint32_t thread)
{
	const struct fxt_trace_thread *t = &c->reader->threads[thread];
	struct fxt_text own = fxt_thread_name(c->reader, thread),
			name = own.bytes ? own : fxt_process_name(c->reader, t->pid);
	struct fxt_ctf_bytes out = {0};

	fxt_ctf_put_u32(&out, (uint32_t)fxt_ctf_number(c, t->pid));
	fxt_ctf_put_u32(&out, (uint32_t)fxt_ctf_number(c, t->tid));
	fxt_ctf_put_name(&out, &name);
	c->contexts[thread] = (char *)out.data;
	c->context_bytes[thread] = out.count;
}

static void put_context(struct stream *s, const struct fxt_ctf_item *item)
{
	struct fxt_ctf *c = s->c;
	struct fxt_ctf_bytes *out = &s->packets.packet;

	if (s->number >= FXT_CTF_KERNEL)
		return;
	if (!c->contexts[item->thread])
		make_context(c, item->thread);
	fxt_ctf_put(out, c->contexts[item->thread], c->context_bytes[item->thread]);
	fxt_ctf_put_u64(out, item->node ? fxt_ctf_node_address(c, item->node) : 0);
}

/* -- Packets ----------------------------------------------------------------------------------------- */

static void end_packet(struct stream *s, uint64_t at_ns)
{
	if (!fxt_ctf_packets_is_open(&s->packets))
		return;
	/* What the first packet would count is counted by the next one. */
	fxt_ctf_packets_end(&s->packets, at_ns, s->packets.count ? s->owed : 0);
	if (s->packets.count > 1)
		s->owed = 0;
}

/* Writes an empty packet that has lost nothing, if there is none yet. */
static void begin_stream(struct stream *s, uint64_t at_ns)
{
	if (s->packets.count || fxt_ctf_packets_is_open(&s->packets))
		return;
	fxt_ctf_packets_begin(&s->packets, at_ns);
	fxt_ctf_packets_end(&s->packets, at_ns, 0);
	s->owed = s->losses.overwritten;
}

/* Ends and begins packets where windows of losses begin and end, up to this time. */
static void pass_windows(struct stream *s, uint64_t at_ns)
{
	while (s->window < s->losses.count) {
		const struct fxt_ctf_loss *w = &s->losses.windows[s->window];

		if (!s->is_lossy) {
			if (at_ns < w->from_ns)
				return;
			begin_stream(s, w->from_ns);
			end_packet(s, w->from_ns);
			fxt_ctf_packets_begin(&s->packets, w->from_ns);
			s->is_lossy = true;
		}
		if (at_ns <= w->to_ns)
			return;
		/* A long window may have been cut where its packet was full. */
		fxt_ctf_packets_begin(&s->packets, w->from_ns);
		s->owed += w->events;
		end_packet(s, w->to_ns);
		s->is_lossy = false;
		s->window++;
	}
}

static void put_event(struct stream *s, const struct fxt_sorter_item *sorted)
{
	struct fxt_ctf_packets *p = &s->packets;
	uint64_t at_ns = sorted->key.time > s->c->first_ns ? sorted->key.time : s->c->first_ns;
	struct fxt_ctf_item item;
	const unsigned char *fields = sorted->data + sizeof(item);
	size_t bytes = sorted->key.bytes - sizeof(item);

	memcpy(&item, sorted->data, sizeof(item));
	pass_windows(s, at_ns);
	begin_stream(s, at_ns);
	if (p->packet.count + bytes + 128 > (s->is_lossy ? FXT_CTF_LONG_PACKET_BYTES : FXT_CTF_PACKET_BYTES))
		end_packet(s, 0);
	fxt_ctf_packets_event(p, at_ns, item.class);
	put_context(s, &item);
	if (item.late >= FXT_CTF_SWITCH)
		fxt_ctf_kernel_put(s->c, &p->packet, &item, fields, bytes, p->cpu);
	else
		fxt_ctf_put(&p->packet, fields, bytes);
	if (item.late == FXT_CTF_STACK)
		fxt_ctf_put_stack(s->c, &p->packet, item.node);
}

/* -- Streams ----------------------------------------------------------------------------------------- */

static bool open_stream(struct stream *s, uint32_t number)
{
	bool is_kernels = number >= FXT_CTF_KERNEL;
	const struct fxt_ctf_directory *d = is_kernels ? &s->c->kernel : &s->c->ust;
	uint32_t cpu = is_kernels ? number - FXT_CTF_KERNEL : 0;
	char *path = fxt_format("%s/%s_%u", d->path, is_kernels ? "channel0" : "stream",
				is_kernels ? cpu : number);

	s->number = number;
	s->window = 0;
	s->is_lossy = false;
	s->owed = 0;
	memcpy(s->packets.uuid, d->uuid, sizeof(d->uuid));
	s->packets.is_wide = d->classes.count > UINT16_MAX;
	fxt_ctf_losses_find(s->c, number, &s->losses);
	s->is_open = fxt_ctf_packets_open(&s->packets, path, is_kernels ? cpu : number, cpu);
	free(path);
	return s->is_open;
}

static void close_stream(struct stream *s)
{
	if (!s->is_open)
		return;
	pass_windows(s, UINT64_MAX);
	end_packet(s, 0);
	s->owed += s->losses.rest;
	fxt_ctf_packets_begin(&s->packets, s->packets.last_ns);
	end_packet(s, 0);
	fxt_ctf_packets_close(&s->packets);
	s->c->discarded += s->packets.discarded;
	free(s->losses.windows);
	s->is_open = false;
}

int fxt_ctf_write_streams(struct fxt_ctf *c)
{
	struct stream s = {.c = c, .packets = {.fd = -1}};
	struct fxt_sorter_item item;
	uint64_t done = 0;

	if (!fxt_sorter_turn(&c->sorter))
		return c->sorter.error;
	c->contexts = fxt_alloc(c->reader->thread_count, sizeof(*c->contexts));
	c->context_bytes = fxt_alloc(c->reader->thread_count, sizeof(*c->context_bytes));
	while (!s.packets.error && fxt_sorter_next(&c->sorter, &item)) {
		if (!s.is_open || item.key.stream != s.number) {
			close_stream(&s);
			if (!open_stream(&s, item.key.stream))
				break;
		}
		put_event(&s, &item);
		if (++done % PROGRESS_ITEMS == 0)
			fxt_ctf_progress(c, c->item_count + done, 2 * c->item_count);
	}
	close_stream(&s);
	for (size_t i = 0; i < c->reader->thread_count; i++)
		free(c->contexts[i]);
	free(c->contexts);
	free(c->context_bytes);
	free(s.packets.packet.data);
	return s.packets.error ? s.packets.error : c->sorter.error;
}
