#!/bin/bash
# Recording is saved, begun or ended while the program runs: FXT_SIGNAL, FXT_START, FXT_TRIGGER.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

export FXT_BUFFER_SIZE_MB=2

# controlled NAME ARGUMENT...: runs tests/apps/controlled with these arguments. Its traces are in the folder
# NAME, and its standard error is in the file `err`.
controlled()
{
	local name=$1
	shift

	traced "$name" "$apps/controlled" "$@" >out 2>err || fail "$name: exit status $?"
	is "$name: output" "done" "$(cat out)"
}

# has NAME FILE FROM TO: checks that FILE has the numbered calls from FROM to TO, and no others.
has()
{
	is "$1: numbered calls" "$3 $4 $(($4 - $3 + 1))" "$(trace sequence "$2")"
}

snapshots()
{
	find "$1" -name '*.snapshot*.fxt' | sort
}

# -- By a signal ---------------------------------------------------------------------------------------

for mode in circular oneshot; do
	export FXT_BUFFERING_MODE=$mode
	controlled "signal-$mode" calls 100 get USR2 calls 100
	file=$(only $(snapshots "signal-$mode")) || continue
	valid --ring "$file"
	has "signal, $mode" "$file" 1 100
	is "signal, $mode: lines that say so" 1 "$(grep -c "^fxtagent.*snapshot saved: .*${file##*/}" err)"
	is "signal, $mode: mode of the file" 600 "$(stat -c %a "$file")"
	trace_file=$(only "signal-$mode"/controlled.*[0-9].fxt)
	has "signal, $mode: the trace" "$trace_file" 1 200
	is "signal, $mode: instants in the trace" 1 \
		"$(fxt dump "$trace_file" | grep -c 'instant.*agent.*snapshot')"
done

# Several snapshots are saved, each in a file of its own. The calls in progress are in them.
controlled several calls 10 get USR2 calls 10 get USR2 calls 10 get USR2
valid --ring $(snapshots several)
is "several: snapshots" 3 "$(snapshots several | wc -l)"
for file in $(snapshots several); do
	trace sequence "$file"
done >found
printf '1 10 10\n1 20 20\n1 30 30\n' >expected
sort -o found found
same "several: what they have" expected found
export FXT_CATEGORIES=malloc,function
controlled within within USR2
file=$(only $(snapshots within)) && trace open "$file" | awk '{ print $2 }' | sort >found
printf 'function:follow\nfunction:get\nfunction:main\nfunction:within\n' >expected
same "calls in progress" expected found
unset FXT_CATEGORIES

FXT_SIGNAL=SIGRTMIN+3 controlled other calls 5 get RTMIN+3
is "another signal: snapshots" 1 "$(snapshots other | wc -l)"
# In streaming mode the file is complete without snapshots, so the agent leaves the signal to the program.
# Here it kills.
FXT_BUFFERING_MODE=streaming traced streaming "$apps/controlled" get USR2 >out 2>err
status=$?
is "streaming: exit status" $((128 + $(kill -l USR2))) $status

# A program that handles or ignores the signal has it for itself, whenever it says so. It is told the same
# dispositions as without the agent.
for how in handle ignore; do
	bare "$apps/controlled" $how USR2 calls 5 raise USR2 calls 5 >expected 2>&1
	traced "$how" "$apps/controlled" $how USR2 calls 5 raise USR2 calls 5 >found 2>err
	is "$how: exit status" 0 $?
	same "$how: output" expected found
	is "$how: snapshots" "" "$(snapshots $how)"
done

# A signal that the process sends itself, or that comes after it has asked for the default action, does the
# same as without the agent.
for mode in circular oneshot; do
	for how in 'raise USR2' 'timer USR2' 'default USR2 raise USR2' 'default USR2 get USR2'; do
		name=${how// /-}-$mode
		# shellcheck disable=SC2086
		bare "$apps/controlled" calls 5 $how >expected 2>/dev/null
		status=$?
		# shellcheck disable=SC2086
		FXT_BUFFERING_MODE=$mode traced "$name" "$apps/controlled" calls 5 $how >found 2>/dev/null
		is "$name: exit status" $status $?
		is "$name: exit status without us" $((128 + $(kill -l USR2))) $status
		same "$name: output" expected found
		is "$name: snapshots" "" "$(snapshots "$name")"
		file=$(only "$name"/*.fxt) && has "$name" "$file" 1 5
	done
done
# A signal that is ignored by default stays ignored when the process sends it to itself. Another process may
# still ask for a snapshot by it.
FXT_SIGNAL=SIGURG controlled ignored-by-default calls 5 raise URG calls 5 get URG
file=$(only $(snapshots ignored-by-default)) && has "ignored by default" "$file" 1 10

# -- Dormant until the signal ----------------------------------------------------------------------------

for mode in circular oneshot streaming; do
	FXT_BUFFERING_MODE=$mode FXT_START=0 controlled "dormant-$mode" calls 50 get USR2 calls 50
	file=$(only "dormant-$mode"/*.fxt) && valid --ring "$file" && has "dormant, $mode" "$file" 51 100
	FXT_BUFFERING_MODE=$mode FXT_START=0 controlled "asleep-$mode" calls 50
	is "asleep, $mode: files" "" "$(find "asleep-$mode" -type f)"
done
# A child that is forked while the process is dormant stays dormant, until it gets the signal itself.
FXT_START=0 controlled dormant-fork calls 50 fork 'get USR2 calls 7' get USR2 calls 1
for file in dormant-fork/*.fxt; do
	trace sequence "$file"
done | sort >found
printf '51 51 1\n51 57 7\n' >expected
same "dormant, forked" expected found

# -- Triggers --------------------------------------------------------------------------------------------

# Only the waits (usleep, in ms) that last long enough leave a snapshot. Where others use the machine too, a
# short one may take a hundred times as long as it should.
FXT_TRIGGER='usleep>=500ms' controlled slow calls 10 wait 1 calls 10 wait 500 calls 10 wait 2
file=$(only $(snapshots slow)) && valid --ring "$file" && has "slow" "$file" 1 20
is "slow: lines that say why" 1 "$(grep -c '^fxtagent.*usleep took [5-9][0-9]* us' err)"

# The snapshots of the worst calls are kept, in whatever order the calls come.
FXT_TRIGGER='usleep>=5ms' FXT_TRIGGER_KEEP=2 \
	controlled worst wait 10 calls 1 wait 700 calls 1 wait 15 calls 1 wait 1000 calls 1 wait 12 calls 1
valid --ring $(snapshots worst)
for file in $(snapshots worst); do
	trace sequence "$file"
done | sort >found
printf '1 1 1\n1 3 3\n' >expected
same "the two worst" expected found

# A trigger may be met by a failure, of one kind or any. There may be several triggers, and one for all calls
# with such names.
FXT_TRIGGER='open=EACCES,open=ENOENT' controlled failed calls 3 open . calls 3 open ./nowhere calls 3
file=$(only $(snapshots failed)) && has "failed" "$file" 1 6
is "failed: lines that say why" 1 "$(grep -c '^fxtagent.*open took .*No such file' err)"
FXT_TRIGGER='op*=ENOENT' controlled family calls 3 open ./nowhere
file=$(only $(snapshots family)) && has "family" "$file" 1 3
FXT_TRIGGER='usleep>1h,open!=ENOENT' controlled never calls 3 open ./nowhere wait 1
is "not met: snapshots" "" "$(snapshots never)"

# A trigger may end recording, in any mode.
for mode in circular streaming; do
	FXT_BUFFERING_MODE=$mode FXT_TRIGGER='open=ENOENT:stop' \
		controlled "stop-$mode" calls 30 open ./nowhere calls 30
	file=$(only "stop-$mode"/*.fxt) && valid --ring "$file" && has "stop, $mode" "$file" 1 30
	is "stop, $mode: the call itself" 1 "$(trace counts "$file" | sed -n 's/^io:open //p')"
done

# -- fxt record -------------------------------------------------------------------------------------------

# Snapshots are left beside the trace, and are no part of it.
mkdir record
"$FXT" record -m circular -b 2 -o record/all.fxt -- \
	"$apps/controlled" calls 10 get USR2 calls 5 get USR2 >out 2>err
is "fxt record: exit status" 0 $?
is "fxt record: output" "done" "$(cat out)"
is "fxt record: snapshots it tells of" 2 \
	"$(grep -c '^fxt: a snapshot -> record/controlled.*snapshot.*fxt' err)"
has "fxt record" record/all.fxt 1 15
for file in $(snapshots record); do
	trace sequence "$file"
done | sort >found
printf '1 10 10\n1 15 15\n' >expected
same "fxt record: snapshots" expected found
is "fxt record: what is left" 3 "$(find record -mindepth 1 | wc -l)"
"$FXT" record -q -m oneshot -b 2 --dormant --signal=RTMIN+1 --trigger='open=ENOENT' --trigger-keep=1 \
	-o record/options.fxt -- "$apps/controlled" calls 5 get RTMIN+1 calls 5 open ./nowhere >out 2>err
has "fxt record, options" record/options.fxt 6 10
is "fxt record, options: snapshots" 3 "$(snapshots record | wc -l)"

# -- What cannot be written --------------------------------------------------------------------------------

if test "$(id -u)" = 0 && mkdir small && mount -t tmpfs -o size=3m none small 2>/dev/null; then
	env LD_PRELOAD="$FXT_AGENT" FXT_OUTPUT="$scratch/small/t.fxt" \
		"$apps/controlled" calls 30000 get USR2 calls 5 >out 2>err
	is "full file system: exit status" 0 $?
	is "full file system: output" "done" "$(cat out)"
	is "full file system: lines" 1 "$(grep -c '^fxtagent.*no snapshot.*No space left' err)"
	is "full file system: files" t.fxt "$(ls -A small)"
	valid --ring small/t.fxt
	umount small
fi
