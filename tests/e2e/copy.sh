#!/bin/bash
# This script copies the trace of a running program with cp at random moments, in streaming and in oneshot
# mode. Each copy is valid. FXT_COPIES says how many there are. After four copies a new program is started, so
# that the files stay small.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"

copies=${FXT_COPIES:-40}
export FXT_QUIET=1 FXT_MAX_SIZE_MB=64 FXT_BUFFER_SIZE_MB=16

# copies_of MODE COUNT CMD...: checks COUNT copies of CMD's trace.
copies_of()
{
	local mode=$1 count=$2 done=0 n
	shift 2

	while test $done -lt "$count"; do
		rm -rf trace copy.*
		export FXT_SEED=$((seed + done))
		FXT_BUFFERING_MODE=$mode start_traced trace "$@"
		for n in 1 2 3 4; do
			sleep "0.00$(random_below 10)"
			cp trace/*.fxt copy.$n || fail "$mode: cannot copy"
		done
		kill_background
		valid --copy copy.1 copy.2 copy.3 copy.4
		done=$((done + 4))
		give_up_if_hopeless
	done
	echo "$done copies of ${1##*/} in $mode mode"
}

copies_of streaming $(((copies + 1) / 2)) "$apps/busy"
copies_of oneshot $(((copies + 1) / 2)) "$apps/busy"
# These programs also write records about objects that come and go.
copies_of streaming $(((copies + 3) / 4)) "$apps/owns" forever
copies_of oneshot $(((copies + 3) / 4)) "$apps/owns" forever
