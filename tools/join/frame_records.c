/* Makes records with the names of functions. See frame_records.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "frame_records.h"

#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"
#include "tools/reading/reader_internal.h"
#include "writer/fxt_encode.h"

enum {
	/* Names of functions can be long where there are templates. Demangled ones have no more bytes. */
	NAME_BYTES = 4096,
	WRITE_WORDS = 1 << 16,          /* records are written when there are so many words of them */
};

/* -- Taking ---------------------------------------------------------------------------------------- */

void fxt_frame_part_take(struct fxt_frame_part *p, struct fxt_reader *r, const struct fxt_record *rec)
{
	bool fresh;

	/* The name of a process in another namespace of process ids has the number that is used there. */
	if (rec->type == FXT_RECORD_KERNEL_OBJECT && rec->subtype == FXT_OBJECT_PROCESS &&
	    fxt_argument(rec, "pid") && fxt_number(r, rec->id) == rec->id)
		fxt_map_put(&p->renumbered, rec->id, 0, &fresh);
	if (rec->type != FXT_RECORD_USERSPACE_OBJECT)
		return;
	fxt_call_stacks_take(&p->stacks, r, rec);
	fxt_map_put(&p->processes, rec->provider->index, 0, &fresh)->value[0] = r->threads[rec->thread].pid;
}

struct fxt_frame_names *fxt_frame_records_names(struct fxt_frame_records *f)
{
	if (!f->names)
		f->names = fxt_frame_names_open(f->wish.not_after ? f->wish.not_after : time(NULL));
	return f->names;
}

void fxt_frame_part_ahead(struct fxt_frame_records *f, struct fxt_frame_part *p, const struct fxt_reader *r)
{
	if (p->ahead == p->stacks.count)
		return;
	fxt_frame_records_names(f);
	if (!f->namer)
		f->namer = fxt_frame_namer_begin(f->names);
	if (!f->namer)
		return;
	for (; p->ahead < p->stacks.count; p->ahead++) {
		const struct fxt_call_frame *frame = &p->stacks.frames[p->ahead];
		struct fxt_frame_at at;

		if (frame->name || !fxt_call_stacks_find_module(&p->stacks, (uint32_t)p->ahead) ||
		    !frame->module)
			continue;
		at = fxt_frame_at(r, frame);
		fxt_frame_namer_add(f->namer, &at);
	}
	fxt_frame_namer_wake(f->namer);
}

/* -- Making records -------------------------------------------------------------------------------- */

/* The strings of which a record has most. */
enum { TYPE, FRAME, PARENT, MODULE, OFFSET, BUILD_ID, LITERALS };

static const char *const literals[LITERALS] = {"type", FXT_FRAME_RECORD, "parent",
					       "module", "offset", "build_id"};

/* What is needed while the records of one provider are made. */
struct making {
	struct fxt_frame_records *records;
	struct fxt_reader *r;
	const struct fxt_call_stacks *stacks;
	uint32_t literals[LITERALS];    /* symbols */
	uint64_t process;
	bool is_renumbered;             /* the process knows itself by another number */
	struct fxt_map strings;         /* symbol -> index in the provider's table */
	unsigned char *is_used;         /* by index: the provider has a string there */
	unsigned next;                  /* the index to try next; 0: there is none */
};

/* Returns room for the longest record. The caller adds the words that it has used to the count. */
static uint64_t *room(struct fxt_frame_records *f)
{
	f->words = fxt_grow(f->words, &f->capacity, f->count + FXT_RECORD_MAX_WORDS, sizeof(*f->words));
	return f->words + f->count;
}

/* Returns an index at which the provider has no string, or 0. */
static uint16_t free_index(struct making *m)
{
	while (m->next && m->is_used[m->next])
		m->next--;
	return m->next ? (uint16_t)m->next-- : 0;
}

/* Returns the text of a symbol as a string in a record. It is registered, as long as the provider's table has
 * room. */
static struct fxt_string string_of(struct making *m, uint32_t symbol)
{
	struct fxt_text text;
	uint64_t *words;
	struct fxt_slot *slot;
	bool fresh;

	slot = fxt_map_put(&m->strings, symbol, 0, &fresh);
	if (slot->value[0])
		return FXT_INDEXED(slot->value[0]);
	text = fxt_symbol_text(m->r, symbol);
	if (!text.bytes)
		return FXT_INLINE(NULL, 0);
	if (fresh) {
		slot->value[0] = free_index(m);
		words = room(m->records);
		if (slot->value[0])
			m->records->count += fxt_encode_string(words, FXT_RECORD_MAX_WORDS,
							       (uint16_t)slot->value[0], text.text,
							       text.bytes);
	}
	return slot->value[0] ? FXT_INDEXED(slot->value[0]) : FXT_INLINE(text.text, text.bytes);
}

static struct fxt_string literal(struct making *m, unsigned which)
{
	return string_of(m, m->literals[which]);
}

/* Returns the name that the process has given to code that it has made, or NULL. */
static const char *made_name(struct fxt_frame_records *f, const struct making *m,
			     const struct fxt_call_frame *frame)
{
	if (!f->wish.made_since_ns || frame->module || !frame->offset || !m->process ||
	    m->process > INT32_MAX || m->is_renumbered)
		return NULL;
	/* The nodes of a process come one after the other, and one map takes enough memory. */
	if (f->made_by != m->process)
		fxt_perf_map_free(&f->made);
	f->made_by = m->process;
	return fxt_perf_map_find(&f->made, (uint32_t)m->process, f->wish.made_since_ns, frame->offset);
}

static const char *function_of(struct making *m, const struct fxt_call_frame *frame)
{
	struct fxt_frame_at at = fxt_frame_at(m->r, frame);
	const char *made = made_name(m->records, m, frame);

	return made ? made : fxt_frame_function(m->records->names, &at);
}

static void put_frame(struct making *m, struct fxt_call_frame *frame)
{
	const char *function = function_of(m, frame);
	char clean[NAME_BYTES];
	struct fxt_text text = fxt_text_of(function);
	struct fxt_string name;
	struct fxt_arg list[5];
	size_t count = 0;
	uint64_t *words;

	frame->name = fxt_symbol(m->r, &text);
	/* The text has to last, so one that is cut or changed is not registered. */
	if (text.bytes > sizeof(clean) || !fxt_utf8_valid(text.text, text.bytes))
		name = FXT_INLINE(clean, fxt_utf8_clean(clean, text.text, text.bytes, sizeof(clean)));
	else
		name = string_of(m, frame->name);
	list[count++] =
		(struct fxt_arg){FXT_ARG_STRING, literal(m, TYPE), .string = literal(m, FRAME)};
	if (frame->parent != FXT_NO_FRAME)
		list[count++] = (struct fxt_arg){FXT_ARG_POINTER, literal(m, PARENT),
						 .u64 = m->stacks->frames[frame->parent].id};
	if (frame->module)
		list[count++] = (struct fxt_arg){FXT_ARG_STRING, literal(m, MODULE),
						 .string = string_of(m, frame->module)};
	list[count++] = (struct fxt_arg){FXT_ARG_UINT64, literal(m, OFFSET), .u64 = frame->offset};
	if (frame->build_id)
		list[count++] = (struct fxt_arg){FXT_ARG_STRING, literal(m, BUILD_ID),
						 .string = string_of(m, frame->build_id)};
	words = room(m->records);
	m->records->count += fxt_encode_userspace_object(words, FXT_RECORD_MAX_WORDS, frame->id,
							 (struct fxt_thread_ref){0, m->process, 0}, name,
							 (struct fxt_args){count, list});
}

/* Begins the records of a provider, and notes which strings it has. */
static void begin_provider(struct making *m, const struct fxt_provider *p, uint32_t id)
{
	uint64_t *words = room(m->records);

	m->records->count += fxt_encode_provider_section(words, FXT_RECORD_MAX_WORDS, id);
	fxt_map_free(&m->strings);
	memset(m->is_used, 0, FXT_STRING_MAX_INDEX + 1);
	fxt_mark_strings(p, m->is_used);
	m->next = FXT_STRING_MAX_INDEX;
}

/* Compares two places of nodes: those of a provider stand together. */
static int by_provider(const void *a, const void *b, void *context)
{
	const struct fxt_call_frame *frames = context;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	if (frames[i].provider != frames[k].provider)
		return frames[i].provider < frames[k].provider ? -1 : 1;
	return i < k ? -1 : i > k;
}

/* Puts all nodes without a name in an order in which callers come before what they call, and the nodes of a
 * provider together. The kernel's have names, in a trace that is not damaged. Returns how many there are. */
static size_t sort(const struct fxt_call_stacks *s, const struct fxt_reader *r, uint32_t *order)
{
	uint32_t *places = fxt_alloc(s->count, sizeof(*places)), *way = fxt_alloc(s->count, sizeof(*way));
	unsigned char *is_done = fxt_alloc(s->count, 1);
	size_t ordered = 0, depth = 0;

	for (size_t i = 0; i < s->count; i++)
		places[i] = (uint32_t)i;
	qsort_r(places, s->count, sizeof(*places), by_provider, s->frames);
	for (size_t i = 0; i < s->count; i++) {
		for (uint32_t at = places[i]; at != FXT_NO_FRAME && !is_done[at]; at = s->frames[at].parent) {
			is_done[at] = true;
			way[depth++] = at;
		}
		while (depth) {
			uint32_t at = way[--depth];
			const struct fxt_call_frame *frame = &s->frames[at];

			if (frame->is_recorded && !frame->name &&
			    !fxt_provider_is_kernel(r->providers[frame->provider]))
				order[ordered++] = at;
		}
	}
	free(places);
	free(way);
	free(is_done);
	return ordered;
}

void fxt_frame_part_end(struct fxt_frame_records *f, struct fxt_frame_part *p, struct fxt_reader *r,
			fxt_frame_id_of *id_of, void *context)
{
	struct making m = {.records = f, .r = r, .stacks = &p->stacks};
	uint32_t *order, provider = UINT32_MAX;
	size_t count;

	fxt_frame_namer_end(f->namer);
	f->namer = NULL;
	fxt_call_stacks_finish(&p->stacks);
	if (!p->stacks.count)
		return;
	order = fxt_alloc(p->stacks.count, sizeof(*order));
	m.is_used = fxt_alloc(FXT_STRING_MAX_INDEX + 1, 1);
	count = sort(&p->stacks, r, order);
	if (count)
		fxt_frame_records_names(f);
	for (size_t i = 0; i < LITERALS; i++) {
		struct fxt_text text = fxt_text_of(literals[i]);

		m.literals[i] = fxt_symbol(r, &text);
	}
	for (size_t i = 0; i < count; i++) {
		struct fxt_call_frame *frame = &p->stacks.frames[order[i]];

		if (frame->provider != provider) {
			provider = frame->provider;
			begin_provider(&m, r->providers[provider],
				       id_of(context, r->providers[provider]->id));
			m.process = fxt_map_find(&p->processes, provider, 0)->value[0];
			m.is_renumbered = fxt_map_find(&p->renumbered, m.process, 0);
		}
		put_frame(&m, frame);
		if (f->write && f->count > WRITE_WORDS)
			fxt_frame_records_put(f, f->write, f->context);
	}
	/* What is written next may be of another provider. */
	if (f->write)
		fxt_frame_records_put(f, f->write, f->context);
	fxt_map_free(&m.strings);
	free(m.is_used);
	free(order);
}

void fxt_frame_part_free(struct fxt_frame_part *p)
{
	fxt_call_stacks_free(&p->stacks);
	fxt_map_free(&p->processes);
	fxt_map_free(&p->renumbered);
	*p = (struct fxt_frame_part){0};
}

bool fxt_frame_records_put(struct fxt_frame_records *f, fxt_frame_records_write *write, void *context)
{
	f->has_failed |= f->count && !write(context, f->words, f->count);
	f->count = 0;
	return !f->has_failed;
}

void fxt_frame_records_free(struct fxt_frame_records *f)
{
	fxt_frame_namer_end(f->namer);
	fxt_frame_names_close(f->names);
	fxt_perf_map_free(&f->made);
	free(f->words);
	*f = (struct fxt_frame_records){.wish = f->wish};
}
