/* Takes the records of one part of an archive: what they say of programs goes into the sums, and they are
 * copied. See merge_internal.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "merge_internal.h"

#include <stdlib.h>

#include "tools/common/message.h"
#include "tools/reading/mapped_trace.h"
#include "tools/reading/reader_internal.h"

enum { DROP_PROGRAMS = 32 };

static struct fxt_open_program *program_of(const struct fxt_merged_part *part,
					   const struct fxt_provider *provider)
{
	return fxt_open_lifetimes_of(&part->merge->lifetimes, provider);
}

/* Takes the times of events of a thread, which that provider has recorded. Counters tell only that the
 * program had begun: the agent may write them at any time, also when a call that executes another program is
 * in the trace already. */
static void take_times(const struct fxt_merged_part *part, const struct fxt_provider *provider,
		       uint32_t thread, uint64_t type, struct fxt_times times)
{
	struct fxt_open_program *program = program_of(part, provider);

	if (type == FXT_EVENT_COUNTER)
		times.latest = times.last = 0;
	if (program && part->r->threads[thread].pid == program->ended.pid)
		fxt_open_program_seen(program, thread, &times);
}

/* Takes a slice of another process's thread. It is in this part because that thread woke one of this
 * process. */
static void take_other(const struct fxt_merged_part *part, const struct fxt_record *rec)
{
	const struct fxt_trace_thread *one = &part->r->threads[rec->thread];
	const struct fxt_open_program *program = program_of(part, rec->provider);

	if (program && one->pid != program->ended.pid && rec->subtype == FXT_EVENT_DURATION_COMPLETE)
		fxt_open_lifetimes_other(&part->merge->lifetimes, one->pid, one->tid, fxt_commit_ticks(rec));
}

static void count(struct fxt_merged_part *part, const struct fxt_provider *provider,
		  const struct fxt_form *form)
{
	fxt_overview_count(&part->overview, form->category, form->thread,
			   fxt_get_record_words(form->header) * FXT_WORD_BYTES, form->count);
	take_times(part, provider, form->thread, fxt_get_event_type(form->header), form->times);
}

static void count_skimmed(void *context, const struct fxt_form *form)
{
	struct fxt_merged_part *part = context;

	count(part, part->skims.provider, form);
}

static void link_lifetime(void *context, enum fxt_event_type type, uint64_t id, uint64_t offset)
{
	struct fxt_merged_part *part = context;
	struct fxt_open_program *program = program_of(part, part->r->provider);

	if (program)
		fxt_open_program_link(program, type, id, offset);
	if (type == FXT_EVENT_ASYNC_END)
		fxt_profile_ended(&part->merge->profile, &part->profile, part->r, id, offset);
}

/* Takes an instant `exit` of category process, by which the agent says how its process ended. */
static void take_exit(struct fxt_merge *m, const struct fxt_merged_part *part, const struct fxt_record *rec)
{
	struct fxt_open_program *program = program_of(part, rec->provider);
	uint64_t pid = part->r->threads[rec->thread].pid;
	bool by_signal = fxt_argument(rec, "signal"), fresh;

	if (rec->subtype != FXT_EVENT_INSTANT || !fxt_text_is(&rec->name, "exit") ||
	    (!by_signal && !fxt_argument(rec, "status")))
		return;
	fxt_map_put(&m->exits, pid, 0, &fresh);
	fxt_open_lifetimes_ended(&m->lifetimes, pid, rec->ticks, by_signal);
	if (program && pid == program->ended.pid)
		program->ended.has_exited = true;
}

/* Takes the end of a child's lifetime, which says how the child ended if it was reaped. */
static void take_reaped(struct fxt_merge *m, const struct fxt_merged_part *part, const struct fxt_record *rec)
{
	const struct fxt_open_program *program = program_of(part, rec->provider);
	bool by_signal = fxt_argument(rec, "signal");
	uint64_t pid;

	if (rec->subtype == FXT_EVENT_ASYNC_END && !(program && program->numbers_differ) &&
	    fxt_text_is(&rec->name, "child") && (by_signal || fxt_argument(rec, "status")) &&
	    fxt_argument_u64(fxt_argument(rec, "pid"), &pid))
		fxt_open_lifetimes_ended(&m->lifetimes, pid, rec->ticks, by_signal);
}

/* Takes the begin of a child's lifetime. */
static void take_child(struct fxt_merge *m, const struct fxt_merged_part *part, const struct fxt_record *rec)
{
	const struct fxt_open_program *program = program_of(part, rec->provider);
	struct fxt_slot *s;
	uint64_t pid;
	bool fresh;

	if (rec->subtype != FXT_EVENT_ASYNC_BEGIN || (program && program->numbers_differ) ||
	    !fxt_text_is(&rec->name, "child") || !fxt_argument_u64(fxt_argument(rec, "pid"), &pid))
		return;
	s = fxt_map_put(&m->children, pid, 0, &fresh);
	if (!fresh)
		fxt_open_lifetimes_born(&m->lifetimes, pid, rec->ticks);
	m->has_numbers_again = m->has_numbers_again || !fresh;
	s->value[0] = rec->ticks > s->value[0] ? rec->ticks : s->value[0];
}

/* Takes an event of category process, which tells how processes begin and end. */
static void take_process(struct fxt_merge *m, struct fxt_merged_part *part, const struct fxt_record *rec)
{
	struct fxt_open_program *program = program_of(part, rec->provider);

	take_exit(m, part, rec);
	take_child(m, part, rec);
	take_reaped(m, part, rec);
	if (!program)
		return;
	if (fxt_untraced_executes(&m->untraced, part->r, rec, program->ended.pid))
		fxt_open_program_executes(program, rec->thread, fxt_commit_ticks(rec),
					  fxt_argument(rec, "errno"));
	fxt_untraced_take(&m->untraced, part->r, rec, program->ended.pid, program->numbers_differ);
}

/* Takes a name of a process: the first process that a provider names is its own. */
static void take_name(struct fxt_merge *m, struct fxt_merged_part *part, const struct fxt_record *rec)
{
	struct fxt_open_program *program;

	if (rec->type != FXT_RECORD_KERNEL_OBJECT || rec->subtype != FXT_OBJECT_PROCESS ||
	    program_of(part, rec->provider) || fxt_provider_is_kernel(rec->provider))
		return;
	program = fxt_open_lifetimes_name(&m->lifetimes, rec->provider, rec->id,
					  fxt_merge_unique_id(m, &part->ids, rec->provider->id));
	program->numbers_differ = fxt_argument(rec, "pid");
	fxt_untraced_part(&m->untraced, rec->id);
}

/* Takes when a program's agent has read the clocks. */
static void take_clock(const struct fxt_merged_part *part, const struct fxt_record *rec)
{
	struct fxt_open_program *program = program_of(part, rec->provider);

	if (program && rec->type == FXT_RECORD_KERNEL_OBJECT && rec->subtype == FXT_OBJECT_CLOCK)
		fxt_open_program_clock(program, fxt_argument_or(rec, "boottime_ns", 0));
}

/* Takes an event of category kernel, of which some tell that threads end. */
static void take_kernel(struct fxt_merge *m, const struct fxt_record *rec)
{
	bool has_ended = fxt_text_is(&rec->name, "ended");
	const struct fxt_text *program;
	uint64_t pid, tid;

	if ((has_ended || fxt_text_is(&rec->name, "executed")) &&
	    fxt_argument_u64(fxt_argument(rec, "process"), &pid) &&
	    fxt_argument_u64(fxt_argument(rec, "thread"), &tid))
		fxt_open_lifetimes_kernel(&m->lifetimes, pid, tid, rec->ticks, has_ended);
	program = fxt_argument_text(rec, "program");
	if (fxt_text_is(&rec->name, "executed") && program &&
	    fxt_argument_u64(fxt_argument(rec, "process"), &pid))
		fxt_untraced_seen(&m->untraced, pid, rec->ticks, program);
}

static void take_switch(struct fxt_merge *m, struct fxt_merged_part *part, const struct fxt_record *rec)
{
	bool is_kernel = fxt_provider_is_kernel(rec->provider);

	fxt_wakeups_switch(&m->wakeups, rec,
			   is_kernel ? fxt_merge_unique_id(m, &part->ids, rec->provider->id) : 0);
}

static void take_agent(struct fxt_merge *m, const struct fxt_reader *r, const struct fxt_record *rec)
{
	fxt_wakeups_arrow(&m->wakeups, r, rec);
	fxt_not_seen_take(&m->not_seen, rec, r->threads[rec->thread].pid);
	m->was_off = m->was_off || fxt_text_is(&rec->name, "recording started") ||
		     fxt_text_is(&rec->name, "recording stopped");
}

/* Takes a decoded record. */
static void take(struct fxt_merge *m, struct fxt_reader *r, struct fxt_merged_part *part,
		 const struct fxt_record *rec)
{
	fxt_overview_take(&part->overview, r, rec);
	fxt_witnessed_take(&m->witnessed, rec);
	fxt_profile_take(&m->profile, &part->profile, r, rec);
	take_name(m, part, rec);
	take_clock(part, rec);
	fxt_frame_part_take(&part->frames, r, rec);
	if (rec->type == FXT_RECORD_SCHEDULING)
		take_switch(m, part, rec);
	/* An event of an unknown type has no thread. */
	if (rec->type != FXT_RECORD_EVENT || !rec->known)
		return;
	take_times(part, rec->provider, rec->thread, rec->subtype,
		   (struct fxt_times){rec->ticks, rec->ticks, fxt_commit_ticks(rec)});
	take_other(part, rec);
	if (fxt_event_bounds_async(rec->subtype) && rec->has_extra)
		link_lifetime(part, (enum fxt_event_type)rec->subtype, rec->extra, rec->offset);
	else if (fxt_event_bounds_call(rec->subtype) && program_of(part, rec->provider))
		fxt_open_program_call(program_of(part, rec->provider), rec);
	if (fxt_text_is(&rec->category, "process"))
		take_process(m, part, rec);
	else if (fxt_text_is(&rec->category, "agent") && fxt_text_is(&rec->name, "untraced") &&
		 program_of(part, rec->provider))
		fxt_untraced_why(&m->untraced, r, rec, program_of(part, rec->provider)->ended.pid);
	else if (fxt_text_is(&rec->category, "agent"))
		take_agent(m, r, rec);
	else if (fxt_text_is(&rec->category, "kernel") && fxt_provider_is_kernel(rec->provider))
		take_kernel(m, rec);
}

static bool is_category(const struct fxt_reader *r, uint32_t category, const char *name)
{
	struct fxt_text text = fxt_symbol_text(r, category);

	return fxt_text_is(&text, name);
}

/* Returns whether events of the category are only counted. Others are decoded. */
static bool is_plain(const struct fxt_reader *r, uint32_t category)
{
	return !is_category(r, category, "agent") && !is_category(r, category, "process") &&
	       !is_category(r, category, "kernel") && !is_category(r, category, "sample");
}

/* Takes an event whose form is not known yet, and remembers the form if it has one. Returns false if the
 * record has to be decoded. */
static bool take_examined(struct fxt_merge *m, struct fxt_reader *r, struct fxt_merged_part *part, bool *ok)
{
	struct fxt_form form;
	uint64_t words, type, from = r->at;

	if (!fxt_reader_examine(r, &form) || !is_plain(r, form.category) ||
	    fxt_profile_wants(&m->profile, r, &form))
		return false;
	type = fxt_get_event_type(form.header);
	/* Begins and ends of calls in progress have no form, because there are few of them. */
	if (fxt_event_bounds_call(type))
		return false;
	/* Lifetimes of threads are counted. */
	if (type == FXT_EVENT_ASYNC_BEGIN && is_category(r, form.category, "pthread"))
		return false;
	if (fxt_reader_remember(r, &part->skims, &form))
		return true;
	words = fxt_get_record_words(form.header);
	form.count = 1;
	form.times.first = form.times.latest = form.times.last = fxt_word(r, from + FXT_WORD_BYTES);
	if (type == FXT_EVENT_DURATION_COMPLETE)
		form.times.last = fxt_word(r, from + (words - 1) * FXT_WORD_BYTES);
	count(part, r->provider, &form);
	if (fxt_event_bounds_async(type))
		link_lifetime(part, (enum fxt_event_type)type,
			      fxt_word(r, from + (words - 1) * FXT_WORD_BYTES), from);
	r->at += words * FXT_WORD_BYTES;
	*ok = fxt_merge_put(m, r->data + from, words * FXT_WORD_BYTES);
	return true;
}

bool fxt_merged_part_next(struct fxt_merge *m, struct fxt_reader *r, struct fxt_merged_part *part, bool *ok)
{
	struct fxt_record *rec = &part->rec;

	if (m->only_counts) {
		fxt_reader_skim(r, &part->skims, NULL, 0);
	} else {
		size_t bytes = fxt_reader_skim(r, &part->skims, m->buffer + m->buffered,
					       FXT_MERGE_BUFFER_BYTES - m->buffered);

		m->buffered += bytes;
		m->bytes += bytes;
		*ok = fxt_merge_make_room(m);
		if (!*ok)
			return false;
	}
	if (take_examined(m, r, part, ok))
		return *ok;
	if (!fxt_reader_next(r, rec))
		return false;
	if (!rec->damaged)
		take(m, r, part, rec);
	*ok = fxt_merge_copy(m, &part->ids, r, rec);
	/* A part that is only counted is in the archive already. If it cannot stay as it is, it has to
	 * be read again. */
	return *ok && (m->as_it_is || !m->only_counts);
}

/* Keeps what the part's programs left open. */
static void keep_open(struct fxt_merged_part *part, struct fxt_reader *r)
{
	struct fxt_merge *m = part->merge;

	for (size_t i = 0; i < r->provider_count; i++) {
		struct fxt_open_program *program = program_of(part, r->providers[i]);
		bool still_runs;

		if (!program)
			continue;
		still_runs = m->still_runs || fxt_map_find(&m->running, r->providers[i]->id, 0);
		/* Begins are read again, here and there, and their pages need not stay. */
		if (i % DROP_PROGRAMS == 0)
			fxt_trace_drop(r->data, r->data + r->at);
		/* A manager saves the calls in progress of a program last of all. */
		if (!fxt_open_lifetimes_keep(&m->lifetimes, program, r, still_runs, !m->followed))
			fxt_untraced_stayed(&m->untraced, program->ended.pid);
	}
	fxt_open_lifetimes_end_part(&m->lifetimes);
}

struct fxt_merged_part *fxt_merged_part_begin(struct fxt_merge *m, const struct fxt_reader *r)
{
	struct fxt_merged_part *part = fxt_alloc(1, sizeof(*part));

	part->merge = m;
	part->r = r;
	part->skims.counted = count_skimmed;
	part->skims.linked = link_lifetime;
	part->skims.context = part;
	fxt_profile_begin_part(&m->profile, &part->profile, &part->frames.stacks);
	fxt_wakeups_begin_part(&m->wakeups);
	m->as_it_is = true;
	return part;
}

void fxt_merged_part_free(struct fxt_merged_part *part)
{
	fxt_map_free(&part->ids);
	fxt_profile_free_part(&part->profile);
	fxt_frame_part_free(&part->frames);
	fxt_overview_free(&part->overview);
	free(part);
}

static uint32_t id_in_archive(void *context, uint32_t id)
{
	struct fxt_merged_part *part = context;

	return fxt_merge_unique_id(part->merge, &part->ids, id);
}

void fxt_merged_part_end(struct fxt_merged_part *part, struct fxt_reader *r)
{
	struct fxt_merge *m = part->merge;

	fxt_skims_tell(&part->skims);
	keep_open(part, r);
	fxt_frame_part_end(&m->frames, &part->frames, r, id_in_archive, part);
	fxt_frame_names_complete(m->frames.names, &part->frames.stacks, r);
	fxt_profile_end_part(&m->profile, &part->profile, r);
	fxt_wakeups_end_part(&m->wakeups);
	m->parts++;
	fxt_merge_add(m, &part->overview, r);
	fxt_merged_part_free(part);
}

