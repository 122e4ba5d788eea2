/* Joins the parts of a run into one archive. See merge.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "merge_internal.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"
#include "tools/perfetto/perfetto_blob.h"
#include "tools/reading/mapped_trace.h"
#include "writer/fxt_encode.h"

/* Providers whose id is in use already get ids from here on, because Linux's process ids are below 2^22. */
enum { FIRST_FREE_ID = (1 << 22) + 1 };

/* When so much of a followed part has been read, its pages are given back. */
enum { DROP_BYTES = 2 << 20 };

static void clear(struct fxt_merge *m)
{
	*m = (struct fxt_merge){.next_id = FIRST_FREE_ID, .lacks_perfetto = m->lacks_perfetto,
				.follows = m->follows, .frames.wish = m->frames.wish};
	m->profile.is_on = FXT_CAN_PERFETTO && !m->lacks_perfetto;
}

static void begin(struct fxt_merge *m, FILE *out)
{
	clear(m);
	m->buffer = fxt_write_behind_begin(&m->output, out, FXT_MERGE_BUFFER_BYTES);
}

bool fxt_merge_begin(struct fxt_merge *m, FILE *out)
{
	uint64_t magic = htole64(FXT_MAGIC_RECORD);

	begin(m, out);
	return fxt_merge_put(m, &magic, sizeof(magic));
}

/* Puts what comes behind the records of all parts. */
static bool put_behind(void *context, uint64_t *words, size_t count)
{
	struct fxt_merge *m = context;

	m->events += fxt_get_record_type(words[0]) == FXT_RECORD_EVENT;
	return fxt_merge_put_words(m, words, count);
}

/* Names a process that ran untraced by its program, and says why there is nothing else of it: the instant
 * `ran untraced` of category agent, in the thread that has executed the program. */
static bool put_execution(struct fxt_merge *m, const struct fxt_execution *e, uint32_t provider)
{
	enum { ROOM = 2048, PROGRAM_BYTES = 4096, REASON_BYTES = 1000 };
	const char *reason = fxt_untraced_reason(e);
	char program[PROGRAM_BYTES], why[REASON_BYTES];
	size_t program_bytes = fxt_utf8_clean(program, e->program, strlen(e->program), sizeof(program));
	size_t reason_bytes = fxt_utf8_clean(why, reason, strlen(reason), sizeof(why));
	const struct fxt_arg list[] = {
		{FXT_ARG_UINT64, FXT_INLINE("pid", 3), .u64 = e->pid},
		{FXT_ARG_STRING, FXT_INLINE("program", 7), .string = FXT_INLINE(program, program_bytes)},
		{FXT_ARG_STRING, FXT_INLINE("reason", 6), .string = FXT_INLINE(why, reason_bytes)}};
	uint64_t words[ROOM];
	size_t count = fxt_encode_provider_section(words, ROOM, provider);
	bool fresh;

	count += fxt_encode_kernel_object(words + count, ROOM - count, FXT_OBJECT_PROCESS, e->pid,
					  FXT_INLINE(program, program_bytes), (struct fxt_args){0, NULL});
	count += fxt_encode_event(words + count, ROOM - count, FXT_EVENT_INSTANT, e->at_ticks,
				  (struct fxt_thread_ref){.process = e->teller, .thread = e->teller_tid},
				  FXT_INLINE("agent", 5), FXT_INLINE("ran untraced", 12),
				  (struct fxt_args){3, list}, 0);
	fxt_map_put(&m->pids, e->pid, 0, &fresh);
	m->events++;
	return fxt_merge_put_words(m, words, count);
}

/* Tells of the programs that ran untraced. */
static bool put_untraced(struct fxt_merge *m)
{
	bool ok = true;

	fxt_untraced_seen_all(&m->untraced);
	for (size_t i = 0; i < m->lifetimes.program_count; i++) {
		const struct fxt_ended_program *one = &m->lifetimes.programs[i];

		fxt_untraced_began(&m->untraced, one->pid, one->clock_ns ? one->clock_ns : one->begin_ns);
	}
	fxt_untraced_settle(&m->untraced);
	if (m->follows == FXT_FOLLOWS_ALL && m->lifetimes.program_count && !m->was_off &&
	    !m->witnessed.numbers_differ && !fxt_lost_dropped(m->lost))
		fxt_untraced_add_seen(&m->untraced, m->lifetimes.programs[0].pid);
	for (size_t i = 0; ok && i < m->untraced.count; i++) {
		const struct fxt_execution *e = &m->untraced.list[i];
		const struct fxt_slot *id = fxt_map_find(&m->last_ids, e->teller, 0);

		if (id && (m->follows == FXT_FOLLOWS_ALL || (m->follows == FXT_FOLLOWS_UNKNOWN && e->why)))
			ok = put_execution(m, e, (uint32_t)id->value[0]);
	}
	return ok;
}

static bool finish(struct fxt_merge *m)
{
	m->buffer = NULL;
	return fxt_write_behind_end(&m->output, m->buffered);
}

/* Returns false if the file system has no room for so many bytes more. */
static bool has_room(const struct fxt_merge *m, uint64_t bytes)
{
	return fallocate(fileno(m->output.out), FALLOC_FL_KEEP_SIZE, (off_t)m->bytes, (off_t)bytes) == 0 ||
	       (errno != ENOSPC && errno != EDQUOT);
}

static uint64_t who(const void *context, uint64_t pid, uint64_t tid, uint64_t at_ns)
{
	return tid ? fxt_renumber_thread(context, pid, tid, at_ns)
		   : fxt_renumber_process(context, pid, at_ns);
}

/* Writes what Perfetto reads in its own form, all of it or nothing, because Perfetto would take a part of it
 * for the whole. */
static bool put_profile(struct fxt_merge *m)
{
	struct fxt_perfetto_blob blob = {0};
	uint64_t bytes;
	bool ok = true;

	fxt_profile_settle(&m->profile, m->renumber.differs ? who : NULL, &m->renumber);
	fxt_perfetto_make(&blob, &m->profile, fxt_frame_records_names(&m->frames));
	bytes = blob.count * FXT_WORD_BYTES;
	if (bytes && has_room(m, bytes))
		ok = fxt_merge_put_words(m, blob.words, blob.count);
	else if (bytes)
		fxt_error(NULL, "the trace has no flame graphs for Perfetto: the file system is full");
	fxt_perfetto_free(&blob);
	return ok;
}

/* Returns whether a number may have gone from one process or thread to another. */
static bool has_numbers_again(const struct fxt_merge *m)
{
	if (m->has_numbers_again || m->lifetimes.has_numbers_again)
		return true;
	/* A program may have run before a child with its number began. */
	for (size_t i = 0; i < m->lifetimes.program_count; i++) {
		const struct fxt_ended_program *program = &m->lifetimes.programs[i];
		const struct fxt_slot *child = fxt_map_find(&m->children, program->pid, 0);

		if (child && program->begin_ns < child->value[0])
			return true;
	}
	return false;
}

/* Tells processes apart that had one number in turn. Returns false if the archive cannot be written. */
static bool renumber(struct fxt_merge *m)
{
	FILE *out = m->output.out;
	bool ok = finish(m) && fflush(out) == 0;
	uint64_t silent;

	m->buffer = fxt_write_behind_begin(&m->output, out, FXT_MERGE_BUFFER_BYTES);
	m->buffered = 0;
	if (!ok || !fxt_renumber(&m->renumber, fileno(out), m->bytes))
		return ok;
	m->processes += fxt_renumber_more(&m->renumber, &silent);
	m->threads += fxt_renumber_more(&m->renumber, NULL);
	m->silent += silent;
	return fxt_renumber_names(&m->renumber, put_behind, m);
}

bool fxt_merge_end(struct fxt_merge *m)
{
	bool ok = fxt_open_lifetimes_close(&m->lifetimes, put_behind, m) && put_untraced(m) &&
		  fxt_wakeups_put(&m->wakeups, put_behind, m) &&
		  fxt_frame_records_put(&m->frames, put_behind, m);

	fxt_merge_sum_processes(m);
	ok = ok && (!has_numbers_again(m) || renumber(m)) && put_profile(m);
	return finish(m) && ok;
}

/* Gives back the pages that were read, if there are many. Returns how much of the trace is behind. */
static uint64_t drop_read(const struct fxt_reader *r, uint64_t dropped)
{
	if (r->at - dropped < DROP_BYTES)
		return dropped;
	fxt_trace_drop(r->data + dropped, r->data + r->at);
	return r->at;
}

bool fxt_merge_trace(struct fxt_merge *m, struct fxt_reader *r)
{
	struct fxt_merged_part *part = fxt_merged_part_begin(m, r);
	uint64_t dropped = 0;
	bool ok = true;

	while (fxt_merged_part_next(m, r, part, &ok))
		dropped = drop_read(r, dropped);
	fxt_merged_part_end(part, r);
	return ok;
}

bool fxt_merge_begin_with(struct fxt_merge *m, FILE *out, struct fxt_reader *r)
{
	begin(m, out);
	m->only_counts = true;
	fxt_merge_trace(m, r);
	m->only_counts = false;
	m->bytes = r->size;
	if (m->as_it_is && r->stop == FXT_STOP_END)
		return true;
	fxt_merge_free(m);
	return false;
}

void fxt_merge_follow_begin(struct fxt_merge *m, struct fxt_reader *r)
{
	clear(m);
	m->only_counts = true;
	m->followed = fxt_merged_part_begin(m, r);
}

bool fxt_merge_follow(struct fxt_merge *m, struct fxt_reader *r)
{
	bool ok = true;

	r->stop = FXT_STOP_NONE;
	while (fxt_merged_part_next(m, r, m->followed, &ok))
		;
	fxt_frame_part_ahead(&m->frames, &m->followed->frames, r);
	m->dropped = drop_read(r, m->dropped);
	return m->as_it_is && r->stop == FXT_STOP_END;
}

void fxt_merge_follow_end(struct fxt_merge *m, struct fxt_reader *r, FILE *out)
{
	m->bytes = r->size;
	m->only_counts = false;
	m->buffer = fxt_write_behind_begin(&m->output, out, FXT_MERGE_BUFFER_BYTES);
	/* The names of its frames follow the part at once. */
	m->frames.write = put_behind;
	m->frames.context = m;
	fxt_merged_part_end(m->followed, r);
	m->frames.write = NULL;
	m->followed = NULL;
}

void fxt_merge_came_last(struct fxt_merge *m, uint64_t pid)
{
	m->named = pid;
	fxt_untraced_came_last(&m->untraced, pid);
}

/* Writes an instant of category process about a process that has left a trace. */
static bool put_fact(struct fxt_merge *m, uint64_t pid, uint64_t at_ns, const char *name,
		     struct fxt_args args)
{
	const struct fxt_slot *id = fxt_map_find(&m->last_ids, pid, 0);
	uint64_t words[32];
	size_t count;

	if (!id || !fxt_map_find(&m->tids, pid, pid))
		return true;
	count = fxt_encode_provider_section(words, 32, (uint32_t)id->value[0]);
	count += fxt_encode_event(words + count, 32 - count, FXT_EVENT_INSTANT, at_ns,
				  (struct fxt_thread_ref){.process = pid, .thread = pid},
				  FXT_INLINE("process", 7), FXT_INLINE(name, strlen(name)), args, 0);
	m->events++;
	return fxt_merge_put_words(m, words, count);
}

bool fxt_merge_exit(struct fxt_merge *m, uint64_t pid, uint64_t at_ns, int status, int signal)
{
	const char *name = signal ? "signal" : "status";
	struct fxt_arg how = {.type = FXT_ARG_INT32,
			      .name = FXT_INLINE(name, strlen(name)),
			      .i32 = signal ? signal : status};

	fxt_open_lifetimes_ended(&m->lifetimes, pid, at_ns, signal);
	return fxt_map_find(&m->exits, pid, 0) ||
	       put_fact(m, pid, at_ns, "exit", (struct fxt_args){1, &how});
}

bool fxt_merge_still_runs(struct fxt_merge *m, uint64_t pid, uint64_t at_ns)
{
	return put_fact(m, pid, at_ns, "still runs", (struct fxt_args){0, NULL});
}

bool fxt_merge_part(struct fxt_merge *m, const char *path, bool still_runs)
{
	struct fxt_trace_file file;
	struct fxt_reader r;
	bool ok;

	if (!fxt_trace_open(&file, path))
		return true;
	fxt_reader_init(&r, file.data, file.size);
	m->still_runs = still_runs;
	ok = fxt_merge_trace(m, &r);
	fxt_reader_free(&r);
	fxt_trace_close(&file);
	return ok;
}

void fxt_merge_free(struct fxt_merge *m)
{
	fxt_merge_free_sums(m);
	free(m->reason);
	free(m->worst_name);
	fxt_untraced_free(&m->untraced);
	fxt_not_seen_free(&m->not_seen);
	fxt_open_lifetimes_free(&m->lifetimes);
	fxt_frame_records_free(&m->frames);
	m->buffered = 0;
	if (m->buffer)
		finish(m);
	if (m->followed)
		fxt_merged_part_free(m->followed);
	fxt_map_free(&m->running);
	fxt_map_free(&m->provider_ids);
	fxt_map_free(&m->last_ids);
	fxt_map_free(&m->exits);
	fxt_map_free(&m->pids);
	fxt_witnessed_free(&m->witnessed);
	fxt_map_free(&m->tids);
	fxt_map_free(&m->children);
	fxt_map_free(&m->holders);
	fxt_renumber_free(&m->renumber);
	fxt_profile_free(&m->profile);
	fxt_wakeups_free(&m->wakeups);
	*m = (struct fxt_merge){.lacks_perfetto = m->lacks_perfetto, .follows = m->follows,
				.frames.wish = m->frames.wish};
}
