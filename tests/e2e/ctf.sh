#!/bin/bash
# A CTF directory has all that its trace has, babeltrace2 says nothing about it, and views of Trace Compass
# find what they are made of. What was lost is said, a packet can go, and nothing half-written is left.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3 babeltrace2

ctf()
{
	python3 "$abs_top_srcdir/tests/e2e/ctf.py" "$@" || fail "ctf.py $*"
}

# dropped_by FILE: prints how many events the trace lacks, by its own ledger.
dropped_by()
{
	fxt report --json --all "$1" | python3 -c '
import json, sys
def find(value, key):
    if isinstance(value, dict):
        if key in value:
            return value[key]
        value = list(value.values())
    for item in value if isinstance(value, list) else []:
        found = find(item, key)
        if found is not None:
            return found
report = json.load(sys.stdin)
print(sum(find(report, key) for key in ("dropped", "overwritten", "kernel_lost")))'
}

# converted FILE [NAME]: converts a trace into NAME.ctf, and compares all.
converted()
{
	local file=$1 name=${2-same}
	local directory=$name.ctf

	rm -rf "$directory"
	"$FXT" convert --to=ctf -o "$directory" "$file" >out 2>said || fail "$file: $(cat said)"
	lost=$(dropped_by "$file")
	note=
	test "$lost" = 0 || note="; $lost events were lost while it was recorded, and readers say when"
	test "$lost" != 1 || note="; 1 event was lost while it was recorded, and readers say when"
	is "$file: what is said" "fxt: $file -> $directory$note" \
		"$(cat out said | sed ':a; s/\([0-9]\) \([0-9]\)/\1\2/; ta')"
	ctf same "$FXT" "$file" "$directory" "$seed" >sums
	read -r events arguments <sums
	test "${events:-0}" -gt 0 || fail "$file: no events"
	echo "$name: $events events, arguments of $arguments compared"
	ctf packets "$directory" >packets
	is "$file: discarded events" "$lost" "$(ctf discarded "$directory")"
}

# -- Odd traces, programs of this tree and others ------------------------------------------------------

for i in 1 2 3; do
	python3 "$abs_top_srcdir/tests/e2e/odd.py" $((seed + i)) >odd.fxt || fail "odd.py"
	converted odd.fxt odd.$i
done

programs=(count_calls count_io count_net count_paths count_signals count_threads call_trees chain coroutines
	workers sequence allocates parents count_pages)
for i in 1 2 3; do
	program=${programs[$(random_below ${#programs[@]})]}
	"$FXT" record -q -o app.fxt -- "$apps/$program" >/dev/null 2>&1 </dev/null ||
		fail "$program: exit status $?"
	valid app.fxt
	converted app.fxt "$program"
	ctf nesting "$program.ctf" >deepest
	between "$program: how deep calls nest" 1 512 "$(cat deepest)"
done

"$FXT" record -q --ctf -o run.fxt -- sh -c 'ls / | sort >list; dd if=list of=copy 2>said
	kill -9 $$' >/dev/null 2>&1
is "a killed shell: exit status" 137 $?
mv run.ctf by-record.ctf
converted run.fxt run
for file in by-record.ctf/*/*; do
	same_some "record --ctf: $file" "$file" "run.ctf/${file#*/}"
done
ctf metadata run.ctf >views
cat >fn.c <<'END'
#include <stdlib.h>
static int work(int n) { free(malloc(n + 1)); return n < 2 ? n : work(n - 1) + work(n - 2); }
int main(int argc, char **argv) { (void)argv; return work(10 + argc) == 0; }
END
if ${CC:-cc} -finstrument-functions -o fn fn.c 2>/dev/null; then
	"$FXT" record -q -o fn.fxt -- ./fn
	converted fn.fxt fn
	ctf metadata fn.ctf >views
	ctf nesting fn.ctf >deepest
	between "functions nest so deep" 11 14 "$(cat deepest)"
	calls=$(fxt dump --json fn.fxt | grep -c '"type":"complete".*"category":"function"')
	grep -q "lttng_ust_cyg_profile:func_entry=$calls lttng_ust_cyg_profile:func_exit=$calls " views ||
		fail "functions of views: $(cat views)"
	is "functions with an address" 2 "$(grep -c ' T ' fn.ctf/functions.map)"
fi

# -- All that a trace may come as ----------------------------------------------------------------------

ctf metadata odd.1.ctf >views

mkdir parts
traced parts sh -c 'true; ls >/dev/null'
"$FXT" convert -q --to=ctf -o parts.ctf parts 2>said || fail "a directory: $(cat said)"
cp -r parts kept
"$FXT" merge -q -o merged.fxt run.fxt odd.fxt 2>said || fail "merge: $(cat said)"
converted merged.fxt merged
if "$FXT" record -q --compress -o packed.fxt.zst -- ls >/dev/null 2>&1; then
	converted packed.fxt.zst packed
fi
python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); import hostile
sys.stdout.buffer.write(hostile.HEAD)' "$abs_top_srcdir/tests/e2e" >none.fxt
converted none.fxt none

# -- Losses --------------------------------------------------------------------------------------------

for mode in oneshot circular; do
	rm -rf lossy
	FXT_BUFFERING_MODE=$mode FXT_BUFFER_SIZE_MB=1 traced lossy "$apps/count_calls" locks 4 $((20000 +
		$(random_below 40000))) >/dev/null 2>&1
	file=$(only lossy/*.fxt) || continue
	lost=$(dropped_by "$file")
	test "$lost" -gt 0 || fail "$mode: nothing was lost"
	converted "$file" $mode
	babeltrace2 $mode.ctf 2>said >/dev/null
	is "$mode: what babeltrace2 says was lost" "$lost" \
		"$(awk '/Tracer discarded [0-9]+ event/ { sub(/.*discarded /, ""); n += $1 }
			END { print n + 0 }' said)"
done
for i in 1 2; do
	python3 "$abs_top_srcdir/tests/e2e/odd.py" $((seed + i)) losses >windows.fxt || fail "odd.py"
	converted windows.fxt windows
	count=$(ctf windows "$FXT" windows.fxt windows.ctf)
	between "windows of losses" 1 4000 "$count"
done

# -- A packet that is gone -----------------------------------------------------------------------------

"$FXT" record -q -o large.fxt -- "$apps/count_calls" locks 2 20000 >/dev/null 2>&1
converted large.fxt large
before=$(babeltrace2 large.ctf 2>/dev/null | wc -l)
cut=$(ctf cut large.ctf "$seed")
is "streams that a packet was taken out of" "$(find large.ctf -name '*_*' | wc -l)" "$cut"
babeltrace2 large.ctf >after 2>said || fail "babeltrace2 does not read what is left: $(cat said)"
is "packets that babeltrace2 misses" "$cut" "$(grep -c 'discarded [0-9]* packet' said)"
between "events of what is left" 1 $((before - 1)) "$(wc -l <after)"

# -- What is refused -----------------------------------------------------------------------------------

# refused WHAT COMMAND...: checks that the command fails with one line, and leaves nothing behind.
refused()
{
	local what=$1 before status
	shift

	before=$(ls -A)
	"$@" >refusal 2>&1
	status=$?
	is "$what: exit status" 1 $status
	is "$what: lines" 1 "$(wc -l <refusal)"
	is "$what: files" "$before" "$(ls -A)"
}

: >refusal
: >cut.fxt
: >bad.fxt
size=$(stat -c %s run.fxt)
for i in 1 2 3; do
	head -c $((size / 8 * 8 - 8 * (1 + $(random_below 1000)) - 1 - $(random_below 6))) run.fxt >cut.fxt
	refused "a trace that is cut" "$FXT" convert --to=ctf cut.fxt
	# Zeros are a record of no size.
	cp run.fxt bad.fxt
	at=$((size / 32 + $(random_below 100)))
	head -c $((size / 2)) /dev/zero | dd of=bad.fxt bs=8 seek=$at conv=notrunc 2>/dev/null
	refused "a trace with zeros in it" "$FXT" convert --to=ctf bad.fxt
done
for i in 1 2 3 4 5 6 7 8; do
	python3 - run.fxt bad.fxt $((seed + i)) <<'END'
import random, sys
rnd, data = random.Random(int(sys.argv[3])), bytearray(open(sys.argv[1], "rb").read())
for _ in range(rnd.randrange(1, 20)):
    data[rnd.randrange(16, len(data))] = rnd.randrange(256)
open(sys.argv[2], "wb").write(data)
END
	rm -rf bad.ctf
	if "$FXT" convert -q --to=ctf bad.fxt 2>refusal; then
		babeltrace2 bad.ctf >/dev/null 2>said || fail "fuzz $((seed + i)): $(cat said)"
		count comparison
	else
		is "fuzz $((seed + i)): status and lines" "1 1" "$? $(wc -l <refusal)"
		test ! -e bad.ctf || fail "fuzz $((seed + i)): a directory is left"
	fi
done
rm -rf bad.ctf

refused "a directory that exists" "$FXT" convert --to=ctf -o run.ctf run.fxt
refused "a directory that exists" "$FXT" convert --to=ctf run.fxt
"$FXT" convert -q --to=ctf --force run.fxt || fail "--force: exit status $?"
for file in by-record.ctf/*/*; do
	same_some "--force: $file" "$file" "run.ctf/${file#*/}"
done
refused "a directory that is no conversion" "$FXT" convert --to=ctf --force -o parts run.fxt
refused "a file" "$FXT" convert --to=ctf --force -o list run.fxt
refused "no folder to write to" "$FXT" convert --to=ctf -o none/x.ctf run.fxt
refused "a limit of files" bash -c 'ulimit -f 8; exec "$@"' bash \
	"$FXT" convert --to=ctf -o limited.ctf run.fxt
is "the parts are as they were" "" "$(diff -r parts kept)"
"$FXT" convert --to=nothing run.fxt 2>said
is "a form that is none: exit status" 2 $?
"$FXT" convert --help >help
grep -q '^  ctf ' help || fail "--help lists no form"

mkdir small
if test "$(id -u)" = 0 && mount -t tmpfs -o size=64k none small 2>/dev/null; then
	"$FXT" convert --to=ctf -o small/full.ctf large.fxt >refusal 2>&1
	is "a full file system: status, lines and files" "1 1 " "$? $(wc -l <refusal) $(ls -A small)"
	grep -q 'No space left' refusal || fail "a full file system: $(cat refusal)"
	umount small
fi

# A signal ends it, and nothing is left.
"$FXT" convert --to=ctf -o signalled.ctf large.fxt 2>said &
background=$!
until_deadline eval 'compgen -G "signalled.ctf*" >found || ! kill -0 $background 2>/dev/null'
kill -TERM $background 2>/dev/null
wait $background
status=$?
background=
case $status in
0) test -d signalled.ctf || fail "it was done, but there is nothing" ;;
*) is "after a signal: status and files" "143 " "$status $(compgen -G 'signalled.ctf*')" ;;
esac
