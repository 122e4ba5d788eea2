#!/bin/bash
# Some traces are made to cost a reader much more than their length would. The memory and the processor time
# that fxt takes for them are bounded; the bound is about twenty times the usual time. Each kind of trace is
# read by some commands that are drawn; by all of them with FXT_FULL.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

make="python3 $abs_top_srcdir/tests/e2e/hostile.py"
bounded="python3 $abs_top_srcdir/tests/e2e/bounded.py"
bytes=4000000
# The table of the forms that events have takes 400 KiB of it, whatever the trace is.
memory_kb=102000
(ulimit -v 200000; "$FXT" --version >/dev/null 2>&1) || skip "this fxt takes more address space for nothing"

commands="report
report --all
report --all --json
report --all --json --category=malloc
check
check --json
check --ring --copy
dump
dump --all --ns
dump --json
categories
categories --json
merge -q -o merged.fxt"

for kind in $($make list); do
	$make "$kind" $bytes "$seed" >hostile.fxt
	while read -r command; do
		test -n "${FXT_FULL-}" || test "$(random_below 5)" -lt 2 || continue
		count comparison
		# The output of dump has all texts that events refer to, so it is too long for these kinds.
		case $command:$kind in dump*:objects | dump*:repeated) continue ;; esac
		# shellcheck disable=SC2086
		$bounded $memory_kb 10 "$FXT" $command hostile.fxt >/dev/null 2>error
		status=$?
		test $status -le 1 ||
			fail "$kind, fxt $command: status $status, FXT_SEED=$seed: $(tail -n 1 error)"
	done <<<"$commands"
done

# For an ordinary trace of any length fxt takes memory for its threads and open calls, and address space for
# the file, which it maps.
bytes=$((90000000 + seed % 1000 * 10000))
$make long $bytes "$seed" >long.fxt
for command in check "check --json" "merge -q -o merged.fxt"; do
	# shellcheck disable=SC2086
	(ulimit -v $((bytes / 1000 + 70000)) -t 30; "$FXT" $command long.fxt >found 2>error)
	status=$?
	is "long trace, fxt $command, FXT_SEED=$seed: $(head -n 1 error) $(head -n 3 found)" 0 $status
done
