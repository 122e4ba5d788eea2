#!/bin/bash
# Each line that a program writes to standard error, and each message to syslog, is in its trace as a log
# record and as an instant, whatever calls it is made by. Standard error gets the same as without the agent.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

ulimit -c 0
export FXT_QUIET=1

# said NAME: writes the lines that the only trace in NAME has to NAME.said. Both kinds of records have them.
said()
{
	local file

	file=$(only "$1"/*.fxt) || return
	valid "$file"
	trace said "$file" >"$1.said"
}

# says NAME ARGUMENT...: runs the program bare and traced, with standard error appended to a file. Its traces
# are in NAME.
says()
{
	local name=$1 status
	shift

	rm -rf "$name" "$name".*
	mkdir "$name"
	# The shell says so when a program is killed.
	{
		(exec "$apps/says" "$@" 2>>"$name.bare" >"$name.out.bare")
		status=$?
		(LD_PRELOAD="$FXT_AGENT" FXT_OUTPUT="$scratch/$name/%e.%p.fxt" \
			exec "$apps/says" "$@" 2>>"$name.err" >"$name.out")
	} 2>/dev/null
	is "$name: exit status" $status $?
	same "$name: output" "$name.out.bare" "$name.out"
}

# lines FILE: prints its lines as they have to be in the trace.
lines()
{
	sed '/^$/d' "$1"
	# The last line may lack its end.
	test -z "$(tail -c 1 "$1")" || echo
}

# says_all ARGUMENT...: checks that the trace has each line of standard error.
says_all()
{
	says one "$@"
	same "$*: standard error" one.bare one.err
	said one
	lines one.err >one.lines
	test -s one.lines || fail "$*: nothing is said"
	same_some "$*" one.lines one.said
}

FXT_CATEGORIES=log says_all ways
says_all ways
# Positions in a format (%2$s) are not supported, so the trace has the format itself.
says one formats
same "formats: standard error" one.bare one.err
said one
sed 's/^two one$/[format] %2$s %1$s/' one.err >one.lines
same formats one.lines one.said
says_all wide
says_all duplicated
for how in err errx assert assert_perror error abort _exit; do
	says_all and $how
done
# A line without an end is lost with the process, and those before it are not.
says_all_but_last()
{
	says one "$@"
	said one
	sed '/^lost$/d' one.err | lines /dev/stdin >one.lines
	same_some "$*" one.lines one.said
}
says_all_but_last and kill

# -- Odd lines ---------------------------------------------------------------------------------------

says one odd
same "odd: standard error" one.bare one.err
said one
python3 - >one.lines <<'END'
word, cut = "0123456789abcdef", "\u2026"
print("not UTF-8: ? \u00e9 ?", "NUL ? and controls \x01\x1b[1m\t", "carriage return", "over\rwritten",
      word * 128, word * 128 + cut,
      "\u20ac" * (2048 // 3) + cut, cut + "progress: done", word * 128 + cut, " " * 2048 + cut, sep="\n")
END
same odd one.lines one.said

# -- Who says it ------------------------------------------------------------------------------------

says threads threads 4
said threads
sort threads.said >threads.found
for thread in 0 1 2 3; do
	seq -f "thread $thread line %g" 0 199
	echo "thread $thread ends"
done | sort >threads.lines
same "lines of threads that come in parts" threads.lines threads.found

# The number of times that the handler runs differs each time.
traced handler "$apps/says" handler 20000 2>handler.err >handler.out
said handler
is "lines beside a handler's" 20000 "$(grep -cx line handler.said)"
is "a handler's lines" "$(cat handler.out)" "$(grep -cx handler handler.said)"
is "lines in all" "$(wc -l <handler.err)" "$(wc -l <handler.said)"

says fork fork
same "fork: standard error" fork.bare fork.err
is "traces of a fork" 2 "$(ls fork/*.fxt | wc -l)"
for file in fork/*.fxt; do
	valid "$file"
	trace said "$file"
done | sort >fork.said
printf '%s\n' child "child's rest" "parent goes on" | sort >fork.lines
same "a line begun before a fork" fork.lines fork.said

# -- Where it goes -----------------------------------------------------------------------------------

says one closed
said one
echo open >one.lines
same "what could not be written" one.lines one.said

says one reopened file
mv file file.traced
said one
lines file.traced >one.lines
# A line that fails, or is written to the descriptor, goes where that leads.
cat one.err >>one.lines
sort -o one.lines one.lines
sort -o one.said one.said
same "another file" one.lines one.said

says one syslog
said one
printf '%s\n' '3 syslog 1 No such file or directory' '12 chk two' '5 list' 'of lines' >one.lines
same syslog one.lines one.said

says one registered
said one
printf '%s\n' 'before 1' '[format] after %W' >one.lines
same "conversions of the program's own" one.lines one.said

FXT_CATEGORIES='#default,-log' says one ways
said one
test ! -s one.said || fail "without the category: $(head -n 1 one.said)"

# -- In a ring, and by whom it is shown ----------------------------------------------------------------

FXT_BUFFERING_MODE=circular FXT_BUFFER_SIZE_MB=4 says one formats
file=$(only one/*.fxt) && valid --ring "$file"
trace said "$file" >one.said
is "the last line in a ring" "[format] %2\$s %1\$s" "$(tail -n 1 one.said)"

says one threads 2
file=$(only one/*.fxt)
fxt report -n 3 "$file" >report
grep -q '^SAID LAST (3 of 402 lines)' report || fail "fxt report: $(grep SAID report)"
is "lines in the report" 3 "$(sed -n '/^SAID LAST/,/^$/p' report | grep -c 'thread . ')"
fxt report --json --all "$file" >report.json
python3 - <<'END' || fail "fxt report --json --all"
import json
log = json.load(open("report.json"))["log"]
times = [line["time_ns"] for line in log["last"]]
assert log["lines"] == 402 and len(times) == 402 and times == sorted(times), log
assert not [c for c in json.load(open("report.json"))["calls"] if c["name"] == "stderr"]
assert sum(line["message"].endswith("ends") for line in log["last"]) == 2, log
END
