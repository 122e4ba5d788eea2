#!/bin/bash
# The hostile conditions here are about how a process starts and forks, its directory and user, its messages,
# bad pointers, and descriptors that it closes or takes from the agent (hosts_lib.sh).
# shellcheck source=hosts_lib.sh
. "${abs_top_srcdir:?}/tests/e2e/hosts_lib.sh"

# -- Start ---------------------------------------------------------------------------------------------
host start "$apps/host_start"
complete start

# -- Processes -----------------------------------------------------------------------------------------
FXT_QUIET=1 host locks "$apps/host_process" locks
# The children are killed in the middle of any call.
vforks=$((30 + $(random_below 60)))
test -z "${FXT_FULL-}" || vforks=400
EXPECT=' is full at ' host vforks "$apps/host_vforks" $vforks
EXPECT=' is full at ' FXT_STORAGE=memory host vforks.memory "$apps/host_vforks" $((vforks / 2))
host shell "$apps/host_process" shell
complete shell
for mode in $MODES; do
	is "shell, $mode: traces of shells" 5 "$(ls shell.$mode/sh.* | wc -l)"
	is "shell, $mode: traces of grandchildren and their parent" 3 \
		"$(ls shell.$mode/host_process.* | wc -l)"
done
host daemon "$apps/host_process" daemon "$scratch/daemon.result"
complete daemon
is "daemon" "directory /, descriptor 0, session leader 1" \
	"$(sed 's/descriptor [0-9]*/descriptor 0/' daemon.result)"

# -- Place ---------------------------------------------------------------------------------------------
# A mark takes 24 bytes, and the marks take more than the room that the file has at the start.
place()
{
	mkdir -p "elsewhere/$1/below"
	chmod 755 "$scratch" elsewhere "elsewhere/$1"
	host "$@"
}
export FXT_BUFFER_SIZE_MB=16
place chdir "$apps/host_process" chdir elsewhere/chdir/below
complete chdir
place unlinked "$apps/host_process" unlinked "$scratch/elsewhere/unlinked/gone"
complete unlinked
if test "$(id -u)" = 0; then
	# The child of the fork cannot make its file, and says so once.
	EXPECT='cannot write .*; the program runs untraced$'
	place chroot "$apps/host_process" chroot "$scratch/elsewhere/chroot"
	complete chroot
	for mode in $MODES; do
		is "chroot, $mode: lines" 1 "$(grep -c '^fxtagent' chroot.$mode.err)"
	done
	place nobody "$apps/host_process" nobody
	complete nobody
	for mode in $MODES; do
		is "nobody, $mode: lines" 1 "$(grep -c '^fxtagent' nobody.$mode.err)"
	done
	EXPECT=
else
	echo "chroot and setuid are left out: they take root"
fi

# -- Messages -----------------------------------------------------------------------------------------
# The trace gets full, and the agent would say so. Where standard error is a pipe, the agent does say so, and
# is not killed by SIGPIPE.
export FXT_BUFFER_SIZE_MB=1 FXT_MAX_SIZE_MB=1
MODES="streaming oneshot" host stderr.data "$apps/host_stderr" data 30000
lossy stderr.data
MODES="streaming oneshot" host stderr.pipe "$apps/host_stderr" pipe 60000
lossy stderr.pipe
export FXT_BUFFER_SIZE_MB=16
unset FXT_MAX_SIZE_MB

# -- Bad pointers ------------------------------------------------------------------------------------
host pointers "$apps/host_pointers"
complete pointers

# -- Paths that are longer than open() takes ---------------------------------------------------------------
# They are mapped before the agent looks for names. The last ones are longer than the agent reads at once.
host paths "$apps/host_paths" 1000 3000 5000 7000 9000 20000
complete paths
for file in paths.*/*.fxt; do
	fxt dump "$file" | grep 'lock_with_a_name' >/dev/null || fail "paths: $file does not name the lock"
done

# -- What is no block --------------------------------------------------------------------------------
# The program runs with the default for lifetimes of blocks, with one for each block, and with none, where the
# agent asks the allocator nothing.
export FXT_BUFFER_SIZE_MB=1
host frees "$apps/host_frees"
complete frees
FXT_HEAP_TRACK_BYTES=1 host frees.all "$apps/host_frees"
FXT_HEAP_TRACK_BYTES=0 FXT_CATEGORIES=malloc,pthread MODES=streaming host frees.none "$apps/host_frees"
export FXT_BUFFER_SIZE_MB=16

# -- Descriptors ---------------------------------------------------------------------------------------
for way in range from loop dup2 raw unseen; do
	host "fds.$way" "$apps/host_fds" $way 50000
	complete "fds.$way"
done
host fds.list "$apps/host_fds" list 10
complete fds.list
# The program uses the number of the trace's descriptor, and that of a closed one, above its limit and below
# it. This is tried with the category of most of these calls, and without.
for limit in 1024 8192; do
	host "fds.number.$limit" "$apps/host_number" 3 $limit
	complete "fds.number.$limit"
	FXT_CATEGORIES=pthread MODES=streaming host "fds.number.$limit.off" "$apps/host_number" 1 $limit
done
# These calls are recorded with the result that the program saw. One that took long has its stack behind that.
for file in fds.number.8192.streaming/*.fxt fds.number.1024.oneshot/*.fxt; do
	fxt dump "$file" | grep -E ' io:(read|fsync|fdopen|dup|fchdir)  .* (old)?fd=[1-9][0-9]{3} ' >>refused
done
test "$(grep -cE ' errno=9( |$)' refused)" -ge 60 || fail "fds.number: recorded: $(wc -l <refused)"
is "fds.number: recorded as others" 0 "$(grep -vcE ' errno=9( |$)' refused)"
MODES=circular host fds.threads "$apps/host_fds" threads 10
host owned "$apps/host_owned"
grep -c ': [01]$' owned.bare >counted
is "owned: what is there" 10 "$(cat counted)"
# It is up to chance which files are opened beside other threads, and it does not matter. Only a helper that
# has closed all of a descriptor table of its own may open them.
if strace -o /dev/null true 2>/dev/null; then
	FXT_FOLLOW=none FXT_OUTPUT="$scratch/beside.fxt" \
		strace -f -qq -o calls -e trace=clone3,clone,close_range,openat,exit \
		-E LD_PRELOAD="$FXT_AGENT" "$apps/host_fds" threads 10 >/dev/null ||
		fail "fds.threads: exit status $? beside strace"
	# A forked child opens what it needs for itself while it is alone.
	awk 'NR == 1 { one[$1] = 1 }
		/clone3?\(.*CLONE_SETTLS/ { threads = 1 }
		match($0, /parent_tid=\[[0-9]+\]\}/) { one[substr($0, RSTART + 12, RLENGTH - 14)] = 1 }
		/close_range\(0, 4294967295, CLOSE_RANGE_UNSHARE/ { own[$1] = 1 }
		/ exit\(/ && !own[$1] { threads = 0 }
		/statm/ { opened++ }
		threads && one[$1] && /openat.*"\/proc/ && !own[$1] { print "seen by other threads: " $0 }
		END { if (!opened) print "no sample was taken" }' calls >wrong
	same "fds.threads: who opens" /dev/null wrong
fi
