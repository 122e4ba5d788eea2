# This suite runs stress-ng's stressors one after another, for two seconds each. Some create thousands of
# processes.

stress_classes='pthread fork vfork clone pipe malloc mutex sem sem-sysv signal sigpending sigq sigfd sigio
	sigsegv dup close poll epoll context stack switch brk mmap mremap msg sock sockpair eventfd timerfd
	nanosleep aio fcntl flock exec daemon zombie wait spawn tee splice vm-splice sendfile usersyscall
	sigabrt sigchld sigpipe sigrt sigsuspend sigtrap kill stackmmap get set membarrier mq fstat fpunch dir
	itimer futex memfd mprotect pty lockf lease udp'
modes='streaming circular'
size=4

# A result is stress-ng's exit status, and its messages about success, failures and skipped stressors.
run_stress()
{
	local class

	need stress-ng
	for class in ${STRESS_CLASSES:-$stress_classes}; do
		program timeout -k 10 60 stress-ng --"$class" 1 --verify --timeout 2s >log 2>&1
		printf '%s\t%d' "$class" $?
		sed -n 's/^stress-ng: \([a-z]*\): *\[[0-9]*\] /\1 /p' log |
			grep -E 'fail|skipped|success' |
			sed -E 's/[0-9.]+s\>/s/g; s/0x[0-9a-f]+/0x/g; s/^/\t/' | tr -d '\n'
		echo
		cat log >&2
		check_traces 10
	done
}
