# The end-to-end scripts source this file first; it has what they share. A script prints what failed and why,
# goes on, and fails in the end. It works in $scratch, which is gone afterwards. The last line that a script
# prints says how much it did.
#
# FXT_FULL=1 asks for the long versions. FXT_ORACLE names a second checker, which every trace has to pass. The
# random arguments of the traced programs follow from FXT_SEED (tests/apps/random.h), and so do the numbers
# that a script draws; with the seed that a script printed, it makes the same calls again.

set -u
export LC_ALL=C
# Python would write what it compiles beside the sources.
export PYTHONDONTWRITEBYTECODE=1
: "${FXT:?is set by make check}" "${FXT_AGENT:?is set by make check}" \
	"${abs_top_builddir:?}" "${abs_top_srcdir:?}"

apps=$abs_top_builddir/tests/apps
background=

seed=${FXT_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
export FXT_SEED=$seed

scratch=$(mktemp -d "${TMPDIR:-/tmp}/fxt-e2e.XXXXXX") || exit 99
cd "$scratch" || exit 99

# This file has a line for each comparison, trace and failure. A variable would not do: much of what is
# counted happens in a pipeline or in $(...), where the shell is another process.
tally=$scratch.tally
: >"$tally"

# This file has a line for each number that was drawn, for the same reason.
draws=$scratch.draws
: >"$draws"

count()
{
	echo "$1" >>"$tally"
}

# tallied comparison|trace|failure: prints how many of these there were so far.
tallied()
{
	grep -cx "$1" "$tally"
}

finish()
{
	local status=$? failures comparisons traces

	trap - EXIT
	test -z "$background" || kill -9 $background 2>/dev/null
	failures=$(tallied failure) comparisons=$(tallied comparison) traces=$(tallied trace)
	cd / && rm -rf "$scratch" "$tally" "$draws"
	if test $status = 0 && test $((failures + comparisons + traces)) = 0; then
		printf 'FAIL: nothing was compared, and no trace was checked\n'
		failures=1
	fi
	test "$failures" = 0 || status=1
	case $status in
	0) echo "$traces traces checked, $comparisons comparisons, FXT_SEED=$seed" ;;
	77) ;;
	*) echo "$failures findings; to make the same calls again: FXT_SEED=$seed" ;;
	esac
	exit $status
}
trap finish EXIT
trap 'exit 1' HUP INT TERM

fail()
{
	printf 'FAIL: %s\n' "$*" >&2
	count failure
}

# give_up_if_hopeless: ends a script that has found so much that more of it tells nothing new.
give_up_if_hopeless()
{
	test "$(tallied failure)" -lt 5 || exit 1
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

# random_below N: prints a number from 0 to N-1, which follows from the script's seed and from how many were
# drawn before.
random_below()
{
	local hash

	echo >>"$draws"
	hash=$(echo "$seed $(wc -l <"$draws")" | sha256sum)
	echo $((16#${hash:0:8} % $1))
}

# traced DIRECTORY CMD...: runs CMD with the agent; its traces are DIRECTORY/PROGRAM.PID.fxt.
traced()
{
	local directory=$scratch/$1

	shift
	mkdir -p "$directory"
	env LD_PRELOAD="$FXT_AGENT" FXT_OUTPUT="$directory/%e.%p.fxt" "$@"
}

# bare CMD...: runs CMD without the agent, in the same environment as far as CMD can tell.
bare()
{
	env LD_PRELOAD= FXT_OUTPUT= "$@"
}

# start_traced DIRECTORY CMD...: runs CMD like traced, but in the background, as process $background. It
# returns when CMD has said its first line.
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

# only FILE...: prints the name of the file; fails when the pattern matched none or several.
only()
{
	if test $# != 1 || ! test -f "$1"; then
		fail "one trace was expected, there are: $*"
		return 1
	fi
	printf '%s\n' "$1"
}

# valid [--copy|--ring] FILE...: checks that there is a file, and that each keeps every rule of the format.
valid()
{
	local file files=0 plain=()

	for file; do
		case $file in
		--*) plain+=("$file") ;;
		*)
			count trace && files=$((files + 1))
			# The second checker reads nothing that is compressed.
			if test "${file%.zst}" != "$file"; then
				zstd -qdf -o "plain.$files.fxt" "$file" 2>/dev/null
				file=plain.$files.fxt
			fi
			plain+=("$file")
			;;
		esac
	done
	if test $files = 0; then
		fail "there is no trace to check"
		return
	fi
	if ! "$FXT" check "$@" >check.log 2>&1; then
		fail "not valid: $*"
		head -n 20 check.log >&2
	fi
	if test -n "${FXT_ORACLE-}" && ! python3 "$FXT_ORACLE" "${plain[@]}" >check.log 2>&1; then
		fail "not valid for the second checker: $*"
		grep -v ' 0 violations' check.log | head -n 20 >&2
	fi
}

# ended STATUS NAME CMD...: runs CMD, which ends with STATUS and says nothing; its traces are in the folder
# NAME.
ended()
{
	local expected=$1 name=$2
	shift 2

	traced "$name" "$@" >"$name.out" 2>"$name.err"
	is "$name: exit status" "$expected" $?
	# bash also reports an abort there.
	is "$name: stderr" "" "$(grep -v 'lib\.sh: line' "$name.err")"
	valid "$name"/*.fxt
}

# fxt dump|report ARGUMENT...: prints what the tool prints, and fails when that fails. So its output is not to
# be piped to a reader that stops early, such as grep -q.
fxt()
{
	local status

	"$FXT" "$@"
	status=$?
	test $status = 0 || fail "fxt $*: exit status $status"
	return $status
}

trace()
{
	python3 "$abs_top_srcdir/tests/e2e/trace.py" "$@" || fail "trace.py $*"
}

# until_deadline CMD...: repeats CMD until it succeeds. Gives up after half a minute.
until_deadline()
{
	local end=$((SECONDS + 30))

	while test $SECONDS -lt $end; do
		"$@" && return
		sleep 0.01
	done
	fail "this did not come true: $*"
	return 1
}

# serve OPTION...: runs fxt serve in the background, as process $server, with its socket at $scratch/socket.
# It returns when programs can connect.
serve()
{
	rm -f ready
	mkfifo ready
	"$FXT" serve --socket=socket "$@" 2>ready &
	server=$!
	background="$background $server"
	# The last line that it says comes when it ends.
	exec 5<ready
	read -r _ <&5 && read -r _ <&5 || fail "fxt serve $* does not say that it is ready"
}

# managed CMD...: runs CMD with the agent under fxt serve.
managed()
{
	env LD_PRELOAD="$FXT_AGENT" FXT_MANAGER="$scratch/socket" FXT_OUTPUT="$scratch/beside.%p.fxt" "$@"
}

# stop_serving [STATUS]: ends fxt serve, which exits with the status, or with 0.
stop_serving()
{
	kill -INT "$server"
	wait "$server"
	is "fxt serve: exit status" "${1:-0}" $?
}

# same WHAT EXPECTED FOUND: checks that these two files are the same.
same()
{
	count comparison
	if ! cmp -s "$2" "$3"; then
		fail "$1: what was expected (-) and what was found (+):"
		diff -a -u "$2" "$3" | head -n 40 >&2
	fi
}

# same_some WHAT EXPECTED FOUND: checks that these two files are the same, and that there is something in
# them. It is for files of which neither is known beforehand, such as what a program says and what its trace
# has: two empty ones would prove nothing.
same_some()
{
	test -s "$2" || fail "$1: nothing is expected, so nothing is compared"
	same "$@"
}

# is WHAT EXPECTED FOUND: checks that these two words are the same.
is()
{
	count comparison
	test "$2" = "$3" || fail "$1: expected $2, found $3"
}

# between WHAT LEAST MOST FOUND: checks that the number is from LEAST to MOST.
between()
{
	count comparison
	test "$4" -ge "$2" && test "$4" -le "$3" || fail "$1: $4 is not from $2 to $3"
}

# The limits of what samples say are five deviations of it wide, so a correct program fails once in two
# million comparisons. Samples are at least as even as if each were taken by chance, independently of others.

# steal_ms: prints how long the host of this machine has had its processors since it began.
steal_ms()
{
	awk -v hz="$(getconf CLK_TCK)" '$1 == "cpu" { printf "%d\n", $9 * 1000 / hz }' /proc/stat
}
stolen=$(steal_ms)

# limits_of_samples MS HZ: prints the least and the most samples of so much processor time; the deviation of
# their number is its square root. A processor that the host has taken away takes no samples; so the least is
# less by what was taken since `stolen` was set to steal_ms.
limits_of_samples()
{
	awk -v n="$(($1 * $2 / 1000))" -v taken="$((($(steal_ms) - stolen) * $2 / 1000))" \
		'BEGIN { d = 5 * sqrt(n); printf "%d %d\n", n - d - taken, n + d + 1 }'
}

# limits_of_share SAMPLES PERCENT: prints the least and the most percent of so many samples that are where a
# program spends PERCENT of its time.
limits_of_share()
{
	awk -v n="$1" -v p="$2" 'BEGIN { d = 5 * sqrt(p * (100 - p) / (n ? n : 1))
		printf "%d %d\n", p - d, p + d + 1 }'
}
