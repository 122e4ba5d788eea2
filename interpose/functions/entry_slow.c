/* The slow ways in and out of functions that call a hook only when they are entered: for what is met for the
 * first time or is not usual. entries.S calls them, with all registers saved. */
#include "entry.h"

#include "agent/emit/filtered.h"
#include "agent/stacks/code.h"
#include "agent/stacks/return_thunk.h"
#include "interpose/engine/interpose.h"
#include "interpose/engine/next.h"

/* -- The program's own profile --------------------------------------------------------------------- */

/* A program that was linked with -pg writes a profile, gmon.out, for which the C library's mcount() and
 * __fentry__() count calls. They take the function and its caller from the stack and from registers, and
 * return into the function itself. So they cannot be called from here; but the function that they call can,
 * if it is found. Where it is not, functions compiled with -pg call the C library's hooks, and are not
 * recorded. */
void *fxt_real_mcount __attribute__((visibility("hidden"))) = (void *)fxt_entry_nothing;
void *fxt_real_fentry __attribute__((visibility("hidden"))) = (void *)fxt_entry_nothing;
/* Nothing is known of the C library's mcount(). */
bool fxt_gmon_is_foreign __attribute__((visibility("hidden")));

/* Returns the function that the C library's mcount() calls with two arguments: the address that it finds by
 * the frame pointer, and its own return address. Returns NULL if the code is not as expected. */
static fxt_gmon_record *called_by(const unsigned char *mcount)
{
	static const unsigned char arguments[] = {
		0x48, 0x8b, 0x74, 0x24, 0x38,   /* mov 0x38(%rsp),%rsi */
		0x48, 0x8b, 0x7d, 0x08,         /* mov 0x8(%rbp),%rdi */
	};
	enum { FAR_ENOUGH = 64, CALL = 0xe8, PREFIX = 0x67 };
	const unsigned char *at = mcount, *end = mcount + FAR_ENOUGH;
	int32_t distance;

	while (at < end && memcmp(at, arguments, sizeof(arguments)))
		at++;
	at += sizeof(arguments);
	/* The linker may have shortened a call through a word. */
	at += *at == PREFIX;
	if (at >= end || *at != CALL)
		return NULL;
	memcpy(&distance, at + 1, sizeof(distance));
	return (fxt_gmon_record *)(uintptr_t)(at + 1 + sizeof(distance) + distance);
}

static void count_nothing(unsigned long from, unsigned long to)
{
	(void)from;
	(void)to;
}

static fxt_gmon_record *find_gmon(void)
{
	static const struct fxt_real mcount = {"mcount", NULL, &fxt_real_mcount},
				     fentry = {"__fentry__", NULL, &fxt_real_fentry};
	fxt_gmon_record *record = NULL;

	if (fxt_next_find_one(&mcount) && fxt_next_find_one(&fentry))
		record = called_by(fxt_real_mcount);
	else
		record = count_nothing;
	if (record)
		atomic_store_explicit(&fxt_gmon, record, memory_order_release);
	return record;
}

void fxt_entry_prepare(void)
{
	if (!atomic_load_explicit(&fxt_gmon, memory_order_acquire))
		find_gmon();
}

/* Counts the call if the quick way has not, because it did not know how. Returns false if the C library's own
 * hooks have to be called. */
static bool count_call(const uintptr_t *return_word, uintptr_t address)
{
	fxt_gmon_record *record;

	if (atomic_load_explicit(&fxt_gmon, memory_order_acquire))
		return true;
	/* What is found before the loader has relocated this library is found again afterwards. */
	if (!fxt_is_relocated())
		fxt_bind_early();
	record = find_gmon();
	if (!record) {
		fxt_gmon_is_foreign = true;
		fxt_agent_unseen("functions compiled with -pg: this C library counts their calls in a way "
				 "that is not known");
		return false;
	}
	record(fxt_return_place(*return_word), address);
	return true;
}

/* -- Entries and the end --------------------------------------------------------------------------- */

static void enter(uintptr_t *return_word, uintptr_t address, enum fxt_category category)
{
	struct fxt_thread *thread = fxt_enter(category);

	if (thread)
		fxt_return_word_enter(thread, return_word, address);
}

/* Returns the return word of a function that has aligned its stack: the compiler has put a copy of the return
 * address in front of the saved frame pointer. Returns NULL if it is not found. */
static uintptr_t *word_of_aligned(const uintptr_t *copy, const struct fxt_unwind_rule *rule)
{
	uintptr_t frame_pointer = (uintptr_t)(copy - 1);
	uintptr_t *return_word = *(uintptr_t **)(frame_pointer + (uintptr_t)(intptr_t)rule->caller_sp) - 1;

	return return_word > copy && *return_word == *copy ? return_word : NULL;
}

void fxt_entry_mcount(uintptr_t *return_word, uintptr_t address)
{
	struct fxt_code_latest latest = {0};
	struct fxt_code code;

	if (!count_call(return_word, address) || !fxt_is_on(FXT_CAT_function))
		return;
	code = fxt_code_at(address, &latest);
	if (code.how == FXT_UNWIND_RULE && code.rule.is_aligned) {
		fxt_function_find_slow(address);
		return_word = word_of_aligned(return_word, &code.rule);
	}
	if (return_word)
		enter(return_word, address, FXT_CAT_function);
}

void fxt_entry_fentry(uintptr_t *return_word, uintptr_t address)
{
	if (count_call(return_word, address))
		enter(fxt_fentry_return_word(return_word, address), address, FXT_CAT_function);
}

void fxt_entry_patched_slow(uintptr_t *return_word, uintptr_t address)
{
	enter(return_word, address, FXT_CAT_function);
}

void fxt_entry_plt(uintptr_t *return_word, uintptr_t address)
{
	enter(return_word, address, FXT_CAT_plt);
}

void fxt_return_slow(uintptr_t return_word)
{
	if (fxt_self)
		fxt_return_word_leave(fxt_self, return_word);
}
