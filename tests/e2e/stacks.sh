#!/bin/bash
# The call stacks in a trace are those that the compiler's unwinder finds, frame by frame: in functions with
# frames of all kinds, in handlers on alternate stacks, through the C library, on coroutines, and in rings.
# FXT_STACKS says which calls have one.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

# compare NAME SAID FOUND: compares what the program said with what the trace has. The trace has the innermost
# frame as well, and 64 frames at most: then "[further]" stands for the rest.
compare()
{
	python3 - "$@" <<'PYTHON' || fail "$1: the stacks are not those of the unwinder"
import collections, sys

name, said, found = sys.argv[1:]
MOST = 64
expected, got = collections.defaultdict(list), collections.defaultdict(list)
for path, where in (said, expected), (found, got):
    for line in open(path):
        tid, kind, *frames = line.split()
        where[tid, kind].append(frames)
failures = cut = compared = 0
for key in expected:
    # The program itself has blocks and mappings before it says anything, and frees none of them.
    ours = got.get(key, [])[-len(expected[key]):]
    if len(ours) != len(expected[key]):
        sys.exit(f"{name}: {key}: {len(expected[key])} stacks were expected, there are {len(ours)}")
    for right, is_ in zip(expected[key], ours):
        compared += 1
        rest = is_[1:]
        if rest and rest[-1].startswith("[further"):
            rest.pop()
            cut += 1
            if rest and len(is_) != MOST + 1:
                sys.exit(f"{name}: {key}: a stack of {len(is_) - 1} frames was cut")
            right = right[:len(rest)]
        if rest != right:
            failures += 1
            if failures < 3:
                print(f"{name}: {key}:\n  right {right}\n  found {rest}", file=sys.stderr)
print(f"{name}: {compared} stacks, {cut} of them cut")
sys.exit(failures != 0)
PYTHON
	count comparison
}

for mode in streaming circular oneshot; do
	FXT_BUFFERING_MODE=$mode traced "$mode" "$apps/call_stacks" 60 >"$mode.said" ||
		fail "$mode: exit status $?"
	file=$(only "$mode"/call_stacks.*.fxt)
	valid "$file"
	trace stacks "$file" >"$mode.found"
	compare "$mode" "$mode.said" "$mode.found"
done

# Of a program with gaps between its segments the loader tells only the segment that an address is in. Many
# programs have a gap of a page.
for shape in -pie -no-pie; do
	$CC -O2 $shape -w -D_GNU_SOURCE -std=gnu11 -pthread -Wl,-z,max-page-size=0x200000 -o gaps \
		"$abs_top_srcdir/tests/apps/call_stacks.c" || fail "gaps, $shape: cannot be compiled"
	traced "gaps$shape" ./gaps 60 >gaps.said || fail "gaps, $shape: exit status $?"
	file=$(only "gaps$shape"/gaps.*.fxt)
	valid "$file"
	trace stacks "$file" >gaps.found
	compare "gaps, $shape" gaps.said gaps.found
done

# -- Which calls have one ------------------------------------------------------------------------------------

# which LIST CALL...: prints which of these calls have a stack in a run with this list ("lifetime" stands for
# all lifetimes), and how many frames the deepest stack has. A call that is not named may have taken long.
which()
{
	local list=$1

	shift
	FXT_STACKS=$list traced "which.$list" "$apps/call_stacks" 40 >which.out ||
		fail "FXT_STACKS=$list: exit status $?"
	file=$(only "which.$list"/call_stacks.*.fxt)
	valid "$file"
	fxt dump --json "$file" | python3 -c '
import collections, json, sys
have, parents = set(), {}
for line in sys.stdin:
    r = json.loads(line)
    args = r.get("args", {})
    if r["type"] == "object" and args["type"] == "frame":
        parents[int(r["id"], 0)] = int(args["parent"], 0) if "parent" in args else 0
    if "stack" in args and r["type"] in ("complete", "async-begin"):
        have.add(r["name"] if r["type"] == "complete" else "lifetime")
def depth(node):
    frames = 0
    while node:
        node, frames = parents[node], frames + 1
    return frames
print(*(call for call in sys.argv[1:] if call in have), max(map(depth, parents), default=0))' "$@"
}

is none "0" "$(which none malloc close usleep lifetime)"
is malloc "malloc usleep lifetime 65" "$(which malloc malloc usleep lifetime)"
is io "close usleep lifetime 65" "$(which "io>0ns" close usleep lifetime)"
is frames "close 65" "$(which io:3 close)"

# refused LIST: the library takes no such list, says so, and the program runs on.
refused()
{
	FXT_STACKS=$1 traced refused "$apps/call_stacks" 1 >refused.out 2>refused.err
	is "$1: exit status" 0 $?
	is "$1: message" 1 "$(grep -c "FXT_STACKS: '.*' is not accepted" refused.err)"
	is "$1: no trace" 0 "$(find refused -name '*.fxt' 2>/dev/null | wc -l)"
}
refused "mutex"
refused "io>5"
refused "io:65"
refused "io:0"
refused "io>1us:"
refused "malloc,,io>:3"

# -- Libraries that come and go at the same addresses ------------------------------------------------------

cat >plugin.c <<'SOURCE'
#include <stdlib.h>
#ifdef SECOND
int other(int n) { return n * 3; }
#endif
void *work(void);
void *work(void)
{
	volatile char *block = malloc(200000);

	block[0] = 1;
	return (void *)block;
}
SOURCE
cat >plugins.c <<'SOURCE'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	unsigned state = (unsigned)atoi(argv[argc - 1]);

	for (int i = 0; i < 300; i++) {
		const char *path = argv[1 + (state >> 16 & 1)];
		void *library = dlopen(path, RTLD_NOW);
		void *(*work)(void) = (void *(*)(void))dlsym(library, "work");

		free(work());
		puts(path + 2);
		/* Some stay, and are opened again. */
		if (state >> 20 & 7)
			dlclose(library);
		state = state * 1103515245 + 12345;
	}
	return 0;
}
SOURCE
if command -v "${CC%% *}" >/dev/null 2>&1; then
	# shellcheck disable=SC2086	# the compiler may have options
	$CC -O2 -shared -fPIC -o first.so plugin.c &&
		$CC -O2 -shared -fPIC -DSECOND -o second.so plugin.c &&
		$CC -O2 -o host plugins.c -ldl || fail "the plugins do not build"
	traced plugins ./host ./first.so ./second.so "$seed" >plugins.said || fail "plugins: exit status $?"
	file=$(only plugins/host.*.fxt)
	valid "$file"
	trace stacks "$file" | sed -n 's/^[0-9]* block \([a-z]*\.so\)+.*/\1/p' >plugins.found
	same_some "plugins" plugins.said plugins.found
fi

# -- Code that a program makes while it runs ---------------------------------------------------------------

# made_blocks FILE FUNCTION: prints the functions on the stack of each block that this function is on the
# stack of, the innermost first.
made_blocks()
{
	fxt dump --json "$1" | python3 -c '
import json, sys
asker = sys.argv[1]
nodes, blocks = {}, []
for line in sys.stdin:
    r = json.loads(line)
    args = r.get("args", {})
    if r["type"] == "object" and args["type"] == "frame" and \
            ("name" in r or int(r["id"], 0) not in nodes):
        nodes[int(r["id"], 0)] = r.get("name", "?"), int(args.get("parent", "0"), 0)
    elif r["type"] == "async-begin" and r["name"] == "heap block":
        blocks.append(int(args["stack"], 0))
for node in blocks:
    names = []
    while node:
        name, node = nodes[node]
        names.append(name)
    if asker in names:
        print(*names[:names.index("main") + 1] if "main" in names else names)' "$2"
}

# with_map HOW COMMAND...: runs makes_code by way of the command. What it says becomes `said`, which has no
# names if it has written none for this run.
with_map()
{
	local how=$1

	shift
	# shellcheck disable=SC2016	# the number is that of the shell that is run, and of the program then
	"$@" sh -c 'echo $$ >pid; exec "$0" "$1" 40' "$apps/makes_code" "$how" >said ||
		fail "makes_code $*: exit status $?"
	test "$how" = early || test "$how" = late || sed -i 's/made_[^ ]*/[code in no file]/g' said
}

if "$apps/makes_code" none 1 >said; then
	for run in "early" "late" "old" "none" "late -m oneshot" "early -m circular" "late --no-kernel"; do
		read -r how options <<<"$run"
		# shellcheck disable=SC2086	# these are several
		with_map "$how" "$FXT" record -q $options -o made.fxt --
		map=/tmp/perf-$(cat pid).map
		# Without one, there may be that of an earlier process with this number.
		test "$how" = none || is "$run: there is a map" yes "$(test -f "$map" && echo yes)"
		# From here on the trace alone has the names.
		rm -f "$map"
		valid made.fxt
		made_blocks made.fxt ask >found
		same_some "$run" said found
		fxt report --all made.fxt >report
		sed -n '/^HEAP BY WHO/,/^$/p' report >heap
		case $how in
		early | late) is "$run: the report's heap" 1 "$(grep -c -m 1 '^C[0-9a-z]* made_0 ' heap)" ;;
		*) is "$run: the report's heap" 0 "$(grep -c made_ heap)" ;;
		esac
	done

	# Whoever joins a trace later does not know whose map it is.
	with_map early traced made
	sed -i 's/made_[^ ]*/[code in no file]/g' said
	fxt merge -q -o merged.fxt made/*.fxt
	rm -f "/tmp/perf-$(cat pid).map"
	valid merged.fxt
	made_blocks merged.fxt ask >found
	same_some "joined later" said found
else
	is "a machine for which no code is made" 77 $?
fi

# -- Code without unwind tables, which was written by hand -------------------------------------------------

if "$apps/by_hand" 0; then
	traced by_hand "$apps/by_hand" 200 >said || fail "by_hand: exit status $?"
	fxt merge -q -o by_hand.fxt by_hand/*.fxt
	valid by_hand.fxt
	made_blocks by_hand.fxt compiled >found
	same_some by_hand said found
else
	is "a machine for which there is no such code" 77 $?
fi

# -- Stacks in a ring --------------------------------------------------------------------------------------

# A ring has all of a stack that one of its events names, although the thread that has found it recorded it
# elsewhere, where it is overwritten.
FXT_BUFFERING_MODE=circular FXT_BUFFER_SIZE_MB=4 traced ring "$apps/ring_stacks" \
	$((20 + $(random_below 40))) $((400000 + $(random_below 100000))) >said ||
	fail "ring_stacks: exit status $?"
file=$(only ring/ring_stacks.*.fxt)
valid --ring "$file"
fxt dump --json "$file" | python3 -c '
import collections, json, sys
nodes, named, closed = {}, [], set()
for line in sys.stdin:
    r = json.loads(line)
    args = r.get("args", {})
    if r["type"] == "object" and args["type"] == "frame":
        nodes[int(r["id"], 0)] = int(args.get("parent", "0"), 0)
    elif r["type"] == "async-end":
        closed.add(r["id"])
    for name in "stack", "held_stack":
        if name in args:
            named.append((r, name, int(args[name], 0)))
found = collections.Counter()
for r, name, node in named:
    while node:
        if node not in nodes:
            print(r["name"], "has no whole", name)
            break
        node = nodes[node]
    if r["type"] == "async-begin" and r["name"] == "file":
        found["closed" if r["id"] in closed else "open"] += r["args"].get("pathname") == "/dev/null"
    elif name == "held_stack" or r["name"] == "thread":
        found[r["name"]] += 1
print(found["open"], found["closed"])
if found["pthread_mutex_lock"] != 1 or found["thread"] != 1:
    print("the wait or the thread is missing:", found)' >found
same_some "stacks in a ring" said found

# When there are more stacks than there is room for, those that the trace lacks are counted. Here each malloc
# has its own. The first calls of a process, made by the loader, have stacks too.
export FXT_CATEGORIES=malloc FXT_STACKS=malloc FXT_HEAP_SAMPLE_BYTES=0 FXT_HEAP_TRACK_BYTES=0
traced branches "$apps/branches" 17 || fail "branches: exit status $?"
file=$(only branches/*.fxt)
FXT_ORACLE='' valid "$file"
fxt dump "$file" | grep ' complete .* malloc:\(malloc\|free\) ' >calls
without=$(grep -vc ' stack=' calls)
count comparison
test "$(wc -l <calls)" -ge $((2 << 17)) && test "$without" -gt 100000 && test "$without" -lt 140000 ||
	fail "branches: $without of $(wc -l <calls) calls have no stack"
fxt report "$file" >report.txt
tr -d ' ' <report.txt | grep -q "^LOST:${without}callstacks," ||
	fail "branches: $without calls have no stack: $(grep LOST report.txt)"
# The heap is exact nevertheless: all calls are there.
grep -q '^  (caller not recorded)  .* - .* - ' report.txt &&
	tr -d ' ' <report.txt | grep -q "^callersaremissing:${without}stacks" ||
	fail "branches: the heap does not say that callers are missing: $(grep -A9 '^HEAP BY' report.txt)"
fxt report --json --all "$file" >report.json
is "branches: counted" "$without" "$(sed -n 's/^ *"stacks_not_kept": \([0-9]*\),$/\1/p' report.json)"
# Shorter ones find room.
FXT_STACKS=malloc:16 traced short "$apps/branches" 17 || fail "short: exit status $?"
file=$(only short/*.fxt)
fxt report "$file" >report.txt
grep -q '^nothing lost$' report.txt || fail "short: $(grep LOST report.txt)"
is "short: calls without a stack" 0 \
	"$(fxt dump "$file" | grep ' complete .* malloc:\(malloc\|free\) ' | grep -vc ' stack=')"
unset FXT_CATEGORIES FXT_STACKS FXT_HEAP_SAMPLE_BYTES FXT_HEAP_TRACK_BYTES
