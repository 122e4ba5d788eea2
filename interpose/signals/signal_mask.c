/* Makes the wrappers of calls that hold signals back, or say on which stack handlers run: signal_mask.def.
 * sigpause(), whose name means two things, and sigaltstack() are written by hand. */
/* The header gives sigpause the assembler name of __xpg_sigpause. Here each name stands for itself. */
#define sigpause sigpause_of_the_header
#include <signal.h>
#undef sigpause
#include <unistd.h>

#include "agent/base/stack.h"
#include "fatal.h"
#include "interpose/engine/interpose.h"

/* BSD's sigpause() takes a mask of the signals that are held back, X/Open's takes the one that no longer
 * is. */
FXT_WRAP(process, int, sigpause, sigpause, BLOCKS(mask), INT, (int, mask, INT))
FXT_WRAP(process, int, __xpg_sigpause, sigpause, BLOCKS(sig), INT, (int, sig, INT))
FXT_WRAP(process, int, __sigpause, sigpause, BLOCKS(sig_or_mask), INT, (int, sig_or_mask, INT),
	 (int, is_sig, INT))

FXT_REAL(int, sigaltstack, (const stack_t *ss, stack_t *old_ss), (ss, old_ss))

/* Notes before the call that the alternate stack may lie within the thread's own (stack.h): a handler may be
 * on the new one before the call returns to here. */
static void expect_alternate(const stack_t *ss)
{
	if (fxt_self && ss) {
		fxt_self->stack.alternate_is_within = true;
		fxt_self->stack.alternate_high = 0;
	}
}

/* Notes after the call whether the alternate stack lies there, and how large it is. */
static void note_alternate(const stack_t *ss, int result)
{
	if (!result && ss && !(ss->ss_flags & SS_DISABLE))
		fxt_fatal_on_stack(ss->ss_size);
	if (fxt_self && ss)
		fxt_note_alternate(fxt_self);
}

static int noted_sigaltstack(const stack_t *ss, stack_t *old_ss)
{
	int result;

	expect_alternate(ss);
	result = real_sigaltstack(ss, old_ss);
	note_alternate(ss, result);
	return result;
}

FXT_WRAP_AROUND(process, int, sigaltstack, sigaltstack, noted_sigaltstack, QUICK, INT,
		(const stack_t *, ss, SKIP), (stack_t *, old_ss, SKIP))

/* -- By number ----------------------------------------------------------------------------------- */

static int noted_by_number(struct fxt_by_number *call, const stack_t *ss)
{
	int result;

	expect_alternate(ss);
	result = (int)fxt_by_number_make(call);
	note_alternate(ss, result);
	return result;
}

#define FXT_NUMBER_sigaltstack , ALTSTACK_BY_NUMBER
#define ALTSTACK_BY_NUMBER(...) FXT_APPLY(ALTSTACK_OF, __VA_ARGS__)
#define ALTSTACK_OF(ss, old_ss) noted_by_number(call_, ss)

#define FXT_TABLE "interpose/tables/signal_mask.def"
#include "interpose/engine/wrappers.inc"
#define FXT_REALS fxt_reals_signal_mask
#include "interpose/engine/reals.inc"
