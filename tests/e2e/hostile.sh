#!/bin/bash
# Traces that are made to cost more than they are long: what fxt takes for them is bounded, in memory (address space) and in work
# (processor time, some fifty times what it takes).
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

make="python3 $abs_top_srcdir/tests/e2e/hostile.py"
bytes=4000000
memory_kb=200000
(ulimit -v $memory_kb; "$FXT" --version >/dev/null 2>&1) || skip "this fxt takes more address space for nothing"

for kind in $($make list); do
	$make "$kind" $bytes "$seed" >hostile.fxt
	for command in report check dump "report --json" "dump --json" "merge -q -o merged.fxt"; do
		# An object for each thread is held until it is printed.
		limit_kb=$memory_kb
		test "$command" != "report --json" || limit_kb=$((memory_kb * 3))
		# shellcheck disable=SC2086
		(ulimit -v $limit_kb -t 10; "$FXT" $command hostile.fxt >/dev/null 2>error)
		status=$?
		test $status -le 1 || fail "$kind, fxt $command: status $status, FXT_SEED=$seed: $(head -n 1 error)"
		grep -q 'out of memory' error && fail "$kind, fxt $command, FXT_SEED=$seed: $(head -n 1 error)"
	done
done

# An ordinary trace of any length takes what its threads and open calls take, and the room for the file. The file is mapped.
bytes=$((90000000 + seed % 1000 * 10000))
$make long $bytes "$seed" >long.fxt
for command in check "check --json" "merge -q -o merged.fxt"; do
	# shellcheck disable=SC2086
	(ulimit -v $((bytes / 1000 + 70000)) -t 30; "$FXT" $command long.fxt >found 2>error)
	status=$?
	is "long trace, fxt $command, FXT_SEED=$seed: $(head -n 1 error) $(head -n 3 found)" 0 $status
done
exit 0
