#!/bin/bash
# Programs know which descriptors and connections they opened, closed and left. They find exactly these
# lifetimes in their traces.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

mkdir work

# lives WHAT: runs the program. The lifetimes that it says it made are then in the file `told`, and those of
# its traces in `found`.
lives()
{
	rm -rf trace work/*
	(cd work && traced trace "$apps/lifetimes" "$@") >said 2>err || fail "$*: exit status $?: $(cat err)"
	sort said >told
	for file in trace/lifetimes.*.fxt; do
		valid $ring "$file"
		trace lifetimes "$file"
	done | sort >found
}

ring=
for what in main fork vfork exec; do
	lives $what
	test -s told || fail "$what says nothing"
	same_some "$what" told found
done

# -- What the report says is left ----------------------------------------------------------------------------

# What the same functions have opened is told once, whatever it is: there may be any number of files. Where
# fxt was built without libdw, functions have no names and calls are told apart by their address.
#
# left FILE: prints "count call what" for each descriptor that the report says is open, with PORT for a port
# that the program has chosen.
left()
{
	fxt report --json --all "$1" | python3 -c 'import json, re, sys
for d in json.load(sys.stdin)["descriptors_open"]:
    print(d["count"], d["call"], re.sub(":[0-9]+$", ":PORT", d["of"]))' | sort
}

lives main
file=$(only trace/lifetimes.*.fxt) && left "$file" >found
cat >expected <<END
1 accept 127.0.0.1
1 connect 127.0.0.1:PORT
1 dup left
1 fopen left
1 opendir .
1 socket (socket)
END
if grep -q 'define HAVE_LIBDW 1' "$abs_top_builddir/config.h"; then
	echo "4 open left" >>expected
	line='D.{4} left and others +4 .* open'
else
	printf '%s\n' "1 open left" "3 open left often" >>expected
	line='D.{4} left often +3 .* open'
fi
sort -o expected expected
same "left" expected found
fxt report "$file" >report
grep -qE "^$line\$" report || fail "left: not in the report"

# A descriptor that syscall() closes is closed, whoever opened it.
FXT_FOLLOW=none traced numbers "$apps/count_numbers" 2 >/dev/null 2>err ||
	fail "count_numbers: exit status $?: $(cat err)"
file=$(only numbers/*.fxt) && valid "$file" && left "$file" >found
: >expected
same "left by syscall()" expected found

# The report of several processes leaves out the descriptors of a program that executed another, and those
# that a child inherited.
for what in exec:'1 open three' fork:'1 open four,1 open two,2 pipe (pipe)'; do
	rm -f ./*.fxt
	"$FXT" record -o merged.fxt -- "$apps/lifetimes" "${what%%:*}" >/dev/null 2>err ||
		fail "record ${what%%:*}: $(cat err)"
	left merged.fxt >found
	echo "${what#*:}" | tr , '\n' >expected
	same "left, $what" expected found
done

# -- No lifetime is left out in any mode, or because a call was short ----------------------------------------

for mode in oneshot circular streaming; do
	ring=
	test $mode = circular && ring=--ring
	FXT_BUFFERING_MODE=$mode FXT_BUFFER_SIZE_MB=4 lives main
	same_some "$mode" told found
done
ring=
FXT_THRESHOLD_NS=1000000000 lives main
same_some "above a threshold" told found

# A lifetime that begins in a category that is recorded has its end, also if the call that closes it is in one
# that is not.
FXT_CATEGORIES=net lives main
# In that case not all bytes are seen that went through the connections.
grep ' net:' told | sed 's,[0-9]*/[0-9]*$,-,' >net
same_some "net alone" net found
FXT_CATEGORIES=io lives main
grep ' io:' told >io
same_some "io alone" io found

# One thread closes a number and another gets it at once. Each lifetime has its end, and nothing is left.
lives threads 500
is "threads" "$((4 * 500 * 5))" "$(wc -l <found)"
is "threads: left" 0 "$(grep -c left found)"
is "threads: file open" "$((4 * 500))" "$(grep -c ' io:file open one 0/0$' found)"

# A ring that is turned over many times has the begin of a lifetime beside its end, and keeps a begin alone
# only for what is open.
ring=--ring
FXT_BUFFERING_MODE=circular FXT_BUFFER_SIZE_MB=1 lives threads 1500
fxt dump "$(only trace/*.fxt)" >dump
ends=$(grep -c 'async-end .* io:' dump)
test "$ends" -gt 100 || fail "ring: hardly anything in it"
is "ring: begins" "$ends" "$(grep -c 'async-begin .* io:' dump)"
is "ring: left" 0 "$(grep -c left found)"

# In a ring, processes inherit, duplicate and execute as well.
for what in fork vfork exec; do
	FXT_BUFFERING_MODE=circular FXT_BUFFER_SIZE_MB=1 lives $what
	same_some "ring, $what" told found
done
ring=

# A lifetime whose begin cannot be written has no end either.
FXT_MAX_SIZE_MB=1 lives threads 1500
test "$(trace lost "$(only trace/*.fxt)" | sed -n 's/dropped //p')" -gt 1000 ||
	fail "full: nothing was dropped"

# -- Killed in the middle of it ------------------------------------------------------------------------------

for ((i = 0; i < ${FXT_KILLS:-10}; i++)); do
	rm -rf trace
	export FXT_BUFFERING_MODE=streaming FXT_BUFFER_SIZE_MB=1
	ring=
	test $((i % 2)) = 0 || FXT_BUFFERING_MODE=circular ring=--ring
	start_traced trace "$apps/lifetimes" loop
	sleep "0.0$(printf %02d "$(random_below 20)")"
	kill_background
	file=$(only trace/*.fxt) || continue
	valid $ring "$file"
	# Each of four threads has at most four descriptors, and a fifth between a call and its record.
	left=$(trace lifetimes "$file" | grep -c left)
	test "$left" -le 20 || fail "killed: $left descriptors are left"
	give_up_if_hopeless
done
