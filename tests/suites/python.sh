# This suite is CPython's own tests of what the agent interposes, from Debian's libpython3.11-testsuite.

# These tests hang on some kernels without any tracing.
python_ignored='*VSOCK*'
python_tests='test_threading test_threading_local test_threadsignals test_thread test_subprocess test_os
	test_posix test_socket test_signal test_mmap test_io test_fileio test_select test_poll
	test_epoll test_selectors test_fork1 test_wait3 test_wait4 test_pty test_ioctl test_fcntl
	test_resource test_eintr test_tempfile test_multiprocessing_fork'

run_python()
{
	local test

	/usr/bin/python3 -c 'import test.test_threading' || absent 'testsuite of /usr/bin/python3'
	for test in ${PYTHON_TESTS:-$python_tests}; do
		program timeout -k 10 400 /usr/bin/python3 -m test -v --ignore="$python_ignored" "$test" \
			>log 2>&1
		printf '%s\t%d\n' "$test" $?
		# A line reads "name (class) ... result". The test's description and what it prints may come
		# before the result, on further lines.
		awk '/^[A-Za-z0-9_]+ \([A-Za-z0-9_]+\.[A-Za-z0-9_.]+\)/ { name = $1 " " $2 }
			name && match($0,
				/(^| )(ok|FAIL|ERROR|skipped .*|expected failure|unexpected success)$/) {
				result = substr($0, RSTART + (substr($0, RSTART, 1) == " "))
				gsub(/[0-9][0-9][0-9]+/, "N", result)
				print name "\t" result
				name = ""
			}' log
		cat log >&2
	done
}
