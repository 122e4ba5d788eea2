#!/bin/bash
# The trace counts what it lacks, in each buffering mode, with a threshold, and with a choice of categories.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

# accounts NAME CMD...: checks that the calls that CMD says it made are those written, dropped and filtered.
accounts()
{
	local name=$1 file made written dropped filtered
	shift

	traced "$name" "$@" >made 2>err || fail "$name: $* failed"
	file=$(only "$name"/*.fxt) || return
	valid "$file"
	made=$(awk '{ sum += $2 } END { print sum }' made)
	written=$(trace counts "$file" | awk '{ sum += $2 } END { print sum + 0 }')
	trace lost "$file" >lost
	dropped=$(sed -n 's/^dropped //p' lost)
	filtered=$(sed -n 's/^filtered //p' lost)
	is "$name: written $written + dropped $dropped + filtered $filtered" \
		"$made" $((written + dropped + filtered))
	counts="$made $written $dropped $filtered"
}

# some NAME WHICH: fails if there were none of this kind, as the test would then prove nothing.
some()
{
	local made written dropped filtered

	read -r made written dropped filtered <<<"$counts"
	test "${!2}" -gt 0 || fail "$1: nothing was $2 of $made"
}

export FXT_CATEGORIES=pthread

FXT_BUFFERING_MODE=oneshot FXT_BUFFER_SIZE_MB=1 accounts oneshot "$apps/count_calls" locks 4 50000
some oneshot dropped
some oneshot written
is "oneshot: lines on stderr" 1 "$(grep -c '^fxtagent.*full.*FXT_BUFFER_SIZE_MB' err)"

FXT_MAX_SIZE_MB=1 accounts bounded "$apps/count_calls" locks 4 50000
some bounded dropped
is "bounded: lines on stderr" 1 "$(grep -c '^fxtagent.*full.*FXT_MAX_SIZE_MB' err)"

FXT_THRESHOLD_NS=1000 accounts threshold "$apps/count_calls" locks 4 50000
some threshold filtered
FXT_THRESHOLD_NS=3600000000000 accounts hour "$apps/count_calls" locks 4 50000
some hour filtered
is "an hour's threshold: written" 0 "$(trace counts hour/*.fxt | awk '{ sum += $2 } END { print sum + 0 }')"
FXT_THRESHOLD_NS=1000 FXT_MAX_SIZE_MB=1 accounts both "$apps/count_calls" locks 4 100000

# The counts of threads that are gone are not lost.
FXT_CATEGORIES=pthread,time FXT_THRESHOLD_NS=3600000000000 accounts gone "$apps/count_calls" locks 50 100

# -- Short processes leave small files ------------------------------------------------------------------

# largest FILE...: prints the kilobytes of the largest file, by its size or by its blocks.
largest()
{
	stat -c '%s %b %B' "$@" | awk '
		{ n = $1 / 1024; b = $2 * $3 / 1024; if (n > most) most = n; if (b > most) most = b }
		END { print int(most) }'
}

# The durable area is 512 KiB, and each thread of a child that executes another program has two chunks.
for mode in circular oneshot streaming; do
	FXT_CATEGORIES='#default' FXT_BUFFERING_MODE=$mode \
		traced "small.$mode" \
		bash -c 'for i in 1 2 3 4 5; do /bin/true; done; (kill -9 $BASHPID)' 2>err
	test "$(ls "small.$mode" | wc -l)" -ge 11 || fail "small, $mode: files: $(ls "small.$mode")"
	flag=
	test $mode != circular || flag=--ring
	valid $flag "small.$mode"/*.fxt
	kilobytes=$(largest "small.$mode"/*.fxt)
	test "$kilobytes" -le 700 || fail "small, $mode: a file of $kilobytes KiB"
	kilobytes=$(largest "small.$mode"/true.*.fxt)
	test "$kilobytes" -le 8 || fail "small, $mode: a file of $kilobytes KiB of true"
done

# -- Circular: the newest is kept --------------------------------------------------------------------

export FXT_CATEGORIES=malloc FXT_BUFFERING_MODE=circular FXT_BUFFER_SIZE_MB=1
for ending in "" kill; do
	traced "circular$ending" "$apps/sequence" 100000 $ending 2>/dev/null
	file=$(only "circular$ending"/*.fxt) || continue
	valid --ring "$file"
	read -r first last count <<<"$(trace sequence "$file")"
	written=$(trace counts "$file" | awk '{ sum += $2 } END { print sum + 0 }')
	trace lost "$file" >lost
	is "circular $ending: written, dropped and overwritten" 200000 \
		$((written + $(awk '{ sum += $2 } END { print sum + 0 }' lost)))
	is "circular $ending: the last call" 100000 "$last"
	is "circular $ending: calls from $first on" $((last - first + 1)) "$count"
	test "$count" -gt 5000 || fail "circular $ending: only $count calls are left in 1 MiB"
done
is "circular: size of the file" 1048576 "$(stat -c %s "$file")"
unset FXT_BUFFERING_MODE FXT_BUFFER_SIZE_MB

# -- Categories --------------------------------------------------------------------------------------

# Calls of library functions are recorded on x86_64 only.
plt=
test "$(uname -m)" != x86_64 || plt=' plt'
while read -r choice expected; do
	FXT_CATEGORIES=$choice traced "categories" "$apps/count_calls" all 1 1 >/dev/null 2>err
	is "FXT_CATEGORIES=$choice: stderr" "" "$(cat err)"
	is "FXT_CATEGORIES=$choice" "$expected" "$(trace categories categories/*.fxt)"
	rm -rf categories
done <<-EOT
	malloc malloc
	pthread,function function pthread
	-malloc function pthread
	#default function malloc pthread
	#default,-pthread function malloc
	m*,f* function malloc
	#default,-m*,-function pthread
	agent
	* function malloc$plt pthread
EOT
