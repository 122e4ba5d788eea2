/* Adds the events in which LTTng tells of the files that a program has mapped, so that addresses in contexts
 * get names and lines: what it began with in a dump of its state, and what it has asked to load when it did
 * that. See ctf.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "ctf.h"
#include "tools/programs/elf_mapped.h"

/* When, by whom and in which of LTTng's events a file is told of. */
struct telling {
	uint32_t thread;
	uint64_t at_ns;
	enum fxt_ctf_lttng info, build_id, debug_link;
	enum fxt_ctf_rank rank;
	uint64_t tie; /* of the first event */
};

/* The dump begins with an event of its own and ends with one, behind those of all files. */
enum { TIE_START, TIE_INFO, TIE_BUILD_ID, TIE_DEBUG_LINK, TIE_END };

/* Returns the symbol of a file's name without its directory. */
static uint32_t name_of(struct fxt_ctf *c, const struct fxt_text *path)
{
	struct fxt_text name = *path;

	for (uint32_t i = 0; i < path->bytes; i++) {
		if (path->text[i] == '/')
			name = (struct fxt_text){.text = path->text + i + 1, .bytes = path->bytes - i - 1};
	}
	return fxt_symbol(c->reader, &name);
}

void fxt_ctf_modules_load(struct fxt_ctf *c, const struct fxt_visit *v)
{
	const struct fxt_text *path;
	struct fxt_slot *s;
	bool fresh;

	if (!fxt_text_is(&v->rec->category, "dl") ||
	    (!fxt_text_is(&v->rec->name, "dlopen") && !fxt_text_is(&v->rec->name, "dlmopen")))
		return;
	path = fxt_argument_text(v->rec, "filename");
	if (!path || !path->bytes)
		return;
	s = fxt_map_put(&c->loads, v->rec->provider->index, name_of(c, path), &fresh);
	if (fresh || v->at_ns < s->value[0]) {
		s->value[0] = v->at_ns;
		s->value[1] = v->rec->thread;
	}
}

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_build_id(const char *text)
{
	size_t n = text ? strlen(text) : 0;

	for (size_t i = 0; i < n; i++) {
		if (hex(text[i]) < 0)
			return false;
	}
	return n && n % 2 == 0;
}

static void end_item(struct fxt_ctf *c, const struct telling *t, uint64_t tie)
{
	fxt_ctf_end_item(c, fxt_ctf_stream_of(c, t->thread), t->at_ns, t->rank, t->tie + tie);
}

static void add_module(struct fxt_ctf *c, const struct fxt_ctf_module *m, const struct telling *t)
{
	bool has_id = is_build_id(m->build_id), is_dump = t->info == FXT_CTF_BIN_INFO;
	struct fxt_text path = fxt_text_of(*m->path ? m->path : "?"), link;
	struct fxt_elf_mapped file;

	/* Without the file, it is at least as long as to its last function that is known. */
	if (!fxt_elf_mapped_read(m->path, has_id ? m->build_id : NULL, &file))
		file = (struct fxt_elf_mapped){.bytes = (m->last | 4095) + 1, .is_pic = true};
	fxt_ctf_begin_item(c, c->lttng[t->info], t->thread);
	fxt_ctf_put_u64(&c->item, m->base + file.low);
	fxt_ctf_put_u64(&c->item, file.bytes);
	fxt_ctf_put_string(&c->item, &path);
	if (is_dump)
		fxt_ctf_put_u8(&c->item, file.is_pic);
	fxt_ctf_put_u8(&c->item, has_id);
	fxt_ctf_put_u8(&c->item, *file.link != '\0');
	end_item(c, t, TIE_INFO);
	if (has_id) {
		fxt_ctf_begin_item(c, c->lttng[t->build_id], t->thread);
		fxt_ctf_put_u64(&c->item, m->base + file.low);
		fxt_ctf_put_u32(&c->item, (uint32_t)strlen(m->build_id) / 2);
		for (const char *at = m->build_id; *at; at += 2)
			fxt_ctf_put_u8(&c->item, (unsigned)(hex(at[0]) << 4 | hex(at[1])));
		end_item(c, t, TIE_BUILD_ID);
	}
	if (!*file.link)
		return;
	link = fxt_text_of(file.link);
	fxt_ctf_begin_item(c, c->lttng[t->debug_link], t->thread);
	fxt_ctf_put_u64(&c->item, m->base + file.low);
	fxt_ctf_put_u32(&c->item, file.link_crc);
	fxt_ctf_put_string(&c->item, &link);
	end_item(c, t, TIE_DEBUG_LINK);
}

/* Adds a file in the dump, or where the program has first asked to load it, if no stack was in it before. */
static void tell(struct fxt_ctf *c, const struct fxt_ctf_module *m, const struct telling *dump)
{
	struct fxt_text path = fxt_text_of(m->path);
	const struct fxt_slot *load = fxt_map_find(&c->loads, m->provider->index, name_of(c, &path));
	struct telling t = {
		.info = FXT_CTF_LIB_LOAD,
		.build_id = FXT_CTF_LIB_BUILD_ID,
		.debug_link = FXT_CTF_LIB_DEBUG_LINK,
		.rank = FXT_CTF_AT,
	};

	if (!load || load->value[0] > m->first_ns || m->first_ns == UINT64_MAX) {
		add_module(c, m, dump);
		return;
	}
	/* Behind the event that asks. */
	t.at_ns = load->value[0];
	t.thread = (uint32_t)load->value[1];
	t.tie = c->reader->size;
	add_module(c, m, &t);
}

void fxt_ctf_modules_finish(struct fxt_ctf *c)
{
	for (const struct fxt_slot *s = fxt_map_next(&c->provider_begins, NULL); s;
	     s = fxt_map_next(&c->provider_begins, s)) {
		uint64_t pid = c->reader->threads[s->value[1]].pid;
		struct telling t = {
			.thread = fxt_thread_of(c->reader, pid, pid),
			.at_ns = s->value[0],
			.info = FXT_CTF_BIN_INFO,
			.build_id = FXT_CTF_BUILD_ID,
			.debug_link = FXT_CTF_DEBUG_LINK,
			.rank = FXT_CTF_ENDS_WITHIN,
		};

		fxt_ctf_begin_item(c, c->lttng[FXT_CTF_STATEDUMP_START], t.thread);
		end_item(c, &t, TIE_START);
		for (size_t i = 0; i < c->module_count; i++) {
			if (c->modules[i].path && c->modules[i].provider->index == s->a)
				tell(c, &c->modules[i], &t);
		}
		fxt_ctf_begin_item(c, c->lttng[FXT_CTF_STATEDUMP_END], t.thread);
		end_item(c, &t, TIE_END);
	}
}
