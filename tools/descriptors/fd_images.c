/* Knows which descriptors each program of a run began with. See fd_images.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "fd_images.h"

#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"

/* The descriptors with which a child of posix_spawn() or system() begins. */
enum start {
	START_EXECUTED,                 /* its parent's, without those that close on exec */
	START_UNKNOWN,                  /* not known: posix_spawn() was told what to do with them */
};

/* Returns the table that is a map's value; 0 means none. */
static struct fxt_fd_pages *table_in(const struct fxt_slot *s)
{
	return s ? (struct fxt_fd_pages *)(uintptr_t)s->value[0] : NULL;
}

/* Puts the table into the map, which owns the reference from now on. */
static void keep(struct fxt_map *m, uint64_t a, uint64_t b, struct fxt_fd_pages *pages)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(m, a, b, &fresh);

	fxt_fd_pages_release(table_in(s));
	s->value[0] = (uintptr_t)pages;
}

/* Takes a table and its reference out of the map; NULL: there is none. */
static struct fxt_fd_pages *take_out(struct fxt_map *m, uint64_t a, uint64_t b)
{
	struct fxt_slot *s = fxt_map_find(m, a, b);
	struct fxt_fd_pages *pages = table_in(s);

	if (s)
		fxt_map_remove(m, s);
	return pages;
}

/* -- Programs -------------------------------------------------------------------------------------- */

static struct fxt_fd_image *image_of(struct fxt_fd_images *images, const struct fxt_provider *p)
{
	images->list =
		fxt_reach(images->list, &images->capacity, &images->count, p->index, sizeof(*images->list));
	return &images->list[p->index];
}

/* Returns a new table, in which it is only known that standard input, output and error refer to
 * something, which children will share. */
static struct fxt_fd_pages *new_table(struct fxt_fd_images *images)
{
	struct fxt_fd_pages *pages = fxt_fd_pages_make();

	for (uint64_t number = 0; number < FXT_FD_STANDARD; number++) {
		uint32_t description = fxt_fd_modes_open(&images->modes, FXT_FD_MODE_UNKNOWN, false);

		fxt_fd_pages_set(&pages, number, (struct fxt_fd_meaning){.description = description});
	}
	return pages;
}

/* Returns the table of a program whose first event was seen: it was forked, or its process executed it. */
static struct fxt_fd_pages *inherited(struct fxt_fd_images *images, uint64_t pid)
{
	struct fxt_fd_pages *pages = take_out(&images->born, pid, 0);
	const struct fxt_slot *before = pages ? NULL : fxt_map_find(&images->last, pid, 0);

	if (pages)
		return pages;
	if (!before)
		return new_table(images);
	pages = fxt_fd_pages_share(images->list[before->value[0]].pages);
	fxt_fd_pages_execute(&pages);
	return pages;
}

struct fxt_fd_pages **fxt_fd_images_of(struct fxt_fd_images *images, const struct fxt_reader *r,
				       const struct fxt_record *rec)
{
	struct fxt_fd_image *image = image_of(images, rec->provider);
	uint64_t pid = r->threads[rec->thread].pid;
	struct fxt_slot *vforked = fxt_map_find(&images->vforked, rec->thread, 0);
	bool fresh;

	/* The child of a vfork is in the trace of its parent. */
	if (vforked && vforked->value[1] == rec->provider->index)
		return (struct fxt_fd_pages **)(void *)&vforked->value[0];
	if (!image->pages)
		image->pages = inherited(images, pid);
	fxt_map_put(&images->last, pid, 0, &fresh)->value[0] = rec->provider->index;
	return &image->pages;
}

/* -- Children -------------------------------------------------------------------------------------- */

static bool is_execution(const struct fxt_text *name)
{
	return (name->bytes >= 4 && memcmp(name->text, "exec", 4) == 0) || fxt_text_is(name, "fexecve");
}

/* Returns whether the call makes a child and is told of when it is over. The child's lifetime begins
 * within the call. */
static bool is_maker(const struct fxt_text *name)
{
	return fxt_text_is(name, "posix_spawn") || fxt_text_is(name, "posix_spawnp") ||
	       fxt_text_is(name, "system");
}

static bool is_child(const struct fxt_record *rec)
{
	return rec->subtype == FXT_EVENT_ASYNC_BEGIN && fxt_text_is(&rec->name, "child");
}

/* Returns whether the record is the slice in the thread that made a child, which the child has written. The
 * slice begins when the child's lifetime does. */
static bool is_arrow(const struct fxt_record *rec)
{
	return rec->subtype == FXT_EVENT_DURATION_COMPLETE && fxt_text_is(&rec->category, "agent") &&
	       fxt_text_is(&rec->name, "released");
}

/* Returns whether the record is of the arrow to a program's first moment. A program that was executed writes
 * that arrow before all others, which are many and tell nothing here. */
static bool want_arrow(struct fxt_fd_images *images, const struct fxt_record *rec)
{
	struct fxt_fd_image *image = image_of(images, rec->provider);

	if (!image->arrow)
		image->arrow = rec->offset + 1;
	return image->arrow == rec->offset + 1;
}

bool fxt_fd_images_want(struct fxt_fd_images *images, const struct fxt_record *rec, uint64_t *key_ns)
{
	*key_ns = fxt_ns(rec->provider, rec->ticks);
	if (is_arrow(rec)) {
		/* The arrow counts at its end, because the child's lifetime begins with it. */
		*key_ns = fxt_ns(rec->provider, rec->extra);
		return want_arrow(images, rec);
	}
	if (!fxt_text_is(&rec->category, "process"))
		return false;
	if (rec->subtype != FXT_EVENT_DURATION_COMPLETE)
		return is_child(rec) ||
		       (rec->subtype == FXT_EVENT_INSTANT &&
			(fxt_text_is(&rec->name, "vfork") || fxt_text_is(&rec->name, "_exit")));
	if (!is_execution(&rec->name))
		return is_maker(&rec->name);
	/* An exec that succeeds is written before it happens. In the child of a vfork that is after the
	 * child's lifetime began. */
	*key_ns = fxt_ns(rec->provider, rec->extra);
	return !fxt_argument(rec, "errno");
}

static void begin_vfork(struct fxt_fd_images *images, const struct fxt_reader *r,
			const struct fxt_record *rec)
{
	struct fxt_fd_pages *pages = fxt_fd_pages_share(*fxt_fd_images_of(images, r, rec));
	bool fresh;

	keep(&images->vforked, rec->thread, 0, pages);
	fxt_map_put(&images->vforked, rec->thread, 0, &fresh)->value[1] = rec->provider->index;
}

/* Returns the first half of the key in `born` of a child whose pid is not known. The child is identified by
 * the thread that made it and by the time, which its arrow has. */
static uint64_t hidden_child_key(const struct fxt_record *rec)
{
	return (uint64_t)rec->thread << 32 | 1;
}

static void begin_child(struct fxt_fd_images *images, const struct fxt_reader *r,
			const struct fxt_record *rec)
{
	enum { PIPE_OF_POPEN = 2 };     /* the pipe of popen() is one of the numbers below this */
	struct fxt_fd_pages *pages = fxt_fd_pages_share(*fxt_fd_images_of(images, r, rec));
	const struct fxt_slot *maker = fxt_map_find(&images->makers, rec->thread, 0);
	uint64_t at_ns = fxt_ns(rec->provider, rec->ticks), pid = 0;
	bool is_made = maker && at_ns <= maker->value[0];
	bool is_hidden = !fxt_argument_u64(fxt_argument(rec, "pid"), &pid);

	if (is_made && maker->value[1] == START_UNKNOWN) {
		fxt_fd_pages_release(pages);
		pages = new_table(images);
	} else if (is_made || is_hidden || fxt_map_find(&images->vforked, rec->thread, 0)) {
		fxt_fd_pages_execute(&pages);
	}
	for (uint64_t number = 0; is_hidden && !is_made && number < PIPE_OF_POPEN; number++)
		fxt_fd_pages_set(&pages, number, (struct fxt_fd_meaning){0});
	if (is_hidden)
		keep(&images->born, hidden_child_key(rec), at_ns, pages);
	else
		keep(&images->born, fxt_process_at(r, pid, at_ns), 0, pages);
}

/* Takes a call that makes a child. The keys see to it that it comes before its child begins. */
static void begin_making(struct fxt_fd_images *images, const struct fxt_record *rec)
{
	uint64_t actions = 0;
	bool fresh;
	struct fxt_slot *maker = fxt_map_put(&images->makers, rec->thread, 0, &fresh);

	fxt_argument_u64(fxt_argument(rec, "file_actions"), &actions);
	maker->value[0] = fxt_ns(rec->provider, rec->extra);
	maker->value[1] = actions ? START_UNKNOWN : START_EXECUTED;
}

static void end_arrow(struct fxt_fd_images *images, const struct fxt_record *rec)
{
	struct fxt_fd_image *image = image_of(images, rec->provider);

	if (!image->pages)
		image->pages = take_out(&images->born, hidden_child_key(rec),
					fxt_ns(rec->provider, rec->ticks));
}

void fxt_fd_images_take(struct fxt_fd_images *images, const struct fxt_reader *r,
			const struct fxt_record *rec)
{
	if (is_arrow(rec)) {
		end_arrow(images, rec);
	} else if (is_child(rec)) {
		begin_child(images, r, rec);
	} else if (is_maker(&rec->name)) {
		begin_making(images, rec);
	} else if (fxt_text_is(&rec->name, "vfork")) {
		begin_vfork(images, r, rec);
	} else {
		/* The child of the vfork has executed a program or is over, so its table goes. */
		fxt_fd_images_of(images, r, rec);
		fxt_fd_pages_release(take_out(&images->vforked, rec->thread, 0));
	}
}

static void free_tables(struct fxt_map *m)
{
	for (struct fxt_slot *s = fxt_map_next(m, NULL); s; s = fxt_map_next(m, s))
		fxt_fd_pages_release(table_in(s));
	fxt_map_free(m);
}

void fxt_fd_images_free(struct fxt_fd_images *images)
{
	for (size_t i = 0; i < images->count; i++)
		fxt_fd_pages_release(images->list[i].pages);
	free(images->list);
	free_tables(&images->born);
	free_tables(&images->vforked);
	fxt_map_free(&images->last);
	fxt_map_free(&images->makers);
	fxt_fd_modes_free(&images->modes);
	*images = (struct fxt_fd_images){0};
}
