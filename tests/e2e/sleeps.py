"""Who made whom go on, as a viewer of scheduling finds it, against what the trace says otherwise.

    sleeps.py FILE      "waker -> woken count": the wakeups

It takes the scheduling records of the kernel's part in the order of time, as Perfetto does, and follows what
state each thread is in. A wakeup has to find its thread asleep, and no other may have ended that sleep; the
waker has to be on the processor that the record says; and an arrow leaves the waker at that time and leads to
the woken thread. Each arrow that leaves while its thread sleeps, and ends after that has got a processor, has
to have its wakeup, unless another arrow has ended the sleep.
"""
import bisect
import collections
import json
import os
import subprocess
import sys

SLEEPS, READY, RUNS, WOKEN = "asleep", "ready", "running", "woken already"
BLOCKED, DEAD = 3, 5


def read(path):
    """The switches and wakeups, and the arrows: id -> type -> event."""
    dump = subprocess.run([os.environ["FXT"], "dump", "--json", path], check=True, stdout=subprocess.PIPE)
    scheduling, arrows = [], collections.defaultdict(dict)
    for line in dump.stdout.splitlines():
        r = json.loads(line)
        if r["type"] in ("switch", "wakeup"):
            scheduling.append(r)
        elif r["type"].startswith("flow-") and r["name"] == "wakes":
            arrows[r["id"]][r["type"]] = r
    return scheduling, [(a["flow-begin"], a["flow-end"]) for a in arrows.values() if len(a) == 2]


def follow(scheduling):
    """Checks the wakeups. Returns how often who woke whom, and each thread's sleeps: begin, end, waker."""
    state, places, count, sleeps = {}, collections.defaultdict(list), collections.Counter(), {}
    for r in sorted(scheduling, key=lambda r: r["time"]):
        if r["type"] == "wakeup":
            woken, waker = r["woken"], r["args"]["waker"]
            now = state.get(woken, SLEEPS)
            if now != SLEEPS:
                sys.exit(f"{woken} is woken by {waker} at {r['time']} and {now}")
            if [r["cpu"]] != places[waker][-1:]:
                sys.exit(f"{waker} wakes {woken} at {r['time']} on {r['cpu']}, not {places[waker][-1:]}")
            state[woken] = WOKEN
            count[f"{waker} -> {woken}"] += 1
            sleeps.setdefault(woken, [[0, None, None]])[-1][2] = waker, r["time"]
            continue
        out, into = r["outgoing"], r["incoming"]
        if out:
            state[out] = SLEEPS if r["state"] in (BLOCKED, DEAD) else READY
            if state[out] == SLEEPS:
                # A thread that has ended may leave its number to one that begins later.
                sleeps.setdefault(out, []).append([r["time"], None, None])
        if into:
            if state.get(into, SLEEPS) in (SLEEPS, WOKEN):
                sleeps.setdefault(into, [[0, None, None]])[-1][1] = r["time"]
            state[into] = RUNS
            places[into].append(r["cpu"])
    return count, sleeps


def main():
    scheduling, arrows = read(sys.argv[1])
    count, sleeps = follow(scheduling)
    ends = collections.defaultdict(dict)
    for begin, end in sorted(arrows, key=lambda a: a[0]["time"]):
        lives = sleeps.get(end["tid"], [])
        at = bisect.bisect_left([s[0] for s in lives], begin["time"]) - 1
        if at < 0:
            continue
        slept, got, _ = lives[at]
        if got is not None and slept < begin["time"] < got <= end["time"]:
            ends[end["tid"]].setdefault(at, (begin["tid"], begin["time"]))
    for tid, lives in sleeps.items():
        for at, (_, _, woken) in enumerate(lives):
            if woken != ends[tid].get(at):
                sys.exit(f"{tid} sleeps at {lives[at][0]}, woken by {woken}; by arrows {ends[tid].get(at)}")
    for who, n in sorted(count.items()):
        print(who, n)


main()
