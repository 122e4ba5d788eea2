/* Makes blob records with packets of Perfetto's. See perfetto_blob.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "perfetto_blob.h"

#include <stdlib.h>

bool fxt_perfetto_is_own(const struct fxt_record *rec)
{
	return rec->type == FXT_RECORD_BLOB && rec->subtype == FXT_BLOB_PERFETTO &&
	       fxt_text_is(&rec->name, FXT_PERFETTO_BLOB);
}

void fxt_perfetto_free(struct fxt_perfetto_blob *blob)
{
	free(blob->words);
	*blob = (struct fxt_perfetto_blob){0};
}

#ifndef HAVE_PROTOBUF_C

void fxt_perfetto_make(struct fxt_perfetto_blob *blob, struct fxt_profile *profile,
		       struct fxt_frame_names *names)
{
	(void)names;
	(void)blob;
	(void)profile;
}

#else

#include <string.h>

#include "perfetto_packets.h"
#include "tools/common/message.h"

/* Perfetto's numbers of clocks. */
enum { MONOTONIC_COARSE = 4, BOOTTIME = 6 };

/* A packet has at most so many entries, and about so many numbers of frames. The longest name and the longest
 * stack leave it smaller than a record by far. */
enum { MOST_ENTRIES = 32, MOST_NUMBERS = 4096 };

/* A stack has at most so many frames; the outermost of a deeper one are left out. */
enum { MOST_DEPTH = 1024 };

/* The stacks that can be referred to are the nodes, by their numbers. */
struct maker {
	struct fxt_packets packets;
	const struct fxt_profile *profile;
};

/* -- Names and stacks ------------------------------------------------------------------------------ */

static void put_interned(struct maker *m, Perfetto__InternedData *data)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	packet.interned_data = data;
	fxt_packets_put(&m->packets, &packet);
}

enum kind { NAME, PATH, BUILD_ID };

static bool is_of(const struct fxt_profile_string *string, enum kind kind)
{
	return kind == NAME ? string->is_name : kind == PATH ? string->is_path : string->is_build_id;
}

/* Writes strings of one kind, up to MOST_ENTRIES from *at on, and as many as fit. */
static void put_strings(struct maker *m, enum kind kind, size_t *at)
{
	const struct fxt_profile *p = m->profile;
	Perfetto__InternedString list[MOST_ENTRIES], *entries[MOST_ENTRIES];
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	size_t count = 0, bytes = 0;

	for (; *at < p->string_count && count < MOST_ENTRIES && bytes < FXT_PACKET_BYTES / 2; ++*at) {
		const struct fxt_profile_string *string = &p->strings[*at];

		if (!is_of(string, kind))
			continue;
		list[count] = (Perfetto__InternedString)PERFETTO__INTERNED_STRING__INIT;
		list[count].has_iid = list[count].has_str = true;
		list[count].iid = *at + 1;
		list[count].str.data = (uint8_t *)string->text;
		list[count].str.len = string->bytes;
		bytes += string->bytes;
		entries[count] = &list[count];
		count++;
	}
	if (!count)
		return;
	*(kind == NAME ? &data.n_function_names : kind == PATH ? &data.n_mapping_paths : &data.n_build_ids) =
		count;
	*(kind == NAME ? &data.function_names : kind == PATH ? &data.mapping_paths : &data.build_ids) =
		entries;
	put_interned(m, &data);
}

/* A path is one string, and Perfetto drops one of the two slashes that it then has in front. */
static void put_mappings(struct maker *m, size_t *at)
{
	const struct fxt_profile *p = m->profile;
	Perfetto__Mapping list[MOST_ENTRIES], *entries[MOST_ENTRIES];
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	uint64_t paths[MOST_ENTRIES];
	size_t count = 0;

	for (; *at < p->mapping_count && count < MOST_ENTRIES; ++*at, count++) {
		const struct fxt_profile_mapping *mapping = &p->mappings[*at];

		list[count] = (Perfetto__Mapping)PERFETTO__MAPPING__INIT;
		list[count].has_iid = true;
		list[count].iid = *at + 1;
		list[count].has_build_id = mapping->build_id != 0;
		list[count].build_id = mapping->build_id;
		paths[count] = mapping->path;
		list[count].n_path_string_ids = mapping->path != 0;
		list[count].path_string_ids = &paths[count];
		entries[count] = &list[count];
	}
	data.n_mappings = count;
	data.mappings = entries;
	put_interned(m, &data);
}

static void put_frames(struct maker *m, size_t *at)
{
	const struct fxt_profile *p = m->profile;
	Perfetto__Frame list[MOST_ENTRIES], *entries[MOST_ENTRIES];
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	size_t count = 0;

	for (; *at < p->frame_count && count < MOST_ENTRIES; ++*at, count++) {
		const struct fxt_profile_frame *frame = &p->frames[*at];

		list[count] = (Perfetto__Frame)PERFETTO__FRAME__INIT;
		list[count].has_iid = list[count].has_function_name_id = true;
		list[count].has_mapping_id = list[count].has_rel_pc = true;
		list[count].iid = *at + 1;
		list[count].function_name_id = frame->name;
		list[count].mapping_id = frame->mapping;
		list[count].rel_pc = frame->offset;
		entries[count] = &list[count];
	}
	data.n_frames = count;
	data.frames = entries;
	put_interned(m, &data);
}

/* Writes the frames of a stack to `frames`, the outermost first. Returns how many there are. */
static size_t stack_of(const struct fxt_profile *p, size_t node, uint64_t frames[MOST_DEPTH])
{
	size_t depth = 0, count;

	for (size_t at = node; at && depth < MOST_DEPTH; at = p->nodes[at - 1].caller)
		depth++;
	count = depth;
	for (size_t at = node; depth > 0; at = p->nodes[at - 1].caller)
		frames[--depth] = p->nodes[at - 1].frame;
	return count;
}

static void put_stacks(struct maker *m, size_t *at)
{
	const struct fxt_profile *p = m->profile;
	Perfetto__Callstack list[MOST_ENTRIES], *entries[MOST_ENTRIES];
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	uint64_t frames[MOST_NUMBERS];
	size_t count = 0, numbers = 0;

	for (; *at < p->node_count && count < MOST_ENTRIES && numbers + MOST_DEPTH <= MOST_NUMBERS; ++*at) {
		if (!p->nodes[*at].is_innermost)
			continue;
		list[count] = (Perfetto__Callstack)PERFETTO__CALLSTACK__INIT;
		list[count].has_iid = true;
		list[count].iid = *at + 1;
		list[count].frame_ids = &frames[numbers];
		list[count].n_frame_ids = stack_of(p, *at + 1, &frames[numbers]);
		numbers += list[count].n_frame_ids;
		entries[count] = &list[count];
		count++;
	}
	if (!count)
		return;
	data.n_callstacks = count;
	data.callstacks = entries;
	put_interned(m, &data);
}

static void put_names_and_stacks(struct maker *m)
{
	const struct fxt_profile *p = m->profile;

	for (enum kind kind = NAME; kind <= BUILD_ID; kind++)
		for (size_t at = 0; at < p->string_count;)
			put_strings(m, kind, &at);
	for (size_t at = 0; at < p->mapping_count;)
		put_mappings(m, &at);
	for (size_t at = 0; at < p->frame_count;)
		put_frames(m, &at);
	for (size_t at = 0; at < p->node_count;)
		put_stacks(m, &at);
}

/* -- What the packets begin with ------------------------------------------------------------------- */

/* Returns the time of the first event of the profile. */
static uint64_t beginning(const struct fxt_profile *p)
{
	uint64_t at_ns = UINT64_MAX;

	for (size_t i = 0; i < p->sample_count; i++)
		at_ns = p->samples[i].at_ns < at_ns ? p->samples[i].at_ns : at_ns;
	for (const struct fxt_slot *s = fxt_map_next(&p->heap_times, NULL); s;
	     s = fxt_map_next(&p->heap_times, s))
		at_ns = s->value[0] < at_ns ? s->value[0] : at_ns;
	return at_ns;
}

/* Returns a time that is as late as any event of the profile. */
static uint64_t ending(const struct fxt_profile *p)
{
	uint64_t at_ns = p->sample_count ? p->samples[p->sample_count - 1].at_ns : 0;

	for (const struct fxt_slot *s = fxt_map_next(&p->heap_times, NULL); s;
	     s = fxt_map_next(&p->heap_times, s))
		at_ns = s->value[1] > at_ns ? s->value[1] : at_ns;
	return at_ns;
}

/* Says how the clocks are to each other. Perfetto takes the times within heap profiles for those of
 * CLOCK_MONOTONIC_COARSE, and leaves out profiles whose times it cannot convert. Ours are of CLOCK_BOOTTIME,
 * so the blob says that the two clocks are one. */
static void put_clocks(struct maker *m, uint64_t at_ns)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__ClockSnapshot snapshot = PERFETTO__CLOCK_SNAPSHOT__INIT;
	Perfetto__ClockSnapshot__Clock coarse = PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT, boot, *clocks[2];

	coarse.has_clock_id = coarse.has_timestamp = true;
	coarse.clock_id = MONOTONIC_COARSE;
	coarse.timestamp = at_ns;
	boot = coarse;
	boot.clock_id = BOOTTIME;
	clocks[0] = &boot;
	clocks[1] = &coarse;
	snapshot.n_clocks = 2;
	snapshot.clocks = clocks;
	packet.clock_snapshot = &snapshot;
	fxt_packets_put(&m->packets, &packet);
}

/* Begins the sequence, and says what holds for all of its packets. */
static void put_defaults(struct maker *m)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__TracePacketDefaults defaults = PERFETTO__TRACE_PACKET_DEFAULTS__INIT;
	Perfetto__PerfSampleDefaults samples = PERFETTO__PERF_SAMPLE_DEFAULTS__INIT;
	Perfetto__PerfEvents__Timebase timebase = PERFETTO__PERF_EVENTS__TIMEBASE__INIT;

	timebase.has_frequency = m->profile->hz != 0;
	timebase.frequency = m->profile->hz;
	timebase.has_counter = timebase.has_timestamp_clock = true;
	timebase.counter = PERFETTO__PERF_EVENTS__COUNTER__SW_CPU_CLOCK;
	timebase.timestamp_clock = PERFETTO__PERF_EVENTS__PERF_CLOCK__PERF_CLOCK_BOOTTIME;
	samples.timebase = &timebase;
	defaults.has_timestamp_clock_id = true;
	defaults.timestamp_clock_id = BOOTTIME;
	defaults.perf_sample_defaults = &samples;
	packet.trace_packet_defaults = &defaults;
	packet.has_first_packet_on_sequence = packet.first_packet_on_sequence = true;
	packet.has_sequence_flags = true;
	packet.sequence_flags = FXT_PACKETS_BEGIN;
	fxt_packets_put(&m->packets, &packet);
}

void fxt_perfetto_make(struct fxt_perfetto_blob *blob, struct fxt_profile *profile,
		       struct fxt_frame_names *names)
{
	struct maker m = {.packets = {.blob = blob, .time_ns = beginning(profile)}, .profile = profile};

	if (!profile->sample_count && !profile->heap_count)
		return;
	put_clocks(&m, m.packets.time_ns);
	put_defaults(&m);
	put_names_and_stacks(&m);
	fxt_packets_samples(&m.packets, profile);
	fxt_packets_heaps(&m.packets, profile);
	m.packets.time_ns = ending(profile);
	fxt_packets_symbols(&m.packets, profile, names);
	fxt_packets_end(&m.packets);
}

#endif
