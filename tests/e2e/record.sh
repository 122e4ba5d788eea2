#!/bin/bash
# fxt record as a wrapper: what it hands on, what it leaves when it is killed, and what fxt merge makes of that.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"

# With job control: otherwise the shell has what it begins in the background ignore SIGINT and SIGQUIT.
set -m

# start NAME CMD...: in the background, as process $background, its output in NAME.out; returns when CMD has said its first line.
start()
{
	local name=$1

	shift
	rm -f said
	mkfifo said
	"$@" >said &
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

# Those that were ignored stay so, and what was blocked is the program's to be told of.
(trap '' TERM; exec "$FXT" record -q -o ignored.fxt -- sh -c 'kill -TERM $$; echo lives') >ignored.out
is "an ignored signal" lives "$(cat ignored.out)"
(trap '' CHLD; exec "$FXT" record -q -o chld.fxt -- sh -c 'exit 7')
is "status where children are ignored" 7 $?
"$FXT" record -q -o itself.fxt -- sh -c 'kill -TERM $$'
is "a program that kills itself" 143 $?
"$FXT" record -q -o parent.fxt -- sh -c 'kill -TERM $PPID; exit 3'
is "a program that kills its parent" 3 $?
(sleep 0.1; "$FXT" record -q -o pipe.fxt -- sh -c 'exit 4' ; echo $? >status) 2>&1 | :
is "nobody reads what it says" 4 "$(cat status)"
is "nobody reads what it says: folders" 0 "$(find . -name '.fxt-parts.*' | wc -l)"

# -- Killed --------------------------------------------------------------------------------------------
mkdir killed
start orphan "$FXT" record -q -o killed/x.fxt -- "$apps/signalled" wait
parts=$(echo killed/.fxt-parts.*)
"$FXT" merge "$parts" 2>merge.err
is "merge while fxt record runs" 1 $?
grep -q 'still runs' merge.err || fail "merge while fxt record runs: $(cat merge.err)"
program=$(ps -o pid= --ppid $background)
kill -9 $background
wait $background 2>/dev/null
kill -RTMAX $program
background=$program
wait $copier
background=
"$FXT" record -o killed/next.fxt -- true 2>next.err
grep -q "^fxt: 1 recording .*'fxt merge .*/$parts'" next.err || fail "the next fxt record says: $(cat next.err)"
is "lines of the next fxt record" 2 "$(wc -l <next.err)"
"$FXT" merge "$parts" 2>merge.err || fail "merge: $(cat merge.err)"
valid killed/signalled.*.fxt
test -e "$parts" && fail "merge left $parts"
"$FXT" record -o killed/next.fxt -- true 2>next.err
is "lines once it is merged" 1 "$(wc -l <next.err)"

# Traces that were made without fxt record: they stay.
traced alone sh -c '"$0"; "$0"; :' "$(type -P true)"
"$FXT" merge -q -o together.fxt alone/*.fxt || fail "merge of files"
valid together.fxt
is "processes of the files" 3 "$(ls alone/*.fxt | wc -l)"
is "processes of what is merged" 3 "$("$FXT" dump --json together.fxt | grep -c '"type":"process"')"
"$FXT" merge -q alone/*.fxt 2>/dev/null && fail "merge without -o"
exit 0
