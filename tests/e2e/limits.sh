#!/bin/bash
# Limits: a program does known amounts of things, which are drawn, and `fxt check --limit` has to say of each
# kind of limit that it is met, and one step further that it is broken. What the trace does not tell is
# unknown. The file of JUnit is read by python's reader and compared with what was printed.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

declare -A amount=(
	[blocks]=$((1 + $(random_below 500))) [leaks]=$((1 + $(random_below 300)))
	[reads]=$((1 + $(random_below 100))) [hold_ms]=$((2 + $(random_below 3)))
	[rounds]=$((1 + $(random_below 8))) [sleep_ms]=$((5 + $(random_below 10)))
	[fails]=$((1 + $(random_below 50))) [helpers]=$((1 + $(random_below 9)))
	[files]=$((1 + $(random_below 4))) [peer_ms]=$((1 + $(random_below 3)))
	[asks]=$((1 + $(random_below 9))))
mkdir data
for name in settings users rules extra; do
	head -c 100000 /dev/zero >data/$name
done
arguments=()
for name in "${!amount[@]}"; do
	arguments+=("$name=${amount[$name]}")
done
FXT_STACKS=malloc,io "$FXT" record -q -o app.fxt -- "$apps/amounts" "$PWD/data" "${arguments[@]}" >out ||
	fail "the program: $?"
valid app.fxt

# verdict FILE OPTION... LIMIT: prints what becomes of the limit: met, broken or unknown; and checks the exit
# status.
verdict()
{
	local status said

	said=$("$FXT" check --json "${@:1:$#-1}" --limit "${*: -1}")
	status=$?
	said=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["limits"][0]["verdict"])' <<<"$said")
	test "$status" = "$(test "$said" = met; echo $?)" || fail "$*: $said, and exit status $status"
	echo "$said"
}

# exactly QUANTITY VALUE [UNIT]: the quantity is this, and each comparison says so.
exactly()
{
	local value=$2$3 more=$(($2 + 1))$3

	is "$1" met "$(verdict app.fxt "$1 = $value")"
	is "$1" broken "$(verdict app.fxt "$1=$more")"
	case $(random_below 4) in
	0) set -- "$1" "<$more" "<$value" ;;
	1) set -- "$1" ">= $value" ">= $more" ;;
	2) set -- "$1" "<= $value" ">$value" ;;
	3) set -- "$1" "!=$more" "!=$value" ;;
	esac
	is "$1" met "$(verdict app.fxt "$1$2")"
	is "$1" broken "$(verdict app.fxt "$1 $3")"
}

# at_least QUANTITY VALUE UNIT: the quantity is at least this, and less than a hundred times as much and a
# minute.
at_least()
{
	is "$1" met "$(verdict app.fxt "$1>=$2$3")"
	is "$1" broken "$(verdict app.fxt "$1<$2$3")"
	is "$1" broken "$(verdict app.fxt "$1>=$((100 * $2 + 60000))$3")"
}

exactly "count(malloc by parse)" "${amount[blocks]}" ""
# The C library asks for one more, when main() prints.
exactly "count(malloc under main)" "$((amount[blocks] + amount[leaks] + 1))" ""
exactly "count(malloc by main)" 1 ""
exactly "heap.left(by remember)" "$((1000 * amount[leaks]))" B
exactly "count(read by load)" "$((amount[reads] * amount[files]))" ""
exactly "bytes.read(*/data/settings)" "$((100 * amount[reads]))" B
exactly "failures(open)" "${amount[fails]}" ""
exactly "count(open by look_up)" "${amount[fails]}" ""
exactly "count(pthread_create)" "$((2 + amount[helpers]))" ""
exactly "threads" "$((3 + amount[helpers]))" ""
exactly "processes" 1 ""
exactly "lost" 0 ""
exactly "descriptors" 1 ""
exactly "count(pthread_barrier_wait)" "$((4 * amount[rounds]))" ""
at_least "max(nanosleep)" "${amount[sleep_ms]}" ms
at_least "total(nanosleep)" "$((amount[sleep_ms] + amount[asks] * amount[peer_ms]))" ms
at_least "p50(nanosleep)" "$((amount[peer_ms] * 9 / 10))" ms
at_least "duration" "$((amount[sleep_ms] + amount[rounds] * amount[hold_ms]))" ms
at_least "waits" "$((amount[rounds] * (amount[hold_ms] - 1)))" ms
at_least "heap.peak" "${amount[leaks]}" kB
at_least "heap.allocated" "${amount[leaks]}" kB
at_least "leaks" "${amount[leaks]}" ""

# What is not told: no stack says who locked quickly, and no call was made of a category.
is "a call without a stack" unknown "$(verdict app.fxt 'count(pthread_mutex_unlock by rebuild)=0')"
is "a category" unknown "$(verdict app.fxt 'count(dlopen)=0')"
is "a category that was recorded" met "$(verdict app.fxt --recorded='#default' 'count(dlopen)=0')"
is "a category that was not" unknown "$(verdict app.fxt --recorded='#default,-dl' 'count(dlopen)=0')"
is "a part of the trace" met "$(verdict app.fxt --call=read "count(read)=$((amount[reads] * amount[files]))")"

# Where records are lost, no limit from above is met, and what is sure is.
FXT_MAX_SIZE_MB=1 FXT_BUFFER_SIZE_MB=1 "$FXT" record -q -o lossy.fxt -- "$apps/amounts" "$PWD/data" \
	blocks=100000 files=0 >out 2>err || fail "the program that loses records: $?"
is "lost" broken "$(verdict lossy.fxt lost=0)"
is "with losses, at most" unknown "$(verdict lossy.fxt 'count(malloc)<100000')"
is "with losses, at least" met "$(verdict lossy.fxt 'count(malloc)>100')"
is "with losses, no finding" unknown "$(verdict lossy.fxt 'findings(leak)=0')"
is "with losses, the heap" unknown "$(verdict lossy.fxt 'heap.peak<1GB')"

# A file of JUnit: a suite for each trace, with what was printed.
echo none >none.fxt
"$FXT" check --junit=found.xml --limit="failures(open)=${amount[fails]}" --limit='heap.peak>1GB' \
	--limit='count(malloc by "&<nobody>")=1' app.fxt none.fxt lossy.fxt >printed 2>err
is "exit status" 1 $?
python3 "$abs_top_srcdir/tests/e2e/junit.py" found.xml >cases 2>err || fail "$(cat err)"
tab=$(printf '\t')
cat >expected <<END
app.fxt${tab}format${tab}passed
app.fxt${tab}failures(open)=${amount[fails]}${tab}passed
app.fxt${tab}heap.peak>1GB${tab}failure
app.fxt${tab}count(malloc by "&<nobody>")=1${tab}failure
none.fxt${tab}format${tab}error
lossy.fxt${tab}format${tab}passed
lossy.fxt${tab}failures(open)=${amount[fails]}${tab}error
lossy.fxt${tab}heap.peak>1GB${tab}error
lossy.fxt${tab}count(malloc by "&<nobody>")=1${tab}error
END
same "the cases" expected cases
if command -v xmllint >/dev/null; then
	xmllint --noout found.xml 2>err || fail "xmllint: $(head -n 3 err)"
fi

# A limit that is none is refused in one line, before anything is read.
for limit in 'heap.peek<1MB' 'heap.peak<1' 'leaks=0B' 'count=1' 'findings(lek)=0' leaks; do
	"$FXT" check --limit "$limit" app.fxt >out 2>err
	is "$limit: exit status" 2 $?
	is "$limit: what is printed" "" "$(cat out)"
	is "$limit: lines" 1 "$(grep -c "$limit" err)"
done
