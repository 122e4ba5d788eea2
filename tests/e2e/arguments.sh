#!/bin/bash
# Every call that the agent stands in for is made with bad arguments (tests/apps/bad_arguments.c): traced it
# ends as it does bare, whether it fails, succeeds, crashes or ends the process, and the trace is valid.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3 awk

ulimit -c 0
rounds=3
test -z "${FXT_FULL-}" || rounds=20

# differences NAME: compares the traced run NAME with two bare ones, and prints what differs. What the bare
# runs do not agree on is not compared: numbers of processes, times, chance. Which of SIGBUS and SIGSEGV a
# wild pointer raises depends on the register that it is in. Functions that are absent bare end with 98.
differences()
{
	awk -F '|' '
	FNR == 1 { file++ }
	{ sub(/signal 7$/, "signal 11", $2) }
	file == 1 { name[FNR] = $1; ended[FNR] = $2; value[FNR] = $3; error[FNR] = $4; next }
	file == 2 {
		agree[FNR] = ended[FNR] == $2
		same_value[FNR] = value[FNR] == $3
		same_error[FNR] = error[FNR] == $4
		next
	}
	$1 != name[FNR] { print "another call: " $1; exit }
	!agree[FNR] || ended[FNR] == "waits" || ended[FNR] == "exit 98" { next }
	{ compared++ }
	ended[FNR] != $2 { print $1 ": bare " ended[FNR] ", traced " $2; next }
	same_value[FNR] && value[FNR] != $3 { print $1 ": bare " value[FNR] ", traced " $3; next }
	same_error[FNR] && error[FNR] != $4 { print $1 ": errno bare " error[FNR] ", traced " $4 }
	END { print compared + 0 >"compared" }' first second "$1"
}

bare "$apps/bad_arguments" $rounds >first 2>first.err
is "first bare run: exit status" 0 $?
bare "$apps/bad_arguments" $rounds first >second 2>second.err
is "second bare run: exit status" 0 $?
calls=$(wc -l <first)
test "$calls" -gt $((rounds * 900)) || fail "only $calls calls were made"

# compare NAME STATUS: what the run has left is as bare, and most of its calls were compared.
compare()
{
	is "$1: exit status" 0 "$2"
	is "$1: calls" "$calls" "$(wc -l <"$1")"
	differences "$1" >"$1.differences"
	same "$1: calls that do not end as they do bare" /dev/null "$1.differences"
	between "$1: calls that were compared" $((calls * 8 / 10)) "$calls" "$(cat compared)"
}

"$FXT" record -q -o recorded.fxt -- "$apps/bad_arguments" $rounds first >recorded 2>recorded.err
compare recorded $?
valid recorded.fxt

# Calls of categories that are off take another way.
"$FXT" record -q -o off.fxt -c agent -- "$apps/bad_arguments" $rounds first >off 2>off.err
compare off $?
