#!/bin/bash
# A part of a trace is what the options say, and a sound trace itself: cut.py has a model of them. Besides,
# what fxt cut refuses, and the order and number of the lines of fxt dump. FXT_ROUNDS is how many parts are
# made of each trace.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

"$FXT" record -q -o processes.fxt -- \
	bash -c 'for i in 1 2 3; do ls /usr/include | head -n 3 | sort; done' >out || fail "bash"
"$FXT" record -q -o chain.fxt -- "$apps/chain" 20 >out 2>&1 || fail "chain"
"$FXT" record -q -o sequence.fxt -- "$apps/sequence" 20 >out 2>&1 || fail "sequence"
"$FXT" record -q -o threads.fxt -- "$apps/threads" running >out 2>&1
"$FXT" record -q -o forks.fxt -- "$apps/lifetimes" fork >out 2>&1
"$FXT" record -q -m circular -b 1 -o ring.fxt -- "$apps/sequence" 3000 >out 2>&1
start_traced killed "$apps/deadlock"
kill_background
python3 "$abs_top_srcdir/tests/e2e/cut.py" "${FXT_ROUNDS:-3}" processes.fxt chain.fxt threads.fxt \
	sequence.fxt forks.fxt ring.fxt killed/*.fxt >parts 2>&1 || fail "$(cat parts)"
cat parts
rm -f part.fxt
count comparison

# refused STATUS TEXT ARGUMENT...: fxt cut ends so, says so, and leaves nothing.
refused()
{
	local status=$1 text=$2
	shift 2

	"$FXT" cut -o part.fxt "$@" >out 2>err
	is "fxt cut $*: exit status" "$status" $?
	grep -q -e "$text" err || fail "fxt cut $*: says $(cat err)"
	is "fxt cut $*: lines" 1 "$(grep -c '^fxt' err)"
	is "fxt cut $*: files" "" "$(ls part.fxt* 2>/dev/null)"
}

refused 2 "no part was given" chain.fxt
refused 2 "has no unit" --from=10 chain.fxt
refused 2 "is no time" --to=soon chain.fxt
refused 2 "from is after --to" --from=2ms --to=1ms chain.fxt
refused 2 "give one of both" --around=2ms --to=1ms chain.fxt
refused 2 "has an empty place" --call=read,,write chain.fxt
refused 2 "every event takes that long" --min=0 chain.fxt
refused 1 "no process '1'" --pid=1 chain.fxt
refused 1 "no thread 'nobody'" --thread=nobody chain.fxt
refused 1 "did you mean pthread_mutex_lock" --call=pthread_mutex_lokc chain.fxt
refused 1 "did you mean pthread?" --category=pthred chain.fxt
refused 1 "it is over after" --from=1h chain.fxt
refused 1 "fits all of these options" --min=1h --call=pthread_mutex_lock chain.fxt
refused 1 "No such file" --pid=1 none.fxt
"$FXT" cut -o part.fxt --to=1h chain.fxt || fail "the whole cannot be cut"
"$FXT" cut -o part.fxt --to=1h chain.fxt 2>err
is "a file that exists: exit status" 1 $?
grep -q "is not replaced without --force" err || fail "a file that exists: $(cat err)"
"$FXT" cut -o /dev/null --force --to=1h chain.fxt 2>err
is "a device: exit status" 1 $?
grep -q "/dev/null: is no regular file" err || fail "a device: $(cat err)"
(trap '' XFSZ; ulimit -f 1; "$FXT" cut -o large.fxt --to=1h chain.fxt 2>err)
is "no room: exit status" 1 $?
grep -q "the part cannot be written: File too large" err || fail "no room: $(cat err)"
is "no room: files" "" "$(ls large.fxt* 2>/dev/null)"
# The sum of what is recorded does not depend on the part, when that is everything.
events()
{
	fxt report --json --all "$1" |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["trace"]["events"])'
}
is "events of the whole" "$(events chain.fxt)" "$(events part.fxt)"

# fxt dump: the order of time, and the last lines.
fxt dump --ns --sort --category='*' chain.fxt >sorted
fxt dump --ns --category='*' chain.fxt >unsorted
is "the sorted lines are the others" "$(sort unsorted)" "$(sort sorted)"
is "the lines are in order" "$(awk '{ print $3 }' sorted | sort -n)" "$(awk '{ print $3 }' sorted)"
is "the last lines" "$(tail -n 7 sorted)" "$(fxt dump --ns --sort --tail=7 --category='*' chain.fxt)"
