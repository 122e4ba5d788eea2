#!/bin/bash
# fxt ctl controls fxt serve --wait. Programs wait, and record while they are told to. controller.py has the
# table of states and errors, and random sessions of programs that keep a model. FXT_ROUNDS is how many rounds
# of these there are, FXT_LOSSES how many sessions lose what they have no room for, and FXT_CHURN how many
# programs are started and stopped for FXT_CHURN_SECONDS.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

export OBEYS=$apps/obeys OUTLIVES=$apps/outlives

# stop_quiet: ends fxt serve, which has nothing to say.
stop_quiet()
{
	stop_serving
	is "fxt serve --wait: messages" "" "$(cat <&5)"
}

controller()
{
	local trace

	count comparison
	python3 "$abs_top_srcdir/tests/e2e/controller.py" "$@" || fail "controller.py $*"
	for trace in ./*.fxt; do
		valid "$trace"
	done
	rm -f ./*.fxt
}

only_listens()
{
	test "$(find "/proc/$server/fd" -type l -printf '%l\n' 2>/dev/null | grep -c '^socket:')" = 1
}

# ctl STATUS ARGUMENT...: runs fxt ctl, whose exit status is to be STATUS. Its output is in the file `said`.
ctl()
{
	local status=$1

	shift
	"$FXT" ctl --socket=socket "$@" >said 2>err
	is "fxt ctl $*: exit status" "$status" $?
}

# -- The interface ---------------------------------------------------------------------------------

ctl 1 state
is "without fxt serve" 1 "$(grep -c '^fxt: .*/socket: no fxt serve: ' err)"
serve --wait
# It has all its descriptors when it answers. Then the connection ends, and the socket that listens is left.
ctl 0 state
until_deadline only_listens
holds=$(ls "/proc/$server/fd" | wc -l)
controller table socket
controller sessions socket "$seed" "${FXT_ROUNDS:-8}" >sessions
controller losses socket "$seed" "${FXT_LOSSES:-4}" >losses
controller orphans socket "$seed" "${FXT_ORPHANS:-6}" "$server" >orphans
controller churn socket "$seed" "${FXT_CHURN:-20}" "${FXT_CHURN_SECONDS:-4}" >churn
# The last program has ended, and fxt serve is about to hear of it.
holds_as_before()
{
	test "$(ls "/proc/$server/fd" | wc -l)" = "$holds"
}
count comparison
until_deadline holds_as_before || fail "fxt serve had $holds descriptors: $(ls -l "/proc/$server/fd")"

# -- The command -----------------------------------------------------------------------------------

ctl 21 save
is "there is no session to be saved" 1 "$(grep -c '"NOT_INITIALIZED","message":"there is no session"' said)"
ctl 30 -o given.fxt 'initialize={"buffering_mode":"streaming"}' save
is "a trace without a name" 1 "$(grep -c '"NOT_SUPPORTED","message":"[^"]*a controller has opened' said)"
rm given.fxt
ctl 0 categories providers state
is "three answers" 3 "$(grep -c '"result"' said)"
ctl 11 start
ctl 21 stop
ctl 30 'initialize={' -o bad.fxt
ctl 30 'initialize={"buffering_mode":"no"}' -o bad.fxt
test ! -e bad.fxt || fail "a file is left of a session that did not begin"
ctl 30 no_such_command
ctl 30 wait=soon
ctl 1 initialize
ctl 30 alert=much_too_long_name
ctl 22 -o twice.fxt initialize start stop stop
ctl 12 -o again.fxt initialize start start
ctl 0 -o given.fxt 'initialize={"buffering_mode":"circular"}' start alert=now watch-alert stop terminate state
is "an alert" 1 "$(grep -c '"alert_name":"now"' said)"
is "the end" '{"id":7,"result":{"state":"READY"}}' "$(tail -n 1 said)"
valid given.fxt
ctl 1 -o given.fxt initialize
printf '%s\n' '{"method": "get_state"}' '' '{"method": "get_providers", "params": {}}' |
	"$FXT" ctl --socket=socket >said
is "calls on standard input" 2 "$(grep -c '"result"' said)"
printf '%s\n' '{"method": "stop_tracing"}' '{"method": "get_state"}' | "$FXT" ctl --socket=socket >said
is "a call that fails is the last" "21 1" "$? $(wc -l <said)"
stop_quiet

# -- Functions that are in progress while nothing is recorded -----------------------------------------

# Some go on when it begins again, some were left meanwhile, and others have their frames now.
serve --wait
mkfifo nests
managed "$apps/nests" $((1 + $(random_below 4))) $((2 + $(random_below 6))) <nests >nests.out 2>nests.err &
background="$background $!"
exec 6>nests
until_deadline test -s nests.out
for mode in streaming circular oneshot; do
	# shellcheck disable=SC2046 # the commands are words of their own
	ctl 0 -o seams.$mode.fxt "initialize={\"buffering_mode\":\"$mode\"}" $(yes start stop | head -n 20) \
		terminate
	valid seams.$mode.fxt
	count comparison
	"$FXT" dump seams.$mode.fxt | grep -q 'function:twice' || fail "$mode: no function was recorded"
done
exec 6>&-
stop_quiet

# -- A trigger saves what all programs have of that moment -------------------------------------------

# has_said LINES: returns whether `b` has said so many lines.
has_said()
{
	test "$(wc -l <b.said)" = "$1"
}

has_the_moment()
{
	test -s moment.fxt && "$FXT" dump moment.fxt 2>/dev/null | grep /nowhere/before/1/4 >/dev/null
}

is_watched()
{
	test "$(grep -c '"alert_name":"access"' watched)" = 1
}

serve --wait
mkfifo a b
for one in a b; do
	FXT_MANAGER=$scratch/socket FXT_TRIGGER='access>1ns' LD_PRELOAD=$FXT_AGENT "$OBEYS" 2 \
		<$one >$one.said 2>err.$one &
	background="$background $!"
done
exec 6>a 7>b
"$FXT" ctl --socket=socket -o moment.fxt 'initialize={"buffering_mode":"circular"}' start watch-alert watch \
	>watched &
watcher=$!
background="$background $watcher"
until_deadline grep -qs '"id":2,"result"' watched
# What `b` does comes before the trigger in `a`, and stays in its ring. The programs hear of the start first.
for _ in 1 2 3; do printf 'poke\n' >&7; done
printf 'call before 5\n' >&7
until_deadline has_said 4
for _ in 1 2 3; do printf 'poke\n' >&6; done
until_deadline has_the_moment
count comparison
until_deadline is_watched
stop_quiet
wait $watcher
is "the watcher" 0 $?
exec 6>&- 7>&-
valid moment.fxt

# -- What becomes unseen of what a program has ---------------------------------------------------------

# tell LINE...: makes the program do these, and waits until it has done them.
tell()
{
	printf '%s\n' "$@" >&6
	told=$((told + $#))
	until_deadline has_done
}

has_done()
{
	test "$(wc -l <obeyed)" = "$told"
}

# call METHOD: calls a method of the manager, and waits for its answer.
call()
{
	printf '{"method": "%s"}\n' "$1" >&7
	calls=$((calls + 1))
	until_deadline grep -qs "\"id\":$calls,\"result\"" answers
}

serve --wait
mkfifo orders methods
told=0 calls=0
FXT_MANAGER=$scratch/socket LD_PRELOAD=$FXT_AGENT "$OBEYS" 1 <orders >obeyed &
background="$background $!"
"$FXT" ctl --socket=socket -o unseen.fxt <methods >answers &
background="$background $!"
exec 6>orders 7>methods
tell poke
call initialize_tracing
call start_tracing
tell poke poke 'hold some 3' touch enter
call stop_tracing
tell poke swap leave
call start_tracing
tell poke poke touch 'hold one 1' enter leave
exec 6>&-
call stop_tracing
exec 7>&-
stop_quiet
valid unseen.fxt
fxt report --top 100 unseen.fxt >report
is "blocks that were freed unseen" 1 \
	"$(grep -c 'in use when recording stopped, and not known any more: 3 blocks' report)"
is "blocks that are left" 1 "$(grep -c 'never freed: 1.00 MiB in 1 block' report)"
is "descriptors that are left" "/dev/null 1" \
	"$(grep -A 1 '^DESCRIPTORS STILL OPEN' report | tail -n 1 | awk '{ print $2, $3 }')"
is "bytes written to /dev/null" "1" "$(awk '$2 == "/dev/null" && $3 == "write" { print $6 }' report)"
# The call of dwell() that was left unseen ended before recording started again. The next one began after.
"$FXT" dump --json unseen.fxt >records
is "a function that was left unseen" "dwell before, dwell after" "$(python3 -c '
import json, sys
events = [record for record in map(json.loads, sys.stdin) if "time" in record]
again = [e["time"] for e in events if e.get("name") == "recording started"][-1]
calls = [e for e in events if e.get("name") == "dwell"]
print(", ".join("dwell " + ("before" if c["time"] + c["duration"] < again else "after") for c in calls))
' <records)"
