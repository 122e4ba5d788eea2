/* Replaces koids in a joined trace. See renumber.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "renumber_parts.h"
#include "tools/common/message.h"
#include "writer/fxt_encode.h"

enum { NAME_BYTES = 256, NAME_WORDS = 128 };

/* The walk through the trace. */
struct patching {
	struct fxt_renumber *n;
	struct fxt_reader r;
	uint64_t last_ns; /* the time of the last event */
	/* names of other processes and their threads, which belong to the time of the next event */
	struct fxt_record *pending;
	size_t pending_count, pending_capacity;
};

static const struct fxt_renumber_program *program_of(const struct patching *p, const struct fxt_record *rec)
{
	return &p->n->programs[rec->provider->index];
}

static void put_word(const struct patching *p, uint64_t offset, uint64_t word)
{
	word = htole64(word);
	memcpy(p->n->data + offset, &word, sizeof(word));
}

static void put_koid(const struct patching *p, uint64_t offset, size_t bearer)
{
	if (bearer != FXT_NO_BEARER)
		put_word(p, offset, p->n->bearers.list[bearer].koid);
}

static uint64_t word_at(const struct patching *p, uint64_t offset)
{
	uint64_t word;

	memcpy(&word, p->n->data + offset, sizeof(word));
	return le64toh(word);
}

static uint64_t number_at(const struct patching *p, uint64_t offset)
{
	return fxt_number(&p->n->reader, word_at(p, offset));
}

/* Returns the process with this number that a record is about. A program's own process is one, whatever the
 * time. */
static size_t process_of(const struct patching *p, const struct fxt_record *rec, uint64_t number,
			 uint64_t at_ns)
{
	const struct fxt_renumber_program *program = program_of(p, rec);

	if (program->own && fxt_number(&p->n->reader, program->own) == number &&
	    program->process != FXT_NO_BEARER)
		return program->process;
	return fxt_bearers_process(&p->n->bearers, number, at_ns);
}

/* Replaces the koids of a process and of its thread, which follow each other. Returns the process. */
static size_t patch_pair(const struct patching *p, const struct fxt_record *rec, uint64_t offset,
			 uint64_t at_ns)
{
	size_t process = process_of(p, rec, number_at(p, offset), at_ns);
	uint64_t tid = number_at(p, offset + FXT_WORD_BYTES);

	if (process == FXT_NO_BEARER)
		return process;
	put_koid(p, offset, process);
	put_koid(p, offset + FXT_WORD_BYTES, fxt_bearers_thread_of(&p->n->bearers, process, tid, at_ns));
	return process;
}

/* -- Arguments ----------------------------------------------------------------------------------- */

static uint64_t inline_bytes(uint64_t ref)
{
	return fxt_get_string_ref_inline(ref) ? fxt_words_of(fxt_get_string_ref_value(ref)) * FXT_WORD_BYTES
					      : 0;
}

/* Replaces the koids among the arguments, which begin at `at`: that named `process` is a process, and the
 * others are threads of the last process that was named, or of `process`. The record is sound. */
static void patch_arguments(const struct patching *p, const struct fxt_record *rec, uint64_t at,
			    size_t process, uint64_t at_ns)
{
	for (unsigned i = 0; i < rec->arg_count; i++) {
		uint64_t header = word_at(p, at);
		uint64_t value = at + FXT_WORD_BYTES + inline_bytes(fxt_get_arg_name(header));

		if (rec->args[i].type == FXT_ARG_KOID && fxt_text_is(&rec->args[i].name, "process")) {
			process = process_of(p, rec, number_at(p, value), at_ns);
			put_koid(p, value, process);
		} else if (rec->args[i].type == FXT_ARG_KOID) {
			put_koid(p, value,
				 fxt_bearers_thread_of(&p->n->bearers, process, number_at(p, value), at_ns));
		}
		at += fxt_get_arg_words(header) * FXT_WORD_BYTES;
	}
}

static bool has_koids(const struct fxt_record *rec)
{
	for (unsigned i = 0; i < rec->arg_count; i++)
		if (rec->args[i].type == FXT_ARG_KOID)
			return true;
	return false;
}

/* -- Records ------------------------------------------------------------------------------------- */

static void patch_event(const struct patching *p, const struct fxt_record *rec, uint64_t at_ns)
{
	uint64_t at = rec->offset + (uint64_t)2 * FXT_WORD_BYTES, number;
	size_t process;

	if (!fxt_get_event_thread(rec->header)) {
		process = patch_pair(p, rec, at, at_ns);
		at += (uint64_t)2 * FXT_WORD_BYTES;
	} else {
		number = fxt_number(&p->n->reader, p->r.threads[rec->thread].pid);
		process = process_of(p, rec, number, at_ns);
	}
	if (!has_koids(rec))
		return;
	at += inline_bytes(fxt_get_event_category(rec->header));
	at += inline_bytes(fxt_get_event_name(rec->header));
	patch_arguments(p, rec, at, process, at_ns);
}

/* Switches and wakeups name threads alone, also in their arguments. */
static void patch_scheduling(const struct patching *p, const struct fxt_record *rec, uint64_t at_ns)
{
	uint64_t at = rec->offset + (uint64_t)2 * FXT_WORD_BYTES;
	unsigned count = rec->subtype == FXT_SCHEDULING_SWITCH	 ? 2
			 : rec->subtype == FXT_SCHEDULING_WAKEUP ? 1
								 : 0;

	for (; count; count--, at += FXT_WORD_BYTES)
		if (word_at(p, at))
			put_koid(p, at,
				 fxt_bearers_thread_of(&p->n->bearers, FXT_NO_BEARER, number_at(p, at),
						       at_ns));
	if (has_koids(rec))
		patch_arguments(p, rec, at, FXT_NO_BEARER, at_ns);
}

/* Names a bearer. What a program says of its own process comes before what others say of it. */
static void name(struct patching *p, const struct fxt_record *rec, size_t bearer)
{
	struct fxt_bearer *one = bearer == FXT_NO_BEARER ? NULL : &p->n->bearers.list[bearer];

	if (one && rec->name.bytes && (!one->name.bytes || !fxt_provider_is_kernel(rec->provider)))
		one->name = rec->name;
}

/* Replaces the koids of a process or thread that is named. */
static void patch_name(struct patching *p, const struct fxt_record *rec, uint64_t at_ns)
{
	const struct fxt_bearers *b = &p->n->bearers;
	uint64_t at = rec->offset + FXT_WORD_BYTES, number = number_at(p, at), pid;
	size_t bearer;

	if (rec->subtype == FXT_OBJECT_PROCESS) {
		bearer = process_of(p, rec, number, at_ns);
	} else {
		pid = fxt_number(&p->n->reader, fxt_argument_or(rec, "process", 0));
		if (fxt_provider_is_kernel(rec->provider)) {
			bearer = fxt_bearers_last_thread(b, pid, number);
			at_ns = bearer == FXT_NO_BEARER ? at_ns : b->list[bearer].begin_ns;
		} else {
			bearer = fxt_bearers_thread_of(b, process_of(p, rec, pid, at_ns), number, at_ns);
		}
	}
	put_koid(p, at, bearer);
	name(p, rec, bearer);
	patch_arguments(p, rec, at + FXT_WORD_BYTES + inline_bytes(fxt_get_object_name(rec->header)),
			FXT_NO_BEARER, at_ns);
}

static void patch_pending(struct patching *p, uint64_t at_ns)
{
	for (size_t i = 0; i < p->pending_count; i++)
		patch_name(p, &p->pending[i], at_ns);
	p->pending_count = 0;
}

static void take_name(struct patching *p, const struct fxt_record *rec)
{
	const struct fxt_renumber_program *program = program_of(p, rec);
	uint64_t koid = rec->subtype == FXT_OBJECT_PROCESS ? rec->id : fxt_argument_or(rec, "process", 0),
		 since_ns;

	if (rec->subtype != FXT_OBJECT_PROCESS && rec->subtype != FXT_OBJECT_THREAD)
		return;
	if (fxt_argument_u64(fxt_argument(rec, "since"), &since_ns)) {
		patch_name(p, rec, since_ns);
	} else if (koid == program->own || fxt_provider_is_kernel(rec->provider)) {
		patch_name(p, rec, UINT64_MAX);
	} else {
		p->pending =
			fxt_grow(p->pending, &p->pending_capacity, p->pending_count + 1, sizeof(*p->pending));
		p->pending[p->pending_count++] = *rec;
	}
}

static void patch(struct patching *p, const struct fxt_record *rec)
{
	uint64_t at_ns = rec->timed ? fxt_ns(rec->provider, rec->ticks) : p->last_ns;

	if (rec->type == FXT_RECORD_EVENT || rec->type == FXT_RECORD_METADATA) {
		patch_pending(p, at_ns);
		p->last_ns = at_ns;
	}
	switch (rec->type) {
	case FXT_RECORD_THREAD:
		patch_pair(p, rec, rec->offset + FXT_WORD_BYTES, at_ns);
		break;
	case FXT_RECORD_EVENT:
		if (rec->known)
			patch_event(p, rec, at_ns);
		break;
	case FXT_RECORD_USERSPACE_OBJECT:
		if (!fxt_get_object_process(rec->header)) {
			uint64_t at = rec->offset + (uint64_t)2 * FXT_WORD_BYTES;

			put_koid(p, at, process_of(p, rec, number_at(p, at), at_ns));
		}
		break;
	case FXT_RECORD_KERNEL_OBJECT:
		take_name(p, rec);
		break;
	case FXT_RECORD_SCHEDULING:
		patch_scheduling(p, rec, at_ns);
		break;
	case FXT_RECORD_LOG:
		if (!fxt_get_log_thread(rec->header))
			patch_pair(p, rec, rec->offset + (uint64_t)2 * FXT_WORD_BYTES, at_ns);
		break;
	default:
		break;
	}
}

void fxt_renumber_patch(struct fxt_renumber *n)
{
	struct patching p = {.n = n};
	struct fxt_record rec;

	fxt_reader_init(&p.r, n->data, n->bytes);
	while (fxt_reader_next(&p.r, &rec))
		if (!rec.damaged)
			patch(&p, &rec);
	patch_pending(&p, p.last_ns);
	/* Names are kept; they are bytes of the trace, or of its reader's copies. */
	free(p.pending);
	fxt_reader_free(&p.r);
}

/* -- Names --------------------------------------------------------------------------------------- */

static bool put_name(struct fxt_renumber *n, size_t bearer, fxt_renumber_put *put, void *context)
{
	const struct fxt_bearer *one = &n->bearers.list[bearer];
	bool is_thread = one->process != bearer;
	const struct fxt_arg list[] = {
		{FXT_ARG_UINT64, FXT_INLINE(is_thread ? "tid" : "pid", 3), .u64 = one->number},
		{FXT_ARG_UINT64, FXT_INLINE("since", 5), .u64 = one->begin_ns},
		{FXT_ARG_KOID, FXT_INLINE("process", 7), .u64 = n->bearers.list[one->process].koid}};
	uint64_t words[NAME_WORDS];
	char clean[NAME_BYTES];
	size_t bytes =
		fxt_utf8_clean(clean, one->name.bytes ? one->name.text : "", one->name.bytes, sizeof(clean));

	return put(context, words,
		   fxt_encode_kernel_object(
			   words, NAME_WORDS, is_thread ? FXT_OBJECT_THREAD : FXT_OBJECT_PROCESS, one->koid,
			   FXT_INLINE(clean, bytes), (struct fxt_args){is_thread ? 3 : 2, list}));
}

/* Returns the id of a provider that tells of a process of its own, because a part's first such record says
 * which process is its own; any, if there is none. */
static uint32_t teller(const struct fxt_renumber *n)
{
	for (size_t i = 0; i < n->program_count; i++)
		if (n->programs[i].own)
			return n->programs[i].provider->id;
	return FXT_KERNEL_PROVIDER_ID;
}

bool fxt_renumber_names(struct fxt_renumber *n, fxt_renumber_put *put, void *context)
{
	uint64_t words[2];
	bool ok = !n->differs || put(context, words, fxt_encode_provider_section(words, 2, teller(n)));

	for (size_t i = 0; ok && n->differs && i < n->bearers.count; i++)
		if (n->bearers.list[i].koid != n->bearers.list[i].number)
			ok = put_name(n, i, put, context);
	return ok;
}
