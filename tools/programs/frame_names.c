/* Names frames. See frame_names.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "frame_names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "debug_dirs.h"
#include "tools/common/hash.h"
#include "tools/common/message.h"

/* A file that is opened when something is first asked of it, and tried once. */
struct file {
	char *key;                      /* its path, and behind a NUL its build id */
	const char *path, *build_id;
	uint32_t path_bytes, id_bytes;
	struct fxt_code_file *code;     /* NULL: nothing is known of it */
	/* offset -> the name to show; and whether it is that of a function */
	struct fxt_map functions;
	struct fxt_map places;          /* offset -> fxt_frame_place */
	UT_hash_handle hh;
};

struct fxt_frame_names {
	struct file *files;
	struct file *latest;            /* the one that was asked for last, or NULL */
	time_t not_after;
};

struct fxt_frame_names *fxt_frame_names_open(time_t not_after)
{
	struct fxt_frame_names *n = fxt_alloc(1, sizeof(*n));

	n->not_after = not_after;
	/* This may change the environment, which another thread that looks up names must not do. */
	fxt_debug_dirs_may_ask();
	return n;
}

struct fxt_frame_at fxt_frame_at(const struct fxt_reader *r, const struct fxt_call_frame *frame)
{
	struct fxt_frame_at at = {.path.text = "", .build_id.text = "", .offset = frame->offset};

	if (frame->module)
		at.path = fxt_symbol_text(r, frame->module);
	if (frame->build_id)
		at.build_id = fxt_symbol_text(r, frame->build_id);
	return at;
}

/* Returns how many bytes of the text come before a NUL. */
static int bytes_of(const struct fxt_text *text)
{
	return (int)strnlen(text->text, text->bytes);
}

static bool is_of(const struct file *file, const struct fxt_frame_at *at)
{
	return file->path_bytes == at->path.bytes && file->id_bytes == at->build_id.bytes &&
	       memcmp(file->path, at->path.text, file->path_bytes) == 0 &&
	       memcmp(file->build_id, at->build_id.text, file->id_bytes) == 0;
}

static struct file *find_file(struct fxt_frame_names *n, const struct fxt_frame_at *at)
{
	int path_bytes = bytes_of(&at->path), id_bytes = bytes_of(&at->build_id);
	unsigned key_bytes = (unsigned)path_bytes + 1 + (unsigned)id_bytes;
	char *key = fxt_alloc(1, key_bytes + 1);
	struct fxt_code_wish wish;
	struct file *file;

	memcpy(key, at->path.text, (size_t)path_bytes);
	memcpy(key + path_bytes + 1, at->build_id.text, (size_t)id_bytes);
	HASH_FIND(hh, n->files, key, key_bytes, file);
	if (file) {
		free(key);
		return file;
	}
	file = fxt_alloc(1, sizeof(*file));
	file->key = key;
	file->path = key;
	file->build_id = key + path_bytes + 1;
	file->path_bytes = (uint32_t)path_bytes;
	file->id_bytes = (uint32_t)id_bytes;
	wish = (struct fxt_code_wish){
		.path = file->path, .build_id = file->build_id, .not_after = n->not_after};
	/* What is no path of a file is the kernel's name of a mapping, such as [vdso]. */
	if (*file->path == '/')
		file->code = fxt_code_file_open(&wish);
	HASH_ADD_KEYPTR(hh, n->files, file->key, key_bytes, file);
	return file;
}

/* Returns the file of the address. Frames of one file often come one after the other. */
static struct file *file_of(struct fxt_frame_names *n, const struct fxt_frame_at *at)
{
	if (!n->latest || !is_of(n->latest, at))
		n->latest = find_file(n, at);
	return n->latest;
}

static char *name_without_symbol(const struct file *file, uint64_t offset)
{
	const char *slash = strrchr(file->path, '/');

	/* The agent has such a node where it could not follow a stack. */
	if (!*file->path)
		return fxt_strdup(offset ? "[code in no file]" : "[further callers]");
	return fxt_format("%s+0x%" PRIx64, slash && slash[1] ? slash + 1 : file->path, offset);
}

/* Returns the slot of the function's name in the file. Its second value says whether it is a function's. */
static const struct fxt_slot *function_of(struct file *file, uint64_t offset)
{
	bool fresh;
	struct fxt_slot *slot = fxt_map_put(&file->functions, offset, 0, &fresh);
	const char *symbol;
	uint64_t start;

	if (!fresh)
		return slot;
	symbol = file->code ? fxt_code_file_function(file->code, offset, &start) : NULL;
	slot->value[0] =
		(uintptr_t)(symbol ? fxt_code_name(symbol) : name_without_symbol(file, offset));
	slot->value[1] = symbol != NULL;
	return slot;
}

const char *fxt_frame_function(struct fxt_frame_names *n, const struct fxt_frame_at *at)
{
	return (const char *)(uintptr_t)function_of(file_of(n, at), at->offset)->value[0];
}

bool fxt_frame_is_nameless(const struct fxt_reader *r, const struct fxt_call_frame *frame)
{
	struct fxt_text name, path;
	char *of_address;
	bool is_same;
	size_t base;

	if (!frame->name || !frame->module)
		return !frame->name;
	name = fxt_symbol_text(r, frame->name);
	path = fxt_symbol_text(r, frame->module);
	for (base = path.bytes; base && path.text[base - 1] != '/'; base--)
		;
	if (name.bytes <= path.bytes - base || memcmp(name.text, path.text + base, path.bytes - base) != 0)
		return false;
	of_address = fxt_format("+0x%" PRIx64, frame->offset);
	is_same = name.bytes - (path.bytes - base) == strlen(of_address) &&
		  memcmp(name.text + path.bytes - base, of_address, strlen(of_address)) == 0;
	free(of_address);
	return is_same;
}

void fxt_frame_names_complete(struct fxt_frame_names *n, struct fxt_call_stacks *stacks,
			      struct fxt_reader *r)
{
	for (size_t i = 0; n && i < stacks->count; i++) {
		struct fxt_call_frame *frame = &stacks->frames[i];
		struct fxt_frame_at at;
		struct fxt_text name;

		if (!fxt_frame_is_nameless(r, frame))
			continue;
		if (!stacks->is_finished)
			fxt_call_stacks_find_module(stacks, (uint32_t)i);
		at = fxt_frame_at(r, frame);
		name = fxt_text_of(fxt_frame_function(n, &at));
		frame->name = fxt_symbol(r, &name);
	}
}

static struct fxt_frame_place *find_place(struct file *file, uint64_t offset)
{
	struct fxt_frame_place *place = fxt_alloc(1, sizeof(*place));
	const struct fxt_slot *function = function_of(file, offset);
	struct fxt_code_level levels[FXT_CODE_LEVELS] = {{.line = 0}}, *last;

	place->count = file->code ? fxt_code_file_levels(file->code, offset, levels) : 1;
	place->levels = fxt_alloc(place->count, sizeof(*levels));
	memcpy(place->levels, levels, place->count * sizeof(*levels));
	last = &place->levels[place->count - 1];
	place->is_known = function->value[1] || last->function;
	/* The symbol is the name that the trace has, also where the debug information has another one. */
	if (function->value[1] || !last->function) {
		free(last->function);
		last->function = fxt_strdup((const char *)(uintptr_t)function->value[0]);
	}
	return place;
}

const struct fxt_frame_place *fxt_frame_place(struct fxt_frame_names *n, const struct fxt_frame_at *at)
{
	struct file *file = file_of(n, at);
	bool fresh;
	struct fxt_slot *slot = fxt_map_put(&file->places, at->offset, 0, &fresh);

	if (fresh)
		slot->value[0] = (uintptr_t)find_place(file, at->offset);
	return (const struct fxt_frame_place *)(uintptr_t)slot->value[0];
}

bool fxt_frame_has_own_lines(struct fxt_frame_names *n, const struct fxt_frame_at *at)
{
	const struct file *file = file_of(n, at);

	return file->code && fxt_code_file_has_own_lines(file->code);
}

static void free_place(struct fxt_frame_place *place)
{
	for (size_t i = 0; i < place->count; i++) {
		free(place->levels[i].function);
		free(place->levels[i].file);
	}
	free(place->levels);
	free(place);
}

static void free_file(struct file *file)
{
	for (const struct fxt_slot *s = fxt_map_next(&file->functions, NULL); s;
	     s = fxt_map_next(&file->functions, s))
		free((void *)(uintptr_t)s->value[0]);
	for (const struct fxt_slot *s = fxt_map_next(&file->places, NULL); s;
	     s = fxt_map_next(&file->places, s))
		free_place((struct fxt_frame_place *)(uintptr_t)s->value[0]);
	fxt_map_free(&file->functions);
	fxt_map_free(&file->places);
	fxt_code_file_close(file->code);
	free(file->key);
	free(file);
}

void fxt_frame_names_close(struct fxt_frame_names *n)
{
	struct file *file = n ? n->files : NULL, *next;

	if (n)
		HASH_CLEAR(hh, n->files);
	for (; file; file = next) {
		next = file->hh.next;
		free_file(file);
	}
	free(n);
}
