#!/bin/bash
# Traces of other tracers are read as the format says, whatever they use of it that our agent does not: see
# other_writers.py. What is wrong in a trace is named with the record, its size and what was expected.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

python3 "$abs_top_srcdir/tests/e2e/other_writers.py" 40 >said 2>&1 || fail "$(cat said)"
cat said
count comparison

python3 "$abs_top_srcdir/tests/e2e/other_writers.py" short short.fxt
"$FXT" report short.fxt >out 2>err && fail "a damaged record has status 0"
is "a string that is cut short" "fxt: short.fxt: 1 damaged record, the first at byte 72: stream runs past \
its record: 17 bytes, and 8 are left of the record of 72 at byte 8" "$(cat err)"

gzip -c /dev/null >empty.gz && "$FXT" report empty.gz >out 2>err && fail "an empty file is a trace"
head -c 30 "$(printf '%s\n' ./*.fxt.gz | head -1)" >torn.fxt.gz
"$FXT" report torn.fxt.gz >out 2>err
test "$(wc -l <err)" -le 1 || fail "a torn packed file: $(cat err)"
{ printf '\x1f\x8b\x08\x00'; head -c 100 /dev/urandom; } >damaged.fxt.gz
"$FXT" report damaged.fxt.gz >out 2>err && fail "a damaged packed file has status 0"
grep -q 'damaged.fxt.gz: ' err && test "$(wc -l <err)" = 1 || fail "a damaged packed file: $(cat err)"
