#!/bin/bash
# fxt diff: two versions of a program differ in one known thing, of ten kinds, by an amount that is drawn.
# That thing has to be on top of what is said to have changed. Of pairs of runs of one version nothing is.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

mkdir data
for name in settings users rules extra; do
	head -c 100000 /dev/zero >data/$name
done

# record NAME AMOUNT...: leaves NAME.fxt.
record()
{
	"$FXT" record -q -o "$1.fxt" -- "$apps/amounts" "$PWD/data" "${@:2}" >/dev/null ||
		fail "$1: exit status $?"
	count trace
}

# changed TRACE...: prints what fxt diff says to have changed, the most costly first: kind, name and figure.
changed()
{
	fxt diff --json "$@" | python3 -c 'import json, sys
for thing in json.load(sys.stdin)["differences"]:
    if thing["verdict"] == "changed":
        print(thing["kind"], thing["name"], thing["most"], sep="\t")'
}

# on_top WHAT PATTERN FILE: the first line of the file fits.
on_top()
{
	count comparison
	head -n 1 "$3" | tr '\t' ' ' | grep -qE "^($2)" ||
		fail "$1: on top is $(head -n 3 "$3" | tr '\t\n' ' ;'), and not $2"
}

# Numbers and sizes are the same in each run, so that one run a side tells them.
more=$((3 + $(random_below 20)))
declare -A argument=(
	[leak]=leaks=$((more * 30)) [reads]=reads=$((40 + more)) [blocks]=blocks=$((200 + 100 * more))
	[fails]=fails=$more [helpers]=helpers=$((1 + more % 5)) [files]=files=2)
declare -A top=(
	[leak]='(heap remember|program amounts) left' [reads]='(call read|file .*/data/settings) '
	[blocks]='(call (malloc|free)|program amounts|heap parse) ' [fails]='failure open: ENOENT count'
	[helpers]='(made thread by start_helpers|run threads|call pthread_(create|join)) count'
	[files]='file .*/data/users ')
base=8
for ((i = 1; i <= base; i++)); do
	record "base$i"
done
for kind in "${!argument[@]}"; do
	record "$kind" "${argument[$kind]}"
	valid "$kind.fxt"
	one=$((1 + $(random_below base)))
	changed "base$one.fxt" "$kind.fxt" >found
	on_top "$kind" "${top[$kind]}" found
	# Seen from the other side the same has changed.
	changed "$kind.fxt" "base$one.fxt" >back
	same "$kind, the other way" found back
done

# Ten pairs of one version.
for ((i = 0; i < 10; i++)); do
	one=$((1 + $(random_below base))) other=$((1 + $(random_below base)))
	while test $one = $other; do
		other=$((1 + $(random_below base)))
	done
	changed "base$one.fxt" "base$other.fxt" >found
	is "base$one and base$other" "" "$(cat found)"
done
fxt diff base1.fxt base2.fxt >found
grep -q '^Nothing is known to have changed\.$' found || fail "two runs of one version: $(head -n 5 found)"
grep -q 'with so few runs nothing says' found || fail "one run a side has no p: $(head -n 5 found)"

# A directory of parts is a run as well. It has no samples of the kernel.
mkdir parts
traced parts "$apps/amounts" "$PWD/data" >/dev/null
changed base1.fxt parts >found
is "the same, in parts" "" "$(cat found)"
grep -q '^B has no samples of processor time' <<<"$(fxt diff base1.fxt parts)" || fail "parts have samples"

# Where one side has not recorded a category, that is one line, and its calls are none.
"$FXT" record -q -c malloc -o few.fxt -- "$apps/amounts" "$PWD/data" >/dev/null
changed base1.fxt few.fxt | sort >found
printf 'category\t%s\tcount\n' io net pthread time | sort >expected
same "categories of one side" expected found

# A run that does twice as much is the same for each piece of it.
record twice rounds=20
changed base1.fxt twice.fxt >found
is "twice as many rounds" 1 "$(grep -c 'call.pthread_barrier_wait' found)"
changed --per=pthread_barrier_wait base1.fxt twice.fxt >found
is "the calls that others are divided by" 0 "$(grep -c 'call.pthread_barrier_wait' found)"

# Times take several runs. Those of all versions take turns, so that what else the machine does is in all.
slow=$((40 + $(random_below 40)))
declare -A slower=(
	[lock]=hold_ms=$slow [sleep]=sleep_ms=$((5 * slow)) [hot]=work_ms=$((5 * slow)) [peer]=peer_ms=$slow)
declare -A longest=(
	[lock]='(wait (mutex table|barrier both)|call pthread_(mutex_lock|barrier_wait)|.* rebuild) '
	[sleep]='(call nanosleep|category time) time' [hot]="function compute cpu"
	[peer]='(call (recv|nanosleep)|file socketpair|finding .*ask_peer) time')
runs=7
for ((i = 1; i <= runs; i++)); do
	record "usual$i" rounds=5
	for kind in "${!slower[@]}"; do
		record "$kind$i" rounds=5 "${slower[$kind]}"
	done
done
for kind in "${!slower[@]}"; do
	changed usual?.fxt vs "$kind"?.fxt >found
	on_top "$kind" "${longest[$kind]}" found
	fxt diff usual?.fxt vs "$kind"?.fxt >text
	grep -qE '^B took .*: more than the runs. own noise \(p 0\.0' text || fail "$kind: $(sed -n 3p text)"
done

# Stacks of both sides: the means of what fxt report says of each run.
fxt diff --folded=folded usual1.fxt usual2.fxt vs hot1.fxt >out
for side in 'usual1 usual2' hot1; do
	for run in $side; do
		fxt report --folded=- $run.fxt
	done | tee "stacks.${side%% *}" | awk -v runs="$(wc -w <<<"$side")" '{ sum += $NF / runs }
		END { printf "%.0f\n", sum }'
done >expected
awk '{ a += $(NF - 1); b += $NF } END { print a; print b }' folded >found
# What has less than half a sample is rounded away.
lines=$(wc -l <stacks.usual1)
between "samples of A" $(($(head -n 1 expected) - lines)) $(($(head -n 1 expected) + lines)) \
	"$(head -n 1 found)"
is "samples of B" "$(tail -n 1 expected)" "$(tail -n 1 found)"
is "compute in B" "$(sed -n 's/.*main;compute \([0-9]*\)$/\1/p' stacks.hot1)" \
	"$(sed -n 's/.*main;compute [0-9]* \([0-9]*\)$/\1/p' folded)"

# What it is not asked.
for arguments in base1.fxt 'base1.fxt base2.fxt base3.fxt' 'vs base1.fxt' 'base1.fxt vs' \
	'base1.fxt vs base2.fxt vs base3.fxt'; do
	# shellcheck disable=SC2086
	"$FXT" diff $arguments >out 2>err
	is "$arguments" 2 $?
done
"$FXT" diff base1.fxt nowhere.fxt >out 2>err
is "a trace that is not there" 1 $?
