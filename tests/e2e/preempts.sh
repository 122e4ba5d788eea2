#!/bin/bash
# Coroutines that a timer's handler interrupts at any instruction, in the middle of what the agent writes too,
# to go on with others. The program lives as it does bare, the trace keeps all rules, and each call is in it
# once or counted as lost. A coroutine that is never gone on with may leave one call that is neither.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

# check NAME SEED WAY STACKS: runs the coroutines, and compares the trace with what they say.
check()
{
	local name=$1 file made=0 left=0 there=0 lost call calls

	timeout 60 "$apps/preempts" "$2" "$3" "$4" >/dev/null || skip "$*: bare exit status $?"
	traced "$name" timeout 60 "$apps/preempts" "$2" "$3" "$4" >"$name.said" ||
		fail "preempts $2 $3 $4: exit status $?"
	file=$(only "$name"/preempts.*.fxt) && valid "$file" || return
	trace counts "$file" >"$name.counts"
	while read -r call calls; do
		if test "$call" = left; then
			left=$calls
			continue
		fi
		made=$((made + calls))
		there=$((there + $(awk -v call="$call" '$1 ~ ":" call "$" { n += $2 } END { print n + 0 }' \
			"$name.counts")))
	done <"$name.said"
	# Coroutines that are given up may keep all lanes, so that the two calls behind them are lost as well.
	lost=$(trace lost "$file" | awk '$1 == "dropped" { print $2 }')
	between "preempts $2 $3 $4: $made calls, of which $there are there, and counted as lost" \
		$((made - there - left)) $((made - there + 2)) "$lost"
}

runs=$((${FXT_FULL:+10}+1))
for run in $(seq $runs); do
	for way in context jump; do
		for stacks in pages block static; do
			check "$way.$stacks.$run" "$(random_below 1000000)" $way $stacks
			give_up_if_hopeless
		done
	done
done
