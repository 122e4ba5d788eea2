#!/bin/bash
# Programs that say how far they have come are cut off, and saved, at random moments: what they told of is in
# the trace. FXT_KILLS is how many are killed, FXT_SECONDS how long the ring is filled at full speed.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

# run COMMAND NUMBER: runs it by progress.py, which works in the current directory, compares by itself, and fails where it compared nothing.
run()
{
	count comparison
	python3 "$abs_top_srcdir/tests/e2e/progress.py" "$@" || fail "progress.py $*"
}

run kill "${FXT_KILLS:-60}"
run ring "${FXT_SECONDS:-0}"
