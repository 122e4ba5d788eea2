#!/bin/bash
# Managers, programs and both are killed at random moments, and all that the programs had told of has to be in
# the archive or in another file, once, or be counted as lost: kills.py says how. FXT_ROUNDS is how many
# managers and programs are killed.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

count comparison
python3 "$abs_top_srcdir/tests/e2e/kills.py" "${FXT_ROUNDS:-6}" || fail "kills.py"
