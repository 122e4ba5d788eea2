#!/bin/bash
# A command keeps its place under fxt record. It is found under the process id that whoever started fxt
# record knows, where that counts: with --keep-pid, and by itself for sockets and messages of systemd. Signals
# reach it once, whether they are sent to fxt record, to its process group or to each process of a unit. As
# the first process of a container, fxt record does what an init does.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3 setsid

# is_made FILE: returns whether the trace is there, and nothing that it is made of.
is_made()
{
	test -f "$1" && test -z "$(find . -maxdepth 1 -name '.fxt-parts.*')"
}

# came_of FILE: waits for the trace of a command that has kept its place, which comes when that has ended.
came_of()
{
	until_deadline is_made "$1"
	valid "$1"
}

# -- In the place of fxt record ------------------------------------------------------------------------

cat >self.py <<'END'
import os, signal, sys
try:
    found = os.wait()
except ChildProcessError:
    found = "no children"
print(os.getppid() == int(sys.argv[1]), os.getpgrp(), os.getsid(0), found, sorted(signal.sigpending()),
      sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())), signal.getsignal(signal.SIGCHLD),
      [fd for fd in range(200) if os.path.exists(f"/proc/self/fd/{fd}")])
sys.stdout.flush()
print(os.getpid() == int(open("pid").read()))
if os.fork() == 0:
    os._exit(3)
try:
    print(os.WEXITSTATUS(os.wait()[1]))
except ChildProcessError:
    print("its end is ignored")
sys.exit(int(sys.argv[2]))
END

# in_place COMMAND...: runs it with its process id in the file `pid`, SIGCHLD blocked and a descriptor more.
in_place()
{
	python3 -c 'import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
os.dup2(os.open("/dev/null", os.O_RDONLY), 7)
open("pid", "w").write(str(os.getpid()))
os.execvp(sys.argv[1], sys.argv[1:])' "$@"
}

status=$((1 + seed % 100))
for ignored in TERM CHLD; do
	(trap '' INT $ignored; in_place python3 self.py $BASHPID $status >bare.out)
	is "bare, ignoring $ignored: status" $status $?
	(
		trap '' INT $ignored
		in_place "$FXT" record -q --keep-pid -o kept.fxt -- python3 self.py $BASHPID $status >kept.out
	)
	is "kept, ignoring $ignored: status" $status $?
	same_some "kept, ignoring $ignored" bare.out kept.out
	came_of kept.fxt
	is "kept: how it ended" 1 \
		"$(fxt dump kept.fxt | grep -c "/$(cat pid) .* process:exit *status=$status\$")"
	rm -f kept.fxt
done

# The recorder is in no group that the command is in, and ends by no signal that a unit gets.
"$FXT" record --keep-pid -o mine.fxt --sample=0 -- sh -c 'echo ready; read -r _; exit 9' >said 2>err <<<'' &
wait $!
is "kept: status" 9 $?
came_of mine.fxt
is "kept: the summary" 1 "$(grep -c 'nothing lost -> mine.fxt' err)"
for mode in oneshot circular; do
	"$FXT" record -q --keep-pid --mode=$mode -o $mode.fxt -- sh -c 'exit 4'
	is "$mode: status" 4 $?
	until_deadline is_made $mode.fxt
	valid $mode.fxt
done
printf '#!/nowhere/at-all\n' >cannot && chmod +x cannot
for wrong in nosuch ./cannot; do
	"$FXT" record --keep-pid -o wrong.fxt -- $wrong 2>plain.err
	kept=$?
	"$FXT" record --keep-pid=no -o wrong.fxt -- $wrong 2>usual.err
	is "$wrong: status" $? $kept
	same_some "$wrong: what is said" usual.err plain.err
	until_deadline test -z "$(find . -name '.fxt-parts.*')"
done
for wrong in maybe 'yes --toggle=USR1'; do
	# shellcheck disable=SC2086
	"$FXT" record --keep-pid=$wrong -o wrong.fxt -- true 2>err
	is "--keep-pid=$wrong" "125 1" "$? $(wc -l <err)"
done

# -- Sockets and messages of systemd -------------------------------------------------------------------

cat >activate.py <<'END'
"""activate.py WORD COMMAND...: is what systemd is to a unit: it has a socket for the command, takes
messages from its main process alone, and has one connection."""
import os, socket, sys
listens, notices = socket.socket(), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listens.bind(("127.0.0.1", 0))
listens.listen()
notices.bind("notices." + sys.argv[1])
notices.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
main = os.fork()
if main == 0:
    os.dup2(listens.fileno(), 3)
    os.set_inheritable(3, True)
    if sys.argv[1] != "notice":
        os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()), WATCHDOG_PID=str(os.getpid()))
    if sys.argv[1] != "socket" and sys.argv[1] != "child":
        os.environ["NOTIFY_SOCKET"] = os.path.abspath("notices." + sys.argv[1])
    os.execvp(sys.argv[2], sys.argv[2:])
if sys.argv[1] != "notice":
    with socket.create_connection(listens.getsockname()) as c:
        c.sendall(b"request")
        c.recv(1)
if sys.argv[1] not in ("socket", "child"):
    text, ancillary, _, _ = notices.recvmsg(100, 100)
    print(text.decode(), int.from_bytes(ancillary[0][2][:4], sys.byteorder) == main)
sys.exit(os.WEXITSTATUS(os.waitpid(main, 0)[1]))
END
cat >service.py <<'END'
import os, socket, sys
if "NOTIFY_SOCKET" in os.environ:
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.connect(os.environ["NOTIFY_SOCKET"])
    s.send(b"READY=1")
if "LISTEN_FDS" in os.environ:
    for name in "LISTEN_PID", "WATCHDOG_PID":
        if os.environ[name] != str(os.getpid()):
            sys.exit(f"{name} is another's")
    c, _ = socket.socket(fileno=3).accept()
    print(c.recv(100), flush=True)
    c.close()
sys.exit(6)
END
for word in socket notice both child; do
	keep=
	test $word != child || keep=--keep-pid=no
	timeout 30 python3 activate.py $word python3 service.py >bare.out
	is "$word, bare: status" 6 $?
	rm -f "notices.$word"
	# shellcheck disable=SC2086
	timeout 30 python3 activate.py $word "$FXT" record -q $keep -o service.fxt -- python3 service.py \
		>traced.out
	is "$word: status" 6 $?
	same_some "$word" bare.out traced.out
	came_of service.fxt
	rm -f "notices.$word" service.fxt
done

# -- Signals -------------------------------------------------------------------------------------------

# children PID: prints the processes that this one has made.
children()
{
	cat /proc/"$1"/task/*/children
}

# start NAME CMD...: starts CMD in a session and a group of its own, as process $background, which is that of
# `setsid`. Returns when it has said its first line.
start()
{
	local name=$1

	shift
	rm -f said && mkfifo said
	# It is a child without job control, which ignores signals of the terminal.
	env --default-signal setsid "$@" >said &
	background=$!
	exec 6<said
	read -r _ <&6 || fail "$name: it ended before it was ready"
}

# ended NAME: prints what it has said since, and its status.
said_and_status()
{
	cat <&6
	exec 6<&-
	wait $background
	echo "status $?"
	background=
}

# unit PID: prints all processes that it and its descendants are, itself first.
unit()
{
	local one

	echo "$1"
	for one in $(children "$1"); do
		unit "$one"
	done
}

# The last signal is sent as the others are, but to one process; so what comes twice comes before it.
for signal in TERM HUP USR1 INT RTMIN+3; do
	for way in alone group unit; do
		for how in bare usual kept; do
			case $how in
			bare) start $way "$apps/signalled" wait ;;
			usual) start $way "$FXT" record -q -o signals.fxt -- "$apps/signalled" wait ;;
			kept)
				start $way "$FXT" record -q --keep-pid -o signals.fxt -- \
					"$apps/signalled" wait
				;;
			esac
			# shellcheck disable=SC2046
			case $way in
			alone) kill -s $signal $background ;;
			group) kill -s $signal -- -$background ;;
			unit) python3 -c 'import os, signal, sys
for pid in sys.argv[2:]:
    os.kill(int(pid), int(sys.argv[1]))' "$(kill -l $signal)" $(unit $background) ;;
			esac
			kill -s RTMAX $background
			said_and_status >$how.out
			test $how = bare || came_of signals.fxt
			rm -f signals.fxt
		done
		same_some "SIG$signal, $way" bare.out usual.out
		same_some "SIG$signal, $way, --keep-pid" bare.out kept.out
	done
done

# Many at once, which may wait: none is lost that is for fxt record alone, and none comes twice that is not.
cat >counts.py <<'END'
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, range(34, 65))
print("ready", flush=True)
count = {}
while True:
    number = signal.sigwaitinfo(range(34, 65)).si_signo
    count[number] = count.get(number, 0) + 1
    if number == 64:
        break
print(sorted(count.items()), flush=True)
END
for way in alone group; do
	for how in bare traced; do
		command=(python3 counts.py)
		test $how = bare || command=("$FXT" record -q -o many.fxt -- "${command[@]}")
		start $way "${command[@]}"
		target=$background
		test $way = alone || target=-$background
		python3 -c 'import os, sys
for i in range(700):
    os.kill(int(sys.argv[1]), 40 + i % 20)' $target
		kill -s RTMAX $background
		said_and_status >$how.out
	done
	same_some "many signals, $way" bare.out traced.out
done

# -- The first process of a container ------------------------------------------------------------------

cat >orphans.py <<'END'
import os, signal, sys, time
def come(number, frame):
    print("signal", number, flush=True)
    sys.exit(5)
signal.signal(signal.SIGTERM, come)
orphans = []
for i in range(20):
    end, begin = os.pipe()
    if os.fork() == 0:
        if os.fork() == 0:
            os._exit(i)
        os._exit(0)
    os.wait()
print("made", flush=True)
deadline = time.monotonic() + 30
def zombies():
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and open(f"/proc/{name}/stat").read().rsplit(")", 1)[1].split()[0] == "Z":
                yield name
        except (OSError, IndexError):
            pass
while list(zombies()):
    if time.monotonic() > deadline:
        sys.exit("orphans are left: " + " ".join(zombies()))
    time.sleep(0.01)
print("reaped", flush=True)
signal.pause()
END
alone='unshare -pf --mount-proc'
$alone true 2>/dev/null || alone='unshare -rpf --mount-proc'
cat >adopts.py <<'END'
import ctypes, os, sys
libc = ctypes.CDLL(None)
if len(sys.argv) > 1:
    libc.prctl(36, 1)
    os.execvp(sys.argv[1], sys.argv[1:])
end, begin = os.pipe()
child = os.fork()
if child == 0:
    orphan = os.fork()
    if orphan == 0:
        os.close(begin)
        os.read(end, 1)
        os._exit(3)
    os._exit(0)
os.close(end)
os.waitpid(child, 0)
os.close(begin)
try:
    print("adopted", os.WEXITSTATUS(os.wait()[1]))
except ChildProcessError:
    print("not adopted")
END
python3 adopts.py python3 adopts.py >bare.out
python3 adopts.py "$FXT" record -q -o adopts.fxt -- python3 adopts.py >traced.out
same_some "one that adopts orphans" bare.out traced.out
valid adopts.fxt
if $alone true 2>/dev/null; then
	rm -f said && mkfifo said
	# shellcheck disable=SC2086
	$alone "$FXT" record -q -o first.fxt -- python3 orphans.py >said 2>err &
	background=$!
	exec 6<said
	read -r made <&6 && read -r reaped <&6
	is "an init reaps orphans" "made reaped" "$made $reaped"
	# shellcheck disable=SC2046
	kill -TERM $(children $background)
	said_and_status >handed
	is "what an init hands on" "signal 15 status 5" "$(xargs <handed)"
	valid first.fxt
	# shellcheck disable=SC2086
	LISTEN_PID=1 LISTEN_FDS=1 $alone "$FXT" record -q -o first.fxt -- sh -c 'test $LISTEN_PID = $$'
	is "an init's sockets" 0 $?
	# shellcheck disable=SC2086
	$alone "$FXT" record --keep-pid -- true 2>err
	is "--keep-pid for an init" "125 1" "$? $(grep -c 'first process of a container' err)"
fi
