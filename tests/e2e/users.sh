#!/bin/bash
# What the agent says in a program of fxt record is printed by fxt record, and never by the program, whose
# output another may read. And a program that changes its user goes on being recorded, with those that it
# executes.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

# What the agent has to say is printed by fxt record: a program may read what its children print.
"$FXT" record -o says.fxt -- sh -c 'v=$(FXT_STACKS=nonsense expr 6 "*" 7 2>&1); echo "[$v]"' >said 2>err
is "what a child prints" "[42]" "$(cat said)"
is "what fxt record prints of it" 1 "$(grep -c '^fxtagent\[[0-9]*\]: FXT_STACKS: ' err)"
valid says.fxt

# Everybody can see the name of the socket by which such programs come. Whoever does not know the secret gets
# nothing, and whoever says nothing is sent away too.
cat >stranger.py <<'END'
import os, socket, struct
run = os.environ["FXT_RUN"]
name, secret = b"\0" + run[:16].encode(), run[16:].encode()
def asks(wish, text, request=0x205):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(20)
    s.connect(name)
    s.send(struct.pack("<HHIQ", request, 0, wish, 0) + text)
    data, descriptors, _, _ = socket.recv_fds(s, 100, 4)
    return bool(data), len(descriptors)
wrong = bytes([secret[0] ^ 1]) + secret[1:]
print(asks(1, secret), asks(1, wrong), asks(1, secret[:-1]), asks(1, b""), asks(1, b"me", 0x200))
END
"$FXT" record -o stranger.fxt -- python3 stranger.py >said 2>err
is "strangers" "(True, 1) (False, 0) (False, 0) (False, 0) (False, 0)" "$(cat said)"
valid stranger.fxt

# A program that gives up root goes on being recorded, and so do those that it executes and their children:
# none of them may enter the directory of the run.
cat >other.py <<'END'
import os, sys
how = sys.argv[1]
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
if how == "forks" and os.fork():
    os._exit(os.WEXITSTATUS(os.wait()[1]))
os.execvp(sys.argv[2], sys.argv[2:])
END
captures='v=$(ls /nowhere 2>&1; expr 6 "*" 7 2>&1); echo "[$v]"'
if test "$(id -u)" = 0 && bare python3 other.py real test -r "$FXT_AGENT"; then
	for how in real forks; do
		for mode in streaming circular; do
			ring=
			test $mode = streaming || ring=--ring
			"$FXT" record -m $mode -o other.fxt -- \
				python3 other.py $how sh -c "$captures" >said 2>err
			is "$how, $mode: status" 0 $?
			bare python3 other.py $how sh -c "$captures" >bare.out
			same_some "$how, $mode: what it captures" bare.out said
			# shellcheck disable=SC2086
			valid $ring other.fxt
			test $mode = circular || is "$how: who is in the trace" "expr ls sh" \
				"$(fxt dump other.fxt | grep -ow 'ls\|expr\|sh' | sort -u | xargs)"
			test $mode = circular ||
				is "$how: untraced" 0 "$(grep -c 'ran it untraced' err)"
		done
	done
	# What is not recorded is said with its reason, whoever it runs: exec, a spawn, or a shell within the
	# C library, of which the program sees nothing. Only a streamed run is reached by the other user; in a
	# run with files forked children are not, who would execute the program here.
	cat >shells.py <<'END'
import ctypes, os, sys
how, runs, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
if how == "user":
    os.setgroups([])
    os.setresuid(65534, 65534, 65534)
if how == "effective":
    os.seteuid(65534)
if how == "cleared":
    os.unsetenv("LD_PRELOAD")
for _ in range(times):
    if runs == "system":
        os.system("expr 6 '*' 7")
    elif runs == "popen":
        libc = ctypes.CDLL(None)
        libc.popen.restype = ctypes.c_void_p
        libc.pclose.argtypes = [ctypes.c_void_p]
        libc.pclose(libc.popen(b"expr 6 '*' 7", b"w"))
    elif runs == "spawn":
        os.waitpid(os.posix_spawn("/usr/bin/expr", ["expr", "6", "*", "7"], os.environ), 0)
    elif os.fork():
        os.wait()
    else:
        os.execv("/usr/bin/expr", ["expr", "6", "*", "7"])
END
	# Not by a script that looks for it, as pyenv has one.
	python=$(python3 -c 'import sys; print(sys.executable)')
	ids="has other effective ids than real ones: the loader ignores LD_PRELOAD for such programs"
	directory="cannot write into the directory of the run, where its trace would be"
	cleared="has no LD_PRELOAD with the agent's library in its environment"
	for how in user effective cleared; do
		for runs in system popen spawn exec; do
			mode=$(shuf --random-source=<(random_below 1000000; yes "$seed") -n 1 -e \
				streaming circular oneshot)
			ring=
			test $mode = streaming || ring=--ring
			times=$((1 + $(random_below 3)))
			case $how,$mode,$runs in
			user,streaming,*) why= ;;
			effective,streaming,*) why=$ids ;;
			user,* | effective,*,exec) why=$directory ;;
			effective,*) why=$ids ;;
			*,system | *,popen) why=$cleared ;;
			*) why= ;;
			esac
			"$FXT" record -m $mode -o shells.fxt -- \
				"$python" shells.py $how $runs $times >said 2>err
			is "$how, $runs, $mode: what is said" "$(yes 42 | head -n $times)" "$(cat said)"
			# shellcheck disable=SC2086
			valid $ring shells.fxt
			is "$how, $runs, $mode, $times times: why it is not traced" "${why:-nothing}" \
				"$("$FXT" report --json --all shells.fxt | python3 -c '
import json, sys
found = json.dumps(json.load(sys.stdin))
print(*[why for why in sys.argv[1:] if why in found] or ["nothing"], sep=", ")' \
					"$ids" "$directory" "$cleared")"
		done
	done
else
	echo "not run: programs that change their user, which takes root and a library that all may read"
fi
