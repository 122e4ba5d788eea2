#!/bin/bash
# What a program can notice of its surroundings is the same bare and traced: tests/apps/invariants.c prints it.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"

# compare NAME: with whatever the caller has arranged.
compare()
{
	mkdir -p here
	(cd here && bare "$apps/invariants" one 'two words') </dev/null >"$1.bare" 2>"$1.bare.err"
	is "$1: status of the bare run" 5 $?
	(cd here && traced "$1" "$apps/invariants" one 'two words') </dev/null >"$1.traced" 2>"$1.traced.err"
	is "$1: status of the traced run" 5 $?
	same "$1: output" "$1.bare" "$1.traced"
	same "$1: stderr" "$1.bare.err" "$1.traced.err"
	is "$1: files in its directory" "" "$(ls -A here)"
	valid "$1"/*.fxt
}

compare plain
(
	ulimit -n 64
	compare few_descriptors
	exit $failures
) || fail "with 64 descriptors"
(
	trap '' USR1 PIPE
	umask 027
	compare ignored_signals
	exit $failures
) || fail "with ignored signals"
for mode in oneshot circular; do
	export FXT_BUFFERING_MODE=$mode FXT_BUFFER_SIZE_MB=1
	compare $mode
done
