#!/bin/bash
# A run that outgrows --max-size keeps its beginning and its newest, and counts what lay between. What is on
# disk stays within the size all the while, and is a trace however fxt record ends.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"

echo >gate
count=$((300000 + seed % 100000))

# numbers FILE: prints the number of each call of outlives that the trace has, in the order of the numbers.
numbers()
{
	fxt dump "$1" | sed -n 's|.*io:access .*"/nowhere/\([0-9]*\)".*|\1|p' | sort -n
}

# gap FILE COUNT...: checks that of so many calls of each process the first and the last are there, and that
# what the trace says was dropped is what it lacks.
gap()
{
	local file=$1 all=0 dropped written
	shift

	for one; do
		all=$((all + one))
	done
	valid "$file"
	numbers "$file" >numbers
	written=$(wc -l <numbers)
	dropped=$(fxt report --json "$file" | grep -o '"dropped": *[0-9]*' | head -n 1 | grep -o '[0-9]*')
	# Other calls of that time, and what tells where a thread was blocked, are among what was dropped.
	between "$file: what was made" $all $((all + 20)) $((written + dropped))
	is "$file: the first call" 0 "$(head -n 1 numbers)"
	is "$file: the last call" $(($1 - 1)) "$(tail -n 1 numbers)"
	test "$dropped" -gt 0 || fail "$file: nothing was dropped"
	is "$file: where it stopped" $# "$(fxt dump "$file" | grep -c 'agent:recording started')"
}

for option in --max-size=8 --rotate=1,2; do
	"$FXT" record --json $option -o long.fxt -- "$apps/outlives" 0 gate $count 0 2>said
	gap long.fxt $count
	is "$option: gaps" 1 \
		"$(awk 'NR > 1 && $1 != last + 1 { gaps++ } { last = $1 } END { print gaps + 0 }' numbers)"
	between "$option: size" 1000000 $((9 << 20)) "$(stat -c %s long.fxt)"
done

# Nothing is lost where all fits.
"$FXT" record --max-size=64 -o fits.fxt -- "$apps/outlives" 0 gate 10000 0 2>said
is "what fits: said" 1 "$(grep -c 'nothing lost' said)"
is "what fits: calls" 10000 "$(numbers fits.fxt | wc -l)"
valid fits.fxt

# Two programs, of which each has a gap of its own.
"$FXT" record -q --max-size=8 -o two.fxt -- \
	sh -c "'$apps/outlives' 0 gate $count 0 & '$apps/outlives' 0 gate $count 0; wait"
gap two.fxt $count $count

# What is on disk is a trace when fxt record is killed, and is bounded.
"$FXT" record -q --max-size=8 -o killed.fxt -- "$apps/outlives" 0 gate 1000000000 0 &
recorder=$!
background=$recorder
rotated()
{
	test -f .fxt-parts.*/manager.1.fxt
}
until_deadline rotated
between "while it runs: size" 1 9000 "$(du -sk .fxt-parts.* | cut -f1)"
# The program goes on in a file of its own, which is not what is looked at here.
program=$(pgrep -P $recorder -x outlives)
kill -9 "$program" $recorder
wait $recorder 2>/dev/null
background=
for part in .fxt-parts.*/manager*.fxt; do
	test "$(stat -c %s "$part")" -le 16 || valid "$part"
done
"$FXT" merge -o killed.fxt .fxt-parts.* 2>err
is "killed: merge" 0 $?
valid killed.fxt
numbers killed.fxt >numbers
is "killed: the first call" 0 "$(head -n 1 numbers)"
