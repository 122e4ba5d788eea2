#!/bin/bash
# The agent answers bad input with one clear line on standard error, or with none where FXT_QUIET=1. The
# program runs on, with the same output and exit status.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"

program=(sh -c 'echo out; echo err >&2; exit 3')

# mistake TEXT VARIABLE=VALUE...: runs a program in this environment, which is wrong; the agent's line has
# TEXT in it.
mistake()
{
	local text=$1 status quiet
	shift

	mkdir -p traces
	for quiet in 0 1; do
		env LD_PRELOAD="$FXT_AGENT" FXT_OUTPUT="$scratch/traces/%e.%p.fxt" FXT_QUIET=$quiet "$@" \
			"${program[@]}" >out 2>err
		status=$?
		is "$text: exit status" 3 $status
		is "$text: output" out "$(cat out)"
		is "$text: the program's stderr" err "$(grep -v '^fxtagent' err)"
		if test $quiet = 1; then
			is "$text: lines with FXT_QUIET=1" 0 "$(grep -c '^fxtagent' err)"
			continue
		fi
		is "$text: lines that name it" 1 "$(grep '^fxtagent\[[0-9]*\]: ' err | grep -c -e "$text")"
		is "$text: lines in all" 1 "$(grep -c '^fxtagent' err)"
	done
	is "$text: traces" "" "$(find traces -type f)"
	rm -rf traces
}

mistake "FXT_CATEGORIES.*'nonsense'" FXT_CATEGORIES=malloc,nonsense
mistake "FXT_CATEGORIES.*'zz\*'" 'FXT_CATEGORIES=zz*'
mistake "FXT_BUFFERING_MODE.*'ring'.*circular" FXT_BUFFERING_MODE=ring
mistake "FXT_BUFFER_SIZE_MB.*'much'" FXT_BUFFER_SIZE_MB=much
mistake "FXT_BUFFER_SIZE_MB.*'0'" FXT_BUFFER_SIZE_MB=0
mistake "FXT_BUFFER_SIZE_MB.*'-1'" FXT_BUFFER_SIZE_MB=-1
mistake "FXT_MAX_SIZE_MB.*'99999999999999999999'" FXT_MAX_SIZE_MB=99999999999999999999
mistake "FXT_MAX_SIZE_MB.*'1M'" FXT_MAX_SIZE_MB=1M
mistake "FXT_THRESHOLD_NS.*'10ms'" FXT_THRESHOLD_NS=10ms
mistake "FXT_EXPLAIN_NS.*'1us'.*nanoseconds" FXT_EXPLAIN_NS=1us
mistake "FXT_HEAP_TRACK_BYTES.*'64K'.*bytes" FXT_HEAP_TRACK_BYTES=64K
mistake "FXT_HEAP_TRACK_BYTES.*'-1'" FXT_HEAP_TRACK_BYTES=-1
for value in src/a.out a, ,a '[a' 'x[!]' all,none 'none,a' child:; do
	mistake "FXT_FOLLOW.*all, none, or names" "FXT_FOLLOW=$value"
done
mistake "FXT_OUTPUT.*%q" "FXT_OUTPUT=$scratch/%q.fxt"
mistake "FXT_OUTPUT.*%" "FXT_OUTPUT=$scratch/%"
mistake "$scratch/nowhere.*No such file" "FXT_OUTPUT=$scratch/nowhere/%e.fxt"
long=$(printf 'x%.0s' {1..5000})
mistake "FXT_OUTPUT" "FXT_OUTPUT=$scratch/$long"

# The agent reports all of several mistakes at once.
env LD_PRELOAD="$FXT_AGENT" FXT_CATEGORIES=nonsense FXT_BUFFERING_MODE=ring FXT_THRESHOLD_NS=x true 2>err
is "three mistakes: lines that name one" 3 "$(grep -c '^fxtagent.*FXT_' err)"

# -- The environment's mistakes ------------------------------------------------------------------------

# A directory cannot be written. Root can write everywhere, so the program runs as nobody.
mkdir closed && chmod 555 closed
if test "$(id -u)" != 0; then
	mistake "closed.*Permission denied" "FXT_OUTPUT=$scratch/closed/%e.fxt"
elif command -v setpriv >/dev/null; then
	chmod 755 "$scratch"
	cp "$FXT_AGENT" agent.so && chmod 755 agent.so
	program=(setpriv --reuid 65534 --regid 65534 --clear-groups env LD_PRELOAD="$scratch/agent.so"
		FXT_OUTPUT="$scratch/closed/%e.fxt" "${program[@]}")
	mkdir -p traces
	for quiet in 0 1; do
		FXT_QUIET=$quiet "${program[@]}" >out 2>err
		is "unwritable directory: exit status" 3 $?
		is "unwritable directory: output" out "$(cat out)"
		is "unwritable directory: lines" $((1 - quiet)) \
			"$(grep -c '^fxtagent.*closed.*Permission denied' err)"
		is "unwritable directory: lines in all" $((1 - quiet)) "$(grep -c '^fxtagent' err)"
	done
	is "unwritable directory: files" "" "$(ls -A closed)"
fi

# A symbolic link in the file's place is not followed, and not replaced.
: >elsewhere
ln -s "$scratch/elsewhere" link.fxt
env LD_PRELOAD="$FXT_AGENT" FXT_OUTPUT="$scratch/link.fxt" "$apps/sequence" 10 2>err
is "symbolic link: exit status" 0 $?
test -L link.fxt || fail "symbolic link: it was replaced"
is "symbolic link: bytes written behind it" 0 "$(stat -c %s elsewhere)"
valid link.1.fxt

# A file that exists is not replaced either.
echo precious >there.fxt
env LD_PRELOAD="$FXT_AGENT" FXT_OUTPUT="$scratch/there.fxt" "$apps/sequence" 10 2>err
is "existing file" precious "$(cat there.fxt)"
valid there.1.fxt
is "mode of the trace" 600 "$(stat -c %a there.1.fxt)"

# One limit on the size of files is too small for any trace; the trace meets the other while it grows. The
# unit is 1024 bytes.
for limit in 100 2000; do
	(
		ulimit -f $limit
		env LD_PRELOAD="$FXT_AGENT" FXT_OUTPUT="$scratch/limit.$limit.fxt" \
			"$apps/sequence" 200000 2>err
	)
	is "file size limit of $limit KiB: exit status" 0 $?
	is "file size limit of $limit KiB: lines" 1 "$(grep -c '^fxtagent' err)"
	test $limit = 100 || valid "$scratch/limit.$limit.fxt"
done
test ! -e limit.100.fxt || fail "a trace that cannot be written was left behind"
if command -v python3 >/dev/null; then
	lost=$(trace lost limit.2000.fxt | sed -n 's/^dropped //p')
	read -r _ _ written <<<"$(trace sequence limit.2000.fxt)"
	frees=$(trace counts limit.2000.fxt | sed -n 's/^malloc:free //p')
	is "file size limit: written and dropped" 400000 $((written + frees + lost))
fi

# The file system is full, where one can be mounted.
mkdir -p small
if test "$(id -u)" = 0 && mount -t tmpfs -o size=2m none small 2>/dev/null; then
	env LD_PRELOAD="$FXT_AGENT" FXT_OUTPUT="$scratch/small/trace.fxt" "$apps/sequence" 200000 2>err
	is "full file system: exit status" 0 $?
	is "full file system: lines" 1 "$(grep -c '^fxtagent.*cannot grow' err)"
	cp small/trace.fxt full.fxt && valid full.fxt
	for mode in oneshot circular streaming; do
		dd if=/dev/zero of=small/rest bs=64k 2>/dev/null
		FXT_BUFFERING_MODE=$mode env LD_PRELOAD="$FXT_AGENT" FXT_OUTPUT="$scratch/small/none.fxt" \
			"${program[@]}" >out 2>err
		is "no room at all, $mode: exit status" 3 $?
		is "no room at all, $mode: output" out "$(cat out)"
		is "no room at all, $mode: trace" no "$(test -e small/none.fxt && echo yes || echo no)"
	done
	umount small
fi
