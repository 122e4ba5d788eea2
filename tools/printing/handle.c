/* See handle.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "handle.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"

/* Letters and digits that nobody takes for another: there is no i, l, o or u. */
static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
static const char kinds[] = {FXT_HANDLE_THREAD, FXT_HANDLE_PROCESS, FXT_HANDLE_LOCK, FXT_HANDLE_FILE,
			     FXT_HANDLE_FUNCTION, '\0'};

enum { DIGIT_BITS = 5 };

/* FNV-1a, and not the hash of the tables, which has another key in each process. The product at the end makes
 * all bits depend on the last characters, in which names differ most. */
static uint64_t hash(const char *text)
{
	uint64_t sum = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		sum = (sum ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	sum = (sum ^ sum >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	return sum >> 32;
}

struct fxt_handle fxt_handle_of_name(enum fxt_handle_kind kind, const char *name)
{
	struct fxt_handle handle = {""};
	uint64_t sum;

	if (!name || !*name)
		return handle;
	sum = hash(name);
	handle.text[0] = (char)kind;
	for (size_t i = 1; i < FXT_HANDLE_COLUMNS; i++, sum >>= DIGIT_BITS)
		handle.text[i] = digits[sum & ((1 << DIGIT_BITS) - 1)];
	return handle;
}

/* Frees the name. */
static struct fxt_handle handle_of(enum fxt_handle_kind kind, char *name)
{
	struct fxt_handle handle = fxt_handle_of_name(kind, name);

	free(name);
	return handle;
}

struct fxt_handle fxt_handle_of_program(const struct fxt_text *name)
{
	return handle_of(FXT_HANDLE_PROCESS, fxt_format("%.*s", (int)name->bytes, name->text));
}

struct fxt_handle fxt_handle_of_thread(const struct fxt_reader *r, uint32_t thread)
{
	const struct fxt_trace_thread *t = &r->threads[thread];

	return handle_of(FXT_HANDLE_THREAD,
			 fxt_format("%" PRIu64 "/%" PRIu64, fxt_number(r, t->pid), fxt_number(r, t->tid)));
}

struct fxt_handle fxt_handle_of_process(const struct fxt_reader *r, uint64_t pid)
{
	return handle_of(FXT_HANDLE_PROCESS, fxt_format("%" PRIu64, fxt_number(r, pid)));
}

struct fxt_handle fxt_handle_of_lock(const struct fxt_reader *r, uint64_t pid, uint64_t object)
{
	return handle_of(FXT_HANDLE_LOCK,
			 fxt_format("%" PRIu64 " 0x%" PRIx64, fxt_number(r, pid), object));
}

struct fxt_handle fxt_handle_of_locks(const struct fxt_reader *r, uint64_t pid, const char *name)
{
	return handle_of(FXT_HANDLE_LOCK, fxt_format("%" PRIu64 " %s", fxt_number(r, pid), name));
}

bool fxt_may_be_handle(const char *text)
{
	static const char letters[] = "FTPLDCftpldc";

	if (!*text || !strchr(letters, *text) || !text[1])
		return false;
	while (*++text)
		if (!isalnum((unsigned char)*text))
			return false;
	return true;
}

bool fxt_is_handle(const char *line)
{
	if (!*line || !strchr(kinds, *line))
		return false;
	for (size_t i = 1; i < FXT_HANDLE_COLUMNS; i++)
		if (!line[i] || !strchr(digits, line[i]))
			return false;
	return line[FXT_HANDLE_COLUMNS] == ' ';
}
