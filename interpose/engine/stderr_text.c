/* Records what the program writes to standard error: see stderr_text.h. Wrappers call this, in any context;
 * errno stays as it is. */
#include "stderr_text.h"

#include <string.h>

#include "agent/base/stack.h"
#include "agent/emit/program_text.h"

atomic_bool fxt_stderr_has_others;

/* This is a function of its own, because a short stack may have no room for its frame. */
static __attribute__((noinline)) bool leads_to_stderr(int fd)
{
	struct stat ours, theirs;

	return !fxt_sys_fstat(fd, &ours) && !fxt_sys_fstat(2, &theirs) && ours.st_dev == theirs.st_dev &&
	       ours.st_ino == theirs.st_ino;
}

bool fxt_is_stderr_now(int fd)
{
	return fxt_is_on(FXT_CAT_log) && !fxt_stack_is_short() && leads_to_stderr(fd);
}

void fxt_stderr_moved(int from, int to)
{
	bool is_stderr = fxt_may_be_stderr(from);

	/* The child of a vfork has descriptors of its own, and its parent's memory. */
	if (to == 2 || to < 0 || to >= FXT_STDERR_FDS || (uint32_t)fxt_sys_getpid() != fxt_agent.pid)
		return;
	atomic_store_explicit(&fxt_fd_first[to].is_stderr, is_stderr, memory_order_relaxed);
	if (is_stderr)
		atomic_store_explicit(&fxt_stderr_has_others, true, memory_order_relaxed);
}

/* A text that is being recorded, and the thread that records it. */
struct speech {
	struct fxt_thread *thread;
	struct fxt_program_text *text;
};

static bool has_stack(const struct fxt_thread *thread)
{
	if (!fxt_stack_is_short())
		return true;
	fxt_agent_count_short(thread->last_ns);
	return false;
}

static bool begin(struct speech *speech)
{
	speech->thread = fxt_enter(FXT_CAT_log);
	speech->text = speech->thread && has_stack(speech->thread) ? fxt_program_text_begin(speech->thread)
								   : NULL;
	return speech->text;
}

static void say(void *context, const char *bytes, size_t count)
{
	const struct speech *speech = context;

	fxt_program_text_put(speech->thread, speech->text, bytes, count);
}

static void say_string(struct speech *speech, const char *text)
{
	say(speech, text, strlen(text));
}

static void end(const struct speech *speech)
{
	fxt_program_text_end(speech->thread, speech->text);
}

/* Says the bytes page by page, as far as they can be read: the kernel does not look at what is written to
 * /dev/null, so the program may have given a bad pointer. */
static void say_checked(struct speech *speech, const char *bytes, size_t count)
{
	size_t here;

	while (count) {
		here = FXT_PAGE_BYTES - (uintptr_t)bytes % FXT_PAGE_BYTES;
		here = here < count ? here : count;
		if (!fxt_readable(speech->thread, bytes, here))
			return;
		say(speech, bytes, here);
		bytes += here;
		count -= here;
	}
}

void fxt_stderr_bytes(const void *bytes, size_t count)
{
	struct speech speech;

	if (!begin(&speech))
		return;
	say_checked(&speech, bytes, count);
	end(&speech);
}

void fxt_stderr_vector(const struct iovec *vector, int vectors, size_t count)
{
	struct speech speech;
	size_t here;
	int i;

	if (!begin(&speech))
		return;
	for (i = 0; i < vectors && count; i++, count -= here) {
		here = vector[i].iov_len < count ? vector[i].iov_len : count;
		say_checked(&speech, vector[i].iov_base, here);
	}
	end(&speech);
}

void fxt_stderr_string(const char *text)
{
	struct speech speech;

	if (!begin(&speech))
		return;
	say_string(&speech, text);
	end(&speech);
}

void fxt_stderr_character(int c)
{
	struct speech speech;
	char byte = (char)c;

	if (c == EOF || !begin(&speech))
		return;
	say(&speech, &byte, 1);
	end(&speech);
}

void fxt_stderr_wide(const wchar_t *text, size_t count)
{
	struct speech speech;
	struct fxt_format_out out = {say, &speech, 0};

	if (!begin(&speech))
		return;
	fxt_format_wide(&out, text, count);
	end(&speech);
}

/* -- Formats ----------------------------------------------------------------------------------- */

/* Says what the format makes of its arguments. If the format is not understood, or its text is not as long as
 * the C library's, the format itself is said. `count` is the length that the C library told, or -1. */
static void say_format(struct speech *speech, const struct fxt_format *format, va_list list, int count)
{
	struct fxt_format_out counted = {NULL, NULL, 0}, out = {say, speech, 0};

	if (fxt_format(&counted, format, list) && (count < 0 || counted.count == (uint64_t)count)) {
		fxt_format(&out, format, list);
	} else {
		say_string(speech, "[format] ");
		fxt_format_itself(&out, format);
	}
}

void fxt_stderr_format(const struct fxt_format *format, va_list list, int count)
{
	int error = errno;
	struct speech speech;

	if (count <= 0 || !begin(&speech))
		return;
	say_format(&speech, format, list, count);
	end(&speech);
	errno = error;
}

void fxt_stderr_syslog(uint64_t names, int priority, int error, const char *format, va_list list)
{
	int error_now = errno;
	struct speech speech = {.thread = fxt_enter(FXT_CAT_log)};

	speech.text = speech.thread && has_stack(speech.thread)
			      ? fxt_program_text_begin_message(speech.thread, names, priority)
			      : NULL;
	if (!speech.text)
		return;
	say_format(&speech, &(struct fxt_format){.narrow = format, .error = error}, list, -1);
	end(&speech);
	errno = error_now;
}

void fxt_stderr_complaint(const struct fxt_stderr_line *line, int error, const char *format, va_list list)
{
	int error_now = errno;
	struct speech speech;
	unsigned i;

	if (!begin(&speech))
		return;
	for (i = 0; line->before[i]; i++)
		say_string(&speech, line->before[i]);
	if (format)
		say_format(&speech, &(struct fxt_format){.narrow = format, .error = error}, list, -1);
	if (line->why) {
		say_string(&speech, format ? ": " : "");
		say_string(&speech, line->why);
	}
	say_string(&speech, "\n");
	end(&speech);
	errno = error_now;
}

void fxt_stderr_pieces(const char *first, ...)
{
	struct speech speech;
	const char *piece;
	va_list list;

	if (!begin(&speech))
		return;
	va_start(list, first);
	for (piece = first; piece; piece = va_arg(list, const char *))
		say_string(&speech, piece);
	va_end(list);
	end(&speech);
}
