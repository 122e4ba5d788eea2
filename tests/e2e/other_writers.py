#!/usr/bin/env python3
"""Writes traces as other tracers do, and compares what fxt says of each with what was written.

    other_writers.py NUMBER         makes so many traces at random, in the current folder
    other_writers.py short FILE     writes a trace with a string argument that is a word too short, as one
                                    tracer leaves it

magic-trace, Fuchsia's engine and tools, ocaml-trace, firedancer, simpleperf and others use what the format
allows and our agent never writes: words appended to records, names of threads without a process, context
switches of a provider of their own, slices that begin at one tick, nested asyncs of several names, provider
events and trace information of other kinds, providers that are no programs. Each trace has some of these. The
seed is FXT_SEED's. The exit status is 1 when fxt says something else than was written.
"""
import gzip, json, os, random, struct, subprocess, sys

FXT = os.environ["FXT"]
RATES = 1000000000, 1000000, 24000000, 2000000000, 1234567
INSTANT, COUNTER, BEGIN, END, COMPLETE, ASYNC_BEGIN, ASYNC, ASYNC_END = range(8)
FLOW_BEGIN, FLOW_STEP, FLOW_END = 8, 9, 10
WORDS = ["instant", "counter", "begin", "end", "complete", "async-begin", "async", "async-end", "flow-begin",
         "flow-step", "flow-end"]
EXTRA = COUNTER, COMPLETE, ASYNC_BEGIN, ASYNC, ASYNC_END, FLOW_BEGIN, FLOW_STEP, FLOW_END


def padded(text):
    raw = text.encode()
    return raw + bytes(-len(raw) % 8)


class Writer:
    """The records of one trace, and what fxt has to say of them."""

    def __init__(self, draw):
        self.draw, self.out = draw, bytearray()
        self.events, self.threads, self.allowed = [], {}, set()
        self.names, self.placed = {}, set()     # `placed`: threads whose process the trace tells
        self.rate = 1000000000

    def record(self, kind, body, fields=0, may_append=True):
        """Adds a record, at times with words after its last member."""
        extra = b""
        if may_append and self.draw.random() < self.appends:
            extra = b"".join(struct.pack("<Q", self.draw.randrange(1, 1 << 64))
                             for _ in range(self.draw.randrange(1, 4)))
            self.allowed.add("words appended to a record")
        size = 1 + (len(body) + len(extra)) // 8
        self.out += struct.pack("<Q", kind | size << 4 | fields << 16) + body + extra

    def ns(self, ticks):
        return ticks * 1000000000 // self.rate

    def string(self, index, text):
        self.record(2, padded(text), index | len(text.encode()) << 16)

    def ref(self, text, may_be_index=True):
        """Returns a reference to a text and what stands in the record for it."""
        if text in self.names and may_be_index:
            return self.names[text], b""
        if may_be_index and self.draw.random() < .5 and len(self.names) < 1000:
            self.names[text] = len(self.names) + 1
            self.string(self.names[text], text)
            return self.names[text], b""
        return 0x8000 | len(text.encode()), padded(text)

    def argument(self, kind, name, value):
        ref, inline = self.ref(name, False)
        return struct.pack("<Q", kind | (2 + len(inline) // 8) << 4 | ref << 16) + inline + \
            struct.pack("<Q", value)

    def prologue(self):
        self.out += struct.pack("<Q", 0x0016547846040010)
        if self.draw.random() < .7:
            if self.draw.random() < .6:
                name = self.draw.choice(["jane_tracing", "p", "trace engine", "x" * 9])
                self.record(0, padded(name), 1 | self.provider << 4 | len(name) << 36)
            else:
                self.allowed.add("provider section without provider info")
            self.record(0, b"", 2 | self.provider << 4, False)
        if self.draw.random() < .8:
            self.rate = self.draw.choice(RATES)
            self.record(1, struct.pack("<Q", self.rate))

    def thread(self, index, pid, tid, has_process):
        name = self.draw.choice(["main", "worker", "net:0", "ünder"]) + str(tid)
        ref, inline = self.ref(name)
        args = self.argument(8, "process", pid) if has_process else b""
        self.record(7, struct.pack("<Q", tid) + inline + args,
                    2 | ref << 8 | (1 if has_process else 0) << 24)
        if index:
            self.record(3, struct.pack("<QQ", pid, tid), index)
        self.threads[(pid, tid)] = name, index
        if index or has_process:
            self.placed.add((pid, tid))

    def event(self, kind, ticks, who, category, name, args=(), extra=None):
        index = self.threads[who][1]
        self.placed.add(who)
        category_ref, category_text = self.ref(category)
        name_ref, name_text = self.ref(name)
        body = struct.pack("<Q", ticks) + (b"" if index else struct.pack("<QQ", *who))
        body += category_text + name_text
        body += b"".join(self.argument(3, key, value) for key, value in args)
        if extra is not None:
            body += struct.pack("<Q", extra)
        self.record(4, body, kind | len(args) << 4 | index << 8 | category_ref << 16 | name_ref << 32)
        told = {"type": WORDS[kind], "time": self.ns(ticks), "pid": who[0], "tid": who[1],
                "thread": self.threads[who][0], "category": category, "name": name}
        if args:
            told["args"] = dict(args)
        if kind == COMPLETE:
            told["duration"] = self.ns(extra) - self.ns(ticks)
        elif extra is not None:
            told["id"] = str(extra)
        self.events.append(told)

    def other(self):
        """Adds a record that is no event and that a reader may pass over."""
        what = self.draw.randrange(5)
        if what == 0:
            self.record(0, b"", 3 | self.provider << 4 | self.draw.randrange(1, 16) << 36, False)
        elif what == 1:
            self.record(0, b"", 4 | self.draw.randrange(1, 16) << 4, False)
        elif what == 2:
            self.record(self.draw.randrange(10, 15), os.urandom(8 * self.draw.randrange(4)), 0)
        elif what == 3:
            self.record(4, os.urandom(8 * self.draw.randrange(1, 5)), self.draw.randrange(11, 16))
        else:
            self.record(0, os.urandom(8), self.draw.randrange(5, 15))

    def slices(self, who, at):
        """Adds nested slices of a thread from this tick on, and returns the tick of their end."""
        begin, depth = at, self.draw.randrange(1, 4)
        length = self.draw.randrange(100, 1000) * depth
        for _ in range(depth):
            self.event(COMPLETE, begin, who, "c", self.draw.choice("fgh"),
                       [("n", self.draw.randrange(1000))][:self.draw.randrange(2)], begin + length)
            if self.draw.random() < .5:
                self.allowed.add("two slices of a thread begin at the same tick" if depth > 1 else "")
            else:
                begin += 1
                length -= 1
            length -= 10
        return at + 10000

    def asyncs(self, who, at):
        number = self.draw.randrange(1 << 64)
        names = [self.draw.choice(["request", "connect", "read"]) for _ in range(self.draw.randrange(1, 3))]
        if len(set(names)) > 1:
            self.allowed.add("async id used under two names")
        for name in names:
            self.event(ASYNC_BEGIN, at, who, "net", name, extra=number)
            at += 5
        self.event(ASYNC, at, who, "net", "another name", extra=number)
        for name in reversed(names):
            at += 5
            self.event(ASYNC_END, at, who, "net", name, extra=number)
        return at + 10

    def flow(self, at):
        """Adds a flow through some threads, of which the last are written first, as when each thread has a
        buffer of its own."""
        number, name = self.draw.randrange(1 << 64), self.draw.choice(["message", "wake"])
        way = [self.draw.choice(list(self.threads)) for _ in range(self.draw.randrange(2, 5))]
        for n, who in reversed(list(enumerate(way))):
            kind = FLOW_BEGIN if n == 0 else FLOW_END if n == len(way) - 1 else FLOW_STEP
            when = at + 100 * n
            self.event(COMPLETE, when, who, "c", "f", (), when + 50)
            self.event(kind, when + 1 + self.draw.randrange(40), who, "ipc", name, extra=number)
        return at + 100 * len(way)

    def switches(self, at):
        """Adds context switches of a provider of their own: who ran for how long on one processor."""
        sums = dict.fromkeys(self.threads, 0)
        name = "ktrace_provider"
        self.record(0, padded(name), 1 | 77 << 4 | len(name) << 36)
        self.record(1, struct.pack("<Q", self.rate))
        last = (0, 0)
        for _ in range(self.draw.randrange(3, 30)):
            following = self.draw.choice([who for who in self.threads if who != last])
            self.switch(at, last, following)
            length = self.draw.randrange(1000, 100000)
            sums[following] += self.ns(at + length) - self.ns(at)
            at += length
            last = following
        self.switch(at, last, (0, 0))
        return sums

    def switch(self, at, out, into):
        if self.legacy:
            self.record(8, struct.pack("<QQQQQ", at, *out, *into), 0 | 3 << 8)
        else:
            self.record(8, struct.pack("<QQQ", at, out[1], into[1]), 3 << 20 | 1 << 44)


def make(draw):
    w = Writer(draw)
    w.appends = draw.choice([0, .1, .5, 1])
    w.provider, w.legacy = draw.randrange(50), draw.random() < .5
    w.prologue()
    pid = draw.randrange(100, 1000)
    ref, inline = w.ref("prog")
    w.record(7, struct.pack("<Q", pid) + inline, 1 | ref << 8)
    for n in range(draw.randrange(2, 5)):
        w.thread(draw.choice([0, n + 1]), pid, pid + 1 + n, draw.random() < .6)
    at = 1000
    for _ in range(draw.randrange(5, 40)):
        who = draw.choice(list(w.threads))
        what = draw.randrange(6)
        if what == 5:
            at = w.flow(at)
        elif what == 0:
            w.event(INSTANT, at, who, "c", draw.choice(["thread scope", "process scope"]))
        elif what == 1:
            w.event(COUNTER, at, who, "mem", "heap", [("used", draw.randrange(1 << 40))], draw.randrange(9))
        elif what == 2:
            at = w.asyncs(who, at)
        elif what == 3:
            at = w.slices(who, at)
        else:
            w.other()
        at += 20
    sums = w.switches(at) if draw.random() < .6 else None
    w.allowed.discard("")
    return w, sums


def fxt(*command, status=0):
    done = subprocess.run([FXT, *command], capture_output=True, text=True)
    if done.returncode != status:
        sys.exit(f"other_writers.py: fxt {' '.join(command)}: status {done.returncode}: {done.stderr}")
    return done.stdout


def is_event(told):
    return told["type"] in WORDS


def events_of(path):
    said = [json.loads(line) for line in fxt("dump", "--json", path).splitlines()]
    for record in said:
        record.pop("offset")
    return [record for record in said if is_event(record)]


def compare(what, expected, found):
    if expected != found:
        sys.exit(f"other_writers.py: {what}: expected {expected}, found {found}")


def examine(path, w, sums):
    compare(f"{path}: events", w.events, events_of(path))
    check = json.loads(fxt("check", "--format", "--json", path))
    compare(f"{path}: violations of the format", {}, check["violations"])
    unexpected = set(check["allowed"]) - w.allowed
    compare(f"{path}: allowed", set(), unexpected)
    compare(f"{path}: appended", "words appended to a record" in w.allowed,
            "words appended to a record" in check["allowed"])
    fxt("check", path, status=1 if check["allowed"] else 0)
    report = json.loads(fxt("report", "--json", "--all", path))
    compare(f"{path}: events in the report", len(w.events), report["trace"]["events"])
    compare(f"{path}: tracks", tracks_of(w.events), tracks_in(report))
    if sums is not None:
        check_threads(path, report)
        found = {t["tid"]: t["running_ns"] for t in report["processor"]["threads"]}
        for who, ns in sums.items():
            if ns and (who in w.placed or w.legacy) and abs(found.get(who[1], 0) - ns) > 1000:
                sys.exit(f"other_writers.py: {path}: {who} ran for {ns} ns, found {found}")


def tracks_of(events):
    """Returns what a report says of counters, asyncs and flows."""
    counters, asyncs, flows, open_at, flying = {}, {}, {}, {}, {}
    for e in sorted(events, key=lambda e: e["time"]):
        key = e["category"], e["name"]
        if e["type"] == "counter":
            for argument, value in e["args"].items():
                counters.setdefault((e["pid"], *key, e["id"], argument), []).append(value)
        elif e["type"] in ("async-begin", "async-end"):
            stack = open_at.setdefault((e["pid"], e["id"], *key), [])
            durations = asyncs.setdefault(key, [])
            if e["type"] == "async-begin":
                stack.append(e["time"])
            elif stack:
                durations.append(e["time"] - stack.pop())
        elif e["type"].startswith("flow"):
            thread = e["pid"], e["tid"]
            if e["type"] != "flow-begin" and (e["id"], *key) in flying:
                source, begin = flying[e["id"], *key]
                flows.setdefault((*key, source, thread), []).append(e["time"] - begin)
            flying[e["id"], *key] = thread, e["time"]
    return {"counters": {k: (len(v), min(v), sum(v) // len(v), max(v), v[-1]) for k, v in counters.items()},
            "asyncs": {k: (len(v), sum(v), max(v)) for k, v in asyncs.items()},
            "flows": {k: (len(v), sum(v), max(v)) for k, v in flows.items()}}


def tracks_in(report):
    return {"counters": {(c["pid"], c["category"], c["name"], c["id"], c["argument"]):
                         (c["samples"], c["min"], int(c["mean"]), c["max"], c["last"])
                         for c in report["counters"]},
            "asyncs": {(a["category"], a["name"]): (a["ended"], a["total_ns"], a["longest_ns"])
                       for a in report["asyncs"]},
            "flows": {(f["category"], f["name"], (f["from"]["pid"], f["from"]["tid"]),
                       (f["to"]["pid"], f["to"]["tid"])): (f["count"], f["total_ns"], f["longest_ns"])
                      for f in report["flows"]}}


def check_threads(path, report):
    """The table of threads says the same as that of processor time, for threads whose life is longer."""
    told = {(t["pid"], t["tid"]): t for t in report["processor"]["threads"]}
    for thread in report["threads"]:
        of = told.get((thread["pid"], thread["tid"]))
        if of and of["running_ns"] + of["ready_ns"] + of["blocked_ns"]:
            life = thread["last_ns"] - thread["first_ns"]
            compare(f"{path}: {thread['name']} runs", min(life, of["running_ns"] + of["ready_ns"]),
                    thread["running_ns"])


def write_short(path):
    text = b"text of 17 bytes."
    body = struct.pack("<QQQ", 5, 1, 2) + padded("c") + padded("name") + \
        struct.pack("<Q", 6 | 3 << 4 | 0x8001 << 16 | (0x8000 | len(text)) << 32) + padded("a") + text[:8]
    with open(path, "wb") as out:
        out.write(struct.pack("<QQ", 0x0016547846040010,
                              4 | (1 + len(body) // 8) << 4 | 1 << 20 | 0x8001 << 32 | 0x8004 << 48) + body)


def main():
    if sys.argv[1] == "short":
        write_short(sys.argv[2])
        return
    seed = int(os.environ.get("FXT_SEED", "0")) or random.randrange(1 << 32)
    draw, traces = random.Random(seed), []
    for n in range(int(sys.argv[1])):
        w, sums = make(draw)
        path = f"{n}.fxt"
        data = bytes(w.out)
        if draw.random() < .3:
            # Several parts one after the other are one file, too.
            cut = draw.randrange(len(data))
            data = gzip.compress(data[:cut]) + gzip.compress(data[cut:])
            path += ".gz"
        with open(path, "wb") as out:
            out.write(data)
        examine(path, w, sums)
        if sums is None:
            traces.append((path, w))
    for n in range(len(traces) // 2):
        (one, w), (other, v) = traces[2 * n], traces[2 * n + 1]
        fxt("merge", "-o", "merged.fxt", one, other)
        merged = sorted((e["name"], e.get("duration", 0)) for e in events_of("merged.fxt"))
        compare(f"{one} and {other}, merged", sorted((e["name"], e.get("duration", 0))
                                                     for e in w.events + v.events), merged)
    print(f"{sys.argv[1]} traces of other writers, {len(traces) // 2} merged, seed {seed}: "
          "as they were written")


main()
