/* This tests how a buffer leaves a manager that is gone, and goes on in a file of its own
 * (writer/buffer_leave.c), while threads take chunks, and children of vfork are killed that do. What was
 * recorded is in the archive or in the file, and no record is in both; what a ring overwrites is counted. The
 * choices follow from FXT_SEED (apps/random.h). */
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "leave_fixture.h"
#include "suite.h"

static atomic_bool is_done;

/* -- At chosen moments --------------------------------------------------------------------------- */

/* The child of a vfork, which is killed by a store to the chunk that it has just taken. */
static void take_and_die(uint32_t number)
{
	uint64_t *chunk = fxt_buffer_chunk(&buffer, number);
	struct fxt_chunk taken;
	pid_t child;
	int status;

	ck_assert_int_eq(mprotect(chunk, FXT_CHUNK_BYTES, PROT_NONE), 0);
	signal(SIGSEGV, SIG_DFL);
	child = vfork();
	if (child == 0) {
		fxt_storage_take(&buffer.storage, 0, &taken);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	ck_assert_int_eq(mprotect(chunk, FXT_CHUNK_BYTES, PROT_READ | PROT_WRITE), 0);
}

/* A child that is killed while it takes a chunk holds nobody up. What the chunk of a ring had is still there,
 * because the child could not give it up. */
START_TEST(killed_child)
{
	const enum fxt_mode mode = (enum fxt_mode)(_i % 3);
	struct fxt_chunk chunk;
	struct fxt_lane lane = {0};
	uint32_t number = 0, turn;

	random_seed(0);
	memset(marks, 0, sizeof(marks));
	make_buffer(mode, FXT_BUFFER_MIN_BYTES);
	fxt_lender = (uint32_t)getpid();
	for (turn = 0; turn < (mode == FXT_CIRCULAR ? buffer.limit : 1); turn++) {
		ck_assert(fxt_storage_take(&buffer.storage, 0, &chunk));
		fxt_lane_enter(&lane, &chunk, 1);
		put(&lane, turn);
		if (mode == FXT_CIRCULAR || random_below(2))
			fxt_storage_finish(&buffer.storage, chunk.number, 1, 1);
		number = chunk.number;
	}
	take_and_die((number + 1) % buffer.limit);
	leave();
	memset(&overwritten, 0, sizeof(overwritten));
	find_in_file();
	for (number = 0; number < turn; number++)
		ck_assert_uint_eq(marks[0].found[number], 1);
	ck_assert_uint_eq(all_overwritten(&overwritten), 0);
	ck_assert(fxt_storage_take(&buffer.storage, 0, &chunk));
	ck_assert_uint_eq(chunk.overwritten, mode == FXT_CIRCULAR);
	find_in_file();
	ck_assert_uint_eq(all_overwritten(&overwritten), mode == FXT_CIRCULAR);
	end();
}
END_TEST

/* What a manager took in a pass that it did not end is in no archive once it is killed. A ring that gives
 * that up counts it as overwritten: at once if the manager is gone, and else when the process leaves it,
 * unless the pass has ended before the manager was killed. */
START_TEST(taken_in_vain)
{
	static _Atomic uint32_t word;
	const uint64_t now_ns = 1000000000;
	const bool is_in_pass = _i & 1, is_killed = _i & 2, ends = _i & 4;
	struct fxt_chunk chunk;
	struct fxt_lane lane = {0};
	uint32_t turn, pass, given_up, i;
	uint64_t lost = 0;

	random_seed(0);
	memset(marks, 0, sizeof(marks));
	make_buffer(FXT_CIRCULAR, FXT_BUFFER_MIN_BYTES);
	buffer.manager_word = &word;
	atomic_store(&word, 1);
	pass = (uint32_t)random_below(1 << 20);
	atomic_store(&buffer.header->saved_pass, pass);
	for (turn = 0; turn < buffer.limit; turn++) {
		ck_assert(fxt_storage_take(&buffer.storage, now_ns, &chunk));
		fxt_lane_enter(&lane, &chunk, 1);
		put(&lane, turn);
		fxt_storage_finish(&buffer.storage, chunk.number, 1, 1);
		atomic_store(&buffer.taken[chunk.number],
			     fxt_taken_pack((struct fxt_taken){
				     .turn = atomic_load(&buffer.states[chunk.number]) >> 8,
				     .words = FXT_CHUNK_WORDS,
				     .events = 1,
				     .pass = pass + is_in_pass}));
	}
	/* The process has just listened, so it takes these chunks before it does so again. */
	if (is_killed)
		atomic_store(&word, FXT_MANAGER_DIED);
	given_up = 1 + (uint32_t)random_below(buffer.limit - 1);
	for (i = 0; i < given_up; i++) {
		ck_assert(fxt_storage_take(&buffer.storage, now_ns, &chunk));
		ck_assert_uint_eq(chunk.overwritten, is_in_pass && is_killed);
		lost += chunk.overwritten;
	}
	ck_assert_uint_eq(fxt_buffer_overwritten(&buffer), lost);
	if (ends && !is_killed)
		atomic_store(&buffer.header->saved_pass, pass + 1);
	atomic_store(&word, FXT_MANAGER_DIED);
	leave();
	ck_assert_uint_eq(fxt_buffer_overwritten(&buffer), is_in_pass && (is_killed || !ends) ? given_up : 0);
	buffer.manager_word = NULL;
	end();
}
END_TEST

/* A thread may have read what kind of buffer it is before, and go on after another one has left. */
START_TEST(late_thread)
{
	const struct fxt_storage_ops *ops;
	struct fxt_chunk chunk, held;
	struct fxt_lane lane = {0};
	unsigned i, count;
	uint32_t turn;

	random_seed(0);
	memset(marks, 0, sizeof(marks));
	make_buffer((enum fxt_mode)(_i % 3), (1 + random_below(4)) * FXT_BUFFER_MIN_BYTES);
	ops = buffer.storage.ops;
	ck_assert(ops->take(&buffer.storage, 0, &held));
	fxt_lane_enter(&lane, &held, 1);
	put(&lane, 0);
	leave();
	count = 2 + (unsigned)random_below(buffer.managed_chunks / 2);
	for (i = 1; i < count; i++) {
		ck_assert(ops->take(&buffer.storage, i * UINT64_C(1000000000), &chunk));
		ck_assert_uint_ne(chunk.number, held.number);
		fxt_lane_enter(&lane, &chunk, 1);
		put(&lane, i);
		if (random_below(2))
			ops->finish(&buffer.storage, chunk.number, 1, 1);
		fxt_buffer_hear(&buffer, UINT64_MAX);
		fxt_buffer_tell(&buffer, (struct fxt_packet){.request = FXT_PROVIDER_STOPPED});
		fxt_buffer_tell_dropped(&buffer, i);
		fxt_buffer_leaves(&buffer, random_below(2));
		fxt_buffer_hand_over(&buffer);
		ck_assert_int_eq(fxt_storage_failure(&buffer.storage), 0);
		ck_assert_int_ne(ops->failure(&buffer.storage), -EPIPE);
	}
	/* The chunk that was held is left in its turn. */
	turn = atomic_load(&buffer.states[held.number]) >> 8;
	ops->finish(&buffer.storage, held.number, 1, 1);
	ck_assert_uint_eq(atomic_load(&buffer.states[held.number]), turn << 8 | FXT_MANAGED_LEFT);
	find_in_file();
	for (i = 0; i < count; i++)
		ck_assert_uint_eq(marks[0].found[i], 1);
	end();
}
END_TEST

/* -- At random moments --------------------------------------------------------------------------- */

/* Records until it is done, in chunks that it finishes, and in one that it keeps. */
static void *record(void *argument)
{
	struct marks *own = argument;
	uint64_t number = (uint64_t)(own - marks);
	struct fxt_lane lane = {0};
	struct fxt_chunk chunk;
	unsigned left;

	random_seed(1 + number);
	while (!atomic_load(&is_done)) {
		if (!fxt_storage_take(&buffer.storage, random_below(2), &chunk)) {
			sched_yield();
			continue;
		}
		fxt_lane_enter(&lane, &chunk, 1);
		for (left = (unsigned)random_below(100); left && own->count < MOST_MARKS; left--)
			put(&lane, number << 32 | own->count++), lane.events++;
		if (random_below(4) == 0)
			sched_yield();
		if (!atomic_load(&is_done))
			fxt_storage_finish(&buffer.storage, chunk.number, lane.events, 1);
	}
	return NULL;
}

static _Atomic pid_t victim;

/* Makes children that take chunks, and are killed at any instruction. */
static void *make_victims(void *argument)
{
	static volatile bool has_given_back;
	static struct fxt_chunk chunk;
	pid_t child;
	unsigned i;

	(void)argument;
	fxt_lender = (uint32_t)getpid();
	while (!atomic_load(&is_done)) {
		child = vfork();
		if (child == 0) {
			atomic_store(&victim, fxt_sys_getpid());
			for (i = 0; i < 1000; i++) {
				if (!fxt_storage_take(&buffer.storage, 0, &chunk))
					continue;
				/* It may be killed before it has given the chunk back, or after that. */
				has_given_back = true;
				fxt_storage_finish(&buffer.storage, chunk.number, 0, 1);
				chunk.words = 0;
				has_given_back = false;
			}
			_exit(0);
		}
		atomic_store(&victim, 0);
		waitpid(child, NULL, 0);
		/* The agent does this before the thread takes its next chunk. */
		if (chunk.words && !has_given_back) {
			fxt_storage_clear(&buffer.storage, &chunk);
			fxt_storage_finish(&buffer.storage, chunk.number, 0, 1);
		}
		chunk.words = 0;
		has_given_back = false;
	}
	return NULL;
}

/* Saves what is full, as a manager does in streaming mode. */
static void save(unsigned from, unsigned to)
{
	uint32_t entry, i;

	for (i = from; i < to; i++) {
		entry = atomic_load(&buffer.states[i]);
		if (fxt_managed_state_of(entry) != FXT_MANAGED_FULL)
			continue;
		find(fxt_buffer_chunk(&buffer, i), FXT_CHUNK_WORDS);
		ck_assert(atomic_compare_exchange_strong(&buffer.states[i], &entry,
							 (entry & ~0xffu) | FXT_MANAGED_FREE));
	}
}

/* Manages for so many answers at most. */
static void manage(unsigned answers)
{
	unsigned half = buffer.managed_chunks / 2;
	struct fxt_packet packet;

	while (answers--) {
		struct pollfd wait = {manager_end, POLLIN, 0};

		if (poll(&wait, 1, 20) != 1)
			return;
		ck_assert_int_eq(recv(manager_end, &packet, sizeof(packet), 0), sizeof(packet));
		ck_assert_uint_eq(packet.request, FXT_PROVIDER_SAVE_BUFFER);
		save((packet.data32 & 1) * half, (packet.data32 & 1) * half + half);
		packet.request = FXT_MANAGER_BUFFER_SAVED;
		ck_assert_int_eq(send(manager_end, &packet, sizeof(packet), 0), sizeof(packet));
	}
}

static void spin(uint64_t times)
{
	while (times--)
		__asm__ volatile("" ::: "memory");
}

START_TEST(any_moment)
{
	const enum fxt_mode mode = (enum fxt_mode)(_i % 3);
	const bool has_victims = _i / 3 % 2;
	uint64_t put_all = 0, found = 0;
	unsigned threads, i, k;
	pthread_t maker;

	random_seed(0);
	random_seed(MOST_THREADS + 1 + (uint64_t)_i);
	memset(marks, 0, sizeof(marks));
	memset(&overwritten, 0, sizeof(overwritten));
	atomic_store(&is_done, false);
	make_buffer(mode, (1 + random_below(8)) * FXT_BUFFER_MIN_BYTES);
	threads = 1 + (unsigned)random_below(MOST_THREADS);
	for (i = 0; i < threads; i++)
		ck_assert_int_eq(pthread_create(&marks[i].thread, NULL, record, &marks[i]), 0);
	if (has_victims)
		ck_assert_int_eq(pthread_create(&maker, NULL, make_victims, NULL), 0);
	if (mode == FXT_STREAMING)
		manage((unsigned)random_below(20));
	spin(random_below(1 << 20));
	for (i = 0; has_victims && i < 50; i++) {
		pid_t child = atomic_load(&victim);

		spin(random_below(20000));
		if (child && atomic_load(&victim) == child)
			kill(child, SIGKILL);
		if (i == 25)
			leave();
	}
	if (!has_victims)
		leave();
	spin(random_below(1 << 20));
	atomic_store(&is_done, true);
	if (has_victims) {
		while (atomic_load(&victim))
			sched_yield();
		ck_assert_int_eq(pthread_join(maker, NULL), 0);
	}
	for (i = 0; i < threads; i++)
		ck_assert_int_eq(pthread_join(marks[i].thread, NULL), 0);
	find_in_file();
	for (i = 0; i < threads; i++) {
		put_all += marks[i].count;
		for (k = 0; k < marks[i].count; k++) {
			ck_assert_uint_le(marks[i].found[k], 1);
			found += marks[i].found[k];
		}
	}
	ck_assert_uint_eq(found + all_overwritten(&overwritten), put_all);
	end();
}
END_TEST

int main(void)
{
	TCase *chosen = tcase_create("chosen moments"), *any = tcase_create("any moment");

	tcase_add_loop_test(chosen, killed_child, 0, 12);
	tcase_add_loop_test(chosen, taken_in_vain, 0, 8);
	tcase_add_loop_test(chosen, late_thread, 0, 12);
	tcase_set_timeout(any, 120);
	tcase_add_loop_test(any, any_moment, 0, 60);
	return RUN_SUITE("leaving a manager", chosen, any);
}
