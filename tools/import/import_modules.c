/* See import_modules.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "import_modules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "import_out.h"
#include "tools/common/hash.h"
#include "tools/common/message.h"
#include "tools/programs/code_file.h"

enum { BUILD_ID_BYTES = 64 };

struct fxt_import_module {
	uint64_t base, bytes;
	bool is_pic;
	char *path;
	char build_id[2 * BUILD_ID_BYTES + 1];
};

/* Many programs load the same files, so each is opened once. */
struct code {
	struct fxt_code_file *file;     /* NULL: it is not here */
	char *key;                      /* the build id, and the path */
	UT_hash_handle hh;
};

/* A name, once for all programs and addresses. Names are not moved. */
struct name {
	char *text;
	UT_hash_handle hh;
};

static struct code *codes;
static struct name *names;
static time_t latest;

void fxt_import_modules_begin(time_t not_after)
{
	latest = not_after;
}

static struct fxt_import_module *module_at(const struct fxt_import_program *p, uint64_t base)
{
	for (size_t i = 0; i < p->module_count; i++) {
		if (p->modules[i].base == base)
			return &p->modules[i];
	}
	return NULL;
}

void fxt_import_module_load(struct fxt_import_program *p, uint64_t base, uint64_t bytes, const char *path,
			    bool is_pic)
{
	const struct fxt_import_module *before = module_at(p, base);

	/* A statedump that is repeated tells the same again. */
	if (before && before->bytes == bytes && strcmp(before->path, path) == 0)
		return;
	fxt_import_module_unload(p, base);
	p->modules = fxt_grow(p->modules, &p->module_capacity, p->module_count + 1, sizeof(*p->modules));
	p->modules[p->module_count++] = (struct fxt_import_module){
		.base = base, .bytes = bytes, .is_pic = is_pic, .path = fxt_strdup(path)};
}

void fxt_import_module_build_id(struct fxt_import_program *p, uint64_t base, const uint8_t *id,
				uint64_t bytes)
{
	struct fxt_import_module *m = module_at(p, base);

	if (!m || bytes > BUILD_ID_BYTES)
		return;
	for (uint64_t i = 0; i < bytes; i++)
		snprintf(m->build_id + 2 * i, 3, "%02x", id[i]);
}

void fxt_import_module_unload(struct fxt_import_program *p, uint64_t base)
{
	struct fxt_import_module *m = module_at(p, base);

	if (!m)
		return;
	free(m->path);
	*m = p->modules[--p->module_count];
	fxt_map_free(&p->functions);
	p->functions = (struct fxt_map){0};
}

void fxt_import_modules_forget(struct fxt_import_program *p)
{
	for (size_t i = 0; i < p->module_count; i++)
		free(p->modules[i].path);
	p->module_count = 0;
	fxt_map_free(&p->functions);
	p->functions = (struct fxt_map){0};
}

/* Returns the file of the module; NULL: it is not here, or is another one. */
static struct fxt_code_file *file_of(const struct fxt_import_module *m)
{
	const struct fxt_code_wish wish = {.path = m->path, .build_id = m->build_id, .not_after = latest};
	char *key = fxt_format("%s %s", m->build_id, m->path);
	struct code *c;

	HASH_FIND_STR(codes, key, c);
	if (c) {
		free(key);
		return c->file;
	}
	c = fxt_alloc(1, sizeof(*c));
	c->key = key;
	c->file = fxt_code_file_open(&wish);
	HASH_ADD_KEYPTR(hh, codes, c->key, strlen(c->key), c);
	return c->file;
}

/* Returns the one copy of a name, and frees the text. */
static const struct name *keep(char *text)
{
	struct name *n;

	HASH_FIND_STR(names, text, n);
	if (n) {
		free(text);
		return n;
	}
	n = fxt_alloc(1, sizeof(*n));
	n->text = text;
	HASH_ADD_KEYPTR(hh, names, n->text, strlen(n->text), n);
	return n;
}

static char *find(const struct fxt_import_program *p, uint64_t address)
{
	for (size_t i = 0; i < p->module_count; i++) {
		const struct fxt_import_module *m = &p->modules[i];
		const char *base = strrchr(m->path, '/'), *symbol;
		struct fxt_code_file *file;
		uint64_t start;

		if (address < m->base || address - m->base >= m->bytes)
			continue;
		file = file_of(m);
		symbol = file ? fxt_code_file_function(file, m->is_pic ? address - m->base : address, &start)
			      : NULL;
		return symbol ? fxt_code_name(symbol)
			      : fxt_format("%s+0x%" PRIx64, base ? base + 1 : m->path, address - m->base);
	}
	return NULL;
}

const char *fxt_import_function(struct fxt_import_program *p, uint64_t address)
{
	struct fxt_slot *s = fxt_map_find(&p->functions, address, 0);
	bool fresh;
	char *text;

	if (s)
		return ((const struct name *)(uintptr_t)s->value[0])->text;
	text = find(p, address);
	/* The trace may still tell what is loaded there. */
	if (!text)
		return keep(fxt_format("0x%" PRIx64, address))->text;
	s = fxt_map_put(&p->functions, address, 0, &fresh);
	s->value[0] = (uintptr_t)keep(text);
	return ((const struct name *)(uintptr_t)s->value[0])->text;
}

void fxt_import_modules_end(void)
{
	struct code *c = codes, *next_code;
	struct name *n = names, *next_name;

	HASH_CLEAR(hh, codes);
	for (; c; c = next_code) {
		next_code = c->hh.next;
		if (c->file)
			fxt_code_file_close(c->file);
		free(c->key);
		free(c);
	}
	HASH_CLEAR(hh, names);
	for (; n; n = next_name) {
		next_name = n->hh.next;
		free(n->text);
		free(n);
	}
}
