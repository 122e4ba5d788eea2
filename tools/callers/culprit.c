/* Finds the culprits of call stacks. See culprit.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "culprit.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/demangle.h"
#include "tools/common/message.h"

/* -- Names ----------------------------------------------------------------------------------------- */

/* Bits of a function: it is skipped for a purpose; and it is so because of its file, whatever its name. */
enum {
	HEAP = 1 << FXT_FOR_HEAP,
	LOCK = 1 << FXT_FOR_LOCK,
	CALL = 1 << FXT_FOR_CALL,
	ALL = HEAP | LOCK | CALL
};
enum { ALWAYS = 1 << 7 };
/* Two more bits: the function is an engine's; and the program made it while it ran, and it has a name. */
enum { ENGINE_CODE = 1 << 6, MADE_CODE = 1 << 5 };

/* Which functions the glob of an entry is compared with. */
enum subject { FILE_NAME, FUNCTION, MADE };

struct entry {
	enum subject subject;
	unsigned bits;                  /* what the function is, if the glob fits */
	const char *glob;
};

static const struct entry entries[] = {
#define LIBRARY(glob) {FILE_NAME, ALL | ALWAYS, glob},
#define WRAPPER(what, glob) {FUNCTION, (what) | ((what) == ALL ? ALWAYS : 0), glob},
#define ENGINE(subject, glob) {subject, ENGINE_CODE, glob},
#include "wrapper_names.def"
#undef LIBRARY
#undef WRAPPER
#undef ENGINE
};
enum { ENTRIES = sizeof(entries) / sizeof(*entries) };

/* Returns the bits of the entries of a subject that fit a name. */
static unsigned bits_of(enum subject subject, const char *name)
{
	unsigned bits = 0;

	for (size_t i = 0; i < ENTRIES; i++)
		if (entries[i].subject == subject && (bits & entries[i].bits) != entries[i].bits &&
		    fnmatch(entries[i].glob, name, 0) == 0)
			bits |= entries[i].bits;
	return bits;
}

static bool is_users(const struct fxt_culprits *c, const char *text)
{
	for (size_t i = 0; i < c->more_count; i++)
		if (fnmatch(c->more[i], text, 0) == 0)
			return true;
	return false;
}

static unsigned kind_of_name(const struct fxt_culprits *c, const char *full, bool is_made)
{
	struct fxt_text text = fxt_text_of(full);
	char *name = fxt_shorten_demangled(&text, 0),
	     *with_arguments = fxt_shorten_demangled(&text, SIZE_MAX);
	unsigned bits = 0;

	/* A compiler calls a part or variant of a function `xmalloc.part.0`. */
	if (!strpbrk(full, ":( ") && strchr(full, '.') > full)
		name[strcspn(name, ".")] = '\0';
	if (is_users(c, full) || is_users(c, name) || is_users(c, with_arguments))
		bits = ALL;
	bits |= bits_of(FUNCTION, name);
	if (is_made)
		bits |= MADE_CODE | bits_of(MADE, with_arguments);
	free(with_arguments);
	free(name);
	return bits;
}

static unsigned kind_of_file(const struct fxt_culprits *c, const struct fxt_text *path)
{
	const char *slash = memrchr(path->text, '/', path->bytes);
	size_t folders = slash ? (size_t)(slash + 1 - path->text) : 0;
	char *file = fxt_format("%.*s", (int)(path->bytes - folders), path->text + folders);
	unsigned bits = is_users(c, file) ? ALL | ALWAYS : bits_of(FILE_NAME, file);

	free(file);
	return bits;
}

/* Returns whether this is the name of a function, and not what stands for code without a name. */
static bool is_name(const struct fxt_text *name)
{
	return name->bytes && !fxt_text_is(name, "[code in no file]") &&
	       !fxt_text_is(name, "[further callers]");
}

/* Returns the bits of a node's function. */
static unsigned kind_of(struct fxt_culprits *c, uint32_t frame)
{
	const struct fxt_call_frame *f = &c->stacks->frames[frame];
	struct fxt_slot *s;
	struct fxt_text text;
	bool fresh;
	char *name;

	/* The trace has no record of the node, or it is code in no file, which nobody can tell apart. */
	if (!f->name && !f->module)
		return f->offset ? 0 : ALL | ALWAYS;
	s = fxt_map_put(&c->kinds, f->name, f->module, &fresh);
	if (!fresh)
		return (unsigned)s->value[0];
	if (f->module) {
		text = fxt_symbol_text(c->r, f->module);
		s->value[0] = kind_of_file(c, &text);
	}
	if (f->name && !(s->value[0] & ALWAYS)) {
		text = fxt_symbol_text(c->r, f->name);
		name = fxt_demangle(&text);
		if (!name)
			name = fxt_format("%.*s", (int)text.bytes, text.text);
		s->value[0] |= kind_of_name(c, name, !f->module && is_name(&text));
		free(name);
	}
	return (unsigned)s->value[0];
}

/* Returns whether a function of this kind is skipped, where its caller's node is `caller`, which is settled.
 * An engine's code is skipped if it works for a function that the program made. */
static bool is_skipped(const struct fxt_culprits *c, enum fxt_purpose purpose, unsigned kind, uint32_t caller)
{
	return kind >> purpose & 1 ||
	       (kind & ENGINE_CODE && caller < c->count && c->paths[purpose].are_made[caller]);
}

bool fxt_is_wrapper(struct fxt_culprits *c, enum fxt_purpose purpose, uint32_t frame)
{
	fxt_path_of(c, purpose, frame);
	return is_skipped(c, purpose, kind_of(c, frame), c->stacks->frames[frame].parent);
}

bool fxt_is_wrapper_name(struct fxt_culprits *c, enum fxt_purpose purpose, uint32_t frame, const char *name)
{
	fxt_path_of(c, purpose, frame);
	return is_skipped(c, purpose, kind_of_name(c, name, false), c->stacks->frames[frame].parent);
}

/* -- Paths ----------------------------------------------------------------------------------------- */

/* Returns the entry of a node's function below `above`. Code without a name is told apart by its address, and
 * code in no file is one function. */
static struct fxt_slot *entry_of(struct fxt_map *m, const struct fxt_call_frame *f, uint64_t above,
				 bool *fresh)
{
	uint64_t nameless = UINT64_C(1) << 63 | (uint64_t)(f->module & INT32_MAX) << 32;

	if (f->name)
		return fxt_map_put(m, above, (uint64_t)f->module << 32 | f->name, fresh);
	return fxt_map_put(m, above | nameless, f->module ? f->offset : 0, fresh);
}

/* Returns the path of a node that is no wrapper, whose caller's path is known. */
static uint32_t path_below(struct fxt_culprits *c, struct fxt_call_paths *p, uint32_t caller, uint32_t frame)
{
	const struct fxt_call_frame *f = &c->stacks->frames[frame];
	struct fxt_slot *s;
	bool fresh;

	/* A function that calls itself is there once. */
	if (caller != FXT_NO_PATH && p->list[caller].name == f->name &&
	    p->list[caller].module == f->module && (f->name || !f->module))
		return caller;
	s = entry_of(&p->by_function, f, caller, &fresh);
	if (fresh) {
		s->value[0] = p->count;
		p->list = fxt_grow(p->list, &p->capacity, p->count + 1, sizeof(*p->list));
		p->list[p->count++] = (struct fxt_call_path){caller, frame, f->name, f->module};
	}
	return (uint32_t)s->value[0];
}

/* Returns whether the node is outermost and code in no file, which is what a stack looks like that begins in
 * the loader. */
static bool is_beginning(const struct fxt_culprits *c, const struct fxt_call_frame *f)
{
	struct fxt_text name = f->name ? fxt_symbol_text(c->r, f->name) : fxt_text_of("");

	return f->parent == FXT_NO_FRAME && !f->module &&
	       (!name.bytes || fxt_text_is(&name, "[code in no file]"));
}

/* Finds the path and the culprit of a node whose caller's are known. A stack of nothing but wrappers has the
 * outermost of those for a culprit that are known as such by their name alone: somebody has to be it. */
static void settle(struct fxt_culprits *c, enum fxt_purpose purpose, uint32_t frame)
{
	struct fxt_call_paths *p = &c->paths[purpose];
	uint32_t parent = c->stacks->frames[frame].parent;
	uint32_t caller = FXT_NO_PATH, culprit = FXT_NO_FRAME;
	unsigned kind = is_beginning(c, &c->stacks->frames[frame]) ? ALL | ALWAYS : kind_of(c, frame);
	bool is_made = parent < c->count && p->are_made[parent];

	if (parent < c->count && p->of_frames[parent] != FXT_NO_PATH) {
		caller = p->of_frames[parent] - 1;
		culprit = p->culprits[parent];
	}
	if (!is_skipped(c, purpose, kind, parent) || (caller == FXT_NO_PATH && !(kind & ALWAYS))) {
		caller = path_below(c, p, caller, frame);
		culprit = frame;
		is_made |= (kind & (MADE_CODE | ENGINE_CODE)) == MADE_CODE;
	}
	p->are_made[frame] = is_made;
	p->of_frames[frame] = caller == FXT_NO_PATH ? FXT_NO_PATH : caller + 1;
	p->culprits[frame] = culprit;
}

uint32_t fxt_path_of(struct fxt_culprits *c, enum fxt_purpose purpose, uint32_t innermost)
{
	struct fxt_call_paths *p = &c->paths[purpose];
	uint32_t at = innermost, *way = NULL;
	size_t count = 0, capacity = 0;

	/* A node that came to be known after the end has no record. */
	if (innermost >= c->count)
		return FXT_NO_PATH;
	for (; at < c->count && !p->of_frames[at]; at = c->stacks->frames[at].parent) {
		way = fxt_grow(way, &capacity, count + 1, sizeof(*way));
		way[count++] = at;
	}
	while (count-- > 0)
		settle(c, purpose, way[count]);
	free(way);
	return p->of_frames[innermost] == FXT_NO_PATH ? FXT_NO_PATH : p->of_frames[innermost] - 1;
}

uint32_t fxt_culprit_of(struct fxt_culprits *c, enum fxt_purpose purpose, uint32_t innermost)
{
	return fxt_path_of(c, purpose, innermost) == FXT_NO_PATH ? FXT_NO_FRAME
								 : c->paths[purpose].culprits[innermost];
}

uint32_t fxt_path_short(struct fxt_culprits *c, enum fxt_purpose purpose, uint32_t path)
{
	struct fxt_call_paths *p = &c->paths[purpose];
	uint64_t number = 0;
	bool fresh;

	for (unsigned i = 0; i <= FXT_SHOWN_CALLERS && path != FXT_NO_PATH; i++) {
		struct fxt_slot *s = entry_of(&p->shorts, &c->stacks->frames[p->list[path].frame], number,
					      &fresh);

		if (fresh)
			s->value[0] = p->shorts.used;
		number = s->value[0];
		path = p->list[path].caller;
	}
	return (uint32_t)number;
}

bool fxt_is_of_cxx_library(struct fxt_culprits *c, enum fxt_purpose purpose, uint32_t innermost)
{
	enum { EXAMINED = 64 };
	static const char name[] = "/libstdc++.so";

	if (innermost >= c->count || fxt_path_of(c, purpose, innermost) != FXT_NO_PATH)
		return false;
	for (unsigned i = 0; i < EXAMINED && innermost < c->count; i++) {
		const struct fxt_call_frame *f = &c->stacks->frames[innermost];
		struct fxt_text module = f->module ? fxt_symbol_text(c->r, f->module) : fxt_text_of("");

		if (module.bytes && memmem(module.text, module.bytes, name, sizeof(name) - 1))
			return true;
		innermost = f->parent;
	}
	return false;
}

/* -- Beginning and end ----------------------------------------------------------------------------- */

void fxt_culprits_begin(struct fxt_culprits *c, const struct fxt_call_stacks *stacks, struct fxt_reader *r,
			const char *more)
{
	*c = (struct fxt_culprits){.stacks = stacks, .r = r, .count = stacks->count};
	for (size_t i = 0; i < FXT_PURPOSES; i++) {
		c->paths[i].of_frames = fxt_alloc(c->count + 1, sizeof(uint32_t));
		c->paths[i].culprits = fxt_alloc(c->count + 1, sizeof(uint32_t));
		c->paths[i].are_made = fxt_alloc(c->count + 1, sizeof(bool));
	}
	while (more && *more) {
		size_t bytes = strcspn(more, ",");

		if (bytes) {
			c->more = fxt_grow(c->more, &c->more_capacity, c->more_count + 1, sizeof(char *));
			c->more[c->more_count++] = fxt_format("%.*s", (int)bytes, more);
		}
		more += bytes + (more[bytes] == ',');
	}
}

void fxt_culprits_free(struct fxt_culprits *c)
{
	for (size_t i = 0; i < FXT_PURPOSES; i++) {
		free(c->paths[i].list);
		free(c->paths[i].of_frames);
		free(c->paths[i].culprits);
		free(c->paths[i].are_made);
		fxt_map_free(&c->paths[i].by_function);
		fxt_map_free(&c->paths[i].shorts);
	}
	for (size_t i = 0; i < c->more_count; i++)
		free(c->more[i]);
	free(c->more);
	fxt_map_free(&c->kinds);
	*c = (struct fxt_culprits){0};
}
