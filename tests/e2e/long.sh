#!/bin/bash
# A run that outgrows what is kept of it has its beginning and its newest, and counts what lay between.
# Names, call stacks and lifetimes are true on both sides. What is on disk stays within the size all the
# while, and is a trace whenever fxt record is killed.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

echo >gate
count=$((200000 + seed % 100000))

# numbers FILE: prints the number of each call /nowhere/NUMBER that the trace has, in the order of the
# numbers.
numbers()
{
	fxt dump "$1" | sed -n 's|.*io:access .*"/nowhere/\([0-9]*\)".*|\1|p' | sort -n
}

# attempted FILE: prints how many calls the report says were made, and how many of them are lost.
attempted()
{
	fxt report --json --all "$1" | python3 -c '
import json, sys
trace = json.load(sys.stdin)["trace"]
print(trace["attempted"], trace["dropped"])'
}

# edges FILE COUNT: checks that of so many calls the first and the last are there.
edges()
{
	numbers "$1" >numbers
	is "$1: the first call" 0 "$(head -n 1 numbers)"
	is "$1: the last call" $(($2 - 1)) "$(tail -n 1 numbers)"
}

# endless FILE: prints how many lifetimes of `lasts` have no end but that of the program. A sampled block is
# left out unless it is one of the program's, of 200000 bytes: the library gives back the tables of the last
# thread to nobody.
endless()
{
	fxt dump "$1" | awk '
		/ async-begin .* malloc:heap sample / && !/ size=200000 / {
			sub(/.* id /, "")
			librarys[$1]
		}
		/ async-end .* ended_by=/ {
			sub(/.* id /, "")
			count += !($1 in librarys)
		}
		END { print count + 0 }'
}

# -- What lies between is counted ------------------------------------------------------------------------

"$FXT" record --no-kernel -c io -o fits.fxt -- "$apps/outlives" 0 gate $count 0 2>said
is "what fits: said" 1 "$(grep -c 'nothing lost' said)"
is "what fits: calls" $count "$(numbers fits.fxt | wc -l)"
valid fits.fxt
read -r all lost < <(attempted fits.fxt)
is "what fits: lost" 0 "$lost"

largest=$((1 + $(random_below 8)))
kept=$(random_below 3)
for option in --max-size=$largest --rotate=1,$kept; do
	"$FXT" record --no-kernel -c io -q $option -o long.fxt -- "$apps/outlives" 0 gate $count 0
	valid long.fxt
	edges long.fxt $count
	read -r made lost < <(attempted long.fxt)
	is "$option: calls in all" "$all" "$made"
	is "$option: calls that lack" $((count - $(wc -l <numbers))) "$lost"
	# Nobody knows what the program did meanwhile: it neither ran nor waited then.
	is "$option: the gap is no part of what the program did" True "$(
		fxt report --json --all long.fxt | python3 -c '
import json, sys
report = json.load(sys.stdin)
gap = report["trace"]["dropped_by_process"][0]
print(report["threads"][0]["unknown_ns"] == gap["last_ns"] - gap["first_ns"] > 0)')"
	test "${option#--max}" = "$option" || most=$largest
	test "${option#--rotate}" = "$option" || most=$((kept + 2))
	# A file may be larger by one chunk, by the names of its programs, and by what Perfetto reads.
	between "$option: size" $((most << 19)) $(((most << 20) + 400000)) "$(stat -c %s long.fxt)"
done

# Files are read when they go, and in the end. What fxt has of them in memory does not grow with them.
size=$((64 + $(random_below 8)))
python3 - $size "$apps/outlives" >peak <<-'EOT' || fail "large files: $?"
	import os, resource, subprocess, sys
	size, program = sys.argv[1:]
	calls = int(size) * 38000
	subprocess.run([os.environ["FXT"], "record", "-q", "--no-kernel", "-c", "io", f"--rotate={size},0",
	                "-o", "large.fxt", "--", program, "0", "gate", str(calls), "0"], check=True)
	print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
EOT
test "$(stat -c %s large.fxt)" -gt $((size << 20)) || fail "large files: there was one alone"
read -r made lost < <(attempted large.fxt)
is "large files: calls in all" $((size * 38000 + all - count)) "$made"
test "$lost" -gt 0 || fail "large files: none has gone"
between "large files: memory of fxt record at its peak, KiB" 1000 32768 "$(cat peak)"
rm large.fxt

# Two programs have a gap of their own each.
"$FXT" record -q --max-size=8 -o two.fxt -- \
	sh -c "'$apps/outlives' 0 gate $count 0 & '$apps/outlives' 0 gate $count 0; wait"
valid two.fxt
is "two: gaps" 2 "$(fxt report --json --all two.fxt | python3 -c '
import json, sys
print(sum(p["program"] == "outlives" and p["records"] > 0
          for p in json.load(sys.stdin)["trace"]["dropped_by_process"]))')"

# -- What is there is true -------------------------------------------------------------------------------

# A program that gives everything back has no lifetime without an end and none without a begin, wherever
# these lie; nothing counts as left, and each call stack has its frames and their names.
for option in --max-size=$largest --rotate=1,$kept; do
	"$FXT" record --json $option -o lasts.fxt -- "$apps/lasts" $count 2>said || fail "lasts: $?"
	valid lasts.fxt
	# The track of the gap is no thread.
	is "lasts: threads in the summary and in the report" "2 2" \
		"$(fxt report --json --all lasts.fxt | python3 -c 'import json, sys
print(json.load(open("said"))["threads"], len(json.load(sys.stdin)["threads"]))')"
	# The present file may have begun a moment ago. Then it lacks the last call (docs/manager.md).
	test "$option" = --rotate=1,0 || edges lasts.fxt $count
	fxt dump lasts.fxt >dump
	is "lasts: lifetimes of $(grep -c 'async-begin' dump) that have no end" 0 "$(endless lasts.fxt)"
	is "lasts: what is left" "[] []" "$(fxt report --json --all lasts.fxt | python3 -c '
import json, sys
report = json.load(sys.stdin)
print(report["leaks"], report["descriptors_open"])')"
	is "lasts: frames that are in no record" 0 "$(python3 - <<-'EOT'
		import re
		text = open("dump").read()
		known = set(re.findall(r"object +(0x7fe[0-9a-f]+) of", text))
		print(len(set(re.findall(r"(?:stack|parent)=(0x7fe[0-9a-f]+)", text)) - known))
	EOT
	)"
	test "$(grep -c 'flow-end' dump)" -gt 0 || fail "lasts: no arrow is left"
done

# --keep lets the beginning go as well. What is open stays known.
"$FXT" record -q --keep=1s --rotate=1,1 -o kept.fxt -- "$apps/lasts" $count || fail "kept: $?"
valid kept.fxt
numbers kept.fxt >numbers
is "kept: the last call" $((count - 1)) "$(tail -n 1 numbers)"
test "$(head -n 1 numbers)" -gt 0 || fail "kept: the first call is there"
is "kept: lifetimes without an end" 0 "$(endless kept.fxt)"

# -- What the kernel told --------------------------------------------------------------------------------

# switches FILE: prints how many records of the kernel are lost, and how many switches are there; whether
# the first and the last tenth of the run have some; for how long threads ran, were ready or blocked, in
# percent of the time that is there; and how many nodes of call stacks no record tells of.
switches()
{
	fxt report --json --all "$1" >report.json
	fxt dump --json "$1" >records
	python3 - <<-'EOT'
		import json
		report = json.load(open("report.json"))
		records = [json.loads(line) for line in open("records")]
		trace = report["trace"]
		span, first = trace["last_ns"] - trace["first_ns"], trace["first_ns"]
		there = [(r["time"] - first) / span for r in records if r["type"] == "switch"]
		edges = [any(low <= at <= high for at in there) for low, high in ((0, 0.1), (0.9, 1))]
		known = span - sum(g["last_ns"] - g["first_ns"] for g in trace["kernel_windows"])
		times = report["processor"]["threads"][0]
		nodes = {int(r["id"], 16) for r in records if r["type"] == "object"}
		named = {int(r["args"][key], 16) for r in records for key in ("stack", "parent")
		         if key in r.get("args", {})}
		print(report["trace"]["kernel_lost"], len(there), all(edges),
		      100 * sum(times[key] for key in ("running_ns", "ready_ns", "blocked_ns")) // known,
		      len({n for n in named if n >= 0x7ff0000000000000} - nodes))
	EOT
}

naps=$((15000 + $(random_below 5000)))
"$FXT" record --sample=0 -c process -o naps.fxt --max-size=1 -- "$apps/naps" $naps >times 2>kernel.said ||
	fail "naps: $?"
if grep -q 'no samples and no context switches' kernel.said; then
	printf 'the kernel refuses: %s\n' "$(cat kernel.said)"
else
	valid naps.fxt
	read -r lost there edges known _ < <(switches naps.fxt)
	# The thread gets a processor as often as it leaves one, and tells what it executed and that it ends.
	between "naps: switches in all" $((2 * $(cat times) - 2)) $((2 * $(cat times) + 20)) $((lost + there))
	between "naps: switches that are there" 1000 $((naps * 2 / 3)) "$there"
	is "naps: beginning and newest are there" True "$edges"
	between "naps: times of what is there" 50 101 "$known"
	between "naps: size" 1 800000 "$(stat -c %s naps.fxt)"
	"$FXT" record -q -c process --rotate=1,1 --sample=1997 -o stacks.fxt -- \
		"$apps/naps" $((4 * naps)) >times
	valid stacks.fxt
	read -r lost _ edges known nodes < <(switches stacks.fxt)
	is "stacks: nodes that are in no record" 0 "$nodes"
	is "stacks: beginning and newest are there" True "$edges"
	between "stacks: times of what is there" 50 101 "$known"
	test "$lost" -gt 1000 || fail "stacks: $lost are gone"
fi

# -- While the run goes on -------------------------------------------------------------------------------

# A snapshot of the last time is a trace, has the newest call, and says how much came before. The run is what
# it would be without.
mkfifo fifo
"$FXT" record -q --no-kernel -c '#default' --rotate=1,$kept -o asked.fxt -- "$apps/lasts" $count fifo &
background=$!
# This waits until the program has made all its calls.
exec 9>fifo
for time in 1h all 1s; do
	"$FXT" ctl --socket=. -o asked.$time.fxt save=$time >said || fail "save=$time: $?: $(cat said)"
	valid asked.$time.fxt
	numbers asked.$time.fxt >numbers
	read -r made lost < <(attempted asked.$time.fxt)
	between "save=$time: calls in all" $count $((count + count / 8)) "$made"
	test $time = 1s && continue
	is "save=$time: the first call" 0 "$(head -n 1 numbers)"
	# The present file may have begun a moment ago, as above.
	test $kept = 0 || is "save=$time: the last call" $((count - 1)) "$(tail -n 1 numbers)"
done
is "save: what is left beside the snapshots" "asked.1h.fxt asked.1s.fxt asked.all.fxt" "$(echo asked.*)"
"$FXT" ctl --socket=. -o asked.all.fxt save=all >said 2>&1
is "save: to a file that is there" 1 $?
"$FXT" ctl --socket=. save=10s 2>said
is "save: to no file" "30 1" "$? $(grep -c 'Give --output=FILE' said)"
"$FXT" ctl --socket=. -o none.fxt save=soon 2>said
is "save: no time" "30 1" "$? $(grep -c "'soon' is no time" said)"
echo >&9
exec 9>&-
wait $background || fail "asked: $?"
background=
valid asked.fxt
is "asked: lifetimes without an end" 0 "$(endless asked.fxt)"

# -- Whoever is killed -----------------------------------------------------------------------------------

# has_come_to: whether the file of this number was begun; it may be gone already.
has_come_to()
{
	local newest

	newest=$(ls .fxt-parts.* 2>/dev/null | sed -n 's/^manager\.\([0-9]*\)\.fxt$/\1/p' | sort -n |
		tail -n 1)
	test "${newest:-0}" -ge "$number"
}
# own_file: whether the program has a file with some records.
own_file()
{
	test "$(cat .fxt-parts.*/lasts.*.fxt 2>/dev/null | wc -c)" -gt 1000000
}

for round in 1 2 3; do
	number=$((2 + $(random_below 20)))
	"$FXT" record -q --rotate=1,$kept -o killed.fxt -- "$apps/lasts" 1000000000 &
	recorder=$!
	background=$recorder
	until_deadline has_come_to
	# No file is larger than it should be by more than a chunk and the names.
	between "killed $round: size while it runs" 1 $(((kept + 3) * 1500)) \
		"$(du -sk .fxt-parts.* | cut -f1)"
	program=$(pgrep -P $recorder -x lasts)
	if [ $round = 3 ]; then
		# The program goes on in a file of its own.
		kill -9 $recorder
		until_deadline own_file
		kill -9 "$program"
	else
		kill -9 "$program" $recorder
	fi
	wait $recorder 2>/dev/null
	background=
	for part in .fxt-parts.*/manager*.fxt; do
		test "$(stat -c %s "$part")" -le 16 || valid --ring --allow-tail "$part"
	done
	rm -f killed.fxt
	"$FXT" merge -q -o killed.fxt .fxt-parts.* 2>err
	is "killed $round: merge" 0 $?
	valid killed.fxt
	is "killed $round: the first call" 0 "$(numbers killed.fxt | head -n 1)"
	is "killed $round: parts that are left" "" "$(echo .fxt-parts.* | grep -v '\*')"
done

# The kernel's part is divided in the same way, and put together in the same way.
if ! grep -q 'no samples and no context switches' kernel.said; then
	# kernel_turned: whether some of the kernel's part is gone.
	kernel_turned()
	{
		ls .fxt-parts.*/kernel.gap.*.fxt >/dev/null 2>&1
	}
	"$FXT" record -q -c process --rotate=1,0 -o killed.fxt -- "$apps/naps" 1000000000 &
	recorder=$!
	background=$recorder
	until_deadline kernel_turned
	program=$(pgrep -P $recorder -x naps)
	kill -9 "$program" $recorder
	wait $recorder 2>/dev/null
	background=
	is "kernel: size of what is left" 1 $(($(du -sk .fxt-parts.* | cut -f1) < 5 * 1024))
	"$FXT" merge -q -o kernel.fxt .fxt-parts.* 2>err
	is "kernel: merge" 0 $?
	valid kernel.fxt
	read -r lost _ edges _ nodes < <(switches kernel.fxt)
	is "kernel: beginning and newest, nodes that are in no record" "True 0" "$edges $nodes"
	test "$lost" -gt 100 || fail "kernel: $lost are gone"
	is "kernel: parts that are left" "" "$(echo .fxt-parts.* | grep -v '\*')"
fi
