#!/bin/bash
# A program knows its large blocks and mappings, and how much of the heap it has. It finds the same in its
# trace: in the lifetimes, and in the counter of the heap.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3
export FXT_QUIET=1

# lives.py FILE... prints "PID block|mapping kept|gone SIZE FUNCTION" for each block and mapping of the
# program itself, and "PID heap MARK BYTES" for what the heap has at each mark more than at the first.
cat >lives.py <<'EOT'
import json, os, subprocess, sys
own = {"take", "resize", "resize_array", "map", "map_file", "move"}
marks = {}
def as_double(digits):
    """Many readers of JSON have doubles for all numbers."""
    return int(float(digits))
for path in sys.argv[1:]:
    begun, ends, says, samples = {}, {}, {}, []
    seen = []
    for line in subprocess.run([os.environ["FXT"], "dump", "--json", path], stdout=subprocess.PIPE,
                               check=True, text=True).stdout.splitlines():
        r = json.loads(line, parse_int=as_double)
        # Of smaller blocks some are drawn by chance.
        if r["type"].startswith("async-") and (r["category"] != "malloc" or r["name"] == "heap sample"):
            continue
        if r["type"] == "async-begin":
            a = r["args"]
            assert r["name"] in ("heap block", "mapping") and a["ptr"], r
            assert r["id"] not in begun, r
            assert a.get("object") == ("block of " + a["function"] if r["name"] == "heap block" else None), r
            begun[r["id"]] = [r["pid"], r["name"].replace("heap ", ""), "kept", a["size"],
                              a.get("function", "-"), r["time"]]
        elif r["type"] == "async-end":
            assert r["id"] not in ends, r
            ends[r["id"]] = r["time"]
            says[r["id"]] = r.get("args", {}).get("object")
        elif r["type"] == "counter" and r["name"] == "heap bytes":
            samples.append((r["time"], r["args"]["bytes"]))
        elif r["type"] == "complete" and r["name"] == "access":
            seen.append((r["args"]["pathname"], r["time"], r["pid"]))
    for name, time, pid in seen:
        marks[name] = (pid, [v for t, v in sorted(samples) if t < time][-1])
    # The records of several threads are in any order in the file.
    for ident, time in ends.items():
        assert begun[ident][5] < time, ident
        assert says[ident] == ("block of " + begun[ident][4] if begun[ident][1] == "block" else None), ident
        begun[ident][2] = "gone"
    for life in begun.values():
        if life[4] in own or life[4].startswith("take_"):
            print(*life[:5])
for name, (pid, value) in marks.items():
    print(pid, "heap", name, value - marks["first"][1])
EOT

# left.py FILE... prints "PID block|mapping FUNCTION" for each block and mapping that fxt report says is left.
cat >left.py <<'EOT'
import json, os, subprocess, sys
for path in sys.argv[1:]:
    report = json.loads(subprocess.run([os.environ["FXT"], "report", "--json", "--all", path],
                                       stdout=subprocess.PIPE, check=True).stdout)
    assert [l["bytes"] for l in report["leaks"]] == sorted((l["bytes"] for l in report["leaks"]),
                                                           reverse=True), path
    assert sum(l["count"] for l in report["leaks"] if l["kind"] == "block") == \
        sum(h["in_use_blocks"] for h in report["heap"]), path
    for l in report["leaks"]:
        if l["function"] and l["function"] != "all_of_the_heap":
            print(f'{l["pid"]} {l["kind"]} {l["function"]}\n' * l["count"], end="")
EOT

# compare NAME FILE...: compares the traces with what the program said, which is in the file `said`.
compare()
{
	local name=$1
	shift

	sort said >expected
	python3 lives.py "$@" >lived || fail "$name: the lives cannot be read"
	sort lived >found
	same_some "$name" expected found
	sed -n 's/ kept [0-9]*//p' said | sort >expected
	python3 left.py "$@" >left || fail "$name: fxt report"
	grep -E ' (take|resize|map|move)[^ ]*$' left | sort >found
	same_some "$name: what is left" expected found
}

# A ring that is large enough keeps everything.
for mode in streaming oneshot circular; do
	FXT_BUFFERING_MODE=$mode FXT_BUFFER_SIZE_MB=16 traced $mode "$apps/owns" >said ||
		fail "$mode: exit status $?"
	compare $mode $mode/owns.*.fxt
	valid $mode/owns.*.fxt
done

# A block is of the function that has asked for it, and not of operator new, a container or strdup().
for mode in streaming oneshot circular; do
	test -x "$apps/allocates" || break
	FXT_BUFFERING_MODE=$mode FXT_BUFFER_SIZE_MB=16 traced "allocates.$mode" "$apps/allocates" >said ||
		fail "allocates, $mode: exit status $?"
	compare "allocates, $mode" "allocates.$mode"/allocates.*.fxt
	valid "allocates.$mode"/allocates.*.fxt
done

# Other allocators say their own sizes.
for library in jemalloc tcmalloc; do
	found=$(ls /usr/lib/*/lib$library.so* 2>/dev/null | head -n 1)
	if test -z "$found"; then
		echo "no lib$library here: left out"
		continue
	fi
	mkdir $library
	env LD_PRELOAD="$FXT_AGENT $found" FXT_OUTPUT="$scratch/$library/%e.%p.fxt" "$apps/owns" >said ||
		fail "$library: exit status $?"
	compare $library $library/owns.*.fxt
	valid $library/owns.*.fxt
done

# The trace is valid when the program is killed at any moment, also in a ring that is overwritten.
for mode in streaming oneshot circular; do
	for wait in 0.02 0.08; do
		rm -rf killed
		FXT_BUFFERING_MODE=$mode FXT_BUFFER_SIZE_MB=2 FXT_MAX_SIZE_MB=16 \
			start_traced killed "$apps/owns" forever
		sleep $wait
		kill_background
		if test $mode = circular; then
			valid --ring killed/*.fxt
		else
			valid killed/*.fxt
		fi
	done
done

# asked NAME BYTES CATEGORIES: runs the program with these choices, and leaves the records of its traces in
# the file `dumped`.
asked()
{
	local file

	FXT_HEAP_TRACK_BYTES=$2 FXT_HEAP_SAMPLE_BYTES=0 FXT_CATEGORIES=$3 traced "$1" "$apps/owns" >output ||
		fail "$1: exit status $?"
	valid "$1"/owns.*.fxt
	for file in "$1"/owns.*.fxt; do
		fxt dump --json "$file" || fail "$1: fxt dump"
	done >dumped
}
asked none 0 '#default'
is "no lifetimes" 0 "$(grep -c '"async-.*"malloc"' dumped)"
grep -q '"counter".*"heap bytes"' dumped || fail "no lifetimes: the counter is missing"
asked every 1 malloc
is "lifetimes of every block" 102 \
	"$(grep -c '"async-begin".*"heap block".*"function":"all_of_the_heap"' dumped)"
is "no counter" 0 "$(grep -c '"counter".*"heap bytes"' dumped)"
asked without 65536 '#default,-malloc'
is "without malloc" 0 "$(grep -c '"async-.*"malloc"\|"heap bytes"' dumped)"
asked large 300000 malloc
is "lifetimes of large blocks" 0 "$(grep '"async-begin"' dumped | grep -c '"size":[0-9]\{5\}[,}]')"
grep -q '"async-begin".*"size":311280' dumped || fail "lifetimes of large blocks: there are none"

# The table has a place for nearly every block, however many threads have blocks and of whatever sizes.
crowd()
{
	local name=$1 least=$2 range=$3 threads=$((1 + $(random_below 32))) blocks found

	blocks=$(((4000 + $(random_below 8000)) / threads))
	FXT_CATEGORIES=malloc FXT_HEAP_SAMPLE_BYTES=0 FXT_HEAP_TRACK_BYTES=$least traced "$name" \
		"$apps/crowds" $threads $blocks $least $((least + $(random_below "$range"))) ||
		fail "$name: exit status $?"
	valid "$name"/crowds.*.fxt
	found=$(fxt dump "$name"/crowds.*.fxt | grep -c "async-begin.*malloc:heap block .*function=\"keep\"")
	count comparison
	test "$found" -gt $((threads * blocks * 99 / 100)) && test "$found" -le $((threads * blocks)) ||
		fail "$name: of $threads times $blocks blocks $found have a lifetime"
}
crowd crowd.large 65536 100000
crowd crowd.huge $((1 << 20)) 1000000
crowd crowd.middle $((1100 + $(random_below 1000))) 10000

# What finds no place in the table is counted. Where addresses are limited the table has 65536 places.

# not_kept FILE: prints how many blocks and samples the trace says it lacks.
not_kept()
{
	fxt report --json --all "$1" | python3 -c 'import json, sys
trace = json.load(sys.stdin)["trace"]
assert sum(p["blocks"] for p in trace["not_kept_by_process"]) == trace["blocks_not_kept"]
print(trace["blocks_not_kept"])'
}

# beyond NAME MADE FILE: checks that each of MADE blocks has a lifetime or is counted, and that the report
# says how many were counted, or nothing of the kind if none was. Writes that number to the file `lost`.
beyond()
{
	local found lost

	valid "$3"
	found=$(fxt dump "$3" | grep -c 'async-begin.*heap \(block .*="keep"\|sample .*size=48 \)')
	not_kept "$3" >lost
	lost=$(cat lost)
	is "$1: blocks that have a lifetime or are counted" "$2" $((found + lost))
	fxt report -a "$3" >report.txt
	fxt report --folded=heap:folded "$3" >/dev/null 2>err
	if test "$lost" = 0; then
		is "$1: said to be lost" 0 "$(cat report.txt err | grep -c 'too low\|LOST')"
	else
		# Thousands are set apart in the text.
		tr -d ' ' <report.txt >dense
		tr -d ' ' <err >>dense
		is "$1: how often the loss is said" 3 \
			"$(grep -c "^LOST:${lost}heapb\|^toolow:${lost}blocksand\|aretoolow:${lost}bl" dense)"
	fi
}

# Each arena of the allocator's reserves 64 MiB. With one for each thread, the program may come to the end of
# its addresses, and the agent's own decide whether it does.
export MALLOC_ARENA_MAX=2

# crowded NAME TRACK SAMPLE THREADS BLOCKS WORD: runs crowds with blocks of 48 bytes, and few addresses.
crowded()
{
	(
		ulimit -v 400000
		FXT_CATEGORIES=malloc FXT_THRESHOLD_NS=1000000000000 FXT_HEAP_TRACK_BYTES=$2 \
			FXT_HEAP_SAMPLE_BYTES=$3 traced "$1" "$apps/crowds" "$4" "$5" 48 48 "$6"
	)
}

threads=$((1 + $(random_below 8)))
blocks=$(((80000 + $(random_below 20000)) / threads))
crowded beyond.blocks 48 0 $threads $blocks only || fail "beyond.blocks: exit status $?"
beyond beyond.blocks $((threads * blocks)) "$(only beyond.blocks/*.fxt)"
test "$(cat lost)" -ge $((threads * blocks - 65536)) || fail "beyond.blocks: only $(cat lost) are lost"
# Each byte is drawn, and so is each block.
crowded beyond.samples 0 1 $threads $blocks only || fail "beyond.samples: exit status $?"
beyond beyond.samples $((threads * blocks)) "$(only beyond.samples/*.fxt)"
test "$(cat lost)" -ge $((threads * blocks - 65536)) || fail "beyond.samples: only $(cat lost) are lost"
crowded beyond.killed 48 0 $threads $blocks killed 2>/dev/null
is "beyond.killed: exit status" 137 $?
beyond beyond.killed $((threads * blocks)) "$(only beyond.killed/*.fxt)"
test "$(cat lost)" -gt 0 || fail "beyond.killed: none is lost"
# The child of a fork begins with an empty table, in which its blocks find places.
crowded beyond.forks 48 0 4 20000 forks || fail "beyond.forks: exit status $?"
is "beyond.forks: traces" 2 "$(find beyond.forks -name '*.fxt' | wc -l)"
for file in beyond.forks/*.fxt; do
	made=20000
	test "$(not_kept "$file")" = 0 || made=80000
	beyond "beyond.forks" $made "$file"
	cat lost
done >found
is "beyond.forks: traces that lack blocks" 1 "$(grep -cvx 0 found)"

# So it is under a manager, and fxt record says it too.
FXT_CATEGORIES=malloc FXT_THRESHOLD_NS=1000000000000 FXT_HEAP_TRACK_BYTES=48 FXT_HEAP_SAMPLE_BYTES=0 \
	"$FXT" record -o recorded.fxt -- bash -c 'ulimit -v 400000 && exec "$@"' run \
	"$apps/crowds" 2 40000 48 48 only 2>summary ||
	fail "recorded: exit status $?: $(cat summary)"
beyond recorded 80000 recorded.fxt
tr -d ' ' <summary | grep -q ",$(cat lost)heapblocksandsamplesLOST" || fail "recorded: $(cat summary)"

# The whole table has a million places. A ring has the counts without what it has overwritten.
FXT_CATEGORIES=malloc FXT_HEAP_TRACK_BYTES=48 FXT_HEAP_SAMPLE_BYTES=0 FXT_BUFFERING_MODE=circular \
	FXT_BUFFER_SIZE_MB=1 traced beyond.ring "$apps/crowds" 2 600000 48 48 only ||
	fail "beyond.ring: exit status $?"
valid --ring beyond.ring/*.fxt
lost=$(not_kept beyond.ring/*.fxt)
count comparison
test "$lost" -ge $((1200000 - (1 << 20))) && test "$lost" -le 400000 ||
	fail "beyond.ring: of 1200000 blocks $lost are lost"

# A lifetime takes no system call of its own, whether it is over in the chunk in which it began or not.
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
	blocks=$((20000 + $(random_below 10000)))
	FXT_HEAP_TRACK_BYTES=1 FXT_OUTPUT=$scratch/calls.fxt \
		strace -f -qq -o calls -E LD_PRELOAD="$FXT_AGENT" "$apps/sequence" $blocks
	valid calls.fxt
	fxt dump --json calls.fxt >dumped || fail "system calls: fxt dump"
	is "system calls: lifetimes" $((2 * blocks)) "$(grep -c '"async-.*"heap block"' dumped)"
	test "$(wc -l <calls)" -lt $((blocks / 4)) ||
		fail "$blocks lifetimes take $(wc -l <calls) system calls"
fi
