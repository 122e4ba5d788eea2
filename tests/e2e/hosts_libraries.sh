#!/bin/bash
# The hostile conditions here are other allocators, sanitizers, and libraries that are loaded in every way
# (hosts_lib.sh).
# shellcheck source=hosts_lib.sh
. "${abs_top_srcdir:?}/tests/e2e/hosts_lib.sh"

: "${CC:=cc}"

# -- Loading -------------------------------------------------------------------------------------------
plugin=$apps/libhost_plugin.so
FXT_QUIET=1 host churn "$apps/host_loader" churn "$plugin" 300
host names "$apps/host_loader" names "$plugin"
complete names
for mode in $MODES; do
	trace counts names.$mode/*.fxt >found
	is "names after dlclose, $mode: plugin_work" 2 "$(sed -n 's/^function:plugin_work //p' found)"
	is "names after dlclose, $mode: plugin_jump_in" 8 "$(sed -n 's/^function:plugin_jump_in //p' found)"
	is "names after dlclose, $mode: functions" "plugin_free plugin_jump_in plugin_work" \
		"$(sed -n 's/^function:\(plugin[^ ]*\) .*/\1/p' found | sort | tr '\n' ' ' | sed 's/ $//')"
done
for way in deepbind dlmopen; do
	host $way "$apps/host_loader" $way "$plugin"
	complete $way
done

# Not all of a library can be read: its file was cut off behind the code, or the program has hidden pages.
for ((i = 0; i < 4; i++)); do
	FXT_SEED=$((seed + i)) host cut$i "$apps/host_loader" cut "$plugin"
	complete cut$i
	FXT_SEED=$((seed + i)) host hide$i "$apps/host_loader" hide "$plugin"
	complete hide$i
done

# -- Allocators ----------------------------------------------------------------------------------------
# The trace has the calls of the heap, or says that they are not recorded.
heap()
{
	local mode

	for mode in $MODES; do
		is "$1, $mode: it is said that the heap is not recorded" "$2" \
			"$(fxt dump "$1.$mode"/*.fxt | grep -c 'agent:unseen.*malloc is defined')"
		is "$1, $mode: blocks of 20001 bytes" "$3" \
			"$(trace calls "$1.$mode"/*.fxt | grep -c '^malloc:malloc .* size=20001 ')"
	done
}
host malloc "$apps/host_malloc"
heap malloc 0 3002
host own_malloc "$apps/host_own_malloc"
heap own_malloc 1 0
for library in jemalloc tcmalloc; do
	if ! $CC -D_GNU_SOURCE -I "$abs_top_srcdir" -fno-builtin -pthread -o with_$library \
		"$abs_top_srcdir/tests/apps/host_malloc.c" -Wl,--no-as-needed -l$library 2>/dev/null; then
		echo "no lib$library here: left out"
		continue
	fi
	host $library ./with_$library
	heap $library 0 3002
done

# The agent starts within an allocator's lock, and more libraries are loaded than it can list. compiled OUTPUT
# FLAGS... makes the library or the program for that.
RANDOM=$seed
compiled()
{
	$CC -D_GNU_SOURCE -I "$abs_top_srcdir" -fno-builtin -pthread \
		"$abs_top_srcdir/tests/apps/host_locked.c" -o "$@" || fail "cannot compile $*"
}
compiled liblocked.so -shared -fPIC -DLIBRARY
echo | $CC -shared -x c -o empty.so -
for least in 25 100; do
	libraries=
	for i in $(seq $((least + RANDOM % 40))); do
		cp empty.so lib${least}_$i.so
		libraries+=" -l${least}_$i"
	done
	for call in 'syscall(SYS_gettid)' 'mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)' \
		'pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex)'; do
		name=locked_${call%%(*}_$i
		compiled "$name" -D"CALL=$call" -L. -Wl,--no-as-needed -llocked $libraries \
			-Wl,-rpath,'$ORIGIN'
		host "$name" "./$name"
		complete "$name"
	done
done

# Fork handlers may be registered before the agent's constructor runs; the calls that they make are in the
# trace.
handlers=$abs_top_srcdir/tests/apps/host_handlers.c
$CC -D_GNU_SOURCE -I "$abs_top_srcdir" -pthread -shared -fPIC -DLIBRARY "$handlers" -o libhandlers.so &&
	$CC "$handlers" -o handlers -L. -lhandlers -Wl,-rpath,'$ORIGIN' ||
	fail "cannot compile host_handlers.c"
host handlers ./handlers
complete handlers

# Valgrind replaces functions of the C library with its own, and reports a read of the word in front of a
# block as a fault.
if command -v valgrind >/dev/null; then
	MODES=streaming host valgrind valgrind -q --error-exitcode=9 "$apps/host_malloc"
	grep -q "^marks" valgrind.bare || fail "valgrind: the program does not run"
	# Its tools for races do not know what is atomic, so they are told to pass over the agent.
	printf '{\n %s\n %s\n obj:*libfxtagent.so*\n}\n' races Helgrind:Race conflicts drd:ConflictingAccess \
		>suppressions
	for tool in helgrind drd; do
		traced $tool valgrind -q --tool=$tool --suppressions=suppressions --error-exitcode=9 \
			"$apps/spends" 3 $((1000 + seed % 2000)) </dev/null >/dev/null 2>$tool.err
		is "valgrind, $tool: exit status" 0 $?
		is "valgrind, $tool: what it says" "" "$(cat $tool.err)"
		valid $tool/*.fxt
	done
else
	echo "no valgrind here: left out"
fi

# -- Names ---------------------------------------------------------------------------------------------
# The program defines functions that the agent imports from the C library; the agent calls none of them.
nm -D --defined-only "$(ldd "$FXT_AGENT" | sed -n 's/.*=> \(.*libc\.so\.6\) .*/\1/p')" |
	sed -n 's/.* [TWi] \([^@]*\).*/\1/p' | sort -u >functions
nm -D --undefined-only "$FXT_AGENT" | sed -n 's/.* U \([^@]*\).*/\1/p' | sort -u >imports
comm -12 functions imports >names
test "$(wc -l <names)" -gt 20 || fail "the agent's imports are not known"
while read -r name; do
	printf 'void %s(void);\nvoid %s(void) { __builtin_trap(); }\n' "$name" "$name"
done <names >names.c
$CC -w -fno-builtin -fno-tree-loop-distribute-patterns -D_GNU_SOURCE -rdynamic -pthread \
	-o names_program "$abs_top_srcdir/tests/apps/host_names.c" names.c ||
	fail "cannot compile the names"
FXT_CATEGORIES='#default,sched' host names_program ./names_program
complete names_program

# A library that fakes the time is preloaded before the agent or behind it. The program sees the faked time,
# and the trace has the real one.
faketime=$(ls /usr/lib/*/faketime/libfaketime.so.1 2>/dev/null | head -n 1)
boot_ns()
{
	python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_BOOTTIME))'
}
if test -n "$faketime"; then
	for preload in "$FXT_AGENT $faketime" "$faketime $FXT_AGENT"; do
		rm -rf faked && mkdir faked
		before_ns=$(boot_ns)
		is "faketime: year" 2001 \
			"$(env LD_PRELOAD="$preload" FAKETIME='@2001-02-03 04:05:06' \
				FXT_OUTPUT="$scratch/faked/%e.%p.fxt" date -u +%Y)"
		after_ns=$(boot_ns)
		valid faked/date.*.fxt
		fxt dump --json faked/date.*.fxt | python3 -c '
import json, sys
low, high = map(int, sys.argv[1:])
times = [r["time"] for r in map(json.loads, sys.stdin) if r["type"] == "complete"]
assert times and all(low <= t <= high for t in times), \
    (low, min(times, default=0), max(times, default=0), high)
' "$before_ns" "$after_ns" || fail "faketime: the trace does not have the real time with $preload"
	done
else
	echo "no libfaketime here: left out"
fi

# -- Sanitizers ----------------------------------------------------------------------------------------
# sanitized NAME [ARGUMENT]: compares output, exit status and findings of a bare run with those under fxt
# record. The trace has all marks.
sanitized()
{
	local name=$1 status traced_status
	shift

	bare "./$name" "$@" >bare.out 2>bare.err
	status=$?
	"$FXT" record -q -o $name.fxt -- "./$name" "$@" >traced.out 2>traced.err
	traced_status=$?
	is "fxt record, $name $*: exit status" $status $traced_status
	same "fxt record, $name $*: output" bare.out traced.out
	for log in bare traced; do
		grep '^SUMMARY: ' $log.err >$log.found
	done
	same "fxt record, $name $*: what was found" bare.found traced.found
	valid $name.fxt
	read -r written dropped overwritten _ <<<"$(numbers $name.fxt)"
	is "fxt record, $name $*: marks" "$(sed -n 's/^marks //p' bare.out)" "$written"
	complete "fxt record, $name $*"
}
for kind in address thread leak undefined; do
	# A sanitizer needs its runtime, and some kernels have no place for its memory.
	if ! $CC -D_GNU_SOURCE -I "$abs_top_srcdir" -g -fno-builtin -fsanitize=$kind -pthread \
		-o sanitized_$kind \
		"$abs_top_srcdir/tests/apps/host_sanitized.c" 2>/dev/null ||
		! bare ./sanitized_$kind 2>/dev/null | grep -q '^marks'; then
		echo "no program with the $kind sanitizer runs here: left out"
		continue
	fi
	sanitized sanitized_$kind
	sanitized sanitized_$kind and-fail
	test $kind = undefined || test -s bare.found ||
		fail "sanitized_$kind found nothing: $(head -n 3 bare.err)"
	is "fxt record, sanitized_$kind: what children are preloaded with" "$FXT_AGENT" \
		"$("$FXT" record -q -o child.fxt -- ./sanitized_$kind child)"
	# If the agent is preloaded by hand, the address sanitizer has to be told to accept that.
	ASAN_OPTIONS=verify_asan_link_order=0 host preloaded_$kind ./sanitized_$kind
	complete preloaded_$kind
done
