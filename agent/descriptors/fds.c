/* See fds.h. This file owns the table of descriptors, and writes the begins and ends of their lifetimes.
 * Opening and closing are rare beside other calls, so nothing here is inlined. */
#include "fds.h"

#include "agent/arrows/wait.h"
#include "agent/arrows/async.h"
#include "agent/base/stack.h"
#include "agent/emit/call_stack.h"
#include "agent/emit/emit.h"
#include "endpoint.h"
#include "fd_slots.h"
#include "rings.h"

FXT_LARGE struct fxt_fd fxt_fd_first[FXT_FDS_PAGE];
_Atomic(struct fxt_fd *) fxt_fd_pages[FXT_FDS_PAGES] FXT_LARGE;
static_assert(sizeof(fxt_fd_first[0]) == 64, "a cache line");
static atomic_int highest = -1;         /* the highest number that was opened so far */
static _Atomic uint32_t generation = 1; /* counts forks and starts: see struct fxt_fd */

/* -- The table --------------------------------------------------------------------------------- */

struct fxt_fd *fxt_fd_make(int fd)
{
	struct fxt_fd *entry = fxt_fd(fd), *made, *none = NULL;
	unsigned page = (unsigned)fd / FXT_FDS_PAGE;

	if (entry || (unsigned)fd >= FXT_FDS_MAX)
		return entry;
	made = fxt_sys_memory(sizeof(fxt_fd_first));
	if (!made)
		return NULL;
	if (!atomic_compare_exchange_strong(&fxt_fd_pages[page], &none, made))
		fxt_sys_munmap(made, sizeof(fxt_fd_first));
	return fxt_fd(fd);
}

bool fxt_fds_ask(struct fxt_thread *thread)
{
	/* If a filter of system calls forbids the question, this is no child: the filter came before the
	 * vfork, and would have killed that. */
	if (!fxt_is_forbidden(FXT_NO_LOCKS) && (uint32_t)fxt_sys_getpid() != fxt_agent.pid)
		return false;
	thread->may_be_child = false;
	return true;
}

void fxt_fds_start(void)
{
	atomic_store_explicit(&fxt_fd_first[STDERR_FILENO].is_stderr, 1, memory_order_relaxed);
}

void fxt_fds_mode(void)
{
	fxt_fd_slots_mode();
}

void fxt_fds_again(void)
{
	atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
	fxt_fd_slots_empty();
}

void fxt_fds_after_fork(void)
{
	atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
	fxt_fd_slots_after_fork();
	if (fxt_self)
		fxt_self->may_be_child = false;
}

/* -- Events ------------------------------------------------------------------------------------ */

/* Returns category and name as an event's header has them, from the header's upper half. */
static uint64_t names_of(uint32_t upper_half)
{
	return (uint64_t)upper_half << 32;
}

/* Stores the arguments of a begin at `at`, and returns where they end. *arguments gets their number.
 * `text_words` is how many words a text may take if the begin is in a slot; 0: the begin is in a chunk, and
 * the text is whole. */
static uint64_t *put_arguments(struct fxt_thread *thread, uint64_t *at, int fd, uint64_t call_names,
			       const struct fxt_fd_detail *detail, size_t text_words, unsigned *arguments)
{
	at = fxt_put_int(at, FXT_STR_fd, fd);
	*at++ = fxt_arg_header(FXT_ARG_STRING, 1, FXT_STR_call) |
		fxt_arg_string(fxt_get_event_name(call_names));
	*arguments = 2;
	if (detail->name) {
		/* In a lifetime the argument `pid` is the process that has it, so the pid that a pidfd stands
		 * for is called `process`. */
		uint64_t name = detail->name == FXT_STR_pid ? FXT_STR_process : detail->name;

		if (!detail->text)
			at = fxt_put_int(at, name, detail->number);
		else if (text_words)
			at = fxt_fd_slot_put_text(at, text_words, name, detail->text, detail->bytes);
		else
			at = fxt_put_text(at, name, detail->text, detail->bytes);
		++*arguments;
	}
	if (detail->of) {
		at = fxt_put_uint(at, FXT_STR_of, detail->of);
		++*arguments;
	}
	++*arguments;
	return fxt_async_put_owner(thread, at);
}

/* Writes the begin of a lifetime to a slot. Returns false if there is no slot for it. */
static bool put_in_slot(struct fxt_thread *thread, int fd, uint64_t now_ns, uint64_t call_names,
			uint64_t names, const struct fxt_fd_detail *detail, uint64_t id,
			uint32_t stack)
{
	/* A duplicate needs no room for `of` beside a text, because it has no text of its own. */
	enum { OTHER_WORDS = 2 + FXT_ASYNC_OWNER_WORDS + FXT_STACK_WORDS };     /* number and call */
	unsigned arguments;
	struct fxt_lane *lane;
	uint64_t *slot = fxt_fd_slot_claim(thread, fd, now_ns, id, &lane), *at, *end;
	const uint64_t *original;

	if (!slot)
		return false;
	at = fxt_fd_slot_arguments(slot);
	at = put_arguments(thread, at, fd, call_names, detail, fxt_fd_slot_left(slot, at, OTHER_WORDS),
			   &arguments);
	at = fxt_put_stack(at, FXT_STR_stack, stack);
	arguments += stack != 0;
	/* The text is copied, because the original's lifetime may be over, and overwritten, in the trace. */
	original = fxt_fd_slot(detail->number, detail->original);
	if (original) {
		end = fxt_fd_slot_copy_text(at, fxt_fd_slot_left(slot, at, 0), original);
		arguments += end > at;
		at = end;
	}
	fxt_fd_slot_show(lane, slot, at, id, names, arguments);
	return true;
}

/* Writes the begin of a lifetime to a slot or to a chunk. Returns the lifetime's id, or 0 if there is no
 * room: then the lifetime has no end either. */
static uint64_t put_begin(struct fxt_thread *thread, int fd, uint64_t now_ns, uint64_t call_names,
			  uint64_t names, const struct fxt_fd_detail *detail)
{
	uint32_t stack = fxt_call_stack(thread);
	size_t words = 6 + FXT_ASYNC_OWNER_WORDS + FXT_STACK_WORDS +
		       (detail->text ? fxt_words_of(detail->bytes) + 2 : 1);
	uint64_t id = fxt_fd_slots_on ? fxt_flow_id() : 0, *at;
	unsigned arguments;

	if (id && put_in_slot(thread, fd, now_ns, call_names, names, detail, id, stack)) {
		fxt_call_stack_tell_for_good(thread, stack);
		return id;
	}
	at = fxt_reserve_extra(thread, now_ns, words);
	if (!at)
		return 0;
	at = put_arguments(thread, at, fd, call_names, detail, 0, &arguments);
	at = fxt_put_stack(at, FXT_STR_stack, stack);
	id = fxt_flow_id();
	fxt_async_commit_begin(thread, at, id, names, arguments + (stack != 0));
	fxt_call_stack_tell(thread, stack);
	return id;
}

/* Returns whether the bytes of a descriptor were all counted. Sockets are read and written by calls of two
 * categories, which both have to be on. The calls that use message queues count messages. */
static bool has_counted(const struct fxt_fd_taken *was, uint64_t names)
{
	return !was->is_buffered && fxt_get_event_name(names) != FXT_STR_life_queue &&
	       fxt_is_on(FXT_CAT_io) &&
	       (fxt_is_on(FXT_CAT_net) || fxt_get_event_category(names) == FXT_STR_CATEGORIES + FXT_BIT_io);
}

/* Returns the generation of this process. */
static uint32_t this_process(void)
{
	return atomic_load_explicit(&generation, memory_order_relaxed);
}

/* Takes the slot with a lifetime's begin, to end the lifetime. The caller has raised the thread's level.
 * Returns NULL if the slot is not there any more, as in the child of a fork. */
static uint64_t *take_slot(const struct fxt_fd_taken *was, uint64_t id)
{
	return was->generation == this_process() ? fxt_fd_slot_take(was->fd, id) : NULL;
}

/* Moves a begin from its slot to the lane, which has room. Returns its category and name. */
static uint64_t move_begin(struct fxt_lane *lane, uint64_t *slot)
{
	uint64_t header = slot[0] & ~fxt_record_words(FXT_RECORD_MAX_WORDS), *at;
	size_t words = fxt_fd_slot_words(slot);

	at = fxt_lane_place(lane, words);
	memcpy(at + 1, slot + 1, (words - 1) * FXT_WORD_BYTES);
	fxt_fd_slot_hide(slot);
	fxt_lane_commit(lane, at, words, header);
	fxt_fd_slot_free(slot);
	return fxt_names_of(fxt_get_event_category(header), fxt_get_event_name(header));
}

/* Removes the begin of a lifetime that will have no end. */
static void drop_begin(struct fxt_thread *thread, const struct fxt_fd_taken *was, uint64_t id)
{
	struct fxt_lane *lane = fxt_lane_raise(thread, FXT_LANE_EXTRA);
	uint64_t *slot;

	slot = take_slot(was, id);
	if (slot) {
		fxt_fd_slot_hide(slot);
		fxt_fd_slot_free(slot);
	}
	fxt_lane_lower(lane);
}

/* Begins the emission of an end with `words` words of arguments. If the begin is in a slot, it is moved in
 * front of the end, *names gets its category and name, and *stack the stack that it names. Returns where the
 * arguments go, or NULL if there is no room. */
static uint64_t *reserve_with_begin(struct fxt_thread *thread, uint64_t now_ns, size_t words, uint64_t id,
				    const struct fxt_fd_taken *was, uint64_t *names, uint32_t *stack)
{
	struct fxt_lane *lane = fxt_open_lane(
		thread, FXT_FD_SLOT_WORDS + FXT_LANE_SLACK_WORDS + FXT_FRAME_WORDS + words + 1, false);
	uint64_t *slot;

	if (!lane) {
		drop_begin(thread, was, id);
		return NULL;
	}
	slot = take_slot(was, id);
	if (slot && slot[1] >= now_ns)
		now_ns = slot[1] + 1;
	if (slot) {
		*stack = fxt_fd_slot_stack(slot);
		*names = move_begin(lane, slot);
	}
	return fxt_begin_record(thread, fxt_lane_place(lane, words + 1 + fxt_frame_words(thread)), now_ns);
}

/* Writes the end of lifetime `id`. `is_all` says whether the bytes in *was are those of this lifetime. */
static void put_end(struct fxt_thread *thread, uint64_t now_ns, uint64_t names, uint64_t id,
		    const struct fxt_fd_taken *was, bool is_all)
{
	bool has_bytes = is_all && has_counted(was, names);
	uint32_t stack = 0;
	uint64_t *at;

	/* The clocks of two threads differ by a little, and no lifetime may end before it began. */
	if (now_ns <= was->begin_ns)
		now_ns = was->begin_ns + 1;
	if (fxt_fd_slots_on)
		at = reserve_with_begin(thread, now_ns, 4, id, was, &names, &stack);
	else
		at = fxt_async_reserve_end(thread, now_ns, 4, id);
	if (!at)
		return;
	if (has_bytes) {
		at = fxt_put_uint(at, FXT_STR_read_bytes, was->read_bytes);
		at = fxt_put_uint(at, FXT_STR_written_bytes, was->written_bytes);
	}
	fxt_async_commit_end(thread, at, id, names, has_bytes ? 2 : 0);
	fxt_call_stack_tell(thread, stack);
}

/* Category and name of the lifetime that connect() begins. */
#define CONNECTION_NAMES fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_net, FXT_STR_life_connection)

/* Writes the ends of the lifetimes in *was. A lifetime whose category and name are not known has no end,
 * because begin and end must have the same. On a short stack the lifetimes are removed, as they are where an
 * end finds no room. */
static void put_ends(struct fxt_thread *thread, uint64_t now_ns, const struct fxt_fd_taken *was)
{
	if ((was->connection | was->life) && fxt_stack_is_short()) {
		if (was->connection && fxt_fd_slots_on)
			drop_begin(thread, was, was->connection);
		if (was->life && fxt_fd_slots_on)
			drop_begin(thread, was, was->life);
		return;
	}
	if (was->connection)
		put_end(thread, now_ns, CONNECTION_NAMES, was->connection, was, !was->is_reconnected);
	if (was->life && was->life_names)
		put_end(thread, now_ns, names_of(was->life_names), was->life, was, true);
	else if (was->life && fxt_fd_slots_on)
		drop_begin(thread, was, was->life);
}

/* -- Entries ----------------------------------------------------------------------------------- */

/* Returns whether the lifetimes of an entry began in the trace of a parent. */
static bool is_inherited(const struct fxt_fd *entry)
{
	return atomic_load_explicit(&entry->generation, memory_order_relaxed) != this_process();
}

/* Copies an entry to *was, except the two ids, which the caller has taken from the entry before. */
static void read_entry(const struct fxt_fd *entry, int fd, struct fxt_fd_taken *was)
{
	uint64_t named = atomic_load_explicit(&entry->life_named, memory_order_relaxed);

	was->fd = fd;
	was->generation = this_process();
	was->read_bytes = atomic_load_explicit(&entry->read_bytes, memory_order_relaxed);
	was->written_bytes = atomic_load_explicit(&entry->written_bytes, memory_order_relaxed);
	was->begin_ns = entry->begin_ns;
	was->life_names = (uint32_t)named == (uint32_t)was->life ? (uint32_t)(named >> 32) : 0;
	was->is_buffered = entry->is_buffered;
	was->is_reconnected = entry->is_reconnected;
}

/* Empties an entry but for its lifetimes, which lose their names. */
static inline void forget_bytes(struct fxt_fd *entry)
{
	atomic_store_explicit(&entry->stream, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->read_bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->written_bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->life_named, 0, memory_order_relaxed);
	entry->is_buffered = entry->is_reconnected = false;
}

/* Empties an entry, and copies to *was what it knew. If two threads close the same number, only one of them
 * gets an id. */
static void take(struct fxt_fd *entry, int fd, struct fxt_fd_taken *was)
{
	was->life = atomic_exchange(&entry->life, 0);
	was->connection = atomic_exchange(&entry->connection, 0);
	read_entry(entry, fd, was);
	if (is_inherited(entry))
		was->life = was->connection = 0;
	forget_bytes(entry);
}

/* Returns the empty entry of a number that the kernel has just given out, or NULL. If the entry had a
 * lifetime, its descriptor was closed unseen, and the lifetime ends at now_ns. */
static struct fxt_fd *renew(struct fxt_thread *thread, int fd, uint64_t now_ns)
{
	struct fxt_fd *entry = fxt_fd_make(fd);
	struct fxt_fd_taken was;
	int top = atomic_load_explicit(&highest, memory_order_relaxed);

	if (!entry)
		return NULL;
	while (fd > top && !atomic_compare_exchange_weak_explicit(&highest, &top, fd, memory_order_relaxed,
								  memory_order_relaxed))
		;
	take(entry, fd, &was);
	put_ends(thread, now_ns, &was);
	atomic_store_explicit(&entry->generation, this_process(), memory_order_relaxed);
	return entry;
}

/* Returns the calling thread's state, if any category is on: the category of the call that closes or
 * duplicates may be off. */
static struct fxt_thread *enter(void)
{
	return atomic_load_explicit(&fxt_gate.mask, memory_order_relaxed) ? fxt_enter_on() : NULL;
}

/* Stores the id of a lifetime that has just begun. If another thread has begun a lifetime of the same number
 * meanwhile, nobody would end the other one, so its begin is removed if it stands in a slot. */
static void set_life(struct fxt_thread *thread, _Atomic uint64_t *life, int fd, uint64_t id)
{
	uint64_t other;

	if (!fxt_fd_slots_on) {
		atomic_store_explicit(life, id, memory_order_relaxed);
		return;
	}
	other = atomic_exchange(life, id);
	if (FXT_UNLIKELY(other))
		drop_begin(thread, &(struct fxt_fd_taken){.fd = fd, .generation = this_process()}, other);
}

/* Writes the begin of a descriptor's lifetime, and stores its id in the entry. On a short stack there is no
 * lifetime. */
static void begin_life(struct fxt_thread *thread, struct fxt_fd *entry, int fd, uint64_t now_ns,
		       uint64_t call_names, uint64_t names, const struct fxt_fd_detail *detail)
{
	uint64_t id;

	entry->begin_ns = now_ns;
	id = fxt_stack_is_short() ? 0 : put_begin(thread, fd, now_ns, call_names, names, detail);
	atomic_store_explicit(&entry->life_named, (names >> 32) << 32 | (uint32_t)id, memory_order_relaxed);
	set_life(thread, &entry->life, fd, id);
}

/* Removes the lifetimes of an entry, of which nobody has seen the end. */
static __attribute__((noinline)) void forget_lives(struct fxt_thread *thread, struct fxt_fd *entry, int fd)
{
	struct fxt_fd_taken was;

	take(entry, fd, &was);
	put_ends(thread, thread->last_ns, &was);
}

/* Forgets what had the number of a new descriptor, which is not known itself, on a short stack. Where there
 * is no room even to remove a lifetime, that is left without its name: so it is removed when the number is
 * closed or used again. */
static void forget(struct fxt_thread *thread, int fd)
{
	enum { REMOVAL_BYTES = 800 };
	struct fxt_fd *entry = fxt_fds_are_ours(thread) ? fxt_fd(fd) : NULL;

	if (!entry)
		return;
	forget_bytes(entry);
	if (!atomic_load_explicit(&entry->life, memory_order_relaxed) &&
	    !atomic_load_explicit(&entry->connection, memory_order_relaxed))
		return;
	if (fxt_stack_has_less(REMOVAL_BYTES))
		/* Bytes that are counted from here on are not those of that connection. */
		entry->is_reconnected = true;
	else
		forget_lives(thread, entry, fd);
}

static __attribute__((noinline)) void know(struct fxt_thread *thread, int fd, uint64_t now_ns, uint64_t names,
					   uint64_t what, const struct fxt_fd_detail *detail)
{
	struct fxt_fd *entry = fxt_fds_are_ours(thread) ? renew(thread, fd, now_ns) : NULL;

	if (entry)
		begin_life(thread, entry, fd, now_ns, names,
			   fxt_names_of(fxt_get_event_category(names), what), detail);
}

/* The way to the begin of a lifetime takes several hundred bytes of stack before anything looks for room. */
void fxt_fd_opened(struct fxt_thread *thread, int fd, uint64_t now_ns, uint64_t names, uint64_t what,
		   struct fxt_fd_detail detail)
{
	if (fxt_stack_is_short())
		forget(thread, fd);
	else
		know(thread, fd, now_ns, names, what, &detail);
}

/* Returns the lifetime whose begin says most about a descriptor: that of its connection, if it has one. */
static uint64_t original_of(const struct fxt_fd *entry)
{
	uint64_t connection = atomic_load_explicit(&entry->connection, memory_order_relaxed);

	return connection ? connection : atomic_load_explicit(&entry->life, memory_order_relaxed);
}

void fxt_fd_duplicated(int oldfd, int newfd, uint64_t names)
{
	struct fxt_thread *thread = oldfd != newfd ? enter() : NULL;
	struct fxt_fd_detail detail = {.name = FXT_STR_oldfd, .number = oldfd};
	struct fxt_fd *entry, *old;
	uint64_t now_ns, named, what = FXT_STR_life_descriptor;

	if (!thread || !fxt_fds_are_ours(thread))
		return;
	now_ns = fxt_now(thread);
	entry = renew(thread, newfd, now_ns);
	if (!entry)
		return;
	old = fxt_fd(oldfd);
	if (old) {
		atomic_store_explicit(&entry->stream,
				      atomic_load_explicit(&old->stream, memory_order_relaxed),
				      memory_order_relaxed);
		if (!is_inherited(old)) {
			detail.of = atomic_load_explicit(&old->life, memory_order_relaxed);
			detail.original = original_of(old);
		}
		if (newfd == 2)
			fxt_endpoint_unseen(newfd);
		named = atomic_load_explicit(&old->life_named, memory_order_relaxed);
		if (named >> 32)
			what = fxt_get_event_name(names_of((uint32_t)(named >> 32)));
	}
	if (fxt_is_on(FXT_CAT_io))
		begin_life(thread, entry, newfd, now_ns, names,
			   fxt_names_of(fxt_get_event_category(names), what), &detail);
}

void fxt_fd_bound(struct fxt_thread *thread, int fd, struct fxt_fd_detail detail)
{
	struct fxt_fd *entry = fxt_fd(fd);
	uint64_t id = entry && fxt_fds_are_ours(thread) && !is_inherited(entry)
			      ? atomic_load_explicit(&entry->life, memory_order_relaxed)
			      : 0;

	if (id && detail.bytes)
		fxt_fd_slot_add(thread, fd, detail.name, detail.text, detail.bytes, &entry->life, id);
}

void fxt_fd_buffered(struct fxt_thread *thread, int fd)
{
	struct fxt_fd *entry = fxt_fd(fd);

	if (entry && fxt_fds_are_ours(thread))
		entry->is_buffered = true;
}

/* -- Connections ------------------------------------------------------------------------------- */

void fxt_fd_disconnected(struct fxt_thread *thread, int fd, uint64_t now_ns)
{
	struct fxt_fd *entry = fxt_fd(fd);
	struct fxt_fd_taken was = {0};

	if (!entry || !fxt_fds_are_ours(thread))
		return;
	was.connection = atomic_exchange_explicit(&entry->connection, 0, memory_order_relaxed);
	read_entry(entry, fd, &was);
	if (!is_inherited(entry))
		put_ends(thread, now_ns, &was);
}

void fxt_fd_connected(struct fxt_thread *thread, int fd, uint64_t now_ns, uint64_t names,
		      struct fxt_fd_detail detail)
{
	struct fxt_fd *entry = fxt_fds_are_ours(thread) ? fxt_fd_make(fd) : NULL;

	if (!entry)
		return;
	if (atomic_load_explicit(&entry->connection, memory_order_relaxed)) {
		fxt_fd_disconnected(thread, fd, now_ns);
		entry->is_reconnected = true;
	}
	/* This is an inherited socket that the child connects: its own lifetime began in the parent's
	 * trace. */
	if (is_inherited(entry)) {
		atomic_store_explicit(&entry->life, 0, memory_order_relaxed);
		atomic_store_explicit(&entry->generation, this_process(), memory_order_relaxed);
	}
	entry->begin_ns = now_ns;
	set_life(thread, &entry->connection, fd,
		 fxt_stack_is_short() ? 0
				      : put_begin(thread, fd, now_ns, names, CONNECTION_NAMES, &detail));
}

/* -- Closed ------------------------------------------------------------------------------------ */

void fxt_fd_take(int fd, struct fxt_fd_taken *taken)
{
	struct fxt_thread *thread = enter();
	struct fxt_fd *entry = fxt_fd(fd);

	if (entry && thread && fxt_fds_are_ours(thread)) {
		if (FXT_UNLIKELY(atomic_load_explicit(&fxt_rings_any, memory_order_relaxed)))
			fxt_ring_closes(thread, fd);
		take(entry, fd, taken);
	} else {
		taken->life = taken->connection = 0;
	}
}

void fxt_fd_end(const struct fxt_fd_taken *taken)
{
	struct fxt_thread *thread = fxt_self;

	/* A signal handler may have forked during the call, and this may be the child. */
	if (taken->life | taken->connection && thread && taken->generation == this_process())
		put_ends(thread, fxt_now(thread), taken);
}

uint64_t fxt_fds_mark(void)
{
	struct fxt_thread *thread = enter();

	if (thread && fxt_fds_are_ours(thread))
		fxt_rings_tell(thread);
	return fxt_flow_id();
}

void fxt_fds_closed(unsigned first, unsigned last, uint64_t mark)
{
	struct fxt_thread *thread = enter();
	int top = atomic_load_explicit(&highest, memory_order_relaxed);
	struct fxt_fd_taken was;
	struct fxt_fd *entry;
	uint64_t id;
	unsigned fd;

	if (!thread || !fxt_fds_are_ours(thread))
		return;
	for (fd = first; top >= 0 && fd <= last && fd <= (unsigned)top; fd++) {
		entry = fxt_fd((int)fd);
		if (!entry || !fxt_fd_is_known(entry))
			continue;
		/* The lifetime is younger than the call: another thread was given the number anew. */
		id = atomic_load_explicit(&entry->life, memory_order_relaxed);
		if (id && (int32_t)(uint32_t)(id - mark) > 0)
			continue;
		take(entry, (int)fd, &was);
		put_ends(thread, fxt_now(thread), &was);
	}
}
