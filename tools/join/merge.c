/* Joins the parts of a run into one archive. See merge.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "merge.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/demangle.h"
#include "tools/common/message.h"
#include "tools/perfetto/perfetto_blob.h"
#include "tools/reading/mapped_trace.h"
#include "tools/reading/reader_internal.h"
#include "writer/fxt_encode.h"

/* Providers whose id is in use already get ids from here on, because Linux's process ids are below 2^22. */
enum { FIRST_FREE_ID = (1 << 22) + 1 };

/* About WRITE_BYTES are written by one call, while the processor's caches still have them: with writes of a
 * megabyte the kernel took up to six times as long. The buffer has room behind them for any record that is
 * not a large one. */
enum { WRITE_BYTES = 128 << 10, BUFFER_BYTES = WRITE_BYTES + FXT_RECORD_MAX_WORDS * FXT_WORD_BYTES };

static bool next_buffer(struct fxt_merge *m)
{
	unsigned char *next = fxt_write_behind_next(&m->output, m->buffered);

	m->buffered = 0;
	if (!next)
		return false;
	m->buffer = next;
	return true;
}

/* Makes room for a record. */
static bool make_room(struct fxt_merge *m)
{
	return m->buffered < WRITE_BYTES || next_buffer(m);
}

static bool put(struct fxt_merge *m, const void *bytes, uint64_t count)
{
	const unsigned char *from = bytes;
	uint64_t part;

	if (m->only_counts)
		return true;
	m->bytes += count;
	/* A large record is copied in pieces. */
	for (; count; count -= part, from += part) {
		if (!make_room(m))
			return false;
		part = count < BUFFER_BYTES - m->buffered ? count : BUFFER_BYTES - m->buffered;
		memcpy(m->buffer + m->buffered, from, part);
		m->buffered += part;
	}
	return true;
}

static void clear(struct fxt_merge *m)
{
	*m = (struct fxt_merge){.next_id = FIRST_FREE_ID, .lacks_perfetto = m->lacks_perfetto,
				.frames.not_after = m->frames.not_after};
	m->profile.is_on = FXT_CAN_PERFETTO && !m->lacks_perfetto;
}

static void begin(struct fxt_merge *m, FILE *out)
{
	clear(m);
	m->buffer = fxt_write_behind_begin(&m->output, out, BUFFER_BYTES);
}

bool fxt_merge_begin(struct fxt_merge *m, FILE *out)
{
	uint64_t magic = htole64(FXT_MAGIC_RECORD);

	begin(m, out);
	return put(m, &magic, sizeof(magic));
}

/* Puts words that the encoder has made. They are turned from this machine's byte order into the file's, which
 * is little-endian. */
static bool put_words(struct fxt_merge *m, uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		words[i] = htole64(words[i]);
	return put(m, words, count * FXT_WORD_BYTES);
}

/* Puts what comes behind the records of all parts. */
static bool put_behind(void *context, uint64_t *words, size_t count)
{
	struct fxt_merge *m = context;

	m->events += fxt_get_record_type(words[0]) == FXT_RECORD_EVENT;
	return put_words(m, words, count);
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

/* Writes what Perfetto reads in its own form, all of it or nothing, because Perfetto would take a part of it
 * for the whole. */
static bool put_profile(struct fxt_merge *m)
{
	struct fxt_perfetto_blob blob = {0};
	uint64_t bytes;
	bool ok = true;

	fxt_perfetto_make(&blob, &m->profile);
	bytes = blob.count * FXT_WORD_BYTES;
	if (bytes && has_room(m, bytes))
		ok = put_words(m, blob.words, blob.count);
	else if (bytes)
		fxt_error(NULL, "the trace has no flame graphs for Perfetto: the file system is full");
	fxt_perfetto_free(&blob);
	return ok;
}

bool fxt_merge_end(struct fxt_merge *m)
{
	bool ok = fxt_open_lifetimes_close(&m->lifetimes, put_behind, m) &&
		  fxt_frame_records_put(&m->frames, put_behind, m) && put_profile(m);

	return finish(m) && ok;
}

/* -- Provider ids ---------------------------------------------------------------------------------- */

/* Returns the id in the archive of the provider with this id in the part. `ids` maps the ids of this part. */
static uint32_t unique_id(struct fxt_merge *m, struct fxt_map *ids, uint32_t id)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(ids, id, 0, &fresh);

	if (fresh) {
		uint32_t becomes = id;

		fxt_map_put(&m->provider_ids, becomes, 0, &fresh);
		while (!fresh) {
			becomes = m->next_id++;
			fxt_map_put(&m->provider_ids, becomes, 0, &fresh);
		}
		s->value[0] = becomes;
		if (id != m->named)
			fxt_map_put(&m->last_ids, id, 0, &fresh)->value[0] = becomes;
	}
	return (uint32_t)s->value[0];
}

static bool is_provider_record(const struct fxt_record *rec)
{
	return rec->type == FXT_RECORD_METADATA && rec->known && rec->subtype != FXT_METADATA_TRACE_INFO;
}

static uint64_t with_provider(uint64_t header, uint32_t id)
{
	return (header & ~fxt_provider_id(UINT32_MAX)) | fxt_provider_id(id);
}

/* Returns whether the record names a process, or its first thread, of which a later name is in the
 * archive already. */
static bool is_older_name(const struct fxt_merge *m, const struct fxt_record *rec)
{
	return m->named && rec->type == FXT_RECORD_KERNEL_OBJECT && rec->id == m->named &&
	       (rec->subtype == FXT_OBJECT_PROCESS || rec->subtype == FXT_OBJECT_THREAD);
}

/* Returns whether the record is what an earlier join has written for Perfetto: it is made again for the
 * whole, or is not wanted. */
static bool is_replaced(const struct fxt_merge *m, const struct fxt_record *rec)
{
	return (m->profile.is_on || m->lacks_perfetto) && fxt_perfetto_is_own(rec);
}

/* -- Copying --------------------------------------------------------------------------------------- */

/* Writes the record as it is to be in the archive, or nothing if it does not belong there. Returns false if
 * it cannot be written. */
static bool put_record(struct fxt_merge *m, struct fxt_map *ids, const struct fxt_reader *r,
		       const struct fxt_record *rec)
{
	const unsigned char *bytes = r->data + rec->offset;
	uint64_t words[FXT_DEMANGLED_WORDS];
	size_t count = 0;

	m->as_it_is = m->as_it_is && !rec->damaged && !is_replaced(m, rec);
	/* A damaged record is left out. The part of a process that still runs may change while it is read. */
	if (rec->damaged || is_older_name(m, rec) || is_replaced(m, rec) ||
	    (rec->type == FXT_RECORD_METADATA && !is_provider_record(rec)))
		return true;
	if (is_provider_record(rec)) {
		uint32_t becomes = unique_id(m, ids, (uint32_t)rec->id);
		uint64_t header = htole64(with_provider(rec->header, becomes));

		m->as_it_is = m->as_it_is && becomes == rec->id;
		return put(m, &header, sizeof(header)) &&
		       put(m, bytes + FXT_WORD_BYTES, (rec->words - 1) * FXT_WORD_BYTES);
	}
	if (rec->type == FXT_RECORD_STRING)
		count = fxt_demangled_string(words, (uint16_t)rec->id, &rec->name);
	if (!count)
		return put(m, bytes, rec->words * FXT_WORD_BYTES);
	m->as_it_is = false;
	return put_words(m, words, count);
}

/* -- Parts ----------------------------------------------------------------------------------------- */

/* The part that is being read. */
struct fxt_merged_part {
	struct fxt_merge *merge;
	const struct fxt_reader *r;
	struct fxt_overview overview;
	struct fxt_map ids;             /* ids of providers in the part -> ids in the archive */
	struct fxt_frame_part frames;
	struct fxt_skims skims;
	struct fxt_profile_part profile;
	struct fxt_record rec;
};

static struct fxt_open_program *program_of(const struct fxt_merged_part *part,
					   const struct fxt_provider *provider)
{
	return fxt_open_lifetimes_of(&part->merge->lifetimes, provider);
}

/* Takes the times of events of a thread, which that provider has recorded. */
static void take_times(const struct fxt_merged_part *part, const struct fxt_provider *provider,
		       uint32_t thread, const struct fxt_times *times)
{
	struct fxt_open_program *program = program_of(part, provider);

	if (program && part->r->threads[thread].pid == program->ended.pid)
		fxt_open_program_seen(program, thread, times);
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
	take_times(part, provider, form->thread, &form->times);
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

/* Takes an event of category process, which tells how processes begin and end. */
static void take_process(struct fxt_merge *m, struct fxt_merged_part *part, const struct fxt_record *rec)
{
	struct fxt_open_program *program = program_of(part, rec->provider);

	take_exit(m, part, rec);
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
					  unique_id(m, &part->ids, rec->provider->id));
	program->numbers_differ = fxt_argument(rec, "pid");
	fxt_untraced_part(&m->untraced, rec->id);
}

/* Takes a decoded record. */
static void take(struct fxt_merge *m, struct fxt_reader *r, struct fxt_merged_part *part,
		 const struct fxt_record *rec)
{
	fxt_overview_take(&part->overview, r, rec);
	fxt_profile_take(&m->profile, &part->profile, r, rec);
	take_name(m, part, rec);
	fxt_frame_part_take(&part->frames, r, rec);
	/* An event of an unknown type has no thread. */
	if (rec->type != FXT_RECORD_EVENT || !rec->known)
		return;
	take_times(part, rec->provider, rec->thread,
		   &(struct fxt_times){rec->ticks, rec->ticks, fxt_commit_ticks(rec)});
	take_other(part, rec);
	if (fxt_event_bounds_async(rec->subtype) && rec->has_extra)
		link_lifetime(part, (enum fxt_event_type)rec->subtype, rec->extra, rec->offset);
	else if (fxt_event_bounds_call(rec->subtype) && program_of(part, rec->provider))
		fxt_open_program_call(program_of(part, rec->provider), rec);
	if (fxt_text_is(&rec->category, "process"))
		take_process(m, part, rec);
}

/* Returns whether events of the category are only counted. Those of the categories agent and process are
 * decoded. */
static bool is_plain(const struct fxt_reader *r, uint32_t category)
{
	struct fxt_text name = fxt_symbol_text(r, category);

	return !fxt_text_is(&name, "agent") && !fxt_text_is(&name, "process");
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
	*ok = put(m, r->data + from, words * FXT_WORD_BYTES);
	return true;
}

/* Takes as many records of known forms as there are, and the one that follows. Returns false at the end, if
 * the archive cannot be written (then *ok is false), or if the part has to be read again. */
static bool take_next(struct fxt_merge *m, struct fxt_reader *r, struct fxt_merged_part *part, bool *ok)
{
	struct fxt_record *rec = &part->rec;

	if (m->only_counts) {
		fxt_reader_skim(r, &part->skims, NULL, 0);
	} else {
		size_t bytes =
			fxt_reader_skim(r, &part->skims, m->buffer + m->buffered, BUFFER_BYTES - m->buffered);

		m->buffered += bytes;
		m->bytes += bytes;
		*ok = make_room(m);
		if (!*ok)
			return false;
	}
	if (take_examined(m, r, part, ok))
		return *ok;
	if (!fxt_reader_next(r, rec))
		return false;
	if (!rec->damaged)
		take(m, r, part, rec);
	*ok = put_record(m, &part->ids, r, rec);
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
		/* A manager saves the calls in progress of a program last of all. */
		if (!fxt_open_lifetimes_keep(&m->lifetimes, program, r, still_runs, !m->followed))
			fxt_untraced_stayed(&m->untraced, program->ended.pid);
	}
	fxt_open_lifetimes_end_part(&m->lifetimes);
}

static struct fxt_merged_part *begin_part(struct fxt_merge *m, const struct fxt_reader *r)
{
	struct fxt_merged_part *part = fxt_alloc(1, sizeof(*part));

	part->merge = m;
	part->r = r;
	part->skims.counted = count_skimmed;
	part->skims.linked = link_lifetime;
	part->skims.context = part;
	fxt_profile_begin_part(&m->profile, &part->profile);
	m->as_it_is = true;
	return part;
}

static void free_part(struct fxt_merged_part *part)
{
	fxt_map_free(&part->ids);
	fxt_frame_part_free(&part->frames);
	fxt_profile_free_part(&part->profile);
	fxt_overview_free(&part->overview);
	free(part);
}

static uint32_t id_in_archive(void *context, uint32_t id)
{
	struct fxt_merged_part *part = context;

	return unique_id(part->merge, &part->ids, id);
}

static void end_part(struct fxt_merged_part *part, struct fxt_reader *r)
{
	struct fxt_merge *m = part->merge;

	fxt_skims_tell(&part->skims);
	keep_open(part, r);
	fxt_frame_part_end(&m->frames, &part->frames, r, id_in_archive, part);
	fxt_frame_names_complete(m->frames.names, &part->profile.stacks, r);
	fxt_profile_end_part(&m->profile, &part->profile, r);
	m->parts++;
	fxt_merge_add(m, &part->overview, r);
	free_part(part);
}

bool fxt_merge_trace(struct fxt_merge *m, struct fxt_reader *r)
{
	struct fxt_merged_part *part = begin_part(m, r);
	bool ok = true;

	while (take_next(m, r, part, &ok))
		;
	end_part(part, r);
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
	m->followed = begin_part(m, r);
}

bool fxt_merge_follow(struct fxt_merge *m, struct fxt_reader *r)
{
	bool ok = true;

	r->stop = FXT_STOP_NONE;
	while (take_next(m, r, m->followed, &ok))
		;
	fxt_frame_part_ahead(&m->frames, &m->followed->frames, r);
	return m->as_it_is && r->stop == FXT_STOP_END;
}

void fxt_merge_follow_end(struct fxt_merge *m, struct fxt_reader *r, FILE *out)
{
	end_part(m->followed, r);
	m->followed = NULL;
	m->only_counts = false;
	m->bytes = r->size;
	m->buffer = fxt_write_behind_begin(&m->output, out, BUFFER_BYTES);
}

void fxt_merge_came_last(struct fxt_merge *m, uint64_t pid)
{
	m->named = pid;
	fxt_untraced_came_last(&m->untraced, pid);
}

bool fxt_merge_exit(struct fxt_merge *m, uint64_t pid, uint64_t at_ns, int status, int signal)
{
	const char *name = signal ? "signal" : "status";
	struct fxt_arg how = {.type = FXT_ARG_INT32,
			      .name = FXT_INLINE(name, strlen(name)),
			      .i32 = signal ? signal : status};
	const struct fxt_slot *id = fxt_map_find(&m->last_ids, pid, 0);
	uint64_t words[32];
	size_t count;

	fxt_open_lifetimes_ended(&m->lifetimes, pid, at_ns, signal);
	if (!id || fxt_map_find(&m->exits, pid, 0) || !fxt_map_find(&m->tids, pid, pid))
		return true;
	count = fxt_encode_provider_section(words, 32, (uint32_t)id->value[0]);
	count += fxt_encode_event(words + count, 32 - count, FXT_EVENT_INSTANT, at_ns,
				  (struct fxt_thread_ref){.process = pid, .thread = pid},
				  FXT_INLINE("process", 7), FXT_INLINE("exit", 4), (struct fxt_args){1, &how},
				  0);
	m->events++;
	return put_words(m, words, count);
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
	fxt_open_lifetimes_free(&m->lifetimes);
	fxt_frame_records_free(&m->frames);
	m->buffered = 0;
	if (m->buffer)
		finish(m);
	if (m->followed)
		free_part(m->followed);
	fxt_map_free(&m->running);
	fxt_map_free(&m->provider_ids);
	fxt_map_free(&m->last_ids);
	fxt_map_free(&m->exits);
	fxt_map_free(&m->pids);
	fxt_map_free(&m->tids);
	fxt_profile_free(&m->profile);
	*m = (struct fxt_merge){.lacks_perfetto = m->lacks_perfetto};
}
