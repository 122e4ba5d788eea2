#!/bin/bash
# Programs with one realistic fault each (tests/faults/): one plain `fxt record` and one `fxt report` name the
# fault, and the function and line that are to blame, in the first ten lines. Those that no rule finds yet are
# marked in the table, and fail here as soon as one does.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

LINES_OF_ANSWER=10
faults=$abs_top_srcdir/tests/faults
table=$faults/expected

grep -v '^#' "$table" | grep . >rows
is "programs without a row, and rows without a program" "" \
	"$(diff <(cut -d' ' -f1 rows | sort) <(cd "$faults" && ls -- *.c *.cc | sed 's/\..*//' | sort))"

# try PROGRAM END: builds the program, records it, and leaves what the report says of it.
try()
{
	local source status compiler="${CC:-cc} -std=gnu11"

	source=$(echo "$faults/$1".c*)
	test "${source%.cc}" = "$source" || compiler=${CXX:-c++}
	mkdir "$1" && cd "$1" || return
	$compiler -D_GNU_SOURCE -g -O1 -pthread -o "../bin/$1" "$source" >build.log 2>&1 || return
	if test "$2" = stuck; then
		python3 "$abs_top_srcdir/tests/e2e/stuck.py" "$FXT" \
			"$FXT" record -q -o "../$1.fxt" -- "../bin/$1" >record.log 2>&1
	else
		"$FXT" record -q -o "../$1.fxt" -- "../bin/$1" >record.log 2>&1
	fi
	status=$?
	echo $status >status
	"$FXT" report "../$1.fxt" >text 2>report.log
	"$FXT" report --json "../$1.fxt" >json 2>>report.log
}

mkdir bin
export -f try
export faults FXT CC CXX
# Two at a time: most of these programs wait.
awk '{ print $1, $2 }' rows | xargs -P 2 -L 1 bash -c 'try "$1" "$2"' try

# found PROGRAM RULE FUNCTION: returns whether the first lines of the report name the function with a line
# that is marked, and a finding of that rule does.
found()
{
	local source marked line

	source=$(cd "$faults" && echo "$1".c*)
	marked=$(grep -nE '(/\*|//) FAULT' "$faults/$source" | cut -d: -f1)
	for line in $marked; do
		head -n $LINES_OF_ANSWER "$1/text" | grep -qF "$3 ($source:$line)" || continue
		python3 - "$1/json" "$2" "$3" "$line" <<'END' && return
import json, sys
rule, function, line = sys.argv[2:]
findings = json.load(open(sys.argv[1])).get("findings", [])
said = []
for f in findings:
    if f["rule"] == rule:
        said += [f["culprit"] or ""]
        said += [f"{s['function']} ({s.get('file')}:{s.get('line')})" for s in f["stack"] or []]
sys.exit(not any(place.startswith(function + " (") and place.endswith(f":{line})") for place in said))
END
	done
	return 1
}

# as_expected PROGRAM RULE FUNCTION MARK: returns whether the row is right.
as_expected()
{
	if found "$1" "$2" "$3"; then test -z "$4"; else test -n "$4"; fi
}

ruled=0 silent=0
while read -r program end rule function mark; do
	# A machine that is busy with others may keep a program from what it would do by itself. So what is
	# not as the table says is recorded twice more, alone.
	for _ in 1 2; do
		as_expected "$program" "$rule" "$function" "$mark" 2>/dev/null && break
		echo "again: $program"
		rm -rf "$program" "$program.fxt"
		(try "$program" "$end" </dev/null)
	done
	if ! test -s "$program/text" || ! test -s "$program/json"; then
		fail "$program: there is no report"
		tail -n 5 "$program"/*.log >&2
		continue
	fi
	if test "$end" = stuck; then end=0; fi
	is "$program: exit status" "$end" "$(cat "$program/status")"
	valid "$program.fxt"
	count comparison
	if found "$program" "$rule" "$function"; then
		ruled=$((ruled + 1))
		test -z "$mark" || fail "$program: $rule is found now; its mark has to go from $table"
	else
		silent=$((silent + 1))
		echo "not found: $program: $rule by $function"
		test "$mark" = - || {
			fail "$program: no $rule by $function in the first $LINES_OF_ANSWER lines"
			head -n 24 "$program/text" >&2
		}
	fi
done <rows
is "rows that were looked at" "$(wc -l <rows)" $((ruled + silent))
rm -f /dev/shm/fxt-faults-stats.*
echo "$ruled faults are found, $silent are not found yet"
