#!/bin/bash
# This script kills a busy program of four threads at random moments with SIGKILL. Each file is valid, and
# ends with the calls that were open. FXT_KILLS says how many are killed.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

kills=${FXT_KILLS:-40}
export FXT_QUIET=1 FXT_MAX_SIZE_MB=64
for ((i = 0; i < kills; i++)); do
	rm -rf trace
	export FXT_SEED=$((seed + i))
	start_traced trace "$apps/busy"
	# The moment is random on purpose; it comes before the file reaches its limit.
	sleep "0.0$(printf %02d "$(random_below 40)")"
	kill_background
	file=$(only trace/*.fxt) || continue
	valid "$file"
	# Each of the four threads is in work() at least, and the first is in main().
	trace open "$file" >open
	is "round $i, FXT_SEED=$FXT_SEED: threads in work()" 4 "$(grep -c ' function:work$' open)"
	is "round $i, FXT_SEED=$FXT_SEED: threads in main()" 1 "$(grep -c ' function:main$' open)"
	give_up_if_hopeless
done
# A slow call that has just returned is in the trace, once.
for ((i = 0; i < kills; i++)); do
	call=$(test $((i % 2)) = 0 && echo read || echo write)
	rm -rf returned
	traced returned "$apps/just_returned" "$call" 2>/dev/null
	is "$call $i: exit status" 137 $?
	file=$(only returned/*.fxt) || continue
	valid "$file"
	# The first thread fills the pipe, by calls of the same name.
	is "$call $i: calls of the other thread" 1 "$(fxt dump --json "$file" | python3 -c '
import json, sys
records = [json.loads(line) for line in sys.stdin]
print(sum(r.get("name") == sys.argv[1] and r["type"] in ("complete", "begin") and r["tid"] != r["pid"]
          for r in records))' "$call")"
	give_up_if_hopeless
done
# A directory of traces is read as one. The directory stays as it is.
traced parts sh -c 'cat /dev/null & cat /dev/null & wait' 2>/dev/null
rm -f parts/*.tmp
names=$(ls parts)
"$FXT" merge -o merged.fxt parts/*.fxt 2>/dev/null
valid merged.fxt
"$FXT" check parts >/dev/null || fail "fxt check does not take a directory"
for form in dump 'dump --json' categories; do
	is "fxt $form of a directory" "$("$FXT" $form merged.fxt | grep -vc '^ *[0-9]* string')" \
		"$("$FXT" $form parts | grep -vc '^ *[0-9]* string')"
done
"$FXT" report parts | grep -q '^nothing lost' || fail "fxt report does not take a directory"
is "what is in the directory" "$names" "$(ls parts)"
mkdir empty
"$FXT" report empty >/dev/null 2>empty.err
is "a directory without a trace" "1 fxt: empty: there is no trace in this directory" "$? $(cat empty.err)"
# Processes that are killed while they end leave their traces and nothing else.
mkdir ending
FXT_SEED=$seed FXT_OUTPUT="$PWD/ending/%e.%p.fxt" LD_PRELOAD="$FXT_AGENT" \
	"$apps/host_killed_ending" 300 >/dev/null || fail "ending: exit status $?"
is "ending: other files than traces" "" "$(find ending -type f ! -name '*.fxt')"
valid ending/*.fxt
echo "$kills kills"
