#!/bin/bash
# Coroutines that are switched away in the middle of calls, by a timer's handler or by what the calls have
# called, and go on in other threads. The program lives as it does bare, the trace keeps all rules, and each
# call is in it once, or counted as lost.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

# check NAME SEED HOW: runs the coroutines, and compares the trace with what they say.
check()
{
	local name=$1 file made=0 there=0 found lost call calls unknown=8

	# The threads' ends free two blocks each, which the program does not know of: four threads at most.
	# What walks allocate it does not know either.
	if test "$3" = walk; then
		local -x FXT_CATEGORIES=io,pthread,time,function
		unknown=0
	fi

	timeout 60 "$apps/migrates" "$2" "$3" >/dev/null || skip "$*: bare exit status $?"
	traced "$name" "$apps/migrates" "$2" "$3" >"$name.said" || fail "migrates $2 $3: exit status $?"
	file=$(only "$name"/*.fxt) && valid "$file" || return
	trace counts "$file" >"$name.counts"
	while read -r call calls; do
		test "$3" = walk && case $call in realloc | free) continue ;; esac
		found=$(awk -v call="$call" '$1 ~ ":" call "$" { n += $2 } END { print n + 0 }' \
			"$name.counts")
		test "$call" = free || between "migrates $2 $3: $call" 0 "$calls" "$found"
		made=$((made + calls))
		there=$((there + found))
	done <"$name.said"
	lost=$(trace lost "$file" | awk '$1 == "dropped" { print $2 }')
	between "migrates $2 $3: $made calls, of which $there are there, and counted as lost" \
		$((made - there)) $((made - there + unknown)) "$lost"
}

runs=$((${FXT_FULL:+6}+1))
for run in $(seq $runs); do
	for how in callback handler walk; do
		check "$how.$run" "$(random_below 1000000)" $how
		give_up_if_hopeless
	done
done
