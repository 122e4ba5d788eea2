#!/usr/bin/env python3
"""Compares what tests/apps/fibers says that its functions did with their events in the trace.

    fibers.py SAID CALLS        CALLS is what `trace.py calls` prints
    fibers.py --crowd SAID CALLS        does so for tests/apps/fiber_crowd

Functions that were left on a stack which was freed have ended before that.

Begins and ends have to come in the same order, over all fibers. The functions of a fiber are on one track,
which is no thread's and no other fiber's at the same time. Of functions that were left for good the end is
not known, but it is not before what they have called.

Of a crowd the order over all fibers is not known. Of each fiber, the outermost function and all that it calls
is a tree on some track, which is none of a thread, and there is such a tree for each fiber that the program
tells of.
"""
import collections
import re
import sys


def fail(text):
    print(text)
    sys.exit(1)


class Call:
    def __init__(self, fiber, name, begin):
        self.fiber, self.name, self.begin = fiber, name, begin
        self.end = None                 # the place in the account; None: it was left
        self.inner = []
        self.freed = None               # which step came next when its stack was freed


def read_account(path):
    """Returns the calls in the order of their begins, and the begins and ends in their order."""
    calls, steps, stacks, last, left = [], [], {}, {}, {}
    for place, line in enumerate(open(path)):
        what, fiber, *name = line.split()
        stack = stacks.setdefault(fiber, [])
        last[fiber] = place
        if what == "+":
            call = Call(int(fiber), name[0], place)
            if stack:
                stack[-1].inner.append(call)
            calls.append(call)
            stack.append(call)
            steps.append(("+", call))
        elif what == "-":
            call = stack.pop()
            if call.name != name[0]:
                fail(f"the program lies: {line}")
            call.end = place
            steps.append(("-", call))
        elif what == "!":
            left[fiber] = stack[:]
            stack.clear()
        else:
            for call in left.get(fiber, []):
                call.freed = len(steps)
    return calls, steps, last


def read_trace(path, names):
    """Returns the functions of these names as (start, end, name, track), in the order of their begins."""
    found = []
    for line in open(path):
        name, track, start, end, *_ = line.split(" ")
        if name.startswith("function:") and name[9:] in names:
            found.append((int(start), int(end) if end.isdigit() else None, name[9:], int(track)))
    return sorted(found, key=lambda one: one[0])


def main(said, traced):
    calls, steps, last = read_account(said)
    found = read_trace(traced, {call.name for call in calls})
    if len(calls) != len(found):
        fail(f"{len(calls)} calls were made, and {len(found)} are in the trace")
    tracks, owners = {}, {}
    for call, (start, end, name, track) in zip(calls, found):
        call.start_ns, call.end_ns, call.track = start, end, track
        if call.name != name:
            fail(f"{call.name} of fiber {call.fiber} began, and the trace has {name}")
        if call.fiber and tracks.setdefault(call.fiber, track) != track:
            fail(f"fiber {call.fiber} is on tracks {tracks[call.fiber]} and {track}")
    threads = {call.track for call in calls if not call.fiber}
    first = {}
    for call in calls:
        if call.fiber:
            first.setdefault(call.fiber, call.begin)
    for fiber, track in tracks.items():
        if track in threads:
            fail(f"fiber {fiber} is on the track of a thread")
        for other in owners.setdefault(track, []):
            if first[fiber] < last[str(other)] and first[other] < last[str(fiber)]:
                fail(f"fibers {fiber} and {other} are on track {track} at once")
        owners[track].append(fiber)
    times = [call.start_ns if what == "+" else call.end_ns for what, call in steps]
    for (what, call), before, now in zip(steps[1:], times, times[1:]):
        if before is None or now is None or before >= now:
            fail(f"{what} {call.name} of fiber {call.fiber} (line {call.begin + 1}) is not in order: "
                 f"{before} {now}")
    for call in calls:
        if call.freed is not None and call.end_ns >= times[call.freed]:
            fail(f"{call.name} of fiber {call.fiber} ends after its stack was freed")
        for inner in call.inner:
            if call.end_ns is not None and inner.end_ns > call.end_ns:
                fail(f"{call.name} of fiber {call.fiber} ends before {inner.name}")
    print(f"{len(calls)} calls of {len(tracks)} fibers on {len(owners)} tracks, "
          f"{sum(call.end is None for call in calls)} of them left, "
          f"{sum(call.freed is not None for call in calls)} of these on a stack that was freed")


# -- A crowd ----------------------------------------------------------------------------------------

# The names are those of the symbol table: of functions in the anonymous namespace.
CALL = re.compile(r"function:_ZN12_GLOBAL__N_1(\d+)(\w+) (\d+) (\d+) (\d+|open)(?: .*)?$")


def read_tracks(path):
    """Returns for each track its functions as (start, end, name)."""
    tracks = collections.defaultdict(list)
    for line in open(path):
        found = CALL.match(line.rstrip("\n"))
        if found:
            length, name, track, start, end = found.groups()
            name = name[:int(length)]
            if end == "open":
                fail(f"{name} on track {track} has no end")
            tracks[track].append((int(start), int(end), name))
    return tracks


def trees_of(calls):
    """Yields each outermost call with all that it calls, as the program tells of it."""
    tree, ends = [], []
    for start, end, name in sorted(calls) + [(1 << 64, 0, None)]:
        while ends and ends[-1][0] < start:
            tree.append("-" + ends.pop()[1])
        if ends and end > ends[-1][0]:
            fail(f"{name} ({start} {end}) ends behind {ends[-1]}, in which it began")
        if not ends and tree:
            yield " ".join(tree)
            tree = []
        if name:
            tree.append("+" + name)
            ends.append((end, name))


def crowd(said, traced):
    accounts, handled = collections.Counter(), 0
    for line in open(said):
        what, _, rest = line.rstrip("\n").partition(" ")
        if what == "ACCOUNT":
            accounts[rest] += 1
        else:
            handled += int(rest)
    found, seen_handled, fiber_tracks = collections.Counter(), 0, 0
    for calls in read_tracks(traced).values():
        trees = list(trees_of(calls))
        # The main thread's track has trees of the same functions, from before the fibers.
        if any("+handled" in tree or "+work" in tree for tree in trees):
            seen_handled += sum(tree.split().count("+handled") for tree in trees)
            continue
        fiber_tracks += 1
        found.update(trees)
    for tree in accounts - found:
        there = "\n".join(f"there: {other}" for other in found - accounts)
        fail(f"not in the trace: {tree}\n{there}")
    for tree in found - accounts:
        fail(f"nobody did: {tree}")
    if seen_handled != handled:
        fail(f"handled() was called {handled} times, and is there {seen_handled} times")
    calls = sum(tree.count("+") for tree in accounts.elements())
    print(f"{sum(accounts.values())} fibers, {calls} calls, on {fiber_tracks} tracks; "
          f"{handled} signals on the alternate stack")


if sys.argv[1] == "--crowd":
    crowd(*sys.argv[2:])
else:
    main(*sys.argv[1:])
