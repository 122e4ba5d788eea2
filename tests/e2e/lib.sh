# What the end-to-end scripts share; sourced first. A script prints what failed and why, goes on, and fails in the
# end. It works in $scratch, which is gone afterwards.
#
# FXT_FULL=1 makes the long versions, FXT_ORACLE names a second checker that every trace has to pass. FXT_SEED is what the random
# arguments of the traced programs follow from (tests/apps/random.h); a script that fails prints it, and with it makes the same calls.

set -u
export LC_ALL=C
: "${FXT:?is set by make check}" "${FXT_AGENT:?is set by make check}" "${abs_top_builddir:?}" "${abs_top_srcdir:?}"

apps=$abs_top_builddir/tests/apps
failures=0
background=

seed=${FXT_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
export FXT_SEED=$seed

scratch=$(mktemp -d "${TMPDIR:-/tmp}/fxt-e2e.XXXXXX") || exit 99
cd "$scratch" || exit 99

finish()
{
	local status=$?

	trap - EXIT
	test -z "$background" || kill -9 $background 2>/dev/null
	cd / && rm -rf "$scratch"
	test $failures = 0 || status=1
	test $status = 0 || test $status = 77 || echo "to make the same calls again: FXT_SEED=$seed" >&2
	exit $status
}
trap finish EXIT
trap 'exit 1' HUP INT TERM

fail()
{
	printf 'FAIL: %s\n' "$*" >&2
	failures=$((failures + 1))
}

skip()
{
	printf 'SKIP: %s\n' "$*"
	exit 77
}

need()
{
	local program

	for program; do
		command -v "$program" >/dev/null 2>&1 || skip "there is no $program here"
	done
}

# random_below N: a number from 0 to N-1, of the kernel's making.
random_below()
{
	echo $(($(od -An -N4 -tu4 /dev/urandom) % $1))
}

# traced DIRECTORY CMD...: runs CMD with the agent; its traces are DIRECTORY/PROGRAM.PID.fxt.
traced()
{
	local directory=$scratch/$1

	shift
	mkdir -p "$directory"
	env LD_PRELOAD="$FXT_AGENT" FXT_OUTPUT="$directory/%e.%p.fxt" "$@"
}

# bare CMD...: the same environment, as far as the program can tell, without the agent.
bare()
{
	env LD_PRELOAD= FXT_OUTPUT= "$@"
}

# start_traced DIRECTORY CMD...: in the background, as process $background; returns when CMD has said its first line.
start_traced()
{
	local directory=$scratch/$1

	shift
	mkdir -p "$directory"
	rm -f said
	mkfifo said
	env LD_PRELOAD="$FXT_AGENT" FXT_OUTPUT="$directory/%e.%p.fxt" "$@" >said &
	background=$!
	read -r _ <said || fail "$* ended before it was ready"
}

kill_background()
{
	kill -9 $background
	wait $background 2>/dev/null
	background=
}

# only FILE...: prints it; fails when the pattern matched none or several.
only()
{
	if test $# != 1 || ! test -f "$1"; then
		fail "one trace was expected, there are: $*"
		return 1
	fi
	printf '%s\n' "$1"
}

# valid [--copy|--ring] FILE...: every rule of the format is kept.
valid()
{
	if ! "$FXT" check "$@" >check.log 2>&1; then
		fail "not valid: $*"
		head -n 20 check.log >&2
	fi
	if test -n "${FXT_ORACLE-}" && ! python3 "$FXT_ORACLE" "$@" >check.log 2>&1; then
		fail "not valid for the second checker: $*"
		grep -v ' 0 violations' check.log | head -n 20 >&2
	fi
}

trace()
{
	python3 "$abs_top_srcdir/tests/e2e/trace.py" "$@" || fail "trace.py $*"
}

# same WHAT EXPECTED FOUND: two files.
same()
{
	if ! cmp -s "$2" "$3"; then
		fail "$1: what was expected (-) and what was found (+):"
		diff -a -u "$2" "$3" | head -n 40 >&2
	fi
}

# is WHAT EXPECTED FOUND: two words.
is()
{
	test "$2" = "$3" || fail "$1: expected $2, found $3"
}
