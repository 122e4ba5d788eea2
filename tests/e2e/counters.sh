#!/bin/bash
# The counters of a trace say what a process holds (memory, threads, descriptors) and how many bytes it has
# moved.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

for mode in streaming circular; do
	FXT_BUFFERING_MODE=$mode FXT_BUFFER_SIZE_MB=4 traced "$mode" "$apps/holds" >made ||
		fail "$mode: exit status $?"
	{ read -r child got_child given_child; read -r pid got given; } < <(sort -k2n made)
	for process in "$pid $got $given parent" "$child $got_child $given_child child"; do
		read -r number got given who <<<"$process"
		file=$mode/holds.$number.fxt
		valid "$file"
		fxt dump --json "$file" >records || fail "$mode, $who: fxt dump"
		python3 - "$got" "$given" "$who" "$(uname -r)" <<-'EOT' || fail "$mode, $who: see above"
			import collections, json, sys
			got, given, who, kernel = sys.argv[1:]
			values = collections.defaultdict(list)
			for line in open("records"):
			    r = json.loads(line)
			    if r["type"] == "counter" and r["category"] == "counter":
			        (argument, value), = r["args"].items()
			        values[r["name"]].append((r["time"], value, argument))
			# Any thread may take a sample, into its own chunk, so the file does not have them in
			# the order of time.
			for samples in values.values():
			    samples.sort()
			problems = []
			names = {"rss", "threads", "read bytes", "written bytes", "heap bytes"}
			if tuple(map(int, kernel.split(".")[:2])) >= (6, 2):
			    names.add("descriptors")
			if set(values) != names:
			    problems.append(f"there are {sorted(values)}")
			for name, samples in values.items():
			    if any(b[0] - a[0] < 10000000 for a, b in zip(samples, samples[1:])):
			        problems.append(f"{name}: closer than 10 ms")
			v = {name: [s[1] for s in samples] for name, samples in values.items()}
			for name, total in (("read bytes", got), ("written bytes", given)):
			    if v[name][-1] != int(total) or v[name] != sorted(v[name]):
			        problems.append(f"{name}: {v[name]}, and {total} in the end")
			if who == "parent":
			    if max(v["rss"]) - v["rss"][0] < 64 << 20:
			        problems.append(f"rss {v['rss']}")
			    # The parent frees this before it makes the child, so the child has none of it.
			    if not 64 << 20 <= max(v["heap bytes"]) - v["heap bytes"][0] < 65 << 20:
			        problems.append(f"heap {v['heap bytes']}")
			    if v["threads"][0] != 1 or max(v["threads"]) != 4:
			        problems.append(f"threads {v['threads']}")
			    # The other four of the 14 are two files and a socket pair, through which bytes
			    # are moved.
			    if "descriptors" in v and max(v["descriptors"]) - v["descriptors"][0] != 14:
			        problems.append(f"descriptors {v['descriptors']}")
			print(*problems, sep="\n", end="")
			sys.exit(bool(problems))
		EOT
	done
done
"$FXT" record -q -a "$FXT_AGENT" -c '#default,-counter' -o without.fxt -- "$apps/holds" >made ||
	fail "without: exit status $?"
is "without: counters" 0 "$(fxt dump --json without.fxt | grep -c '"category": *"counter"')"
