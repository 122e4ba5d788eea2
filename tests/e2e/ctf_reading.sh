#!/bin/bash
# fxt reads traces in the Common Trace Format as LTTng-UST writes them: calls, times, the heap, locks,
# functions, losses and fields are those of a model. A damaged trace gives one line, and nothing worse. The
# traces are written by hand (ctf_maker.py), so that nothing of LTTng is needed here.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3 nm

make="python3 $abs_top_srcdir/tests/e2e/ctf_maker.py"
compare="python3 $abs_top_srcdir/tests/e2e/ctf_compare.py"
echo "$FXT" >symbols
# Without libdw fxt knows no names of functions.
if grep -q 'define HAVE_LIBDW' "$abs_top_builddir/config.h"; then
	nm --defined-only "$FXT" >>symbols
fi

$make trace "$seed" symbols >model || fail "no trace could be made"
"$FXT" report trace >/dev/null 2>error
if grep -q 'built without libbabeltrace2' error; then
	is "without libbabeltrace2: lines on stderr" 1 "$(wc -l <error)"
	skip "fxt was built without libbabeltrace2, and says so"
fi

rounds=8
test -z "${FXT_FULL-}" || rounds=200
for round in $(seq $rounds); do
	rm -rf trace
	# The first is one of a rotated session, the others are of any kind.
	how="3000 rotated"
	test "$round" = 1 || how=
	# shellcheck disable=SC2086	# these are two words or none
	$make trace "$seed.$round" symbols $how >model || fail "round $round: no trace could be made"
	fxt report --json --all trace >report 2>error
	fxt dump --json --ns trace >dump 2>>error
	is "round $round: stderr" "" "$(cat error)"
	fxt check trace >checked
	count trace
	count comparison
	$compare model report dump >compared || fail "round $round: $(cat compared)"
	# The library's own program counts the same, where it is here.
	if command -v babeltrace2 >/dev/null 2>&1; then
		is "round $round: events" "$(babeltrace2 trace 2>/dev/null | wc -l)" \
			"$(python3 -c 'import json, sys; print(json.load(sys.stdin)["events"])' <model)"
	fi
	give_up_if_hopeless
done

# What is damaged is read as far as that makes sense, or refused in one line; nothing is printed then.
damaged=30 refused=0
test -z "${FXT_FULL-}" || damaged=1000
for round in $(seq $damaged); do
	rm -rf trace
	$make trace "$seed.small.$((round % 5))" symbols 200 >model
	$make damage trace "$seed.$round"
	timeout 30 "$FXT" report trace >report 2>error
	status=$?
	if test $status -gt 1; then
		fail "damage $seed.$round: status $status: $(head -n 2 error)"
	elif test $status = 1; then
		refused=$((refused + 1))
		is "damage $seed.$round: lines on stderr" 1 "$(wc -l <error)"
		is "damage $seed.$round: lines of output" 0 "$(wc -l <report)"
		grep -q '^fxt: trace: not readable as CTF: ' error || fail "damage $seed.$round: $(cat error)"
	fi
	give_up_if_hopeless
done
test $refused -gt 0 || fail "none of $damaged damaged traces was refused"

# What is no trace at all.
mkdir -p none/ust empty plain
echo 'This is no metadata.' >plain/metadata
: >empty/metadata
for directory in none empty plain; do
	for command in report dump check; do
		"$FXT" $command $directory >out 2>error
		is "$command $directory: status" 1 $?
		is "$command $directory: lines on stderr" 1 "$(wc -l <error)"
		is "$command $directory: output" "" "$(cat out)"
	done
done

# A full disk is one line too.
$make full "$seed.full" symbols 3000 >model
(ulimit -f 8; trap '' XFSZ; "$FXT" report full) >out 2>error
is "no room: status" 1 $?
is "no room: stderr" \
	"fxt: full: not readable as CTF: no room for its records in TMPDIR: File too large" "$(cat error)"

# What fxt convert writes says the same as the trace it was made of: of many threads, of processes that
# execute other programs, and of what the kernel has seen.
read_back()
{
	local name=$1

	valid "$name.fxt"
	rm -rf "$name.ctf"
	"$FXT" convert --to=ctf -o "$name.ctf" "$name.fxt" >/dev/null 2>error || fail "$name: $(cat error)"
	fxt check "$name.ctf" >checked
	count trace
	fxt report --json --all "$name.fxt" >before
	fxt report --json --all "$name.ctf" >after
	count comparison
	$compare same before after >compared || fail "$name: $(cat compared)"
}

record()
{
	local name=$1

	shift
	timeout 60 "$FXT" record -q -o "$name.fxt" "$@" >/dev/null 2>error || fail "$name: $(cat error)"
}

record threads -- "$apps/count_threads"
record causes -- "$apps/causes"
record functions -- "$apps/call_trees"
# shellcheck disable=SC2016	# the shell that is traced expands it
record shell -- sh -c 'for i in 1 2 3; do echo $i | tr 1 2; done; exec ls /usr/bin'
for name in threads causes functions shell; do
	read_back $name
done

# A merge takes none, and says what it takes, also where files come first.
for from in "threads.ctf" "threads.fxt threads.ctf"; do
	# shellcheck disable=SC2086
	! "$FXT" merge -o merged.fxt $from >/dev/null 2>error || fail "fxt merge $from: exit status 0"
	is "fxt merge $from: lines" 1 "$(wc -l <error)"
	grep -q 'threads.ctf: is a .*FXT files\|threads.ctf: is a directory' error ||
		fail "merge: $(cat error)"
	test ! -e merged.fxt || fail "fxt merge $from: there is a trace"
done

# A directory of parts stays one, though a part was converted beside.
mkdir parts
cp threads.fxt shell.fxt parts
fxt report --json --all parts >before
"$FXT" convert --to=ctf parts/threads.fxt 2>error || fail "a part: $(cat error)"
fxt report --json --all parts >after
same_some "parts, and one of them converted: the report" before after
