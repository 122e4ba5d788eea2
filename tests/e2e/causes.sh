#!/bin/bash
# An arrow leads from the call that let a waiting thread go on to the call that waited. Programs that know how
# many of each kind they cause find exactly those in their traces.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

export FXT_CATEGORIES=pthread

# arrows KIND COUNT [PROGRAM]: runs the program. The arrows that it says it caused are then in the file
# `told`, and those of its trace in `found`.
arrows()
{
	rm -rf trace
	traced trace "$apps/${3:-causes}" "$1" "$2" >told 2>err || fail "$1: exit status $?"
	file=$(only trace/*.fxt) || return
	valid "$file"
	trace arrows "$file" | sort >found
	is "$1: lost" "dropped 0 filtered 0 overwritten 0" \
		"$(trace lost "$file" | tr '\n' ' ' | sed 's/ $//')"
}

# This is not about the arrows for making threads, and for waiting for their ends.
others='pthread_create -> thread 1|thread -> pthread_join [1-3]'
for kind in mutex rwlock mtx spin sem; do
	arrows $kind 1000
	grep -vxE "$others" found >locks
	same_some "$kind: arrows" told locks
done

# A wait for a condition has a second cause: whoever released the mutex, which the wait takes again.
mutex='(pthread_mutex_unlock|pthread_cond_wait) -> (pthread_mutex_lock|pthread_cond_wait) [0-9]*'
for kind in cond broadcast barrier; do
	arrows $kind 1000
	sort -o told told
	grep -vxE "$mutex|$others" found >rest
	same_some "$kind: arrows" told rest
done

# Each thread has a lifetime that begins and ends.
for kind in threads thrds; do
	arrows $kind 500
	grep -vE 'thread -> (pthread|thrd)_join' found >rest
	same_some "$kind: arrows" told rest
	is "$kind: lifetimes" "pthread:thread 500 500 0" "$(trace lives "$file" | cut -d ' ' -f 1-4)"
done

# With the category `sched` the trace also says who woke whom in the records that schedulers' views read.
FXT_CATEGORIES=pthread,sched arrows mutex 500
trace wakeups "$file" | sort >wakeups
is "wakeups" "$(awk '{sum += $NF} END {print sum + 0}' found)" \
	"$(awk '{sum += $NF} END {print sum + 0}' wakeups)"
trace wakers "$file" | sort >wakers
same_some "who woke whom" wakers wakeups

# Under fxt record it is the kernel that tells of scheduling, and the join finds who woke whom. The sleeps of
# a script's children, and of threads that begin and end, are found as well. A merge of joined traces has what
# they have.
unset FXT_CATEGORIES
sleeps()
{
	python3 "$abs_top_srcdir/tests/e2e/sleeps.py" "$@"
}
"$FXT" record -q -o probe.fxt -- true 2>said || fail "fxt record: exit status $?"
if ! grep -q 'no samples and no context switches' said; then
	for kind in mutex cond sem threads barrier readers; do
		count=$((200 + $(random_below 100)))
		"$FXT" record -o "$kind.fxt" -- "$apps/causes" "$kind" $count >told 2>said ||
			fail "fxt record causes $kind: exit status $?"
		valid "$kind.fxt"
		grep -q 'nothing lost' said || continue
		sleeps "$kind.fxt" >"$kind.woken" || fail "$kind: wakeups"
		test "$kind" != mutex ||
			test "$(awk '{sum += $NF} END {print sum}' mutex.woken)" -ge $count ||
			fail "mutex: $(cat mutex.woken), and $count were woken"
	done
	"$FXT" record -o script.fxt -- sh -c 'for i in 1 2 3 4 5; do ls / | cat | wc -l; done' \
		>/dev/null 2>said || fail "fxt record sh: exit status $?"
	valid script.fxt
	sleeps script.fxt >script.woken || fail "a script: wakeups"
	"$FXT" merge -q -o both.fxt script.fxt mutex.fxt || fail "merge: exit status $?"
	sleeps both.fxt | sort >both.woken
	sort script.woken mutex.woken >parts.woken
	same_some "a merge: who woke whom" parts.woken both.woken
fi
export FXT_CATEGORIES=pthread

# Threads take tasks from a queue, and the program knows every arrow, also those of joining.
for kind in cond sem; do
	arrows $kind 500 pools
	sort -o told told
	same_some "pools $kind: arrows" told found
done

# -- Killed in the middle of it: no arrow has only one end ---------------------------------------------------

for ((i = 0; i < ${FXT_KILLS:-20}; i++)); do
	rm -rf trace
	FXT_CATEGORIES='#default' start_traced trace "$apps/busy"
	sleep "0.0$(printf %02d "$(random_below 20)")"
	kill_background
	file=$(only trace/*.fxt) || continue
	valid "$file"
	give_up_if_hopeless
done

# -- Who waits for whom in the end ---------------------------------------------------------------------------

rm -rf trace
start_traced trace "$apps/deadlock"
kill_background
file=$(only trace/*.fxt) && valid "$file" && fxt report "$file" >report
# Each thread is told by three lines, and its callers follow.
waited='T[0-9a-z]* \(payer\|rotator\) [0-9]* has waited [^ ]* [mun]\?s for \([a-z_]*\),'
took=' *which \(payer\|rotator\) [0-9]* took in \([a-z_]*\) .* before the end'
within=' *in \([a-z_]*\) (deadlock[.]*c*[:0-9]*)'
sed -n "/^DEADLOCK/,/^\$/{/waited/{N;N
s/$waited\n$took\n$within\$/\1 \5 \2 \3 \4/p
}}" report | sort >found
printf 'payer transfer log_lock rotator rotate_log\nrotator rotate_log accounts_lock payer transfer\n' \
	>expected
same "deadlock" expected found
fxt report --json --all "$file" >report.json
is "deadlock, JSON" "accounts_lock log_lock" "$(python3 -c '
import json
print(*sorted(b["lock"] for b in json.load(open("report.json"))["blocked"] if b["deadlock"]))')"

# One thread waits for the end of another, which waits for a lock that the first has. The compiler may have
# made main() end with a jump to what it calls last, and then it is on no stack.
rm -rf trace
start_traced trace "$apps/deadlock" join
kill_background
file=$(only trace/*.fxt) && valid "$file" && fxt report "$file" >report
sed -n '/^DEADLOCK/,/^$/p' report |
	sed -E 's/^T[0-9a-z]{4} /  /; s/[0-9.]+ [mun]?s/TIME/g; s/ [0-9]+ has/ has/
		s/(worker|owner) [0-9]+/\1/
		s/ \(deadlock[.]?c?[:0-9]*\)//; /^ *< main$/d' >found
cat >expected <<'END'
DEADLOCK
  owner has waited TIME for worker to end
      in shut_down
  worker has waited TIME for log_lock,
      which owner took in shut_down TIME before the end
      in work

END
same "deadlock with a join" expected found

# -- Readers do not keep out readers -------------------------------------------------------------------------

rm -rf trace
traced trace "$apps/causes" readers 20 >told 2>err || fail "readers: exit status $?"
file=$(only trace/*.fxt) && valid "$file"
trace arrows "$file" | grep rwlock | sort >found
same_some "readers: arrows" told found
fxt report --json --all "$file" >report.json
is "readers: who let them go on" "writer" "$(python3 -c '
import json
waits = [w for c in json.load(open("report.json"))["chains"] for w in c["longest"]
         if w["call"] == "pthread_rwlock_rdlock"]
print(*sorted({w["by"]["name"] for w in waits}))')"
