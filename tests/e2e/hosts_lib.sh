# The hosts_*.sh scripts source this file first. They show that a program in a hostile condition behaves
# traced as it does bare, and that its trace is valid and holds all of its marks (tests/apps/host.h).
# docs/hosts.md says which condition is proved where.
#
# MODES lists the buffering modes to try. EXPECT is an extended regular expression for the lines that the
# agent may say; by default it may say none.
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

MODES="streaming oneshot circular"
EXPECT=
LIMIT_S=60
unset FXT_BUFFERING_MODE
export FXT_BUFFER_SIZE_MB=16

# numbers FILE...: prints "WRITTEN DROPPED OVERWRITTEN EVENTS": the number of marks in the traces, the numbers
# of records of any call that were dropped and that were overwritten, and the number of events.
numbers()
{
	local file

	for file; do
		fxt report --json --all "$file" || echo '{}'
		echo
	done | python3 -c '
import json, sys
text, at, marks, lost, over, events = sys.stdin.read(), 0, 0, 0, 0, 0
decoder = json.JSONDecoder()
while text[at:].strip():
    at += len(text[at:]) - len(text[at:].lstrip())
    report, at = decoder.raw_decode(text, at)
    trace = report["trace"]
    marks += sum(c["count"] for c in report["calls"] if c["name"] == "pthread_barrier_init")
    lost += trace["dropped"]
    over += trace["overwritten"]
    events += trace["events"]
print(marks, lost, over, events)'
}

# quietly FILE: leaves in FILE.program what the program said on standard error. The lines of the agent have to
# be expected.
quietly()
{
	grep -v '^fxtagent\[' "$1" | grep -v 'lib\.sh: line' >"$1.program"
	grep '^fxtagent\[' "$1" | grep -v -E "${EXPECT:-^$}" >"$1.unexpected"
	test ! -s "$1.unexpected" || fail "$1: the agent said: $(head -n 3 "$1.unexpected")"
}

# host NAME CMD...: compares output, standard error and exit status of CMD bare and in each of MODES. The
# traces are valid and have all marks. It leaves them in NAME.MODE, and the numbers of the last mode in the
# variables written, dropped and overwritten.
host()
{
	local name=$1 status mode made log traced_status events
	shift

	log=$name.bare
	bare timeout -s KILL "$LIMIT_S" "$@" </dev/null >"$log" 2>"$log.err"
	status=$?
	test $status != 137 || fail "$name: the bare run was killed: $(tail -n 1 "$log.err")"
	quietly "$log.err"
	for mode in $MODES; do
		log=$name.$mode
		FXT_BUFFERING_MODE=$mode traced "$log" timeout -s KILL "$LIMIT_S" "$@" \
			</dev/null >"$log.out" 2>"$log.err"
		traced_status=$?
		rm -f "$log"/timeout.*.fxt
		is "$log: exit status" $status $traced_status
		quietly "$log.err"
		same "$log: output" "$name.bare" "$log.out"
		same "$log: stderr" "$name.bare.err.program" "$log.err.program"
		if ! ls "$log"/*.fxt >/dev/null 2>&1; then
			fail "$log: there is no trace"
			continue
		fi
		if test $mode = circular; then
			valid --ring "$log"/*.fxt
		else
			valid "$log"/*.fxt
		fi
		made=$(sed -n 's/^marks //p' "$log.out" | tail -n 1)
		read -r written dropped overwritten events <<<"$(numbers "$log"/*.fxt)"
		if test "$overwritten" = 0 && test "$dropped" = 0; then
			is "$log: marks" "$made" "$written"
		elif test "$written" -gt "$made" ||
			test $((written + dropped + overwritten)) -lt "$made"; then
			fail "$log: marks: made $made, written $written, dropped $dropped," \
				"overwritten $overwritten"
		fi
	done
}

# complete NAME: checks that the last run has lost nothing.
complete()
{
	is "$1: dropped and overwritten" "0 0" "$dropped $overwritten"
}

# lossy NAME: checks that the last run has lost something, as it should.
lossy()
{
	test "$dropped" -gt 0 || fail "$1: nothing is said to be dropped"
}
