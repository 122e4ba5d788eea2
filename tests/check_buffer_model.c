/* This compares the buffer of a trace file with a model of it (writer/buffer.h). Chunks are taken, filled,
 * emptied and finished, pages are taken and given back, and records are retracted, in a random order. The
 * file, and each snapshot, has to have the events that the model has, and no others; at the end the file is
 * rewritten, and has the strings that these events refer to. FXT_SEED names the choices. */
#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>

#include "apps/random.h"
#include "buffer_fixture.h"
#include "suite.h"
#include "writer/forbidden.h"

enum { EVENTS_MOST = 60000, HELD_MOST = 12, PAGES_MOST = 200, CHUNKS_MOST = 1024, NAMES = 60 };
/* An event has two words, a process and a thread, and three arguments of two words at most. */
enum { WORDS_MOST = 4 + 3 * 2, STEPS = 400 };

/* The assertions of Check write something each time. */
#define EXPECT(what, ...)                          \
	do {                                       \
		if (!(what))                       \
			ck_abort_msg(__VA_ARGS__); \
	} while (0)

/* -- The model ------------------------------------------------------------------------------------- */

static struct event {
	uint32_t number, at;            /* its chunk, and its first word there */
	uint64_t record[WORDS_MOST];
	unsigned words;
	bool is_there;
	bool is_gone;                   /* with its chunk, in whose memory it may still stand */
} events[EVENTS_MOST];
static unsigned event_count;

static struct held {
	struct fxt_chunk chunk;
	struct fxt_lane lane;
} held[HELD_MOST];
static unsigned held_count;

static struct page {
	uint64_t *at;
	uint32_t words;
	struct event *call;             /* the call in progress that stands there, or NULL */
} pages[PAGES_MOST];
static unsigned page_count;

static uint32_t next_chunk, page_chunks, events_in[CHUNKS_MOST];
static uint32_t order[1 << 16];         /* a ring's chunks, as they were finished */
static unsigned order_begin, order_end;
static unsigned names;                  /* strings 1 to so many are defined */

static void forget_model(void)
{
	event_count = held_count = page_count = order_begin = order_end = 0;
	next_chunk = page_chunks = 0;
	names = STRINGS;
	memset(events_in, 0, sizeof(events_in));
}

/* The events of this chunk are there no more. */
static void lose_events(uint32_t number)
{
	unsigned i;

	for (i = 0; i < event_count; i++)
		if (events[i].number == number)
			events[i].is_there = false, events[i].is_gone = true;
}

/* Returns whether the buffer can hand out a chunk. */
static bool has_chunk(void)
{
	return next_chunk < buffer.limit || (buffer.mode == FXT_CIRCULAR && order_begin < order_end);
}

/* Looks whether this is the chunk that is handed out next: a new one, or else that of a ring which was
 * finished first. */
static void expect_chunk(const struct fxt_chunk *chunk)
{
	uint32_t number = next_chunk < buffer.limit ? next_chunk++ : order[order_begin++];

	EXPECT(chunk->number == number, "chunk %u, and not %u", chunk->number, number);
	EXPECT(chunk->overwritten == events_in[number], "%u events are overwritten, and not %u",
	       chunk->overwritten, events_in[number]);
	events_in[number] = 0;
	lose_events(number);
}

/* -- What is done ---------------------------------------------------------------------------------- */

static uint64_t draw_name(void)
{
	/* Some names are hardly used, so at the end nobody refers to them. */
	return random_below(3) ? 1 + random_below(STRINGS) : 1 + random_below(names);
}

/* Draws an event of this type, with arguments of all sizes. Its time is its number. */
static void draw_event(struct event *event, uint64_t type)
{
	uint64_t count = random_below(4), *at = event->record, i;

	*at++ = 0;
	event->record[0] = UINT64_C(4) | type << 16 | count << 20 | draw_name() << 32 | draw_name() << 48;
	*at++ = (uint64_t)(event - events);
	if (random_below(3)) {
		event->record[0] |= UINT64_C(1) << 24;
	} else {
		*at++ = random_number(60);
		*at++ = random_number(60);
	}
	for (i = 0; i < count; i++) {
		switch (random_below(4)) {
		case 0:                         /* a number of 32 bits */
			*at++ = UINT64_C(1) | 1 << 4 | draw_name() << 16 | random_number(32) << 32;
			break;
		case 1:                         /* one of 64 bits */
			*at++ = UINT64_C(3) | 2 << 4 | draw_name() << 16;
			*at++ = random_number(64);
			break;
		case 2:                         /* a string */
			*at++ = UINT64_C(6) | 1 << 4 | draw_name() << 16 | draw_name() << 32;
			break;
		case 3:                         /* a text of 4 bytes */
			*at++ = UINT64_C(6) | 2 << 4 | draw_name() << 16 | UINT64_C(0x8004) << 32;
			*at++ = TEXT;
			break;
		}
	}
	event->words = (unsigned)(at - event->record);
	event->record[0] |= (uint64_t)event->words << 4;
}

static void put_events(struct held *in, unsigned count)
{
	struct event *event;
	uint64_t *at;

	for (; count && event_count < EVENTS_MOST && fxt_lane_has(&in->lane, WORDS_MOST); count--) {
		event = &events[event_count++];
		draw_event(event, 0);
		at = fxt_lane_place(&in->lane, event->words);
		memcpy(at + 1, event->record + 1, (event->words - 1) * FXT_WORD_BYTES);
		fxt_lane_commit(&in->lane, at, event->words, event->record[0] & ~UINT64_C(0xfff0));
		event->number = in->chunk.number;
		event->at = (uint32_t)(at - in->chunk.base);
		event->is_there = true;
		event->is_gone = false;
		in->lane.events++;
	}
}

static void take_one(void)
{
	struct held *new = &held[held_count];
	bool may = has_chunk();

	if (held_count == HELD_MOST)
		return;
	EXPECT(take(&new->chunk) == may, "a chunk is %s", may ? "refused" : "given");
	EXPECT(!fxt_storage_failure(&buffer.storage), "failure %d", fxt_storage_failure(&buffer.storage));
	if (!may) {
		uint64_t before = fxt_storage_none_before(&buffer.storage);

		EXPECT(before == (buffer.mode == FXT_CIRCULAR ? 0 : FXT_NEVER), "none before %llx",
		       (unsigned long long)before);
		return;
	}
	expect_chunk(&new->chunk);
	new->lane = lane_of(&new->chunk);
	held_count++;
}

static void read_chunk(uint32_t number, uint64_t *out)
{
	int fd = open(buffer.path, O_RDONLY);

	EXPECT(pread(fd, out, FXT_CHUNK_BYTES, (off_t)fxt_buffer_chunk_offset(&buffer, number)) ==
		       FXT_CHUNK_BYTES,
	       "chunk %u cannot be read", number);
	close(fd);
}

/* Finishes a chunk. A buffer in memory saves it now, unless it is a ring and the file system is full. */
static void finish_one(void)
{
	static uint64_t before[FXT_CHUNK_WORDS], after[FXT_CHUNK_WORDS];
	struct held *it = &held[random_below(held_count)];
	bool is_full = buffer.in_memory && random_below(3) == 0;

	if (is_full)
		atomic_store(&buffer.failure, random_below(2) ? -ENOSPC : -EDQUOT);
	if (is_full && buffer.mode == FXT_CIRCULAR)
		read_chunk(it->chunk.number, before);
	else
		memcpy(before, it->chunk.base, FXT_CHUNK_BYTES);
	EXPECT(!fxt_storage_finish(&buffer.storage, it->chunk.number, it->lane.events, 1), "events are lost");
	read_chunk(it->chunk.number, after);
	EXPECT(!memcmp(before, after, FXT_CHUNK_BYTES), "chunk %u is %s", it->chunk.number,
	       is_full ? "saved" : "not saved");
	atomic_store(&buffer.failure, 0);
	if (buffer.mode == FXT_CIRCULAR) {
		events_in[it->chunk.number] = it->lane.events;
		order[order_end++] = it->chunk.number;
	}
	*it = held[--held_count];
}

/* Does what is done with the chunk of a child that was killed. */
static void clear_one(void)
{
	struct held *it = &held[random_below(held_count)];

	fxt_storage_clear(&buffer.storage, &it->chunk);
	lose_events(it->chunk.number);
	it->lane = lane_of(&it->chunk);
}

static void retract_one(void)
{
	struct event *event = &events[random_below(event_count)];
	bool is_forbidden = random_below(8) == 0, may, done;
	uint64_t found[WORDS_MOST] = {0}, last = event->record[event->words - 1];

	if (event->is_gone)
		return;
	may = event->is_there && buffer.mode != FXT_CIRCULAR && !is_forbidden;
	if (is_forbidden)
		fxt_forbidden = FXT_NO_CALLS;
	done = fxt_storage_retract(&buffer.storage, event->number, event->at, found, event->words, last);
	fxt_forbidden = 0;
	EXPECT(done == may, "event %td is %sretracted", event - events, may ? "not " : "");
	EXPECT(!done || !memcmp(found, event->record, event->words * FXT_WORD_BYTES), "it is another one");
	event->is_there &= !done;
}

/* Puts a call in progress on a page, in the place of the one that is there. */
static void put_open_call(struct page *page)
{
	enum { BEGIN = 2 };
	struct event *event = &events[event_count];

	atomic_store((_Atomic uint64_t *)page->at, fxt_filler(page->words - 1));
	if (page->call)
		page->call->is_there = false;
	page->call = NULL;
	if (event_count == EVENTS_MOST || random_below(4) == 0)
		return;
	event_count++;
	draw_event(event, BEGIN);
	/* It stands in no chunk of events, and nobody retracts it. */
	event->number = UINT32_MAX;
	event->is_gone = event->is_there = true;
	memcpy(page->at + 1, event->record + 1, (event->words - 1) * FXT_WORD_BYTES);
	page->at[event->words] = fxt_filler(page->words - 1 - event->words);
	atomic_store((_Atomic uint64_t *)page->at, event->record[0]);
	page->call = event;
}

/* A page comes from a chunk, of which a ring keeps half for events. */
static void take_page(void)
{
	uint32_t words = random_below(2) ? FXT_PAGE_WORDS : FXT_SMALL_PAGE_WORDS;
	bool may = has_chunk() && (buffer.mode != FXT_CIRCULAR || page_chunks < buffer.limit / 2);
	uint64_t *page = fxt_storage_take_page(&buffer.storage, 0, words, &taken);

	EXPECT(page || !may, "there is no page");
	if (!page)
		return;
	EXPECT(may || !taken.words, "a chunk is divided into pages");
	if (taken.words) {
		page_chunks++;
		expect_chunk(&taken);
	}
	/* The others are never given back. */
	if (page_count == PAGES_MOST)
		return;
	pages[page_count] = (struct page){page, words, NULL};
	put_open_call(&pages[page_count++]);
}

static void return_page(void)
{
	struct page *page = &pages[random_below(page_count)];

	if (page->call)
		page->call->is_there = false;
	fxt_storage_return_page(&buffer.storage, page->at, page->words);
	*page = pages[--page_count];
}

static void define_name(void)
{
	const uint64_t string[] = {STRING(names + 1), TEXT};

	if (names < NAMES && fxt_storage_durable(&buffer.storage, string, 2, 0))
		names++;
}

/* -- What is found --------------------------------------------------------------------------------- */

/* Returns where an event ends in the file. Where calls in progress stand is not known here. */
static uint64_t place_of(const struct event *event)
{
	if (event->number == UINT32_MAX)
		return UINT64_MAX - 1;
	return fxt_buffer_chunk_offset(&buffer, event->number) +
	       (event->at + event->words) * FXT_WORD_BYTES;
}

/* Looks whether a file has the events of the model that lie below `end`. Marks the strings that it
 * defines. */
static void compare_below(const char *name, uint64_t end, bool *is_defined)
{
	struct walk walk = walk_file(name);
	static bool found[EVENTS_MOST];
	FILE *file = fopen(name, "r");
	uint64_t *words = malloc(walk.bytes);
	size_t at, i;

	EXPECT(fread(words, 1, walk.bytes, file) == walk.bytes, "%s cannot be read", name);
	fclose(file);
	memset(found, 0, sizeof(found));
	for (at = 0; at < walk.bytes / 8; at += words[at] >> 4 & 0xfff) {
		const struct event *event;

		if ((words[at] & 15) == 2 && is_defined)
			is_defined[words[at] >> 16 & 0x7fff] = true;
		if ((words[at] & 15) != 4)
			continue;
		event = &events[words[at + 1] % EVENTS_MOST];
		i = (size_t)(event - events);
		EXPECT(!memcmp(event->record, words + at, event->words * FXT_WORD_BYTES),
		       "word %zu has an unknown event", at);
		EXPECT(event->is_there && !found[i], "event %zu is there%s", i, found[i] ? " twice" : "");
		found[i] = true;
	}
	for (i = 0; i < event_count; i++)
		EXPECT(found[i] || !events[i].is_there || place_of(&events[i]) > end,
		       "event %zu is not there", i);
	free(words);
}

static void compare(const char *name, bool *is_defined)
{
	compare_below(name, UINT64_MAX, is_defined);
}

static void look_at_file(void)
{
	struct stat status;

	/* A buffer in memory comes after. */
	EXPECT(!fxt_buffer_save(&buffer), "it cannot be saved");
	EXPECT(!stat(buffer.path, &status) && (uint64_t)status.st_size == fxt_buffer_file_bytes(&buffer),
	       "the file has %lld bytes, and not %llu", (long long)status.st_size,
	       (unsigned long long)fxt_buffer_file_bytes(&buffer));
	compare(buffer.path, NULL);
}

static unsigned descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned count = 0;

	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

/* Returns how many pages are mapped. */
static long mapped(void)
{
	int fd = open("/proc/self/statm", O_RDONLY);
	char text[100] = "";

	EXPECT(read(fd, text, sizeof(text) - 1) > 0, "there is no /proc");
	close(fd);
	return atol(text);
}

static void look_at_snapshot(void)
{
	static char name[FXT_PATH_BYTES];
	unsigned before = descriptors();
	long bytes = mapped();
	int error;

	snprintf(name, sizeof(name), "%s/target", directory);
	error = fxt_buffer_snapshot(&buffer, name);
	EXPECT(error == (buffer.mode == FXT_STREAMING ? -EINVAL : 0), "the snapshot has error %d", error);
	EXPECT(mapped() == bytes, "the snapshot leaves %ld pages", mapped() - bytes);
	EXPECT(descriptors() == before, "the snapshot leaves a descriptor");
	if (error)
		return;
	compare(name, NULL);
	unlink(name);
}

/* Marks the strings that an event refers to. */
static void mark_names(const struct event *event, bool *is_used)
{
	uint64_t header = event->record[0], i;
	const uint64_t *argument = event->record + (header >> 24 & 0xff ? 2 : 4);

	is_used[header >> 32 & 0x7fff] = is_used[header >> 48 & 0x7fff] = true;
	for (i = 0; i < (header >> 20 & 15); i++) {
		is_used[*argument >> 16 & 0x7fff] = true;
		if ((*argument & 15) == 6 && !(*argument >> 47 & 1))
			is_used[*argument >> 32 & 0x7fff] = true;
		argument += *argument >> 4 & 0xfff;
	}
}

/* What is left of the file are the events, and the strings that they need. */
static void rewrite(void)
{
	bool is_used[NAMES + 1] = {false}, is_defined[0x8000] = {false};
	struct stat status;
	unsigned i;

	for (i = 0; i < event_count; i++)
		if (events[i].is_there)
			mark_names(&events[i], is_used);
	/* It could not grow a moment ago. */
	atomic_store(&buffer.retry_ns, random_below(2) ? 1000 : 0);
	EXPECT(fxt_buffer_rewrite(&buffer, UINT64_MAX), "it is not rewritten");
	compare(buffer.path, is_defined);
	for (i = 1; i <= names; i++)
		EXPECT(is_defined[i] == is_used[i], "string %u is %sthere", i, is_used[i] ? "not " : "");
	EXPECT(!stat(buffer.path, &status) && (uint64_t)status.st_size == fxt_buffer_file_bytes(&buffer),
	       "its size is another one");
	/* It goes on behind its end, without a limit. */
	EXPECT(fxt_storage_none_before(&buffer.storage) == 0, "it is full");
	held_count = 1;
	EXPECT(take(&held[0].chunk), "it cannot go on");
	held[0].lane = lane_of(&held[0].chunk);
	put_events(&held[0], 3);
	compare(buffer.path, NULL);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)context;
	if (!fxt_buffer_fault(&buffer, (uintptr_t)info->si_addr) || !fxt_buffer_is_cut(&buffer))
		abort();
}

/* Somebody makes the file shorter. Threads go on to write, and what they write is lost, and counted. The file
 * has what lies before its new end. */
static void cut(void)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
	uint64_t bytes, cut_at = 8 + random_below(fxt_buffer_file_bytes(&buffer) - 8);
	unsigned before = event_count, lost, i;
	struct fxt_chunk chunk;

	sigaction(SIGBUS, &action, NULL);
	ck_assert_int_eq(truncate(buffer.path, (off_t)cut_at), 0);
	for (i = 0; i < held_count; i++)
		put_events(&held[i], 5);
	ck_assert(fxt_buffer_find_cut(&buffer, &bytes));
	EXPECT(bytes <= cut_at, "%llu bytes are left", (unsigned long long)bytes);
	EXPECT(!take(&chunk), "a chunk is given");
	EXPECT(fxt_storage_failure(&buffer.storage) == -ESTALE, "it has not failed");
	EXPECT(fxt_storage_none_before(&buffer.storage) == FXT_NEVER, "it may go on");
	/* The last page may have become private memory before these were written. */
	for (i = before; i < event_count; i++)
		events[i].is_there = events[i].is_there && place_of(&events[i]) <= bytes / 4096 * 4096;
	compare_below(buffer.path, bytes / 4096 * 4096, NULL);
	for (i = 0; i < held_count; i++) {
		uint64_t end = fxt_buffer_chunk_offset(&buffer, held[i].chunk.number) + FXT_CHUNK_BYTES;

		lost = fxt_storage_finish(&buffer.storage, held[i].chunk.number, held[i].lane.events, 1);
		EXPECT(lost == (end > bytes && buffer.mode != FXT_CIRCULAR ? held[i].lane.events : 0),
		       "%u events are lost", lost);
	}
}

static bool is_mapped(const void *at)
{
	unsigned char page;

	return mincore((void *)((uintptr_t)at & ~(uintptr_t)(FXT_PAGE_BYTES - 1)), 1, &page) == 0;
}

/* -- In a random order ----------------------------------------------------------------------------- */

static void step(void)
{
	unsigned i;

	switch (random_below(12)) {
	case 0: case 1:
		take_one();
		break;
	case 2: case 3: case 4:
		if (held_count)
			put_events(&held[random_below(held_count)], (unsigned)random_below(400));
		break;
	case 5: case 6:
		if (held_count)
			finish_one();
		break;
	case 7:
		if (held_count && random_below(6) == 0)
			clear_one();
		break;
	case 8: case 9:
		if (event_count)
			retract_one();
		break;
	case 10:
		for (i = random_below(20) ? 1 : (unsigned)random_below(300); i; i--)
			take_page();
		if (page_count && random_below(2))
			put_open_call(&pages[random_below(page_count)]);
		if (page_count && random_below(4) == 0)
			return_page();
		break;
	case 11:
		define_name();
	}
}

START_TEST(as_the_model)
{
	struct fxt_buffer_config config = {.mode = modes[_i % 3], .bytes = (1 + random_below(2)) * MIB,
					   .path = path, .write_prologue = write_prologue,
					   .in_memory = _i / 3 % 2};
	const uint64_t *durable, *window;
	unsigned i;

	forget_model();
	ck_assert_int_eq(fxt_buffer_create(&buffer, &config), 0);
	EXPECT(buffer.limit <= CHUNKS_MOST, "there are %u chunks", buffer.limit);
	for (i = 0; i < STEPS; i++) {
		step();
		if (random_below(40) == 0)
			look_at_file();
		if (random_below(80) == 0)
			look_at_snapshot();
	}
	look_at_file();
	look_at_snapshot();
	durable = buffer.durable;
	window = buffer.windows[0].base;
	EXPECT(is_mapped(durable), "it is not mapped");
	if (random_below(2) && !buffer.in_memory)
		cut();
	else if (buffer.mode != FXT_CIRCULAR && random_below(2))
		rewrite();
	fxt_buffer_forget(&buffer);
	EXPECT(!is_mapped(durable) && (!window || !is_mapped(window)), "it is still mapped");
}
END_TEST

static void begin(void)
{
	random_seed(0);
	setup();
}

int main(void)
{
	TCase *tests = tcase_create("model");

	tcase_add_checked_fixture(tests, begin, teardown);
	tcase_set_timeout(tests, 120);
	tcase_add_loop_test(tests, as_the_model, 0, 24);
	return RUN_SUITE("a buffer and its model", tests);
}
