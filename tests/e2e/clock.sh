#!/bin/bash
# All processes of a run are on the clock of the host, in whatever time namespaces they and fxt record are,
# with /proc and without; and the trace tells the time of day. Offsets are random.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

spaces=$apps/time_spaces
export SELF=$spaces

# times.py FROM TO SLEEPS FILE...: prints what is wrong with the traces of time_spaces, in one line. Their
# times of day lie between FROM and TO, in seconds since 1970. They have so many sleeps, and each lasted for
# 2 ms or longer; a process lies within the wait of its parent for it.
cat >times.py <<'END'
import datetime, json, subprocess, sys
begin, end, sleeps, wrong = float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), []
waits, spans, found = {}, {}, 0
for path in sys.argv[4:]:
    dump = subprocess.run([sys.argv[0].replace("times.py", "fxt"), "dump", "--json", "--utc", path],
                          capture_output=True, text=True, check=True).stdout
    for line in dump.splitlines():
        record = json.loads(line)
        if "time" not in record:
            continue
        day = datetime.datetime.fromisoformat(record["utc"][:26] + "+00:00").timestamp()
        if not begin - 0.001 <= day <= end + 0.001:
            wrong.append("%s %s at %f" % (record["type"], record.get("name"), day - begin))
        if record["type"] != "complete" or record["pid"] == 0x7fffffff:
            continue
        last = record["time"] + record["duration"]
        if record["name"] == "usleep":
            found += 1
            if record["duration"] < 2000000:
                wrong.append("a sleep of %d ns" % record["duration"])
        if record["name"] == "waitpid" and record["args"].get("ret", -1) > 0:
            waits[record["args"]["ret"]] = last
        first, latest = spans.get(record["pid"], (record["time"], last))
        spans[record["pid"]] = min(first, record["time"]), max(latest, last)
for pid, until in waits.items():
    if pid in spans and not spans[pid][1] <= until:
        wrong.append("%d ends %d ns after it was waited for" % (pid, spans[pid][1] - until))
if found != sleeps:
    wrong.append("%d sleeps" % found)
print("; ".join(wrong[:3]))
END
ln -s "$FXT" fxt

now()
{
	date +%s.%N
}

# A random offset, in either direction; the clock must not come to be before its begin.
offset()
{
	local up
	up=$(cut -d. -f1 /proc/uptime)
	case $(random_below 4) in
	0) echo "$(random_below 10000000) $(random_below 1000000000)" ;;
	1) echo "-$(random_below "$up") $(random_below 1000000000)" ;;
	2) echo "0 $((1000000 + $(random_below 999000000)))" ;;
	3) echo "$(random_below 60) 0" ;;
	esac
}

# whole NAME SLEEPS CMD...: runs CMD, which leaves NAME.fxt.
whole()
{
	local name=$1 sleeps=$2 from status
	shift 2

	from=$(now)
	"$@" >"$name.out" 2>"$name.err"
	status=$?
	is "$name: exit status: $*" 0 $status
	is "$name: $*" "" "$(python3 ./times.py "$from" "$(now)" "$sleeps" "$name.fxt")"
	valid "$name.fxt"
}

# The time of day, without namespaces, in a zone that is written as a rule and in one that has a name.
for zone in 'AAA-05:45' 'BBB3:30CCC,M3.5.0,M10.5.0' 'Asia/Tokyo'; do
	whole zone 3 env TZ="$zone" "$FXT" record -o zone.fxt -- "$spaces" work 3
	"$FXT" report --utc zone.fxt >report
	is "the report's time of day" 1 \
		"$(grep -c "^from $(date -u +%Y)-.*Z to .*Z, local time $(TZ=$zone date +%:z)\$" report)"
	"$FXT" report --json --all zone.fxt | python3 -c '
import json, sys
utc = json.load(sys.stdin)["trace"]["utc"]
print(utc["zone"], utc["first"] < utc["last"], utc["first_ns"] < utc["last_ns"])' >json
	is "the report's JSON" "$(TZ=$zone date +%:z) True True" "$(cat json)"
done
traced alone "$spaces" work 2 >/dev/null
is "the clock's record without fxt record" 1 \
	"$("$FXT" dump alone/*.fxt | grep -c ' clock .*utc_ns=.*zone_s=')"
printf '\020\0\004FxT\026\0' >none.fxt
is "a trace without it" "the trace does not tell the time of day" \
	"$("$FXT" dump --utc none.fxt 2>&1 >/dev/null | sed 's/^fxt: //')"

# Every file tells it, however it came about: files of programs and what a signal saved of them, archives, the
# parts of a rotated one, what is left of those who were killed, and what was joined of all that.
zone=$(date +%:z)

# tells FILE: returns whether it does.
tells()
{
	"$FXT" report --utc "$1" 2>/dev/null | grep "^from .*Z to .*Z, local time $zone$" >/dev/null
}

# tell WHAT FILE...: checks that each of the files does.
tell()
{
	local what=$1 file
	shift 1

	for file; do
		is "$what: $file: the time of day" "local time $zone" \
			"$("$FXT" report --utc "$file" | sed -n 's/^from .*Z to .*Z, //p')"
	done
}

calls=$((1000 + $(random_below 1000)))
mkfifo line
for mode in streaming circular oneshot; do
	mkdir $mode
	env LD_PRELOAD="$FXT_AGENT" FXT_BUFFERING_MODE=$mode FXT_BUFFER_SIZE_MB=1 FXT_QUIET=1 \
		FXT_OUTPUT="$PWD/$mode/own.fxt" "$apps/lasts" $calls line &
	background=$!
	exec 9>line
	if test $mode != streaming; then
		kill -USR2 $background
		until_deadline test -s $mode/own.snapshot.fxt
	fi
	kill_background
	exec 9>&-
	tell $mode $mode/*.fxt
done
"$FXT" record -q --rotate=1,2 -o saved.fxt -- "$apps/lasts" 20000 line &
background=$!
exec 9>line
"$FXT" ctl --socket=. -o asked.fxt save=1s >/dev/null || fail "ctl save: $?"
tell saved asked.fxt
for file in .fxt-parts.*/*.fxt; do
	# Its first records may be on the way.
	count comparison
	until_deadline tells "$file"
done
echo >&9
wait $background
exec 9>&-
tell saved saved.fxt
"$FXT" record -q -o left.fxt -- "$apps/lasts" 1000 line &
background=$!
exec 9>line
kill_background
echo >&9
exec 9>&-
until_deadline "$FXT" merge -q -o left.fxt .fxt-parts.*
tell left left.fxt
"$FXT" merge -q -o joined.fxt left.fxt saved.fxt
tell joined joined.fxt
background=

# shellcheck disable=SC2046
bare "$spaces" shift 5 0 fork work 1 >/dev/null 2>&1
if test $? = 77; then
	echo "not done: time namespaces may not be made here"
	exit 0
fi

# The ways into a namespace. Each step may come after some work, so the clock has lines or has none yet.
ways='fork
exec
enter
numbered
raw
hide fork
hide exec
fork hide exec
hide fork exec'
while read -r way; do
	mode=streaming
	test "$(random_below 2)" = 0 || mode=circular
	early=$((1 + $(random_below 8))) late=$((3 + $(random_below 8)))
	# shellcheck disable=SC2046,SC2086
	whole way $((early + late)) "$FXT" record -q -m $mode -o way.fxt -- \
		"$spaces" work $early shift $(offset) $way work $late
done <<<"$ways"

# Without fxt record: the parent's file and the child's are on one clock.
from=$(now)
# shellcheck disable=SC2046
traced pair "$spaces" shift $(offset) fork work 5 >/dev/null
is "two files" "" "$(python3 ./times.py "$from" "$(now)" 5 pair/*.fxt)"
valid pair/*.fxt

# fxt record is in a namespace itself; its command too, or in one more.
# shellcheck disable=SC2046
whole within 4 bare "$spaces" shift $(offset) run "$FXT" record -q -o within.fxt -- "$spaces" work 4
# shellcheck disable=SC2046
whole within 4 bare "$spaces" shift $(offset) run "$FXT" record -q -o within.fxt -- \
	"$spaces" shift $(offset) fork work 4

# A manager outside, and programs in namespaces, with /proc and without.
from=$(now)
"$FXT" serve -o serve.fxt --socket="$PWD/socket" >/dev/null 2>serve.err &
background=$!
while ! test -S socket; do :; done
# shellcheck disable=SC2046
env LD_PRELOAD="$FXT_AGENT" FXT_MANAGER="$PWD/socket" "$spaces" shift $(offset) fork work 3 >/dev/null
# shellcheck disable=SC2046
env LD_PRELOAD= "$spaces" shift $(offset) fork hide run \
	env LD_PRELOAD="$FXT_AGENT" FXT_MANAGER="$PWD/socket" "$spaces" work 3 >/dev/null
kill -INT $background
wait $background
background=
is "under fxt serve" "" "$(python3 ./times.py "$from" "$(now)" 6 serve.fxt)"
valid serve.fxt
