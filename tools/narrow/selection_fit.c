/* Whether one record fits the options. See selection.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <stdlib.h>

#include "selection.h"
#include "tools/common/message.h"

enum { UNKNOWN, NO, YES };

struct fxt_span fxt_span_of(const struct fxt_record *rec)
{
	struct fxt_span span = {fxt_ns(rec->provider, rec->ticks), 0};

	span.end_ns = span.start_ns;
	if (rec->type == FXT_RECORD_EVENT && rec->subtype == FXT_EVENT_DURATION_BEGIN)
		span.end_ns = UINT64_MAX;
	if (rec->type == FXT_RECORD_EVENT && rec->subtype == FXT_EVENT_DURATION_COMPLETE)
		span.end_ns = fxt_ns(rec->provider, rec->extra);
	if (span.end_ns < span.start_ns)
		span.end_ns = span.start_ns;
	return span;
}

/* -- Threads ----------------------------------------------------------------------------------------- */

static bool is_chosen_tid(const struct fxt_selection *s, uint64_t tid)
{
	struct fxt_slot *slot = fxt_map_find(&s->place_of_tid, tid, 0);

	return slot && s->threads[slot->value[0]];
}

bool fxt_fits_thread(const struct fxt_selection *s, const struct fxt_record *rec)
{
	const struct fxt_argument *thread;
	uint64_t tid;

	if (!s->narrow->by[FXT_BY_PROCESS].count && !s->narrow->by[FXT_BY_THREAD].count)
		return true;
	if (rec->type == FXT_RECORD_SCHEDULING)
		return is_chosen_tid(s, rec->id) ||
		       (rec->subtype != FXT_SCHEDULING_WAKEUP && is_chosen_tid(s, rec->extra));
	/* What the kernel has told is on the tracks of processors, and says of whom. */
	thread = fxt_provider_is_kernel(rec->provider) ? fxt_argument(rec, "thread") : NULL;
	if (thread && fxt_argument_u64(thread, &tid))
		return is_chosen_tid(s, tid);
	return rec->thread < s->known.thread_count && s->threads[rec->thread];
}

/* -- Names ------------------------------------------------------------------------------------------- */

/* Returns whether a text of the trace fits. */
static bool fits_text(struct fxt_patterns *p, const struct fxt_text *text)
{
	char *copy = fxt_format("%.*s", (int)text->bytes, text->text);
	bool fits = fxt_patterns_fit(p, copy);

	free(copy);
	return fits;
}

/* The same for a text that has a symbol, once only. `full` is another name that may fit; or NULL. */
static bool fits_name(struct fxt_fits *f, struct fxt_patterns *p, struct fxt_reader *r,
		      const struct fxt_text *name, const char *full)
{
	uint32_t symbol = fxt_symbol(r, name);
	bool fits;

	f->by_symbol = fxt_reach(f->by_symbol, &f->capacity, &f->count, symbol, 1);
	if (f->by_symbol[symbol] == UNKNOWN) {
		fits = fits_text(p, name);
		if (full)
			fits |= fxt_patterns_fit(p, full);
		f->by_symbol[symbol] = fits ? YES : NO;
	}
	return f->by_symbol[symbol] == YES;
}

/* Returns whether the name of a function fits: as it is in the source, with its parameters or without. */
static bool fits_function(struct fxt_patterns *p, const struct fxt_text *name)
{
	char *full = fxt_format("%.*s", (int)name->bytes, name->text);
	bool fits = fxt_patterns_fit(p, full);

	full[strcspn(full, "(")] = '\0';
	fits |= fxt_patterns_fit(p, full);
	free(full);
	return fits;
}

/* -- Stacks, objects, paths -------------------------------------------------------------------------- */

static bool fits_stack(struct fxt_selection *s, const struct fxt_record *rec)
{
	uint32_t innermost = fxt_call_stack_of(&s->stacks, rec), at, known;
	unsigned char result = NO;

	for (at = innermost; at < s->frame_count; at = s->stacks.frames[at].parent) {
		const struct fxt_call_frame *frame = &s->stacks.frames[at];
		struct fxt_text name = fxt_symbol_text(&s->known, frame->name);

		if (s->frames[at] != UNKNOWN) {
			result = s->frames[at];
			break;
		}
		if (frame->name && fits_function(&s->narrow->by[FXT_BY_STACK], &name)) {
			result = YES;
			break;
		}
	}
	/* What holds of a caller holds of what it has called. */
	known = at;
	for (at = innermost; at != known; at = s->stacks.frames[at].parent)
		s->frames[at] = result;
	if (known < s->frame_count)
		s->frames[known] = result;
	return result == YES;
}

static bool is_address(const struct fxt_argument *a)
{
	return a->type == FXT_ARG_POINTER || a->type == FXT_ARG_KOID;
}

static bool fits_object(struct fxt_selection *s, const struct fxt_reader *r, const struct fxt_record *rec)
{
	struct fxt_patterns *p = &s->narrow->by[FXT_BY_OBJECT];
	bool fits = false;

	for (unsigned i = 0; i < rec->arg_count; i++) {
		const struct fxt_argument *a = &rec->args[i];
		const struct fxt_object *object;
		char *address;

		if (a->type == FXT_ARG_STRING && fxt_text_is(&a->name, "object"))
			fits |= fits_text(p, &a->string);
		if (!is_address(a))
			continue;
		address = fxt_format("0x%" PRIx64, a->u);
		fits |= fxt_patterns_fit(p, address);
		free(address);
		object = fxt_object_of(&s->objects, r, rec, a);
		if (object)
			fits |= fxt_patterns_fit(p, object->label);
	}
	return fits;
}

static uint64_t process_of(const struct fxt_selection *s, const struct fxt_record *rec)
{
	return rec->thread < s->known.thread_count ? s->known.threads[rec->thread].pid : 0;
}

/* Returns whether a text that the event has fits. */
static bool has_path(struct fxt_selection *s, const struct fxt_record *rec)
{
	bool fits = false;

	for (unsigned i = 0; i < rec->arg_count; i++) {
		if (rec->args[i].type == FXT_ARG_STRING)
			fits |= fits_text(&s->narrow->by[FXT_BY_PATH], &rec->args[i].string);
	}
	return fits;
}

/* Returns whether the event is a call on a descriptor that was opened by a path that fits. */
static bool is_of_opened(const struct fxt_selection *s, const struct fxt_record *rec, struct fxt_span span)
{
	uint64_t fd = fxt_argument_or(rec, "fd", UINT64_MAX);
	struct fxt_slot *slot =
		fd == UINT64_MAX ? NULL : fxt_map_find(&s->opened, process_of(s, rec), (uint32_t)fd);

	for (uint64_t next = slot ? slot->value[0] : 0; next; next = s->lifetimes[next - 1].next) {
		const struct fxt_group *open = &s->groups[s->lifetimes[next - 1].group];

		if (span.start_ns <= open->end_ns && span.end_ns >= open->start_ns)
			return true;
	}
	return false;
}

void fxt_fits_note_opened(struct fxt_selection *s, const struct fxt_record *rec)
{
	uint64_t fd = fxt_argument_or(rec, "fd", UINT64_MAX);
	struct fxt_slot *slot;
	bool fresh;

	if (!s->narrow->by[FXT_BY_PATH].count || rec->type != FXT_RECORD_EVENT ||
	    rec->subtype != FXT_EVENT_ASYNC_BEGIN || fd == UINT64_MAX || !has_path(s, rec))
		return;
	slot = fxt_map_put(&s->opened, process_of(s, rec), (uint32_t)fd, &fresh);
	s->lifetimes = fxt_grow(s->lifetimes, &s->lifetime_capacity, s->lifetime_count + 1,
				sizeof(*s->lifetimes));
	s->lifetimes[s->lifetime_count] =
		(struct fxt_opened){(uint32_t)(fxt_group_of(s, rec) - s->groups), (uint32_t)slot->value[0]};
	slot->value[0] = ++s->lifetime_count;
}

/* Forgets what is known of names by their symbols, which differ from reader to reader. */
static void use_reader(struct fxt_selection *s, const struct fxt_reader *r)
{
	if (s->reader == r)
		return;
	s->reader = r;
	s->calls.count = s->categories.count = 0;
	fxt_demangled_free(&s->demangled);
	s->demangled = (struct fxt_demangled){0};
}

bool fxt_fits_event(struct fxt_selection *s, struct fxt_reader *r, const struct fxt_record *rec,
		    struct fxt_span span)
{
	struct fxt_patterns *by = s->narrow->by;
	bool fits = span.end_ns - span.start_ns >= s->narrow->least_ns;

	use_reader(s, r);
	/* All are asked, so that a message can say which of them fits nothing at all. */
	if (by[FXT_BY_CATEGORY].count)
		fits &= fits_name(&s->categories, &by[FXT_BY_CATEGORY], r, &rec->category, NULL);
	if (by[FXT_BY_CALL].count)
		fits &= fits_name(&s->calls, &by[FXT_BY_CALL], r, &rec->name,
				  fxt_demangled_name(&s->demangled, r, &rec->category, &rec->name));
	if (by[FXT_BY_STACK].count)
		fits &= fits_stack(s, rec);
	if (by[FXT_BY_OBJECT].count)
		fits &= fits_object(s, r, rec);
	if (by[FXT_BY_PATH].count)
		fits &= has_path(s, rec) || is_of_opened(s, rec, span);
	return fits;
}
