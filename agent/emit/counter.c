/* See counter.h. These functions are called when a page of slots is made, when a record is dropped, and when
 * a thread is gone; in any context. */
#include "counter.h"

#include "writer/fxt_encode.h"

/* Returns the number of the word in which a counter's value lies: inline koids take two words in front of
 * it. */
static unsigned value_word(uint64_t header)
{
	return fxt_get_event_thread(header) ? 3 : 5;
}

uint64_t *fxt_counter_show(uint64_t *slot, uint64_t name, uint64_t thread_ref, uint32_t pid, uint32_t tid,
			   uint32_t id, uint64_t value)
{
	uint64_t header = fxt_record_type(FXT_RECORD_EVENT) | fxt_record_words(FXT_COUNTER_WORDS) |
			  fxt_event_type(FXT_EVENT_COUNTER) | fxt_event_args(1) | thread_ref |
			  fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_agent, name);
	uint64_t *at = slot + 2;

	slot[1] = fxt_clock_kernel_ns();
	if (!thread_ref) {
		*at++ = pid;
		*at++ = tid;
	}
	*at++ = fxt_arg_header(FXT_ARG_UINT64, 2, FXT_STR_records);
	*at++ = value;
	*at++ = id;
	while (at < slot + FXT_COUNTER_WORDS)
		*at++ = 0;
	atomic_store_explicit((_Atomic uint64_t *)slot, header, memory_order_release);
	return slot + value_word(header);
}

/* Returns the header of a counter of this name, without its size. */
static uint64_t header_of(uint64_t name)
{
	return fxt_record_type(FXT_RECORD_EVENT) | fxt_event_type(FXT_EVENT_COUNTER) | fxt_event_args(1) |
	       fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_agent, name);
}

/* The value is stored first, because nobody sees it as long as the slot's header is a filler. The other words
 * are the same whichever thread stores them. */
void fxt_counter_add(uint64_t *slot, uint64_t name, uint32_t pid, uint64_t records, uint64_t now_ns)
{
	atomic_fetch_add_explicit((_Atomic uint64_t *)&slot[FXT_COUNTER_SUM], records, memory_order_relaxed);
	/* Threads know the time of their own last events alone. */
	if (now_ns > slot[1])
		slot[1] = now_ns;
	if (fxt_get_record_type(slot[0]) == FXT_RECORD_EVENT)
		return;
	slot[2] = slot[3] = pid;
	slot[4] = fxt_arg_header(FXT_ARG_UINT64, 2, FXT_STR_records);
	atomic_store_explicit((_Atomic uint64_t *)slot, header_of(name) | fxt_record_words(FXT_COUNTER_WORDS),
			      memory_order_release);
}

void fxt_counter_describe(uint64_t record[FXT_COUNTER_WORDS], uint64_t name, uint32_t pid)
{
	memset(record, 0, FXT_COUNTER_WORDS * sizeof(*record));
	record[0] = header_of(name);
	record[2] = record[3] = pid;
	record[4] = fxt_arg_header(FXT_ARG_UINT64, 2, FXT_STR_records);
}

uint64_t fxt_counter_value(const uint64_t *slot)
{
	return fxt_get_record_type(slot[0]) == FXT_RECORD_EVENT ? slot[value_word(slot[0])] : 0;
}

/* -- Windows of losses ------------------------------------------------------------------------- */

enum {
	/* A thread that drops many records in a row tells of them by so many, or after so long, because the
	 * header is shared by all threads. */
	TOLD_AT_ONCE = 16,
	TELL_NS = 10 * 1000,
};

static atomic_uint sessions;            /* another one has begun so often in this process */

/* This is what the calling thread has lost and not told yet, in this process. */
static __thread struct {
	uint32_t pid, session;
	uint32_t untold;                /* in the header */
	uint64_t told_ns;               /* when it last told the header */
	uint64_t records;               /* in an instant */
	uint64_t from_ns, to_ns;        /* the first and the last of these */
} lost;

static void begin_anew_after_fork(void)
{
	if (lost.pid == fxt_agent.pid)
		return;
	memset(&lost, 0, sizeof(lost));
	lost.pid = fxt_agent.pid;
}

void fxt_loss_windows_forget(void)
{
	atomic_fetch_add_explicit(&sessions, 1, memory_order_relaxed);
}

/* A window ends with its session. */
static bool is_of_this_session(void)
{
	return lost.session == atomic_load_explicit(&sessions, memory_order_relaxed);
}

void fxt_loss_note(const struct fxt_thread *thread, bool may_pass)
{
	struct fxt_managed_header *header = fxt_agent.buffer.managed ? fxt_agent.buffer.header : NULL;
	uint64_t now_ns = thread->last_ns;

	begin_anew_after_fork();
	if (!is_of_this_session())
		lost.records = 0;
	lost.session = atomic_load_explicit(&sessions, memory_order_relaxed);
	if (!lost.records++)
		lost.from_ns = now_ns;
	lost.to_ns = now_ns;
	lost.untold++;
	if (!header || (may_pass && lost.untold < TOLD_AT_ONCE && now_ns - lost.told_ns < TELL_NS))
		return;
	atomic_fetch_add_explicit(&header->num_records_dropped, lost.untold, memory_order_relaxed);
	lost.untold = 0;
	lost.told_ns = now_ns;
}

size_t fxt_loss_window(const struct fxt_thread *thread, uint64_t *record)
{
	struct fxt_arg args[] = {
		{FXT_ARG_UINT64, FXT_INDEXED(FXT_STR_records), .u64 = lost.records},
		{FXT_ARG_UINT64, FXT_INLINE("ns", 2), .u64 = lost.to_ns - lost.from_ns},
	};
	size_t words = 0;

	if (lost.pid == fxt_agent.pid && lost.records && is_of_this_session())
		words = fxt_encode_event(record, FXT_LOSS_WINDOW_WORDS, FXT_EVENT_INSTANT, lost.to_ns,
					 (struct fxt_thread_ref){thread->index, thread->pid, thread->tid},
					 FXT_INDEXED(FXT_STR_CATEGORIES + FXT_BIT_agent),
					 FXT_INLINE("lost", 4), (struct fxt_args){2, args}, 0);
	lost.records = 0;
	return words;
}
