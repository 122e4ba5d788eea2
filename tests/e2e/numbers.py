#!/usr/bin/env python3
"""Compares a trace with what tests/apps/same_number says of what had one number in turn.

    numbers.py FILE MODEL       prints "N bearers" if the trace tells them all apart

MODEL is what the program has printed. Each of the processes and threads asked for a path of its own, so all
of its events have to be in one thread of one process, which nobody else has; the number is in the last digits
of the koid. What the kernel says of ends is about the one that ended.
"""
import collections, json, os, subprocess, sys

STEP = 10000000
CHILDREN = ("quiet", "killed", "calls", "executes", "forks")


def fail(text):
    sys.exit(f"numbers.py: {text}")


def records(path):
    with subprocess.Popen([os.environ["FXT"], "dump", "--json", path], stdout=subprocess.PIPE) as dump:
        for line in dump.stdout:
            yield json.loads(line)
    if dump.returncode:
        fail(f"fxt dump {path} failed")


def value(argument):
    return int(argument, 0) if isinstance(argument, str) else argument


path, model = sys.argv[1:]
number, *kinds = open(model).read().split()
number = int(number)
askers = collections.defaultdict(set)           # path -> threads that asked for it
named, ended, since = {}, collections.Counter(), {}
for r in records(path):
    args = r.get("args", {})
    if r["type"] in ("complete", "begin") and r["name"] == "access":
        askers[args["pathname"]].add((r["pid"], r["tid"]))
    if r["type"] in ("process", "thread-name") and "since" in args:
        koid = r["id"]
        named[koid] = args["pid" if r["type"] == "process" else "tid"]
        since[koid] = args["since"]
    if r["type"] == "instant" and r["category"] == "kernel" and r["name"] == "ended":
        ended[value(args["thread"])] += 1

seen = {}
for i, kind in enumerate(kinds):
    threads = askers.pop(f"/bearer/{i}", set())
    if len(threads) != (kind != "quiet"):
        fail(f"{i}, {kind}: asked by {sorted(threads)}")
    for pid, tid in threads:
        if tid != number + i * STEP:
            fail(f"{i}, {kind}: its koid is {tid}")
        if (pid == tid) != (kind in CHILDREN):
            fail(f"{i}, {kind}: its process is {pid}")
        if kind == "childs_thread" and pid in seen.values():
            fail(f"{i}, {kind}: {pid} is another one's process")
        seen[i] = pid
for asked, threads in askers.items():
    if len(threads) != 1 or threads & {(p, p) for p in seen.values()}:
        fail(f"{asked}: asked by {sorted(threads)}")
if len(set().union(*askers.values())) != len(askers):
    fail(f"children of children share a number: {askers}")
again = [koid for koid in sorted(named) if koid % STEP == number]
if again != [number + i * STEP for i in range(1, len(kinds))]:
    fail(f"the koids are {again}")
times = [since[koid] for koid in again]
if any(named[koid] != koid % STEP for koid in named) or times != sorted(times):
    fail(f"the names are {named}, {since}")
if any(count > 1 for count in ended.values()):
    fail(f"some have ended twice: {ended}")

report = json.loads(subprocess.run([os.environ["FXT"], "report", "-ja", path], stdout=subprocess.PIPE,
                                   check=True).stdout)
if report["shared_numbers"]:
    fail(f"the report shows as one: {report['shared_numbers']}")
threads = [t for t in report["threads"] if t["koid"] % STEP == number]
if any(t["tid"] != number for t in threads):
    fail(f"the report's numbers are {threads}")
print(len(kinds), "bearers")
