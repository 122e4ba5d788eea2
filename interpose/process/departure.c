/* Writes and takes back the event of a call of exec, and ends what the thread is in. exec.c calls this around
 * the real call, also in the child of a vfork, where the thread's state is the parent's: departure.h. */
#include "departure.h"

#include "agent/arrows/parent_links.h"
#include "agent/descriptors/fds.h"
#include "agent/descriptors/rings.h"
#include "agent/fibers/fiber.h"
#include "agent/process/lifecycle.h"
#include "argv.h"
#include "interpose/engine/interpose.h"

/* Writes the call's event. The threshold does not apply: that the program becomes another one is worth
 * knowing, however fast that was. */
static void put_event(struct fxt_departure *departure, const char *refusal, uint64_t names, uint64_t start_ns,
		      uint64_t path_name, const char *path, int fd, char *const *argv)
{
	struct fxt_thread *thread = departure->thread;
	size_t path_bytes = fxt_text_bytes_checked(thread, path), argv_bytes = fxt_argv_bytes(argv);
	uint64_t end_ns = fxt_now(thread), *at;
	size_t refusal_words = refusal ? 2 + fxt_words_of(strlen(refusal)) : 0;

	at = fxt_room_kept(thread, start_ns, end_ns,
			   4 + fxt_words_of(path_bytes) + fxt_words_of(argv_bytes) + refusal_words);
	if (!at)
		return;
	departure->lane = fxt_lane_of(thread, at);
	if (departure->lane) {
		departure->record = departure->lane->at;
		departure->serial = departure->lane->serial;
	}
	at = path_bytes ? fxt_put_text(at, path_name, path, path_bytes) : fxt_put_int(at, FXT_STR_fd, fd);
	at = fxt_put_argv(at, argv, argv_bytes);
	if (refusal)
		at = fxt_put_text(at, FXT_STR_untraced, refusal, strlen(refusal));
	fxt_complete(thread, at, end_ns, names, refusal ? 3 : 2);
}

/* Takes the call's event back. If the lane is in another chunk by now, because a handler has recorded so
 * much, the event stays, and the one with the error follows it. */
static void take_event_back(const struct fxt_departure *departure)
{
	struct fxt_thread *thread = departure->thread;
	struct fxt_lane *raised = fxt_lane_raise(thread, FXT_LANE_EXTRA), *lane = departure->lane;

	/* Another thread may take the chunk away, but not from a lane that is raised and has room. */
	if (lane == raised && lane->serial == departure->serial && fxt_lane_has(lane, 1)) {
		atomic_store_explicit((_Atomic uint64_t *)departure->record,
				      fxt_filler(fxt_get_record_words(departure->record[0])),
				      memory_order_release);
		lane->events--;
	}
	fxt_lane_lower(raised);
}

static void tell(struct fxt_departure *departure, const char *refusal, uint64_t names, uint64_t path_name,
		 const char *path, int fd, char *const *argv)
{
	struct fxt_thread *thread = fxt_self;
	uint64_t start_ns;

	*departure = (struct fxt_departure){0};
	if (!thread || !atomic_load_explicit(&fxt_gate.mask, memory_order_relaxed))
		return;
	departure->thread = thread;
	departure->of_child = !fxt_fds_ask(thread);
	start_ns = fxt_now(thread);
	if (fxt_is_on(FXT_CAT_process)) {
		if (departure->of_child)
			fxt_birth_vforked(thread, (uint32_t)fxt_sys_getpid());
		put_event(departure, refusal, names, start_ns, path_name, path, fd, argv);
	}
	if (departure->of_child) {
		thread->vfork.left_ns = fxt_now(thread);
		return;
	}
	fxt_birth_tell(thread);
	fxt_rings_tell(thread);
	fxt_in_progress_end(thread, fxt_now(thread), fxt_get_event_name(names));
	fxt_fibers_end(thread->last_ns, fxt_get_event_name(names));
}

void fxt_departure_begin(struct fxt_departure *departure, const char *refusal, uint64_t names,
			 uint64_t path_name, const char *path, int fd, char *const *argv)
{
	tell(departure, refusal, names, path_name, path, fd, argv);
	fxt_agent_save();
	fxt_agent_trim();
	fxt_agent_leaves(true);
}

void fxt_departure_failed(struct fxt_departure *departure)
{
	struct fxt_thread *thread = departure->thread;

	fxt_agent_leaves(false);
	if (!thread)
		return;
	if (departure->of_child) {
		thread->vfork.left_ns = 0;
	} else {
		fxt_in_progress_go_on(thread);
		fxt_fibers_go_on();
	}
	if (departure->lane)
		take_event_back(departure);
}
