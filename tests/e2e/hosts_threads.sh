#!/bin/bash
# The hostile conditions here are about threads: their ends, signals, jumps and cancellation (hosts_lib.sh).
# shellcheck source=hosts_lib.sh
. "${abs_top_srcdir:?}/tests/e2e/hosts_lib.sh"

# -- Threads -------------------------------------------------------------------------------------------
host unseen "$apps/host_threads" unseen
complete unseen
host raw "$apps/host_threads" raw
complete raw
host keys "$apps/host_threads" keys
complete keys
# What the loader would need to find functions is more than these stacks have.
LD_BIND_NOW=1 host tight "$apps/host_threads" tight 300
# The program and a library of it make threads. The lifetime of each has an end, by which the thread has left
# all calls.
file=$(only keys.streaming/*.fxt) && fxt dump "$file" >keys.dump
is "keys: lifetimes of threads" 7 "$(grep -c 'async-begin .* pthread:thread ' keys.dump)"
is "keys: ends of threads" 7 "$(grep -c 'async-end .* pthread:thread ' keys.dump)"
is "keys: calls in progress" "" "$(trace open "$file")"
export FXT_CATEGORIES=pthread,malloc FXT_QUIET=1
MODES=streaming host alive "$apps/host_threads" alive 5000
complete alive
bytes=$(cat alive.streaming/*.fxt | wc -c)
test "$bytes" -lt $((260 << 20)) || fail "5000 threads at once: $bytes bytes"
rm -rf alive.*
MODES=streaming host turn "$apps/host_threads" turn 100000
complete turn
bytes=$(cat turn.streaming/*.fxt | wc -c)
test "$bytes" -lt $((220 << 20)) || fail "100000 threads in turn: $bytes bytes"
rm -rf turn.*
unset FXT_CATEGORIES FXT_QUIET
# The agent registers the process for a kind of barrier, which the program may not notice.
host registered "$apps/host_registered"
complete registered

# -- Ends ----------------------------------------------------------------------------------------------
ulimit -c 0
export FXT_QUIET=1 FXT_MAX_SIZE_MB=16
for way in exits-alone exits quick_exits _exits aborts other-exits outlived; do
	host $way "$apps/host_threads" $way
done
unset FXT_QUIET FXT_MAX_SIZE_MB
# Tracing begins with a call of a library's constructor, which is recorded as well: tests/apps/host.h maps a
# number there, and the program maps another later.
fxt dump _exits.streaming/host_threads.*.fxt >dump
is "the first call" 2 "$(grep -c 'malloc:mmap .* length=8 prot=3 flags=33 ' dump)"

# -- Control flow --------------------------------------------------------------------------------------
host cancel "$apps/host_cancel" "$scratch/fifo"
complete cancel
for mode in $MODES; do
	grep -q ': cancelled 1, cleaned up 1' cancel.$mode.out || fail "cancel, $mode: nothing was cancelled"
	is "cancel, $mode: not cancelled or not cleaned up" "" \
		"$(grep ': cancelled' cancel.$mode.out | grep -v 'cancelled 1, cleaned up 1')"
done
# These programs try every time limit, clock, kind and protocol of locks, semaphores, conditions and joins,
# and a cancellation that is pending in each.
for program in host_locks host_cancel_locks; do
	MODES=streaming host $program "$apps/$program"
	complete $program
done
# The machine decides how many calls fit between two jumps. The record that a jump leaves unfinished is
# counted as dropped.
EXPECT=' is full at ' FXT_BUFFER_SIZE_MB=32 host jumps "$apps/host_control" jumps 300
lossy jumps
export FXT_BUFFER_SIZE_MB=16
# A stack that the program has made itself is used up, and the program leaves it by a jump, from its handler.
host overflow "$apps/host_overflow" 20 $((8192 + $(random_below 100000))) "$FXT_SEED"
host coroutines "$apps/host_control" coroutines
complete coroutines
# A coroutine on a small stack has no frame on its thread's stack, and has a track of its own. The calls that
# it is in end when it returns from them, after all that is called between its turns.
traced small "$apps/coroutines" $((64 + 16 * $(random_below 20))) || fail "coroutines: exit status $?"
file=$(only small/*.fxt) && valid "$file" && trace calls "$file" >calls
is "coroutine: what ends when" \
	"$(for i in 1 2; do echo between between between between between within; done | tr '\n' ' ')" \
	"$(grep -E '^function:(within|between) ' calls | sort -k4,4n |
		sed 's/^function://; s/ .*//' | tr '\n' ' ')"
host callbacks "$apps/host_control" callbacks
# A program that single-steps itself goes through what the agent does with signals blocked, too.
LIMIT_S=300 host stepping "$apps/host_control" stepping 2
complete callbacks
# The alternate stack is the smallest on which a handler runs here, which the processor's registers decide,
# and 256 bytes for the wrappers. What needs more is dropped.
least=2048
while test $least -lt 65536 && ! bare "$apps/host_control" alternate $least >/dev/null 2>&1; do
	least=$((least + 64))
done
host alternate "$apps/host_control" alternate $((least + 256))
lossy alternate
host alternate.roomy "$apps/host_control" alternate $((least + 4096))
complete alternate.roomy
# Stacks of other sizes leave some paths enough room and others too little. In half of them all calls are
# slow.
RANDOM=$((FXT_SEED % 32768))
for i in 1 2 3 4 5 6 7 8; do
	size=$((least + 256 + RANDOM % 6000))
	FXT_EXPLAIN_NS=$((i % 2 * 99999 + 1)) host "alternate.$size" "$apps/host_control" alternate $size
done

# -- Signals: their number differs from run to run -----------------------------------------------------
for mode in $MODES; do
	# It depends on the machine's other work how much the program does until the last signal has come.
	FXT_BUFFER_SIZE_MB=512 FXT_BUFFERING_MODE=$mode \
		traced storm.$mode timeout -s KILL 60 "$apps/host_control" storm 30000 >storm.out 2>storm.err
	is "storm, $mode: exit status" 0 $?
	is "storm, $mode: stderr" "" "$(cat storm.err)"
	rm -f storm.$mode/timeout.*
	valid storm.$mode/*.fxt
	read -r written dropped overwritten _ <<<"$(numbers storm.$mode/*.fxt)"
	complete "storm, $mode"
	is "storm, $mode: marks" "$(sed -n 's/^marks //p' storm.out)" "$written"
done
