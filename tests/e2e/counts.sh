#!/bin/bash
# Programs that count their own calls (tests/apps/counts.h) find exactly their counts in the trace. Together
# they make every call that the tables have.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

# counted KIND NAME PROGRAM ARGUMENT...: compares the list that the program prints with the calls of its
# trace, and its standard error with that of a bare run. $others is a pattern of the calls that other
# libraries make, which its list does not have. If $only_made is set, only calls that its list has are
# compared.
others=
only_made=
counted()
{
	local kind=$1 name=$2 file
	shift 2

	if ! traced "$name" "$@" >"$name.made" 2>"$name.err"; then
		fail "$name: $* failed"
		cat "$name.err" >&2
		return
	fi
	bare "$@" >/dev/null 2>"$name.bare"
	same "$name: stderr" "$name.bare" "$name.err"
	file=$(only "$name"/*.fxt) || return
	valid "$file"
	trace "$kind" "$file" | grep -vxE "${others:-none} [0-9]+" >"$name.found"
	sort -o "$name.made" "$name.made"
	sort -o "$name.found" "$name.found"
	if test -n "$only_made"; then
		join "$name.made" "$name.found" -o 0,2.2 >"$name.both"
		mv "$name.both" "$name.found"
	fi
	same_some "$name" "$name.made" "$name.found"
	is "$name: lost" "dropped 0 filtered 0 overwritten 0" \
		"$(trace lost "$file" | tr '\n' ' ' | sed 's/ $//')"
	rm -rf "${scratch:?}/$name"
	sed 's/ .*//' "$name.made" >>made
}

# The C library allocates too; only what the program itself allocates is compared.
for threads in 1 4; do
	counted own "calls.$threads" "$apps/count_calls" all $threads 25
done

export FXT_CATEGORIES=io,net,time
for threads in 1 4; do
	counted counts "io.$threads" "$apps/count_io" $threads 25
	counted counts "io_fortified.$threads" "$apps/count_io_fortified" $threads 25
done

export FXT_CATEGORIES=pthread
counted counts locks.4 "$apps/count_calls" locks 4 100000

# These run other programs, which are not traced, as their calls would be counted too.
export FXT_FOLLOW=none
FXT_CATEGORIES=io counted counts files "$apps/count_files" 10
FXT_CATEGORIES=io counted counts streams "$apps/count_streams" 10
FXT_CATEGORIES=net counted counts net "$apps/count_net" 10
# A name service makes further calls, which the program does not count.
only_made=1
FXT_CATEGORIES=io,net counted counts databases "$apps/count_databases" 3
only_made=
FXT_CATEGORIES=io,log,dl counted counts others "$apps/count_others" 10
FXT_CATEGORIES=process,time counted counts signals "$apps/count_signals" 3
FXT_CATEGORIES=malloc counted own pages "$apps/count_pages" 10
# libgcc makes this call for each thread that is left by pthread_exit() or cancellation.
others=pthread:pthread_once
FXT_CATEGORIES=pthread,time counted counts threads "$apps/count_threads" 3
FXT_CATEGORIES=io,net,time,process,pthread,malloc counted own numbers "$apps/count_numbers" 3

# The program uses paths of random length. In every mode each of its events is written, dropped, filtered or
# overwritten. A buffer of 4 MiB holds only a part of them, so oneshot mode drops some and circular mode
# overwrites some.
unset FXT_FOLLOW
export FXT_CATEGORIES=io FXT_BUFFER_SIZE_MB=4

# expected_losses MODE: prints the only way in which this mode loses events.
expected_losses()
{
	case $1 in
	oneshot) echo dropped ;;
	circular) echo overwritten ;;
	esac
}

# accounted NAME MODE PROGRAM ARGUMENT...: checks that the events that the trace has and those that it counts
# as lost are as many as the calls that the program made.
accounted()
{
	local name=$1 mode=$2 file made written lost status
	shift 2

	FXT_BUFFERING_MODE=$mode FXT_QUIET=1 traced "$name" "$@" >"$name.made" 2>"$name.err"
	status=$?
	if test $status != 0; then
		fail "$name: $* ended with $status"
		cat "$name.err" >&2
	elif file=$(only "$name"/*.fxt); then
		if test "$mode" = circular; then
			valid --ring "$file"
		else
			valid "$file"
		fi
		made=$(awk '{ sum += $2 } END { print sum }' "$name.made")
		written=$(trace counts "$file" | awk '{ sum += $2 } END { print sum + 0 }')
		trace lost "$file" >lost
		lost=$(awk '{ sum += $2 } END { print sum + 0 }' lost)
		is "$name: calls ($written written, $(tr '\n' ' ' <lost))" "$made" $((written + lost))
		is "$name: what is lost" "$(expected_losses "$mode")" "$(awk '$2 { print $1 }' lost)"
	fi
	rm -rf "${scratch:?}/$name"
}

for mode in streaming oneshot circular; do
	accounted "paths.$mode.1" $mode "$apps/count_paths" 1 40000
	accounted "paths.$mode.4" $mode "$apps/count_paths" 4 15000
	accounted "paths.$mode.handlers" $mode "$apps/count_paths" 4 15000 handlers
done
unset FXT_CATEGORIES FXT_BUFFER_SIZE_MB

# These are not counted: calls that end a process, execute another program (lives.sh, follow.sh, says.sh) or
# ask for a password.
"$abs_top_builddir/tests/list_calls" --events | sort -u >events
sort -u made | comm -23 events - |
	grep -vxE -e 'io:(getpass|getpw|u?lckpwdf|login|logout|logwtmp|klogctl)' \
		-e 'log:v?errx?|log:__assert.*' \
		-e 'process:(exec.*|fexecve|exit|_exit|quick_exit|abort|daemon)' >uncounted
is "calls that no program here makes" "" "$(tr '\n' ' ' <uncounted | sed 's/ $//')"
