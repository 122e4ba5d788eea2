#!/bin/bash
# A program makes and awaits processes in every way. It finds exactly its arrows and the lifetimes of its
# children in the trace that `fxt record` joins of all of them. Without fxt record forked processes still know
# of each other.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

# recorded ARGUMENTS [OPTION...]: records a run of the program, and leaves what it said in told.arrows and
# told.lives.
recorded()
{
	rm -f parents.fxt
	# shellcheck disable=SC2086
	"$FXT" record -q -o parents.fxt "${@:2}" -- "$apps/parents" $1 >told 2>err ||
		fail "fxt record $*: exit status $?"
	grep -e '->' told | sort >told.arrows
	grep '^process:child' told >told.lives
}

# compare WHAT: compares what the program said with the trace. How a shell ends is left out, and so are the
# arrows for making threads.
compare()
{
	trace arrows parents.fxt | grep -vE '^pthread_create|pthread_join' |
		sed -E 's/^(exit|execve|thread) -> (system|pclose)/END -> \2/' |
		awk '{sum[$1 " -> " $3] += $4} END {for (arrow in sum) print arrow, sum[arrow]}' |
		sort >found.arrows
	trace lives parents.fxt | grep '^process:child' >found.lives
	same_some "$1: arrows" told.arrows found.arrows
	same_some "$1: lifetimes" told.lives found.lives
}

recorded 20
valid parents.fxt
compare "all ways"

# A ring that loses nothing has all of it as well.
recorded 20 -m circular -b 2
valid --ring parents.fxt
compare "ring"

# A signal handler may reap a child before fork() has returned.
recorded "handler 20" -c process,pthread
valid parents.fxt
compare "handler"

# The C library makes the processes for daemons, whose parents end within it, and for terminals.
recorded "sessions 20"
valid parents.fxt
compare "sessions"

# Here the agent has to ask the kernel which child is whose; not every kernel can say.
if test -r /proc/self/task/$$/children; then
	recorded "systems 10" -c process,pthread
	valid parents.fxt
	compare "systems"
fi

# Without fxt record, children that were executed do not know who made them.
rm -rf alone
traced alone "$apps/parents" 5 >/dev/null 2>err || fail "alone: exit status $?"
for file in alone/*.fxt; do
	valid "$file"
done
for file in alone/*.fxt; do
	trace arrows "$file"
done >found
for file in alone/*.fxt; do
	fxt dump --json "$file" | grep -E '"type":"(complete|flow-[a-z]*)"'
done >events
test "$(grep -c '"thread":' events)" -gt 100 || fail "alone: hardly an event has the name of its thread"
is "alone: events of threads without a name" "" "$(grep -v '"thread":' events | head -n 3)"
is "alone: forked" 45 "$(awk '$1 == "thread" && $3 == "thread" {sum += $4} END {print sum + 0}' found)"
is "alone: reaped" 35 "$(awk '$1 == "thread" && $3 ~ /^wait/ {sum += $4} END {print sum + 0}' found)"

# The program is killed; its children, which nobody reaped, still live at the end.
rm -rf left
start_traced left "$apps/parents" left 5
kill_background
for file in left/*.fxt; do
	valid "$file"
done
is "never reaped" "process:child 5 5" "$(for file in left/*.fxt; do trace lives "$file"; done |
	awk '{begun += $2; open += $4} END {print "process:child", begun, open}')"

# -- Signals: who sent the one that ended a wait, or was read ------------------------------------------------

rm -f parents.fxt
"$FXT" record -q -c process,pthread,io,net -o parents.fxt -- "$apps/awaits" 100 >told 2>err ||
	fail "awaits: exit status $?"
valid parents.fxt
sort -o told told
trace arrows parents.fxt | grep -E '(kill|killpg|raise|signal|sigqueue) ->' | sort >found
same_some "signals" told found

# -- Another process writes at random to the memory that the processes of a run share ------------------------

# The agent believes nothing that is in that memory: the trace can be read, with times within the run.
rm -f parents.fxt stop
begun=$(awk '{printf "%.0f", $1 * 1e9}' /proc/uptime)
# shellcheck disable=SC2016
FXT_SEED=$seed "$FXT" record -q -o parents.fxt -- bash -c '"$0/scribble" stop &
	"$0/parents" 20 && "$0/awaits" 100 && "$0/streams" pair 500 fork; status=$?
	touch stop; wait $!; exit $status' "$apps" >told 2>err ||
		fail "scribbled: exit status $?, FXT_SEED=$seed: $(head -n 3 err)"
# A cause that was written over is not taken out of the table, so two threads may draw arrows from the same
# moment of a thread. Nothing else may be wrong.
count trace
if ! "$FXT" check parents.fxt >check.log 2>&1; then
	grep -E '^ +[0-9]+ x ' check.log |
		grep -v 'x two slices of a thread begin at the same tick.*: released$' >wrong
	grep -q ' x ' check.log || cat check.log >wrong
	is "scribbled, FXT_SEED=$seed: what is wrong" "" "$(head -n 5 wrong)"
fi
ended=$(awk '{printf "%.0f", ($1 + 1) * 1e9}' /proc/uptime)
fxt report --json --all parents.fxt >report.json || fail "scribbled: no report"
python3 - "$begun" "$ended" \
	<<-'END' || fail "scribbled, FXT_SEED=$seed: the trace has times from before the run or after it"
	import json, sys
	trace = json.load(open("report.json"))["trace"]
	sys.exit(not int(sys.argv[1]) - 10**7 <= trace["first_ns"] <= trace["last_ns"] <= int(sys.argv[2]))
END
