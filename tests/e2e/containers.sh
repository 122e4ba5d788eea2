#!/bin/bash
# In a container with little memory, a run under fxt record passes as bare, with 200 processes alive, and
# while fxt record is stopped. A container is a control group with a limit of memory (version 2, or 1); the
# script is skipped where none can be made.
# shellcheck source=hosts_lib.sh
. "${abs_top_srcdir:?}/tests/e2e/hosts_lib.sh"

group= limit= deaths=

# make_group DIRECTORY LIMIT DEATHS: makes a control group there, and notes its files.
make_group()
{
	group=$1/fxt-$$ limit=$2 deaths=$3
	mkdir "$group" 2>/dev/null && test -w "$group/$limit" && return
	rmdir "$group" 2>/dev/null
	group=
	return 1
}

find_group()
{
	local own

	own=$(sed -n 's/^0:://p' /proc/self/cgroup)
	for own in "${own%/}" ""; do
		make_group "/sys/fs/cgroup$own" memory.max memory.events && return
	done
	own=$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
	make_group "/sys/fs/cgroup/memory${own%/}" memory.limit_in_bytes memory.oom_control
}

find_group || skip "no control group with a limit of memory can be made here"

leave_group()
{
	local status=$?

	set +m
	test -z "$group" || { cat "$group/cgroup.procs" 2>/dev/null | xargs -r kill -9 2>/dev/null; }
	until_deadline rmdir "$group"
	(exit $status)
	finish
}
trap leave_group EXIT

# died: prints how many processes of the group the kernel has killed for want of memory.
died()
{
	sed -n 's/^oom_kill //p' "$group/$deaths"
}

# begin MB COMMAND...: runs COMMAND in the group with so much memory, in the background as process $inside.
# Descriptor 7 is its standard input, and 8 its standard output, of which the first line goes to `alive`.
begin()
{
	local mb=$1
	shift

	rm -f in out alive
	mkfifo in out
	echo $((mb << 20)) >"$group/$limit" || fail "the limit cannot be set"
	deaths_before=$(died)
	(
		echo "$BASHPID" >"$group/cgroup.procs"
		exec "$@" <in >out 2>said
	) &
	inside=$!
	background="$background $inside"
	exec 7>in 8<out
	read -r alive <&8 || fail "$*: it did not come up: $(tail -n 3 said)"
}

# go_on: lets the workers make their calls. ends NAME: lets all end, and compares with what a bare run says.
go_on()
{
	echo >&7
}

ends()
{
	exec 7>&-
	cat <&8 >rest
	exec 8<&-
	wait "$inside"
	is "$1: exit status" 0 $?
	is "$1: output" "done $(printf '%d workers, 0 died, marks %d' "$workers" $((workers * rounds)))" \
		"$(tr '\n' ' ' <rest | sed 's/ $//')"
	is "$1: processes that the kernel killed" "$deaths_before" "$(died)"
}

# recorded NAME FILE: the trace has all marks.
recorded()
{
	valid "$2"
	is "$1: marks, and records that are dropped" "$((workers * rounds)) 0" \
		"$(numbers "$2" | cut -d' ' -f1-2)"
}

# state_is STATE PID...: looks whether all these processes are in that state.
state_is()
{
	local wanted=$1 pid rest
	shift

	for pid; do
		read -r rest <"/proc/$pid/stat" || return
		rest=${rest##*) }
		test "${rest%% *}" = "$wanted" || return
	done
}

# -- Many processes ----------------------------------------------------------------------------------------

workers=200 rounds=$((300 + $(random_below 200)))
begin 64 "$apps/workers" $workers $rounds
go_on
ends "bare, 64 MiB"
begin 128 "$FXT" record -o many.fxt -- "$apps/workers" $workers $rounds
go_on
ends "$workers workers, 128 MiB"
recorded "$workers workers, 128 MiB" many.fxt

# What fxt record keeps of a process that has ended is small: 20 KiB would be 10 MiB here.
shorts=$((500 + $(random_below 100)))
cat >shorts.sh <<'END'
echo alive
read -r _
for ((i = 0; i < $1; i++)); do /bin/true || exit 1; done
echo done
END
begin 32 "$FXT" record -o shorts.fxt -- bash shorts.sh $shorts
go_on
exec 7>&-
is "$shorts short processes: output" done "$(cat <&8)"
exec 8<&-
wait "$inside"
is "$shorts short processes: exit status" 0 $?
is "$shorts short processes: processes that the kernel killed" "$deaths_before" "$(died)"
valid shorts.fxt
is "$shorts short processes: in the trace" $((shorts + 1)) \
	"$(fxt report --json --all shorts.fxt | python3 -c '
import json, sys
print(json.load(sys.stdin)["trace"]["processes"])')"

# -- A manager that is stopped -------------------------------------------------------------------------------

# The workers fill all memory that they have, and sleep until there is room: they do nothing else that sleeps.
workers=$((8 + $(random_below 8))) rounds=$((30000 + $(random_below 10000)))
begin 64 "$FXT" record -o stopped.fxt -- "$apps/workers" $workers $rounds
kill -STOP "$inside"
until_deadline state_is T "$inside"
go_on
until_deadline state_is S ${alive#alive }
read -r -t 0 <&8 && fail "the workers are done, though they had no room"
kill -CONT "$inside"
ends "stopped fxt record"
recorded "stopped fxt record" stopped.fxt

# Where programs do not wait for room, what has none is counted. They make all their calls meanwhile.
serve -o dropped.fxt --memory=4M
begin 64 env LD_PRELOAD="$FXT_AGENT" FXT_QUIET=1 FXT_MANAGER="$scratch/socket" \
	FXT_OUTPUT="$scratch/beside.%p.fxt" "$apps/workers" $workers $rounds
kill -STOP "$server"
until_deadline state_is T "$server"
go_on
read -r line <&8
is "stopped fxt serve" done "$line"
kill -CONT "$server"
exec 7>&-
cat <&8 >rest
wait "$inside"
is "stopped fxt serve: exit status" 0 $?
stop_serving
valid dropped.fxt
read -r written dropped _ <<<"$(numbers dropped.fxt)"
is "stopped fxt serve: traces beside the archive" "" "$(ls | grep '^beside')"
test "$dropped" -gt 0 || fail "stopped fxt serve: nothing is said to be dropped"
test $((written + dropped)) -ge $((workers * rounds)) && test "$written" -lt $((workers * rounds)) ||
	fail "stopped fxt serve: $((workers * rounds)) marks, $written written and $dropped dropped"
