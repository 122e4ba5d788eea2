#!/bin/bash
# This test runs `make expand CALL=NAME`, with a formatter and without. It prints the wrapper that a row
# becomes, or one line that says what is wrong.
set -u
export LC_ALL=C
build=${abs_top_builddir:?}
failed=0

expand() {
	${MAKE:-make} -s -C "$build" --no-print-directory expand "$@" 2>&1
}

# expect CALL TEXT...: fails unless the expansion of CALL has each of the texts.
expect() {
	local call=$1 text out
	shift
	for format in clang-format no-such-formatter; do
		out=$(FORMAT=$format expand CALL="$call")
		for text in "$@"; do
			grep -qF -- "$text" <<< "$out" ||
				{ echo "FAIL: expand CALL=$call ($format): no '$text' in: ${out:0:300}";
				  failed=1; }
		done
	done
}

expect read 'real_read(fxt_descriptor_given(fd), buf, count)' 'fxt_has_read(' 'special_read(' 'numbered_read('
# The example in engine.h says this.
expect fsync 'first_fsync' 'real_fsync(fxt_descriptor_given(fd))' 'fxt_put_int(at_, FXT_STR_fd,' \
	'fxt_end(thread_, open_)'
expect pthread_mutex_lock 'result_ = real_pthread_mutex_trylock(mutex);'
expect __read_chk 'real___read_chk('
expect tkill 'numbered_tkill('

out=$(expand CALL=no_such_call)
grep -q "^expand: no row of interpose/.* is named 'no_such_call'" <<< "$out" || {
	echo "FAIL: an unknown call: $out"; failed=1; }
out=$(expand CALL=sem_open)
grep -q '^expand: sem_open is written by hand, in interpose/threads/pthread.c$' <<< "$out" || {
	echo "FAIL: a call without a row: $out"; failed=1; }
expand | grep -qx read || { echo "FAIL: read is not in the list of names"; failed=1; }
[ "$failed" != 0 ] ||
	echo "the expansions of $(grep -c '^expect ' \
		"${abs_top_srcdir:?}/tests/check_expand.sh") calls have what they should"
exit "$failed"
