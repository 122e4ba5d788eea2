#!/bin/bash
# The hostile conditions here are limits, full and read-only file systems, and memory that is not to be dumped
# (hosts_lib.sh).
# shellcheck source=hosts_lib.sh
. "${abs_top_srcdir:?}/tests/e2e/hosts_lib.sh"

export FXT_CATEGORIES=pthread,io FXT_BUFFER_SIZE_MB=16
ulimit -S -n 300
cannot_grow='^fxtagent\[[0-9]*\]: .* cannot grow: '

# limited NAME BASH-COMMAND CMD...: runs CMD by `host`, after the command, which sets limits.
limited()
{
	local name=$1 before=$2
	shift 2

	host "$name" bash -c "$before"' && exec "$@"' bash "$@"
	rm -f "$name".*/bash.*.fxt
}

# -- Limits --------------------------------------------------------------------------------------------
# At exit the trace cannot be made small either.
EXPECT=$cannot_grow host fsize.exit "$apps/host_limits" 10 fsize 1
EXPECT=$cannot_grow MODES="streaming oneshot" host fsize "$apps/host_limits" 100000 fsize 600
lossy fsize
# A ring that cannot grow goes round in the room that it has, and the agent says so.
EXPECT=$cannot_grow MODES=circular host fsize.circular "$apps/host_limits" 100000 fsize 800
is "fsize.circular: dropped" 0 "$dropped"
test "$overwritten" -gt 0 || fail "fsize.circular: nothing is said to be overwritten"
EXPECT=$cannot_grow MODES=oneshot limited fsize.oneshot "ulimit -f 600" "$apps/host_limits" 50000
lossy fsize.oneshot
EXPECT=$cannot_grow MODES=circular limited fsize.ring "ulimit -f 800" "$apps/host_limits" 50000
is "fsize.ring: dropped" 0 "$dropped"
test "$overwritten" -gt 0 || fail "fsize.ring: nothing is said to be overwritten"
is "fsize.ring: lines" 1 "$(grep -c -E "$cannot_grow" fsize.ring.circular.err)"
for n in 8 16; do
	limited "nofile.$n" "ulimit -n $n" "$apps/host_limits" 50000
	complete "nofile.$n"
done
host nofile.later "$apps/host_limits" 50000 nofile 8 64
complete nofile.later
host nofile.raised "$apps/host_limits" 50000 nofile 200 1024
complete nofile.raised
# all_numbers LIMIT SINGLY: compares which numbers a program gets that takes all, under fxt record and bare:
# the connection to a manager is in nobody's way. The process may not raise its limit.
all_numbers()
{
	local run=(bash -c "ulimit -n $1"' && exec "$@"' bash
		   setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource)
	local program=("$apps/host_all_numbers" 20000 ${2:+"$2"})

	bare "${run[@]}" "${program[@]}" </dev/null >managed.bare
	"${run[@]}" "$FXT" record -q -o managed.fxt -- "${program[@]}" </dev/null >managed.out 2>managed.err
	same "all numbers, $1 $2: output under fxt record" managed.bare managed.out
	is "all numbers, $1 $2: standard error under fxt record" "" "$(cat managed.err)"
	valid managed.fxt
}

# A process that may not raise its limit has the agent's numbers below it, and gets them all the same.
for n in 0 1 2 3; do
	numbers=$((1002 + $(random_below 3000)))
	FXT_SEED=$((FXT_SEED + n)) limited "nofile.all.$numbers" "ulimit -n $numbers" \
		setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource "$apps/host_all_numbers" 20000
	complete "nofile.all.$numbers"
	FXT_SEED=$((FXT_SEED + n)) all_numbers "$numbers" ""
done
# Above a limit of 4096 the agent takes other numbers. Where the last ones lie follows from the limit.
most=$(ulimit -H -n)
test "$most" != unlimited && test "$most" -lt 20000 || most=20000
test "$most" -gt 4200 || most=4200
for n in 4 5 6 7 8; do
	FXT_SEED=$((FXT_SEED + n)) all_numbers $((4097 + $(random_below $((most - 4097))))) singly
done
FXT_SEED=$((FXT_SEED + 9)) all_numbers $((4097 + $(random_below $((most - 4097))))) ""
host stack.later "$apps/host_limits" 10000 stack 64
complete stack.later
limited stack "ulimit -s 128" "$apps/host_limits" 50000
complete stack
# The agent itself takes some MiB of address space.
EXPECT="$cannot_grow|cannot write .* memory" host as "$apps/host_limits" 50000 as 40
limited as.from_the_start "ulimit -v 65536" "$apps/host_limits" 50000

# How much data the program can have where data is limited, and how many addresses and data it takes where
# nothing is. What the agent takes of both is the library's own 4.7 MiB, tables that grow with use, by 64 KiB
# and as addresses happen to lie, and, of addresses alone, the trace: at most so many KiB in a small program.
data_kib=5248 addresses_kib=16384
within()
{
	count comparison
	test "$2" -le "$3" || fail "$1: $2 are more than $3"
}
for limit in 12000 $((16000 + $(random_below 16000))); do
	read -r least _ <<<"$(ulimit -d $limit && bare "$apps/host_memory" data 100)"
	least=$(((least * 1024 - data_kib) / 1024))
	for mode in $MODES; do
		read -r taken _ <<<"$(ulimit -d $limit &&
			FXT_BUFFERING_MODE=$mode FXT_CATEGORIES=#default \
				traced "data.$mode" "$apps/host_memory" data 100)"
		within "data, $mode, ulimit -d $limit: MiB that the program should have" "$least" "$taken"
	done
done
read -r _ addresses _ data <<<"$(bare "$apps/host_memory" size 3000)"
read -r _ traced_addresses _ traced_data <<<"$(FXT_BUFFERING_MODE=streaming FXT_CATEGORIES=#default \
	traced size "$apps/host_memory" size 3000)"
within "size: KiB of addresses" $((traced_addresses - addresses)) $addresses_kib
within "size: KiB of data" $((traced_data - data)) $data_kib

# -- Memory that is locked, and programs that may not wait --------------------------------------------------
# What is locked of the program is what is locked without the agent, to the page, whatever its limit is.
locks=0
for how in current future both onfault number twice child; do
	for limit in 0 8192 $((2600 + $(random_below 1400))); do
		bare "$apps/host_memory" lock $how $limit >lock.bare
		test $? -eq 77 && continue
		for mode in $MODES; do
			FXT_BUFFERING_MODE=$mode FXT_CATEGORIES=#default traced "lock.$mode" \
				"$apps/host_memory" lock $how $limit >lock.traced 2>lock.err
			is "lock $how, $limit KiB, $mode" "$(cat lock.bare)" "$(cat lock.traced)"
		done
		fxt record -o lock.fxt -- "$apps/host_memory" lock $how $limit >lock.traced 2>lock.err
		is "lock $how, $limit KiB, fxt record" "$(cat lock.bare)" "$(cat lock.traced)"
		locks=$((locks + 1))
	done
done
test $locks -gt 0 || echo "left out: this user may not lock memory"

# What the agent touches was touched before. The trace's own memory is not: few calls need no more of it.
for how in lock fifo number thread chrt; do
	start=
	if test $how = chrt; then
		start="chrt -f 1"
		$start true 2>/dev/null || continue
	fi
	read -r _ faults _ resident <<<"$(bare $start "$apps/host_memory" faults $how 200)"
	test -n "$faults" || { echo "left out: this user may not have what 'faults $how' needs" && continue; }
	for mode in $MODES; do
		read -r _ traced_faults _ traced_resident <<<"$(FXT_BUFFERING_MODE=$mode \
			FXT_CATEGORIES=#default FXT_BUFFER_SIZE_MB=4 \
			traced "faults.$mode" $start "$apps/host_memory" faults $how 200)"
		within "faults $how, $mode: page faults" $((traced_faults - faults)) 5
		within "faults $how, $mode: KiB resident" $((traced_resident - resident)) 20480
	done
done

# -- Addresses that the program has unmapped, and takes again ---------------------------------------------
MODES=streaming host unmaps "$apps/host_unmaps"
complete unmaps
MODES=streaming host ranges "$apps/host_ranges"
complete ranges
EXPECT="$cannot_grow|cannot write .* memory" host ranges.fill "$apps/host_ranges" fill

# -- Core dumps ------------------------------------------------------------------------------------------
for mode in $MODES; do
	FXT_BUFFERING_MODE=$mode traced "maps.$mode" "$apps/host_maps" >out 2>said.maps
	is "core dump, $mode: exit status" 0 $?
	read -r _ files _ private _ dumped _ <<<"$(tail -n 1 said.maps)"
	test "$files" -gt 1 && test "$private" -gt 1 ||
		fail "core dump, $mode: no mappings were found: $(cat said.maps)"
	is "core dump, $mode: mappings in it" 0 "$dumped"
done

# The size of a core dump is compared where the kernel leaves the dump in the program's directory.
case $(cat /proc/sys/kernel/core_pattern) in
*[/\|]*)
	echo "the size of a core dump is left out: /proc/sys/kernel/core_pattern sends it elsewhere"
	;;
*)
	# dumped DIRECTORY CMD...: prints the size of CMD's core dump, in KiB.
	dumped()
	{
		mkdir -p "$1"
		{ (cd "$1" && ulimit -c unlimited && exec "${@:2}") >/dev/null 2>&1; } 2>/dev/null
		find "$1" -name 'core*' -printf '%s\n' | awk '{ n += $1 } END { print int(n / 1024) }'
		rm -f "$1"/core*
	}
	bare_kib=$(dumped cores env LD_PRELOAD= "$apps/host_maps" abort)
	test "$bare_kib" -gt 0 || fail "core dump: the bare run left none"
	for mode in $MODES; do
		traced_kib=$(FXT_BUFFERING_MODE=$mode dumped cores env LD_PRELOAD="$FXT_AGENT" \
			FXT_OUTPUT="$scratch/cores/%e.%p.fxt" "$apps/host_maps" abort)
		# The dump includes the library's own variables.
		test "$traced_kib" -gt 0 && test "$traced_kib" -lt $((bare_kib + 2048)) ||
			fail "core dump, $mode: $traced_kib KiB, bare $bare_kib KiB"
	done
	valid --ring cores/*.fxt
	;;
esac

# -- A trace that is cut while it is written -----------------------------------------------------------------
# Only what the program can see is compared. What is left of the trace has to be valid.
for run in "self 20" "other 20" handler "sent 2000"; do
	# shellcheck disable=SC2086
	set -- timeout -s KILL "$LIMIT_S" "$apps/host_cut" $run
	bare "$@" >cut.bare 2>cut.bare.err
	status=$?
	for mode in $MODES; do
		name="cut.${run% *}.$mode"
		FXT_BUFFERING_MODE=$mode FXT_BUFFER_SIZE_MB=4 traced "$name" "$@" >"$name.out" 2>"$name.err"
		is "$name: exit status" $status $?
		same "$name: output" cut.bare "$name.out"
		EXPECT=' was cut to [0-9]+ bytes while it was written: | is full at 4 MiB' quietly "$name.err"
		same "$name: stderr" cut.bare.err "$name.err.program"
		case $run in
		sent*) ;;
		*) is "$name: lines that say so" 1 "$(grep -c ' was cut to ' "$name.err")" ;;
		esac
		for file in "$name"/*.fxt; do
			test ! -s "$file" || valid --ring "$file"
		done
	done
done

# -- File systems -----------------------------------------------------------------------------------------
mkdir small
if test "$(id -u)" != 0 || ! mount -t tmpfs -o size=8m none small 2>/dev/null; then
	echo "full and read-only file systems are left out: they take root and mount"
	exit 0
fi
trap 'umount -l "$scratch/small"; finish' EXIT
# small_traced MODE CMD...: runs CMD with its trace on the small file system.
small_traced()
{
	FXT_BUFFERING_MODE=$1 env LD_PRELOAD="$FXT_AGENT" FXT_OUTPUT="$scratch/small/%e.%p.fxt" \
		"${@:2}" </dev/null >small.out 2>small.err
}
bare "$apps/host_limits" 200000 >full.bare
small_traced streaming "$apps/host_limits" 200000
is "full file system: exit status" 0 $?
same "full file system: output" full.bare small.out
is "full file system: lines" 1 "$(grep -c -E "$cannot_grow" small.err)"
is "full file system: lines in all" 1 "$(wc -l <small.err)"
valid small/*.fxt
read -r written dropped overwritten _ <<<"$(numbers small/*.fxt)"
lossy "full file system"
test "$written" -gt 10000 || fail "full file system: only $written marks are written"
# Another process fills the file system while the program runs.
for mode in streaming oneshot circular; do
	rm -f small/*
	FXT_BUFFER_SIZE_MB=4 small_traced $mode bash -c 'head -c 16M /dev/zero >"$1"; exec "${@:2}"' \
		bash small/other "$apps/host_limits" 50000
	is "filled file system, $mode: exit status" 0 $?
	valid_flag=
	test $mode != circular || valid_flag=--ring
	ls small/bash.*.fxt >/dev/null 2>&1 && valid $valid_flag small/bash.*.fxt
done
rm -f small/*
mount -o remount,ro small
small_traced streaming "$apps/host_limits" 200000
is "read-only file system: exit status" 0 $?
same "read-only file system: output" full.bare small.out
is "read-only file system: lines" 1 \
	"$(grep -c '^fxtagent.*cannot write.*Read-only file system; the program runs untraced' small.err)"
is "read-only file system: lines in all" 1 "$(wc -l <small.err)"
