#!/bin/bash
# What Perfetto reads in its own form is in the file once more, as fxt itself has it: each sample with its
# time, its thread and its whole stack. Every record of the blob is a trace of whole packets, and a merge
# makes the blob again. This script reads the packets with its own decoder, and with protoc and Perfetto's
# trace_processor_shell if these are there.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

"$FXT" record -o probe.fxt -- true 2>said || fail "fxt record: exit status $?"
! grep -q 'no samples and no context switches' said || skip "the kernel refuses"
grep -q 'define HAVE_PROTOBUF_C 1' "$abs_top_builddir/config.h" || skip "fxt was built without protobuf-c"

# packets FILE: prints a line for each sample in the blob of the trace, and writes the packets to packets.pb
# and a line for each process and stack of the heap to heaps: bytes and blocks that were asked for and freed.
# Those at the peak go to heaps.peak, and lines of source to sources: the module, the address, and file:line
# of each level, the innermost first.
packets()
{
	python3 - "$1" <<'END'
import struct, sys
data, at, out, records = open(sys.argv[1], "rb").read(), 0, b"", 0

def fields(message):
    """The fields of a protobuf message: number -> values, which are integers or bytes."""
    found, i = {}, 0
    def varint():
        nonlocal i
        value = shift = 0
        while True:
            byte = message[i]
            i, value, shift = i + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value
    while i < len(message):
        key = varint()
        assert key & 7 in (0, 2), "a type that is not used"
        value = varint()
        if key & 7 == 2:
            assert i + value <= len(message), "a packet is cut"
            value, i = message[i:i + value], i + value
        found.setdefault(key >> 3, []).append(value)
    return found

names, mappings, paths, ids, frames, stacks, samples, heaps, modules = {}, {}, {}, {}, {}, {}, [], [], []
while at + 8 <= len(data):
    header, = struct.unpack_from("<Q", data, at)
    words = header >> 4 & (0xffffffff if header & 15 == 15 else 0xfff)
    if header & 15 == 5 and header >> 48 & 255 == 3:
        name, size = header >> 16 & 0x7fff, header >> 32 & 0x7fff
        begin = at + 8 + (name + 7) // 8 * 8
        blob = data[begin:begin + size]
        trace = fields(blob)
        assert set(trace) == {1}, "not a trace of packets"
        records += 1
        out += blob
        for packet in map(fields, trace[1]):
            assert packet[10] == [1]
            for interned in map(fields, packet.get(12, [])):
                for number, table in ((5, names), (16, ids), (17, paths), (19, mappings), (6, frames),
                                      (7, stacks)):
                    for entry in map(fields, interned.get(number, [])):
                        assert entry[1][0] not in table, "a number means two things"
                        table[entry[1][0]] = entry
            for sample in map(fields, packet.get(66, [])):
                samples.append((packet[8][0], sample))
            modules += [(packet[8][0], module) for module in map(fields, packet.get(61, []))]
            for profile in map(fields, packet.get(37, [])):
                heaps.append((packet[8][0], profile))
    else:
        assert not records or header & 15 == 0, "something follows the blob"
    at += 8 * words
for time, s in samples:
    frame = [frames[f] for f in stacks[s[4][0]][2]]
    text = ";".join(names[f[2][0]][2][0].decode(errors="replace") for f in frame)
    print(time, s[2][0], s[3][0], text)
open("packets.pb", "wb").write(out)
# Perfetto takes packets in the order of their times, and counts those of heaps. All but the last dump are of
# one process's peak.
dumps = [[]]
for i, (time, profile) in enumerate(heaps):
    assert profile[7] == [i], "heaps are counted in another way"
    assert i == 0 or time >= heaps[i - 1][0], "heaps are not in the order of time"
    dumps[-1] += [fields(dump) for dump in profile[5]]
    dumps += [] if profile[6][0] else [[]]
assert dumps.pop() == [], "the last dump has no end"

def write(path, processes):
    with open(path, "w") as file:
        for process in processes:
            for sums in map(fields, process[2]):
                frame = [frames[f] for f in stacks[sums[1][0]][2]]
                text = ";".join(names[f[2][0]][2][0].decode(errors="replace") for f in frame)
                print(process[1][0], *(sums[field][0] for field in (2, 3, 5, 6)), text, file=file)
write("heaps", dumps.pop() if dumps else [])
assert all(len({process[1][0] for process in dump}) == 1 for dump in dumps), "a peak is not of one process"
write("heaps.peak", [process for dump in dumps for process in dump])

# Perfetto takes a line for an address of a file that a frame has by then.
known = {(paths[m[7][0]][2][0], ids[m[2][0]][2][0] if 2 in m else b"", f[4][0])
         for f in frames.values() for m in [mappings[f[3][0]]] if 7 in m}
last = max([time for time, _ in samples + heaps], default=0)
with open("sources", "w") as file:
    for time, module in modules:
        assert time >= last, "lines come before what refers to them"
        for address in map(fields, module[3]):
            assert (module[1][0], module.get(2, [b""])[0], address[1][0]) in known, "a line of no frame"
            print(module[1][0].decode(), "%x" % address[1][0],
                  *("%s:%d" % (l.get(2, [b"?"])[0].decode(), l.get(3, [0])[0])
                    for l in map(fields, address[2])), file=file)
END
}

# samples FILE: prints the same lines from the trace's own records.
samples()
{
	"$FXT" dump --json "$1" | python3 -c '
import json, sys
nodes, samples = {}, []
for r in map(json.loads, sys.stdin):
    # The nodes of the agent have other numbers.
    if r["type"] == "object" and r["args"].get("type") == "frame" and r["id"].startswith("0x7ff"):
        nodes[int(r["id"], 16)] = (r["name"], int(r["args"].get("parent", "0"), 16))
    elif r.get("category") == "sample":
        samples.append(r)
for r in samples:
    stack, node = [], int(r["args"]["stack"], 16)
    while node:
        name, node = nodes[node]
        stack.append(name)
    print(r["time"], r["args"]["process"], r["args"]["thread"], ";".join(stack[::-1]))'
}

# look FILE PART...: fails unless the blob of the trace has the samples of the parts.
look()
{
	local part

	valid "$1"
	packets "$1" | sort >blob.lines
	for part in "${@:2}"; do samples "$part"; done | sort >own.lines
	same_some "$1: samples in the blob" own.lines blob.lines
	! command -v protoc >/dev/null || protoc --proto_path="$abs_top_srcdir/tools/perfetto" \
		--decode=perfetto.Trace perfetto_trace.proto <packets.pb >packets.text ||
		fail "$1: protoc does not read the packets"
	! command -v trace_processor_shell >/dev/null || opened "$1"
}

# queried FILE QUERY: prints the result in lines of CSV, without the names of the columns.
queried()
{
	trace_processor_shell -Q "$2" "$1" 2>query.log | tail -n +2
}

# opened FILE: fails unless Perfetto opens the trace without an error and has the samples and heaps of its
# blob, as blob.lines and heaps have them.
opened()
{
	is "$1 in Perfetto: errors" "" \
		"$(queried "$1" "SELECT name, value FROM stats
		                 WHERE value AND severity IN ('error', 'data_loss')")"
	queried "$1" 'SELECT ts, pid, tid FROM perf_sample
	               JOIN thread USING (utid) JOIN process USING (upid)' | tr ',' ' ' | sort >perfetto.lines
	cut -d ' ' -f 1-3 blob.lines | sort >own.lines
	same_some "$1 in Perfetto: samples" own.lines perfetto.lines
	queried "$1" 'SELECT pid, sum(iif(size > 0, size, 0)) FROM heap_profile_allocation
	              JOIN process USING (upid) GROUP BY pid ORDER BY pid' | tr ',' ' ' >perfetto.lines
	awk '{ sum[$1] += $2 } END { for (pid in sum) printf "%d %.0f\n", pid, sum[pid] }' heaps |
		sort -n >own.lines
	same "$1 in Perfetto: heaps" own.lines perfetto.lines
}

ms=$((300 + seed % 300))
stolen=$(steal_ms)
"$FXT" record -q --sample=997 -o burns.fxt -- \
	sh -c "'$apps/burns' 2 $ms 3; exec '$apps/burns' 1 100 1" >/dev/null
look burns.fxt burns.fxt
# Lines of source are those that binutils finds.
if command -v addr2line >/dev/null && grep -q 'define HAVE_LIBDW 1' "$abs_top_builddir/config.h"; then
	grep -F "$(realpath "$apps/burns") " sources >lines
	while read -r module address _; do
		# shellcheck disable=SC2046
		echo "$module $address" $(addr2line -i -e "$module" "0x$address" |
			sed 's/ (disc.*//; s,.*/,,')
	done <lines >expected
	sed 's, [^ ]*/\([^/ ]*:\), \1,g' lines >by.name
	same_some "lines of source" expected by.name
fi
# Those of a separate file are left to the report: to unpack a system library's takes longer than many a run.
if command -v objcopy >/dev/null && grep -q 'define HAVE_LIBDW 1' "$abs_top_builddir/config.h"; then
	cp "$apps/burns" split
	objcopy --only-keep-debug split split.debug
	objcopy --strip-debug --add-gnu-debuglink=split.debug split
	"$FXT" record -q --sample=997 -o split.fxt -- ./split 1 100 1 >/dev/null
	packets split.fxt >/dev/null
	is "lines of a separate file" "" "$(grep -F "$PWD/split " sources)"
	"$FXT" report split.fxt >split.report
	grep -q 'burns\.c:[0-9]' split.report || fail "the report has no lines of a separate file"
	packets burns.fxt >/dev/null
fi
# The second program's samples are there as well.
# shellcheck disable=SC2046
between "samples" $(limits_of_samples $((ms * 2 + 100)) 997) "$(wc -l <blob.lines)"
"$FXT" record -q --compress --sample=997 -o packed.fxt.zst -- "$apps/burns" 1 100 1 >/dev/null 2>&1 &&
	{ "$FXT" check packed.fxt.zst >check.log || fail "not valid: packed.fxt.zst"; }

# -- A merge makes it again, and leaves it out if it is not wanted --------------------------------------

"$FXT" merge -q -o again.fxt burns.fxt || fail "fxt merge: exit status $?"
cp blob.lines once.lines
look again.fxt again.fxt
same_some "after a merge" once.lines blob.lines
"$FXT" merge -q -o two.fxt burns.fxt packed.fxt.zst || fail "fxt merge of two: exit status $?"
look two.fxt burns.fxt packed.fxt.zst
"$FXT" merge -q --no-perfetto -o none.fxt burns.fxt || fail "fxt merge: exit status $?"
valid none.fxt
is "not wanted in a merge" "" "$(packets none.fxt)"
"$FXT" record -q --no-perfetto -o none.fxt -- "$apps/burns" 1 50 1 >/dev/null
valid none.fxt
is "not wanted in a record" "" "$(packets none.fxt)"

# -- Heaps, and names of C++ ------------------------------------------------------------------------------

# The heap of the first process has its last event after those of the others. Blocks of this size are all in
# the trace.
cat >nested.py <<'END'
import subprocess, sys
kept = [bytearray(1 << 20) for i in range(int(sys.argv[1]))]
if len(sys.argv) > 2:
    subprocess.run([sys.executable, sys.argv[0]] + sys.argv[2:], check=True)
END
blocks="$((8 + seed % 20)) 9 $((28 + seed % 30))"
# shellcheck disable=SC2086
"$FXT" record -q -o nested.fxt -- python3 nested.py $blocks || fail "nested: exit status $?"
look nested.fxt nested.fxt
is "blocks of 1 MiB" "$(tr ' ' '\n' <<<"$blocks" | sort -n | tr '\n' ' ')" \
	"$(awk 'int($2 / $4 / 2 ^ 16) == 16 && $4 >= 8 { print $4 }' heaps | sort -n | tr '\n' ' ')"

if grep -q 'define HAVE_LIBIBERTY 1' "$abs_top_builddir/config.h"; then
	"$FXT" record -q --sample=4000 -o named.fxt -- "$apps/peaks" >/dev/null
	look named.fxt named.fxt
	is "symbols in the blob" "" "$(grep -h '\<_Z' blob.lines heaps)"
	grep -q 'build_index()' heaps || fail "build_index() has no heap"
	# What was there at the peak is what the report says of it.
	"$FXT" report --folded=peak:folded named.fxt >/dev/null || fail "fxt report: exit status $?"
	awk '$2 > $3 { n = $2 - $3; sum += n } END { printf "%.0f\n", sum }' heaps.peak >at.peak
	awk '{ sum += $NF } END { printf "%.0f\n", sum }' folded >expected
	same_some "the heap at its peak" expected at.peak
fi

# -- The whole of it or nothing: a trace that has no room for it ----------------------------------------

if mkdir small && mount -t tmpfs -o size=64m none small 2>/dev/null; then
	"$FXT" record -q --no-perfetto --sample=10000 -o whole.fxt -- "$apps/burns" 2 400 0 >/dev/null
	bytes=$(stat -c %s whole.fxt)
	umount small
	mount -t tmpfs -o size=$((bytes + 8192)) none small
	"$FXT" merge -o small/full.fxt whole.fxt 2>said ||
		fail "fxt merge where there is no room: exit status $?"
	is "what is said" 1 "$(grep -c 'no flame graphs for Perfetto' said)"
	valid small/full.fxt
	is "no part of it" "" "$(packets small/full.fxt)"
	umount small
fi
