#!/bin/bash
# What fxt writes as JSON has every member of every record, and a report is short unless all of it is
# asked for: json_fields.py.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

python3 "$abs_top_srcdir/tests/e2e/json_fields.py" dump 60 >said 2>&1 || fail "dump --json: $(cat said)"
cat said
count comparison

"$FXT" record -q -o small.fxt -- "$apps/sequence" 50 2>err || fail "$(cat err)"
"$FXT" record -q --stacks=malloc,io -o calls.fxt -- sh -c 'ls -lR /usr/include/l* | sort | tail -n 1' >out \
	2>err || fail "$(cat err)"
"$FXT" record -q -o leaks.fxt -- "$apps/leaks" >out 2>err
valid small.fxt
python3 "$abs_top_srcdir/tests/e2e/json_fields.py" cut small.fxt calls.fxt leaks.fxt >said 2>&1 ||
	fail "report --json: $(cat said)"
cat said
count comparison
