#!/bin/bash
# A program that counts its own calls finds exactly its counts in the trace: see tests/apps/counts.h.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

# counted KIND NAME THREADS PROGRAM ARGUMENT...: the program's list against the trace's.
counted()
{
	local kind=$1 name=$2 file
	shift 2

	if ! traced "$name" "$@" >"$name.made" 2>"$name.err"; then
		fail "$name: $* failed"
		cat "$name.err" >&2
		return
	fi
	test ! -s "$name.err" || fail "$name: said on stderr: $(cat "$name.err")"
	file=$(only "$name"/*.fxt) || return
	valid "$file"
	trace "$kind" "$file" >"$name.found"
	sort -o "$name.made" "$name.made"
	sort -o "$name.found" "$name.found"
	same "$name" "$name.made" "$name.found"
	is "$name: lost" "dropped 0 filtered 0 overwritten 0" "$(trace lost "$file" | tr '\n' ' ' | sed 's/ $//')"
	rm -rf "${scratch:?}/$name"
}

# The C library allocates too, and what it allocates is no business of the program.
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
