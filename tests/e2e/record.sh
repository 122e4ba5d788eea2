#!/bin/bash
# fxt record is a wrapper of a program: this script checks what it hands on, what it leaves when it is
# killed, and what fxt merge makes of that.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3 ps

# This turns on job control. Without it, programs that the shell starts in the background ignore SIGINT and
# SIGQUIT.
set -m

# start NAME CMD...: starts CMD in the background, as process $background, with its output in NAME.out. It
# returns when CMD has printed its first line.
start()
{
	local name=$1

	shift
	rm -f said
	mkfifo said
	# The caller of this script may ignore some signals, as nohup does.
	env --default-signal "$@" >said &
	background=$!
	exec 3<said
	read -r _ <&3 || fail "$* ended before it was ready"
	cat <&3 >"$name.out" 3<&- &
	copier=$!
	exec 3<&-
}

# -- Signals -------------------------------------------------------------------------------------------
start bare "$apps/signalled" wait
"$apps/signalled" send $background
wait $background $copier
start traced "$FXT" record -q -o signals.fxt -- "$apps/signalled" wait
"$apps/signalled" send $background
wait $background
is "every signal is handed on: status" 0 $?
wait $copier
background=
is "every signal is handed on" "$(sort bare.out)" "$(sort traced.out)"
test "$(wc -l <bare.out)" -gt 40 || fail "only $(wc -l <bare.out) signals came"
valid signals.fxt

# Signals that were ignored stay ignored.
(trap '' TERM; exec "$FXT" record -q -o ignored.fxt -- sh -c 'kill -TERM $$; echo lives') >ignored.out
is "an ignored signal" lives "$(cat ignored.out)"
(trap '' CHLD; exec "$FXT" record -q -o chld.fxt -- sh -c 'exit 7')
is "status where children are ignored" 7 $?
"$FXT" record -q -o itself.fxt -- sh -c 'kill -TERM $$'
is "a program that kills itself" 143 $?
"$FXT" record -q -o parent.fxt -- sh -c 'kill -TERM $PPID; exit 3'
is "a program that kills its parent" 3 $?
exec 3> >(:)
wait $!
"$FXT" record -o pipe.fxt -- sh -c 'exit 4' 2>&3
is "nobody reads what it says" 4 $?
exec 3>&-
is "nobody reads what it says: folders" 0 "$(find . -name '.fxt-parts.*' | wc -l)"

# -- Killed --------------------------------------------------------------------------------------------

# program_of PID: prints the id of the program that this fxt record runs. Another child of it is a witness.
program_of()
{
	ps -o pid=,comm= --ppid "$1" | awk '$2 != "fxt" { print $1 }'
}

mkdir killed
start orphan "$FXT" record -q -o killed/x.fxt -- "$apps/signalled" wait
parts=$(echo killed/.fxt-parts.*)
"$FXT" merge "$parts" 2>merge.err
is "merge while fxt record runs" 1 $?
grep -q 'still runs' merge.err || fail "merge while fxt record runs: $(cat merge.err)"
program=$(program_of $background)
kill -9 $background
wait $background 2>/dev/null
kill -RTMAX $program
background=$program
wait $copier
background=
"$FXT" record -o killed/next.fxt -- true 2>next.err
grep -q "^fxt: 1 recording .*'fxt merge .*/$parts'" next.err ||
	fail "the next fxt record says: $(cat next.err)"
is "lines of the next fxt record" 2 "$(grep -vc 'no samples and no context switches' next.err)"
"$FXT" merge "$parts" 2>merge.err || fail "merge: $(cat merge.err)"
valid killed/signalled.*.fxt
test -e "$parts" && fail "merge left $parts"
"$FXT" record -o killed/next.fxt -- true 2>next.err
is "lines once it is merged" 1 "$(grep -vc 'no samples and no context switches' next.err)"

# -- For a time ----------------------------------------------------------------------------------------

# The program makes calls until it sees its trace, which is there while it still runs. Its last calls come
# too late to be in it.
rm -f late
"$FXT" record -q --duration=200ms -o time.fxt -- sh -c 'mkdir first
while ! test -e time.fxt; do test -e second; done; mkdir late; ls -d late >/dev/null; exit 6'
is "recorded for a time: exit status" 6 $?
test -d late || fail "recorded for a time: the program did not go on"
valid time.fxt
fxt dump --json time.fxt >records
is "recorded for a time: the first call" 1 "$(grep -c '"mkdir".*"first"' records)"
test "$(grep -c '"second"' records)" -gt 10 || fail "recorded for a time: $(grep -c '"second"' records) calls"
is "recorded for a time: late calls" 0 "$(grep -c '"late"' records)"
rm -r first late time.fxt
"$FXT" record -q --start-delay=200ms --duration=200ms -o time.fxt -- sh -c 'mkdir first
while ! test -e time.fxt; do test -e second; done; exit 7'
is "recorded later: exit status" 7 $?
valid time.fxt
fxt dump --json time.fxt >records
is "recorded later: the first call" 0 "$(grep -c '"mkdir".*"first"' records)"
test "$(grep -c '"second"' records)" -gt 10 || fail "recorded later: $(grep -c '"second"' records) calls"
rm -r first
"$FXT" record -q --start-delay=1000s -o never.fxt -- sh -c 'exit 8' 2>err
is "recorded never: exit status" 8 $?
is "recorded never: folders" 0 "$(find . -maxdepth 1 -name '.fxt-parts.*' | wc -l)"
# A program that is stuck records nothing, and has waited until recording ended.
if test -x "$apps/locks_itself"; then
	"$FXT" record -q --duration=1500ms -o stuck.fxt -- "$apps/locks_itself" 2>/dev/null &
	background="$background $!"
	until_deadline test -s stuck.fxt
	kill -9 "$(program_of $!)"
	wait $!
	background=
	valid stuck.fxt
	is "stuck when the time is over" 1 \
		"$(fxt report stuck.fxt | grep -Ec 'has waited ([0-9]{3} ms|[0-9.]+ s) for cache')"
	is "and it still ran" 1 "$(fxt dump stuck.fxt | grep -c 'process:still runs')"
fi

"$FXT" record -q --duration=1s -m circular -o wrong.fxt -- true 2>err
is "--duration in circular mode" 125 $?

# A signal to fxt record begins recording, and the next one ends it. The program does not get the signal. It
# asks the manager whether recording has begun.
rm -f time.fxt
"$FXT" record -q --toggle=USR1 -o time.fxt -- sh -c 'mkdir first; kill -USR1 $PPID
until "$0" ctl state | grep -q STARTED; do :; done
mkdir second; kill -USR1 $PPID
while ! test -e time.fxt; do :; done; mkdir late; exit 9' "$FXT" 2>err
is "recorded between signals: exit status" 9 $?
valid time.fxt
fxt dump --json time.fxt >records
is "recorded between signals: folders" "0 1 0" \
	"$(for name in first second late; do grep -c "\"mkdir\".*\"$name\"" records; done | xargs)"
rm -r first second late
"$FXT" record -q --toggle=10 --duration=100ms -o time.fxt -- sh -c 'kill -10 $PPID
while ! test -e time.fxt; do :; done; exit 10'
is "recorded from a signal on: exit status" 10 $?
valid time.fxt
for wrong in KILL SIGCHLD 0 '' nothing 'USR1 --start-delay=1s'; do
	"$FXT" record -q --toggle="${wrong%% *}" ${wrong#"${wrong%% *}"} -o wrong.fxt -- true 2>err
	is "--toggle=$wrong" "125 1" "$? $(wc -l <err)"
done

# The name of the directory is too long for a socket.
long=$(printf '%0100d' 0)
mkdir -p "$long/$long"
"$FXT" record -q --duration=100s -o "$long/$long/x.fxt" -- env >found
grep -q '^FXT_MANAGER=-/proc/.*/fd/.*/manager$' found || fail "a long directory: $(cat found)"
valid "$long/$long/x.fxt"
is "a long directory: folders" 0 "$(find "$long" -name '.fxt-parts.*' | wc -l)"

# -- Descendants that ran untraced -----------------------------------------------------------------------

# untraced CMD...: records CMD. The lines of fxt record about descendants that ran untraced are then in the
# file `found`.
untraced()
{
	"$FXT" record -o untraced.fxt -- "$@" >out 2>err || fail "$*: exit status $?"
	valid untraced.fxt
	sed -n 's/^fxt: \(.* ran it untraced: .*\)/\1/p' err | sed 's/process [0-9]*/process PID/' >found
	told untraced.fxt | LC_ALL=C sort >reported
	LC_ALL=C sort found >sorted
	same "what the report says of it: $*" sorted reported
}

# told FILE: prints what the report's JSON has of programs that ran untraced, as fxt record says it. Checks
# that the report has a line for each, and that the process has the program's path for its name.
told()
{
	"$FXT" report --json --all "$1" >json || fail "fxt report"
	"$FXT" report "$1" >text
	"$FXT" dump --json "$1" >records
	python3 - <<'END'
import json
named, lines = {}, open("text").read().splitlines()
for line in open("records"):
    record = json.loads(line)
    if record["type"] == "process":
        named[record["id"]] = record["name"]
for one in json.load(open("json"))["untraced"]:
    who = "process PID" if one["processes"] == 1 else "%d processes" % one["processes"]
    print("%s: %s ran it untraced: %s" % (one["program"], who, one["reason"]))
    if named.get(one["pid"]) != one["program"]:
        print("its name is", named.get(one["pid"]))
    if sum(one["reason"] in line and line.startswith("UNTRACED: ") for line in lines) != 1:
        print("no line in the report")
END
}

static='it is statically linked: nothing can be preloaded into it'
printf '#!%s\n' "$apps/alone" >script
chmod +x script
untraced sh -c "'$apps/alone'; '$apps/alone'; '$scratch/script'; true; env -i true; exec true"
cat >expected <<END
$apps/alone: 2 processes ran it untraced: $static
$scratch/script: process PID ran it untraced: \
its interpreter $apps/alone is statically linked: nothing can be preloaded into it
END
same "untraced" expected found
untraced sh -c "exec '$apps/alone'"
echo "$apps/alone: process PID ran it untraced: $static" >expected
same "executed untraced" expected found
# What a process did as such a program is not known, and is not said to be running.
cat >sleeps.c <<'END'
#include <time.h>
int main(void)
{
	return nanosleep(&(struct timespec){0, 300000000}, NULL);
}
END
if $CC -O1 -static -o sleeps sleeps.c 2>/dev/null; then
	untraced sh -c "exec '$scratch/sleeps'"
	between "the life that is told, in ms" 0 299 "$("$FXT" report --json --all untraced.fxt | python3 -c '
import json, sys
print(sum(one["running_ns"] for one in json.load(sys.stdin)["threads"]) // 1000000)')"
fi
untraced python3 -c "import os
os.posix_spawn('$apps/alone', ['alone'], os.environ)
os.wait()
os.posix_spawn('/bin/true', ['true'], {})
os.wait()"
same "spawned untraced" expected found
# Each has a reason of its own, in whatever order they come: limits that leave no room for the library, and a
# program that runs as its owner. All of them do what they do bare.
cp /bin/true low && cp /bin/true little && cp /bin/true roomy && cp /bin/true owned
limits="(ulimit -v $((5000 + $(random_below 11000))); exec '$scratch/low')
(ulimit -d $((200 + $(random_below 5900))); exec '$scratch/little')
(ulimit -v 200000; ulimit -d 100000; exec '$scratch/roomy')"
cat >expected <<END
$scratch/little: process PID ran it untraced: \
it may have so little data (ulimit -d) that the agent's library would take its own
$scratch/low: process PID ran it untraced: \
it may have so few addresses (ulimit -v) that the agent's library would take its own
END
if chown 65534 owned 2>/dev/null && chmod 4755 owned; then
	limits="$limits
'$scratch/owned'"
	echo "$scratch/owned: process PID ran it untraced: it is set-user-ID:" \
		"the loader ignores LD_PRELOAD for such programs" >>expected
fi
untraced sh -ec "$(shuf --random-source=<(random_below 1000000; yes "$seed") <<<"$limits")
:"
same "reasons" expected found
is "what they say" "" "$(grep -a 'ld.so\|shared libraries' err)"
# Nothing can map a library whose file system is mounted noexec: fxt record refuses it, and where it becomes
# so for a part of the run, what runs there hears nothing of it.
mkdir mounted
if test "$(id -u)" = 0 && mount -t tmpfs none mounted 2>/dev/null; then
	cp "$FXT_AGENT" mounted/libfxtagent.so
	FXT_AGENT=$PWD/mounted/libfxtagent.so untraced unshare -m sh -c "mount -o remount,noexec,bind mounted
		'$scratch/roomy'; exec '$scratch/roomy'"
	echo "$scratch/roomy: 2 processes ran it untraced:" \
		"it cannot map the agent's library, whose file system is mounted noexec here" >expected
	same "a library that becomes noexec" expected found
	is "what is said of that" "" "$(grep -a 'ld.so' err)"
	mount -o remount,noexec mounted
	"$FXT" record -a mounted/libfxtagent.so -o noexec.fxt -- touch ran 2>err
	is "a library that is noexec: status, lines, what ran" "125 1 no" \
		"$? $(grep -c 'mounted noexec' err) $(test -e ran && echo yes || echo no)"
	umount mounted
else
	echo "not run: file systems that are mounted noexec, which takes root"
fi
# What is said with -q, and as JSON.
"$FXT" record -q -o untraced.fxt -- sh -c "'$apps/alone'; exit 3" 2>err
is "quietly: exit status, lines" "3 0" "$? $(wc -l <err)"
is "the report of a quiet run" "$apps/alone: process PID ran it untraced: $static" "$(told untraced.fxt)"
"$FXT" record --json -o untraced.fxt -- sh -c "'$apps/alone'; '$apps/alone'; :" 2>err
is "the summary's JSON" "$apps/alone 2 $static" "$(python3 -c '
import json
print(*("%(program)s %(processes)d %(reason)s" % one for one in json.load(open("err"))["untraced"]))')"
FXT_FOLLOW=sh untraced sh -c "'$apps/alone'; true"
same "not to be followed" /dev/null found

# -- Little to live on ---------------------------------------------------------------------------------
# What is too little for the trace is no reason for the command to fare otherwise.

# little NAME LIMIT: the command makes its calls and ends, whatever fxt record has too little of.
little()
{
	bash -c "ulimit $2; exec \"\$@\"" bash "$FXT" record -q -o little.fxt -- \
		sh -c "'$apps/sequence' 20000; grep -i sigign /proc/self/status; exit 7" >found 2>err
	is "$1: exit status" 7 $?
	same "$1: output" bare found
}
sh -c "'$apps/sequence' 20000; grep -i sigign /proc/self/status" >bare
# Less data than its threads would take if each had a stack of the usual size, and than what is read takes.
for data in $((15500 + $(random_below 500))) $((16000 + $(random_below 500))); do
	little "data ($data KiB)" "-d $data"
	valid little.fxt
	rm -f little.fxt
done
# A file that is smaller than the memory that the processes of a run share.
little "size of files" "-f $((64 + $(random_below 512)))"
rm -rf little.fxt .fxt-parts.*
# A stack that has room for no table of the tool, and few descriptors: then there is no manager.
for limit in "-s $((64 + $(random_below 64)))" "-n $((14 + $(random_below 8)))" \
	"-n $((9 + $(random_below 5)))"; do
	little "$limit" "$limit" 10>&-
	is "$limit: what is said, but for the kernel's refusal" "" "$(grep -v perf_event_open err)"
	valid little.fxt
	rm -f little.fxt
done
# With fewer still there is no trace.
few=$((4 + $(random_below 4)))
little "-n $few" "-n $few"
is "-n $few: lines that say so" 1 "$(grep -c 'no trace, and the command runs untraced' err)"
# Its own path, without /proc.
if test "$(id -u)" = 0 && unshare -m true 2>/dev/null; then
	unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' sh \
		env -u FXT_AGENT "$FXT" record -q -o little.fxt -- sh -c 'exit 7' 2>err
	is "no /proc: exit status, what is said" "7 " "$? $(cat err)"
else
	echo "not run: a run without /proc, which takes root"
fi

# -- Ends ----------------------------------------------------------------------------------------------
# ends FILE: prints what the process:exit events of the trace say, a line each.
ends()
{
	fxt dump "$1" | sed -n 's/.* process:exit .*\(\(status\|signal\)=.*\)/\1/p'
}

status=$(random_below 256)
"$FXT" record -q -o status.fxt -- sh -c "exit $status"
is "the end of a program" "status=$status" "$(ends status.fxt)"
valid status.fxt

# The program is killed in a call, at a time that is known to a hundredth of a second.
start killed "$FXT" record -q -o killed.fxt -- "$apps/signalled" wait
read -r uptime _ </proc/uptime
kill -9 "$(program_of $background)"
wait $background
is "a killed program: status" 137 $?
wait $copier
background=
valid killed.fxt
is "the end of a killed program" "signal=9" "$(ends killed.fxt)"
fxt report killed.fxt >report
grep -q '^F1  signalled [0-9]* was killed by signal 9 (Killed)$' report ||
	fail "a killed program: $(head -n 5 report)"
fxt dump --json killed.fxt | python3 -c '
import json, sys
ends = [e for e in map(json.loads, sys.stdin) if (e["type"], e.get("category"), e.get("name")) ==
        ("instant", "process", "exit")]
sys.exit(len(ends) != 1 or ends[0]["time"] < float(sys.argv[1]) * 1e9)' "$uptime" ||
	fail "its end is not before $uptime s"

# Another traced process reaps the killed one and lives on. The call in progress lasts until then, and not
# until the end of the trace.
cat >reaped.py <<'END'
import os, signal, time
ready, say = os.pipe()
child = os.fork()
if child == 0:
    os.write(say, b'x')
    signal.pause()
os.read(ready, 1)
while open('/proc/%d/stat' % child).read().rpartition(')')[2].split()[0] != 'S':
    pass
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
time.sleep(0.3)
END
"$FXT" record -q -o reaped.fxt -- python3 -S reaped.py
valid reaped.fxt
fxt report --json --all reaped.fxt | python3 -c '
import json, sys
report = json.load(sys.stdin)
killed = [t for t in report["threads"] if t.get("open")]
sys.exit(len(killed) != 1 or killed[0]["last_ns"] > report["trace"]["last_ns"] - 300000000)' ||
	fail "a killed child lives on"

# -- Waiting for room ----------------------------------------------------------------------------------

# A program that records faster than its records are saved is kept waiting. The summary and its JSON say so,
# and it is none of the program's own waits.
for attempt in 1 2 3 4 5 6 7 8 9 10; do
	"$FXT" record --memory=256K -o kept.fxt -- "$apps/sequence" 200000 2>kept.said ||
		fail "kept: exit status $?"
	waits=$(fxt dump kept.fxt | grep -c ' agent:waiting for room')
	test "$waits" = 0 || break
done
test "$waits" != 0 || fail "kept: in $attempt runs the program never waited for room"
valid kept.fxt
is "kept: the summary" 1 \
	"$(grep -c "nothing lost, kept threads waiting for [0-9.]* [mun]*s in $waits -> " kept.said)"
"$FXT" record -j --memory=256K -o kept.fxt -- "$apps/sequence" 200000 2>kept.said ||
	fail "kept: exit status $?"
is "kept: JSON" "$(fxt dump kept.fxt | grep -c ' agent:waiting for room')" \
	"$(sed 's/.*"room_waits":\([0-9]*\),"room_wait_ns":[0-9]*,.*/\1/' kept.said)"

# -- Secrets -------------------------------------------------------------------------------------------
secret=x$(random_below 1000000000)x
tell='echo "word$0" >&2; cat "/no/path$0"; exec "$1" "argument$0"'
"$FXT" record -q -o open.fxt -- sh -c "$tell" "$secret" "$(type -P true)" 2>/dev/null
grep -q "$secret" open.fxt || fail "a trace does not tell of standard error and paths"
"$FXT" record -q -c '#default,-log,-io,-net,-process' -o secret.fxt -- \
	sh -c "$tell" "$secret" "$(type -P true)" 2>/dev/null
valid open.fxt secret.fxt
grep -q "$secret" secret.fxt && fail "categories that were left out tell secrets"

# -- One file of several -------------------------------------------------------------------------------
# The largest part need not be the first. It may be the last of a process that executed other programs, and
# names the process then.
"$FXT" record -q -c '#default' -o several.fxt -- \
	sh -c '"$0" 20; "$0" 20000 & wait; exec "$0" 300' "$apps/sequence"
valid several.fxt
is "processes, the largest part last" 3 \
	"$(fxt dump --json several.fxt | grep -o '"type":"process","id":[0-9]*,"name":"[a-z]*"' |
		grep -v '"kernel"' | cut -d , -f 2 | sort -u | wc -l)"
"$FXT" record -q -c '#default' -o became.fxt -- sh -c '"$0" 20; exec "$0" 20000' "$apps/sequence"
valid became.fxt
read -r pid first <<<"$(fxt dump became.fxt | awk '$2 == "provider" && !found++ { print $3, $4 }')"
is "what came first" '"sequence"' "$first"
is "the name of what became another" "$pid sequence" "$(fxt report --json --all became.fxt |
	python3 -c 'import json, sys
print(*(str(t["pid"]) + " " + t["name"] for t in json.load(sys.stdin)["threads"] if t["pid"] == '"$pid"'))')"

# Whatever the size, fxt merge says what it cannot write.
"$FXT" merge -q -o /dev/full became.fxt several.fxt 2>full && fail "merge to a full device"
is "what is said of a full device" "fxt: /dev/full: No space left on device" "$(cat full)"

# A link stays one: what it leads to is written. /dev/stdout is such a link.
ln -s there.fxt link.fxt
"$FXT" record -q -o link.fxt -- "$(type -P true)" || fail "record to a link"
is "what became of a link" "there.fxt" "$(readlink link.fxt)"
valid there.fxt
"$FXT" merge -q -o link.fxt became.fxt several.fxt || fail "merge to a link"
is "what became of a link, by merge" "there.fxt" "$(readlink link.fxt)"
"$FXT" merge -q -o merged.fxt became.fxt several.fxt
same "what merge writes to a link" there.fxt merged.fxt

# A compressed trace unpacks to the trace that it was made of. fxt may be built without zstd.
"$FXT" merge --compress -q -o packed.fxt.zst became.fxt several.fxt 2>told
if test $? = 0; then
	if command -v zstd >/dev/null; then
		zstd -q -d -c packed.fxt.zst >unpacked.fxt
		same "what merge --compress writes" unpacked.fxt merged.fxt
	fi
	is "records of what merge --compress writes" "$(fxt dump merged.fxt | wc -l)" \
		"$(fxt dump packed.fxt.zst | wc -l)"
	test "$(wc -c <packed.fxt.zst)" -lt "$(wc -c <merged.fxt)" || fail "--compress makes nothing smaller"
	"$FXT" record --compress -c '#default' -- "$apps/sequence" 20000 2>told
	is "exit status with --compress" 0 $?
	fxt check sequence.*.fxt.zst >/dev/null || fail "record --compress: the trace has violations"
	is "what record --compress says" 1 "$(grep -c 'compressed to .* -> sequence.*\.fxt\.zst$' told)"
	"$FXT" record --compress -o link.fxt -- "$(type -P true)" 2>told
	is "exit status with --compress for a link" 125 $?
	is "what --compress says of a link" \
		"fxt: link.fxt is a device, a pipe or a link: --compress needs a file" "$(cat told)"
else
	is "what merge --compress says without zstd" 1 "$(grep -c 'fxt was built without it' told)"
fi

# fxt record was killed while it joined the parts. Only the own bytes of the part to which the others are
# appended count, so no event is there twice.
mkdir halfway halfway/.fxt-parts.abcdef
traced halfway/.fxt-parts.abcdef sh -c '"$0" 20; "$0" 20000; :' "$apps/sequence"
cp -r halfway/.fxt-parts.abcdef halfway/before
"$FXT" merge -o whole.fxt halfway/before/*.fxt 2>expected || fail "merge of parts: $(cat expected)"
largest=$(ls -S halfway/before | head -n 1)
grows=halfway/.fxt-parts.abcdef/$largest
for part in halfway/before/*.fxt; do
	test "$part" = "halfway/before/$largest" || tail -c +9 "$part" >>"$grows"
done
mv "$grows" "$grows.$(wc -c <"halfway/before/$largest").joining"
"$FXT" merge halfway/.fxt-parts.abcdef 2>joined || fail "merge of a join that was killed: $(cat joined)"
valid halfway/*.fxt
is "what is in it, of a join that was killed" "$(grep -o '.*events' expected)" "$(grep -o '.*events' joined)"
is "what it leaves" 0 "$(find halfway -name '.fxt-parts.*' | wc -l)"

# Traces that were made without fxt record are merged, and stay.
traced alone sh -c '"$0"; "$0"; :' "$(type -P true)"
"$FXT" merge -q -o together.fxt alone/*.fxt || fail "merge of files"
valid together.fxt
is "processes of the files" 3 "$(ls alone/*.fxt | wc -l)"
is "processes of what is merged" 3 "$(fxt dump --json together.fxt | grep -c '"type":"process"')"
"$FXT" merge -q alone/*.fxt 2>/dev/null
is "merge without -o: exit status" 1 $?

# -- The directory goes meanwhile ------------------------------------------------------------------------

# What was recorded is found where the directory is by then, and what is not known to be there is not said to
# be.
mkfifo gate
count=$((1 + $(random_below 500)))
for way in 'mv sub elsewhere' 'mv sub/.fxt-parts.* elsewhere' 'rm -r sub'; do
	rm -rf sub elsewhere
	mkdir sub
	"$FXT" record --no-kernel -o sub/moved.fxt -- "$apps/outlives" 0 "$PWD/gate" $count 0 2>moved.err &
	background=$!
	until_deadline pgrep -P $background -x outlives >/dev/null
	# shellcheck disable=SC2086
	$way
	echo >gate
	wait $background
	is "$way: status" 125 $?
	background=
	is "$way: a trace" "" "$(find sub -name moved.fxt 2>/dev/null)"
	is "$way: what is said of it" "1 0" \
		"$(grep -c 'fxt-parts.*: it was renamed or removed while the command ran$' moved.err) $(
			grep -c 'nothing lost' moved.err)"
	if test "$way" = 'rm -r sub'; then
		is "$way: what is left" "fxt: there is no trace" "$(tail -n 1 moved.err)"
		continue
	fi
	"$FXT" merge -q -o found.fxt "$(sed -n 's/^fxt: the parts of the trace are left in //p' moved.err)"
	is "$way: calls" $count "$(fxt dump found.fxt | grep -c 'io:access .*/nowhere/')"
	rm -f found.fxt
done
