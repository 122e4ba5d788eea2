/* Decodes what a joined trace has for Perfetto, as lines of text. See perfetto_found.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "perfetto_found.h"

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"
#include "tools/perfetto/perfetto_blob.h"

/* -- Lines ----------------------------------------------------------------------------------------- */

void add(struct lines *l, char *line)
{
	l->list = fxt_grow(l->list, &l->capacity, l->count + 1, sizeof(*l->list));
	l->list[l->count++] = line;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void compare(struct lines *drawn, struct lines *got)
{
	if (drawn->count)
		qsort(drawn->list, drawn->count, sizeof(char *), by_text);
	if (got->count)
		qsort(got->list, got->count, sizeof(char *), by_text);
	for (size_t i = 0; i < drawn->count && i < got->count; i++)
		ck_assert_str_eq(got->list[i], drawn->list[i]);
	ck_assert_uint_eq(got->count, drawn->count);
}

void free_lines(struct lines *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->list[i]);
	free(l->list);
	*l = (struct lines){0};
}

/* -- What is found --------------------------------------------------------------------------------- */

struct found found;


static void intern(struct fxt_map *map, uint64_t iid, const void *what)
{
	bool fresh;

	ck_assert_uint_ne(iid, 0);
	fxt_map_put(map, iid, 0, &fresh)->value[0] = (uint64_t)(uintptr_t)what;
	ck_assert(fresh);
}

static const void *interned(const struct fxt_map *map, uint64_t iid)
{
	const struct fxt_slot *slot = fxt_map_find(map, iid, 0);

	ck_assert_msg(slot, "nothing has the number %" PRIu64, iid);
	return (const void *)(uintptr_t)slot->value[0];
}

static void take_interned(const Perfetto__InternedData *data)
{
	for (size_t i = 0; i < data->n_function_names; i++)
		intern(&found.names, data->function_names[i]->iid, data->function_names[i]);
	for (size_t i = 0; i < data->n_mapping_paths; i++)
		intern(&found.paths, data->mapping_paths[i]->iid, data->mapping_paths[i]);
	for (size_t i = 0; i < data->n_mappings; i++)
		intern(&found.mappings, data->mappings[i]->iid, data->mappings[i]);
	for (size_t i = 0; i < data->n_frames; i++)
		intern(&found.frames, data->frames[i]->iid, data->frames[i]);
	for (size_t i = 0; i < data->n_callstacks; i++)
		intern(&found.stacks, data->callstacks[i]->iid, data->callstacks[i]);
}

static char *found_stack(uint64_t iid)
{
	const Perfetto__Callstack *stack = interned(&found.stacks, iid);
	char *text = fxt_strdup("");

	ck_assert_uint_ne(stack->n_frame_ids, 0);
	for (size_t i = 0; i < stack->n_frame_ids; i++) {
		const Perfetto__Frame *f = interned(&found.frames, stack->frame_ids[i]);
		const Perfetto__Mapping *mapping = interned(&found.mappings, f->mapping_id);
		const Perfetto__InternedString *name = interned(&found.names, f->function_name_id),
					       *path = NULL;
		char *longer;

		if (mapping->n_path_string_ids)
			path = interned(&found.paths, mapping->path_string_ids[0]);
		longer = fxt_format("%s;%.*s@%.*s+%" PRIu64, text, (int)name->str.len, (char *)name->str.data,
				    path ? (int)path->str.len : 0, path ? (char *)path->str.data : "",
				    f->rel_pc);
		free(text);
		text = longer;
	}
	return text;
}

/* All that was found of the heap so far was what there was at a peak, because more follows. */
static void end_peak(void)
{
	for (size_t i = 0; i < found.heap.count; i++)
		add(&found.lines,
		    fxt_format("peak at %" PRIu64 "%s", found.heap_ns, found.heap.list[i] + strlen("heap")));
	free_lines(&found.heap);
}

static void take_dump(const Perfetto__ProfilePacket *profile)
{
	if (profile->index && !found.is_continued)
		end_peak();
	ck_assert_uint_eq(profile->index, found.next_index++);
	found.is_continued = profile->continued;
	ck_assert_uint_eq(profile->n_process_dumps, 1);
	for (size_t i = 0; i < profile->process_dumps[0]->n_samples; i++) {
		const Perfetto__ProfilePacket__ProcessHeapSamples *dump = profile->process_dumps[0];
		const Perfetto__ProfilePacket__HeapSample *s = dump->samples[i];
		char *stack = found_stack(s->callstack_id);

		ck_assert_uint_eq(dump->sampling_interval_bytes, 65536);
		ck_assert_str_eq(dump->heap_name, "libc.malloc");
		ck_assert_uint_ge(dump->timestamp, dump->start_timestamp);
		found.heap_ns = dump->timestamp;
		add(&found.heap,
		    fxt_format("heap %" PRIu64 " %" PRIu64 "-%" PRIu64 " in %" PRIu64 "-%" PRIu64 " %s",
			       dump->pid, s->self_allocated, s->self_freed, s->alloc_count, s->free_count,
			       stack));
		free(stack);
	}
}

static void take_packet(const Perfetto__TracePacket *packet)
{
	const Perfetto__PerfSample *s = packet->perf_sample;
	char *stack;

	ck_assert_uint_ne(packet->trusted_packet_sequence_id, 0);
	if (packet->clock_snapshot) {
		ck_assert_uint_eq(packet->clock_snapshot->n_clocks, 2);
		found.has_clocks = true;
		return;
	}
	if (packet->trace_packet_defaults) {
		ck_assert_uint_eq(packet->sequence_flags, 1);
		ck_assert_uint_eq(packet->trace_packet_defaults->timestamp_clock_id, 6);
		ck_assert(!found.is_begun);
		found.is_begun = true;
		return;
	}
	ck_assert_uint_eq(packet->sequence_flags, 2);
	ck_assert(found.is_begun);
	if (packet->interned_data)
		take_interned(packet->interned_data);
	if (packet->profile_packet)
		take_dump(packet->profile_packet);
	if (!s)
		return;
	/* Perfetto takes a counter for the sample's weight. */
	ck_assert(!s->has_timebase_count);
	stack = found_stack(s->callstack_iid);
	add(&found.lines,
	    fxt_format("sample %" PRIu64 " %u/%u cpu %u %s %s", packet->timestamp, s->pid, s->tid, s->cpu,
		       s->cpu_mode == PERFETTO__PROFILING__CPU_MODE__MODE_KERNEL ? "kernel" : "user",
		       stack));
	free(stack);
}

/* Decodes the blob of a trace. Each record of it has whole packets, and is small enough. */
void find(const unsigned char *trace, uint64_t bytes)
{
	struct fxt_reader r;
	struct fxt_record rec;
	bool has_ended = false;

	fxt_reader_init(&r, trace, bytes);
	while (fxt_reader_next(&r, &rec)) {
		const unsigned char *data =
			trace + rec.offset + 8 + (sizeof(FXT_PERFETTO_BLOB) - 1 + 7) / 8 * 8;

		ck_assert(!rec.damaged);
		if (!fxt_perfetto_is_own(&rec)) {
			ck_assert_msg(!has_ended || !found.record_count, "something follows the blob");
			continue;
		}
		has_ended = true;
		ck_assert_uint_le(rec.words, FXT_RECORD_MAX_WORDS);
		ck_assert_uint_lt(found.trace_count, sizeof(found.traces) / sizeof(found.traces[0]));
		found.traces[found.trace_count] = perfetto__trace__unpack(NULL, rec.blob_bytes, data);
		ck_assert_msg(found.traces[found.trace_count], "the record's packets are not whole");
		found.trace_count++;
		found.record_count++;
	}
	ck_assert_int_eq(r.stop, FXT_STOP_END);
	fxt_reader_free(&r);
	for (size_t i = 0; i < found.trace_count; i++)
		for (size_t k = 0; k < found.traces[i]->n_packet; k++)
			take_packet(found.traces[i]->packet[k]);
	ck_assert(!found.is_continued);
	for (size_t i = 0; i < found.heap.count; i++)
		add(&found.lines, found.heap.list[i]);
	free(found.heap.list);
	found.heap = (struct lines){0};
	ck_assert_int_eq(found.has_clocks, found.record_count != 0);
}

void free_found(void)
{
	for (size_t i = 0; i < found.trace_count; i++)
		perfetto__trace__free_unpacked(found.traces[i], NULL);
	fxt_map_free(&found.names);
	fxt_map_free(&found.paths);
	fxt_map_free(&found.mappings);
	fxt_map_free(&found.frames);
	fxt_map_free(&found.stacks);
	free_lines(&found.lines);
	memset(&found, 0, sizeof(found));
}
