/* See unseen.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "unseen.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"
#include "tools/printing/json.h"
#include "tools/printing/print.h"

/* -- Programs --------------------------------------------------------------------------------------- */

static void take_program(struct fxt_unseen *u, const struct fxt_record *rec)
{
	const struct fxt_text *program = fxt_argument_text(rec, "program");
	const struct fxt_text *reason = fxt_argument_text(rec, "reason");
	struct fxt_untraced_program one = {.processes = 1};

	if (!program || !reason || !fxt_argument_u64(fxt_argument(rec, "pid"), &one.pid))
		return;
	one.program = fxt_printable(program, 4096, true);
	one.reason = fxt_printable(reason, 400, false);
	for (size_t i = 0; i < u->program_count; i++) {
		struct fxt_untraced_program *other = &u->programs[i];

		if (strcmp(other->program, one.program) == 0 && strcmp(other->reason, one.reason) == 0) {
			other->processes++;
			free(one.program);
			free(one.reason);
			return;
		}
	}
	u->programs = fxt_grow(u->programs, &u->program_capacity, u->program_count + 1, sizeof(one));
	u->programs[u->program_count++] = one;
}

/* -- Rings ------------------------------------------------------------------------------------------ */

static struct fxt_process_rings *rings_of(struct fxt_unseen *u, uint64_t pid)
{
	for (size_t i = 0; i < u->ring_count; i++)
		if (u->rings[i].pid == pid)
			return &u->rings[i];
	u->rings = fxt_grow(u->rings, &u->ring_capacity, u->ring_count + 1, sizeof(*u->rings));
	u->rings[u->ring_count] = (struct fxt_process_rings){.pid = pid};
	return &u->rings[u->ring_count++];
}

static void take_call(struct fxt_unseen *u, const struct fxt_record *rec, uint64_t pid)
{
	bool enters = fxt_text_is(&rec->name, "io_uring_enter");
	const struct fxt_argument *ret = fxt_argument(rec, "ret");
	struct fxt_process_rings *rings;

	if ((!enters && !fxt_text_is(&rec->name, "io_uring_setup")) || !ret ||
	    (ret->type != FXT_ARG_INT32 && ret->type != FXT_ARG_INT64) || ret->i < 0)
		return;
	rings = rings_of(u, pid);
	rings->made += !enters;
	rings->enters += enters;
	rings->entered += enters ? (uint64_t)ret->i : 0;
}

void fxt_unseen_kernel(struct fxt_unseen *u, const struct fxt_record *rec, uint64_t pid)
{
	const struct fxt_text *by = fxt_argument_text(rec, "by");
	struct fxt_process_rings *rings;

	if (!by || !fxt_text_is(&rec->name, "io_uring"))
		return;
	rings = rings_of(u, pid);
	if (!rings->unseen)
		rings->unseen = fxt_printable(by, 40, false);
}

/* Takes the kernel's counts of a ring. They are totals, and the last ones are the largest. */
static void take_counts(struct fxt_unseen *u, const struct fxt_record *rec, uint64_t pid)
{
	uint64_t ring, submitted, completed;
	struct fxt_process_rings *rings;
	struct fxt_slot *s;
	bool fresh;

	if (!fxt_argument_u64(fxt_argument(rec, "ring"), &ring) ||
	    !fxt_argument_u64(fxt_argument(rec, "submitted"), &submitted) ||
	    !fxt_argument_u64(fxt_argument(rec, "completed"), &completed))
		return;
	s = fxt_map_put(&u->counts, rec->provider->index, ring, &fresh);
	rings = rings_of(u, pid);
	rings->is_told = true;
	if (submitted > s->value[0]) {
		rings->submitted += submitted - s->value[0];
		s->value[0] = submitted;
	}
	if (completed > s->value[1]) {
		rings->completed += completed - s->value[1];
		s->value[1] = completed;
	}
}

/* -- Numbers ---------------------------------------------------------------------------------------- */

/* Takes the begin of a child's life. The kernel gives a number again when it has gone through all of them. */
static void take_child(struct fxt_unseen *u, const struct fxt_record *rec)
{
	uint64_t pid;
	bool fresh;

	if (fxt_text_is(&rec->name, "child") && fxt_text_is(&rec->category, "process") &&
	    fxt_argument_u64(fxt_argument(rec, "pid"), &pid))
		fxt_map_put(&u->children, pid, 0, &fresh)->value[0]++;
}

uint64_t fxt_unseen_children(const struct fxt_unseen *u, const struct fxt_reader *r, uint64_t pid)
{
	uint64_t apart = fxt_processes_of(r, pid);
	const struct fxt_slot *s = fxt_map_find(&u->children, pid, 0);

	return s && s->value[0] > apart ? s->value[0] - apart + 1 : 1;
}

/* Returns the next number after `s` with which several processes are shown as one, or the first if `s` is
 * NULL. */
static const struct fxt_slot *next_shared(const struct fxt_unseen *u, const struct fxt_reader *r,
					  const struct fxt_slot *s)
{
	do
		s = fxt_map_next(&u->children, s);
	while (s && fxt_unseen_children(u, r, s->a) < 2);
	return s;
}

bool fxt_unseen_shares_numbers(const struct fxt_unseen *u, const struct fxt_reader *r)
{
	return !r->again.used && next_shared(u, r, NULL);
}

void fxt_unseen_take(struct fxt_unseen *u, const struct fxt_reader *r, const struct fxt_record *rec)
{
	uint64_t pid = r->threads[rec->thread].pid;

	if (rec->subtype == FXT_EVENT_ASYNC_BEGIN)
		take_child(u, rec);
	if (rec->subtype == FXT_EVENT_DURATION_COMPLETE && fxt_text_is(&rec->category, "io"))
		take_call(u, rec, pid);
	if (rec->subtype != FXT_EVENT_INSTANT || !fxt_text_is(&rec->category, "agent"))
		return;
	fxt_not_seen_take(&u->not_seen, rec, fxt_number(r, pid));
	if (fxt_text_is(&rec->name, "ran untraced"))
		take_program(u, rec);
	else if (fxt_text_is(&rec->name, "io_uring"))
		take_counts(u, rec, pid);
}

/* -- Printing --------------------------------------------------------------------------------------- */

/* Returns how many operations went into the rings of a process, as far as that is known. */
static uint64_t submitted_of(const struct fxt_process_rings *rings)
{
	return rings->submitted > rings->entered ? rings->submitted : rings->entered;
}

/* Returns whether the process has rings of which no call was seen. */
static bool is_unseen(const struct fxt_process_rings *rings)
{
	return rings->unseen && !rings->made && !rings->enters;
}

/* Prints which processes use rings by calls that nobody sees. */
static void print_unseen_rings(const struct fxt_unseen *u, const struct fxt_reader *r, size_t top, FILE *out)
{
	size_t count = 0;

	for (size_t i = 0; i < u->ring_count; i++) {
		struct fxt_text name = fxt_process_name(r, u->rings[i].pid);
		char *program;

		if (!is_unseen(&u->rings[i]) || count++ >= top)
			continue;
		program = fxt_printable(&name, 32, false);
		fprintf(out, "%s%s%s%" PRIu64 " (%s)",
			count == 1 ? "io_uring, by calls that are not seen: " : ", ", program,
			*program ? " " : "", fxt_number(r, u->rings[i].pid), u->rings[i].unseen);
		free(program);
	}
	if (count > top)
		fprintf(out, " and %zu more", count - top);
	if (count)
		fputs("; what goes through rings is not seen\n", out);
}

static void print_rings(const struct fxt_unseen *u, FILE *out)
{
	struct fxt_process_rings sum = {.is_told = true};
	uint64_t submitted = 0, count = 0;

	for (size_t i = 0; i < u->ring_count; i++) {
		if (is_unseen(&u->rings[i]))
			continue;
		count++;
		sum.made += u->rings[i].made;
		sum.enters += u->rings[i].enters;
		sum.completed += u->rings[i].completed;
		sum.is_told = sum.is_told && u->rings[i].is_told;
		submitted += submitted_of(&u->rings[i]);
	}
	if (!count)
		return;
	fprintf(out, "io_uring: %s ring%s, %s operations submitted", fxt_count(sum.made).text,
		sum.made == 1 ? "" : "s", fxt_count(submitted).text);
	if (sum.is_told)
		fprintf(out, " and %s completed", fxt_count(sum.completed).text);
	fprintf(out, ", %s calls; what goes through rings is not seen\n", fxt_count(sum.enters).text);
}

static void print_shared(const struct fxt_unseen *u, const struct fxt_reader *r, size_t top, FILE *out)
{
	size_t count = 0;

	for (const struct fxt_slot *s = next_shared(u, r, NULL); s; s = next_shared(u, r, s)) {
		if (!count)
			fputs("SEVERAL PROCESSES IN TURN had one number, and are shown as one: ", out);
		if (count < top)
			fprintf(out, "%s%" PRIu64 " (%s)", count ? ", " : "", s->a,
				fxt_count(fxt_unseen_children(u, r, s->a)).text);
		count++;
	}
	if (count > top)
		fprintf(out, " and %zu more", count - top);
	if (count)
		fputc('\n', out);
}

static void print_not_seen(const struct fxt_not_seen *n, size_t top, FILE *out)
{
	for (size_t i = 0; i < n->count && i < top; i++) {
		char *where = fxt_not_seen_where(&n->list[i]);

		fprintf(out, "NOT SEEN: %s%s\n", n->list[i].what, where);
		free(where);
	}
	if (n->count > top)
		fprintf(out, "NOT SEEN: %zu more things\n", n->count - top);
}

void fxt_unseen_print(const struct fxt_unseen *u, const struct fxt_reader *r, size_t top, FILE *out)
{
	for (size_t i = 0; i < u->program_count && i < top; i++) {
		const struct fxt_untraced_program *one = &u->programs[i];
		struct fxt_text text = fxt_text_of(one->program);
		char *program = fxt_printable(&text, 60, true);

		if (one->processes == 1)
			fprintf(out, "UNTRACED: %s (process %" PRIu64 "): %s\n", program, one->pid,
				one->reason);
		else
			fprintf(out, "UNTRACED: %s (%s processes): %s\n", program,
				fxt_count(one->processes).text, one->reason);
		free(program);
	}
	if (u->program_count > top)
		fprintf(out, "UNTRACED: %zu more programs\n", u->program_count - top);
	print_not_seen(&u->not_seen, top, out);
	print_shared(u, r, top, out);
	print_rings(u, out);
	print_unseen_rings(u, r, top, out);
}

void fxt_unseen_json(const struct fxt_unseen *u, const struct fxt_reader *r, struct fxt_json *j)
{
	fxt_json_array(j, "untraced");
	for (size_t i = 0; i < u->program_count; i++) {
		fxt_json_object(j, NULL);
		fxt_json_u64(j, "pid", u->programs[i].pid);
		fxt_json_string(j, "program", u->programs[i].program);
		fxt_json_u64(j, "processes", u->programs[i].processes);
		fxt_json_string(j, "reason", u->programs[i].reason);
		fxt_json_end(j);
	}
	fxt_json_end(j);
	fxt_json_array(j, "not_seen");
	for (size_t i = 0; i < u->not_seen.count; i++) {
		const struct fxt_not_seen_thing *thing = &u->not_seen.list[i];

		fxt_json_object(j, NULL);
		fxt_json_string(j, "what", thing->what);
		fxt_json_u64(j, "pid", thing->pid);
		fxt_json_u64(j, "processes", thing->processes);
		fxt_json_u64(j, "times", thing->times);
		fxt_json_end(j);
	}
	fxt_json_end(j);
	fxt_json_array(j, "shared_numbers");
	for (const struct fxt_slot *s = next_shared(u, r, NULL); s; s = next_shared(u, r, s)) {
		fxt_json_object(j, NULL);
		fxt_json_u64(j, "pid", s->a);
		fxt_json_u64(j, "processes", fxt_unseen_children(u, r, s->a));
		fxt_json_end(j);
	}
	fxt_json_end(j);
	fxt_json_array(j, "io_uring");
	for (size_t i = 0; i < u->ring_count; i++) {
		const struct fxt_process_rings *rings = &u->rings[i];
		struct fxt_text name = fxt_process_name(r, rings->pid);

		fxt_json_object(j, NULL);
		fxt_json_u64(j, "pid", fxt_number(r, rings->pid));
		fxt_json_text(j, "program", &name);
		fxt_json_u64(j, "rings", rings->made);
		fxt_json_u64(j, "enters", rings->enters);
		fxt_json_u64(j, "submitted", submitted_of(rings));
		if (rings->is_told)
			fxt_json_u64(j, "completed", rings->completed);
		else
			fxt_json_null(j, "completed");
		fxt_json_bool(j, "calls_are_seen", !is_unseen(rings));
		fxt_json_bool(j, "operations_are_seen", false);
		fxt_json_end(j);
	}
	fxt_json_end(j);
}

void fxt_unseen_free(struct fxt_unseen *u)
{
	for (size_t i = 0; i < u->program_count; i++) {
		free(u->programs[i].program);
		free(u->programs[i].reason);
	}
	for (size_t i = 0; i < u->ring_count; i++)
		free(u->rings[i].unseen);
	free(u->programs);
	free(u->rings);
	fxt_not_seen_free(&u->not_seen);
	fxt_map_free(&u->counts);
	fxt_map_free(&u->children);
	*u = (struct fxt_unseen){0};
}
