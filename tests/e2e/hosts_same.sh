#!/bin/bash
# This script runs every program in tests/apps that ends by itself, bare and traced. Output, standard error
# and exit status are the same. Each of its processes has the same descriptors, signal mask, pending signals,
# handlers, alternate stack, limits, umask, directory and errno when it begins and when it ends.
# libhost_witness.so, which is preloaded in both runs, writes that down.
# shellcheck source=hosts_lib.sh
. "${abs_top_srcdir:?}/tests/e2e/hosts_lib.sh"

witness=$apps/libhost_witness.so
plugin=$apps/libhost_plugin.so

# Each line is a run: a program and its arguments. (How often `count_calls all` waits is up to the scheduler,
# so only counts.sh has it.) Programs that end by a signal, or are killed, have no witness of their end.
runs='
allocator
awaits 5
burns 2 20 3
burns 1 20 1 signal
burns 2 20 1 alternate
branches 10
busy 20
causes mutex 20
causes barrier 20
chain
clocks 0.1
controlled calls 5 open . wait 1
count_calls locks 2 500
count_files 3
coroutines 64
fibers context again 30 3
fiber_crowd context 1 60 65536
cut 10 2 exit
cut 10 0 signal
count_databases 2
count_net 3
count_numbers 2
crowds 5 100 65536 90000
crowds 2 1000 48 48 forks
count_others 3
count_pages 3
count_paths 2 500
count_signals 3
count_streams 3
count_io 2 5
count_io_fortified 2 5
often 3000 5000 threads
often 2000 1000 fork
ends exec
ends vfork
ends handler
ends returns
ends computes
ends silent
ends killed
ends left 2
follow_exec execve A=1
follow_exec posix_spawn A=1
follow_exec execl A=1
follow_exec refused
follow_fork fork
follow_fork _Fork
follow_fork clone
follow_fork vfork
follow_fork vfork-fails
follow_fork double
follow_fork daemon
host_cancel fifo
host_cancel_locks
host_overflow 20 20000 3
host_control callbacks
host_control coroutines
host_control jumps 50
host_fds range 10
host_fds from 10
host_fds loop 10
host_fds dup2 10
host_frees
host_limits 100 nofile 64 128
host_limits 100 stack 64
host_loader names '$plugin'
host_loader dlmopen '$plugin'
host_locks
host_malloc
host_number 1 1024
host_own_malloc
host_registered
host_pointers
host_stderr pipe 10
host_paths 1000 3000 5000 7000 9000 20000
host_process locks
host_process shell
host_sanitized
host_seccomp refuse 10
host_seccomp allow 10
host_start
host_threads exits-alone
host_threads exits
host_threads quick_exits
host_threads _exits
host_threads other-exits
host_owned
host_threads outlived
host_threads alive 100
host_threads keys
host_threads raw
inherits
invariants one two
jumps read
parents 2
parents sessions 2
jumps functions
jumps deep 700
lifetimes threads 20
lock_order
locks_memory 16
losses depth 600
objects names
objects many 10
objects_blocks large
objects_blocks small
objects library '$apps/libobjects_one.so' '$apps/libobjects_two.so'
pools cond 20
pools sem 20
process fork
process exec
process _exit
process quick_exit
process abort
repairable peer wait slow
repairable semaphore wait repaired
says ways
says formats
says wide
says odd
says registered
says fork
says closed
says duplicated
says and err
says and error
says and assert
says and abort
quiet
sequence 100
sequence 100 kill
spends 1 3000 fork
spends 3 2000
streams pipe 20 fork
streams pair 20 exec
streams fifo 20 exec
streams unix 20 threads
streams tcp 20 exec
streams event 20 fork
streams_odd library 5
streams_odd messages 2
streams_odd unseen 2
streams received 20
host_unmaps
host_ranges
host_ranges fill
makes_code none 10
made_list 20
ring_stacks 40 1000
by_hand 20
amounts /nowhere files=0 leaks=3 fails=2 helpers=2 rounds=3
many_functions 20 100
hops 2 20 100000
inlined
leaks
peaks
modes 10
threads alive 20
threads turn 20
threads names
host_cut sent 500
host_vforks 50
threads cancel
threads running
lost_connections shared 500
lost_connections asleep 500
lost_connections vforks 5000
throng 60 2
throng 90 1 turn
rings exec
rings forks
time_spaces shift 100 5 fork work 2
time_spaces shift 100 5 enter work 2
silent
executes_bare 2 2 self
throws
'
# These cannot be compared. They never end, print their process id or ports that the kernel has chosen, print
# what the agent has mapped, how long calls took, how often threads waited or how far they came, need others
# that run, count the instructions of a call, choose at random what they forbid and kill, crash in their
# children (arguments.sh compares these), or take all numbers (hosts_limits.sh).
exempt='allocates alone bad_arguments call_stacks call_trees comes_back count_costs count_threads
	crashes deadlock descriptor_races descriptors handlers holds host_all_numbers host_filtered
	host_killed_ending host_maps host_memory just_returned lasts listens locks_itself migrates naps
	nests noted obeys outlives owns preempts progress rounds runs same_number scribble signalled
	slow stepped steps stuck tells thread_names unreaped waits_to_open workers'

ulimit -c 0
# This limit is the usual one; the agent's descriptors are behind it.
ulimit -S -n 1024
export FXT_QUIET=1 WITNESS="$scratch/witness"

# once NAME PRELOAD CMD...: runs CMD once, and leaves what is to be compared in files NAME.*.
once()
{
	local name=$1 preload=$2
	shift 2

	rm -rf here
	mkdir here
	: >"$WITNESS"
	# If somebody is killed, the shell says so; the program does not.
	{ (cd here && LD_PRELOAD=$preload exec timeout -s KILL 60 "$@") </dev/null \
		>"$name.out" 2>"$name.err"; } 2>/dev/null
	echo $? >"$name.status"
	# Any of several processes may print first. All have ended, except those for which nobody waits.
	sort -o "$name.out" "$name.out"
	sort "$WITNESS" | grep -v '^timeout ' >"$name.processes"
	find here -type f -printf '%f %s\n' | sort >"$name.files"
}

while read -r program arguments; do
	test -n "$program" || continue
	# Without a C++ compiler there are no such programs.
	case $program in throws | fiber_crowd) test -x "$apps/$program" || continue ;; esac
	run="$program $arguments"
	# shellcheck disable=SC2086
	{
		once bare "$witness" "$apps/$program" $arguments
		mkdir -p traces
		FXT_OUTPUT="$scratch/traces/%e.%p.fxt" \
			once traced "$FXT_AGENT:$witness" "$apps/$program" $arguments
	}
	for what in status out err processes files; do
		same "$run: $what" bare.$what traced.$what
	done
	test -s bare.processes || fail "$run: there was no witness"
	ls traces/"$program".*.fxt >/dev/null 2>&1 || fail "$run: there is no trace"
	valid traces/*.fxt
	rm -rf traces
done <<<"$runs"

# Every program has a run, or is exempt.
for program in "$apps"/*; do
	if ! test -x "$program" || test -d "$program"; then
		continue
	fi
	name=${program##*/}
	case $name in
	*.so | *.sh) ;;
	*) grep -q "^$name\( \|$\)" <<<"$runs" || grep -qw "$name" <<<"$exempt" ||
		fail "$name is compared nowhere" ;;
	esac
done
