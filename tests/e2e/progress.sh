#!/bin/bash
# Programs that report how far they have come are killed, or their traces saved, at random moments: all calls
# that they reported are in the trace. FXT_KILLS is how many programs are killed, FXT_SECONDS how long a ring
# is filled at full speed.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

# run COMMAND NUMBER: runs progress.py with these arguments. It works in the current directory, compares by
# itself, and fails where it compared nothing.
run()
{
	count comparison
	python3 "$abs_top_srcdir/tests/e2e/progress.py" "$@" || fail "progress.py $*"
}

run kill "${FXT_KILLS:-60}"
run ring "${FXT_SECONDS:-0}"
