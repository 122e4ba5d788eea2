#!/bin/bash
# Processes and threads begin and end in many ways. The trace stays valid, is small where it should be, and
# says what happened.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

# sized SIZE FILE: prints how many blocks of this size the program has allocated.
sized()
{
	trace calls "$2" | grep -c "^malloc:malloc .* size=$1 "
}

# -- Ends ----------------------------------------------------------------------------------------------

ended 0 true true
bytes=$(cat true/*.fxt | wc -c)
test "$bytes" -lt 16384 || fail "the trace of true has $bytes bytes"

for ending in _exit:6 quick_exit:6 abort:134; do
	ended ${ending#*:} ${ending%:*} "$apps/process" ${ending%:*}
	file=$(only ${ending%:*}/process.*.fxt) && is "$ending: blocks" 10 "$(sized 20000 "$file")"
done

# exec leaves two files under the same process id: one of the program before, and one of the program after.
ended 4 exec "$apps/process" exec
is "exec: blocks before" 10 \
	"$(for f in exec/*.fxt; do sized 20000 "$f"; done | awk '{ n += $1 } END { print n }')"
is "exec: blocks after" 10 \
	"$(for f in exec/*.fxt; do sized 20001 "$f"; done | awk '{ n += $1 } END { print n }')"
is "exec: files" 2 "$(ls exec | wc -l)"

ended 9 running "$apps/threads" running
file=$(only running/*.fxt) && is "exit with threads running: the last block" 1 "$(sized 20006 "$file")"

# -- Forks ---------------------------------------------------------------------------------------------

ended 0 fork "$apps/process" fork
is "fork: files" 5 "$(ls fork | wc -l)"
for n in 0 1 2 3 4; do
	found=0
	for file in fork/*.fxt; do
		count=$(sized 2000$n "$file")
		test "$count" = 0 && continue
		found=$((found + 1))
		is "fork: blocks of process $n" $((n ? 100 : 60)) "$count"
		is "fork: processes in the file of process $n" 1 \
			"$(trace calls "$file" | awk '{ print $2 }' | sort -u | wc -l)"
	done
	is "fork: files with blocks of process $n" 1 $found
done

ended 0 forks "$apps/process" fork-threaded
is "fork of a threaded program: files" 21 "$(ls forks | wc -l)"
is "fork of a threaded program: children with a block" 20 \
	"$(for f in forks/*.fxt; do test "$(stat -c %s "$f")" -gt 65536 || sized 20200 "$f"; done |
		grep -c '^1$')"
rm -rf forks

# -- Jumps ---------------------------------------------------------------------------------------------

# Calls that were left are closed when the agent notices it, and what comes after stands where it belongs. So
# nothing is open at the end.
for kind in read functions; do
	ended 0 jumps.$kind "$apps/jumps" $kind
	file=$(only jumps.$kind/*.fxt) || continue
	is "longjmp out of $kind: open in the end" "" "$(trace open "$file")"
	is "longjmp out of $kind: blocks" 5 "$(sized 20001 "$file")"
	is "longjmp out of $kind: calls of work_between" 5 \
		"$(trace calls "$file" | grep -c '^function:work_between ')"
	is "longjmp out of $kind: activations of main" 1 "$(trace calls "$file" | grep -c '^function:main ')"
done
file=$(only jumps.functions/*.fxt) && is "longjmp out of functions: calls of dig" 20 \
	"$(trace calls "$file" | grep -c '^function:dig ')"
file=$(only jumps.read/*.fxt) && is "longjmp out of read: reads that returned" 5 \
	"$(trace calls "$file" | grep -c '^io:read .*ret=1$')"

# Viewers nest 512 slices at most. Deeper calls are counted. Those above them end when they did: each
# allocates a block at its end, which lies within it.
ended 0 deep "$apps/jumps" deep 700
file=$(only deep/*.fxt) && {
	trace calls "$file" >calls
	shown=$(grep -c '^function:recurse ' calls)
	is "deep: calls of recurse, shown and dropped" 700 \
		$((shown + $(trace lost "$file" | sed -n 's/^dropped //p')))
	test "$shown" -ge 400 || fail "deep: only $shown are shown"
	# In the order of their starts the n-th call has level 700 - n. It allocates its block at its end, so
	# the block is within it.
	awk '$1 == "function:recurse" { end[n++] = $4 }
		$1 == "malloc:malloc" && / size=20[0-9][0-9][0-9] / {
			match($0, / size=20[0-9]+/)
			ends[699 - (substr($0, RSTART + 6, RLENGTH - 6) - 20000)] = $4
		}
		END {
			for (i = 0; i < n; i++)
				if (ends[i] > end[i] || (i && ends[i - 1] < end[i]))
					wrong++
			if (wrong)
				print "deep: " wrong " of " n " calls did not end when they did"
		}' calls >wrong
	is "deep" "" "$(cat wrong)"
}

# -- Threads -------------------------------------------------------------------------------------------

ended 0 cancel "$apps/threads" cancel
file=$(only cancel/*.fxt) && {
	is "cancel: open in the end" "" "$(trace open "$file")"
	is "cancel: reads" 1 "$(trace calls "$file" | grep -c '^io:read ')"
	is "cancel: blocks of the cleanup handler" 1 "$(sized 20003 "$file")"
	is "cancel: blocks after it" 1 "$(sized 20004 "$file")"
}

ended 0 names "$apps/threads" names 2000
file=$(only names/*.fxt) && {
	trace threads "$file" | grep ' ' | sort >found
	sort names.out >told
	same_some "names: given" told found
}

# There are more threads than the format has indices for.
ended 0 alive "$apps/threads" alive 300
file=$(only alive/*.fxt) && {
	trace calls "$file" >calls
	is "300 threads: blocks before the barrier" 300 "$(grep -c '^malloc:malloc .* size=20001 ' calls)"
	is "300 threads: blocks after it" 300 "$(grep -c '^malloc:malloc .* size=20002 ' calls)"
	is "300 threads: threads" 300 \
		"$(grep '^malloc:malloc .* size=20002 ' calls | awk '{ print $2 }' | sort -u | wc -l)"
}

# A thread takes over the chunks of one that is gone, so 2000 of them take less than 3 KiB each, and not 32.
traced turn "$apps/threads" turn 2000 2>/dev/null
is "2000 threads in turn: exit status" 137 $?
valid turn/*.fxt
file=$(only turn/*.fxt) && {
	is "2000 threads in turn: blocks" 2000 "$(sized 20001 "$file")"
	bytes=$(stat -c %s "$file")
	test "$bytes" -lt $((6 << 20)) || fail "2000 threads in turn: the file has $bytes bytes"
}
