#!/usr/bin/env python3
"""Compares the critical path of the report with a model that runs programs.

    critical.py exact NUMBER    draws so many programs, writes the trace that each would leave, and compares
                                the shares of the path, and what the run would take without a thing, with what
                                the program takes when it is run again without it: all figures are equal
    critical.py bounds NUMBER   the same of programs with waits that nobody is known to have ended: what the
                                program takes lies between the bounds
    critical.py phases NUMBER   a phase of one thread, and one of eight: shares that are known beforehand

    critical.py meetings NUMBER threads that meet at a barrier: who came last, and who was next
    critical.py wins FILE KIND NAME N   without the thing, a real run is shorter by about N thousandths
    critical.py alone FILE              the path of a run with one thread: what a file takes is what it wins

A program is a list of steps for each thread. The model knows no graph and no arrows: it runs the steps, and
notes what it did. The seed is FXT_SEED's. The exit status is 1 after a difference.
"""
import json, os, random, struct, subprocess, sys, tempfile

FXT = os.environ["FXT"]
KERNEL = 0x7fffffff
BEGIN = 1000000         # when a run begins
STEP = 5                # what any step takes besides; all threads' steps are compared up to this
LATENCY = 40000         # the most that a wakeup takes
LINGER = 6000           # the most that a call takes which has let others go on
NEAR = 1000             # samples are taken so near to the begin and the end of what they are of


# -- Traces ----------------------------------------------------------------------------------------------

def padded(raw):
    return raw + bytes(-len(raw) % 8)


class Trace:
    """Writes records. Each thread has its own part, in the order of ends, as the agent writes them."""

    def __init__(self):
        self.out = bytearray(struct.pack("<Q", 0x0016547846040010))
        self.ids = 0

    def record(self, kind, fields, body):
        self.out += struct.pack("<Q", kind | (1 + len(body) // 8) << 4 | fields) + body

    def provider(self, number, name):
        raw = name.encode()
        self.record(0, 1 << 16 | number << 20 | len(raw) << 52, padded(raw))
        self.record(1, 0, struct.pack("<Q", 1000000000))

    def thread(self, pid, tid):
        self.record(3, 1 << 16, struct.pack("<QQ", pid, tid))

    def inline(self, text):
        raw = text.encode()
        return 0x8000 | len(raw), padded(raw)

    def arguments(self, args):
        out = b""
        for key, value in args.items():
            ref, name = self.inline(key)
            if isinstance(value, str):
                text, raw = self.inline(value)
                body, kind, upper = name + raw, 6, text
            else:
                body, kind, upper = name + struct.pack("<Q", value), 4, 0
                kind = 7 if key in ("stack", "mutex", "sem", "parent", "barrier") else 4
                kind = 8 if key in ("process", "thread_koid") else kind
            out += struct.pack("<Q", kind | (1 + len(body) // 8) << 4 | ref << 16 | upper << 32) + body
        return out

    def event(self, kind, category, name, at, extra=None, **args):
        c, category_raw = self.inline(category)
        n, name_raw = self.inline(name)
        body = struct.pack("<Q", at) + category_raw + name_raw + self.arguments(args)
        if extra is not None:
            body += struct.pack("<Q", extra)
        self.record(4, kind << 16 | len(args) << 20 | 1 << 24 | c << 32 | n << 48, body)

    def call(self, category, name, start, end, **args):
        self.event(4, category, name, start, end, **args)

    def frame(self, number, parent, name):
        n, raw = self.inline(name)
        args = {"type": "frame", "module": "/bin/app", "offset": number}
        if parent:
            args["parent"] = parent
        self.record(6, 1 << 16 | n << 24 | len(args) << 40,
                    struct.pack("<Q", number) + raw + self.arguments(args))


# -- Programs ----------------------------------------------------------------------------------------------

class Program:
    """Threads with steps, and stacks of functions: a stack is a tuple of names, the innermost last."""

    def __init__(self, draw, with_locks=False, with_semaphores=False):
        self.draw = draw
        self.steps, self.pids, self.stacks = [[]], [100], [("main",)]
        # A wait of less than 20 us that nobody ended counts as running.
        self.least_latency = 20000 if with_semaphores else 3000
        for _ in range(draw.randrange(2, 9)):
            self.stacks.append(draw.choice(self.stacks) + (f"f{draw.randrange(7)}",))
        self.stacks = [s for s in self.stacks[1:] if len(set(s)) == len(s)] or [("main", "f0")]
        live, sent = [0], {}
        for _ in range(draw.randrange(4, 90)):
            t = draw.choice(live)
            what = draw.choice(["run"] * 4 + ["sleep", "sync", "send", "send", "receive", "receive", "start",
                                              "end", "lock"])
            # A lock is one process's.
            if what == "run" or (what == "lock" and not (with_locks and self.pids[t] == 100)):
                self.add(t, "run", stack=draw.choice(self.stacks), ns=draw.randrange(10000, 400000))
            elif what == "sleep":
                self.add(t, "sleep", stack=draw.choice(self.stacks), ns=draw.randrange(60000, 400000))
            elif what == "sync":
                self.add(t, "sync", file=draw.randrange(2), ns=draw.randrange(30000, 300000))
            elif what == "lock":
                lock = draw.randrange(2)
                self.add(t, "lock", lock=lock)
                self.add(t, "run", stack=draw.choice(self.stacks), ns=draw.randrange(10000, 200000))
                self.add(t, "unlock", lock=lock)
            elif what == "send":
                sent.setdefault(draw.choice(live), []).append(self.add(t, "send"))
            elif what == "receive" and sent.get(t):
                send = sent[t].pop(0)
                if send[0] != t:
                    self.add(t, "receive", of=send, semaphore=with_semaphores and draw.random() < .7)
            elif what == "start" and len(self.steps) < 8:
                self.steps.append([])
                is_child = draw.random() < .3
                self.pids.append(101 + len(self.pids) if is_child else self.pids[t])
                self.add(t, "start", who=len(self.steps) - 1)
                live.append(len(self.steps) - 1)
            elif what == "end" and t:
                live.remove(t)
                # Only its own process can join a thread, and only its parent can wait for a child.
                self.add(self.waiter(t), "join", who=t)
        for t in sorted(live, reverse=True)[:-1]:
            self.add(self.waiter(t), "join", who=t)
        for steps in self.steps:
            steps.append({"what": "run", "stack": self.stacks[0], "ns": 20000, "latency": 0})

    def waiter(self, t):
        """The thread that made it, or the nearest one before that which has not been waited for."""
        joined = {s["who"] for steps in self.steps for s in steps if s["what"] == "join"}
        makers = {s["who"]: m for m, steps in enumerate(self.steps) for s in steps if s["what"] == "start"}
        m = makers[t]
        while m in joined:
            m = makers[m]
        return m

    def add(self, t, what, **step):
        latency = self.draw.randrange(self.least_latency, LATENCY)
        self.steps[t].append({"what": what, "latency": latency, **step})
        return t, len(self.steps[t]) - 1


class Run:
    """Runs a program, and without the steps that `is_free` says. `first` is the run that is run again: who
    had to wait then takes its time to wake up, and others do not."""

    def __init__(self, program, is_free=lambda t, step: False, first=None, free_lock=None):
        self.program, self.is_free, self.first, self.free_lock = program, is_free, first, free_lock
        count = len(program.steps)
        self.at, self.next = [None] * count, [0] * count
        self.at[0] = BEGIN
        self.done = [[] for _ in range(count)]          # of each step: start, end, who let it go on, and when
        self.holder, self.released = {}, {}
        # In some wait both came at about the same time, so that it is chance who waited.
        self.is_close, self.has_new_waits = False, False
        self.near = STEP * sum(len(steps) for steps in program.steps)
        # No sample tells what ran in the rest of the call of who came last to a barrier.
        self.near += LINGER if any(s["what"] == "meet" for steps in program.steps for s in steps) else 0
        while True:
            ready = [(self.at[t], t) for t in range(count) if self.can_go_on(t)]
            if not ready:
                break
            self.step(min(ready)[1])
        assert all(self.next[t] == len(program.steps[t]) for t in range(count)), "the model is stuck"
        self.end = self.at[0]

    def can_go_on(self, t):
        if self.at[t] is None or self.next[t] == len(self.program.steps[t]):
            return False
        step = self.program.steps[t][self.next[t]]
        if step["what"] == "receive":
            return self.next[step["of"][0]] > step["of"][1]
        if step["what"] == "join":
            return self.next[step["who"]] == len(self.program.steps[step["who"]])
        if step["what"] == "meet":
            return all(self.next[other] >= place for other, place in step["with"])
        if step["what"] == "lock" and step["lock"] != self.free_lock:
            return self.holder.get(step["lock"]) is None
        return True

    def latency(self, t, step):
        if self.is_free(t, step):
            return 0
        return step["latency"] if not self.first or self.first.done[t][self.next[t]][2] is not None else 0

    def step(self, t):
        step, start = self.program.steps[t][self.next[t]], self.at[t]
        waker = woken = None
        end = start
        what = step["what"]
        if what in ("run", "sleep", "sync") and not self.is_free(t, step):
            end = start + step["ns"]
        elif what == "receive":
            waker, woken = step["of"][0], self.done[step["of"][0]][step["of"][1]][1]
        elif what == "join":
            waker, woken = step["who"], self.at[step["who"]]
        elif what == "meet":
            # Who came last lets the others go on a moment later. Those that went on already came at the
            # begin of their step.
            came = [(self.done[o][p][0] if self.next[o] > p else self.at[o], o) for o, p in step["with"]]
            woken, waker = max(came)
            woken += 1
        elif what == "lock" and step["lock"] != self.free_lock:
            self.holder[step["lock"]] = t
            waker, woken = self.released.get(step["lock"], (None, None))
            if waker == t:
                waker = None
        elif what == "unlock" and step["lock"] != self.free_lock:
            self.holder[step["lock"]] = None
            self.released[step["lock"]] = t, start
        self.is_close |= waker not in (None, t) and self.first is not None and abs(woken - start) <= self.near
        if waker is not None and waker != t and woken > start:
            end = woken + self.latency(t, step)
            self.has_new_waits |= bool(self.first and step.get("semaphore") and
                                       self.first.done[t][self.next[t]][2] is None)
        else:
            waker = None
            if what not in ("run", "sleep", "sync") and not self.is_free(t, step):
                end = start + STEP
        # Who came last lets the others go on before its call is over, which takes its time.
        if what == "meet" and (self.first.done[t][self.next[t]][2] if self.first else waker) is None:
            end += step["linger"]
        self.done[t].append((start, end, waker, woken))
        self.at[t] = end
        self.next[t] += 1
        if what == "start":
            # The latency of a start is there in any case, but not in a program that takes no time.
            free = self.is_free(step["who"], {"what": "begin"})
            self.at[step["who"]] = end + (0 if free else step["latency"])


def path(run):
    """Walks back from the end, and returns the time in each function, file, sleep and process."""
    program, sums = run.program, {}
    makers = {s["who"]: (m, i) for m, steps in enumerate(program.steps) for i, s in enumerate(steps)
              if s["what"] == "start"}

    def add(key, ns):
        sums[key] = sums.get(key, 0) + ns
    t, i, ns = 0, len(program.steps[0]) - 1, run.end
    waits = []
    while True:
        def of_process(start):
            if program.pids[t] != 100:
                add(("program",), ns - start)
        if i < 0:
            if t == 0:
                break
            m, k = makers[t]
            of_process(run.done[m][k][1])
            t, i, ns = m, k, run.done[m][k][1]
            continue
        step = program.steps[t][i]
        start, end, waker, woken = run.done[t][i]
        if waker is not None:
            of_process(woken)
            if step["what"] == "lock":
                waits.append((step["lock"], start, ns))
            t, ns = waker, woken
            # Steps that had ended, or taken no time at all, when it let the other go on.
            i = max([k for k in range(len(run.done[t])) if run.done[t][k][1] <= ns], default=-1)
            if i + 1 < len(run.done[t]) and run.done[t][i + 1][0] < ns:
                raise AssertionError("a step let another thread go on before it ended")
            continue
        length = min(end, ns) - start
        of_process(start)
        if step["what"] in ("run", "sleep"):
            functions = [f for f in dict.fromkeys(step["stack"]) if f != "main"]
            for f in functions:
                add(("function", f), length)
        if step["what"] == "sleep":
            add(("call", "usleep"), length)
        if step["what"] == "sync":
            add(("file", step["file"]), length)
        ns, i = start, i - 1
    for lock in (0, 1):
        covered = None
        for one, start, end in waits:
            if one == lock:
                upto = end if covered is None else min(end, covered)
                add(("lock", lock), max(0, upto - start))
                covered = start if covered is None else min(start, covered)
    return sums


def write(run, leave_out=lambda: False):
    program, trace, flow = run.program, Trace(), 0
    nodes = {}
    for stack in {s[:n] for s in program.stacks for n in range(1, len(s) + 1)}:
        nodes[stack] = 0x7fe000000000 + 1 + len(nodes)
    makers = {s["who"]: (m, i) for m, steps in enumerate(program.steps) for i, s in enumerate(steps)
              if s["what"] == "start"}

    def frames():
        for stack in sorted(nodes, key=len):
            trace.frame(nodes[stack], nodes.get(stack[:-1], 0), stack[-1])

    def arrow(t, waker, woken, at):
        nonlocal flow
        flow += 1
        thread(waker)
        trace.call("agent", "released", woken, woken + 1)
        trace.event(8, "agent", "wakes", woken, flow)
        thread(t)
        trace.call("agent", "resumed", at - 1, at)
        trace.event(10, "agent", "wakes", at, flow)

    def thread(t):
        trace.thread(program.pids[t], tids[t])
    tids = {t: pid if t == 0 or pid != program.pids[makers[t][0]] else 1000 + t
            for t, pid in enumerate(program.pids)}
    for t, steps in enumerate(program.steps):
        is_child = t and program.pids[t] != program.pids[makers[t][0]]
        if t == 0 or is_child:
            trace.provider(program.pids[t], "app" if t == 0 else "child")
        else:
            # A thread goes on in its process's provider.
            trace.record(0, 2 << 16 | program.pids[t] << 20, b"")
        thread(t)
        frames()
        begin = BEGIN if t == 0 else run.done[makers[t][0]][makers[t][1]][1] + \
            program.steps[makers[t][0]][makers[t][1]]["latency"]
        if t == 0:
            trace.event(0, "process", "begins", begin)
            for number in range(2):
                trace.call("io", "open", begin, begin, pathname=f"/data/{number}", ret=10 + number)
        else:
            m, k = makers[t]
            arrow(t, m, run.done[m][k][1], begin)
            if is_child:
                for number in range(2):
                    trace.call("io", "open", begin, begin, pathname=f"/data/{number}", ret=10 + number)
            else:
                trace.event(5, "pthread", "thread", begin, t, thread=0x7f0000000000 + t, pid=program.pids[t],
                            tid=1000 + t)
        for step, (start, end, waker, woken) in zip(steps, run.done[t]):
            what = step["what"]
            if what == "sleep":
                trace.call("time", "usleep", start, end, usec=1, ret=0, stack=nodes[step["stack"]])
            elif what == "sync":
                trace.call("io", "fsync", start, end, fd=10 + step["file"], ret=0)
            elif what == "receive":
                of, when = step["of"][0], run.done[step["of"][0]][step["of"][1]][1]
                if step["semaphore"]:
                    trace.call("pthread", "sem_wait", start, end, sem=0x5000 + step["of"][0], ret=0)
                else:
                    trace.call("io", "read", start, end, fd=50 + step["of"][0], count=1, ret=1)
                if waker is not None or not step["semaphore"]:
                    if not (step["semaphore"] and leave_out()):
                        arrow(t, of, when, end)
            elif what == "lock" and waker is not None:
                trace.call("pthread", "pthread_mutex_lock", start, end, mutex=0x6000 + step["lock"] * 64)
                arrow(t, waker, woken, end)
            elif what == "meet":
                trace.call("pthread", "pthread_barrier_wait", start, end, barrier=0x7000)
                if waker is not None:
                    arrow(t, waker, woken, end)
            elif what == "join":
                if program.pids[step["who"]] != program.pids[t]:
                    trace.call("process", "waitpid", start, end, pid=program.pids[step["who"]], options=0,
                               ret=program.pids[step["who"]])
                    arrow(t, step["who"], run.at[step["who"]], end)
                else:
                    trace.call("pthread", "pthread_join", start, end, thread=0x7f0000000000 + step["who"])
                    if waker is not None:
                        arrow(t, waker, woken, end)
        trace.event(0, "process", "last", run.at[t])
    trace.provider(KERNEL, "kernel")
    trace.thread(KERNEL, KERNEL - 1)
    frames()
    for t, steps in enumerate(program.steps):
        for step, (start, end, *_) in zip(steps, run.done[t]):
            for at in (start + NEAR, end - NEAR) if step["what"] == "run" else ():
                c, category = trace.inline("sample")
                n, name = trace.inline(step["stack"][-1])
                args = b""
                for key, kind, value in (("process", 8, program.pids[t]), ("thread", 8, tids[t]),
                                         ("stack", 7, nodes[step["stack"]])):
                    ref, raw = trace.inline(key)
                    body = raw + struct.pack("<Q", value)
                    args += struct.pack("<Q", kind | (1 + len(body) // 8) << 4 | ref << 16) + body
                trace.record(4, 3 << 20 | 1 << 24 | c << 32 | n << 48,
                             struct.pack("<Q", at) + category + name + args)
    return trace.out


def path_of(file):
    said = subprocess.run([FXT, "report", "--json", "--all", file], stdout=subprocess.PIPE, check=True)
    return json.loads(said.stdout)["critical_path"]


def report(trace):
    with tempfile.NamedTemporaryFile(suffix=".fxt") as file:
        file.write(trace)
        file.flush()
        return path_of(file.name)


def key_of(thing):
    if thing["kind"] == "lock":
        return "lock", (int(thing["name"].split()[1], 16) - 0x6000) // 64
    if thing["kind"] == "file":
        return "file", int(thing["name"][-1]) if thing["name"].startswith("/data/") else thing["name"]
    return ("program",) if thing["kind"] == "program" else (thing["kind"], thing["name"])


def again(program, run, key):
    """Runs the program without the thing."""
    if key[0] == "function":
        return Run(program, lambda t, s: s["what"] in ("run", "sleep") and key[1] in s["stack"], run)
    if key[0] == "call":
        return Run(program, lambda t, s: s["what"] == "sleep", run)
    if key[0] == "file":
        return Run(program, lambda t, s: s["what"] == "sync" and s["file"] == key[1], run)
    if key[0] == "program":
        return Run(program, lambda t, s: program.pids[t] != 100, run)
    return Run(program, first=run, free_lock=key[1])


def fail(*what):
    sys.exit("critical.py: " + " ".join(map(str, what)))


def exact(count, draw):
    compared = 0
    for number in range(count):
        with_locks = draw.random() < .3
        program = Program(draw, with_locks=with_locks)
        run = Run(program)
        told, sums = report(write(run)), path(run)
        slack = STEP * sum(len(steps) for steps in program.steps)
        if told["run_ns"] != run.end - BEGIN:
            fail(number, "the run took", run.end - BEGIN, "and the report says", told["run_ns"])
        if told["unknown_ns"]:
            fail(number, "unknown", told["unknown_ns"])
        seen = set()
        for thing in told["without"]:
            key = key_of(thing)
            seen.add(key)
            if key[0] == "file" and isinstance(key[1], str):
                continue
            share = thing["for_ns" if key[0] == "lock" else "in_ns"]
            if abs(share - sums.get(key, 0)) > slack:
                fail(number, key, "has", share, "of the path, and the model says", sums.get(key, 0))
            # Without a function, locks may be taken in another order than they were.
            if with_locks and key[0] != "lock":
                continue
            second = again(program, run, key)
            without = second.end - BEGIN
            if second.is_close:
                continue
            if not abs(thing["run_without_ns"] - without) <= slack:
                fail(number, "without", key, "it takes", without, "of", run.end - BEGIN,
                     "and the report says", thing["run_without_ns"])
            if not thing["run_without_least_ns"] == thing["run_without_ns"] == thing["run_without_most_ns"]:
                fail(number, key, "has bounds although all is known")
            compared += 1
        for key, ns in sums.items():
            others = [sums[k] for k in seen if k[0] == "function" and k in sums]
            if ns > told["run_ns"] / 1000 + 1 and key not in seen and key[0] != "function":
                fail(number, key, "is missing, with", ns)
            if ns > told["run_ns"] / 1000 + 1 and key not in seen and not any(
                    ns * .7 <= other <= ns * 1.4 for other in others):
                fail(number, key, "is missing, with", ns)
    return compared


def bounds(count, draw):
    compared = 0
    for number in range(count):
        program = Program(draw, with_semaphores=True)
        run = Run(program)
        left_out = [draw.random() < .5 for _ in range(200)]
        untold = iter(left_out)
        told = report(write(run, lambda: next(untold)))
        is_untold = any(left_out[:200 - sum(1 for _ in untold)])
        for thing in told["without"]:
            key = key_of(thing)
            if key[0] in ("lock", "file") and (key[0] == "lock" or isinstance(key[1], str)):
                continue
            second = again(program, run, key)
            without = second.end - BEGIN
            if second.is_close:
                continue
            # Of a wait that nobody is known to have ended, it is not known either how long the wakeup took;
            # and by as little, later waits may be there or not.
            slack = second.near
            if is_untold or second.has_new_waits:
                slack += LATENCY * sum(1 for steps in run.done for step in steps if step[2] is not None)
            if thing["run_without_least_ns"] > without + slack:
                fail(number, "without", key, "it takes", without, "and the report says at least",
                     thing["run_without_least_ns"])
            # Of a semaphore that was there the trace does not tell who posted it. If somebody waits for that
            # one now, nobody could know.
            if not second.has_new_waits and thing["run_without_most_ns"] < without - slack:
                fail(number, "without", key, "it takes", without, "and the report says at most",
                     thing["run_without_most_ns"])
            compared += 1
    return compared


def phases(count, draw):
    """One thread computes, then eight do, and then the first one again."""
    for _ in range(count):
        program = Program.__new__(Program)
        program.draw, program.least_latency = draw, 3000
        program.stacks = [("main", "alone"), ("main", "each")]
        program.steps, program.pids = [[] for _ in range(9)], [100] * 9
        parts = [draw.randrange(1, 100) for _ in range(3)]
        alone, together, last = (part * 1000000 for part in parts)
        program.add(0, "run", stack=("main", "alone"), ns=alone)
        for t in range(1, 9):
            program.add(0, "start", who=t)
            program.add(t, "run", stack=("main", "each"), ns=together - draw.randrange(900000))
        for t in range(1, 9):
            program.add(0, "join", who=t)
        program.add(0, "sleep", stack=("main", "alone"), ns=last)
        told = report(write(Run(program)))
        things = {key_of(thing): thing for thing in told["without"]}
        for key, ns in ((("function", "alone"), alone + last), (("function", "each"), together),
                        (("call", "usleep"), last)):
            if abs(things[key]["in_ns"] - ns) > told["run_ns"] / 50:
                fail(key, "has", things[key]["in_ns"], "of", told["run_ns"], "and not", ns)
    return count


def real(what, file, kind="file", name="-", wins="0"):
    """Looks at a trace of tests/apps/repairable.c."""
    told = path_of(file)
    found = [thing for thing in told["without"]
             if thing["kind"] == kind and (name == "-" or thing["name"] == name)]
    if what == "alone":
        # The run's wall time is that of its thread, whatever the disk took.
        for thing in found:
            if thing["run_without_ns"] + thing["in_ns"] != told["run_ns"]:
                fail("not", thing, "of", told["run_ns"])
        return
    if not found:
        fail("no", kind, name, "in", told)
    won = 1000 - 1000 * found[0]["run_without_ns"] / told["run_ns"]
    if abs(won - int(wins)) > 150:
        fail(kind, name, "wins", won, "thousandths, and not", wins, told)


def meetings(count, draw):
    """Threads meet at a barrier. Without what the last one did, the others bound what is won."""
    compared = 0
    for number in range(count):
        program = Program.__new__(Program)
        program.draw, program.least_latency = draw, 3000
        threads = draw.randrange(2, 7)
        program.stacks = [("main", "last")] + [("main", f"f{t}") for t in range(1, threads + 1)]
        program.steps, program.pids = [[] for _ in range(threads + 1)], [100] * (threads + 1)
        for t in range(1, threads + 1):
            program.add(0, "start", who=t)
            program.add(t, "run", stack=("main", f"f{t}"), ns=draw.randrange(100000, 3000000))
            program.add(t, "meet", linger=draw.choice([0, draw.randrange(3000, LINGER)]),
                        **{"with": [(other, 1) for other in range(1, threads + 1)]})
            program.add(t, "run", stack=("main", "last"), ns=draw.randrange(100000, 200000))
        for t in range(1, threads + 1):
            program.add(0, "join", who=t)
        run = Run(program)
        told = report(write(run))
        for thing in told["without"]:
            second = again(program, run, key_of(thing))
            if thing["kind"] != "function" or second.is_close:
                continue
            compared += 1
            if abs(second.end - BEGIN - thing["run_without_ns"]) > second.near:
                fail(number, "without", thing["name"], "it takes", second.end - BEGIN, "of", run.end - BEGIN,
                     "and the report says", thing["run_without_ns"])
    return compared


def main():
    if sys.argv[1] in ("wins", "alone"):
        return real(*sys.argv[1:])
    draw = random.Random(int(os.environ.get("FXT_SEED", "1")))
    what = {"exact": exact, "bounds": bounds, "phases": phases, "meetings": meetings}[sys.argv[1]]
    compared = what(int(sys.argv[2]), draw)
    if not compared:
        fail("compared nothing")
    print(compared)


main()
