/* The stacks of a trace with their weights: folded, for flame graphs of others, and for speedscope, whose
 * file has a profile for each weight. The weights are the report's (tools/export/weighed_stacks.h).
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "convert.h"
#include "form_text.h"
#include "tools/analysis/call_tree.h"
#include "tools/export/weighed_stacks.h"
#include "tools/printing/print.h"

/* Reads the trace. Returns false if it is damaged; the report is there in any case. */
static bool make_report(struct fxt_export *export, struct fxt_report *report)
{
	struct fxt_report_options options = {.top = FXT_TOP_ALL};

	fxt_report_make(report, export->reader, &options);
	return !export->reader->damaged_records && !export->reader->tail_bytes;
}

static void note_missing(struct fxt_export *export, uint64_t missing)
{
	if (missing && !export->note)
		export->note = fxt_format("its sums of the heap are too low: %s blocks and samples found no "
					  "place in the agent's table or the trace",
					  fxt_count(missing).text);
}

char *fxt_form_folded(struct fxt_export *export)
{
	struct fxt_report report;
	struct fxt_stacks stacks;
	uint64_t missing;
	const char *lack;
	char *wrong = NULL;

	if (!make_report(export, &report)) {
		wrong = fxt_strdup("damaged");
	} else {
		lack = fxt_weighed_stacks(&report, export->weight, &stacks, &missing);
		note_missing(export, missing);
		if (lack) {
			wrong = fxt_strdup(lack);
		} else {
			fxt_stacks_print_folded(&stacks, export->out);
			fxt_stacks_free(&stacks);
		}
	}
	fxt_report_free(&report);
	return wrong;
}

/* -- speedscope ------------------------------------------------------------------------------------ */

struct scope {
	struct fxt_export *export;
	struct fxt_form_text frames, profiles;
	struct fxt_map names;           /* of frames: hash and length of a label -> its frame plus 1 */
	char **labels;                  /* by frame */
	size_t frame_count, frame_capacity;
	size_t profile_count;
};

static uint64_t hash_of(const char *label)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *label; label++)
		hash = (hash ^ (unsigned char)*label) * UINT64_C(0x100000001b3);
	return hash;
}

/* Returns the frame with this label: all profiles share them. */
static size_t frame_of(struct scope *s, const char *label)
{
	uint64_t hash = hash_of(label);
	struct fxt_slot *slot;
	bool fresh;

	for (uint64_t turn = 0;; turn++) {
		slot = fxt_map_put(&s->names, hash, turn, &fresh);
		if (fresh)
			break;
		if (strcmp(s->labels[slot->value[0]], label) == 0)
			return slot->value[0];
	}
	s->labels = fxt_grow(s->labels, &s->frame_capacity, s->frame_count + 1, sizeof(*s->labels));
	s->labels[s->frame_count] = fxt_strdup(label);
	fxt_put_literal(&s->frames, s->frame_count ? ",\n{\"name\":" : "\n{\"name\":");
	fxt_put_json_string(&s->frames, label);
	fxt_put_bytes(&s->frames, "}", 1);
	slot->value[0] = s->frame_count;
	return s->frame_count++;
}

/* Puts a stack, the outermost frame first. */
static void put_stack(struct scope *s, const struct fxt_stacks *stacks, uint32_t innermost)
{
	size_t *frames = NULL, count = 0, capacity = 0;

	for (uint32_t at = innermost; at != FXT_NO_NODE; at = stacks->list[at].parent) {
		frames = fxt_grow(frames, &capacity, count + 1, sizeof(*frames));
		frames[count++] = frame_of(s, stacks->list[at].label);
	}
	fxt_put_bytes(&s->profiles, "[", 1);
	while (count-- > 0) {
		fxt_put_u64(&s->profiles, frames[count]);
		if (count)
			fxt_put_bytes(&s->profiles, ",", 1);
	}
	fxt_put_bytes(&s->profiles, "]", 1);
	free(frames);
}

static void put_profile(struct scope *s, const struct fxt_stacks *stacks, enum fxt_weight weight)
{
	static const char *const units[] = {
		[FXT_STACKS_SAMPLES] = "none", [FXT_STACKS_BYTES] = "bytes", [FXT_STACKS_NS] = "nanoseconds"};
	static const char *const titles[FXT_WEIGHTS] = {
		"processor: samples", "heap: bytes never freed", "heap: bytes at its peak",
		"heap: bytes allocated", "waits: time"};
	struct fxt_form_text *t = &s->profiles, weights = {0};
	bool has_any = false;

	fxt_put_literal(t, s->profile_count++ ? ",\n" : "\n");
	fxt_put_literal(t, "{\"type\":\"sampled\",\"name\":");
	fxt_put_json_string(t, titles[weight]);
	fxt_put_literal(t, ",\"unit\":");
	fxt_put_json_string(t, units[stacks->unit]);
	fxt_put_literal(t, ",\"startValue\":0,\"endValue\":");
	fxt_put_u64(t, stacks->samples);
	fxt_put_literal(t, ",\"samples\":[");
	for (size_t i = 0; i < stacks->count; i++) {
		if (!stacks->list[i].self)
			continue;
		if (has_any) {
			fxt_put_bytes(t, ",", 1);
			fxt_put_bytes(&weights, ",", 1);
		}
		has_any = true;
		put_stack(s, stacks, (uint32_t)i);
		fxt_put_u64(&weights, stacks->list[i].self);
	}
	fxt_put_literal(t, "],\"weights\":[");
	fxt_put_bytes(t, weights.data, weights.bytes);
	fxt_put_literal(t, "]}");
	free(weights.data);
}

static void put_file(struct scope *s)
{
	struct fxt_form_text head = {0};
	FILE *out = s->export->out;

	fxt_put_literal(&head, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
			       "\"name\":");
	fxt_put_json_string(&head, s->export->trace);
	fxt_put_literal(&head, ",\"exporter\":\"fxt\",\"activeProfileIndex\":0,\"shared\":{\"frames\":[");
	fxt_form_text_flush(&head, out, true);
	fxt_form_text_flush(&s->frames, out, true);
	fputs("\n]},\"profiles\":[", out);
	fxt_form_text_flush(&s->profiles, out, true);
	fputs("\n]}\n", out);
	free(head.data);
}

char *fxt_form_speedscope(struct fxt_export *export)
{
	struct scope s = {.export = export};
	struct fxt_report report;
	struct fxt_stacks stacks;
	uint64_t missing;
	char *wrong = NULL;

	if (!make_report(export, &report))
		wrong = fxt_strdup("damaged");
	for (int i = 0; i < FXT_WEIGHTS && !wrong; i++) {
		if (!fxt_weighed_stacks(&report, (enum fxt_weight)i, &stacks, &missing)) {
			put_profile(&s, &stacks, (enum fxt_weight)i);
			fxt_stacks_free(&stacks);
		}
		note_missing(export, missing);
	}
	if (!wrong && !s.profile_count)
		wrong = fxt_strdup("it has neither samples nor waits nor blocks with stacks");
	if (!wrong)
		put_file(&s);
	for (size_t i = 0; i < s.frame_count; i++)
		free(s.labels[i]);
	free(s.labels);
	free(s.frames.data);
	free(s.profiles.data);
	fxt_map_free(&s.names);
	fxt_report_free(&report);
	return wrong;
}
