/* This tests how a stack is walked (agent/stacks/stack_walk.h), on stacks that are laid out here: frames
 * of every form that a rule can have, frames without a rule, handlers of signals, and memory that is
 * damaged. What code lies at an address is made up, too. Stacks of random frames have to be found as they
 * were laid out. FXT_SEED names the choices. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "agent/stacks/code.h"
#include "agent/stacks/return_thunk.h"
#include "agent/stacks/stack_walk.h"
#include "apps/random.h"
#include "part.h"
#include "suite.h"

#if defined(__x86_64__)

enum { CODES = 200, CODE_BYTES = 64, OWN = 9, WORDS = 8192, STACKS = 4000, MOST_FRAMES = 60 };

/* The library has the code of these in assembler. */
const char fxt_return_thunks[FXT_RETURN_THUNKS * FXT_RETURN_THUNK_BYTES] __attribute__((aligned(128)));

/* The code that returns to place_of(n), with what is known of it. */
static struct fxt_code codes[CODES];
static uint8_t text[CODES][CODE_BYTES];
static unsigned code_count;
static uintptr_t *words, *top;          /* the stack, and its end */

static uintptr_t place_of(unsigned n)
{
	return (uintptr_t)&text[n][CODE_BYTES / 2];
}

uint64_t fxt_code_word(uintptr_t place, struct fxt_code_latest *latest)
{
	const struct fxt_code *code = &codes[(place - (uintptr_t)text) / CODE_BYTES];
	const uint64_t mask = (UINT64_C(1) << FXT_CODE_OFFSET_BITS) - 1;

	EXPECT(latest);
	if (place - (uintptr_t)text >= sizeof(text))
		return 0;
	return code->how | (code->rule.is_from_fp ? (uint64_t)FXT_CODE_IS_FROM_FP : 0) |
	       (code->rule.is_aligned ? (uint64_t)FXT_CODE_IS_ALIGNED : 0) |
	       (uint64_t)code->module << FXT_CODE_MODULE_SHIFT |
	       ((uint64_t)(code->rule.caller_sp / 8) & mask) << FXT_CODE_CALLER_SP_SHIFT |
	       ((uint64_t)(code->rule.saved_fp / 8) & mask) << FXT_CODE_SAVED_FP_SHIFT;
}

unsigned fxt_code_own(void)
{
	return OWN;
}

static void setup(void)
{
	random_seed(0);
	part_setup();
	if (!words)
		words = mmap(NULL, WORDS * sizeof(*words), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(words, 0x55, WORDS * sizeof(*words));
	memset(codes, 0, sizeof(codes));
	memset(text, 0x90, sizeof(text));
	code_count = 0;
	top = words + WORDS;
	part_thread.stack.low = (uintptr_t)words;
	part_thread.stack.high = (uintptr_t)top;
}

/* Makes code of this module. Returns its number. */
static unsigned code(uint16_t module, enum fxt_unwind_found how, struct fxt_unwind_rule rule)
{
	EXPECT(code_count < CODES);
	codes[code_count] = (struct fxt_code){module, (uint8_t)how, rule};
	/* It goes on behind a call. */
	text[code_count][CODE_BYTES / 2 - 5] = 0xe8;
	return code_count++;
}

/* A stack is laid out from its outermost frame to the innermost. */
static struct fxt_frame laid;           /* the registers in the function that was laid out last */
static unsigned laid_codes[MOST_FRAMES * 2], laid_count;

/* Begins a stack with a frame that has no caller. */
static void lay_outermost(void)
{
	laid = (struct fxt_frame){place_of(code(1, FXT_UNWIND_OUTERMOST, (struct fxt_unwind_rule){0})),
				  (uintptr_t)(top - 4), 0x1234};
	laid_codes[0] = 0;
	laid_count = 1;
}

/* Lays out the frame of a function that the one before has called, with `bytes` bytes of its own. */
static void lay(uint16_t module, unsigned bytes, bool saves_fp, bool is_from_fp)
{
	uintptr_t *return_at = (uintptr_t *)laid.sp - 1;
	struct fxt_unwind_rule rule = {0};
	uintptr_t sp = laid.sp - 8 - bytes;

	*return_at = laid.place;
	if (saves_fp) {
		rule.saved_fp = -16;
		return_at[-1] = laid.fp;
		laid.fp = is_from_fp ? (uintptr_t)(return_at - 1) : random_number(40);
	}
	rule.is_from_fp = is_from_fp && saves_fp;
	rule.caller_sp = rule.is_from_fp ? 16 : (int32_t)(bytes + 8);
	laid.sp = sp;
	laid_codes[laid_count++] = code(module, FXT_UNWIND_RULE, rule);
	laid.place = place_of(code_count - 1);
}

/* Walks from a function that the last one has called. */
static struct fxt_walk walk(unsigned most)
{
	struct fxt_walk found;
	uintptr_t *own = (uintptr_t *)laid.sp - 2;

	own[0] = laid.fp;
	own[1] = laid.place;
	memset(&found, 0x77, sizeof(found));
	fxt_stack_walk(&part_thread, own, most, &found);
	return found;
}

/* Compares the frames that were found with the last `count` that were laid out and are not the library's
 * own. */
static void expect_frames(const struct fxt_walk *found, unsigned count)
{
	unsigned i, n = laid_count;

	ck_assert_uint_eq(found->count, count);
	for (i = 0; i < count; i++) {
		do
			n--;
		while (codes[laid_codes[n]].module == OWN);
		ck_assert_uint_eq(found->places[i], place_of(laid_codes[n]));
		ck_assert_uint_eq(found->modules[i], codes[laid_codes[n]].module);
	}
}

START_TEST(frames_are_found_as_they_lie)
{
	unsigned round, i, frames, own, most;
	struct fxt_walk found;

	for (round = 0; round < STACKS; round++) {
		code_count = 0;
		memset(text, 0x90, sizeof(text));
		lay_outermost();
		frames = (unsigned)random_below(MOST_FRAMES);
		for (i = own = 0; i < frames; i++) {
			bool is_own = i + 2 > frames && random_below(2);

			own += is_own;
			lay(is_own ? OWN : (uint16_t)(1 + random_below(3)),
			    8 * (2 + (unsigned)random_below(30)), random_below(2), random_below(2));
		}
		most = 1 + (unsigned)random_below(MOST_FRAMES + 10);
		found = walk(most);
		EXPECT(found.is_whole == (laid_count - own <= most) && !found.lacks_room);
		expect_frames(&found, laid_count - own < most ? laid_count - own : most);
	}
}
END_TEST

/* Functions whose ends are seen by thunks return to these. The stack has the addresses that they stand
 * for. */
START_TEST(thunks_are_seen_through)
{
	enum { LIMIT = FXT_RETURN_THUNKS / 4 * 3 };
	struct fxt_walk found;
	unsigned i, round, made;
	uintptr_t place, thunk;

	for (round = 0; round < 200; round++) {
		code_count = 0;
		memset(text, 0x90, sizeof(text));
		lay_outermost();
		for (i = (unsigned)random_below(20); i; i--) {
			/* Where there is room the same address has the same thunk. */
			place = laid.place;
			if (random_below(2))
				laid.place = fxt_return_thunk(place);
			EXPECT(fxt_return_place(laid.place) == place);
			EXPECT(laid.place == place || fxt_return_thunk(place) == laid.place);
			EXPECT(laid.place == place || fxt_return_thunk_known(place) == laid.place);
			lay(1, 8 * (2 + (unsigned)random_below(30)), random_below(2), random_below(2));
		}
		if (random_below(2))
			laid.place = fxt_return_thunk(laid.place);
		found = walk(MOST_FRAMES);
		EXPECT(found.is_whole);
		expect_frames(&found, laid_count);
	}
	/* There are so many, and not one more. */
	for (i = made = 0; i < FXT_RETURN_THUNKS; i++)
		made += atomic_load(&fxt_return_places[i].address) != 0;
	for (i = 0; i < FXT_RETURN_THUNKS; i++) {
		place = 0x10000 + i * 16 + random_below(16);
		EXPECT(!fxt_return_thunk_known(place));
		thunk = fxt_return_thunk(place);
		EXPECT((thunk != 0) == (made < LIMIT));
		EXPECT(!thunk || fxt_return_place(thunk) == place);
		EXPECT(fxt_return_thunk(place) == thunk);
		made += thunk != 0;
	}
	EXPECT(made == LIMIT);
}
END_TEST

START_TEST(a_stack_that_is_damaged_ends)
{
	struct fxt_walk found;

	/* The caller's frame would not lie above. */
	lay_outermost();
	lay(1, 64, true, true);
	lay(1, 64, false, false);
	codes[2].rule.caller_sp = 0;
	found = walk(20);
	EXPECT(!found.is_whole && found.count == 1);
	codes[2].rule.caller_sp = 8 * WORDS;
	found = walk(20);
	EXPECT(!found.is_whole && found.count == 1);
	codes[2].rule.caller_sp = 72;
	found = walk(20);
	EXPECT(found.is_whole && found.count == 3);
	/* Code that no module has room for. */
	codes[1].module = FXT_CODE_NO_ROOM;
	found = walk(20);
	EXPECT(!found.is_whole && found.lacks_room && found.count == 1);
	codes[1].module = 1;
	/* A place of 0 is an end. */
	((uintptr_t *)(laid.sp + 72))[-1] = 0;
	found = walk(20);
	EXPECT(found.is_whole && found.count == 1);
	/* Too little is left of the stack. */
	part_thread.stack.low = laid.sp - FXT_WALK_BYTES + 1;
	found = walk(20);
	EXPECT(!found.count && !found.is_whole);
	part_thread.stack.low = laid.sp - FXT_WALK_BYTES;
	found = walk(20);
	EXPECT(found.count == 1);
	/* On a stack whose bounds are not known the innermost frame alone is found, behind those of the
	 * library. */
	setup();
	lay_outermost();
	lay(1, 64, true, true);
	lay(2, 64, true, true);
	lay(OWN, 64, true, true);
	part_thread.stack.low = part_thread.stack.high = 0;
	found = walk(20);
	EXPECT(found.count == 1 && !found.is_whole && found.modules[0] == 2);
}
END_TEST

/* A loop of frames comes to an end. */
START_TEST(frames_are_not_followed_for_ever)
{
	struct fxt_walk found;
	unsigned i, n;

	lay_outermost();
	n = code(3, FXT_UNWIND_RULE, (struct fxt_unwind_rule){.caller_sp = 8});
	for (i = 0; i < 600; i++) {
		laid.sp -= 8;
		*(uintptr_t *)laid.sp = laid.place;
		laid.place = place_of(n);
	}
	found = walk(FXT_WALK_MOST);
	EXPECT(found.count == FXT_WALK_MOST && !found.is_whole);
	EXPECT(fxt_stack_goes_beyond((uintptr_t *)laid.sp - 2, (uintptr_t)(top - 3)) == FXT_REACH_UNKNOWN);
	EXPECT(fxt_stack_goes_beyond((uintptr_t *)laid.sp - 2, laid.sp + 500 * 8) == FXT_REACH_YES);
}
END_TEST

/* -- Frames without a rule ----------------------------------------------------------------------- */

/* Lays out a frame that has a frame pointer, of code without a rule. */
static void lay_guessed(uint16_t module, unsigned bytes)
{
	lay(module, bytes, true, true);
	codes[code_count - 1].how = FXT_UNWIND_NONE;
}

START_TEST(a_guess_counts_if_the_stack_ends_well)
{
	struct fxt_walk found;
	static const uint8_t calls[][3] = {{2, 0xff, 0xd0}, {3, 0xff, 0x14}, {7, 0xff, 0x94}},
			     jumps[][3] = {{2, 0xff, 0xe0}, {3, 0xff, 0x24}, {8, 0xff, 0xd0}};
	unsigned i;

	lay_outermost();
	lay(1, 64, true, true);
	lay(2, 64, true, true);
	lay_guessed(0, 64);
	lay(3, 64, false, false);
	found = walk(20);
	EXPECT(found.is_whole && found.count == 5 && !found.modules[1]);
	expect_frames(&found, 5);
	/* Whole, but more than were asked for. */
	found = walk(4);
	EXPECT(!found.is_whole);
	expect_frames(&found, 4);
	/* The code that it leads to does not go on behind a call. */
	memset(text[2], 0x90, CODE_BYTES);
	found = walk(20);
	EXPECT(!found.is_whole && found.count == 2);
	for (i = 0; i < 3; i++) {
		memset(text[2], 0x90, CODE_BYTES);
		memcpy(&text[2][CODE_BYTES / 2 - calls[i][0]], &calls[i][1], 2);
		found = walk(20);
		ck_assert_msg(found.is_whole && found.count == 5, "call %u", i);
		memset(text[2], 0x90, CODE_BYTES);
		memcpy(&text[2][CODE_BYTES / 2 - jumps[i][0]], &jumps[i][1], 2);
		found = walk(20);
		ck_assert_msg(!found.is_whole && found.count == 2, "jump %u", i);
	}
	/* Of code outside of modules nothing is asked. */
	codes[2].module = 0;
	found = walk(20);
	EXPECT(found.is_whole && found.count == 5);
	/* A walk that ends otherwise was wrong, from the guess on. */
	codes[1].rule.caller_sp = 8 * WORDS;
	found = walk(20);
	EXPECT(!found.is_whole && found.count == 2);
	codes[1].rule.caller_sp = 16;
	/* So it was if it leads to nothing. */
	((uintptr_t *)(top - 4))[-1] = 0;
	found = walk(20);
	EXPECT(!found.is_whole && found.count == 2);
	/* Frame pointers that lead nowhere. */
	for (i = 0; i < 4; i++) {
		setup();
		lay_outermost();
		lay_guessed(1, 64);
		if (i < 3)
			laid.fp = i == 0 ? laid.sp - 8 : i == 1 ? laid.fp + 4 : (uintptr_t)(top - 1);
		found = walk(20);
		ck_assert_uint_eq(found.is_whole, i == 3);
		ck_assert_uint_eq(found.count, i == 3 ? 2 : 1);
	}
}
END_TEST

/* -- Handlers of signals ------------------------------------------------------------------------- */

static const uint8_t way_back[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

/* Lays out the frame of the kernel, which has interrupted the code that was laid out last. It lies below an
 * address. */
static void lay_signal_at(const uintptr_t *below, bool is_return)
{
	ucontext_t *context = (ucontext_t *)(((uintptr_t)below - sizeof(*context)) & ~(uintptr_t)15);
	unsigned n = code(4, FXT_UNWIND_NONE, (struct fxt_unwind_rule){0});

	memset(context, 0, sizeof(*context));
	context->uc_mcontext.gregs[REG_RIP] = (greg_t)(laid.place - 1);
	context->uc_mcontext.gregs[REG_RSP] = (greg_t)laid.sp;
	context->uc_mcontext.gregs[REG_RBP] = (greg_t)laid.fp;
	if (is_return)
		memcpy(&text[n][CODE_BYTES / 2], way_back, sizeof(way_back));
	laid = (struct fxt_frame){place_of(n), (uintptr_t)context, 0x99};
}

static void lay_signal(bool is_return)
{
	lay_signal_at((const uintptr_t *)(laid.sp - 256), is_return);
}

START_TEST(a_handler_has_interrupted_code)
{
	struct fxt_walk found;
	uintptr_t interrupted;

	lay_outermost();
	lay(1, 64, true, true);
	lay(2, 64, true, true);
	interrupted = laid.sp;
	lay_signal(true);
	lay(3, 64, true, false);
	found = walk(20);
	EXPECT(found.is_whole && found.count == 4 && found.modules[0] == 3 && found.modules[1] == 2);
	EXPECT(found.places[1] == place_of(2) && found.places[3] == place_of(0));
	EXPECT(fxt_stack_goes_beyond((uintptr_t *)laid.sp - 2, interrupted + 8) == FXT_REACH_YES);
	/* The interrupted function was about to return: what it has saved lies below its stack pointer. */
	((ucontext_t *)(laid.sp + 72))->uc_mcontext.gregs[REG_RSP] += 72 - 8;
	codes[2].rule = (struct fxt_unwind_rule){.caller_sp = 16, .saved_fp = -16 - 8 * 8};
	((uintptr_t *)(interrupted + 72 + 8))[-10] = ((uintptr_t *)(interrupted + 72 - 8))[-1];
	found = walk(20);
	EXPECT(found.count >= 2 && found.modules[1] == 2);
	/* Where the code is not the kernel's way back, a frame is guessed. */
	setup();
	lay_outermost();
	lay(1, 64, true, true);
	lay_signal(false);
	lay(3, 64, true, false);
	found = walk(20);
	EXPECT(!found.is_whole && found.count == 2 && found.modules[1] == 4);
	/* What was interrupted may have no frame yet, so nothing is guessed there. */
	setup();
	lay_outermost();
	lay_guessed(1, 64);
	lay_signal(true);
	lay(3, 64, true, false);
	found = walk(20);
	EXPECT(!found.is_whole && found.count == 2);
	/* The handler runs on a stack of its own, or was called from one that is not known. */
	setup();
	lay_outermost();
	lay(1, 64, true, true);
	lay_signal(true);
	lay(3, 64, true, false);
	((ucontext_t *)(laid.sp + 72))->uc_mcontext.gregs[REG_RSP] = 0x1000;
	found = walk(20);
	EXPECT(!found.is_whole && found.count == 1);
	EXPECT(fxt_stack_goes_beyond((uintptr_t *)laid.sp - 2, (uintptr_t)(top - 2)) == FXT_REACH_UNKNOWN);
}
END_TEST

/* The program has called an address at which there is no code. Who has called it is known if nothing can be
 * read there, and the caller's code goes on behind a call. */
START_TEST(a_call_to_nowhere)
{
	static char data[16];
	struct fxt_walk found;
	unsigned i, caller;

	for (i = 0; i < 4; i++) {
		setup();
		lay_outermost();
		lay(1, 64, true, true);
		lay(2, 64, false, false);
		caller = code_count - 1;
		if (i == 1)
			memset(text[caller], 0x90, CODE_BYTES);
		laid.sp -= 8;
		*(uintptr_t *)laid.sp = laid.place;
		laid.place = i == 2 ? (uintptr_t)data + 1 : 0x11;
		if (i == 3)
			laid.sp = (uintptr_t)(top - 1) + 4;
		lay_signal_at(words + WORDS / 2, true);
		lay(3, 64, true, false);
		found = walk(20);
		ck_assert_uint_eq(found.is_whole, i == 0);
		ck_assert_uint_eq(found.count, i == 0 ? 5 : 2);
		EXPECT(found.modules[0] == 3 && !found.modules[1]);
		ck_assert_uint_eq(found.places[1], i == 2 ? (uintptr_t)data + 1 : 0x11);
		EXPECT(i || found.places[2] == place_of(caller));
	}
}
END_TEST

/* A signal has found the stack used up: the function that it has interrupted has its frame below the stack,
 * and the lowest pages of the stack cannot be read. */
START_TEST(a_stack_that_is_used_up)
{
	enum { ROUNDS = 200, PAGES = 8, MOST_WORDS = 40, HANDLER = 1000, BELOW_MOST = 1 << 20 };
	struct fxt_walk found;
	unsigned round, i, frames, pages, below;
	uintptr_t sp;

	for (round = 0; round < ROUNDS; round++) {
		code_count = 0;
		memset(text, 0x90, sizeof(text));
		pages = (unsigned)random_below(PAGES + 1);
		part_thread.stack.low = (uintptr_t)words + random_below(PAGES * FXT_PAGE_BYTES / 8) * 8;
		/* The handler's frames lie above those that were interrupted. */
		top = words + WORDS - HANDLER;
		lay_outermost();
		frames = 1 + (unsigned)random_below(8);
		for (i = 0; i < frames; i++)
			lay(1, 8 * (2 + (unsigned)random_below(MOST_WORDS)), random_below(2),
			    random_below(2));
		below = 8 * (1 + (unsigned)random_below(BELOW_MOST / 8));
		if (random_below(4) == 0)
			below = BELOW_MOST + 8 * (unsigned)random_below(2);
		sp = part_thread.stack.low - below;
		lay(2, (unsigned)(laid.sp - 8 - sp), random_below(2), false);
		ck_assert_uint_eq(laid.sp, sp);
		/* The kernel's frame is laid out below the stack pointer. */
		lay_signal_at(words + WORDS - HANDLER / 2, true);
		lay(3, 64, true, false);
		ck_assert_int_eq(mprotect(words, pages * FXT_PAGE_BYTES, PROT_NONE), 0);
		found = walk(20);
		ck_assert_int_eq(mprotect(words, pages * FXT_PAGE_BYTES, PROT_READ | PROT_WRITE), 0);
		/* What is that far below was on no stack of the thread's. */
		if (below > BELOW_MOST) {
			EXPECT(!found.is_whole && found.count == 1);
			continue;
		}
		ck_assert_msg(found.is_whole && found.count == frames + 3, "%u of %u frames, %u pages",
			      found.count, frames + 3, pages);
		EXPECT(found.modules[0] == 3 && found.modules[1] == 2 && found.modules[2] == 1);
	}
	top = words + WORDS;
}
END_TEST

/* -- Who reaches a frame ------------------------------------------------------------------------- */

START_TEST(a_frame_is_a_callers)
{
	uintptr_t frames[4], places[4], *own;
	unsigned i;

	fxt_self = &part_thread;
	part_thread.stack.low = part_thread.stack.high = 0;
	lay_outermost();
	for (i = 0; i < 4; i++) {
		/* The words of frame address and return address of the function that is called next. */
		frames[i] = laid.sp - 16;
		places[i] = laid.place;
		lay(1, 64 + 8 * i, true, i % 2);
	}
	own = (uintptr_t *)laid.sp - 2;
	own[0] = laid.fp;
	own[1] = laid.place;
	for (i = 0; i < 4; i++) {
		ck_assert_int_eq(fxt_stack_reaches(own, frames[i], places[i]), FXT_REACH_YES);
		ck_assert_int_eq(fxt_stack_reaches(own, frames[i], places[i] + 1), FXT_REACH_NOT);
		ck_assert_int_eq(fxt_stack_goes_beyond(own, frames[i]), FXT_REACH_YES);
		ck_assert_uint_eq(fxt_stack_end_of(own, frames[i]), frames[i] + 16);
	}
	/* The stack ends before. */
	ck_assert_int_eq(fxt_stack_goes_beyond(own, (uintptr_t)(top - 2)), FXT_REACH_NOT);
	ck_assert_uint_eq(fxt_stack_end_of(own, (uintptr_t)(top - 2)), 0);
	ck_assert_int_eq(fxt_stack_reaches(own, (uintptr_t)(top - 2), places[0]), FXT_REACH_NOT);
	/* A guess on the way makes it unknown, unless it leads to the right place. */
	codes[2].how = FXT_UNWIND_NONE;
	codes[4].how = FXT_UNWIND_NONE;
	ck_assert_int_eq(fxt_stack_goes_beyond(own, frames[1]), FXT_REACH_UNKNOWN);
	ck_assert_int_eq(fxt_stack_reaches(own, frames[3], places[3]), FXT_REACH_YES);
	ck_assert_int_eq(fxt_stack_reaches(own, frames[3], places[3] + 1), FXT_REACH_UNKNOWN);
	ck_assert_uint_eq(fxt_stack_end_of(own, frames[1]), 0);
}
END_TEST

int main(void)
{
	TCase *walks = tcase_create("walks");

	tcase_add_checked_fixture(walks, setup, NULL);
	tcase_set_timeout(walks, 60);
	tcase_add_test(walks, frames_are_found_as_they_lie);
	tcase_add_test(walks, thunks_are_seen_through);
	tcase_add_test(walks, a_stack_that_is_damaged_ends);
	tcase_add_test(walks, frames_are_not_followed_for_ever);
	tcase_add_test(walks, a_guess_counts_if_the_stack_ends_well);
	tcase_add_test(walks, a_handler_has_interrupted_code);
	tcase_add_test(walks, a_call_to_nowhere);
	tcase_add_test(walks, a_stack_that_is_used_up);
	tcase_add_test(walks, a_frame_is_a_callers);
	return RUN_SUITE("stack walk", walks);
}

#else

int main(void)
{
	return 77;
}

#endif
