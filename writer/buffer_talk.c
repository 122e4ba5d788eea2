/* Talks with the manager of a managed buffer (provider.h, docs/manager.md): buffer_managed.c asks for its
 * half to be saved, and what the manager says is heard here. buffer.h says who may call these functions. */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "buffer.h"

enum { HEAR_NS = 1000 * 1000 };         /* the least time between two looks for packets of the manager */

/* Notes that the manager wants nothing any more (-ESHUTDOWN), or is gone (-EPIPE), unless this process has
 * left it. The caller holds extend_lock. */
static void end_with(struct fxt_buffer *buffer, int error)
{
	if (buffer->managed && !buffer->is_kept &&
	    atomic_load_explicit(&buffer->failure, memory_order_relaxed) != -ESHUTDOWN)
		atomic_store_explicit(&buffer->failure, error, memory_order_relaxed);
}

bool fxt_managed_is_over(const struct fxt_buffer *buffer)
{
	int failure = atomic_load_explicit(&buffer->failure, memory_order_relaxed);

	return failure == -ESHUTDOWN || failure == -EPIPE;
}

bool fxt_managed_is_gone(const struct fxt_buffer *buffer)
{
	uint32_t word;

	if (!buffer->manager_word)
		return true;
	word = atomic_load_explicit(buffer->manager_word, memory_order_acquire);
	return !word || word & FXT_MANAGER_DIED;
}

/* Returns whether this process has its connection. If it has lost it, the program has another file in its
 * place, or has closed it in a way that we do not see: then the manager goes on to save the memory, but hears
 * nothing and says nothing. */
static bool has_connection(struct fxt_buffer *buffer)
{
	if (!buffer->managed)
		return false;
	if (!buffer->is_deaf && !fxt_file_is_ours(buffer, buffer->fd))
		buffer->is_deaf = true;
	if (buffer->is_deaf && fxt_managed_is_gone(buffer))
		end_with(buffer, -EPIPE);
	return !buffer->is_deaf;
}

bool fxt_managed_may_talk(struct fxt_buffer *buffer)
{
	if (buffer->is_kept)
		return false;
	if (!fxt_is_forbidden(FXT_NO_TALK))
		return has_connection(buffer);
	if (fxt_managed_is_gone(buffer) && buffer->manager_word)
		end_with(buffer, -EPIPE);
	return false;
}

/* Notes that the manager has saved a half, if it was asked to. An answer to a request that was not sent says
 * nothing. The caller holds extend_lock. */
static void note_saved(struct fxt_buffer *buffer, uint32_t wraps)
{
	uint64_t cursor = atomic_load_explicit(&buffer->cursor, memory_order_relaxed);
	uint32_t pass = (uint32_t)(cursor >> 32);

	if (buffer->mode == FXT_STREAMING && wraps == buffer->saved_wraps && wraps != pass)
		buffer->saved_wraps++;
}

void fxt_managed_hear_all(struct fxt_buffer *buffer)
{
	struct fxt_packet packet;
	long bytes;

	while (!fxt_managed_is_over(buffer) && fxt_managed_may_talk(buffer)) {
		bytes = FXT_SYSCALL6(SYS_recvfrom, buffer->fd, &packet, sizeof(packet), MSG_DONTWAIT, NULL,
				     NULL);
		if (bytes == -EAGAIN) {
			/* Its heir may hold the connection for a moment still. */
			if (buffer->manager_word && fxt_managed_is_gone(buffer))
				end_with(buffer, -EPIPE);
			return;
		}
		if (bytes == -EINTR)
			continue;
		if (bytes != (long)sizeof(packet))
			end_with(buffer, -EPIPE);
		else if (packet.request == FXT_MANAGER_STOP || packet.request == FXT_MANAGER_TERMINATE)
			end_with(buffer, -ESHUTDOWN);
		else if (packet.request == FXT_MANAGER_BUFFER_SAVED)
			note_saved(buffer, packet.data32);
		else if (packet.request == FXT_MANAGER_FULL)
			atomic_store_explicit(&buffer->full_bytes, packet.data64, memory_order_relaxed);
		else if (packet.request == FXT_MANAGER_ALL_SAVED)
			buffer->is_all_saved = true;
	}
}

void fxt_buffer_hear(struct fxt_buffer *buffer, uint64_t now_ns)
{
	uint64_t mask;

	if (!buffer->managed ||
	    now_ns - HEAR_NS < atomic_load_explicit(&buffer->heard_ns, memory_order_relaxed) ||
	    fxt_managed_is_over(buffer) || fxt_may_not_lock() || !fxt_trylock(&buffer->extend_lock, &mask))
		return;
	if (now_ns != UINT64_MAX)
		atomic_store_explicit(&buffer->heard_ns, now_ns, memory_order_relaxed);
	fxt_managed_hear_all(buffer);
	fxt_unlock(&buffer->extend_lock, mask);
}

/* Returns whether three quarters of the connection's room are left: the kernel says then that it is writable.
 * A manager that does not read may get alerts without end, and nothing else. */
static bool has_plenty_of_room(const struct fxt_buffer *buffer)
{
	struct pollfd poll = {buffer->fd, POLLOUT, 0};
	struct timespec none = {0, 0};

	return FXT_SYSCALL5(SYS_ppoll, &poll, 1, &none, NULL, 0) == 1;
}

void fxt_managed_say(struct fxt_buffer *buffer, struct fxt_packet packet)
{
	long bytes;

	do {
		if (!has_connection(buffer) ||
		    (packet.request == FXT_PROVIDER_ALERT && !has_plenty_of_room(buffer)))
			return;
		bytes = FXT_SYSCALL6(SYS_sendto, buffer->fd, &packet, sizeof(packet),
				     MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
	} while (bytes == -EINTR);
	/* The socket has room for everything but alerts, because a request waits until the last one was
	 * answered. */
	if (bytes != (long)sizeof(packet))
		end_with(buffer, -EPIPE);
}

void fxt_buffer_tell(struct fxt_buffer *buffer, struct fxt_packet packet)
{
	uint64_t mask;

	if (fxt_may_not_lock() || fxt_is_forbidden(FXT_NO_TALK))
		return;
	mask = fxt_lock(&buffer->extend_lock);
	fxt_managed_say(buffer, packet);
	fxt_unlock(&buffer->extend_lock, mask);
}

void fxt_buffer_mute(struct fxt_buffer *buffer)
{
	if (buffer->managed)
		fxt_buffer_tell(buffer, (struct fxt_packet){FXT_PROVIDER_MUTED, 0, 0, 0});
}

void fxt_buffer_hand_over(struct fxt_buffer *buffer)
{
	/* The program may have put another file in the connection's place: hear_all() notices that. */
	const struct timespec most = {0, 100 * 1000 * 1000};
	struct timespec left;
	struct pollfd poll = {buffer->fd, POLLIN, 0};
	uint64_t mask;
	bool is_done;

	if (!buffer->managed || fxt_managed_is_over(buffer) || fxt_may_not_lock() ||
	    fxt_is_forbidden(FXT_NO_TALK))
		return;
	buffer->is_all_saved = false;
	fxt_buffer_tell(buffer, (struct fxt_packet){FXT_PROVIDER_ENDING, 0, 0, 0});
	for (;;) {
		mask = fxt_lock(&buffer->extend_lock);
		fxt_managed_hear_all(buffer);
		is_done = buffer->is_all_saved || fxt_managed_is_over(buffer) || buffer->is_deaf ||
			  !buffer->managed;
		fxt_unlock(&buffer->extend_lock, mask);
		if (is_done)
			return;
		left = most;
		FXT_SYSCALL5(SYS_ppoll, &poll, 1, &left, NULL, 0);
	}
}

void fxt_managed_saved(struct fxt_buffer *buffer, uint32_t wraps)
{
	uint64_t mask = fxt_lock(&buffer->extend_lock);

	note_saved(buffer, wraps);
	fxt_unlock(&buffer->extend_lock, mask);
}

bool fxt_managed_is_saving(const struct fxt_buffer *buffer)
{
	uint64_t at = atomic_load_explicit(&buffer->cursor, memory_order_relaxed);

	return buffer->managed && !fxt_managed_is_over(buffer) &&
	       !(buffer->manager_word && fxt_managed_is_gone(buffer)) &&
	       atomic_load_explicit(&buffer->saved_wraps, memory_order_relaxed) != (uint32_t)(at >> 32) &&
	       atomic_load(&buffer->header->saves) ==
		       atomic_load_explicit(&buffer->asked_saves, memory_order_relaxed);
}

void fxt_managed_all_saved(struct fxt_buffer *buffer)
{
	uint64_t mask = fxt_lock(&buffer->extend_lock);

	buffer->is_all_saved = true;
	fxt_unlock(&buffer->extend_lock, mask);
}

void fxt_buffer_tell_dropped(struct fxt_buffer *buffer, uint64_t records)
{
	struct fxt_managed_header *header = buffer->header;
	uint64_t told;

	if (!buffer->managed)
		return;
	told = atomic_load_explicit(&header->num_records_dropped, memory_order_relaxed);
	/* Threads add what they drop themselves, but for the last few records. */
	while (told < records &&
	       !atomic_compare_exchange_weak_explicit(&header->num_records_dropped, &told, records,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

void fxt_buffer_leaves(struct fxt_buffer *buffer, bool leaves)
{
	struct fxt_managed_header *header = buffer->header;
	unsigned count = atomic_load(&buffer->leavers);

	/* A thread whose buffer was made in between has not been counted. */
	while (!atomic_compare_exchange_weak(&buffer->leavers, &count,
					     leaves ? count + 1 : count - (count > 0)))
		;
	/* Another thread may be about to execute a program too. What is stored last is what is true then. */
	do {
		count = atomic_load(&buffer->leavers);
		if (header)
			atomic_store(&header->outlives_connection, !count);
	} while (atomic_load(&buffer->leavers) != count);
}
