#!/bin/bash
# A signal handler comes behind each instruction of an emission. It makes calls and returns, leaves by
# longjmp, forks, or switches to a coroutine, which comes back at once, comes back later, or never does. Each
# call is in the trace once, or is counted as lost: steps.py says how that is known.
#
#	FXT_STEPS_POINTS=all	behind each instruction, and not behind some that are drawn
#	FXT_STEPS_CALLS, FXT_STEPS_ACTIONS	some of the calls and actions that are listed below
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

test "$(uname -m)" = x86_64 || skip "breakpoints are set as on x86_64"

actions=${FXT_STEPS_ACTIONS:-emit jump emit-jump fork-on fork-exit switch-back}

# step CALL: interrupts this call. The call `stacked` is an open() that has a call stack.
step()
{
	local call=$1 stacks=

	if test "$call" = stacked; then
		call=open
		stacks=io
	fi
	mkdir "$1" && cd "$1" || exit 99
	count comparison
	# shellcheck disable=SC2086	# these are several words
	FXT_STACKS=$stacks python3 "$abs_top_srcdir/tests/e2e/steps.py" "$apps/steps" "$call" \
		"${FXT_STEPS_POINTS:-8}" $actions 2>said || fail "$1: $(tail -n 5 said)"
	cd .. && rm -rf "$1"
}

for call in ${FXT_STEPS_CALLS:-close malloc lock read function open stacked contended turn}; do
	step "$call"
done
