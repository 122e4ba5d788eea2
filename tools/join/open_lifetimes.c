/* Finds what programs left open, and writes its ends. See open_lifetimes.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "open_lifetimes.h"

#include <stdlib.h>

#include "tools/common/message.h"
#include "tools/reading/reader_internal.h"
#include "writer/fxt_encode.h"

/* -- The part that is read ------------------------------------------------------------------------------ */

struct fxt_open_program *fxt_open_lifetimes_name(struct fxt_open_lifetimes *l, struct fxt_provider *own,
						 uint64_t pid, uint32_t id)
{
	struct fxt_open_program *program = fxt_alloc(1, sizeof(*program));

	l->part = fxt_reach(l->part, &l->part_capacity, &l->part_count, own->index,
			    sizeof(struct fxt_open_program *));
	l->part[own->index] = program;
	program->own = own;
	program->ended = (struct fxt_ended_program){.pid = pid, .provider = id, .begin_ns = UINT64_MAX};
	return program;
}

struct fxt_open_program *fxt_open_lifetimes_of(const struct fxt_open_lifetimes *l,
					       const struct fxt_provider *provider)
{
	return provider->index < l->part_count ? l->part[provider->index] : NULL;
}

void fxt_open_program_clock(struct fxt_open_program *program, uint64_t boottime_ns)
{
	program->ended.clock_ns = boottime_ns;
}

/* An end without a begin stays in the map, because the begin may follow in the file if another thread
 * wrote it. In a copy of a file that was being written the begin may even be there twice. */
void fxt_open_program_link(struct fxt_open_program *program, enum fxt_event_type type, uint64_t id,
			   uint64_t offset)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&program->open, id, 0, &fresh);

	if (type == FXT_EVENT_ASYNC_BEGIN && fresh)
		s->value[0] = offset + 1;
	else if (type == FXT_EVENT_ASYNC_END && s->value[0])
		fxt_map_remove(&program->open, s);
}

void fxt_open_program_call(struct fxt_open_program *program, const struct fxt_record *rec)
{
	fxt_cut_calls_take(&program->in_progress, rec);
}

void fxt_open_program_seen(struct fxt_open_program *program, uint32_t thread, const struct fxt_times *times)
{
	if (times->first < program->ended.begin_ns)
		program->ended.begin_ns = times->first;
	fxt_cut_calls_seen(&program->in_progress, thread, times);
}

void fxt_open_program_executes(struct fxt_open_program *program, uint32_t thread, uint64_t at_ns,
			       bool has_failed)
{
	fxt_cut_calls_executes(&program->in_progress, thread, at_ns, has_failed);
}

void fxt_open_lifetimes_other(struct fxt_open_lifetimes *l, uint64_t pid, uint64_t tid, uint64_t at_ns)
{
	fxt_thread_moments_add(&l->others, pid, tid, at_ns);
}

void fxt_open_lifetimes_ended(struct fxt_open_lifetimes *l, uint64_t pid, uint64_t at_ns, bool by_signal)
{
	l->ends = fxt_grow(l->ends, &l->end_capacity, l->end_count + 1, sizeof(*l->ends));
	l->ends[l->end_count++] = (struct fxt_process_moment){pid, at_ns, by_signal, false};
}

void fxt_open_lifetimes_born(struct fxt_open_lifetimes *l, uint64_t pid, uint64_t at_ns)
{
	l->births = fxt_grow(l->births, &l->birth_capacity, l->birth_count + 1, sizeof(*l->births));
	l->births[l->birth_count++] = (struct fxt_process_moment){.pid = pid, .at_ns = at_ns};
}

/* A process ends with the last of its threads, the first of which may have ended long before. */
void fxt_open_lifetimes_kernel(struct fxt_open_lifetimes *l, uint64_t pid, uint64_t tid, uint64_t at_ns,
			       bool has_ended)
{
	/* If another thread executes a program, the first one ends, and that thread takes its number. The
	 * kernel gives the number of a process that is over to another one much later. */
	enum { EXEC_NS = 1000000000 };
	struct fxt_slot *s = fxt_map_find(&l->kernel_ends, pid, 0);
	struct fxt_process_moment *last = s ? &l->ends[s->value[0] - 1] : NULL;
	bool fresh;

	if (!has_ended) {
		if (last && at_ns >= last->at_ns && at_ns - last->at_ns < EXEC_NS)
			last->pid = 0;
		if (last)
			fxt_map_remove(&l->kernel_ends, s);
	} else if (pid == tid) {
		l->has_numbers_again = l->has_numbers_again || last;
		fxt_open_lifetimes_ended(l, pid, at_ns, false);
		l->ends[l->end_count - 1].by_kernel = true;
		fxt_map_put(&l->kernel_ends, pid, 0, &fresh)->value[0] = l->end_count;
	} else if (last && at_ns > last->at_ns) {
		last->at_ns = at_ns;
	}
}

/* Decodes the begin at `offset`. Returns false if no end can be written for it. */
static bool describe(struct fxt_open_lifetime *one, struct fxt_reader *r, struct fxt_provider *p,
		     uint64_t offset)
{
	struct fxt_record rec;

	if (!fxt_reader_event_at(r, offset, p, &rec) || rec.damaged)
		return false;
	*one = (struct fxt_open_lifetime){
		.id = rec.extra,
		.begin_ns = rec.ticks,
		.pid = r->threads[rec.thread].pid,
		.tid = r->threads[rec.thread].tid,
		.category = fxt_lasting_index(p, fxt_get_event_category(rec.header), &rec.category),
		.name = fxt_lasting_index(p, fxt_get_event_name(rec.header), &rec.name),
		.is_of_process = fxt_text_is(&rec.name, "child") && fxt_text_is(&rec.category, "process"),
	};
	if (one->is_of_process)
		one->child = fxt_argument_or(&rec, "pid", 0);
	return one->category && one->name;
}

uint64_t fxt_open_lifetimes_keep(struct fxt_open_lifetimes *l, struct fxt_open_program *program,
				 struct fxt_reader *r, bool still_runs, bool may_be_copy)
{
	struct fxt_ended_program *ended = &program->ended;
	uint64_t executed_ns = fxt_cut_calls_executed_ns(&program->in_progress);
	bool fresh;

	/* Ends are written with times in nanoseconds, so a tick has to be a nanosecond, as it is in the
	 * agent's traces. */
	if (program->own->ticks_per_second != 1000000000)
		return executed_ns;
	ended->still_runs = still_runs;
	ended->executed_ns = executed_ns;
	ended->list = fxt_alloc(program->open.used + 1, sizeof(*ended->list));
	for (const struct fxt_slot *s = fxt_map_next(&program->open, NULL); s;
	     s = fxt_map_next(&program->open, s)) {
		if (s->value[0])
			ended->count +=
				describe(&ended->list[ended->count], r, program->own, s->value[0] - 1);
		else
			fxt_map_put(&ended->ended, s->a, 0, &fresh);
	}
	/* A process that says how it ended has written all of its part, so the part is no copy of a live
	 * file. */
	ended->calls = fxt_cut_calls_keep(&program->in_progress, r, program->own, ended->pid,
					  may_be_copy && !ended->has_exited && !ended->executed_ns,
					  &ended->call_count);
	l->programs = fxt_grow(l->programs, &l->program_capacity, l->program_count + 1, sizeof(*l->programs));
	l->programs[l->program_count++] = *ended;
	return executed_ns;
}

void fxt_open_lifetimes_end_part(struct fxt_open_lifetimes *l)
{
	for (size_t i = 0; i < l->part_count; i++) {
		if (!l->part[i])
			continue;
		fxt_map_free(&l->part[i]->open);
		fxt_cut_calls_free(&l->part[i]->in_progress);
		free(l->part[i]);
	}
	free(l->part);
	l->part = NULL;
	l->part_count = l->part_capacity = 0;
}

/* -- All parts ------------------------------------------------------------------------------------- */

static int compare(uint64_t pid, uint64_t at_ns, uint64_t other_pid, uint64_t other_ns)
{
	if (pid != other_pid)
		return pid < other_pid ? -1 : 1;
	return at_ns != other_ns ? (at_ns < other_ns ? -1 : 1) : 0;
}

static int by_begin(const void *a, const void *b)
{
	const struct fxt_ended_program *x = a, *y = b;

	return compare(x->pid, x->begin_ns, y->pid, y->begin_ns);
}

static int by_moment(const void *a, const void *b)
{
	const struct fxt_process_moment *x = a, *y = b;

	return compare(x->pid, x->at_ns, y->pid, y->at_ns);
}

/* Returns the place of the first of these moments of that process at this time or later, or a place that has
 * none. They are in order. */
static size_t first_at(const struct fxt_process_moment *list, size_t count, uint64_t pid, uint64_t from_ns)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(list[middle].pid, list[middle].at_ns, pid, from_ns) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns when another process got the number of one that had ended by then; UINT64_MAX: not known. */
static uint64_t born_again_ns(const struct fxt_open_lifetimes *l, uint64_t pid, uint64_t from_ns)
{
	size_t i = first_at(l->births, l->birth_count, pid, from_ns);

	return i < l->birth_count && l->births[i].pid == pid ? l->births[i].at_ns : UINT64_MAX;
}

/* Returns the place of the first end of that process after this time, or a place that has none. */
static size_t first_end(const struct fxt_open_lifetimes *l, uint64_t pid, uint64_t from_ns)
{
	return first_at(l->ends, l->end_count, pid, from_ns);
}

/* Finds the end of the program's process. Returns false if it is not known. The kernel knows when that was,
 * and the others know how it came, but tell of it a little earlier or later. */
static bool find_end(const struct fxt_open_lifetimes *l, const struct fxt_ended_program *program,
		     struct fxt_process_moment *found, const char **by)
{
	size_t low = first_end(l, program->pid, program->begin_ns);
	const struct fxt_process_moment *first, *kernel = NULL, *other = NULL;

	if (program->still_runs || low == l->end_count || l->ends[low].pid != program->pid)
		return false;
	for (first = &l->ends[low]; low < l->end_count && l->ends[low].pid == program->pid; low++) {
		if (l->ends[low].by_kernel && kernel)
			break;
		if (l->ends[low].by_kernel)
			kernel = &l->ends[low];
		else if (!other)
			other = &l->ends[low];
	}
	*found = kernel ? *kernel : *first;
	*by = !other ? "end" : other->by_signal ? "signal" : "exit";
	return true;
}

/* Returns when the process executed another program; 0: it has not, as far as is known. The other
 * program need not be traced, so there may be no part of it. `next` is the process's next program that
 * has a part, or NULL. */
static uint64_t left_ns(const struct fxt_ended_program *program, const struct fxt_ended_program *next)
{
	if (next)
		return program->executed_ns && program->executed_ns <= next->begin_ns ? program->executed_ns
										      : next->begin_ns;
	return program->has_exited || program->still_runs ? 0 : program->executed_ns;
}

static bool put_end(const struct fxt_open_lifetime *one, uint64_t at_ns, const char *by,
		    fxt_open_lifetimes_put *put, void *context)
{
	struct fxt_arg how = {.type = FXT_ARG_STRING,
			      .name = FXT_INLINE("ended_by", 8),
			      .string = FXT_INLINE(by, strlen(by))};
	uint64_t words[32];
	size_t count = fxt_encode_event(
		words, 32, FXT_EVENT_ASYNC_END, at_ns > one->begin_ns ? at_ns : one->begin_ns,
		(struct fxt_thread_ref){.process = one->pid, .thread = one->tid}, FXT_INDEXED(one->category),
		FXT_INDEXED(one->name), (struct fxt_args){1, &how}, one->id);

	return put(context, words, count);
}

/* Returns how many of the programs from `first` on are one program, whose parts are in the order in which
 * they were recorded. */
static size_t parts_of_one(const struct fxt_open_lifetimes *l, size_t first)
{
	const struct fxt_ended_program *program = &l->programs[first];
	size_t count = 1;

	while (program->clock_ns && first + count < l->program_count &&
	       program[count].pid == program->pid && program[count].clock_ns == program->clock_ns)
		count++;
	return count;
}

/* The time and manner in which a program was over. */
struct over {
	uint64_t executed_ns;           /* when it executed another program; 0: it did not */
	const struct fxt_process_moment *end;              /* the end of its process, or NULL */
	const char *by;                 /* what ended the process */
	uint64_t before_ns;             /* the next program had begun by then */
	size_t later_parts;             /* so many that follow in the list are of the same program */
};

/* Returns whether the lifetime has its end in a later part of the program. */
static bool ends_later(const struct fxt_ended_program *program, const struct fxt_open_lifetime *one,
		       const struct over *over)
{
	for (size_t i = 1; i <= over->later_parts; i++)
		if (fxt_map_find(&program[i].ended, one->id, 0))
			return true;
	return false;
}

/* Returns when a child that nobody reaped ended, as the kernel says; 0: it lives, or that is not known. */
static uint64_t child_end_ns(const struct fxt_open_lifetimes *l, const struct fxt_open_lifetime *one)
{
	size_t i = one->child ? first_end(l, one->child, one->begin_ns) : l->end_count;

	while (i < l->end_count && l->ends[i].pid == one->child && !l->ends[i].by_kernel)
		i++;
	return i < l->end_count && l->ends[i].pid == one->child ? l->ends[i].at_ns : 0;
}

/* Returns whether children that the program has left unreaped are dead. It may live itself. */
static bool has_dead_children(const struct fxt_open_lifetimes *l, const struct fxt_ended_program *program)
{
	for (size_t i = 0; i < program->count; i++)
		if (child_end_ns(l, &program->list[i]))
			return true;
	return false;
}

static bool close_lifetimes(const struct fxt_open_lifetimes *l, const struct fxt_ended_program *program,
			    const struct over *over, fxt_open_lifetimes_put *put, void *context)
{
	for (size_t i = 0; i < program->count; i++) {
		const struct fxt_open_lifetime *one = &program->list[i];
		bool by_exec = over->executed_ns && !one->is_of_process;
		uint64_t ended_ns = child_end_ns(l, one);

		if (ends_later(program, one, over))
			continue;
		if (ended_ns && (!over->end || ended_ns <= over->end->at_ns)) {
			if (!put_end(one, ended_ns, "end", put, context))
				return false;
			continue;
		}
		if ((by_exec || over->end) && !put_end(one, by_exec ? over->executed_ns : over->end->at_ns,
						       by_exec ? "exec" : over->by, put, context))
			return false;
	}
	return true;
}

static bool close_calls(const struct fxt_open_lifetimes *l, const struct fxt_ended_program *program,
			const struct over *over, fxt_open_lifetimes_put *put, void *context)
{
	uint64_t at_ns = over->executed_ns ? over->executed_ns : over->end->at_ns;
	const char *by = over->executed_ns ? "exec" : over->by;
	const struct fxt_arg how = {.type = FXT_ARG_STRING,
				    .name = FXT_INLINE("ended_by", 8),
				    .string = FXT_INLINE(by, strlen(by))};
	uint64_t words[32], end_ns = 0;

	/* Viewers take events of one tick in the order of the file, where these ends may stand behind
	 * the next program's first event. So they have to lie before that tick. */
	if (at_ns == over->before_ns)
		at_ns--;
	for (size_t i = 0, of_thread = 0; i < program->call_count; i++, of_thread--) {
		const struct fxt_cut_call *one = &program->calls[i];
		size_t count;

		if (!of_thread)
			end_ns = fxt_cut_calls_end_ns(one, program->call_count - i, &l->others, at_ns,
						      over->before_ns, &of_thread);
		count = fxt_encode_event(words, 32, FXT_EVENT_DURATION_END, end_ns,
					 (struct fxt_thread_ref){.process = one->pid, .thread = one->tid},
					 FXT_INDEXED(one->category), FXT_INDEXED(one->name),
					 (struct fxt_args){1, &how}, 0);
		if (!put(context, words, count))
			return false;
	}
	return true;
}

/* Ends what one part of a program left open. */
static bool close_part(const struct fxt_open_lifetimes *l, const struct fxt_ended_program *program,
		       const struct over *over, fxt_open_lifetimes_put *put, void *context)
{
	bool is_over = over->end || over->executed_ns;
	uint64_t words[4];

	if (is_over ? !(program->count + program->call_count) : !has_dead_children(l, program))
		return true;
	return put(context, words, fxt_encode_provider_section(words, 4, program->provider)) &&
	       close_lifetimes(l, program, over, put, context) &&
	       (!is_over || close_calls(l, program, over, put, context));
}

/* Ends what a program left open, which has `parts` parts in the list from `program` on. */
static bool close_program(struct fxt_open_lifetimes *l, const struct fxt_ended_program *program,
			  size_t parts, fxt_open_lifetimes_put *put, void *context)
{
	const struct fxt_ended_program *last = program + parts - 1, *next = last + 1;
	struct over over = {.before_ns = UINT64_MAX, .later_parts = parts};
	struct fxt_process_moment end;
	bool ok = true;

	if (next == l->programs + l->program_count || next->pid != last->pid ||
	    next->begin_ns <= last->begin_ns)
		next = NULL;
	if (find_end(l, last, &end, &over.by))
		over.end = &end;

	/* A process that ended before the next program began is another one that had the same number. */
	if (next && over.end && over.end->at_ns <= next->begin_ns) {
		l->has_numbers_again = true;
		next = NULL;
	}
	if (next)
		over.before_ns = next->begin_ns;
	else if (over.end)
		over.before_ns = born_again_ns(l, last->pid, over.end->at_ns);
	over.executed_ns = left_ns(last, next);
	for (size_t i = 0; ok && i < parts; i++) {
		over.later_parts--;
		ok = close_part(l, program + i, &over, put, context);
	}
	return ok;
}

bool fxt_open_lifetimes_close(struct fxt_open_lifetimes *l, fxt_open_lifetimes_put *put, void *context)
{
	size_t parts;

	if (l->program_count)
		qsort(l->programs, l->program_count, sizeof(*l->programs), by_begin);
	fxt_thread_moments_sort(&l->others);
	if (l->end_count)
		qsort(l->ends, l->end_count, sizeof(*l->ends), by_moment);
	if (l->birth_count)
		qsort(l->births, l->birth_count, sizeof(*l->births), by_moment);
	for (size_t i = 0; i < l->program_count; i += parts) {
		parts = parts_of_one(l, i);
		if (!close_program(l, &l->programs[i], parts, put, context))
			return false;
	}
	return true;
}

void fxt_open_lifetimes_free(struct fxt_open_lifetimes *l)
{
	for (size_t i = 0; i < l->program_count; i++) {
		free(l->programs[i].list);
		free(l->programs[i].calls);
		fxt_map_free(&l->programs[i].ended);
	}
	free(l->programs);
	free(l->others.list);
	free(l->ends);
	free(l->births);
	fxt_map_free(&l->kernel_ends);
	fxt_open_lifetimes_end_part(l);
	*l = (struct fxt_open_lifetimes){0};
}
