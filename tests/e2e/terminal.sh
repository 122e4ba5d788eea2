#!/bin/bash
# A report fits the terminal that it is printed on: terminal.py.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

"$FXT" record -q -o chain.fxt -- "$apps/chain" 20 >out 2>&1 || fail "chain"
"$FXT" record -q -o python.fxt -- python3 -c 'import json, threading' || fail "python3"
python3 "$abs_top_srcdir/tests/e2e/terminal.py" "${FXT_ROUNDS:-12}" chain.fxt python.fxt >said 2>&1 ||
	fail "$(cat said)"
cat said
count comparison
