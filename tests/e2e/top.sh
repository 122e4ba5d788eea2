#!/bin/bash
# fxt top shows what the programs of a session do. Programs make known numbers of calls under it, and hold
# known amounts of memory and known numbers of descriptors.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

unset FXT_MANAGER XDG_RUNTIME_DIR

# watch FILE ARGUMENT...: runs fxt top in the background, as process $top, with its output in FILE. It returns
# when the first interval was shown, so that what is recorded from then on counts.
watch()
{
	local file=$1

	shift
	: >"$file"
	# What the program reads from has to end when this script closes it.
	"$FXT" top --batch -d 100ms "$@" >"$file" 6>&- &
	top=$!
	background="$background $top"
	until_deadline watches "$file"
	grep -q ' calls/s (' "$file" || fail "fxt top $* ended at once"
}

# watches FILE: returns whether fxt top has shown an interval, or is over.
watches()
{
	grep -q ' calls/s (' "$1" || ! kill -0 $top 2>/dev/null
}

# calls_in FILE: prints the sum of the calls of all intervals.
calls_in()
{
	sed -n 's/.* calls\/s (\([0-9 ]*\) in .*/\1/p' "$1" | tr -d ' ' | paste -sd+ | bc
}

# shown COLUMN PID FILE: prints what the last interval in which the process was shown has in the column.
shown()
{
	python3 - "$@" <<'END'
import re, sys
column, pid, name = sys.argv[1:]
value = None
for line in open(name):
    if "SLOWEST WAIT" in line and "PID" in line:
        title = line
        # Figures stand to the right, below the last letter of their title.
        end = title.index(column) + len(column)
    elif re.match(rf" *{pid} ", line):
        # Of two figures with a space in them, the one before ends two columns or more before this one.
        value = re.search(r"(\S+(?: [KMG]iB| B)?|\S+)$", line[:end]).group(1)
print(value)
END
}

# -- Calls -----------------------------------------------------------------------------------------

need bc
serve -o calls.fxt -c malloc
managed "$apps/sequence" 70000
watch calls socket
is "what was there before does not count" 0 "$(calls_in calls)"
managed "$apps/sequence" 50000
managed "$apps/sequence" 20000 &
managed "$apps/sequence" 30000
wait $!
stop_serving
wait $top
is "fxt top ends with the session" 0 $?
is "sum of calls" 200000 "$(calls_in calls)"
is "how the last state is marked" 1 "$(grep -c '^[0-9:]* ENDED ' calls)"
is "lines that are too long" 0 "$(grep -cE '.{101}' calls)"
is "terminal sequences" 0 "$(grep -c "$(printf '\033')" calls)"
valid calls.fxt

# -- What a process holds --------------------------------------------------------------------------

# For each character that it reads, the program does something: `m` keeps a megabyte, `o` opens a file, `c`
# closes the one that was opened last, and `.` changes nothing.
cat >holds.c <<'END'
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
	void *volatile kept;
	int last = -1;
	char what;

	while (read(0, &what, 1) == 1) {
		switch (what) {
		case 'm': memset(kept = malloc(1 << 20), 1, 1 << 20); break;
		case 'o': last = open("/dev/zero", O_RDONLY); break;
		case 'c': close(last); break;
		default: access("/nowhere", F_OK); break;
		}
	}
	return kept == NULL;
}
END
${CC:-cc} -O1 -o holds holds.c || fail "holds.c"
serve -o holds.fxt
mkfifo commands
(exec env LD_PRELOAD="$FXT_AGENT" FXT_MANAGER="$scratch/socket" ./holds) <commands >&2 &
holds=$!
background="$background $holds"
exec 6>commands

# descriptors_are COUNT: waits until fxt top shows that the program has so many descriptors more than it began
# with, although it does nothing any more.
descriptors_are()
{
	count comparison
	until_deadline shows "$((inherited + $1))"
}

shows()
{
	test "$(shown FDS $holds held)" = "$1"
}

# holds_eight: makes the program do something, and returns whether fxt top has shown its 8 MiB by then.
holds_eight()
{
	printf . >&6
	shown HEAP $holds held | grep '^8[.]0. MiB' >/dev/null
}

# holds_one_more: does the same for the megabyte that the program took later.
holds_one_more()
{
	printf . >&6
	grep -q ' +1[.]0. MiB' held
}

printf 'mmmmmmmmoooooooooo' >&6
watch held socket
# The counters come every 10 ms while the program records something.
until_deadline holds_eight
count comparison
# The agent's own descriptors have high numbers.
inherited=$(for fd in /proc/$holds/fd/*; do test "${fd##*/}" -ge 1000 || readlink "$fd"; done |
	grep -cvx /dev/zero)
descriptors_are 10
printf 'oocooo' >&6
descriptors_are 14
is "its name" 1 "$(grep -E "^ *$holds " held | tail -n 1 | grep -c " holds ")"
printf m >&6
until_deadline holds_one_more
count comparison
exec 6>&-
wait $holds
stop_serving
wait $top
valid holds.fxt

# -- fxt record, and how a session is found ----------------------------------------------------------

mkdir run
rm -f commands obeyed
mkfifo commands
(cd run && exec "$FXT" record -q -o obeys.fxt -c io -- "$apps/obeys" 2 <../commands >../obeyed) &
recorder=$!
background="$background $recorder"
exec 6>commands
printf 'call first 10\n' >&6
until_deadline test -s obeyed
(cd run && exec "$FXT" top -b -d 100ms -n 2 >../found) || fail "fxt top: exit status $?"
is "a session that is found in the directory" "2 0" "$(grep -c ' calls/s (' found) $(calls_in found)"
"$FXT" top -b -d 100ms -n 1 run >found || fail "fxt top run: exit status $?"
is "in a directory that is named" 1 "$(grep -c ' calls/s (' found)"
for named in run/.fxt-parts.* run/.fxt-parts.*/manager run/.fxt-parts.*/manager.fxt; do
	watch recorded "$named" -n 1
	wait $top
	is "fxt top $named" 0 $?
done
watch recorded run
printf 'call second 500\n' >&6
exec 6>&-
wait $recorder
wait $top
is "fxt top ends with fxt record" 0 $?
# What reads the commands counts as well.
valid run/obeys.fxt
is "calls under fxt record" 1000 "$(fxt dump run/obeys.fxt | grep -c 'access .*/nowhere/second/')"
test "$(calls_in recorded)" -ge 1000 || fail "fxt top has seen $(calls_in recorded) calls of 1000"

# A run whose trace is divided into files before fxt top begins, and after that: all of them are read.

# has_seen COUNT FILE: returns whether fxt top has shown so many calls.
has_seen()
{
	test "$(calls_in "$2")" -ge "$1"
}

mkfifo first second last
long=$((100000 + $(random_below 50000)))
(cd run && exec "$FXT" record -q --no-kernel -c io --rotate=1,60 -o long.fxt -- sh -c \
	"'$apps/outlives' 0 ../first $long 0; '$apps/outlives' 0 ../second $long 0; read -r line <../last") &
recorder=$!
background="$background $recorder"
echo >first
# The second program opens this when the first one is over.
exec 6>second
test -e run/.fxt-parts.*/manager.2.fxt || fail "the trace was not divided"
watch divided run
is "what was there in several files does not count" 0 "$(calls_in divided)"
echo >&6
exec 6>&-
until_deadline has_seen $long divided
between "calls in several files" $long $((long + 100)) "$(calls_in divided)"
"$FXT" top --batch --utc -d 100ms -n 1 run >utc || fail "fxt top --utc: exit status $?"
is "fxt top --utc" 1 "$(grep -c '^[0-9][0-9]:[0-5][0-9]:[0-5][0-9]Z .* calls/s (' utc)"
echo >last
wait $recorder
wait $top
is "fxt top ends with the run" 0 $?
valid run/long.fxt

# -- Who cannot be watched ---------------------------------------------------------------------------

# refused STATUS WHY ARGUMENT...: fxt top ends with the status, and one line that says why.
refused()
{
	local status=$1 why=$2

	shift 2
	"$FXT" top "$@" >out 2>err
	is "fxt top $*" "$status 1 0" "$? $(grep -c "$why" err) $(wc -c <out)"
}

refused 1 'nobody records: .*XDG_RUNTIME_DIR.*fxt-parts'
refused 1 'no-such: No such file' no-such
refused 1 'no session that is going on writes this file' calls.fxt
refused 1 'no session can be watched here' .
refused 2 'too short' -d 10ms
refused 2 "'soon' is no time" -d soon
refused 2 'no number' -n 0
refused 2 'no number' -l many
refused 2 'more than one' one two
serve -o ring.fxt -m circular
refused 1 'not in streaming mode' socket
FXT_MANAGER=-$scratch/socket refused 1 'not in streaming mode'
stop_serving
