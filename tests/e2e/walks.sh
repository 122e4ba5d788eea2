#!/bin/bash
# The agent's walk over a stack finds what libunwind finds from the same place: walks.py makes libraries at
# random, whose functions call each other, and tests/check_walks walks. FXT_WALKS is how many walks begin in
# them, and FXT_WALKS_STEPS behind how many instructions there is one.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3 readelf

test -x "$abs_top_builddir/tests/check_walks" || skip "tests/check_walks was not built, for want of libunwind"

count comparison
python3 "$abs_top_srcdir/tests/e2e/walks.py" "${FXT_WALKS:-400}" "${FXT_WALKS_STEPS:-6000}" || fail "walks.py"
