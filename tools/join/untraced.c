/* Finds programs of a run that left no trace. See untraced.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "untraced.h"

#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"
#include "tools/printing/print.h"
#include "tools/programs/program.h"

static struct fxt_slot *process(struct fxt_untraced *u, uint64_t pid)
{
	bool fresh;

	return fxt_map_put(&u->processes, pid, 0, &fresh);
}

void fxt_untraced_part(struct fxt_untraced *u, uint64_t pid)
{
	struct fxt_slot *s = process(u, pid);

	s->value[0] = true;
	s->value[1] = 0;
}

void fxt_untraced_stayed(struct fxt_untraced *u, uint64_t pid)
{
	process(u, pid)->value[1] = 0;
}

void fxt_untraced_came_last(struct fxt_untraced *u, uint64_t pid)
{
	u->last_pid = pid;
	u->last_place = process(u, pid)->value[1];
}

/* Returns the program that a call was asked to execute; NULL if it is no such call, or if it failed. */
static char *program_of(const struct fxt_record *rec)
{
	static const char *const arguments[] = {"pathname", "path", "file"};
	static const char *const calls[] = {"execve", "execv",	"execvp",      "execvpe",     "execl",
					    "execlp", "execle", "posix_spawn", "posix_spawnp"};
	bool executes = false;

	if (rec->subtype != FXT_EVENT_DURATION_COMPLETE || fxt_argument(rec, "errno"))
		return NULL;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && !executes; i++)
		executes = fxt_text_is(&rec->name, calls[i]);
	for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]) && executes; i++) {
		const struct fxt_text *program = fxt_argument_text(rec, arguments[i]);

		if (program && program->bytes)
			return fxt_format("%.*s", (int)program->bytes, program->text);
	}
	return NULL;
}

/* Returns whether the call made a child. Such calls return, and those that replace the process's program
 * do not. */
static bool is_spawn(const struct fxt_record *rec)
{
	return rec->name.bytes > 5 && memcmp(rec->name.text, "posix", 5) == 0;
}

static void forget_reason(struct fxt_untraced *u)
{
	free(u->reason.program);
	free(u->reason.why);
	u->reason.program = u->reason.why = NULL;
}

/* Returns the reason that an agent has given last if it is for this execution, or else NULL. The caller frees
 * it. */
static char *take_reason(struct fxt_untraced *u, const struct fxt_execution *e)
{
	char *why = NULL;

	if (u->reason.program && u->reason.teller == e->teller && u->reason.teller_tid == e->teller_tid &&
	    strcmp(u->reason.program, e->program) == 0) {
		why = u->reason.why;
		u->reason.why = NULL;
	}
	forget_reason(u);
	return why;
}

/* Adds an execution. `program` belongs to the list then. */
static void add(struct fxt_untraced *u, const struct fxt_reader *r, const struct fxt_record *rec,
		uint64_t pid, char *program)
{
	const struct fxt_trace_thread *teller = &r->threads[rec->thread];
	const struct fxt_text *why = fxt_argument_text(rec, "untraced");

	u->list = fxt_grow(u->list, &u->capacity, u->count + 1, sizeof(*u->list));
	u->list[u->count++] = (struct fxt_execution){
		.program = program,
		.pid = pid,
		.teller = teller->pid,
		.teller_tid = teller->tid,
		.at_ticks = fxt_commit_ticks(rec),
		.count = 1,
		.why = why ? fxt_format("it %.*s", (int)why->bytes, why->text) : NULL};
	if (!why)
		u->list[u->count - 1].why = take_reason(u, &u->list[u->count - 1]);
	process(u, pid)->value[1] = u->count;
}

void fxt_untraced_why(struct fxt_untraced *u, const struct fxt_reader *r, const struct fxt_record *rec,
		      uint64_t own)
{
	const struct fxt_text *path = fxt_argument_text(rec, "path"), *why = fxt_argument_text(rec, "reason");

	forget_reason(u);
	if (!path || !why)
		return;
	u->reason.program = fxt_format("%.*s", (int)path->bytes, path->text);
	u->reason.why = fxt_format("it %.*s", (int)why->bytes, why->text);
	u->reason.teller = own;
	u->reason.teller_tid = r->threads[rec->thread].tid;
}

static void take_child(struct fxt_untraced *u, const struct fxt_reader *r, const struct fxt_record *rec,
		       uint64_t own, uint64_t pid)
{
	bool fresh;
	struct fxt_slot *child = fxt_map_put(&u->children, own, r->threads[rec->thread].tid, &fresh);

	child->value[0] = pid;
	child->value[1] = rec->ticks;
}

/* Stands in place of the time at which a child began, while that tries to execute a program. */
#define STILL_TRIES UINT64_MAX

/* Returns the child that began within the call: that of posix_spawn(), or that of a vfork, which makes
 * the call in its parent's thread. Returns 0 if there is none. */
static uint64_t child_within(const struct fxt_untraced *u, const struct fxt_reader *r,
			     const struct fxt_record *rec, uint64_t own)
{
	const struct fxt_slot *child = fxt_map_find(&u->children, own, r->threads[rec->thread].tid);

	return child && (child->value[1] == STILL_TRIES ||
			 (child->value[1] >= rec->ticks && child->value[1] <= rec->extra))
		       ? child->value[0]
		       : 0;
}

static bool is_exec(const struct fxt_record *rec)
{
	return rec->subtype == FXT_EVENT_DURATION_COMPLETE &&
	       ((rec->name.bytes > 4 && memcmp(rec->name.text, "exec", 4) == 0) ||
		fxt_text_is(&rec->name, "fexecve"));
}

/* Follows the attempts of a vfork's child that searches PATH. The child begins within its first attempt,
 * and the next ones are its own as well, until one succeeds. */
static void follow_attempts(struct fxt_untraced *u, const struct fxt_reader *r, const struct fxt_record *rec,
			    uint64_t own)
{
	if (is_exec(rec) && child_within(u, r, rec, own))
		fxt_map_find(&u->children, own, r->threads[rec->thread].tid)->value[1] =
			fxt_argument(rec, "errno") ? STILL_TRIES : 0;
}

bool fxt_untraced_executes(const struct fxt_untraced *u, const struct fxt_reader *r,
			   const struct fxt_record *rec, uint64_t own)
{
	return is_exec(rec) && r->threads[rec->thread].pid == own && !child_within(u, r, rec, own);
}

void fxt_untraced_take(struct fxt_untraced *u, const struct fxt_reader *r, const struct fxt_record *rec,
		       uint64_t own, bool numbers_differ)
{
	uint64_t pid, target;
	char *program;

	if (r->threads[rec->thread].pid != own)
		return;
	if (rec->subtype == FXT_EVENT_ASYNC_BEGIN && fxt_text_is(&rec->name, "child") &&
	    fxt_argument_u64(fxt_argument(rec, "pid"), &pid))
		take_child(u, r, rec, own, pid);
	program = numbers_differ ? NULL : program_of(rec);
	target = child_within(u, r, rec, own);
	follow_attempts(u, r, rec, own);
	if (!program)
		return;
	if (!target)
		target = own;
	if (target == own ? is_spawn(rec) : process(u, target)->value[0])
		free(program);
	else
		add(u, r, rec, target, program);
}

/* -- What the kernel tells ------------------------------------------------------------------------ */

void fxt_untraced_seen(struct fxt_untraced *u, uint64_t pid, uint64_t at_ns, const struct fxt_text *program)
{
	u->seen = fxt_grow(u->seen, &u->seen_capacity, u->seen_count + 1, sizeof(*u->seen));
	u->seen[u->seen_count++] = (struct fxt_seen_execution){
		.pid = pid,
		.at_ns = at_ns,
		.program = fxt_format("%.*s", (int)program->bytes, program->text)};
}

static int by_process_and_time(const void *a, const void *b)
{
	const struct fxt_seen_execution *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->at_ns != y->at_ns ? (x->at_ns < y->at_ns ? -1 : 1) : 0;
}

/* Returns how many executions come before that of the process after this time. */
static size_t seen_until(const struct fxt_untraced *u, uint64_t pid, uint64_t at_ns)
{
	size_t low = 0, high = u->seen_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct fxt_seen_execution *one = &u->seen[middle];

		if (one->pid < pid || (one->pid == pid && one->at_ns <= at_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A process that executes a program tells before, and one that spawns another tells after that has. */
void fxt_untraced_seen_all(struct fxt_untraced *u)
{
	if (u->seen_count)
		qsort(u->seen, u->seen_count, sizeof(*u->seen), by_process_and_time);
	for (size_t i = 0; i < u->count; i++) {
		const struct fxt_execution *e = &u->list[i];
		size_t next = seen_until(u, e->pid, e->at_ticks);
		struct fxt_seen_execution *after = next < u->seen_count ? &u->seen[next] : NULL;
		struct fxt_seen_execution *before = next ? &u->seen[next - 1] : NULL;

		if (after && after->pid != e->pid)
			after = NULL;
		if (before && before->pid != e->pid)
			before = NULL;
		if (before && (!after || e->at_ticks - before->at_ns < after->at_ns - e->at_ticks))
			before->is_known = true;
		else if (after)
			after->is_known = true;
	}
}

void fxt_untraced_began(struct fxt_untraced *u, uint64_t pid, uint64_t at_ns)
{
	size_t next = seen_until(u, pid, at_ns);

	if (next && u->seen[next - 1].pid == pid)
		u->seen[next - 1].is_known = u->has_begun = true;
}

void fxt_untraced_add_seen(struct fxt_untraced *u, uint64_t teller)
{
	for (size_t i = 0; i < u->seen_count && u->has_begun; i++) {
		struct fxt_seen_execution *one = &u->seen[i];
		bool tells = fxt_map_find(&u->processes, one->pid, 0) && process(u, one->pid)->value[0];

		if (one->is_known)
			continue;
		u->list = fxt_grow(u->list, &u->capacity, u->count + 1, sizeof(*u->list));
		u->list[u->count++] = (struct fxt_execution){.program = one->program,
							     .pid = one->pid,
							     .teller = tells ? one->pid : teller,
							     .teller_tid = tells ? one->pid : teller,
							     .at_ticks = one->at_ns,
							     .count = 1,
							     .why = fxt_program_refusal(one->program)};
		one->program = NULL;
	}
}

/* -- All of it ------------------------------------------------------------------------------------ */

static int by_program(const void *a, const void *b)
{
	const struct fxt_execution *x = a, *y = b;
	int order = strcmp(x->program, y->program);

	return order ? order : x->pid != y->pid ? (x->pid < y->pid ? -1 : 1) : 0;
}

static int by_count(const void *a, const void *b)
{
	const struct fxt_execution *x = a, *y = b;

	return x->count != y->count ? (x->count > y->count ? -1 : 1) : by_program(a, b);
}

void fxt_untraced_settle(struct fxt_untraced *u)
{
	size_t kept = 0;

	if (u->is_settled)
		return;
	u->is_settled = true;
	if (u->last_pid)
		process(u, u->last_pid)->value[1] = u->last_place;
	for (size_t i = 0; i < u->count; i++) {
		struct fxt_execution *e = &u->list[i];

		if (process(u, e->pid)->value[1] == i + 1) {
			if (!e->why)
				e->why = fxt_program_refusal(e->program);
			u->list[kept++] = *e;
		} else {
			free(e->program);
			free(e->why);
		}
	}
	u->count = kept;
}

const char *fxt_untraced_reason(const struct fxt_execution *e)
{
	return e->why ? e->why
		      : "it left no trace, as if its environment had no LD_PRELOAD, it could not reach the "
			"files of the run, it had no answer in time, or it was killed as it began";
}

void fxt_untraced_finish(struct fxt_untraced *u)
{
	size_t kept = 0;

	fxt_untraced_settle(u);
	if (!u->count)
		return;
	qsort(u->list, u->count, sizeof(*u->list), by_program);
	for (size_t i = 0; i < u->count; i++) {
		if (kept && strcmp(u->list[kept - 1].program, u->list[i].program) == 0) {
			u->list[kept - 1].count++;
			free(u->list[i].program);
			free(u->list[i].why);
		} else {
			u->list[kept++] = u->list[i];
		}
	}
	u->count = kept;
	qsort(u->list, u->count, sizeof(*u->list), by_count);
}

void fxt_untraced_free(struct fxt_untraced *u)
{
	for (size_t i = 0; i < u->count; i++) {
		free(u->list[i].program);
		free(u->list[i].why);
	}
	free(u->list);
	for (size_t i = 0; i < u->seen_count; i++)
		free(u->seen[i].program);
	free(u->seen);
	forget_reason(u);
	fxt_map_free(&u->processes);
	fxt_map_free(&u->children);
	*u = (struct fxt_untraced){0};
}
