#!/bin/bash
# A CTF directory has all that its trace has, babeltrace2 says nothing about it, and views of Trace Compass
# find what they are made of. What was lost is said, a packet can go, and nothing half-written is left.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
# shellcheck source=ctf_lib.sh
. "$abs_top_srcdir/tests/e2e/ctf_lib.sh"
need python3 babeltrace2

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
static int work(int n) { free(malloc(n * 100000 + 1)); return n < 2 ? n : work(n - 1) + work(n - 2); }
int main(int argc, char **argv) { (void)argv; return work(10 + argc) == 0; }
END
# Its addresses are those of the file, which says that it cannot lie elsewhere.
if ${CC:-cc} -no-pie -finstrument-functions -o fn fn.c 2>/dev/null; then
	"$FXT" record -q -o fn.fxt -- ./fn
	converted fn.fxt fn
	ctf metadata fn.ctf >views
	ctf nesting fn.ctf >deepest
	between "functions nest so deep" 11 14 "$(cat deepest)"
	calls=$(fxt dump --json fn.fxt | grep -c '"type":"complete".*"category":"function"')
	grep -q "lttng_ust_cyg_profile:func_entry=$calls lttng_ust_cyg_profile:func_exit=$calls " views ||
		fail "functions of views: $(cat views)"
	ctf addresses fn.ctf >files
	grep -q ' fn=[1-9]\|^fn=[1-9]' files || fail "no event of fn is in it: $(cat files)"
	is "functions with an address" 2 "$(grep -c ' T ' fn.ctf/functions.map)"
fi

# What a program loads is told when it loads it, with its build id and the name of its debug information.
cat >plugin.c <<'END'
#include <stdlib.h>
void *get(int n);
void *get(int n) { return malloc(n); }
END
cat >loads.c <<'END'
#include <dlfcn.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	void *handle = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void *(*get)(int) = handle ? (void *(*)(int))dlsym(handle, "get") : NULL;

	for (int i = 1; get && i < 100; i++)
		free(get(100000 * i));
	return !get;
}
END
if ${CC:-cc} -g -shared -fPIC -Wl,--build-id -o plugin.so plugin.c && ${CC:-cc} -o loads loads.c -ldl; then
	objcopy --only-keep-debug plugin.so plugin.debug
	objcopy --strip-debug --add-gnu-debuglink=plugin.debug plugin.so
	"$FXT" record -q -o loads.fxt -- ./loads ./plugin.so || fail "loads: exit status $?"
	converted loads.fxt loads
	babeltrace2 loads.ctf >printed
	is "the plugin in the dump" 0 "$(grep -c 'bin_info:.*plugin.so' printed)"
	id=$(readelf -n plugin.so | sed -n 's/.*Build ID: //p' | sed 's/../0x&\n/g' |
		while read -r byte; do test -z "$byte" || printf '0x%X ' "$byte"; done)
	is "the plugin" "dlopen load build_id debug_link, $id" \
		"$(grep -E ' (dlopen:|lttng_ust_lib:)' printed |
			sed -E 's/.* (lttng_ust_lib:|)(dlopen|load|build_id|debug_link): .*/\2/' | xargs), $(
			sed -n '/lib:build_id/s/.*build_id = \[ \(.*\) \].*/\1/p' printed |
			sed 's/\[[0-9]*\] = //g; s/,//g') "
	sum=$(python3 -c 'import zlib; print(zlib.crc32(open("plugin.debug", "rb").read()))')
	is "its debug information" 1 \
		"$(grep -c "lib:debug_link.*crc = $sum, filename = \"plugin.debug\"" printed)"
fi

# Where there are many names, most records share a class, and nothing is lost by it.
functions=$((4200 + $(random_below 1000)))
FXT_CATEGORIES=function traced names "$apps/many_functions" $functions 2000 >/dev/null ||
	fail "many_functions: exit status $?"
converted "$(only names/*.fxt)" many
between "classes of many names" 4000 8300 "$(grep -c '^event {' many.ctf/ust/metadata)"
ctf metadata many.ctf >views
fxt report --json --all names/*.fxt >before
fxt report --json --all many.ctf >after
python3 "$abs_top_srcdir/tests/e2e/ctf_compare.py" same before after >compared ||
	grep -q 'built without' compared || fail "many names: $(cat compared)"

# -- Where it was --------------------------------------------------------------------------------------

# The host's name is in the trace, and several have none in common.
"$FXT" record -q -o hops.fxt -- "$apps/hops" 3 60 100000 >calls
converted hops.fxt hops
is "the host" "$(uname -n)" "$(ctf hostname hops.ctf)"
python3 - hops.fxt elsewhere.fxt <<'END'
import socket, sys
name = socket.gethostname().encode()
data = open(sys.argv[1], "rb").read()
at = data.index(b"host\0\0\0\0" + name) + 8
open(sys.argv[2], "wb").write(data[:at] + b"X" * len(name) + data[at + len(name):])
END
"$FXT" convert -q --to=ctf elsewhere.fxt || fail "elsewhere.fxt: exit status $?"
is "hosts of several names" several "$(ctf hostname elsewhere.ctf)"

# A thread that may run on one processor alone was there, and what no switch tells is left out.
read -r known unknown < <(ctf hops hops.ctf 100000)
is "calls of hops" "$(cat calls)" $((known + unknown))
if test "$(fxt dump --json hops.fxt | grep -c '"type":"switch"')" -gt 0; then
	between "calls whose processor is known" 1 "$(cat calls)" "$known"
	# Threads are gone at once, and a process when somebody has waited for it, which nobody recorded here.
	babeltrace2 hops.ctf/kernel >printed
	is "threads that exit and are freed" "4 3" \
		"$(grep -c ' sched_process_exit:' printed) $(grep -c ' sched_process_free:' printed)"
	is "a thread that exits, leaves the processor and is freed" "exit switch free" "$(
		tid=$(sed -n '/sched_process_free/{s/.* tid = \([0-9]*\),.*/\1/p;q}' printed)
		grep -E "sched_process_.*[{,] tid = $tid,|sched_switch.*prev_tid = $tid," printed |
			tail -n 3 |
			sed 's/.* sched_\(process_\|\)\([a-z]*\): .*/\2/' | xargs)"
	babeltrace2 run.ctf/kernel >printed
	between "processes of a shell that are freed" 1 3 "$(grep -c ' sched_process_free:' printed)"
else
	is "calls whose processor is known, without switches" 0 "$known"
fi
traced bare "$apps/hops" 2 20 100000 >calls
converted "$(only bare/*.fxt)" bare
is "calls whose processor is known, of a program alone" "0 $(cat calls)" "$(ctf hops bare.ctf 100000)"

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
# The name of a packed trace is that of the trace.
gzip -c run.fxt >gzipped.fxt.gz
"$FXT" convert -q --to=ctf gzipped.fxt.gz || fail "gzipped.fxt.gz: exit status $?"
same_some "a packed trace: metadata" run.ctf/ust/metadata gzipped.ctf/ust/metadata
# A CTF directory is a trace too, if fxt reads such.
if "$FXT" convert -q --to=ctf -o again.ctf run.ctf 2>refusal; then
	babeltrace2 again.ctf 2>said >/dev/null
	is "a CTF directory, converted once more: what babeltrace2 says" "" "$(cat said)"
	ctf metadata again.ctf >views
else
	grep -q 'built without libbabeltrace2' refusal || fail "a CTF directory: $(cat refusal)"
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
without_packets large.ctf

# -- What is refused -----------------------------------------------------------------------------------

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
	fuzzed run.fxt $((seed + i))
done

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
