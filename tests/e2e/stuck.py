#!/usr/bin/env python3
"""stuck.py FXT COMMAND...: runs COMMAND, which is FXT with a program that gets stuck, and ends the program.

The program says `ready` before it comes to that place. It is stuck when each thread of each of its processes
sleeps, and none has run between several looks in a second: nothing is in progress then that could let one of
them go on, and fxt record, which looks at what is blocked for a tenth of a second, has seen it.
All of its processes are sent SIGTERM. Fails if that does not come true in half a minute.
"""
import contextlib
import os
import signal
import subprocess
import sys
import time

LOOKS, STILL_S = 5, 1
fxt = os.path.realpath(sys.argv[1])


def children(pid):
    """Returns the processes that any thread of the process has started."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
            found += map(int, file.read().split())
    return found


def program(pid):
    """Returns the descendants of the process that are no fxt."""
    found = []
    for child in children(pid):
        try:
            if os.readlink(f"/proc/{child}/exe") != fxt:
                found.append(child)
            found += program(child)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def state(pid):
    """Returns how often each thread of the process has run, or None if one of them does not sleep."""
    found = []
    for task in sorted(os.listdir(f"/proc/{pid}/task")):
        with open(f"/proc/{pid}/task/{task}/status", encoding="ascii", errors="replace") as file:
            lines = dict(line.split(":\t", 1) for line in file if ":\t" in line)
        if lines["State"][0] not in "SZ":
            return None
        found.append((task, lines["voluntary_ctxt_switches"], lines["nonvoluntary_ctxt_switches"]))
    return found


recorder = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE)
if recorder.stdout.readline() != b"ready\n":
    sys.exit("the program ended before it was ready")
before, same, since, end = None, 0, 0, time.monotonic() + 30
while same < LOOKS or time.monotonic() < since + STILL_S:
    time.sleep(0.01)
    try:
        now = [state(pid) for pid in program(recorder.pid)]
    except (FileNotFoundError, ProcessLookupError):
        now = [None]
    same = same + 1 if now == before and now and None not in now else 0
    since = since if same else time.monotonic()
    before = now
    if recorder.poll() is not None or time.monotonic() > end:
        sys.exit("the program does not get stuck")
for pid in program(recorder.pid):
    # One that reads from another ends with it.
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
recorder.stdout.read()
recorder.wait()
