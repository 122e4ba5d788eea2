#!/bin/bash
# tests/apps/invariants.c prints what a program can notice of its surroundings. It is the same bare and
# traced.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"

# compare NAME: compares a bare and a traced run in the surroundings that the caller has arranged.
compare()
{
	mkdir -p here
	(cd here && bare "$apps/invariants" one 'two words') </dev/null >"$1.bare" 2>"$1.bare.err"
	is "$1: status of the bare run" 5 $?
	(cd here && traced "$1" "$apps/invariants" one 'two words') </dev/null >"$1.traced" 2>"$1.traced.err"
	is "$1: status of the traced run" 5 $?
	same "$1: output" "$1.bare" "$1.traced"
	same "$1: stderr" "$1.bare.err" "$1.traced.err"
	is "$1: files in its directory" "" "$(ls -A here)"
	valid "$1"/*.fxt
}

compare plain
(
	ulimit -n 64
	compare few_descriptors
)
(
	trap '' USR1 PIPE
	umask 027
	compare ignored_signals
)
for mode in oneshot circular; do
	export FXT_BUFFERING_MODE=$mode FXT_BUFFER_SIZE_MB=1
	compare $mode
done

# Times are those of the kernel's clock: each call of two processes lies, to a microsecond, between what they
# read from the clock before and after it.
rm -rf clocks
FXT_SEED=$seed traced clocks "$apps/clocks" 1 || fail "clocks: exit status $?"
for file in clocks/*.fxt; do
	valid "$file"
	fxt dump --json "$file"
done >clocks.json
python3 - clocks.json <<-'END' >told || fail "clocks, FXT_SEED=$seed: $(cat told)"
	import json, re, sys
	calls, ends = 0, {}
	for line in open(sys.argv[1]):
	    found = re.search(r'"/(\d+)/(\d+)"', line)
	    if not found:
	        continue
	    call = json.loads(line)
	    before, after_last = int(found[1]), int(found[2])
	    early, late = before - call["time"], ends.get(call["tid"], 0) - after_last
	    if early > 1000 or (after_last and late > 1000):
	        sys.exit(print("a call of thread %d begins %d ns too early, or the last one ends %d ns "
	                       "too late" % (call["tid"], early, late)) or 1)
	    ends[call["tid"]] = call["time"] + call["duration"]
	    calls += 1
	if calls < 100 or len(ends) != 4:
	    sys.exit(print("%d calls of %d threads" % (calls, len(ends))) or 1)
END
