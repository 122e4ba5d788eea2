#!/bin/bash
# Pages in a browser: what is drawn is what the trace has, at its place; keys, clicks and the search do what
# they should, the console has no error, nothing is asked of a network, and no name becomes markup or script.
# See page.py.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3
test -n "$(cd "$abs_top_srcdir/tests/e2e" && python3 -c "import browser; print(browser.found() or '')")" ||
	skip "there is no chromium to draw in (Debian: chromium)"

python3 "$abs_top_srcdir/tests/e2e/page.py" "$FXT" "$FXT_SEED" draw >told 2>&1 || fail "page.py: $(cat told)"
count comparison
