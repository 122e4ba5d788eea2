/* Writes a CTF 1.8 trace of an FXT trace: what begins and ends it. See ctf.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "ctf.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/printing/print.h"

/* -- Items ------------------------------------------------------------------------------------------- */

enum { RANK_SHIFT = 60 };

void fxt_ctf_begin_item(struct fxt_ctf *c, uint32_t class, uint32_t thread)
{
	struct fxt_ctf_item item = {.class = class, .thread = thread};

	c->item.count = 0;
	fxt_ctf_put(&c->item, &item, sizeof(item));
}

void fxt_ctf_end_item(struct fxt_ctf *c, uint32_t stream, uint64_t at_ns, enum fxt_ctf_rank rank,
		      uint64_t tie)
{
	struct fxt_sorter_key key = {.time = at_ns,
				     .tie = (uint64_t)rank << RANK_SHIFT | tie,
				     .stream = stream,
				     .bytes = (uint32_t)c->item.count};

	fxt_sorter_add(&c->sorter, &key, c->item.data);
	c->item_count++;
}

uint32_t fxt_ctf_stream_of(struct fxt_ctf *c, uint32_t thread)
{
	uint64_t pid = c->reader->threads[thread].pid;
	struct fxt_slot *s;
	bool fresh;

	if ((pid == 0 && c->reader->threads[thread].tid == 0) || pid == FXT_KERNEL_PROVIDER_ID)
		return FXT_CTF_OWN_STREAM;
	s = fxt_map_put(&c->streams, pid, 0, &fresh);
	if (fresh)
		s->value[0] = 1 + (c->streams.used - 1) % (FXT_CTF_MOST_STREAMS - 1);
	return (uint32_t)s->value[0];
}

/* -- Begin and end ----------------------------------------------------------------------------------- */

/* Reading is the first half of the work, as far as that can be told. */
static void show_read(void *context, uint64_t at, uint64_t size)
{
	const struct fxt_ctf *c = context;

	fxt_export_progress(c->export, at, 2 * size);
}

/* Opens a file without a name in the directory that is being written. */
static FILE *open_spool(const char *directory)
{
	char *path = fxt_format("%s/.classes", directory);
	FILE *spool = fopen(path, "w+xe");

	if (spool)
		unlink(path);
	free(path);
	return spool;
}

static bool begin(struct fxt_ctf *c)
{
	const char *directory = c->export->directory;
	char *functions = fxt_format("%s/functions.map", directory);

	c->sorter.directory = directory;
	c->shapes = fxt_ctf_shapes_new();
	c->ust.path = fxt_format("%s/ust", directory);
	c->kernel.path = fxt_format("%s/kernel", directory);
	c->ust.classes.spool = open_spool(directory);
	c->kernel.classes.spool = open_spool(directory);
	c->functions = fopen(functions, "wxe");
	free(functions);
	if (!c->ust.classes.spool || !c->kernel.classes.spool || !c->functions ||
	    mkdir(c->ust.path, 0700) != 0)
		return false;
	fxt_ctf_lttng_declare(c);
	fxt_ctf_kernel_declare(c);
	return true;
}

/* The identities follow from the trace, so that converting it once more makes the same files. */
static void set_identities(struct fxt_ctf *c)
{
	const uint64_t seeds[] = {c->reader->size, c->first_ns, c->last_ns, c->clock.real_ns};
	unsigned char *const uuids[] = {c->ust.uuid, c->kernel.uuid, c->clock_uuid};
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (int i = 0; i < 3 * 16; i++) {
		for (size_t k = 0; k < sizeof(seeds); k++)
			hash = (hash ^ (seeds[k / 8] >> k % 8 * 8 & 0xff)) * UINT64_C(0x100000001b3);
		uuids[i / 16][i % 16] = (unsigned char)(hash >> 40);
	}
	/* They are made of random numbers, as far as readers can tell. */
	for (int i = 0; i < 3; i++) {
		uuids[i][6] = 0x40 | (uuids[i][6] & 0x0f);
		uuids[i][8] = 0x80 | (uuids[i][8] & 0x3f);
	}
}

/* A trace without any event has what is known of it at the time at which its clock was read. */
static void set_times(struct fxt_ctf *c)
{
	if (!c->has_times)
		c->first_ns = c->last_ns = 0;
}

static int write_directories(struct fxt_ctf *c)
{
	int error = 0;

	if (c->kernel.is_used && mkdir(c->kernel.path, 0700) != 0)
		return errno;
	error = fxt_ctf_write_streams(c);
	if (!error)
		error = fxt_ctf_write_metadata(c, &c->ust);
	if (!error && c->kernel.is_used)
		error = fxt_ctf_write_metadata(c, &c->kernel);
	return error;
}

static int close_functions(struct fxt_ctf *c)
{
	FILE *functions = c->functions;
	char *path;
	int error = ferror(functions) ? EIO : 0;

	c->functions = NULL;
	if (fclose(functions) != 0)
		error = errno;
	if (error || c->function_count)
		return error;
	path = fxt_format("%s/functions.map", c->export->directory);
	unlink(path);
	free(path);
	return 0;
}

static char *finish(struct fxt_ctf *c)
{
	int error;

	if (c->last_ns >= INT64_MAX)
		return fxt_strdup("it has times of 2^63 ns and more, which no reader of CTF takes");
	set_times(c);
	set_identities(c);
	fxt_overview_settle(&c->losses);
	fxt_ctf_nodes_finish(c);
	fxt_ctf_modules_finish(c);
	fxt_ctf_kernel_finish(c);
	error = write_directories(c);
	if (!error)
		error = close_functions(c);
	return error ? fxt_strdup(strerror(error)) : NULL;
}

static void free_all(struct fxt_ctf *c)
{
	if (c->functions)
		fclose(c->functions);
	fxt_ctf_classes_free(&c->ust.classes);
	fxt_ctf_classes_free(&c->kernel.classes);
	fxt_sorter_free(&c->sorter);
	fxt_ctf_shapes_free(c->shapes);
	fxt_ctf_nodes_free(c);
	fxt_overview_free(&c->losses);
	fxt_map_free(&c->streams);
	fxt_map_free(&c->begins);
	fxt_map_free(&c->provider_begins);
	fxt_map_free(&c->provider_processes);
	fxt_map_free(&c->thread_by_tid);
	fxt_map_free(&c->numbers);
	fxt_map_free(&c->functions_by_name);
	fxt_map_free(&c->loads);
	fxt_map_free(&c->ends);
	free(c->births);
	free(c->hostname);
	free(c->item.data);
	free(c->ust.path);
	free(c->kernel.path);
}

char *fxt_ctf_export(struct fxt_export *export)
{
	struct fxt_ctf c = {.export = export, .reader = export->reader};
	struct fxt_visitor visitor;
	char *wrong = NULL;

	if (!begin(&c)) {
		wrong = fxt_strdup(strerror(errno));
	} else {
		fxt_ctf_visitor(&c, &visitor);
		visitor.progress = show_read;
		wrong = !fxt_visit(c.reader, &visitor) ? fxt_strdup("damaged")
			: c.sorter.error	       ? fxt_strdup(strerror(c.sorter.error))
						       : finish(&c);
	}
	if (!wrong && c.discarded)
		export->note = fxt_format("%s event%s lost while it was recorded, and readers say when",
					  fxt_count(c.discarded).text, c.discarded == 1 ? " was" : "s were");
	free_all(&c);
	return wrong;
}
