#!/usr/bin/env python3
"""Compares parts of traces with what the options say should be in them.

    cut.py ROUNDS TRACE...

Draws options for each trace, ROUNDS times. A model in here, which knows the whole trace as `fxt dump --json`
prints it, says which records are in the part: all of them have to be in what `fxt cut` writes, and no others.
The part has to be a sound trace, and what `fxt report` and `fxt dump` say of a part of the whole has to be
what they say of that file. FXT_ORACLE names a second checker. The draws follow from FXT_SEED."""
import collections, fnmatch, json, os, random, subprocess, sys

FXT, ORACLE = os.environ["FXT"], os.environ.get("FXT_ORACLE")
SEED = int(os.environ.get("FXT_SEED") or random.SystemRandom().getrandbits(32))
LIST = ("pid", "thread", "call", "category", "object", "path", "stack")
INFINITY = 1 << 64
failures = 0


def fail(text):
    global failures
    failures += 1
    print("FAIL:", text, file=sys.stderr, flush=True)


def run(*arguments):
    done = subprocess.run([FXT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def records(output):
    return [json.loads(line) for line in output.decode(errors="surrogateescape").splitlines()]


def key(record):
    """A block has its name from its lifetime, which a part may lack."""
    return json.dumps({k: v for k, v in record.items() if k not in ("offset", "objects")}, sort_keys=True)


def attached(e):
    """What comes along with the call around it, and is none itself."""
    if e["type"] == "counter" or e["type"].startswith("async"):
        return False
    return e.get("category") == "agent" or (
        e["type"] == "instant" and e["name"] in ("blocked", "contended", "unlocked")
        and "stack" in e.get("args", {}))


def is_event(e):
    return "category" in e and "time" in e and e["type"] != "large-blob"


class Trace:
    def __init__(self, path):
        self.path = path
        status, out, err = run("dump", "--json", "--ns", path)
        self.is_sound = run("check", path)[0] == 0
        self.all = records(out)
        self.timed = [r for r in self.all if "time" in r]
        self.first = min((r["time"] for r in self.timed), default=0)
        self.last = max((r["time"] + max(0, r.get("duration", 0)) for r in self.timed), default=0)
        self.process_names = {r["id"]: r["name"] for r in self.all if r["type"] == "process"}
        self.thread_names = {r["id"]: r["name"] for r in self.all if r["type"] == "thread-name"}
        self.kernel = {r["id"] for r in self.all if r["type"] == "provider" and r["name"] == "kernel"}
        self.pid_of = {}
        for r in self.all:
            if "tid" in r:
                self.pid_of[r["tid"]] = r["pid"]
        self.groups, self.flows = {}, []
        open_calls, self.ends = collections.defaultdict(list), {}
        for i, e in enumerate(self.timed):
            kind = e["type"].split("-")[0]
            if kind in ("async", "flow"):
                group = self.groups.setdefault((kind, e["id"]),
                                               {"start": e["time"], "ends": [], "events": []})
                group["start"] = min(group["start"], e["time"])
                group["events"].append(i)
                if e["type"].endswith("-end"):
                    group["ends"].append(e["time"])
            if e["type"] == "begin":
                open_calls[e["pid"], e["tid"]].append(i)
            elif e["type"] == "end" and open_calls[e["pid"], e["tid"]]:
                self.ends[open_calls[e["pid"], e["tid"]].pop()] = i
        for group in self.groups.values():
            group["end"] = max(group["ends"]) if group["ends"] else INFINITY
        # Nodes of stacks are numbered by each provider. A process that has executed another program is two.
        self.frames, self.provider_of, provider = {}, {}, None
        for r in self.all:
            args = r.get("args", {})
            if r["type"] in ("provider", "section"):
                provider = r["id"]
            self.provider_of[r["offset"]] = provider
            if r["type"] == "object" and args.get("type") == "frame":
                had = self.frames.get((provider, r["id"]))
                if not had or not had[0]:
                    self.frames[provider, r["id"]] = (r.get("name"), args.get("parent"))


class Model:
    """What the options choose, with the same words as the manual has."""

    def __init__(self, trace, options):
        self.t, self.o = trace, options
        self.by_event = any(options.get(k) for k in ("call", "category", "object", "path", "stack", "min"))
        self.low = trace.first + options["from"] if "from" in options else 0
        self.high = trace.first + options["to"] if "to" in options else INFINITY
        if "around" in options:
            at, span = options["around"]
            self.low, self.high = trace.first + max(0, at - span), trace.first + at + span
        self.lifetimes = collections.defaultdict(list)
        for e in trace.timed:
            if not options.get("path"):
                break
            if e["type"] == "async-begin" and "fd" in e.get("args", {}) and self.text_fits(e):
                group = trace.groups["async", e["id"]]
                self.lifetimes[e["pid"], e["args"]["fd"]].append((group["start"], group["end"]))

    def fits(self, option, *texts):
        return not self.o.get(option) or any(
            fnmatch.fnmatchcase(str(t), p) for t in texts if t is not None for p in self.o[option])

    def thread_chosen(self, tid):
        pid = self.t.pid_of.get(tid)
        return tid and pid is not None and self.fits("pid", pid, self.t.process_names.get(pid)) and self.fits(
            "thread", tid, self.t.thread_names.get(tid))

    def thread_fits(self, e):
        if not self.o.get("pid") and not self.o.get("thread"):
            return True
        if e["type"] == "switch":
            return self.thread_chosen(e.get("outgoing")) or self.thread_chosen(e.get("incoming"))
        if e["type"] == "wakeup":
            return self.thread_chosen(e["woken"])
        if e.get("pid") in self.t.kernel and "thread" in e.get("args", {}):
            return self.thread_chosen(e["args"]["thread"])
        return self.thread_chosen(e["tid"])

    def text_fits(self, e):
        return any(self.fits("path", v) for v in e.get("args", {}).values()
                   if isinstance(v, str) and not v.startswith("0x"))

    def path_fits(self, e, start, end):
        if not self.o.get("path") or self.text_fits(e):
            return True
        fd = e.get("args", {}).get("fd")
        return any(start <= b and end >= a for a, b in self.lifetimes.get((e.get("pid"), fd), ()))

    def stack_fits(self, e):
        if not self.o.get("stack"):
            return True
        at, seen = e.get("args", {}).get("stack"), set()
        while at and at not in seen:
            seen.add(at)
            name, parent = self.t.frames.get((self.t.provider_of[e["offset"]], at), (None, None))
            if name and (self.fits("stack", name) or self.fits("stack", name.split("(")[0])):
                return True
            at = parent
        return False

    def event_fits(self, e, start, end):
        values = e.get("args", {}).values()
        return (end - start >= self.o.get("min", 0) and self.fits("category", e.get("category"))
                and self.fits("call", e.get("name"), e.get("demangled")) and self.stack_fits(e)
                and self.fits("object", *[v for v in values if isinstance(v, str)])
                and self.path_fits(e, start, end))

    def chosen(self, e, start, end):
        return (start <= self.high and end >= self.low and self.thread_fits(e)
                and (not self.by_event or self.event_fits(e, start, end)))

    def expected(self):
        t, keep, slices, groups = self.t, set(), [], set()
        for i, e in enumerate(t.timed):
            kind = e["type"].split("-")[0]
            start, end = e["time"], e["time"] + max(0, e.get("duration", 0))
            if e["type"] == "counter" and e["category"] == "agent":
                if self.thread_fits(e):
                    keep.add(i)
            elif kind == "async":
                group = t.groups["async", e["id"]]
                if self.chosen(e, group["start"], group["end"]):
                    groups.add(("async", e["id"]))
            elif kind == "flow":
                if not (self.by_event and attached(e)) and self.chosen(e, start, end):
                    groups.add(("flow", e["id"]))
            elif e["type"] == "begin":
                end = max(start, t.timed[t.ends[i]]["time"]) if i in t.ends else INFINITY
                if self.chosen(e, start, end):
                    keep.add(i)
                    slices.append((e["pid"], e["tid"], start, end))
                    if i in t.ends:
                        keep.add(t.ends[i])
            elif e["type"] == "end":
                pass
            elif not is_event(e):
                if not self.by_event and self.chosen(e, start, end):
                    keep.add(i)
            elif self.chosen(e, start, end):
                keep.add(i)
                if e["type"] == "complete" and not attached(e):
                    slices.append((e["pid"], e["tid"], start, end))
        moments = collections.defaultdict(list)
        if self.by_event:
            for i, e in enumerate(t.timed):
                if attached(e):
                    moments[e["pid"], e["tid"]].append((e["time"], i))
        for pid, tid, start, end in slices:
            for when, i in moments.get((pid, tid), ()):
                if start <= when <= end:
                    keep.add(i)
                    if t.timed[i]["type"].startswith("flow"):
                        groups.add(("flow", t.timed[i]["id"]))
                        keep.discard(i)
        needed = collections.defaultdict(list)
        for name in groups:
            for i in t.groups[name]["events"]:
                keep.add(i)
                e = t.timed[i]
                if name[0] == "flow":
                    needed[e["pid"], e["tid"], e["category"] == "agent"].append(e["time"])
        for i, e in enumerate(t.timed):
            if e["type"] == "complete":
                around = needed.get((e["pid"], e["tid"], e["category"] == "agent"), ())
                if any(e["time"] <= n <= e["time"] + e["duration"] for n in around):
                    keep.add(i)
        return [t.timed[i] for i in sorted(keep)]


def plain(text):
    text = str(text or "")
    return text and not set(text) & set("*?[]\\,") and text.isprintable() and text == text.strip()


def draw(random, trace):
    """Returns options, and the words for them."""
    options, length = {}, trace.last - trace.first
    events = [e for e in trace.timed if is_event(e)]
    if random.random() < .5:
        low, high = sorted(random.randrange(length + 1) for _ in range(2))
        which = random.randrange(4)
        if which == 3:
            options["around"] = (low, random.choice([0, 1000, (high - low) // 2]))
        if which != 3 and which != 1:
            options["from"] = low
        if which in (1, 2):
            options["to"] = high
    for name in random.sample(LIST, random.choice([0, 1, 1, 2] if options else [1, 1, 2])):
        e = random.choice(events)
        args = list(e.get("args", {}).values())
        pool = {"pid": [e["pid"], trace.process_names.get(e["pid"])],
                "thread": [e["tid"], trace.thread_names.get(e["tid"])],
                "call": [e["name"], e["name"][:3] + "*"], "category": [e["category"]],
                "object": [v for v in args if isinstance(v, str) and v.startswith("0x")],
                "path": [v for v in args if isinstance(v, str) and not v.startswith("0x")],
                "stack": [n for n, _ in random.sample(sorted(trace.frames.values(), key=str),
                                                      min(3, len(trace.frames)))]}[name]
        pool = [p for p in pool if plain(p)]
        if pool:
            options[name] = sorted({str(random.choice(pool)) for _ in range(random.choice([1, 1, 2]))})
    if random.random() < .25:
        options["min"] = max(1, random.choice([e.get("duration", 1) for e in events]))
    words = []
    for name, value in options.items():
        if name == "around":
            words.append(f"--around={value[0]}ns,{value[1]}ns")
        elif name in LIST:
            words.append(f"--{name}={','.join(value)}")
        else:
            words.append(f"--{name}={value}ns")
    return options, words


def difference(name, want, have):
    want, have = collections.Counter(map(key, want)), collections.Counter(map(key, have))
    missing, more = list((want - have).elements()), list((have - want).elements())
    if missing or more:
        return (f"{name}: {len(missing)} are missing, as {missing[:2]}; "
                f"{len(more)} should not be there, as {more[:2]}")
    return None


def cut_once(trace, options, words):
    want = Model(trace, options).expected()
    part = "part.fxt"
    status, out, err = run("cut", "--force", "-o", part, *words, trace.path)
    if not [r for r in want if is_event(r)]:
        if status != 1 or not err:
            fail(f"{trace.path} {words}: nothing fits, and fxt cut ends with {status} and says {err!r}")
        return 0
    if status or err:
        # A name that fits nothing at the chosen time is there, and one that nothing has is refused.
        fail(f"{trace.path} {words}: status {status}, {err.strip()!r}, and {len(want)} records fit")
        return 0
    have = [r for r in records(run("dump", "--json", "--ns", part)[1]) if "time" in r]
    wrong = difference("fxt cut", want, have) or difference(
        "fxt dump", want, records(run("dump", "--json", "--ns", *words, trace.path)[1]))
    if wrong:
        fail(f"{trace.path} {words}: {wrong}")
    status, out, err = run("check", part)
    if status and trace.is_sound:
        fail(f"{trace.path} {words}: fxt check: {out.decode()[:500]}{err}")
    if ORACLE and trace.is_sound:
        done = subprocess.run(["python3", ORACLE, part], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)
        if done.returncode:
            fail(f"{trace.path} {words}: the oracle: {done.stdout[:500]}")
    if "category" not in options:
        whole, alone = run("report", "--all", *words, trace.path), run("report", "--all", part)
        if whole[:2] != alone[:2]:
            fail(f"{trace.path} {words}: the report of the part and that of its file differ")
    return 1


def main():
    rounds, made, refused = int(sys.argv[1]), 0, 0
    for number, path in enumerate(sys.argv[2:]):
        rng = random.Random(f"{SEED} {number}")
        trace = Trace(path)
        for _ in range(rounds if any(map(is_event, trace.timed)) else 0):
            options, words = draw(rng, trace)
            if not words:
                continue
            one = cut_once(trace, options, words)
            made, refused = made + one, refused + 1 - one
            if failures > 4:
                sys.exit(1)
    print(f"{made} parts of {len(sys.argv) - 2} traces are as the model has them, {refused} fit nothing")
    sys.exit(failures != 0)


main()
