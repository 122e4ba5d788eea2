#!/bin/bash
# Descendants of the command go on when it has ended, as a daemon does. fxt record records them to their end,
# whatever they have recorded before, unless somebody leaves them; and says which go on then.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

count=$((1 + seed % 500)) status=$((1 + seed % 100))
mkfifo gate

# follow NAME OPTION... -- COMMAND...: runs it under fxt record, as process $recorder, with its trace in
# NAME.fxt. Returns when the command has ended and fxt record says who goes on.
follow()
{
	local name=$1
	shift

	# Without job control, what the shell starts in the background ignores SIGINT.
	env --default-signal "$FXT" record -o "$name.fxt" "$@" 2>"$name.err" &
	recorder=$!
	background=$recorder
	until_deadline grep -q 'has ended; what goes on is recorded' "$name.err"
}

# over NAME: waits for fxt record, and checks its status and the trace.
over()
{
	wait $recorder
	is "$1: status" $status $?
	background=
	valid ${2-} "$1.fxt"
}

calls()
{
	fxt dump "$1.fxt" | grep -c 'io:access .*/nowhere/'
}

# A daemon is recorded to its end, in each mode, however many forks have made it and whatever it does before.
for forks in 1 2 3; do
	for mode in streaming oneshot circular; do
		name=$mode.$forks ring=
		test $mode != circular || ring=--ring
		follow $name -m $mode -- "$apps/outlives" $forks gate $count $status
		echo >gate
		over $name $ring
		is "$name: calls of the daemon" $count "$(calls $name)"
		is "$name: who goes on" 0 "$(grep -c 'still run' $name.err)"
	done
done

# Also if its first thread has ended, which the kernel shows as the end of a process.
follow leaves -- "$apps/outlives" 1 gate $count $status leaves
echo >gate
over leaves
is "without its first thread: calls of the daemon" $count "$(calls leaves)"

# Daemons that make a few calls and end, just when nobody seems to be left. Other processes of the machine
# come and go meanwhile, so each list of processes is old when it is read.
while :; do
	/bin/true
done &
background=$!
for round in $(seq 30); do
	few=$((1 + $(random_below 20)))
	"$FXT" record -q -o quick.fxt -- "$apps/outlives" $((1 + $(random_below 3))) - $few 0
	is "quick daemons, round $round: calls" $few "$(calls quick)"
done
kill $background
wait $background 2>/dev/null
# Without /proc nobody can be looked for. A daemon that has not begun to record is waited for all the same.
if test "$(id -u)" = 0 && unshare -m true 2>/dev/null; then
	for round in $(seq 10); do
		few=$((1 + $(random_below 20)))
		unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' sh \
			"$FXT" record -q -o without.fxt -- \
			"$apps/outlives" $((1 + $(random_below 3))) - $few 0
		is "no /proc, quick daemons, round $round: calls" $few "$(calls without)"
		rm -f without.fxt
	done
	# One that has a file keeps it, with what it does later.
	all_calls()
	{
		test "$(fxt dump .fxt-parts.*/outlives.*.fxt | grep -c 'io:access .*/nowhere/')" = $count
	}
	for mode in circular oneshot; do
		for way in 'exec "$@"' '"$@"; kill -9 $$'; do
			unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' sh \
				"$FXT" record -o goes_on.fxt -m $mode -- \
				sh -c "$way" sh "$apps/outlives" 1 gate $count 0 leaves 2>goes_on.err
			is "no /proc, $mode, $way: who goes on" 1 \
				"$(grep -c '^fxt: 1 process of it still runs ([0-9]*): what' goes_on.err)"
			echo >gate
			until_deadline all_calls
			rm -rf .fxt-parts.* goes_on.fxt
		done
	done
else
	echo "not run: daemons without /proc, which takes root"
fi
background=

# What a shell leaves in the background is one too.
follow shell -- sh -c "'$apps/outlives' 0 gate $count 0 & exit $status"
echo >gate
over shell
is "in the background: calls" $count "$(calls shell)"

# A signal leaves it: it goes on untraced.
for signal in INT TERM HUP; do
	follow left.$signal -- sh -c "trap '' $signal; '$apps/outlives' 2 gate $count $status"
	kill -$signal $recorder
	over left.$signal
	is "left by $signal: who goes on" 1 \
		"$(grep -c 'process still runs, .* is not recorded: outlives [0-9]*$' left.$signal.err)"
	echo >gate
	is "left by $signal: calls" 0 "$(calls left.$signal)"
done
"$FXT" record --detach --json -o detached.fxt -- "$apps/outlives" 2 gate $count $status 2>said
is "--detach: status" $status $?
is "--detach: who goes on" "[('outlives', True)]" "$(python3 -c 'import json, sys
print([(p["name"], p["was_recorded"]) for p in json.load(open("said"))["still_running"]])')"
valid detached.fxt
echo >gate

# A command that a signal has ended did not start anything that is to go on.
"$FXT" record -q -o killed.fxt -- sh -c "'$apps/outlives' 0 gate $count 0 & kill -KILL \$\$"
is "a command that is killed: status" 137 $?
echo >gate
valid killed.fxt

# Nobody waits for a descendant that is not to be recorded.
"$FXT" record -o none.fxt --follow=none -- sh -c "'$apps/outlives' 0 gate $count 0 & exit $status" 2>err
is "not followed: status" $status $?
is "not followed: who goes on" 1 "$(grep -c 'process still runs, .*: outlives' err)"
echo >gate
valid none.fxt

# Orphans are reaped at once, as by an init.
cat >orphans.py <<'END'
import os, time
end, begin = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        os.write(begin, str(os.getpid()).encode())
        os._exit(0)
    os._exit(0)
os.wait()
orphan = int(os.read(end, 20))
deadline = time.monotonic() + 20
while time.monotonic() < deadline and os.path.exists(f"/proc/{orphan}"):
    time.sleep(0.001)
print("reaped" if not os.path.exists(f"/proc/{orphan}") else "left")
END
"$FXT" record -q -o orphans.fxt -- python3 orphans.py >out
is "an orphan of a command that goes on" reaped "$(cat out)"
valid orphans.fxt

# An orphan has the parent that it would have without fxt record, before and after it executes a program.
cat >orphan.py <<'END'
import ctypes, os, sys
SYS_GETPPID = {"x86_64": 110, "aarch64": 173}[os.uname().machine]
def tell():
    with open(sys.argv[1], "a") as file:
        print(os.getppid(), ctypes.CDLL(None).syscall(SYS_GETPPID), file=file)
if len(sys.argv) > 2:
    tell()
    sys.exit()
parent = os.getpid()
if os.fork():
    os.wait()
    tell()
elif os.fork() == 0:
    child = os.getppid()
    while os.getppid() == child:
        pass
    tell()
    os.execv(sys.executable, [sys.executable, sys.argv[0], sys.argv[1], "again"])
END
bare python3 orphan.py bare
until_deadline sh -c 'test "$(wc -l <bare)" = 3'
"$FXT" record -q -o orphan.fxt -- python3 orphan.py recorded
valid orphan.fxt
# The first process of all is the command, whose parent really is fxt record.
for name in bare recorded; do
	sort $name | uniq -c | sort -n | tail -n 1 >$name.parents
done
is "parents of orphans" "$(cat bare.parents)" "$(cat recorded.parents)"
