/* fxt report: the section on the heap of each process, whose calls are replayed in the order of time. See
 * report.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdlib.h>

#include "report.h"
#include "tools/analysis/gaps.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

static struct fxt_process_heap *heap_of(struct fxt_heaps *h, const struct fxt_reader *r,
					const struct fxt_record *rec)
{
	bool fresh;
	struct fxt_slot *s =
		fxt_map_put(&h->by_provider, rec->provider->index, r->threads[rec->thread].pid, &fresh);

	if (fresh) {
		s->value[0] = h->count;
		h->list = fxt_grow(h->list, &h->capacity, h->count + 1, sizeof(*h->list));
		h->list[h->count++] =
			(struct fxt_process_heap){.provider = rec->provider,
						  .pid = r->threads[rec->thread].pid};
	}
	return &h->list[s->value[0]];
}

static uint64_t requested_bytes(const struct fxt_record *rec)
{
	uint64_t size = fxt_argument_or(rec, "size", 0), bytes;

	return __builtin_mul_overflow(size, fxt_argument_or(rec, "nmemb", 1), &bytes) ? UINT64_MAX : bytes;
}

/* Returns the block that the call returned. posix_memalign returns an error number, but has its block as a
 * pointer among its arguments. */
static uint64_t result(const struct fxt_record *rec)
{
	const struct fxt_argument *ret = fxt_argument(rec, "ret");

	if (ret && (ret->type == FXT_ARG_POINTER || ret->u))
		return ret->type == FXT_ARG_POINTER ? ret->u : 0;
	return fxt_text_is(&rec->name, "posix_memalign") ? fxt_argument_or(rec, "ptr", 0) : 0;
}

static void add(struct fxt_heaps *h, struct fxt_process_heap *heap, uint64_t block, uint64_t bytes,
		uint64_t end_ns)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&h->live, (uint64_t)(heap - h->list), block, &fresh);

	/* The address was handed out again: its free was not recorded, or is a realloc that is still to
	 * come. */
	if (!fresh && fxt_heap_knows(heap, s)) {
		heap->in_use_bytes -= s->value[0];
		heap->live_blocks--;
	}
	s->value[0] = bytes;
	s->value[1] = end_ns;
	heap->calls++;
	heap->allocated_bytes += bytes;
	heap->live_blocks++;
	heap->in_use_bytes += bytes;
	if (heap->in_use_bytes > heap->peak_bytes) {
		heap->peak_bytes = heap->in_use_bytes;
		heap->peak_ns = end_ns;
	}
}

static void take_away(struct fxt_heaps *h, struct fxt_process_heap *heap, uint64_t block, uint64_t start_ns)
{
	struct fxt_slot *s = fxt_map_find(&h->live, (uint64_t)(heap - h->list), block);

	heap->frees++;
	if (!s || !fxt_heap_knows(heap, s)) {
		heap->unknown_frees++;
		return;
	}
	if (s->value[1] > start_ns)
		return;         /* the address is already another block's */
	heap->in_use_bytes -= s->value[0];
	heap->live_blocks--;
	fxt_map_remove(&h->live, s);
}

/* Tells the others that a block went, or came; 0: none did. */
static void tell(const struct fxt_heaps *h, const struct fxt_reader *r, const struct fxt_record *rec,
			uint64_t from, uint64_t to)
{
	if (h->by_stack && from)
		fxt_heap_stacks_gave(h->by_stack, r, rec, from);
	if (h->by_stack && to)
		fxt_heap_stacks_got(h->by_stack, r, h->stacks, rec, to, requested_bytes(rec));
	if (h->crashes && from)
		fxt_crashes_gave(h->crashes, r, rec, from);
	if (h->crashes && to)
		fxt_crashes_got(h->crashes, r, rec, to, requested_bytes(rec));
}

void fxt_heaps_take(struct fxt_heaps *h, const struct fxt_reader *r, const struct fxt_record *rec,
		    const struct fxt_role *role)
{
	struct fxt_process_heap *heap = heap_of(h, r, rec);
	uint64_t start_ns = fxt_ns(rec->provider, rec->ticks);
	uint64_t end_ns = fxt_ns(rec->provider, fxt_commit_ticks(rec));
	uint64_t from = fxt_argument_or(rec, "ptr", 0), to = result(rec);

	switch (role->effect) {
	case FXT_EFFECT_FREE:
		if (from)
			take_away(h, heap, from, start_ns);
		tell(h, r, rec, from, 0);
		break;
	case FXT_EFFECT_REALLOC:
		/* A realloc that failed leaves the block as it was, but one of size 0 frees it. */
		if (!to && requested_bytes(rec)) {
			heap->failed++;
			break;
		}
		if (from)
			take_away(h, heap, from, start_ns);
		if (to)
			add(h, heap, to, requested_bytes(rec), end_ns);
		tell(h, r, rec, from, to);
		break;
	default:
		tell(h, r, rec, 0, to);
		if (to)
			add(h, heap, to, requested_bytes(rec), end_ns);
		else
			heap->failed++;
	}
}

void fxt_heaps_forget(struct fxt_heaps *h, const struct fxt_reader *r, const struct fxt_record *rec)
{
	struct fxt_slot *s = fxt_map_find(&h->by_provider, rec->provider->index, r->threads[rec->thread].pid);
	struct fxt_process_heap *heap = s ? &h->list[s->value[0]] : NULL;

	if (heap) {
		heap->known_from_ns = fxt_ns(rec->provider, rec->ticks);
		heap->forgotten_blocks += heap->live_blocks;
		heap->is_forgotten_by_loss |= !fxt_gap_ends(rec);
		heap->live_blocks = heap->in_use_bytes = 0;
	}
	if (h->by_stack)
		fxt_heap_stacks_forget(h->by_stack, r, rec);
}

static int by_peak(const void *a, const void *b)
{
	const struct fxt_process_heap *x = a, *y = b;

	if (x->peak_bytes != y->peak_bytes)
		return x->peak_bytes > y->peak_bytes ? -1 : 1;
	return x->provider->index < y->provider->index ? -1 : 1;
}

static int leaks_by_bytes(const void *a, const void *b)
{
	const struct fxt_leak *x = a, *y = b;
	unsigned __int128 p = (unsigned __int128)x->size * x->count,
			  q = (unsigned __int128)y->size * y->count;

	if (p != q)
		return p > q ? -1 : 1;
	return x->size > y->size ? -1 : 1;
}

static void gather_leaks(struct fxt_heaps *h)
{
	struct fxt_map by_size = {0};

	for (struct fxt_slot *s = fxt_map_next(&h->live, NULL); s; s = fxt_map_next(&h->live, s)) {
		struct fxt_process_heap *heap = &h->list[s->a];
		struct fxt_slot *size;
		bool fresh;

		if (s->value[1] == FXT_HEAPS_OF_LIBRARY || !fxt_heap_knows(heap, s))
			continue;
		size = fxt_map_put(&by_size, s->a, s->value[0], &fresh);
		if (fresh) {
			size->value[0] = heap->leak_count;
			heap->leaks = fxt_grow(heap->leaks, &heap->leak_capacity, heap->leak_count + 1,
					       sizeof(*heap->leaks));
			heap->leaks[heap->leak_count++] = (struct fxt_leak){.size = s->value[0]};
		}
		heap->leaks[size->value[0]].count++;
	}
	fxt_map_free(&by_size);
}

void fxt_heaps_sort(struct fxt_heaps *h)
{
	gather_leaks(h);
	fxt_map_free(&h->live);
	fxt_map_free(&h->by_provider);
	for (size_t i = 0; i < h->count; i++) {
		if (h->list[i].leak_count)
			qsort(h->list[i].leaks, h->list[i].leak_count, sizeof(struct fxt_leak),
			      leaks_by_bytes);
	}
	if (h->count)
		qsort(h->list, h->count, sizeof(*h->list), by_peak);
}

bool fxt_heaps_is_leaking(const struct fxt_heaps *h)
{
	enum { MANY = 16, MUCH_BYTES = 1 << 20 };

	for (size_t i = 0; i < h->count; i++) {
		const struct fxt_process_heap *heap = &h->list[i];
		uint64_t bytes = 0;

		for (size_t k = 0; k < heap->leak_count; k++)
			bytes +=
				heap->leaks[k].count >= MANY ? heap->leaks[k].count * heap->leaks[k].size : 0;
		if (bytes >= MUCH_BYTES && bytes >= heap->peak_bytes / 2)
			return true;
	}
	return false;
}

static void print_leaks(const struct fxt_process_heap *heap, FILE *out)
{
	enum { SHOWN = 3 };
	uint64_t blocks = heap->live_blocks - heap->library_blocks;

	fprintf(out, "      never freed: %s in %s block%s",
		fxt_bytes(heap->in_use_bytes - heap->library_bytes).text, fxt_count(blocks).text,
		blocks == 1 ? "" : "s");
	for (size_t i = 0; i < heap->leak_count && i < SHOWN; i++)
		fprintf(out, "%s%s x %s", i ? ", " : ": ", fxt_count(heap->leaks[i].count).text,
			fxt_bytes(heap->leaks[i].size).text);
	fprintf(out, "%s\n", heap->leak_count > SHOWN ? ", ..." : "");
}

static void print_oddities(const struct fxt_process_heap *heap, FILE *out)
{
	if (heap->forgotten_blocks)
		fprintf(out, "      in use when %s, and not known any more: %s block%s\n",
			heap->is_forgotten_by_loss ? "records were lost" : "recording stopped",
			fxt_count(heap->forgotten_blocks).text, heap->forgotten_blocks == 1 ? "" : "s");
	if (heap->unknown_frees)
		fprintf(out,
			"      frees of blocks not seen allocated: %s\n",
			fxt_count(heap->unknown_frees).text);
	if (heap->failed)
		fprintf(out, "      failed allocations: %s\n", fxt_count(heap->failed).text);
}

enum { LABEL = 28 };
#define FIGURES " %10s %12s %9s %9s  %s\n"

void fxt_heaps_print(const struct fxt_heaps *h, const struct fxt_reader *r, const struct fxt_overview *o,
		     const struct fxt_left_out *left_out, size_t top, FILE *out)
{
	enum { LEAKING = 3 };
	size_t shown = (top + 1) / 2;   /* most heaps take two lines */

	if (h->count == 0)
		return;
	fxt_put_title(out, "HEAP", LABEL);
	fprintf(out, FIGURES, "peak", "allocations", "allocated", "at end", "peak after");
	for (size_t i = 0; i < h->count && i < shown; i++) {
		const struct fxt_process_heap *heap = &h->list[i];
		char *program = fxt_printable(&heap->provider->name, 22, true);
		char *label = fxt_format("%s %" PRIu64, program, fxt_number(r, heap->pid));

		fxt_put_label(out, fxt_handle_of_process(r, heap->pid).text, label, LABEL);
		fprintf(out, FIGURES, fxt_bytes(heap->peak_bytes).text,
			fxt_count(heap->calls).text, fxt_bytes(heap->allocated_bytes).text,
			fxt_bytes(heap->in_use_bytes).text,
			fxt_duration(fxt_ns_between(o->first_ns, heap->peak_ns)).text);
		/* Every child of a shell leaves much unfreed, and a line for each would fill a page. */
		if (heap->live_blocks > heap->library_blocks && i < LEAKING)
			print_leaks(heap, out);
		if (heap->library_blocks && i < LEAKING)
			fprintf(out, "      kept by the C++ library for itself, which is normal: %s\n",
				fxt_bytes(heap->library_bytes).text);
		print_oddities(heap, out);
		free(label);
		free(program);
	}
	fxt_put_more(out, h->count, shown);
	if (fxt_overview_any_call_lost(o, fxt_left_out_calls(left_out)))
		fputs("  calls are missing from this trace (see above), so these figures are not the whole\n",
		      out);
}

void fxt_heaps_free(struct fxt_heaps *h)
{
	for (size_t i = 0; i < h->count; i++)
		free(h->list[i].leaks);
	free(h->list);
	fxt_map_free(&h->live);
	fxt_map_free(&h->by_provider);
}
