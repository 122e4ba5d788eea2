/* Makes the wrappers of calls that wait for children, or run commands by a shell: child.def. Arrows lead from
 * these calls to the first moments of children, and from the ends of children to these calls:
 * agent/arrows/parent_links.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "agent/arrows/parent_links.h"
#include "agent/arrows/task_life.h"
#include "agent/process/follow.h"
#include "interpose/engine/descriptor_of.h"
#include "interpose/engine/forms.h"
#include "interpose/engine/stdio_results.h"
#include "writer/apart.h"

typedef FILE *stream_pointer;

FXT_EXPORT pid_t __wait(int *wstatus);
FXT_EXPORT pid_t __waitpid(pid_t pid, int *wstatus, int options);
FXT_EXPORT FILE *_IO_popen(const char *command, const char *type);

#define COUNT_STATUS 0
#define WORDS_STATUS(name) 1
#define MEASURE_STATUS(name)
#define PUT_STATUS(name)                                                \
	if (result_ > 0 && (name)) {                                    \
		at_ = fxt_put_int(at_, FXT_STR_##name, *(name));        \
		arguments_++;                                           \
	}
#define COUNT_CHILD 0
#define WORDS_CHILD(name) 2
#define MEASURE_CHILD(name)
#define PUT_CHILD(name)									\
	if (!result_ && (name) && (name)->si_pid) {					\
		at_ = fxt_put_int(at_, FXT_STR_child_pid, (name)->si_pid);		\
		at_ = fxt_put_int(at_, FXT_STR_child_status, (name)->si_status);	\
		arguments_ += 2;							\
	}

/* -- Commands whose stream is open -------------------------------------------------------------- */

enum { STREAMS = 64 };                  /* the ends of further commands are not shown */

static FXT_LARGE struct opened {
	_Atomic(FILE *) stream;         /* NULL: free */
	struct fxt_birth birth;
	uint64_t life;
	uint32_t pid;                   /* the process that opened it: a forked child has its parent's too */
} opened[STREAMS];

/* Stands for a stream while an entry is being filled or read. */
static FILE *const changing = (FILE *)opened;

static bool take_opened(FILE *stream, struct opened *copy)
{
	struct opened *entry;
	FILE *expected;

	for (entry = opened; entry < opened + STREAMS; entry++) {
		expected = stream;
		if (atomic_load(&entry->stream) != stream ||
		    !atomic_compare_exchange_strong(&entry->stream, &expected, changing))
			continue;
		copy->birth = entry->birth;
		copy->life = entry->life;
		copy->pid = entry->pid;
		atomic_store(&entry->stream, NULL);
		return copy->pid == fxt_agent.pid;
	}
	return false;
}

static void keep_opened(FILE *stream, const struct fxt_birth *birth, uint64_t life)
{
	struct opened *entry, closed_unseen;
	FILE *expected;

	take_opened(stream, &closed_unseen);
	for (entry = opened; entry < opened + STREAMS; entry++) {
		expected = NULL;
		if (!atomic_compare_exchange_strong(&entry->stream, &expected, changing))
			continue;
		entry->birth = *birth;
		entry->life = life;
		entry->pid = fxt_agent.pid;
		atomic_store(&entry->stream, stream);
		return;
	}
}

/* -- Wrappers ---------------------------------------------------------------------------------- */

/* Ends the body of a call that reaps: records its event, and then what is known of the child that was reaped,
 * if one was. */
#define REAPED(kind, is_reaped, child, status, ...)							\
	end_ns_ = fxt_end_after(thread_, open_, &after_ns_);						\
	FXT_FORM_RECORD(kind, __VA_ARGS__);								\
	if (is_reaped)											\
		fxt_child_reaped(thread_, child, status, start_ns_, after_ns_, end_ns_);

/* The body asks for the status if the program does not: without it a child that stopped looks like one that
 * ended. */
#define BODY_REAPS(shown, kind, symbol, ...)								\
	struct fxt_in_progress *open_ = BLOCKS(shown);							\
	int status_ = 0, *given_ = wstatus;								\
													\
	wstatus = given_ ? given_ : &status_;								\
	FXT_GIVE(symbol, 1, wstatus)									\
	result_ = FXT_BY_REAL(symbol, __VA_ARGS__);							\
	status_ = result_ > 0 ? *wstatus : 0;								\
	wstatus = given_;										\
	REAPED(kind, result_ > 0 && (WIFEXITED(status_) || WIFSIGNALED(status_)), result_, status_,	\
	       __VA_ARGS__)

static bool has_ended(const siginfo_t *info)
{
	return info->si_pid &&
	       (info->si_code == CLD_EXITED || info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED);
}

static int status_of(const siginfo_t *info)
{
	return info->si_code == CLD_EXITED ? info->si_status << 8 : info->si_status;
}

#define BODY_REAPS_BY_ID(shown, kind, symbol, ...)							\
	struct fxt_in_progress *open_ = BLOCKS(shown);							\
	siginfo_t info_, *given_ = infop;								\
													\
	infop = given_ ? given_ : &info_;								\
	FXT_GIVE(symbol, 2, infop)									\
	result_ = FXT_BY_REAL(symbol, __VA_ARGS__);							\
	if (result_)											\
		info_.si_pid = 0;									\
	else if (given_)										\
		info_ = *given_;									\
	infop = given_;											\
	REAPED(kind, !(options & WNOWAIT) && has_ended(&info_), info_.si_pid, status_of(&info_), __VA_ARGS__)

/* The agent's helpers (writer/apart.h) are children that only these options wait for. There is none while a
 * call with them is made. */
static inline bool may_reap_helpers(int options)
{
	return options & (__WALL | __WCLONE);
}

static int waited(int result)
{
	fxt_apart_wait_ends();
	return result;
}

#define FXT_AROUND_waitpid , sparing_
#define FXT_AROUND___waitpid , sparing_
#define FXT_AROUND_wait3 , sparing_
#define FXT_AROUND_wait4 , sparing_
#define FXT_AROUND_waitid , sparing_
#define FXT_AROUND_by_number , sparing_
#define SPARING(symbol, parameters, arguments)				\
	static int sparing_##symbol parameters				\
	{								\
		if (FXT_LIKELY(!may_reap_helpers(options)))		\
			return real_##symbol arguments;			\
		fxt_apart_wait_begins();				\
		return waited(real_##symbol arguments);			\
	}
static int sparing_waitpid(pid_t pid, int *status, int options);
static int sparing___waitpid(pid_t pid, int *status, int options);
static int sparing_wait3(int *status, int options, struct rusage *usage);
static int sparing_wait4(pid_t pid, int *status, int options, struct rusage *usage);
static int sparing_waitid(idtype_t type, id_t id, siginfo_t *info, int options);

#define sparing_by_number(...) ((returned_)wait_by_number(call_))
static int wait_by_number(struct fxt_by_number *call)
{
	if (!may_reap_helpers((int)call->args[call->number == SYS_waitid ? 3 : 2]))
		return (int)fxt_by_number_make(call);
	fxt_apart_wait_begins();
	return waited((int)fxt_by_number_make(call));
}

/* Returns the status with which a command's child ended; -1: that is not known, or no child could be made. */
static int status_of_command(const char *command, int result)
{
	/* Without a command, system() has run the shell to say whether there is one. */
	return command ? result : result ? 0 : 127 << 8;
}

#define BODY_RUNS(shown, kind, symbol, ...)								\
	struct fxt_in_progress *open_ = BLOCKS(shown);							\
	struct fxt_birth birth_;									\
	uint64_t life_;											\
													\
	fxt_birth_begin(thread_, &birth_, FXT_BIRTH_HIDDEN);						\
	life_ = fxt_task_hidden_begins(thread_, birth_.cause.at_ns);					\
	result_ = FXT_BY_REAL(symbol, __VA_ARGS__);							\
	end_ns_ = fxt_end_after(thread_, open_, &after_ns_);						\
	FXT_FORM_RECORD(kind, __VA_ARGS__);								\
	fxt_child_ended(thread_, &birth_, life_, status_of_command(shown, result_), start_ns_, after_ns_, \
			end_ns_);									\
	if (result_ != -1)										\
		fxt_follow_tell_shell();

/* The category of popen() is io, so that of processes may be off here. */
#define BODY_OPENS(shown, kind, symbol, ...)								\
	struct fxt_in_progress *open_ = BLOCKS(shown);							\
	bool seen_ = fxt_is_on(FXT_CAT_process);							\
	struct fxt_birth birth_;									\
													\
	if (seen_)											\
		fxt_birth_begin(thread_, &birth_, FXT_BIRTH_HIDDEN);					\
	result_ = FXT_BY_REAL(symbol, __VA_ARGS__);							\
	end_ns_ = fxt_end(thread_, open_);								\
	FXT_FORM_RECORD(kind, __VA_ARGS__);								\
	if (seen_) {											\
		uint64_t life_ = fxt_birth_hidden(thread_, &birth_, result_ != NULL);			\
													\
		if (result_)										\
			keep_opened(result_, &birth_, life_);						\
		if (result_)										\
			fxt_follow_tell_shell();							\
	}												\
	/* The lifetime of the stream's descriptor, which begins next, has the command as its text. */	\
	size_t shown##_bytes = result_ ? fxt_text_bytes(shown) : 0;

#define REAPS(shown) REAPS, shown
#define REAPS_BY_ID(shown) REAPS_BY_ID, shown
#define RUNS(shown) RUNS, shown
#define OPENS(shown) OPENS, shown

#define CALL FXT_BY_CALL
#define ALIAS FXT_BY_ALIAS
#define SYSTEM_CALL FXT_BY_SYSTEM_CALL
#define BY_NUMBER FXT_BY_NUMBERED
#include "interpose/engine/rows.inc"
#include "interpose/tables/child.def"
#include "interpose/engine/unrows.inc"

SPARING(waitpid, (pid_t pid, int *status, int options), (pid, status, options))
SPARING(__waitpid, (pid_t pid, int *status, int options), (pid, status, options))
SPARING(wait3, (int *status, int options, struct rusage *usage), (status, options, usage))
SPARING(wait4, (pid_t pid, int *status, int options, struct rusage *usage), (pid, status, options, usage))
SPARING(waitid, (idtype_t type, id_t id, siginfo_t *info, int options), (type, id, info, options))

/* pclose() is written by hand, because it closes a descriptor as well. */
FXT_REAL(int, pclose, (FILE *stream), (stream))

static int closing_pclose(FILE *stream)
{
	int result;

	FXT_FD_CLOSE(descriptor_of(stream), result = real_pclose(stream));
	return result;
}

static __attribute__((noinline)) int traced_pclose(FILE *stream)
{
	const uint64_t names_ = FXT_NAMES(io, pclose);
	struct fxt_thread *thread_ = fxt_enter_on();
	uint64_t start_ns_, end_ns_, after_ns;
	struct fxt_in_progress *open;
	struct opened closed;
	bool is_known;
	int result_;

	if (!thread_)
		return closing_pclose(stream);
	start_ns_ = fxt_now(thread_);
	open = EMPTIES(stream);
	is_known = take_opened(stream, &closed);
	result_ = closing_pclose(stream);
	end_ns_ = fxt_end_after(thread_, open, &after_ns);
	FXT_FORM_RECORD(INT, (FILE *, stream, PTR));
	if (is_known)
		fxt_child_ended(thread_, &closed.birth, closed.life, result_, start_ns_, after_ns, end_ns_);
	return result_;
}

FXT_EXPORT int pclose(FILE *stream)
{
	if (fxt_is_on(FXT_CAT_io))
		return traced_pclose(stream);
	FXT_RELOCATED(pclose);
	return closing_pclose(stream);
}

#define FXT_TABLE "interpose/tables/child.def"
#define FXT_REALS fxt_reals_child
#include "interpose/engine/reals.inc"
