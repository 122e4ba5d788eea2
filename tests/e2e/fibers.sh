#!/bin/bash
# Instrumented functions on fibers: each has its begin and its end in the trace, in the order in which these
# were, and is on its fiber's track, whatever the fibers switch by, wherever their stacks are, and whatever
# becomes of them.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

# compare NAME FILE: compares the trace with what the program said, NAME.said.
compare()
{
	count comparison
	trace calls "$2" >"$1.calls"
	python3 "$abs_top_srcdir/tests/e2e/fibers.py" "$1.said" "$1.calls" || fail "$1: see above"
	is "$1: lost" "" "$(trace lost "$2" | grep -v ' 0$')"
}

# fibers NAME PROGRAM ARGUMENT...: runs the program with the agent, and compares.
fibers()
{
	local name=$1 file

	shift
	traced "$name" "$@" >"$name.said" || fail "$name: exit status $?"
	file=$(only "$name"/*.fxt) && valid "$file" && compare "$name" "$file"
}

ways=context
test "$(uname -m)" != x86_64 || ways="context hand"
${CC:-cc} -O2 -finstrument-functions -I"$abs_top_srcdir/tests/apps" -o optimised \
	"$abs_top_srcdir/tests/apps/fibers.c" -pthread || fail "fibers.c cannot be compiled"
for way in $ways; do
	for stacks in pages block again freed; do
		fibers "$way.$stacks" "$apps/fibers" "$way" $stacks $((1 + $(random_below 60))) 4
		fibers "$way.$stacks.O2" ./optimised "$way" $stacks $((1 + $(random_below 60))) 4
	done
done

# crowd NAME ARGUMENT...: runs many fibers by several threads. A fork makes a trace of its own.
crowd()
{
	local name=$1 file

	shift
	traced "$name" "$apps/fiber_crowd" "$@" >"$name.said" || fail "$name: exit status $?"
	for file in "$name"/*.fxt; do
		valid "$file" && trace calls "$file"
	done >"$name.calls"
	for file in "$name"/*.fxt; do
		is "$name: lost" "" "$(trace lost "$file" | grep -v ' 0$')"
	done
	count comparison
	python3 "$abs_top_srcdir/tests/e2e/fibers.py" --crowd "$name.said" "$name.calls" ||
		fail "$name: see above"
}

if test -x "$apps/fiber_crowd"; then
	for way in $ways; do
		crowd "$way.crowd" "$way" $((2 + $(random_below 5))) $((1 + $(random_below 400))) 32768
		# The stacks lie below that of the main thread, so the quick way takes the first functions.
		crowd "$way.main" "$way" 0 $((1 + $(random_below 40))) 65536
		crowd "$way.one" "$way" 1 $((1 + $(random_below 40))) 65536
	done
else
	echo "there is no C++ compiler, so fibers of several threads are not compared"
fi

# The programs do the same without the agent, and a ring keeps what it has room for.
FXT_BUFFERING_MODE=circular fibers ring "$apps/fibers" context block $((1 + $(random_below 60))) 4
bare "$apps/fibers" context block 20 3 >bare.said
traced same "$apps/fibers" context block 20 3 >same.said
is "output" "$(cat bare.said)" "$(cat same.said)"

# Fibers are no threads: of the program's two at a time the report has those alone.
report=$(fxt report "$(only same/*.fxt)")
is "fibers among the threads" "" "$(sed -n '/^THREADS/,/^$/p' <<<"$report" | grep '^  *fiber [0-9]')"

# Functions that are in progress on fibers while a manager has stopped the trace nest with what follows.
cat >turns.c <<'EOC'
#define _GNU_SOURCE
#include <poll.h>
#include <stdlib.h>
#include <ucontext.h>
#define PLAIN __attribute__((no_instrument_function))
enum { FIBERS = 7, BYTES = 65536 };
void yield(void);
void nest(int depth);
static ucontext_t main_context, fibers[FIBERS];
static int current;
PLAIN static void leave(void) { swapcontext(&fibers[current], &main_context); }
void yield(void) { leave(); }
void nest(int depth)
{
	yield();
	if (depth)
		nest(depth - 1);
}
PLAIN static void run(void)
{
	int mine = current;

	for (;;)
		nest(mine % 4);
}
PLAIN int main(void)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};
	int i;

	for (i = 0; i < FIBERS; i++) {
		getcontext(&fibers[i]);
		fibers[i].uc_stack.ss_sp = malloc(BYTES);
		fibers[i].uc_stack.ss_size = BYTES;
		makecontext(&fibers[i], run, 0);
	}
	while (!poll(&input, 1, 1))
		for (current = 0; current < FIBERS; current++)
			swapcontext(&main_context, &fibers[current]);
	return 0;
}
EOC
${CC:-cc} -O1 -finstrument-functions -o turns turns.c || fail "turns.c cannot be compiled"
serve --wait
mkfifo turns.input
managed ./turns <turns.input &
background="$background $!"
exec 6>turns.input
for mode in streaming circular oneshot; do
	# shellcheck disable=SC2046 # the commands are words of their own
	"$FXT" ctl --socket=socket -o turns.$mode.fxt "initialize={\"buffering_mode\":\"$mode\"}" \
		$(yes start stop | head -n 16) terminate >turns.said || fail "fxt ctl: exit status $?"
	valid turns.$mode.fxt
	"$FXT" dump turns.$mode.fxt | grep 'function:yield' | grep -o 'fiber [0-9]*' | sort -u >turns.tracks
	# What the first fiber had entered before it was met may be on a track of its own.
	between "$mode: tracks" 7 8 "$(wc -l <turns.tracks)"
done
exec 6>&-
stop_serving

# Functions that nest too deep are no calls of the heap, and neither are those that a filter leaves out.
cat >deep.c <<'EOC'
#include <stdlib.h>
int down(int n);
int down(int n) { return n ? down(n - 1) + 1 : (int)sizeof(int); }
int main(void) { free(malloc(1000)); free(malloc(down(600))); return 0; }
EOC
${CC:-cc} -O0 -finstrument-functions -o deep deep.c || fail "deep.c cannot be compiled"
traced too_deep ./deep
FXT_FILTER='!down' traced left_out ./deep
for name in too_deep left_out; do
	report=$(fxt report "$(only $name/*.fxt)")
	grep -q '^HEAP' <<<"$report" || fail "$name: there is no heap in the report"
	is "$name: what the heap is said to lack" "" "$(grep 'not the whole' <<<"$report")"
done
