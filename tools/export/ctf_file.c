/* One stream of a CTF trace, which is a file. See ctf_file.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "ctf_file.h"

#include <stdlib.h>

struct fxt_ctf_file *fxt_ctf_file_open(struct fxt_ctf *c, enum fxt_ctf_stream_class class, uint32_t number,
				       int *error)
{
	static const char *const names[] = {
		[FXT_CTF_OF_PROCESS] = "ust/stream", [FXT_CTF_OF_CPU] = "ust/cpu",
		[FXT_CTF_OF_KERNEL] = "kernel/channel0"};
	const struct fxt_ctf_directory *d = class == FXT_CTF_OF_KERNEL ? &c->kernel : &c->ust;
	struct fxt_ctf_file *f = fxt_alloc(1, sizeof(*f));
	char *path = fxt_format("%s/%s_%u", c->export->directory, names[class], number);
	bool ok;

	memcpy(f->packets.uuid, d->uuid, sizeof(d->uuid));
	f->packets.is_wide = d->classes.count > UINT16_MAX;
	ok = fxt_ctf_packets_open(&f->packets, path, class == FXT_CTF_OF_CPU, number,
				  class == FXT_CTF_OF_PROCESS ? FXT_CTF_NO_CPU : (int)number);
	free(path);
	if (!ok) {
		*error = f->packets.error;
		free(f);
		return NULL;
	}
	if (class != FXT_CTF_OF_CPU)
		fxt_ctf_losses_find(c, class == FXT_CTF_OF_KERNEL ? FXT_CTF_KERNEL + number : number,
				    &f->losses);
	return f;
}

static void end_packet(struct fxt_ctf_file *f, uint64_t at_ns)
{
	if (!fxt_ctf_packets_is_open(&f->packets))
		return;
	/* What the first packet would count is counted by the next one. */
	fxt_ctf_packets_end(&f->packets, at_ns, f->packets.count ? f->owed : 0);
	if (f->packets.count > 1)
		f->owed = 0;
}

/* Writes an empty packet that has lost nothing, if there is none yet. */
static void begin_file(struct fxt_ctf_file *f, uint64_t at_ns)
{
	if (f->packets.count || fxt_ctf_packets_is_open(&f->packets))
		return;
	fxt_ctf_packets_begin(&f->packets, at_ns);
	fxt_ctf_packets_end(&f->packets, at_ns, 0);
	f->owed = f->losses.overwritten;
}

/* Ends and begins packets where windows of losses begin and end, up to this time. */
static void pass_windows(struct fxt_ctf_file *f, uint64_t at_ns)
{
	while (f->window < f->losses.count) {
		const struct fxt_ctf_loss *w = &f->losses.windows[f->window];

		if (!f->is_lossy) {
			if (at_ns < w->from_ns)
				return;
			begin_file(f, w->from_ns);
			end_packet(f, w->from_ns);
			fxt_ctf_packets_begin(&f->packets, w->from_ns);
			f->is_lossy = true;
		}
		if (at_ns <= w->to_ns)
			return;
		/* A long window may have been cut where its packet was full. */
		fxt_ctf_packets_begin(&f->packets, w->from_ns);
		f->owed += w->events;
		end_packet(f, w->to_ns);
		f->is_lossy = false;
		f->window++;
	}
}

void fxt_ctf_file_event(struct fxt_ctf_file *f, uint64_t at_ns, uint32_t class, size_t bytes)
{
	pass_windows(f, at_ns);
	begin_file(f, at_ns);
	if (fxt_ctf_packets_bytes(&f->packets) + bytes >
	    (f->is_lossy ? FXT_CTF_LONG_PACKET_BYTES : FXT_CTF_PACKET_BYTES))
		end_packet(f, 0);
	fxt_ctf_packets_event(&f->packets, at_ns, class);
}

uint64_t fxt_ctf_file_close(struct fxt_ctf_file *f, int *error)
{
	uint64_t discarded;

	pass_windows(f, UINT64_MAX);
	begin_file(f, f->packets.last_ns);
	end_packet(f, 0);
	f->owed += f->losses.rest;
	fxt_ctf_packets_begin(&f->packets, f->packets.last_ns);
	end_packet(f, 0);
	fxt_ctf_packets_close(&f->packets);
	if (f->packets.error && !*error)
		*error = f->packets.error;
	discarded = f->packets.discarded;
	free(f->losses.windows);
	free(f);
	return discarded;
}
