#!/bin/bash
# The hostile condition here is that system calls are forbidden after the start (hosts_lib.sh).
# shellcheck source=hosts_lib.sh
. "${abs_top_srcdir:?}/tests/e2e/hosts_lib.sh"

export FXT_BUFFER_SIZE_MB=16 FXT_QUIET=1
bare "$apps/host_seccomp" allow 1 >/dev/null 2>&1
test $? = 17 || skip "this kernel filters no system calls"
for way in kill kill-threads raw-kill least; do
	# In these modes the whole buffer exists before the filter is in force.
	MODES="oneshot circular" host "$way" "$apps/host_seccomp" $way 10000
	complete "$way"
	test $way != raw-kill || continue
	# The ring goes on without any system call, and counts what it overwrites.
	FXT_BUFFER_SIZE_MB=1 MODES=circular host "$way.ring" "$apps/host_seccomp" $way 200000
	test "$overwritten" -gt 0 || fail "$way: the ring has overwritten nothing"
	# Streaming goes on as far as there is room, and counts the rest.
	MODES=streaming host "$way.streaming" "$apps/host_seccomp" $way 200000
	lossy "$way.streaming"
	# A fixed buffer makes no system call either when it is full.
	FXT_BUFFER_SIZE_MB=1 MODES=oneshot host "$way.full" "$apps/host_seccomp" $way 200000
	lossy "$way.full"
done
host refuse "$apps/host_seccomp" refuse 20000
MODES=streaming host refuse.streaming "$apps/host_seccomp" refuse 200000
lossy refuse.streaming
host allow "$apps/host_seccomp" allow 20000
# Threads that begin after the filter have their states too, whatever their sandbox says of memory.
MODES="oneshot circular" host late "$apps/host_seccomp" late 10000
complete late
MODES="streaming oneshot circular" host browser "$apps/host_seccomp" browser 1000
complete browser
# Where nothing may be mapped, a thread beyond those that memory was kept for loses what it does, and the
# report says why.
MODES="oneshot circular" host crowd "$apps/host_seccomp" crowd 100
lossy crowd
for trace in crowd.*/host_seccomp.*.fxt; do
	"${FXT:?}" report "$trace" | grep -q "^LOST: .*no memory for the state of one more thread" ||
		fail "crowd: the report does not say why records of $trace are lost"
done
host asks "$apps/host_seccomp" asks 20000
complete asks
host talk "$apps/host_seccomp" talk 20000
MODES=streaming host allow.streaming "$apps/host_seccomp" allow 100000
complete allow.streaming

# A filter stays in force over exec, and the program that is executed knows of it.
for ((i = 0; i < 20; i++)); do
	FXT_SEED=$((seed + i)) FXT_OUTPUT="$PWD/handed.%e.%p.fxt" LD_PRELOAD="$FXT_AGENT" \
		"$apps/host_filtered" cat /dev/null >handed.out 2>&1
	is "handed on, FXT_SEED=$((seed + i)): exit status" 0 $?
done
rm -f handed.*

# A request of the user's comes while the agent may not ask whose process this is. It is in vain, and the
# program goes on; otherwise the first one would take the handler away, and the second one kill.
FXT_SIGNAL=SIGUSR2 FXT_BUFFERING_MODE=circular traced requests \
	"$apps/host_seccomp" requests 100 >requests.out 2>&1
is "requests: exit status" 17 $?

# Strict mode forbids reading the clock too. The trace ends there, and says so.
for mode in $MODES; do
	FXT_BUFFERING_MODE=$mode traced strict.$mode \
		"$apps/host_seccomp" strict 20000 >strict.out 2>strict.err
	is "strict, $mode: exit status" 21 $?
	is "strict, $mode: output" "marks 20010" "$(cat strict.out)"
	is "strict, $mode: stderr" "" "$(cat strict.err)"
	valid strict.$mode/*.fxt
	read -r written _ <<<"$(numbers strict.$mode/*.fxt)"
	is "strict, $mode: marks before it" 10 "$written"
	is "strict, $mode: reasons" 1 \
		"$(fxt dump strict.$mode/*.fxt | grep -c 'agent:unseen.*strict seccomp mode')"
done
host tsc "$apps/host_seccomp" tsc 1000
complete tsc
# Some of the program's threads may not read the counter while others may. The report says what is not seen.
for ((i = 0; i < 5; i++)); do
	FXT_SEED=$((seed + i)) host tscs$i "$apps/host_seccomp" tscs 1000
	for trace in tscs$i.streaming/*.fxt; do
		"$FXT" report "$trace"
	done >tscs$i.reports
	grep -q "^NOT SEEN: .* may not read the TSC" tscs$i.reports ||
		fail "tscs, FXT_SEED=$((seed + i)): no report says what is not seen"
done
# Filters that look at what is passed.
host how "$apps/host_seccomp" how 10000
complete how

# The manager saves the memory as it fills, though the program may say and hear nothing. More is recorded than
# half of that memory, 16 MiB, has room for. What has no room is counted.
for way in allow talk kill kill-threads refuse; do
	"$FXT" record -o managed.fxt -- "$apps/host_seccomp" $way 300000 >managed.out 2>managed.err
	is "$way under a manager: exit status" 17 $?
	valid managed.fxt
	read -r written dropped _ <<<"$(numbers managed.fxt)"
	made=$(sed -n 's/^marks //p' managed.out)
	if test "$dropped" = 0; then
		is "$way under a manager: marks" "$made" "$written"
	elif test "$written" -gt "$made" || test $((written + dropped)) -lt "$made"; then
		fail "$way under a manager: marks: made $made, written $written, dropped $dropped"
	fi
	test "$(stat -c %s managed.fxt)" -gt $((20 << 20)) || fail "$way under a manager: $(cat managed.err)"
done
