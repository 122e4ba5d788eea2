/* Compares what is in the storage with what the model knows. Every record has to be whole; every record
 * that was committed has to be there once, and none that was refused; and attempted = written + dropped +
 * filtered + overwritten holds exactly.
 *
 * This is called when nobody writes any more, and for snapshots while everybody does. It allocates by
 * mmap() alone, because the child of a fork in a handler checks itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model.h"

#include "agent/arrows/async.h"
#include "agent/emit/call_stack.h"
#include "agent/emit/counter.h"
#include "agent/stacks/stack_nodes.h"

enum { MOST_TOLD = 10, IN_PROGRESS = 0x80, LIFE_ENDS = 0x40 };

/* This holds the findings of a walk over the records. */
static __thread struct found {
	const char *where;
	bool is_snapshot;
	unsigned told;                  /* how many faults were found */
	uint64_t calls, functions, stale, inherited, lost;
	uint8_t *seen[MODEL_THREADS];
	bool has_both[MODEL_THREADS];   /* a call of the thread is there as complete and as in progress */
	/* the chunk that is being walked, from 1; a whole file counts as one */
	unsigned chunk;
	/* the chunk of each lifetime's begin, in which its end has to be too */
	uint32_t *begun_in[MODEL_THREADS];
	uint8_t *nodes;                 /* of the tree of calls: enum node */
	size_t object_words;            /* of the records of nodes and modules */
} *found;

enum node { NODE_NAMED = 1, NODE_TOLD };

/* As long as there are fewer words of nodes and modules, all of them are in the durable area: less than
 * call_stack.c allows itself by more than the longest record. */
enum { MODEL_DURABLE_WORDS = 8192 - 512 };

static void say(const char *format, va_list list)
{
	char line[400];
	int n = snprintf(line, sizeof(line),
			 "model_emission: seed %lu, process %u: ", (unsigned long)model.seed, model.process);

	n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, list);
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	if (write(2, line, (size_t)n) < 0)
		_exit(1);
}

void model_fail(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	say(format, list);
	va_end(list);
	if (getenv("MODEL_CORE"))
		abort();
	_exit(1);
}

static void fault(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void fault(const char *format, ...)
{
	va_list list;

	if (found->told++ >= MOST_TOLD)
		return;
	va_start(list, format);
	say(format, list);
	va_end(list);
}

static void *memory(size_t bytes)
{
	void *at =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		model_fail("no memory");
	return at;
}

/* -- One record --------------------------------------------------------------------------------- */

/* Returns whether a call may be there as complete and as in progress: in a snapshot one of each thread may,
 * which has committed its record and not yet taken its slot away. */
static bool may_be_both(unsigned thread)
{
	bool may = found->is_snapshot && !found->has_both[thread];

	found->has_both[thread] = true;
	return may;
}

/* Returns whether this is a record of the model. Reports a fault if it may not be here. */
static bool is_known(uint64_t id, enum model_kind kind)
{
	struct model_worker *worker = &model.worker[model_thread_of(id)];
	unsigned sequence = model_sequence_of(id);
	enum model_fate fate;

	if (model_thread_of(id) >= MODEL_THREADS || sequence >= MODEL_SEQUENCE || model_kind_of(id) != kind) {
		fault("%s: a record of nobody, %#lx", found->where, (unsigned long)id);
		return false;
	}
	if (model_process_of(id) != model.process) {
		unsigned i;

		/* A handler that forked may have interrupted a record of an ancestor. */
		for (i = 0; i < model.ancestors && model.ancestor[i] != model_process_of(id); i++)
			;
		if (i == model.ancestors)
			fault("%s: a record of process %u, %#lx", found->where, model_process_of(id),
			      (unsigned long)id);
		found->inherited++;
		return true;
	}
	fate = atomic_load(&worker->life->fate[sequence]);
	if (fate == MODEL_NONE || fate == MODEL_REFUSED || (fate == MODEL_STARTED && !found->is_snapshot))
		fault("%s: record %#lx is there, and its fate was %d", found->where, (unsigned long)id, fate);
	if (found->seen[model_thread_of(id)][sequence]++ & ~(unsigned)IN_PROGRESS)
		fault("%s: record %#lx is there twice", found->where, (unsigned long)id);
	if (found->seen[model_thread_of(id)][sequence] & IN_PROGRESS && !may_be_both(model_thread_of(id)))
		fault("%s: call %#lx is there as complete and as still in progress", found->where,
		      (unsigned long)id);
	return true;
}

/* Checks a slot: its call must not be there as complete, too, but for may_be_both(). */
static void check_in_progress(const uint64_t *at)
{
	uint64_t id = at[1];
	uint8_t *seen;

	if (at[0] != fxt_arg_header(FXT_ARG_POINTER, 2, FXT_STR_ptr) ||
	    model_process_of(id) != model.process || model_thread_of(id) >= MODEL_THREADS ||
	    model_sequence_of(id) >= MODEL_SEQUENCE)
		return;
	seen = &found->seen[model_thread_of(id)][model_sequence_of(id)];
	if (*seen && (*seen & IN_PROGRESS || !may_be_both(model_thread_of(id))))
		fault("%s: call %#lx is there as still in progress, and again", found->where,
		      (unsigned long)id);
	*seen |= IN_PROGRESS;
}

static void check_raw(const uint64_t *record, size_t words)
{
	uint64_t id = record[0] >> 20;
	size_t i, told;

	if (!is_known(id, MODEL_RAW))
		return;
	told = model.worker[model_thread_of(id)].life->raw_words[model_sequence_of(id)];
	if (model_process_of(id) == model.process && words != told) {
		fault("%s: raw record %#lx has %zu words instead of %zu", found->where, (unsigned long)id,
		      words, told);
		return;
	}
	for (i = 1; i < words; i++)
		if (record[i] != model_raw_word(id, i)) {
			fault("%s: word %zu of %zu of raw record %#lx is %#lx", found->where, i, words,
			      (unsigned long)id, (unsigned long)record[i]);
			return;
		}
}

/* Checks one argument. Returns where the next one is, or NULL if this one is wrong. */
static const uint64_t *check_number(const uint64_t *at, const uint64_t *end, uint64_t name, uint64_t value)
{
	bool is_short = value <= UINT32_MAX && name != FXT_STR_ptr;
	uint64_t header = name == FXT_STR_ptr ? fxt_arg_header(FXT_ARG_POINTER, 2, name)
			  : is_short ? fxt_arg_header(FXT_ARG_UINT32, 1, name) | fxt_arg_value32(value)
				     : fxt_arg_header(FXT_ARG_UINT64, 2, name);

	if (at >= end || at[0] != header || (!is_short && at[1] != value))
		return NULL;
	return at + (is_short ? 1 : 2);
}

static const uint64_t *check_text(const uint64_t *at, const uint64_t *end, uint64_t id, unsigned which,
				  size_t bytes)
{
	char text[MODEL_TEXT_BYTES + 1];
	size_t words = 1 + fxt_words_of(bytes);

	model_text(id, which, text, bytes);
	if (at + words > end ||
	    at[0] != (fxt_arg_header(FXT_ARG_STRING, (unsigned)words, FXT_STR_path) |
		      fxt_arg_string(bytes ? fxt_inline_ref(bytes) : 0)) ||
	    memcmp(at + 1, text, bytes))
		return NULL;
	return at + words;
}

static bool is_explanation(uint64_t name)
{
	return name == FXT_STR_cpu_ns || name == FXT_STR_voluntary || name == FXT_STR_involuntary;
}

/* Notes that a record names a node of the tree of calls. */
static void note_stack(uint64_t id)
{
	if (id <= FXT_STACK_ID || id >= FXT_STACK_ID + FXT_STACK_NODES)
		fault("%s: %#lx is no node", found->where, (unsigned long)id);
	else
		found->nodes[id - FXT_STACK_ID] |= NODE_NAMED;
}

/* Notes the stack among the arguments from `at` to `end`. */
static void find_stack(const uint64_t *at, const uint64_t *end)
{
	for (; at < end && fxt_get_arg_words(*at); at += fxt_get_arg_words(*at))
		if (fxt_get_arg_name(*at) == FXT_STR_stack && fxt_get_arg_type(*at) == FXT_ARG_POINTER)
			note_stack(at[1]);
}

/* Notes the record of a node, and the caller that it names. */
static void check_object(const uint64_t *record, size_t words)
{
	const uint64_t *at = record + 3;

	found->object_words += words;
	if (record[1] <= FXT_STACK_ID)
		return;
	note_stack(record[1]);
	found->nodes[(record[1] - FXT_STACK_ID) % FXT_STACK_NODES] |= NODE_TOLD;
	for (; at < record + words && fxt_get_arg_words(*at); at += fxt_get_arg_words(*at))
		if (fxt_get_arg_name(*at) == FXT_STR_parent)
			note_stack(at[1]);
}

/* Checks that each node that is named has a record. */
static void check_nodes(void)
{
	unsigned i;

	for (i = 0; i < FXT_STACK_NODES; i++) {
		if (found->nodes[i] == NODE_NAMED) {
			fault("%s: node %u is named and has no record", found->where, i);
			return;
		}
	}
}

static void check_call(uint64_t header, const uint64_t *at, const uint64_t *end, uint64_t start_ns)
{
	unsigned call = (unsigned)(fxt_get_event_name(header) - FXT_STR_CALLS),
		 arguments = fxt_get_event_args(header), i;
	uint64_t id;
	struct model_event event;

	if (fxt_get_event_name(header) < FXT_STR_CALLS || call >= MODEL_KINDS) {
		fault("%s: an event of name %lu", found->where, (unsigned long)fxt_get_event_name(header));
		return;
	}
	if (end[0] < start_ns)
		fault("%s: an event ends before it starts", found->where);
	/* A call that was left by longjmp, and was closed when that was noticed, has no arguments but an
	 * explanation if it was slow. */
	if (call == MODEL_BLOCKING && (!arguments || is_explanation(fxt_get_arg_name(at[0])))) {
		found->stale++;
		return;
	}
	if (at + 1 >= end || at[0] != fxt_arg_header(FXT_ARG_POINTER, 2, FXT_STR_ptr)) {
		fault("%s: an event without identity", found->where);
		return;
	}
	id = at[1];
	if (!is_known(id, call))
		return;
	found->calls += model_process_of(id) == model.process;
	model_event_of(id, &event);
	if (call == MODEL_QUICK)
		event.numbers = 1, event.texts = 0;
	at = check_number(at, end, FXT_STR_ptr, id);
	for (i = 0; at && i < event.numbers; i++)
		at = check_number(at, end, FXT_STR_size, event.number[i]);
	for (i = 0; at && i < event.texts; i++)
		at = check_text(at, end, id, i, event.text_bytes[i]);
	if (!at)
		fault("%s: event %#lx (%s) has other arguments", found->where, (unsigned long)id,
		      model_calls[call]);
	else if (arguments < 1 + event.numbers + event.texts ||
		 (arguments == 1 + event.numbers + event.texts && at != end))
		fault("%s: event %#lx (%s) has %u arguments, which end %ld words before its end",
		      found->where, (unsigned long)id, model_calls[call], arguments, (long)(end - at));
	else
		find_stack(at, end);
}

/* Checks the begin or end of a lifetime. The end stands behind the begin and in the same chunk, unless the
 * begin was too long to be moved. A ring may have lost either. */
static void check_lifetime(enum fxt_event_type type, uint64_t header, const uint64_t *at, const uint64_t *end)
{
	uint64_t id = at[1];
	unsigned thread = model_thread_of(id), sequence = model_sequence_of(id), i;
	bool is_begin = type == FXT_EVENT_ASYNC_BEGIN, is_ring = fxt_agent.config.mode == FXT_CIRCULAR;
	struct model_event event;
	struct model_life *life;
	uint8_t *seen;

	if (at[0] != fxt_arg_header(FXT_ARG_POINTER, 2, FXT_STR_ptr) || thread >= MODEL_THREADS ||
	    sequence >= MODEL_SEQUENCE || model_kind_of(id) != MODEL_LIFETIME) {
		fault("%s: a lifetime of nobody, %#lx", found->where, (unsigned long)id);
		return;
	}
	life = model.worker[thread].life;
	if (model_process_of(id) != model.process)
		return;
	seen = &found->seen[thread][sequence];
	/* A snapshot may have read a begin both before and after it was moved. */
	if (*seen & (is_begin ? 1 : LIFE_ENDS) && !found->is_snapshot)
		fault("%s: lifetime %#lx %s twice", found->where, (unsigned long)id,
		      is_begin ? "begins" : "ends");
	*seen |= is_begin ? 1 : LIFE_ENDS;
	if (end[0] != life->flow[sequence])
		fault("%s: lifetime %#lx has another's id", found->where, (unsigned long)id);
	if (!is_begin && life->fate[sequence] != MODEL_ENDED && life->fate[sequence] != MODEL_ABANDONED)
		fault("%s: lifetime %#lx ends, and its fate was %d", found->where, (unsigned long)id,
		      life->fate[sequence]);
	if (is_begin && (life->fate[sequence] == MODEL_REFUSED ||
			 (life->fate[sequence] == MODEL_STARTED && !found->is_snapshot)))
		fault("%s: lifetime %#lx begins, and its fate was %d", found->where, (unsigned long)id,
		      life->fate[sequence]);
	model_event_of(id, &event);
	event.texts = is_begin ? model_lifetime_texts(&event) : 0;
	event.numbers = is_begin ? event.numbers : 0;
	at += 2;
	for (i = 0; at && i < event.numbers; i++)
		at = check_number(at, end, FXT_STR_size, event.number[i]);
	if (at && event.texts)
		at = check_text(at, end, id, 0, event.text_bytes[0]);
	if (at != end || fxt_get_event_args(header) != 1 + event.numbers + event.texts)
		fault("%s: the %s of lifetime %#lx has other arguments", found->where,
		      is_begin ? "begin" : "end", (unsigned long)id);
	if (is_ring)
		return;
	if (is_begin) {
		bool is_moved = fxt_get_record_words(header) <= FXT_ASYNC_MOVED_WORDS;

		if (is_moved && (*seen & LIFE_ENDS))
			fault("%s: lifetime %#lx ends before it begins", found->where, (unsigned long)id);
		found->begun_in[thread][sequence] = is_moved ? found->chunk : 0;
	} else if (found->begun_in[thread][sequence] && found->begun_in[thread][sequence] != found->chunk) {
		fault("%s: lifetime %#lx ends in chunk %u and began in chunk %u", found->where,
		      (unsigned long)id, found->chunk, found->begun_in[thread][sequence]);
	}
}

/* Returns whether a counter of the agent is one of things that have no record of their own. */
static bool counts_no_calls(uint64_t name)
{
	return name == FXT_STR_unnamed || name == FXT_STR_blocks_not_kept || name == FXT_STR_stacks_not_kept;
}

static void check_event(const uint64_t *record, size_t words)
{
	uint64_t header = record[0], category = fxt_get_event_category(header);
	const uint64_t *at = record + (fxt_get_event_thread(header) ? 2 : 4), *end = record + words - 1;
	enum fxt_event_type type = fxt_get_event_type(header);

	if (category == FXT_STR_CATEGORIES + FXT_BIT_function && type == FXT_EVENT_DURATION_COMPLETE)
		found->functions++;
	else if (category == FXT_STR_CATEGORIES + FXT_BIT_io && type == FXT_EVENT_DURATION_COMPLETE)
		check_call(header, at, end, record[1]);
	else if (type == FXT_EVENT_ASYNC_BEGIN || type == FXT_EVENT_ASYNC_END)
		check_lifetime(type, header, at, end);
	else if (category == FXT_STR_CATEGORIES + FXT_BIT_agent && type == FXT_EVENT_COUNTER &&
		 !counts_no_calls(fxt_get_event_name(header)))
		found->lost += at[1];
	else if (category == FXT_STR_CATEGORIES + FXT_BIT_io && type == FXT_EVENT_DURATION_BEGIN)
		check_in_progress(at);
	else if (type != FXT_EVENT_DURATION_BEGIN && category != FXT_STR_CATEGORIES + FXT_BIT_agent)
		fault("%s: an event of type %d and category %lu", found->where, type,
		      (unsigned long)category);
}

static void walk(const uint64_t *word, size_t count)
{
	size_t at, words;

	found->chunk++;
	for (at = 0; at < count; at += words) {
		words = fxt_get_record_words(word[at]);
		if (!words || words > count - at) {
			fault("%s: word %zu of %zu, %#lx, is no header", found->where, at, count,
			      (unsigned long)word[at]);
			return;
		}
		if (fxt_get_record_type(word[at]) == FXT_RECORD_EVENT)
			check_event(word + at, words);
		else if (fxt_get_record_type(word[at]) == FXT_RECORD_USERSPACE_OBJECT)
			check_object(word + at, words);
		else if (fxt_get_record_type(word[at]) == FXT_RECORD_METADATA &&
			 fxt_get_metadata_type(word[at]) == MODEL_METADATA)
			check_raw(word + at, words);
	}
}

/* Notes the nodes that have their records in a file, which the guarded storage uses for what is durable. */
static void walk_objects(const uint64_t *word, size_t count)
{
	size_t at, words;

	for (at = 0; at < count; at += words) {
		words = fxt_get_record_words(word[at]);
		if (!words || words > count - at)
			return;
		if (fxt_get_record_type(word[at]) == FXT_RECORD_USERSPACE_OBJECT)
			check_object(word + at, words);
	}
}

static void walk_mapped(const char *path, void (*how)(const uint64_t *word, size_t count))
{
	int fd = open(path, O_RDONLY);
	struct stat status;
	const uint64_t *word;

	if (fd < 0 || fstat(fd, &status) || !status.st_size) {
		fault("%s: cannot be read: %s", path, strerror(errno));
		return;
	}
	word = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (word == MAP_FAILED)
		model_fail("cannot map %s", path);
	found->where = path;
	how(word, (size_t)status.st_size / FXT_WORD_BYTES);
	munmap((void *)word, (size_t)status.st_size);
}

static void walk_file(const char *path)
{
	walk_mapped(path, walk);
}

/* -- All of them -------------------------------------------------------------------------------- */

static void begin(struct found *it)
{
	unsigned i;

	*it = (struct found){.nodes = memory(FXT_STACK_NODES)};
	for (i = 0; i < MODEL_THREADS; i++) {
		it->seen[i] = memory(MODEL_SEQUENCE);
		it->begun_in[i] = memory(MODEL_SEQUENCE * sizeof(*it->begun_in[i]));
	}
	found = it;
}

static bool end(void)
{
	unsigned i;

	munmap(found->nodes, FXT_STACK_NODES);
	for (i = 0; i < MODEL_THREADS; i++) {
		munmap(found->seen[i], MODEL_SEQUENCE);
		munmap(found->begun_in[i], MODEL_SEQUENCE * sizeof(*found->begun_in[i]));
	}
	return !found->told;
}

/* This holds the sums of what the workers did. */
struct done {
	uint64_t written, refused, functions, missing;
};

static struct done add_up(bool is_ring)
{
	struct done done = {0};
	unsigned i, sequence;

	for (i = 0; i < MODEL_THREADS; i++) {
		struct model_worker *worker = &model.worker[i];

		done.functions += worker->functions_left;
		for (sequence = 0; sequence < MODEL_SEQUENCE && sequence < worker->life->next; sequence++) {
			enum model_fate fate = atomic_load(&worker->life->fate[sequence]);
			bool is_seen = found->seen[i][sequence] & ~(unsigned)IN_PROGRESS;

			if (fate == MODEL_ENDED && !is_ring &&
			    (found->seen[i][sequence] & (1 | LIFE_ENDS)) != (1 | LIFE_ENDS))
				fault("lifetime %u of thread %u has begun and ended, "
				      "and the trace has only %#x",
				      sequence, i, found->seen[i][sequence]);
			done.refused += fate == MODEL_REFUSED &&
					worker->life->raw_words[sequence] != MODEL_LIFETIME_WORDS;
			if (fate != MODEL_WRITTEN)
				continue;
			done.written++;
			if (is_seen)
				continue;
			done.missing++;
			if (!is_ring)
				fault("record %u of thread %u was committed and is not there", sequence, i);
		}
	}
	return done;
}

static uint64_t raw_records(bool is_seen)
{
	/* A ring does not count the raw records that it overwrites, because they are no calls. */
	uint64_t count = 0;
	unsigned i, sequence;

	for (i = 0; i < MODEL_THREADS; i++)
		for (sequence = 0; sequence < MODEL_SEQUENCE && sequence < model.worker[i].life->next;
		     sequence++)
			if (atomic_load(&model.worker[i].life->fate[sequence]) == MODEL_WRITTEN &&
			    model.worker[i].life->raw_words[sequence] &&
			    (!is_seen || found->seen[i][sequence]))
				count++;
	return count;
}

bool model_check(void)
{
	struct found it;
	struct done done;
	uint64_t attempted, accounted;
	/* A call that a longjmp left may be written or counted as lost; if it was left in its last
	 * instructions, it may be both; and if it was left while it was counted, so are the lanes of its
	 * emission and of the counter. A call that was in progress when its process forked may have ended
	 * before or after that. */
	uint64_t most = 3 * (uint64_t)model.abandoned_calls + 2 * (uint64_t)model.inherited;
	uint64_t least = model.inherited;
	unsigned i;
	bool is_ring = fxt_agent.config.mode == FXT_CIRCULAR;

	begin(&it);
	if (model.is_guarded) {
		it.where = "storage";
		model_storage_walk(walk);
		for (i = 0; i < FXT_LOSS_COUNT; i++)
			if (i < FXT_LOSS_UNNAMED && fxt_agent.losses[i])
				it.lost += fxt_counter_value(fxt_agent.losses[i]);
	} else if (atomic_load(&fxt_agent.file_made)) {
		walk_file(fxt_agent.buffer.path);
	}
	/* A child that has only calls which were too short for the threshold leaves no file. */
	if (fxt_self && !fxt_self->pages.count)
		it.lost += fxt_self->pages.none[0] + fxt_self->pages.none[1];
	done = add_up(is_ring);
	if (model.is_guarded && atomic_load(&fxt_agent.file_made))
		walk_mapped(fxt_agent.buffer.path, walk_objects);
	/* A few stacks have all their records in the durable area, before any event names them. Of many, a
	 * ring may have overwritten those in an older chunk, and a jump may have come between an event and
	 * the records of its stack. */
	if (it.object_words < MODEL_DURABLE_WORDS || (!is_ring && !it.lost && !model.has_jumps))
		check_nodes();
	attempted = done.written - raw_records(false) + done.refused + done.functions;
	accounted = it.calls + it.functions + it.stale + it.lost;
	if (accounted + least < attempted || accounted > attempted + most)
		fault("%lu calls attempted (%lu written, %lu refused, %lu functions); "
		      "%lu there, %lu functions, %lu stale, %lu counted as lost: "
		      "%ld are missing; between %ld and %ld may be left over",
		      (unsigned long)attempted, (unsigned long)(done.written - raw_records(false)),
		      (unsigned long)done.refused, (unsigned long)done.functions, (unsigned long)it.calls,
		      (unsigned long)it.functions, (unsigned long)it.stale, (unsigned long)it.lost,
		      (long)(attempted - accounted), -(long)least, (long)most);
	return end();
}

bool model_check_snapshot(const char *path)
{
	struct found it;

	begin(&it);
	it.is_snapshot = true;
	walk_file(path);
	return end();
}
