#!/bin/bash
# The critical path of a run, and what the run would take without a thing. Programs that are drawn at random
# are run by a model (critical.py), and ten real ones could be repaired (tests/apps/repairable.c): they wait
# for as long as it says there, so the share of the run that the repair wins is known beforehand.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

for part in 'exact 40' 'bounds 25' 'phases 3' 'meetings 10'; do
	# shellcheck disable=SC2086
	python3 "$abs_top_srcdir/tests/e2e/critical.py" $part >said 2>&1 || fail "$part: $(cat said)"
	count comparison
done

# case, kind and name of what is repaired, and the per mille of the run that this wins
while read -r case kind name wins; do
	"$FXT" record -q -o "$case.fxt" -- "$apps/repairable" "$case" wait slow >out 2>err ||
		fail "$case: $(cat err)"
	valid "$case.fxt"
	python3 "$abs_top_srcdir/tests/e2e/critical.py" wins "$case.fxt" "$kind" "$name" "$wins" >said 2>&1 ||
		fail "$case: $(cat said)"
	count comparison
done <<'END'
lock lock - 667
pipe function slow 660
subprocess program sleep 660
worker function slow 550
semaphore lock - 667
condition function slow 560
peer function slow 620
phases function slow 400
sleep function pause_a_little 620
END

# How long a disk takes is not known. But the only thread of this program waits for nothing else.
"$FXT" record -q -o fsync.fxt -- "$apps/repairable" fsync wait slow >out 2>err || fail "fsync: $(cat err)"
valid fsync.fxt
python3 "$abs_top_srcdir/tests/e2e/critical.py" alone fsync.fxt >said 2>&1 || fail "fsync: $(cat said)"
count comparison

"$FXT" report lock.fxt >said
grep -q '^CRITICAL PATH .*without it the run of .* takes$' said || fail "no section: $(cat said)"
