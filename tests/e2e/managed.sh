#!/bin/bash
# fxt serve against providers that keep a model of what they wrote: whatever becomes of them, the archive has
# each of their records once. They end in every way, next to providers that lie, while the disk is full, and
# until fxt serve is killed. FXT_SWITCHES is how often a provider turns from one half of its memory to the
# other, FXT_WINDOWS how often a manager starts and stops a program, FXT_HOSTILE how often a provider lies in
# each way, FXT_SESSIONS how many random sessions one has with a controller, FXT_MANAGERS how many programs
# have a manager that behaves at random, FXT_RESTLESS how many programs of a hasty manager do not rest,
# FXT_SILENT how many connections say nothing, and FXT_KILLS how often fxt serve is killed.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

players=$abs_top_srcdir/tests/manager
switches=${FXT_SWITCHES:-100}

# serve_saying OPTION...: runs fxt serve in the background, as process $server, at the socket `socket`.
serve_saying()
{
	rm -f said
	"$FXT" serve --socket=socket -b 1 "$@" 2>said &
	server=$!
	background="$background $server"
	until_deadline grep -qs FXT_MANAGER= said
}

# play NAME ENDING [FILE]: runs a provider in the background, as process $player, whose model is NAME.model.
play()
{
	local some=$switches

	test "$2" = exit || some=$((switches / 4))
	python3 "$players/model_provider.py" socket "$1" "$some" "$seed$1" "$1.model" "${@:2}" 2>"$1.err" &
	player=$!
	background="$background $player"
}

# is_saved [--cut | --full] ARCHIVE MODEL...: returns whether the archive has what the models say.
is_saved()
{
	python3 "$players/compare_archive.py" "$@" >compared 2>&1
}

# saved [--cut | --full] ARCHIVE MODEL...: checks that.
saved()
{
	count comparison
	is_saved "$@" || fail "$*: $(cat compared)"
}

# -- Every mode, and every end ---------------------------------------------------------------------

for mode in streaming circular oneshot; do
	serve_saying -m $mode -o "$mode.fxt"
	players_of=
	for ending in exit kill exec orphan; do
		play "$mode-$ending" $ending held
		players_of="$players_of $player"
	done
	play "$mode-stop" stop
	stops=$player
	# shellcheck disable=SC2086
	wait $players_of 2>/dev/null
	# The children of `exec` and `orphan` have copies of connections still, and fxt serve was not stopped.
	until_deadline is_saved "$mode.fxt" $mode-{exit,kill,exec,orphan}.model ||
		fail "$mode: $(cat compared)"
	until_deadline test -f $mode-stop.model
	stop_serving
	wait $stops
	is "$mode: the provider that is stopped" 0 $?
	touch held
	saved "$mode.fxt" $mode-{exit,kill,exec,orphan,stop}.model
	valid "$mode.fxt"
	is "$mode: programs" 1 "$(grep -c '^fxt: 6 programs, ' said)"
	what=lost
	test $mode != oneshot || what='[0-9]* records LOST'
	is "$mode: what is lost" 1 "$(grep -c " ${what/#lost/nothing lost} -> $mode.fxt" said)"
	rm -f held
done

# -- The rules of the packets, one by one -----------------------------------------------------------

mkdir rules && cd rules || exit 1
count comparison
timeout 300 python3 "$players/protocol.py" || fail "protocol.py"
count comparison
python3 "$players/protocol.py" "$seed" "${FXT_SESSIONS:-40}" || fail "protocol.py $seed ${FXT_SESSIONS:-40}"
count comparison
timeout 300 python3 "$players/manager_side.py" "${FXT_WINDOWS:-60}" || fail "manager_side.py"
count comparison
python3 "$players/random_manager.py" "$seed" "${FXT_MANAGERS:-6}" ||
	fail "random_manager.py $seed ${FXT_MANAGERS:-6}"
count comparison
python3 "$players/restless_manager.py" "$seed" "${FXT_RESTLESS:-3}" ||
	fail "restless_manager.py $seed ${FXT_RESTLESS:-3}"
cd ..

# -- Next to others --------------------------------------------------------------------------------

# holds: prints how many descriptors fxt serve has.
holds()
{
	ls "/proc/$server/fd" | wc -l
}

holds_as_before()
{
	test "$(holds)" = "$before"
}

# memory: prints how many kilobytes of memory of its own fxt serve has.
memory()
{
	awk '/^RssAnon:/ { print $2 }' "/proc/$server/status"
}

# listens: returns whether fxt serve has opened what it needs. It says how it is reached before that.
listens()
{
	ls -l "/proc/$server/fd" | grep -q eventpoll
}

serve_saying -o hostile.fxt
until_deadline listens
before=$(holds)
play honest exit
honest=$player
python3 "$players/hostile_providers.py" socket "$seed" "${FXT_HOSTILE:-10}" >lies 2>err ||
	fail "hostile providers, seed $seed: $(tail -n 3 err)"
wait $honest
# Connections that never say anything are closed after two seconds, or when there are too many. Next to them a
# provider is served.
python3 - "${FXT_SILENT:-6000}" <<'END' >opened &
import resource, socket, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
silent = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
          for _ in range(min(int(sys.argv[1]), hard - 100))]
for one in silent:
    one.connect("socket")
print("opened", flush=True)
for one in silent:
    one.settimeout(30)
    while one.recv(4096):
        pass
END
silent=$!
background="$background $silent"
until_deadline grep -qs opened opened
play beside exit
wait $player
wait $silent || fail "silent connections"
until_deadline holds_as_before || fail "$before descriptors were open, and now $(ls -l "/proc/$server/fd")"
test "$(memory)" -lt 65536 || fail "fxt serve has $(memory) KiB of memory"
stop_serving
saved hostile.fxt honest.model beside.model
"$FXT" check hostile.fxt >check.log 2>&1
test $? -le 1 || fail "fxt check of an archive with garbage: $(tail -n 3 check.log)"
grep '[^[:print:][:space:]]' said && fail "what a provider sent comes to the terminal"

# is_larger FILE BYTES: returns whether the file has more bytes than that, or the last provider is over.
is_larger()
{
	test "$(stat -c %s "$1")" -gt "$2" || ! kill -0 $player 2>/dev/null
}

# -- Limits ----------------------------------------------------------------------------------------

# What cannot be served is refused, and what is there is served on.
rm -f said
( ulimit -n 30; exec "$FXT" serve --socket=socket -b 1 -o refused.fxt 2>said ) &
server=$!
background="$background $server"
until_deadline grep -qs FXT_MANAGER= said
before=$(stat -c %s refused.fxt)
play limited exit
limited=$player
# Now it is connected, so the others are those that find no room.
until_deadline is_larger refused.fxt "$before"
python3 - <<'END' || fail "connections beyond the limit"
import socket
many = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(100)]
for one in many:
    one.connect("socket")
    one.settimeout(30)
for one in many:
    while one.recv(4096):
        pass
END
wait $limited
stop_serving
grep -q ' connections refused' said || fail "nobody was refused: $(cat said)"
saved refused.fxt limited.model
valid refused.fxt

# No more than that fits in the file, so what comes later is lost, and no program notices.
rm -f said
( ulimit -f 200; exec "$FXT" serve --socket=socket -b 1 -o full.fxt 2>said ) &
server=$!
background="$background $server"
until_deadline grep -qs FXT_MANAGER= said
play full exit
wait $player
is "a full disk: the provider's exit status" 0 $?
stop_serving 1
is "a full disk: messages" 1 "$(grep -c 'full.fxt: File too large' said)"
grep -q 'LOST' said || fail "a full disk: $(cat said)"
saved --full full.fxt full.model
valid full.fxt

# -- The socket ------------------------------------------------------------------------------------

echo precious >file
"$FXT" serve --socket=file -o none.fxt 2>err && fail "a file is no socket"
is "a file in the place of the socket" "precious 1" "$(cat file) $(grep -c '^fxt: .*file: File exists$' err)"
python3 -c '
import os, socket, sys
other = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
other.bind("other")
other.listen()
inode = os.stat("other").st_ino
os.system(sys.argv[1] + " serve --socket=other -o none.fxt 2>err")
assert os.stat("other").st_ino == inode' "$FXT" || fail "the socket of another server: $(cat err)"
test ! -e none.fxt || fail "there is an archive of a fxt serve that did not begin"

# -- fxt serve is killed ---------------------------------------------------------------------------

# Each one replaces the socket that the last one has left.
for round in $(seq "${FXT_KILLS:-8}"); do
	serve_saying -o "killed.$round.fxt"
	play "killed$round" exit
	until_deadline is_larger "killed.$round.fxt" "$(random_below 3000000)"
	kill -9 "$server"
	wait "$server" $player 2>/dev/null
	saved --cut "killed.$round.fxt" "killed$round.model"
	# The kernel may have written a part of the last block.
	"$FXT" check "killed.$round.fxt" >check.log 2>&1 || grep -q 'past the end of file' check.log ||
		fail "killed: $(tail -n 3 check.log)"
	is "killed: violations but for the end" 0 \
		"$(sed '/still open/d; /past the end of file/d; /unknown types/d' check.log | grep -c ' x ')"
	count trace
done
