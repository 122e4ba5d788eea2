/* How rings are read: see perf_events.h. A thread of its own empties them, because what is done with the
 * records takes longer than a small ring has room for: unwind tables of a large program are read in a second.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "perf_events.h"
#include "tools/common/host_clock.h"
#include "tools/common/message.h"

enum {
	/* So much is kept of what was not delivered. Beyond that the kernel finds no room, and counts. */
	MOST_FRESH = 16 << 20,
	ENOUGH_FRESH = 1 << 20,         /* whoever takes records is woken for so much */
	STEP_MS = 10,                   /* how often rings are read that wake nobody */
};

/* A record is in its ring this long after its time at the latest. */
static const uint64_t LATE_NS = 1000000;

/* Moves what the ring has to its fresh bytes, if there is room for it. */
static void drain(struct fxt_perf *perf, struct fxt_perf_ring *ring)
{
	const unsigned char *data = (const unsigned char *)ring->page + sysconf(_SC_PAGESIZE);
	uint64_t tail = ring->page->data_tail;
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	size_t bytes = (size_t)(head - tail), at = tail & (ring->bytes - 1), first;

	if (!bytes || perf->fresh_bytes + bytes > MOST_FRESH)
		return;
	ring->fresh = fxt_grow(ring->fresh, &ring->fresh_capacity, ring->fresh_bytes + bytes, 1);
	first = bytes < ring->bytes - at ? bytes : ring->bytes - at;
	memcpy(ring->fresh + ring->fresh_bytes, data + at, first);
	memcpy(ring->fresh + ring->fresh_bytes + first, data, bytes - first);
	ring->fresh_bytes += bytes;
	perf->fresh_bytes += bytes;
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}

/* Moves the fresh bytes of the ring to its queue. */
static void hand_over(struct fxt_perf *perf, struct fxt_perf_ring *ring)
{
	unsigned char *queue = ring->queue;
	size_t capacity = ring->capacity;

	perf->fresh_bytes -= ring->fresh_bytes;
	if (ring->begin == ring->end) {
		ring->queue = ring->fresh;
		ring->capacity = ring->fresh_capacity;
		ring->begin = 0;
		ring->end = ring->fresh_bytes;
		ring->fresh = queue;
		ring->fresh_capacity = capacity;
	} else if (ring->fresh_bytes) {
		memmove(ring->queue, ring->queue + ring->begin, ring->end - ring->begin);
		ring->end -= ring->begin;
		ring->begin = 0;
		ring->queue = fxt_grow(ring->queue, &ring->capacity, ring->end + ring->fresh_bytes, 1);
		memcpy(ring->queue + ring->end, ring->fresh, ring->fresh_bytes);
		ring->end += ring->fresh_bytes;
	}
	ring->fresh_bytes = 0;
}

/* -- The reader -------------------------------------------------------------------------------- */

/* Asks for short turns of the processor, which come earlier. Kernels before 6.12 do not know that, and an
 * ordinary user may have it. */
static void hurry(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attributes = {.size = sizeof(attributes)};

	if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0 || attributes.policy != 0)
		return;
	attributes.runtime = 100000;
	syscall(SYS_sched_setattr, 0, &attributes, 0);
}

/* Empties the rings. Returns whether there is so much that it is to be taken. */
static bool drain_all(struct fxt_perf *perf)
{
	bool is_much;

	pthread_mutex_lock(&perf->lock);
	for (size_t i = 0; i < perf->count; i++)
		drain(perf, &perf->rings[i]);
	is_much = perf->fresh_bytes > ENOUGH_FRESH;
	pthread_mutex_unlock(&perf->lock);
	return is_much;
}

static void *read_rings(void *context)
{
	static const uint64_t one = 1;
	struct fxt_perf *perf = context;
	struct pollfd *list = fxt_alloc(perf->count + 1, sizeof(*list));
	int wait_ms = -1;

	hurry();
	for (size_t i = 0; i < perf->count; i++)
		list[i] = (struct pollfd){.fd = perf->rings[i].fd, .events = POLLIN};
	list[perf->count] = (struct pollfd){.fd = perf->stop, .events = POLLIN};
	while (poll(list, perf->count + 1, wait_ms) < 0 || !list[perf->count].revents) {
		bool is_much = drain_all(perf);

		/* Whoever takes records gets behind, so there is no hurry. */
		if (is_much && write(perf->full, &one, sizeof(one)) > 0)
			poll(&list[perf->count], 1, 1);
		/* The event of a process that is over is always ready, so it is not waited for. */
		for (size_t i = 0; i < perf->count; i++) {
			if (!(list[i].revents & POLLHUP))
				continue;
			list[i].fd = -1;
			wait_ms = STEP_MS;
		}
	}
	free(list);
	return NULL;
}

bool fxt_perf_begin_reading(struct fxt_perf *perf)
{
	sigset_t all, before;

	pthread_mutex_init(&perf->lock, NULL);
	perf->full = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	perf->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (perf->full < 0 || perf->stop < 0)
		return false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	perf->is_read = pthread_create(&perf->reader, NULL, read_rings, perf) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return perf->is_read;
}

void fxt_perf_end_reading(struct fxt_perf *perf)
{
	static const uint64_t one = 1;

	if (perf->is_read && write(perf->stop, &one, sizeof(one)) > 0)
		pthread_join(perf->reader, NULL);
	if (perf->full >= 0)
		close(perf->full);
	if (perf->stop >= 0)
		close(perf->stop);
	perf->is_read = false;
	perf->full = perf->stop = -1;
}

bool fxt_perf_wait(const struct fxt_perf *perf, int fd, int milliseconds)
{
	struct pollfd list[] = {{.fd = perf->full, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
	uint64_t count;

	if (poll(list, 2, milliseconds) <= 0)
		return false;
	if (list[0].revents && read(perf->full, &count, sizeof(count)) < 0)
		return false;
	return list[1].revents;
}

/* -- Taking records ---------------------------------------------------------------------------- */

/* Decodes a sample. Returns false if it is cut short. */
static bool decode_sample(struct fxt_perf_record *record, const uint64_t *at, size_t words)
{
	const uint64_t *end = at + words;
	uint64_t abi, bytes;

	if (words < 5)
		return false;
	record->ip = at[0];
	record->pid = (uint32_t)at[1];
	record->tid = (uint32_t)(at[1] >> 32);
	record->time_ns = at[2];
	record->cpu = (uint32_t)at[3];
	abi = at[4];
	at += 5;
	if (abi != PERF_SAMPLE_REGS_ABI_NONE) {
		if (end - at < FXT_PERF_REGISTER_COUNT)
			return false;
		if (abi == PERF_SAMPLE_REGS_ABI_64)
			record->registers = at;
		at += FXT_PERF_REGISTER_COUNT;
	}
	if (at == end)
		return true;
	bytes = *at++;
	if (!bytes)
		return true;
	if (bytes > (size_t)(end - at) * 8 || (size_t)(end - at) * 8 - bytes < 8)
		return false;
	record->stack = (const unsigned char *)at;
	/* Behind the copy stands how much of it was there. */
	memcpy(&record->stack_bytes, record->stack + bytes, 8);
	if (record->stack_bytes > bytes)
		record->stack_bytes = bytes;
	return true;
}

/* Decodes the record at `header`. Records other than samples end with whose they are, and when. */
static bool decode(struct fxt_perf_record *record, const struct perf_event_header *header)
{
	const uint64_t *words = (const uint64_t *)(header + 1);
	size_t count = (header->size - sizeof(*header)) / 8;

	*record = (struct fxt_perf_record){.header = header};
	if (header->type == PERF_RECORD_SAMPLE)
		return decode_sample(record, words, count);
	if (count < 3)
		return false;
	words += count - 3;
	record->pid = (uint32_t)words[0];
	record->tid = (uint32_t)(words[0] >> 32);
	record->time_ns = words[1];
	record->cpu = (uint32_t)words[2];
	return true;
}

/* Decodes the next record of the queue. Records that make no sense are passed over. Returns false if there is
 * none. */
static bool look(struct fxt_perf_ring *ring, struct fxt_perf_record *record)
{
	while (ring->end - ring->begin >= sizeof(struct perf_event_header)) {
		const struct perf_event_header *header =
			(const struct perf_event_header *)(ring->queue + ring->begin);

		if (header->size < sizeof(*header) || header->size > ring->end - ring->begin) {
			ring->begin = ring->end;
			return false;
		}
		if (decode(record, header))
			return true;
		ring->begin += header->size;
	}
	return false;
}

void fxt_perf_take(struct fxt_perf *perf, bool is_end, fxt_perf_handler *handler, void *context)
{
	uint64_t until_ns;
	struct fxt_perf_record *heads = fxt_alloc(perf->count, sizeof(*heads));
	bool *has = fxt_alloc(perf->count, sizeof(*has));
	size_t i, oldest;

	pthread_mutex_lock(&perf->lock);
	until_ns = is_end ? UINT64_MAX : fxt_host_now_ns() - LATE_NS;
	for (i = 0; i < perf->count; i++) {
		hand_over(perf, &perf->rings[i]);
		drain(perf, &perf->rings[i]);
		hand_over(perf, &perf->rings[i]);
	}
	pthread_mutex_unlock(&perf->lock);
	for (i = 0; i < perf->count; i++)
		has[i] = look(&perf->rings[i], &heads[i]);
	for (;;) {
		oldest = perf->count;
		for (i = 0; i < perf->count; i++)
			if (has[i] && (oldest == perf->count || heads[i].time_ns < heads[oldest].time_ns))
				oldest = i;
		if (oldest == perf->count || heads[oldest].time_ns >= until_ns)
			break;
		handler(context, &heads[oldest]);
		perf->rings[oldest].begin += heads[oldest].header->size;
		has[oldest] = look(&perf->rings[oldest], &heads[oldest]);
	}
	free(heads);
	free(has);
}
