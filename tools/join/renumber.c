/* Finds out who had which number. See renumber.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "renumber.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "renumber_parts.h"
#include "tools/common/message.h"

struct fxt_renumber_program *fxt_renumber_program_of(struct fxt_renumber *n, struct fxt_provider *provider)
{
	size_t before = n->program_count;

	n->programs = fxt_reach(n->programs, &n->program_capacity, &n->program_count, provider->index,
				sizeof(*n->programs));
	for (size_t i = before; i < n->program_count; i++)
		n->programs[i] =
			(struct fxt_renumber_program){.first_ns = UINT64_MAX, .process = FXT_NO_BEARER};
	n->programs[provider->index].provider = provider;
	return &n->programs[provider->index];
}

/* -- What programs tell -------------------------------------------------------------------------- */

static void take_child(struct fxt_renumber *n, const struct fxt_renumber_program *program,
		       const struct fxt_record *rec)
{
	uint64_t at_ns = fxt_ns(rec->provider, rec->ticks), pid;
	struct fxt_slot *s;
	bool fresh;

	if (program->numbers_differ || !fxt_argument_u64(fxt_argument(rec, "pid"), &pid))
		return;
	if (rec->subtype == FXT_EVENT_ASYNC_BEGIN) {
		s = fxt_map_put(&n->children, rec->extra, 0, &fresh);
		/* In a copy of a file that was being written a record may be there twice. */
		if (fresh)
			fxt_bearers_live(
				&n->bearers,
				(struct fxt_life_sign){.number = pid, .at_ns = at_ns, .kind = FXT_SIGN_BORN});
		s->value[0] = at_ns;
	} else if (fxt_argument(rec, "status") || fxt_argument(rec, "signal")) {
		s = fxt_map_find(&n->children, rec->extra, 0);
		fxt_bearers_live(&n->bearers, (struct fxt_life_sign){.number = pid,
								     .at_ns = at_ns,
								     .since_ns = s ? s->value[0] : 0,
								     .kind = FXT_SIGN_END});
	}
}

/* Takes an event of category process. */
static void take_life(struct fxt_renumber *n, const struct fxt_renumber_program *program,
		      const struct fxt_record *rec)
{
	if ((rec->subtype == FXT_EVENT_ASYNC_BEGIN || rec->subtype == FXT_EVENT_ASYNC_END) &&
	    fxt_text_is(&rec->name, "child"))
		take_child(n, program, rec);
	else if (rec->subtype == FXT_EVENT_INSTANT && fxt_text_is(&rec->name, "exit") &&
		 (fxt_argument(rec, "status") || fxt_argument(rec, "signal")))
		fxt_bearers_live(&n->bearers,
				 (struct fxt_life_sign){.number = n->reader.threads[rec->thread].pid,
							.at_ns = fxt_ns(rec->provider, rec->ticks),
							.kind = FXT_SIGN_END});
}

/* Takes the time of an event of a program's own process. Counters may be written when a call that executes
 * another program is in the trace already, and so after the next program's begin. */
static void take_time(struct fxt_renumber *n, struct fxt_renumber_program *program,
		      const struct fxt_record *rec)
{
	const struct fxt_trace_thread *thread = &n->reader.threads[rec->thread];
	uint64_t at_ns = fxt_ns(rec->provider, rec->ticks);
	struct fxt_slot *s;
	bool fresh;

	if (thread->pid != program->own || rec->subtype == FXT_EVENT_COUNTER)
		return;
	if (at_ns < program->first_ns)
		program->first_ns = at_ns;
	if (thread->tid == thread->pid)
		return;
	s = fxt_map_put(&n->threads, rec->provider->index, thread->tid, &fresh);
	if (fresh || at_ns < s->value[0])
		s->value[0] = at_ns;
}

static void take_object(struct fxt_renumber_program *program, const struct fxt_record *rec)
{
	uint64_t at_ns;

	if (rec->subtype == FXT_OBJECT_PROCESS && !program->own) {
		program->own = rec->id;
		program->numbers_differ = fxt_argument(rec, "pid") && !fxt_argument(rec, "since");
	} else if (rec->subtype == FXT_OBJECT_CLOCK &&
		   fxt_argument_u64(fxt_argument(rec, "boottime_ns"), &at_ns) && at_ns < program->first_ns) {
		program->first_ns = at_ns;
	}
}

/* -- What the kernel tells ----------------------------------------------------------------------- */

/* Takes an event about a thread. When a thread has ended, its number belongs to another one. */
static void take_kernel(struct fxt_renumber *n, const struct fxt_record *rec)
{
	uint64_t pid, tid, at_ns = fxt_ns(rec->provider, rec->ticks);
	struct fxt_life_sign life = {.at_ns = at_ns, .kind = FXT_SIGN_SEEN};
	bool has_ended = fxt_text_is(&rec->name, "ended") && fxt_text_is(&rec->category, "kernel"), fresh;
	struct fxt_slot *s;

	if (!fxt_argument_u64(fxt_argument(rec, "process"), &pid) ||
	    !fxt_argument_u64(fxt_argument(rec, "thread"), &tid))
		return;
	life.number = pid;
	s = fxt_map_put(&n->told, pid, tid, &fresh);
	if (!s->value[0] && at_ns > s->value[1]) {
		n->tasks = fxt_grow(n->tasks, &n->task_capacity, n->task_count + 1, sizeof(*n->tasks));
		n->tasks[n->task_count++] = (struct fxt_renumber_task){pid, tid, at_ns};
		s->value[0] = n->task_count;
		if (pid == tid)
			fxt_bearers_live(&n->bearers, life);
	}
	if (has_ended) {
		s->value[0] = 0;
		s->value[1] = at_ns;
	}
	if (pid == tid && has_ended)
		life.kind = FXT_SIGN_KERNEL_END;
	else if (fxt_text_is(&rec->name, "executed") && fxt_text_is(&rec->category, "kernel"))
		life.kind = FXT_SIGN_EXECUTED;
	if (life.kind != FXT_SIGN_SEEN)
		fxt_bearers_live(&n->bearers, life);
}

/* -- All of it ----------------------------------------------------------------------------------- */

static void survey(struct fxt_renumber *n)
{
	struct fxt_record rec;

	while (fxt_reader_next(&n->reader, &rec)) {
		struct fxt_renumber_program *program = fxt_renumber_program_of(n, rec.provider);
		bool is_kernel = fxt_provider_is_kernel(rec.provider);

		if (rec.damaged)
			continue;
		if (rec.type == FXT_RECORD_KERNEL_OBJECT && !is_kernel)
			take_object(program, &rec);
		if (rec.type != FXT_RECORD_EVENT || !rec.known)
			continue;
		if (is_kernel)
			take_kernel(n, &rec);
		else
			take_time(n, program, &rec);
		if (!is_kernel && fxt_text_is(&rec.category, "process"))
			take_life(n, program, &rec);
	}
}

/* Finds the processes: what was joined before has koids, and numbers follow from them now. */
static void find_processes(struct fxt_renumber *n)
{
	for (size_t i = 0; i < n->program_count; i++) {
		const struct fxt_renumber_program *program = &n->programs[i];

		if (program->own)
			fxt_bearers_live(&n->bearers, (struct fxt_life_sign){.number = program->own,
									     .at_ns = program->first_ns,
									     .kind = FXT_SIGN_PROGRAM,
									     .program = i});
	}
	for (size_t i = 0; i < n->bearers.life_count; i++)
		n->bearers.lives[i].number = fxt_number(&n->reader, n->bearers.lives[i].number);
	fxt_bearers_find(&n->bearers);
	for (size_t i = 0; i < n->program_count; i++)
		n->programs[i].process = fxt_bearers_of_program(&n->bearers, i);
}

static void find_threads(struct fxt_renumber *n)
{
	for (const struct fxt_slot *s = fxt_map_next(&n->threads, NULL); s; s = fxt_map_next(&n->threads, s))
		fxt_bearers_thread(&n->bearers, n->programs[s->a].process, fxt_number(&n->reader, s->b),
				   s->value[0]);
	for (size_t i = 0; i < n->task_count; i++) {
		const struct fxt_renumber_task *one = &n->tasks[i];

		fxt_bearers_thread(
			&n->bearers,
			fxt_bearers_process(&n->bearers, fxt_number(&n->reader, one->pid), one->at_ns),
			fxt_number(&n->reader, one->tid), one->at_ns);
	}
}

/* Maps the file, which may be open for writing alone. */
static bool map(struct fxt_renumber *n, int fd, uint64_t bytes)
{
	char *path = fxt_format("/proc/self/fd/%d", fd);
	struct stat st;
	int own = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *data = MAP_FAILED;

	free(path);
	if (own < 0)
		return false;
	if (fstat(own, &st) == 0 && (uint64_t)st.st_size >= bytes && bytes)
		data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
	close(own);
	n->data = data == MAP_FAILED ? NULL : data;
	n->bytes = bytes;
	return n->data;
}

bool fxt_renumber(struct fxt_renumber *n, int fd, uint64_t bytes)
{
	if (!map(n, fd, bytes))
		return false;
	fxt_reader_init(&n->reader, n->data, n->bytes);
	survey(n);
	find_processes(n);
	find_threads(n);
	n->differs = fxt_bearers_give(&n->bearers);
	if (n->differs)
		fxt_renumber_patch(n);
	return true;
}

uint64_t fxt_renumber_process(const struct fxt_renumber *n, uint64_t pid, uint64_t at_ns)
{
	size_t place = fxt_bearers_process(&n->bearers, fxt_number(&n->reader, pid), at_ns);

	return place == FXT_NO_BEARER ? pid : n->bearers.list[place].koid;
}

uint64_t fxt_renumber_thread(const struct fxt_renumber *n, uint64_t pid, uint64_t tid, uint64_t at_ns)
{
	size_t process = fxt_bearers_process(&n->bearers, fxt_number(&n->reader, pid), at_ns);
	size_t place = fxt_bearers_thread_of(&n->bearers, process, fxt_number(&n->reader, tid), at_ns);

	return place == FXT_NO_BEARER ? tid : n->bearers.list[place].koid;
}

uint64_t fxt_renumber_more(const struct fxt_renumber *n, uint64_t *silent)
{
	uint64_t more = 0, numbers = 0, processes = 0;
	struct fxt_map recorders = {0}, with_recorders = {0};
	bool fresh, other;

	for (size_t i = 0; i < n->program_count; i++)
		if (n->programs[i].process != FXT_NO_BEARER && n->programs[i].first_ns != UINT64_MAX)
			fxt_map_put(&recorders, n->programs[i].process, 0, &fresh);
	for (const struct fxt_slot *s = fxt_map_next(&recorders, NULL); s; s = fxt_map_next(&recorders, s))
		fxt_map_put(&with_recorders, n->bearers.list[s->a].number, 0, &fresh);
	for (size_t i = 0; i < n->bearers.process_count; i++) {
		other = i == 0 || n->bearers.list[i].number != n->bearers.list[i - 1].number;
		more += !other;
		processes += !fxt_map_find(&recorders, i, 0);
		numbers += other && !fxt_map_find(&with_recorders, n->bearers.list[i].number, 0);
	}
	if (silent)
		*silent = processes - numbers;
	fxt_map_free(&recorders);
	fxt_map_free(&with_recorders);
	return more;
}

void fxt_renumber_free(struct fxt_renumber *n)
{
	if (!n->data)
		return;
	fxt_reader_free(&n->reader);
	fxt_bearers_free(&n->bearers);
	free(n->programs);
	free(n->tasks);
	fxt_map_free(&n->threads);
	fxt_map_free(&n->told);
	fxt_map_free(&n->children);
	munmap(n->data, n->bytes);
	*n = (struct fxt_renumber){0};
}
