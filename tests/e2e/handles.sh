#!/bin/bash
# Handles: the rows of fxt report begin with them, and JSON has them. Programs are traced, handles of each
# kind are drawn, and `fxt report --explain` has to say of each what the rows say that have it; `fxt dump
# --around` has to print the record that is its moment. They are the same whatever narrows or cuts the tables.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

# record NAME PROGRAM [ARGUMENT...]: leaves NAME.fxt.
record()
{
	local name=$1

	shift
	"$FXT" record -q -o "$name.fxt" -- "$@" >"$name.out" 2>"$name.err" ||
		fail "$name: exit status $?: $(cat "$name.err")"
	valid "$name.fxt"
}

# Two threads that take two locks, a chain of waits, and processes with pipes between them. How many of what
# is drawn.
files=$((2 + $(random_below 8)))
seq "$((1000 + $(random_below 5000)))" >numbers
record locks "$apps/lock_order"
record chain "$apps/chain"
record pipes sh -c "for i in \$(seq $files); do sort -r numbers | head -n \$i >drawn.\$i; done; true"

for name in locks chain pipes; do
	python3 "$abs_top_srcdir/tests/e2e/handles.py" "$FXT" "$name.fxt" "$seed" >"$name.found" 2>&1 ||
		fail "$name: $(tail -n 5 "$name.found")"
	count comparison
	grep -qE '^explained ([5-9]|1[0-9]) handles$' "$name.found" ||
		fail "$name: $(tail -n 1 "$name.found")"
done

# The handle of a file follows from its path alone, so that it is known what it is in each of several traces.
mv pipes.fxt first.fxt
record pipes sh -c "sort -r numbers >drawn.1"
handles_of()
{
	fxt report --json --all "$1" |
		python3 -c 'import json, sys
print(*{f["handle"] for f in json.load(sys.stdin)["files"] if f["file"].endswith("/numbers")})'
}
is "one path in two traces" "$(handles_of first.fxt)" "$(handles_of pipes.fxt)"

# What fxt record says last: the first finding.
cat >fails.sh <<'END'
cat numbers >/dev/null
exit 3
END
"$FXT" record -o fails.fxt -- sh fails.sh 2>err
is "exit status" 3 $?
is "what fxt record says last" "fxt: $(fxt report fails.fxt | sed -n 's/^F1 */F1 /p')" "$(tail -n 1 err)"
"$FXT" record -q -o fails.fxt -- sh fails.sh 2>err
is "exit status, quiet" 3 $?
is "fxt record --quiet" "" "$(cat err)"
