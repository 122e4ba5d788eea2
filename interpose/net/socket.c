/* Makes the wrappers of sockets: socket.def, and the kinds of parameter and result that only it has. */
#include <netinet/in.h>
#include <sys/socket.h>

#include "address.h"
#include "agent/descriptors/fd_slots.h"
#include "interpose/engine/interpose.h"

typedef int descriptor_pair[2];

/* PAIR: two descriptors that the call returned, which are recorded as fd1 and fd2. */
#define COUNT_PAIR 0
#define WORDS_PAIR(name) 2
#define MEASURE_PAIR(name)
#define PUT_PAIR(name)                                            \
	if (!failure_) {                                          \
		at_ = fxt_put_int(at_, FXT_STR_fd1, name[0]);     \
		at_ = fxt_put_int(at_, FXT_STR_fd2, name[1]);     \
		arguments_ += 2;                                  \
	}

#define TAKE_PAIR , TAKE_ARRAY
#define TAKE_ARRAY(type, name) int *name = (int *)*next_++;

/* FD_PAIR: an INT, of a call that puts two new descriptors into `pair`. */
#define FAILURE_FD_PAIR(pair, what, of) FAILURE_INT
#define RESULT_FD_PAIR(pair, what, of) RESULT_INT
#define CALLEE_FD_PAIR(pair, what, of) , opening_
#define AROUND_FD_PAIR(pair, what, of) , FXT_OPENS_NUMBER
#define AFTER_FD_PAIR(pair, what, of)				\
	, if (!result_) {					\
		FXT_OPENED(pair[0], what, of);			\
		FXT_OPENED(pair[1], what, of);			\
		fxt_endpoint_pair(thread_, pair, domain, type);	\
	}

/* CONNECTS: an INT, of a call after which a socket has a peer, or may have one soon; after AF_UNSPEC it has
 * none.
 * SHUTS: an INT, of a call after which neither direction may be left. */
#define FAILURE_CONNECTS(fd) FAILURE_INT
#define RESULT_CONNECTS(fd) RESULT_INT
#define AFTER_CONNECTS(fd)								\
	, if (!result_ && addr_bytes && fxt_sockaddr(&addr)->sa_family == AF_UNSPEC) {	\
		fxt_fd_disconnected(thread_, fd, end_ns_);				\
		fxt_endpoint_disconnected(thread_, fd);					\
	} else if (!result_ || failure_ == EINPROGRESS) {				\
		fxt_fd_connected(thread_, fd, end_ns_, names_, FXT_PEER(addr, -1));	\
		fxt_endpoint_connected(thread_, fd, fxt_sockaddr(&addr), addr_bytes);	\
	} else if (failure_ != EALREADY && failure_ != EISCONN) {			\
		fxt_endpoint_disconnected(thread_, fd);					\
	}

/* BINDS: an INT, of a call after which a socket has an address of its own: the one given, or one that the
 * kernel chose.
 * LISTENS: an INT, of a call that gives a socket such an address if it had none. */
#define FAILURE_BINDS(fd, given) FAILURE_INT
#define RESULT_BINDS(fd, given) RESULT_INT
#define AFTER_BINDS(fd, given)									\
	, if (FXT_UNLIKELY(fxt_fd_slots_on) && !result_)					\
		fxt_fd_bound(thread_, fd,							\
			     fxt_address_own(fd##_text, fd##_text_bytes, fxt_sockaddr(&given),	\
					     given##_bytes));
#define FAILURE_LISTENS(fd) FAILURE_INT
#define RESULT_LISTENS(fd) RESULT_INT
#define AFTER_LISTENS(fd)										\
	, if (FXT_UNLIKELY(fxt_fd_slots_on) && !result_)						\
		fxt_fd_bound(thread_, fd, fxt_address_own(fd##_text, fd##_text_bytes, NULL, 0));
#define FAILURE_SHUTS(fd) FAILURE_INT
#define RESULT_SHUTS(fd) RESULT_INT
#define AFTER_SHUTS(fd)						\
	, if (!result_ && how == SHUT_RDWR)			\
		fxt_fd_disconnected(thread_, fd, end_ns_);

/* SENT, RECEIVED: WRITTEN and READ, of calls with flags. Bytes that were read with MSG_PEEK stay there, and
 * bytes that are sent out of band have no place among the others. RECEIVED_MESSAGE: a RECEIVED that may have
 * brought descriptors. */
#define FAILURE_SENT(fd) FAILURE_LONG
#define RESULT_SENT(fd) RESULT_LONG
#define AFTER_SENT(fd) AFTER_WRITTEN(fd)
#define ENTER_SENT(fd)                                                          \
	, struct fxt_writing writing_; leave_band(fd, flags);                   \
	fxt_writes(thread_, fd, &writing_);
#define LEAVE_SENT(fd) LEAVE_WRITTEN(fd)

/* SENT_TO, SENT_MESSAGE: a SENT that may go to an address, and so to another socket than the peer. */
#define FAILURE_SENT_TO(fd, address) FAILURE_LONG
#define RESULT_SENT_TO(fd, address) RESULT_LONG
#define AFTER_SENT_TO(fd, address) AFTER_WRITTEN(fd)
#define ENTER_SENT_TO(fd, address)								\
	, struct fxt_writing writing_; leave_pair(fd, fxt_sockaddr(&(address)) != NULL);	\
	leave_band(fd, flags);									\
	fxt_writes(thread_, fd, &writing_);
#define LEAVE_SENT_TO(fd, address) LEAVE_WRITTEN(fd)

#define FAILURE_SENT_MESSAGE(fd, msg) FAILURE_LONG
#define RESULT_SENT_MESSAGE(fd, msg) RESULT_LONG
#define AFTER_SENT_MESSAGE(fd, msg) AFTER_WRITTEN(fd)
#define ENTER_SENT_MESSAGE(fd, msg)                                                     \
	, struct fxt_writing writing_; leave_pair(fd, has_address(thread_, fd, msg));   \
	leave_band(fd, flags);                                                          \
	fxt_writes(thread_, fd, &writing_);
#define LEAVE_SENT_MESSAGE(fd, msg) LEAVE_WRITTEN(fd)
#define CALLEE_SENT_MESSAGE(fd, msg) , sending_
#define AROUND_SENT_MESSAGE(fd, msg) , SENDING

/* Descriptors are sent by their numbers. Ours leaves its number if that is among them. */
#define SENDING(...) FXT_FIRST_DO(sending_, send_without_ours(msg), __VA_ARGS__)
#define FXT_NUMBER_sendmsg , SENDMSG_BY_NUMBER
#define SENDMSG_BY_NUMBER(...) FXT_APPLY(SENT_BY_NUMBER, __VA_ARGS__)
#define SENT_BY_NUMBER(sockfd, msg, ...) (send_without_ours(msg), real_by_number())

/* SETS: an INT, of a call that sets an option, which may be a filter. What a filter refuses is lost, while
 * the sender is told that it arrived. */
#define FAILURE_SETS(fd, level, name) FAILURE_INT
#define RESULT_SETS(fd, level, name) RESULT_INT
#define ENTER_SETS(fd, level, name) \
	, leave_pair(fd, level == SOL_SOCKET && (name == SO_ATTACH_FILTER || name == SO_ATTACH_BPF));

#define FAILURE_RECEIVED(fd) FAILURE_LONG
#define RESULT_RECEIVED(fd) RESULT_LONG
#define AFTER_RECEIVED(fd) AFTER_READ(fd)
#define ENTER_RECEIVED(fd)                                                      \
	, struct fxt_reading reading_; leave_band(fd, flags);                   \
	fxt_reads(thread_, flags & (MSG_PEEK | MSG_ERRQUEUE) ? -1 : fd, &reading_);
#define LEAVE_RECEIVED(fd) LEAVE_READ(fd)
#define END_RECEIVED(fd) END_READ(fd)
#define ARROW_RECEIVED(fd) ARROW_READ(fd)

#define FAILURE_RECEIVED_MESSAGE(fd, msg) FAILURE_LONG
#define RESULT_RECEIVED_MESSAGE(fd, msg) RESULT_LONG
#define AFTER_RECEIVED_MESSAGE(fd, msg)			\
	, if (result_ >= 0)				\
		receive_descriptors(thread_, msg);	\
	COUNT_READ(fd)
#define ENTER_RECEIVED_MESSAGE(fd, msg) ENTER_RECEIVED(fd)
#define LEAVE_RECEIVED_MESSAGE(fd, msg) LEAVE_READ(fd)
#define END_RECEIVED_MESSAGE(fd, msg) END_READ(fd)
#define ARROW_RECEIVED_MESSAGE(fd, msg) ARROW_READ(fd)
#define CALLEE_RECEIVED_MESSAGE(fd, msg) , receiving_
#define AROUND_RECEIVED_MESSAGE(fd, msg) , RECEIVING

/* Descriptors come with the lowest numbers that are free. */
#define RECEIVING(...) FXT_FIRST_DO(receiving_, expect_descriptors(msg), __VA_ARGS__)
#define FXT_NUMBER_recvmsg , RECVMSG_BY_NUMBER
#define RECVMSG_BY_NUMBER(...) FXT_APPLY(RECEIVED_BY_NUMBER, __VA_ARGS__)
#define RECEIVED_BY_NUMBER(sockfd, msg, ...) (expect_descriptors(msg), real_by_number())

static inline void leave_band(int fd, int flags)
{
	if (FXT_UNLIKELY(flags & MSG_OOB) && fxt_endpoint(fd))
		fxt_endpoint_unseen(fd);
}

static inline void leave_pair(int fd, bool leaves)
{
	if (FXT_UNLIKELY(leaves) && fxt_endpoint(fd))
		fxt_endpoint_astray(fd);
}

/* Returns whether a message goes to an address. It is looked at only if the stream is one of messages, and if
 * it can be read; otherwise the call fails. */
static inline bool has_address(struct fxt_thread *thread, int fd, const struct msghdr *msg)
{
	return FXT_UNLIKELY(fxt_stream_has_messages(fxt_endpoint(fd))) &&
	       fxt_readable(thread, msg, sizeof(*msg)) && msg->msg_name;
}

/* Calls `then` for each descriptor in the message, as far as the message's parts lie within it. */
static void each_descriptor(struct msghdr *msg, void (*then)(struct fxt_thread *thread, int fd),
			    struct fxt_thread *thread)
{
	const char *end = (const char *)msg->msg_control + msg->msg_controllen;
	struct cmsghdr *part;
	size_t bytes;
	int fd;

	for (part = CMSG_FIRSTHDR(msg); part; part = CMSG_NXTHDR(msg, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS ||
		    part->cmsg_len > (size_t)(end - (char *)part))
			continue;
		for (bytes = CMSG_LEN(0); bytes + sizeof(fd) <= part->cmsg_len; bytes += sizeof(fd)) {
			memcpy(&fd, (const char *)part + bytes, sizeof(fd));
			then(thread, fd);
		}
	}
}

static void received(struct fxt_thread *thread, int fd)
{
	fxt_descriptor_came(fd);
	fxt_endpoint_received(thread, fd);
}

static inline void receive_descriptors(struct fxt_thread *thread, struct msghdr *msg)
{
	if (FXT_UNLIKELY(msg->msg_controllen))
		each_descriptor(msg, received, thread);
}

static void leave(struct fxt_thread *unused, int fd)
{
	(void)unused;
	fxt_descriptor_leave(fd);
}

/* Moves the trace's descriptor if the message sends it. Control data longer than a page is not looked at: the
 * descriptors that one message may have fill a quarter of that. */
static FXT_COLD void leave_descriptors(const struct msghdr *msg)
{
	struct msghdr parts = {.msg_control = msg->msg_control, .msg_controllen = msg->msg_controllen};

	if (parts.msg_controllen <= FXT_PAGE_BYTES &&
	    fxt_readable(fxt_self, parts.msg_control, parts.msg_controllen))
		each_descriptor(&parts, leave, NULL);
}

static inline void send_without_ours(const struct msghdr *msg)
{
	if ((fxt_agent.buffer.fd >= 0 || fxt_agent.statm_fd >= 0) &&
	    fxt_readable(fxt_self, msg, sizeof(*msg)) && FXT_UNLIKELY(msg->msg_controllen))
		leave_descriptors(msg);
}

static inline void expect_descriptors(const struct msghdr *msg)
{
	if ((fxt_agent.buffer.fd >= 0 || fxt_agent.statm_fd >= 0) &&
	    fxt_readable(fxt_self, msg, sizeof(*msg)) && FXT_UNLIKELY(msg->msg_controllen > CMSG_LEN(0)))
		fxt_descriptor_expect((msg->msg_controllen - CMSG_LEN(0)) / sizeof(int));
}

#define NEW_connection , fxt_endpoint_accepted(thread_, (int)result_);

#define FXT_TABLE "interpose/tables/socket.def"
#include "interpose/engine/wrappers.inc"
#define FXT_REALS fxt_reals_socket
#include "interpose/engine/reals.inc"
