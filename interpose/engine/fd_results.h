/* Makes the kinds of results of calls that move bytes through a descriptor, make one, or close one. This is a
 * part of interpose.h, which says what the kinds mean; nobody else includes it. */
#ifndef FXT_FD_RESULTS_H
#define FXT_FD_RESULTS_H

/* -- Moving bytes ------------------------------------------------------------------------------ */

#define FAILURE_READ(fd) FAILURE_LONG
#define FAILURE_WRITTEN(fd) FAILURE_LONG
#define FAILURE_MOVED(from, to) FAILURE_LONG
#define RESULT_READ(fd) RESULT_LONG
#define RESULT_WRITTEN(fd) RESULT_LONG
#define RESULT_MOVED(from, to) RESULT_LONG
#define COUNT_READ(fd)                                                  \
	if (FXT_LIKELY(result_ > 0)) {                                  \
		thread_->bytes.read += (uint64_t)result_;               \
		fxt_fd_has_read(thread_, fd, (uint64_t)result_);        \
	}
#define COUNT_WRITTEN(fd)                                               \
	if (FXT_LIKELY(result_ > 0)) {                                  \
		thread_->bytes.written += (uint64_t)result_;            \
		fxt_fd_has_written(thread_, fd, (uint64_t)result_);     \
	}
#define COUNT_READ_INTO(fd, buf, count) COUNT_READ(fd)
#define COUNT_WRITTEN_FROM(fd, buf) COUNT_WRITTEN(fd)
#define AFTER_READ(fd) , COUNT_READ(fd)
#define AFTER_WRITTEN(fd) , COUNT_WRITTEN(fd)
#define AFTER_MOVED(from, to) , COUNT_READ(from) COUNT_WRITTEN(to)

#define FAILURE_READ_INTO(fd, buf, count) FAILURE_LONG
#define RESULT_READ_INTO(fd, buf, count) RESULT_LONG
#define AFTER_READ_INTO(fd, buf, count) AFTER_READ(fd)
#define FAILURE_WRITTEN_FROM(fd, buf) FAILURE_LONG
#define RESULT_WRITTEN_FROM(fd, buf) RESULT_LONG
#define AFTER_WRITTEN_FROM(fd, buf) AFTER_WRITTEN(fd)

/* These hooks draw the arrow from a write to the read that gets its bytes: agent/descriptors/transfer.h. */
#define ENTER_READ(fd) , struct fxt_reading reading_; fxt_reads(thread_, fd, &reading_);
#define LEAVE_READ(fd) , fxt_has_read(thread_, &reading_, result_, NULL, 0);
#define END_READ(fd) , fxt_end_after(thread_, open_, &reading_.after_ns)
#define ARROW_READ(fd) , fxt_arrow(thread_, &reading_, end_ns_);
#define ENTER_READ_INTO(fd, buf, count) ENTER_READ(fd)
#define LEAVE_READ_INTO(fd, buf, count) , fxt_has_read(thread_, &reading_, result_, buf, count);
#define END_READ_INTO(fd, buf, count) END_READ(fd)
#define ARROW_READ_INTO(fd, buf, count) ARROW_READ(fd)
#define ENTER_WRITTEN(fd) , struct fxt_writing writing_; fxt_writes(thread_, fd, &writing_);
#define LEAVE_WRITTEN(fd) , fxt_wrote(thread_, &writing_, result_, NULL);
#define ENTER_WRITTEN_FROM(fd, buf) ENTER_WRITTEN(fd)
#define LEAVE_WRITTEN_FROM(fd, buf) , fxt_wrote(thread_, &writing_, result_, buf);
#define ENTER_MOVED(from, to)										\
	, struct fxt_reading reading_; struct fxt_writing writing_; fxt_reads(thread_, from, &reading_); \
	fxt_writes_pieces(thread_, to, &writing_);
#define LEAVE_MOVED(from, to)	\
	, fxt_wrote(thread_, &writing_, result_, NULL); fxt_has_read(thread_, &reading_, result_, NULL, 0);
#define END_MOVED(from, to) END_READ(from)
#define ARROW_MOVED(from, to) ARROW_READ(from)

/* In a file with FXT_QUICK_EVENTS (engine.h) a read or write has a shorter body: FXT_TRACED_APART(). */
#ifdef FXT_QUICK_EVENTS
#define TRACED_READ(fd) , FXT_TRACED_APART
#define TRACED_READ_INTO(fd, buf, count) , FXT_TRACED_APART
#define TRACED_WRITTEN(fd) , FXT_TRACED_APART
#define TRACED_WRITTEN_FROM(fd, buf) , FXT_TRACED_APART
#endif

/* UNSEEN_LONG(fd), UNSEEN_INT(fd): the call moves bytes and does not say how many. */
#define FAILURE_UNSEEN_LONG(fd) FAILURE_LONG
#define RESULT_UNSEEN_LONG(fd) RESULT_LONG
#define AFTER_UNSEEN_LONG(fd)		\
	, fxt_fd_buffered(thread_, fd);
#define ENTER_UNSEEN_LONG(fd) , if (FXT_UNLIKELY(fxt_endpoint(fd))) fxt_endpoint_unseen(fd);
#define FAILURE_UNSEEN_INT(fd) FAILURE_INT
#define RESULT_UNSEEN_INT(fd) RESULT_INT
#define AFTER_UNSEEN_INT(fd) AFTER_UNSEEN_LONG(fd)
#define ENTER_UNSEEN_INT(fd) ENTER_UNSEEN_LONG(fd)

/* -- Making and closing ------------------------------------------------------------------------ */

/* Makes a call that makes descriptors, and makes it again if the only numbers left were the agent's: a call
 * that fails by EMFILE has done nothing. `failed` is its result then. Its value is the result. */
#define FXT_OPENING(failed, call)							\
	({										\
		__typeof__(call) opened_ = (call);					\
											\
		while (FXT_UNLIKELY(opened_ == (failed)) && fxt_descriptor_give_up())	\
			opened_ = (call);						\
		opened_;								\
	})

/* Makes opening_SYMBOL(), which calls the real function so, also while the category is off. */
#define FXT_OPENS(failed, type, symbol, ...)								\
	static type opening_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))					\
	{												\
		return FXT_OPENING(failed, real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__)));		\
	}
#define FXT_OPENS_POINTER(type, symbol, ...) FXT_OPENS(NULL, type, symbol, __VA_ARGS__)

/* This does the same for a function that returns the number. */
#define FXT_OPENS_NUMBER(type, symbol, ...)							\
	static type opening_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))				\
	{											\
		return FXT_CAME(FXT_OPENING(-1, real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__))));	\
	}

/* Tells the agent of a number that the program gets. Its value is the number. */
#define FXT_CAME(number)				\
	({						\
		__typeof__(number) came_ = (number);	\
							\
		fxt_descriptor_came(came_);		\
		came_;					\
	})

#define CALLEE_FD(what, of) , opening_
#define AROUND_FD(what, of) , FXT_OPENS_NUMBER
#define CALLEE_STREAM(what, of) , opening_
#define AROUND_STREAM(what, of) , FXT_OPENS_POINTER

#define FAILURE_FD(what, of) FAILURE_INT
#define RESULT_FD(what, of) RESULT_INT
#define AFTER_FD(what, of)							\
	, if (result_ >= 0) {							\
		FXT_SECOND(OPENS_##what, FXT_OPENED, )((int)result_, what, of);	\
		FXT_SECOND(NEW_##what, , )					\
	}

#define FAILURE_STREAM(what, of) FAILURE_PTR
#define RESULT_STREAM(what, of) RESULT_PTR
#define AFTER_STREAM(what, of)							\
	, if (result_) {							\
		FXT_OPENED(fileno_unlocked(result_), what, of);			\
		fxt_fd_buffered(thread_, fileno_unlocked(result_));		\
		fxt_endpoint_buffered(thread_, fileno_unlocked(result_));	\
		fxt_name_file_looks(thread_, fileno_unlocked(result_), &FXT_OF_##of); \
	}

/* A path may lead to a FIFO, which is one end of a stream: agent/descriptors/endpoint.h. */
#define OPENS_file , FXT_OPENED_BY_PATH
#define FXT_OPENED_BY_PATH(fd, what, of)                                \
	if (FXT_UNLIKELY(fxt_endpoint_is_fifo(thread_, fd))) {          \
		FXT_OPENED(fd, pipe, of);                               \
		fxt_endpoint_fifo(thread_, fd);                         \
	} else {                                                        \
		FXT_OPENED(fd, what, of);                               \
		fxt_name_file_looks(thread_, fd, &FXT_OF_##of);         \
	}

/* Begins the lifetime of a descriptor. */
#define FXT_OPENED(fd, what, of)									\
	fxt_fd_opened(thread_, FXT_CAME(fd), end_ns_, names_, FXT_STR_life_##what, FXT_OF_##of)
#define FXT_OF_PATH(text_)							\
	((struct fxt_fd_detail){.name = FXT_STR_##text_,			\
				.text = (text_) ? (text_) : "",			\
				.bytes = text_##_bytes})
#define FXT_OF_NUMBER(number_) ((struct fxt_fd_detail){.name = FXT_STR_##number_, .number = (int)(number_)})
#define FXT_OF_NOTHING ((struct fxt_fd_detail){0})

/* Makes closing_SYMBOL(), which calls the real function and ends the lifetime of descriptor `fd`, also while
 * the category is off. */
#define FXT_CLOSING(fd, type, symbol, ...)							\
	static type closing_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__))				\
	{											\
		type result;									\
												\
		FXT_FD_CLOSE(fd, result = real_##symbol(FXT_LIST(P_NAME, __VA_ARGS__)));	\
		return result;									\
	}

/* A file whose table has CLOSED defines CLOSES(type, symbol, ...) as FXT_CLOSING() of the descriptor that
 * its calls close. */
#define FAILURE_CLOSED FAILURE_INT
#define RESULT_CLOSED RESULT_INT
#define CALLEE_CLOSED , closing_
#define AROUND_CLOSED , CLOSES

#endif
