#!/bin/bash
# What a program that runs for a moment pays: system calls, page faults, and memory of its own, beside the
# same program without the trace. These are counts, and hardly depend on what else the machine does; what
# depends on time (a clock is renewed each 10 ms) is in the least of three.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

# A call that takes long is explained by further system calls, and here each takes long; counters are looked
# at as time goes by.
export FXT_EXPLAIN_NS=1000000000 FXT_CATEGORIES='#default,-counter'

# costs LIBRARY COMMAND...: sets calls, futexes, masks, faults and kb, to the least of three runs each.
costs()
{
	local round a b c d e

	calls=999999 futexes=999999 masks=999999 faults=999999 kb=999999
	for round in 1 2 3; do
		"$apps/count_costs" "$@" 3>counted >/dev/null
		case $? in
		0) ;;
		77) skip "ptrace is forbidden here" ;;
		*) fail "$*: round $round failed" ;;
		esac
		read -r a b c d e <counted
		calls=$((a < calls ? a : calls)) futexes=$((b < futexes ? b : futexes))
		masks=$((c < masks ? c : masks)) faults=$((d < faults ? d : faults)) kb=$((e < kb ? e : kb))
	done
}

# most WHAT TRACED BARE LIMIT: the traced program may have LIMIT more than the bare one.
most()
{
	count comparison
	test $(($2 - $3)) -le "$4" || fail "$1: $2, and $3 without the trace: more than $4 are added"
}

# limits NAME CALLS FUTEXES MASKS FAULTS KB COMMAND...
limits()
{
	local name=$1 calls_more=$2 futexes_more=$3 masks_more=$4 faults_more=$5 kb_more=$6 bare

	shift 6
	costs "" "$@"
	bare=("$calls" "$futexes" "$masks" "$faults" "$kb")
	export FXT_OUTPUT=$scratch/$name.fxt
	costs "$FXT_AGENT" "$@"
	unset FXT_OUTPUT
	echo "$name: $calls calls (${bare[0]}), $futexes of futex (${bare[1]}), $masks of sigprocmask" \
		"(${bare[2]}), $faults faults (${bare[3]}), $kb KB (${bare[4]})"
	most "$name: system calls" "$calls" "${bare[0]}" "$calls_more"
	most "$name: futex" "$futexes" "${bare[1]}" "$futexes_more"
	most "$name: rt_sigprocmask" "$masks" "${bare[2]}" "$masks_more"
	most "$name: page faults" "$faults" "${bare[3]}" "$faults_more"
	most "$name: kilobytes" "$kb" "${bare[4]}" "$kb_more"
	valid "$name.fxt"
}

limits true 150 4 24 145 220 true
limits python 2500 1000 1150 650 1150 "$(python3 -c 'import sys; print(sys.executable)')" -c pass

# fxt itself begins many times a second where a script records each of its commands. What few commands need is
# opened when they need it; and where it cannot be opened, here as an empty file, these do without or say so.
count comparison
LD_TRACE_LOADED_OBJECTS=1 "$FXT" >loaded || fail "the libraries of fxt are not listed"
grep -E 'libdw|libbabeltrace2|libglib' loaded && fail "fxt needs these at its start"
mkdir -p empty ctf
: >empty/libdw.so.1
: >empty/libbabeltrace2.so.0
printf '/* CTF 1.8 */\n' >ctf/metadata
LD_LIBRARY_PATH=$scratch/empty "$FXT" record -q -o without.fxt -- true ||
	fail "fxt record without libdw: $?"
valid without.fxt
LD_LIBRARY_PATH=$scratch/empty "$FXT" report without.fxt >said 2>&1 ||
	fail "fxt report without libdw: $?"
if grep -q 'define HAVE_BABELTRACE2 1' "${abs_top_builddir:?}/config.h"; then
	LD_LIBRARY_PATH=$scratch/empty "$FXT" dump ctf >said 2>&1 &&
		fail "a CTF trace is read without a library"
	grep -q 'there is no libbabeltrace2' said || fail "what is missing for CTF: $(cat said)"
fi
