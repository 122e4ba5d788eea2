/* This tests what is left of programs that are killed while they give up the oldest chunk of a ring
 * (writer/buffer_retract.c). What was recorded is in the trace, or is counted as overwritten, once: in a
 * file, in what a manager saves that goes on, and in what the heir of a manager saves.
 *
 * A program is stopped after each instruction of that, and what it would leave then is looked at. Children
 * of vfork are killed after some of these instructions, and the program goes on. The choices follow from
 * FXT_SEED (apps/random.h). */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "writer/apart.h"
#include "writer/lane.h"
#include "managed_fixture.h"
#include "suite.h"
#include "tools/manager/client_parts.h"

enum {
	MOST_MARKS = 1 << 16,
	FEWEST_STEPS = 100,
	FEWEST_LOOKS = 4,               /* a chunk is given up by so many stores at least */
	KILLS = 20,                     /* children of each kind of program */
	CATEGORY = 1,
};

/* How often what a program leaves was looked at, and how many children were killed. */
static atomic_uint *looks, *kills;

/* Who reads what a killed program has left. */
enum reader { A_FILE, MANAGER, HEIR, READERS };

/* What the program tells. */
static struct told {
	uint32_t recorded;
	atomic_bool is_half;            /* the next chunk of the ring that is given up is half full */
	atomic_bool is_taking;
	atomic_bool has_taken;
	atomic_bool is_over;
} *told;

static unsigned char found[MOST_MARKS];
static struct overwritten_sums overwritten;
/* The file of a program; what a manager has saved at two moments; what it or its heir saves of the rest. */
static char path[FXT_PATH_BYTES], saved[2][sizeof(path) + 8], rest[sizeof(path) + 8];

/* -- The program --------------------------------------------------------------------------------- */

/* Appends `most` records of two or three words, or as many as there is room for. */
static void put(struct fxt_lane *lane, unsigned most)
{
	while (most-- && fxt_lane_has(lane, 3) && told->recorded < MOST_MARKS) {
		size_t words = 2 + (size_t)random_below(2);
		uint64_t *at = fxt_lane_place(lane, words);

		at[1] = told->recorded;
		at[words - 1] = told->recorded;
		fxt_lane_commit(lane, at, words, FXT_RECORD_EVENT | (uint64_t)CATEGORY << 32);
		lane->events++;
		told->recorded++;
	}
}

/* Fills a part of a chunk or all of it. If it is `half` full the tracer has a look. */
static void fill(const struct fxt_chunk *chunk, bool half)
{
	struct fxt_lane lane = {0};

	fxt_lane_enter(&lane, chunk, 1);
	put(&lane, (unsigned)random_below(20));
	if (half) {
		atomic_store(&told->is_half, true);
		raise(SIGSTOP);
		atomic_store(&told->is_half, false);
	}
	put(&lane, random_below(12) ? (unsigned)random_below(20) : UINT32_MAX);
	fxt_storage_finish(&buffer.storage, chunk->number, lane.events, 1 + random_below(9));
}

static void turn_over(uint32_t chunks, uint32_t half)
{
	struct fxt_chunk chunk;
	uint32_t i;

	for (i = 0; i < chunks; i++) {
		if (!fxt_storage_take(&buffer.storage, 0, &chunk))
			abort();
		fill(&chunk, i == half);
	}
}

static void take(struct fxt_chunk *chunk)
{
	atomic_store(&told->is_taking, true);
	if (!fxt_storage_take(&buffer.storage, 0, chunk))
		abort();
	atomic_store(&told->has_taken, true);
}

/* Has a child of vfork take the chunk, which is killed, and goes on. */
static void take_by_child(void)
{
	static struct fxt_chunk chunk;
	pid_t child;

	fxt_lender = (uint32_t)getpid();
	child = vfork();
	if (child == 0) {
		take(&chunk);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	if (chunk.words) {
		fxt_storage_clear(&buffer.storage, &chunk);
		fxt_storage_finish(&buffer.storage, chunk.number, 0, 1);
	}
	turn_over(1 + (uint32_t)random_below(2 * buffer.limit), UINT32_MAX);
}

static void __attribute__((noreturn)) run(bool by_child)
{
	uint32_t more = (uint32_t)random_below(buffer.limit);
	struct fxt_chunk chunk;

	fxt_apart_never();
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	turn_over(buffer.limit + more, more);
	raise(SIGSTOP);
	if (by_child)
		take_by_child();
	else
		take(&chunk);
	atomic_store(&told->is_over, true);
	for (;;)
		pause();
}

/* -- Its end ------------------------------------------------------------------------------------- */

/* Lets a task go on to its next stop, and returns whether it has stopped. */
static bool go_on(pid_t task, int how)
{
	int status;

	return ptrace((enum __ptrace_request)how, task, NULL, NULL) == 0 &&
	       waitpid(task, &status, __WALL) == task && WIFSTOPPED(status);
}

static void kill_now(pid_t task)
{
	int status;

	kill(task, SIGKILL);
	do
		ck_assert_int_eq(waitpid(task, &status, __WALL), task);
	while (WIFSTOPPED(status));
}

/* Lets a task that was stopped go on to its next instruction. Returns false if it has taken the chunk. */
static bool step(pid_t task)
{
	do
		ck_assert(go_on(task, PTRACE_SINGLESTEP));
	while (!atomic_load(&told->is_taking));
	return !atomic_load(&told->has_taken);
}

/* Kills the child of vfork that the program makes, after so many steps, and then the program. Returns how
 * many steps it has gone. */
static unsigned kill_child(pid_t program, unsigned steps)
{
	unsigned long child;
	unsigned gone = 0;
	int status;

	ck_assert_int_eq(ptrace(PTRACE_SETOPTIONS, program, NULL, (void *)PTRACE_O_TRACEVFORK), 0);
	ck_assert(go_on(program, PTRACE_CONT));
	ck_assert_int_eq(ptrace(PTRACE_GETEVENTMSG, program, NULL, &child), 0);
	ck_assert_int_eq(waitpid((pid_t)child, &status, __WALL), (pid_t)child);
	ck_assert_int_eq(ptrace(PTRACE_DETACH, program, NULL, NULL), 0);
	while (gone < steps && step((pid_t)child))
		gone++;
	kill_now((pid_t)child);
	while (!atomic_load(&told->is_over))
		ck_assert_int_eq(waitpid(program, &status, WNOHANG), 0);
	kill_now(program);
	return gone;
}

/* -- What it leaves ------------------------------------------------------------------------------ */

/* Finds the records of a file, unless there is none. */
static void find_in(const char *name)
{
	static uint64_t words[4 << 17];
	FILE *file = fopen(name, "r");
	size_t count, at, size;

	if (!file)
		return;
	count = fread(words, sizeof(*words), sizeof(words) / sizeof(*words), file);
	fclose(file);
	ck_assert_uint_lt(count, sizeof(words) / sizeof(*words));
	for (at = 0; at < count; at += size) {
		size = fxt_get_record_words(words[at]);
		ck_assert_msg(size && size <= count - at, "%s: word %zu of %zu is %lx", name, at, count,
			      (unsigned long)words[at]);
		if (fxt_get_record_type(words[at]) != FXT_RECORD_EVENT ||
		    note_overwritten(&overwritten, words + at))
			continue;
		ck_assert_uint_lt(words[at + 1], MOST_MARKS);
		ck_assert_uint_eq(words[at + 1], words[at + size - 1]);
		ck_assert_msg(!found[words[at + 1]]++, "record %lu is there twice",
			      (unsigned long)words[at + 1]);
	}
}

/* Looks whether all is found once, or counted. */
static void judge(unsigned steps)
{
	uint32_t i, there = 0;

	for (i = 0; i < told->recorded; i++)
		there += found[i];
	ck_assert_msg(there + all_overwritten(&overwritten) == told->recorded,
		      "after %u steps: %u were recorded, %u are there, %lu are counted as overwritten", steps,
		      told->recorded, there, (unsigned long)all_overwritten(&overwritten));
	memset(found, 0, told->recorded);
	memset(&overwritten, 0, sizeof(overwritten));
}

/* A manager. */
static struct fxt_session session;
static struct fxt_client manager;

static void map(struct fxt_client *client, int memory)
{
	*client = (struct fxt_client){.process = -1, .id = 1};
	ck_assert_ptr_null(fxt_client_map(client, &session, memory, 0));
}

static void save(struct fxt_client *client, const char *archive, bool is_end)
{
	unlink(archive);
	memset(&session, 0, sizeof(session));
	session.config.mode = client == &manager ? FXT_BUFFERING_CIRCULAR : FXT_BUFFERING_STREAMING;
	ck_assert(fxt_archive_open(&session.archive, archive, false));
	fxt_client_save(client, &session, is_end);
	fxt_archive_close(&session.archive);
}

/* Returns a memory that has the same contents. */
static int copy_of(int memory)
{
	int copy = memfd_create("copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_ge(copy, 0);
	ck_assert_int_eq(lseek(memory, 0, SEEK_SET), 0);
	while (copy_file_range(memory, NULL, copy, NULL, 1 << 24, 0) > 0)
		;
	ck_assert_int_eq(lseek(copy, 0, SEEK_CUR), lseek(memory, 0, SEEK_END));
	ck_assert_int_eq(fcntl(copy, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	return copy;
}

/* Finds what the program leaves if it is killed now. */
static void find_what_is_left(enum reader reader, int memory)
{
	struct fxt_client client;
	int copy;

	if (reader == A_FILE) {
		find_in(buffer.path);
		return;
	}
	copy = copy_of(memory);
	map(&client, copy);
	if (reader == MANAGER) {
		memcpy(client.saved, manager.saved, client.chunks * sizeof(*client.saved));
		client.durable_saved = manager.durable_saved;
	}
	client.is_over = true;
	save(&client, rest, true);
	find_in(rest);
	find_in(saved[0]);
	find_in(saved[1]);
	ck_assert_uint_eq(fxt_client_lost(&client).overwritten, all_overwritten(&overwritten));
	munmap(client.memory, client.bytes);
	free(client.saved);
	close(copy);
}

/* Returns whether a file or memory is not what it was at the last call. */
static bool has_changed(int fd)
{
	static unsigned char before[2 * FXT_BUFFER_MIN_BYTES], now[sizeof(before)];
	ssize_t bytes = pread(fd, now, sizeof(now), 0);

	ck_assert(bytes > 0 && bytes < (ssize_t)sizeof(now));
	if (memcmp(before, now, (size_t)bytes) == 0)
		return false;
	memcpy(before, now, (size_t)bytes);
	return true;
}

/* -- Rounds -------------------------------------------------------------------------------------- */

static void make_file(void)
{
	struct fxt_buffer_config config = {.mode = FXT_CIRCULAR, .bytes = FXT_BUFFER_MIN_BYTES, .path = path,
					   .write_prologue = write_prologue,
					   .counters_words = COUNTERS_WORDS,
					   .overwritten = overwritten_count};

	ck_assert_int_eq(fxt_buffer_create(&buffer, &config), 0);
}

/* Runs a program, and has somebody stop or kill it. Returns how many steps it has gone. Adds up in `looks`
 * how often what it leaves was another trace then. */
static unsigned play(enum reader reader, bool by_child, unsigned most)
{
	unsigned steps = 0, late = (unsigned)random_below(1000);
	pid_t program;
	int memory = -1, status, fd;

	memset(told, 0, sizeof(*told));
	if (reader == A_FILE)
		make_file();
	else
		memory = make_memory(FXT_CIRCULAR, FXT_BUFFER_MIN_BYTES, 64 << 20);
	program = fork();
	if (program == 0)
		run(by_child);
	if (reader != A_FILE)
		map(&manager, memory);
	ck_assert(waitpid(program, &status, 0) == program && WIFSTOPPED(status));
	ck_assert(atomic_load(&told->is_half));
	if (reader != A_FILE && random_below(2))
		save(&manager, saved[0], false);
	ck_assert(go_on(program, PTRACE_CONT));
	fd = reader == A_FILE ? open(buffer.path, O_RDONLY | O_CLOEXEC) : memory;
	if (by_child) {
		steps = kill_child(program, most);
		find_what_is_left(reader, memory);
		judge(steps);
	}
	while (!by_child && step(program)) {
		if (has_changed(fd)) {
			find_what_is_left(reader, memory);
			judge(steps);
			atomic_fetch_add(looks, 1);
		}
		steps++;
		/* As far as the manager knows the program goes on. */
		if (reader != A_FILE && steps == late)
			save(&manager, saved[1], false);
	}
	if (!by_child)
		kill_now(program);
	unlink(saved[0]);
	unlink(saved[1]);
	unlink(rest);
	if (reader == A_FILE) {
		unlink(buffer.path);
		close(fd);
	}
	fxt_buffer_forget(&buffer);
	if (memory >= 0) {
		munmap(manager.memory, manager.bytes);
		free(manager.saved);
		close(memory);
		close(manager_end);
	}
	return steps;
}

static void begin(void)
{
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert(getcwd(path, sizeof(path) - 40) != NULL);
	sprintf(path + strlen(path), "/overwritten.%d.fxt", getpid());
	sprintf(saved[0], "%s.saved", path);
	sprintf(saved[1], "%s.more", path);
	sprintf(rest, "%s.rest", path);
}

START_TEST(each_instruction)
{
	unsigned before = atomic_load(looks);

	random_seed(1 + (uint64_t)_i);
	begin();
	ck_assert_uint_gt(play((enum reader)(_i % READERS), false, 0), FEWEST_STEPS);
	ck_assert_uint_gt(atomic_load(looks) - before, FEWEST_LOOKS);
}
END_TEST

START_TEST(killed_children)
{
	enum reader reader = (enum reader)_i;
	unsigned most, i;

	random_seed(1000 + (uint64_t)_i);
	begin();
	most = play(reader, true, UINT32_MAX);
	ck_assert_uint_gt(most, FEWEST_STEPS);
	for (i = 0; i < KILLS; i++)
		play(reader, true, (unsigned)random_below(most));
	atomic_fetch_add(kills, i);
}
END_TEST

int main(void)
{
	TCase *each = tcase_create("each instruction"), *children = tcase_create("killed children");
	int status;

	looks = mmap(NULL, 2 * sizeof(*looks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	kills = looks + 1;
	tcase_set_timeout(each, 120);
	tcase_set_timeout(children, 120);
	tcase_add_loop_test(each, each_instruction, 0, 4 * READERS);
	tcase_add_loop_test(children, killed_children, 0, READERS);
	status = RUN_SUITE("killed while a ring overwrites", each, children);
	printf("looked %u times at what a program leaves, and killed %u children of vfork\n", *looks, *kills);
	return status;
}
