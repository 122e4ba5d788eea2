/* Packets, and those of samples and of the heap. See perfetto_packets.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_PROTOBUF_C

#include "perfetto_packets.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"
#include "writer/fxt_encode.h"

/* All packets are of one sequence, which has any number but 0. */
enum { SEQUENCE = 1 };

/* A packet of the heap has at most so many stacks. Each takes about 60 bytes at most. */
enum { MOST_STACKS = 256 };

static_assert((size_t)FXT_PACKET_BYTES <= FXT_BLOB_MAX_BYTES, "so that a record tells its size");

/* -- Records --------------------------------------------------------------------------------------- */

void fxt_packets_end(struct fxt_packets *k)
{
	struct fxt_perfetto_blob *blob = k->blob;
	struct fxt_string name = FXT_INLINE(FXT_PERFETTO_BLOB, strlen(FXT_PERFETTO_BLOB));

	if (!k->used)
		return;
	blob->words = fxt_grow(blob->words, &blob->capacity, blob->count + FXT_RECORD_MAX_WORDS,
			       sizeof(*blob->words));
	blob->count += fxt_encode_blob(blob->words + blob->count, FXT_RECORD_MAX_WORDS, FXT_BLOB_PERFETTO,
				       name, k->bytes, k->used);
	k->used = 0;
}

void fxt_packets_put(struct fxt_packets *k, Perfetto__TracePacket *packet)
{
	Perfetto__Trace trace = PERFETTO__TRACE__INIT;
	size_t bytes;

	packet->has_trusted_packet_sequence_id = true;
	packet->trusted_packet_sequence_id = SEQUENCE;
	if (!packet->has_sequence_flags && !packet->clock_snapshot) {
		packet->has_sequence_flags = true;
		packet->sequence_flags = FXT_PACKETS_NEED;
	}
	if (!packet->has_timestamp) {
		packet->has_timestamp = true;
		packet->timestamp = k->time_ns;
	}
	trace.n_packet = 1;
	trace.packet = &packet;
	bytes = perfetto__trace__get_packed_size(&trace);
	if (bytes > FXT_PACKET_BYTES)
		return;
	if (bytes > FXT_PACKET_BYTES - k->used)
		fxt_packets_end(k);
	k->used += perfetto__trace__pack(&trace, k->bytes + k->used);
}

/* -- Samples --------------------------------------------------------------------------------------- */

/* Returns whether the node is one in the kernel. */
static bool is_kernel(const struct fxt_profile *p, uint32_t node)
{
	static const char path[] = "[kernel]";
	uint32_t mapping = p->frames[p->nodes[node - 1].frame - 1].mapping;
	uint32_t number = p->mappings[mapping - 1].path;
	const struct fxt_profile_string *string = number ? &p->strings[number - 1] : NULL;

	return string && string->bytes == strlen(path) && memcmp(string->text, path, strlen(path)) == 0;
}

static int by_time(const void *a, const void *b)
{
	const struct fxt_profile_sample *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->tid != y->tid ? (x->tid < y->tid ? -1 : 1) : 0;
}

/* Samples have no counter: all stand for the same time, and Perfetto would weigh each by the sum so far. */
void fxt_packets_samples(struct fxt_packets *k, struct fxt_profile *p)
{
	if (p->sample_count)
		qsort(p->samples, p->sample_count, sizeof(*p->samples), by_time);
	for (size_t i = 0; i < p->sample_count; i++) {
		const struct fxt_profile_sample *sample = &p->samples[i];
		Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
		Perfetto__PerfSample perf = PERFETTO__PERF_SAMPLE__INIT;

		perf.has_cpu = perf.has_pid = perf.has_tid = true;
		perf.has_cpu_mode = perf.has_callstack_iid = true;
		perf.cpu = sample->cpu;
		perf.pid = sample->pid;
		perf.tid = sample->tid;
		perf.callstack_iid = sample->node;
		perf.cpu_mode = is_kernel(p, sample->node) ? PERFETTO__PROFILING__CPU_MODE__MODE_KERNEL
							   : PERFETTO__PROFILING__CPU_MODE__MODE_USER;
		packet.has_timestamp = true;
		packet.timestamp = sample->at_ns;
		packet.perf_sample = &perf;
		fxt_packets_put(k, &packet);
	}
}

/* -- The heap -------------------------------------------------------------------------------------- */

static int by_process(const void *a, const void *b)
{
	const struct fxt_profile_heap *x = *(const struct fxt_profile_heap *const *)a,
				      *y = *(const struct fxt_profile_heap *const *)b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->node != y->node ? (x->node < y->node ? -1 : 1) : 0;
}

static Perfetto__ProfilePacket__HeapSample sums_of(const struct fxt_profile_heap *heap)
{
	Perfetto__ProfilePacket__HeapSample sums = PERFETTO__PROFILE_PACKET__HEAP_SAMPLE__INIT;

	sums.has_callstack_id = sums.has_self_allocated = sums.has_self_freed = true;
	sums.has_alloc_count = sums.has_free_count = true;
	sums.callstack_id = heap->node;
	sums.self_allocated = heap->allocated;
	sums.self_freed = heap->freed;
	sums.alloc_count = heap->blocks;
	sums.free_count = heap->freed_blocks;
	return sums;
}

/* Returns the time of the last event of all heaps. */
static uint64_t last_time(const struct fxt_profile *p)
{
	uint64_t last_ns = 0;

	for (size_t i = 0; i < p->heap_count; i++) {
		const struct fxt_slot *times = fxt_map_find(&p->heap_times, p->heaps[i].process, 0);

		last_ns = times->value[1] > last_ns ? times->value[1] : last_ns;
	}
	return last_ns;
}

/* What some packets say of one process, at one time. */
struct dump {
	uint64_t at_ns, since_ns;
	bool is_last;                   /* no packet is about the same moment */
};

/* Writes `count` stacks of one process. Perfetto counts the packets by `index`, after it has put them in
 * order by time. */
static void put_dump(struct fxt_packets *k, const struct fxt_profile_heap *const *heaps, size_t count,
		     uint64_t packet_ns, const struct dump *of)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__ProfilePacket profile = PERFETTO__PROFILE_PACKET__INIT;
	Perfetto__ProfilePacket__ProcessHeapSamples dump =
		PERFETTO__PROFILE_PACKET__PROCESS_HEAP_SAMPLES__INIT;
	Perfetto__ProfilePacket__ProcessHeapSamples *dumps = &dump;
	Perfetto__ProfilePacket__HeapSample list[MOST_STACKS], *entries[MOST_STACKS];

	for (size_t i = 0; i < count; i++) {
		list[i] = sums_of(heaps[i]);
		entries[i] = &list[i];
	}
	dump.has_pid = dump.has_timestamp = dump.has_start_timestamp = true;
	dump.pid = heaps[0]->process;
	dump.start_timestamp = of->since_ns;
	dump.timestamp = of->at_ns;
	dump.heap_name = (char *)(uintptr_t) "libc.malloc";
	dump.has_sampling_interval_bytes = true;
	dump.sampling_interval_bytes = FXT_PROFILE_HEAP_INTERVAL;
	dump.n_samples = count;
	dump.samples = entries;
	profile.n_process_dumps = 1;
	profile.process_dumps = &dumps;
	profile.has_index = profile.has_continued = true;
	profile.index = k->dumps++;
	profile.continued = !of->is_last;
	packet.has_timestamp = true;
	packet.timestamp = packet_ns;
	packet.profile_packet = &profile;
	fxt_packets_put(k, &packet);
}

/* Writes the heap of each process at its peak. */
static void put_peaks(struct fxt_packets *k, struct fxt_profile *p)
{
	const struct fxt_profile_heap *heaps[MOST_STACKS];
	size_t peak_count;
	struct fxt_heap_peak *peaks = fxt_heap_peaks(p, &peak_count);

	for (size_t i = 0; i < peak_count; i++) {
		const struct fxt_heap_peak *peak = &peaks[i];
		const struct fxt_slot *times = fxt_map_find(&p->heap_times, peak->process, 0);
		struct dump dump = {peak->at_ns, times->value[0], false};

		for (size_t from = 0, count; from < peak->count; from += count) {
			count = peak->count - from < MOST_STACKS ? peak->count - from : MOST_STACKS;
			for (size_t j = 0; j < count; j++)
				heaps[j] = &peak->heaps[from + j];
			dump.is_last = from + count == peak->count;
			put_dump(k, heaps, count, peak->at_ns, &dump);
		}
	}
	fxt_heap_peaks_free(peaks, peak_count);
}

/* The sums of a process grow from its peak to its end, so Perfetto shows both. All of what was in the end has
 * one time, because Perfetto numbers packets in the order of their times. */
void fxt_packets_heaps(struct fxt_packets *k, struct fxt_profile *p)
{
	const struct fxt_profile_heap **heaps = fxt_alloc(p->heap_count + 1, sizeof(*heaps));
	uint64_t last_ns = last_time(p);

	put_peaks(k, p);
	for (size_t i = 0; i < p->heap_count; i++)
		heaps[i] = &p->heaps[i];
	qsort(heaps, p->heap_count, sizeof(*heaps), by_process);
	for (size_t from = 0, to; from < p->heap_count; from = to) {
		const struct fxt_slot *times = fxt_map_find(&p->heap_times, heaps[from]->process, 0);
		struct dump dump = {times->value[1], times->value[0], false};

		to = from + 1;
		while (to < p->heap_count && to - from < MOST_STACKS &&
		       heaps[to]->process == heaps[from]->process)
			to++;
		dump.is_last = to == p->heap_count;
		put_dump(k, heaps + from, to - from, last_ns, &dump);
	}
	free(heaps);
}

#endif
