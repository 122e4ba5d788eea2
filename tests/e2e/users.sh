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
else
	echo "not run: programs that change their user, which takes root and a library that all may read"
fi
