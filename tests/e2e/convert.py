#!/usr/bin/env python3
"""Reads what fxt convert has written with readers that are not ours, and compares it with fxt dump --json.

    convert.py forms TRACE NAME      NAME.csv, NAME.ndjson, NAME.json and NAME.sqlite have what the trace has
    convert.py stacks TRACE NAME     NAME.folded and NAME.speedscope.json have the weights of fxt report
    convert.py rows TRACE            how many events a database of the trace has

It prints what differs, and fails then.
"""
import collections, csv, json, os, sqlite3, subprocess, sys

FXT = os.environ["FXT"]
KINDS = {"complete": "call", "begin": "call-begin", "end": "call-end", "async": "async-instant"}
EVENTS = {"complete", "begin", "end", "instant", "counter", "async-begin", "async", "async-end", "flow-begin",
          "flow-step", "flow-end"}
PHASES = {"instant": "i", "counter": "C", "begin": "B", "end": "E", "complete": "X", "async-begin": "b",
          "async": "n", "async-end": "e", "flow-begin": "s", "flow-step": "t", "flow-end": "f"}
KERNEL, DOUBLES, SIGNED = (1 << 31) - 1, 1 << 53, (1 << 63) - 1
csv.field_size_limit(1 << 24)


def records(trace):
    with subprocess.Popen([FXT, "dump", "--json", trace], stdout=subprocess.PIPE) as dump:
        for line in dump.stdout:
            yield json.loads(line)
    if dump.returncode:
        sys.exit(f"fxt dump {trace} failed")


def differ(what, wanted, found):
    sys.exit(f"{what}: expected {wanted!r}, found {found!r}")


def same(what, wanted, found):
    if wanted != found:
        differ(what, wanted, found)


def same_list(what, wanted, found):
    """Compares two iterables one by one, so that none has to be in memory."""
    wanted, found, end, count = iter(wanted), iter(found), object(), 0
    while True:
        one, other = next(wanted, end), next(found, end)
        if one is end and other is end:
            return count
        if one is end or other is end or one != other:
            differ(f"{what}, number {count}", None if one is end else one, None if other is end else other)
        count += 1


def arguments(args, most):
    """Returns arguments as JSON has them: numbers that a reader would round are text."""
    return {k: str(v) if isinstance(v, int) and not isinstance(v, bool) and abs(v) > most else v
            for k, v in args.items()}


def rows(trace):
    """Yields what CSV and ndjson have of the trace. Empty texts are no texts there."""
    processes, threads, places = {}, {}, {}
    for r in records(trace):
        kind = r["type"]
        if kind == "process":
            processes[r["id"]] = r.get("name", "")
        elif kind == "thread-name":
            threads[r["id"]] = r.get("name", "")
        row = {"kind": KINDS.get(kind, kind), "args": arguments(r.get("args", {}), DOUBLES)}
        if kind in EVENTS or kind == "log":
            row["begin_ns"] = r["time"]
            row["end_ns"] = r["time"] + r.get("duration", 0)
            row["pid"], row["tid"] = r["pid"], r["tid"]
            row["category"], row["name"] = r.get("category", ""), r.get("name", r.get("message", ""))
            if "id" in r and kind != "complete":
                row["id"] = r["id"]
            # The threads of the kernel's part are the processors, counted downwards.
            if r["pid"] == KERNEL and kind != "log":
                row["cpu"] = KERNEL - 1 - r["tid"]
        elif kind in ("switch", "wakeup"):
            row["begin_ns"] = row["end_ns"] = r["time"]
            row["tid"], row["cpu"] = r["outgoing" if kind == "switch" else "woken"], r["cpu"]
            if kind == "switch":
                row["args"] = {"incoming": r["incoming"], **row["args"]}
        elif kind == "object":
            row["pid"], row["id"], row["name"] = r["pid"], r["id"], r.get("name", "")
        else:
            continue
        yield row


def fields(row, is_text):
    """Returns the fields that both sides can be compared by. Names of threads may come later in a file."""
    out = {k: row.get(k) for k in ("kind", "begin_ns", "end_ns", "cpu", "id", "args")}
    out["category"], out["name"] = row.get("category") or "", row.get("name") or ""
    if row["kind"] not in ("switch", "wakeup", "object"):
        out["pid"], out["tid"] = row.get("pid"), row.get("tid")
    if is_text:
        # Many readers end a field at a NUL, so there is none.
        out["category"], out["name"] = (out[k].replace("\0", "?") for k in ("category", "name"))
    return out


def as_number(text):
    return int(text) if text else None


def csv_rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file, strict=True):
            for key in ("begin_ns", "end_ns", "pid", "tid", "cpu"):
                row[key] = as_number(row[key])
            row["args"] = json.loads(row["args"])
            yield row


def ndjson_rows(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            for key in ("pid", "tid"):
                row[key] = int(row[key]) if key in row else None
            yield row


def check_rows(trace, name):
    count = same_list("csv", (fields(r, True) for r in rows(trace)),
                      ({**fields(r, True), "id": r["id"] or None} for r in csv_rows(name + ".csv")))
    same("ndjson", count, same_list("ndjson", (fields(r, False) for r in rows(trace)),
                                    (fields(r, False) for r in ndjson_rows(name + ".ndjson"))))
    return count


# -- Chrome's trace events -----------------------------------------------------------------------------

class Written(str):
    """A number with a point, as it is written: a double has no room for microseconds with three digits."""


def ns(text):
    us, _, rest = text.partition(".")
    return int(us) * 1000 + int(rest.ljust(3, "0"))


def check_chrome(trace, name):
    with open(name + ".json", encoding="utf-8") as file:
        whole = json.load(file, parse_float=Written)
    same("json, members", {"displayTimeUnit", "traceEvents"}, set(whole))
    same("json, unit", "ns", whole["displayTimeUnit"])

    def wanted():
        for r in records(trace):
            kind = r["type"]
            if kind not in EVENTS and kind != "log":
                continue
            yield (PHASES.get(kind, "i"), r["pid"], r["tid"], r["time"], r.get("duration"),
                   r.get("category", "" if kind != "log" else "log"), r.get("name", r.get("message", "")),
                   int(r["id"]) if "id" in r and kind != "complete" else None,
                   arguments(r.get("args", {}), DOUBLES))

    def found():
        for e in whole["traceEvents"]:
            if e["ph"] == "M" or e.get("cat") == "processor":
                continue
            args = {k: float(v) if isinstance(v, Written) else v
                    for k, v in e.get("args", {}).items()}
            yield (e["ph"], e["pid"], e["tid"], ns(e["ts"]),
                   ns(e["dur"]) if "dur" in e else None, e.get("cat", ""), e["name"],
                   int(e["id"], 16) if "id" in e else None, args)
            if e["ph"] in "stf":
                same("json, an arrow is bound to the call that it is in", "e", e["bp"])

    same_list("json", wanted(), found())

    # What ran on a processor is what the switches say.
    on, ran = {}, []
    for r in records(trace):
        if r["type"] != "switch":
            continue
        tid, since = on.get(r["cpu"], (0, 0))
        if tid and tid == r["outgoing"] and r["time"] >= since:
            ran.append((tid, since, r["time"]))
        on[r["cpu"]] = r["incoming"], r["time"]
    same("json, what ran", ran, [(e["args"]["tid"], ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]))
                                 for e in whole["traceEvents"] if e.get("cat") == "processor"])

    last = {}
    for r in records(trace):
        if r["type"] in ("process", "thread-name") and r.get("name"):
            last[r["type"], r["id"]] = r["name"]
    for e in whole["traceEvents"]:
        if e["ph"] == "M" and not e["args"]["name"].startswith("processor "):
            key = ("process", e["pid"]) if e["name"] == "process_name" else ("thread-name", e["tid"])
            if key in last:
                same(f"json, {e['name']} of {key[1]}", last[key], e["args"]["name"])


# -- SQLite --------------------------------------------------------------------------------------------

def events(trace):
    """Returns what the table of events has: calls in progress are one event, with the end that they had."""
    found, stacks = {}, collections.defaultdict(list)
    for r in records(trace):
        kind, number = r["type"], r["offset"] // 8
        made = r.get("args", {}).get("ended_by")
        if kind not in EVENTS and kind != "log":
            continue
        if kind in ("end", "async-end") and made is not None and not (kind == "end" and made == "exec"):
            continue
        args = r.get("args", {})
        thread = stacks[r["pid"], r["tid"]]
        if kind == "log":
            args, r["name"] = {"message": r["message"]}, ""
        event = [KINDS.get(kind, kind), r.get("category", ""), r.get("name", ""), r["pid"], r["tid"],
                 r["time"], r["time"] + r["duration"] if kind == "complete" else None,
                 int(r["id"]) if "id" in r and kind != "complete" else None, dict(args)]
        if kind == "begin":
            event[0] = "call"
            thread.append((number, event))
            continue
        if kind == "end":
            if thread:
                number, event = thread.pop()
                event[6] = r["time"]
                event[8].update(args)
                found[number] = event
            continue
        # In a copy of a trace that was being written, a call may be there as in progress as well.
        if kind == "complete" and thread and thread[-1][1][1:6] == event[1:6]:
            thread.pop()
        found[number] = event
    for thread in stacks.values():
        found.update(thread)
    for event in found.values():
        event[8] = arguments(event[8], SIGNED)
        if event[7] is not None and event[7] > SIGNED:
            event[7] = str(event[7])
    return sorted(found.items())


def check_sqlite(trace, name):
    db = sqlite3.connect(f"file:{name}.sqlite?mode=ro", uri=True)
    same("sqlite, integrity", [("ok",)], db.execute("PRAGMA integrity_check").fetchall())
    wanted = events(trace)
    found = ((row[0], [row[1], row[2] or "", row[3] or "", *row[4:9], json.loads(row[9])])
             for row in db.execute("SELECT id, kind, category, name, pid, tid, begin_ns, end_ns, ref, args "
                                   "FROM events ORDER BY id"))
    same_list("sqlite, events", wanted, found)
    same("sqlite, number of events", len(wanted),
         db.execute("SELECT value FROM trace WHERE key = 'events'").fetchone()[0])
    # Each view can be read to its end.
    for (view,) in db.execute("SELECT name FROM sqlite_schema WHERE type IN ('view', 'table')").fetchall():
        for _ in db.execute(f"SELECT * FROM {view}"):
            pass

    switches, wakeups, objects, begins, ends = [], [], [], {}, []
    for r in records(trace):
        if r["type"] == "switch":
            switches.append((r["time"], r["cpu"], r["outgoing"], r["incoming"]))
        elif r["type"] == "wakeup":
            wakeups.append((r["time"], r["cpu"], r["woken"], r.get("args", {}).get("waker")))
        elif r["type"] == "object" and r.get("args", {}).get("type") not in ("frame", "module"):
            objects.append((r["pid"], r["id"], r.get("name") or None))
    same("sqlite, switches", switches, db.execute(
        "SELECT at_ns, cpu, out_tid, in_tid FROM switches ORDER BY rowid").fetchall())
    same("sqlite, wakeups", [w[:3] for w in wakeups], [w[:3] for w in db.execute(
        "SELECT at_ns, cpu, tid, waker_tid FROM wakeups ORDER BY rowid")])
    same("sqlite, objects", objects,
         db.execute("SELECT pid, id, name FROM objects ORDER BY rowid").fetchall())
    # Halves of arrows and of lifetimes find each other, also in a file that has the end first.
    for kind, table in (("flow", "arrow_rows"), ("async", "lifetimes")):
        for one, other in db.execute(
                f"SELECT b.kind || ' ' || coalesce(b.ref, ''), e.kind || ' ' || coalesce(e.ref, '') "
                f"FROM {table} x JOIN events b ON b.id = x.begin_event JOIN events e ON e.id = x.end_event"):
            same(f"sqlite, {table}", (f"{kind}-begin", f"{kind}-end", one.split()[1]),
                 (one.split()[0], other.split()[0], other.split()[1]))
    for kind, column in (("flow", "(SELECT count(*) FROM arrows)"),
                         ("async", "(SELECT count(end_ns) FROM lives)")):
        half, pairs = {}, 0
        for r in records(trace):
            if r["type"] in (kind + "-begin", kind + "-end") and "ended_by" not in r.get("args", {}):
                if half.get(r["id"]) not in (None, r["type"]):
                    del half[r["id"]]
                    pairs += 1
                else:
                    half[r["id"]] = r["type"]
        same(f"sqlite, pairs of {kind}", pairs, db.execute(f"SELECT {column}").fetchone()[0])
        if kind == "async":
            same("sqlite, lifetimes without an end", sum(1 for t in half.values() if t == "async-begin"),
                 db.execute("SELECT count(*) FROM lives WHERE end_ns IS NULL").fetchone()[0])


def forms(trace, name):
    count = check_rows(trace, name)
    check_chrome(trace, name)
    check_sqlite(trace, name)
    return count


# -- Stacks --------------------------------------------------------------------------------------------

def check_speedscope(path):
    """Checks what speedscope's schema asks of a file. Returns profiles: title, unit and weights by stack."""
    with open(path, encoding="utf-8") as file:
        whole = json.load(file)
    same("speedscope, schema", "https://www.speedscope.app/file-format-schema.json", whole["$schema"])
    frames = [frame["name"] for frame in whole["shared"]["frames"]]
    same("speedscope, frames that are there twice", len(frames), len(set(frames)))
    out = {}
    for profile in whole["profiles"]:
        same("speedscope, type", "sampled", profile["type"])
        same("speedscope, samples and weights", len(profile["samples"]), len(profile["weights"]))
        same("speedscope, times", (0, sum(profile["weights"])), (profile["startValue"], profile["endValue"]))
        if profile["unit"] not in ("none", "bytes", "nanoseconds"):
            differ("speedscope, unit", "one of three", profile["unit"])
        weights = collections.Counter()
        for stack, weight in zip(profile["samples"], profile["weights"]):
            weights[tuple(frames[i] for i in stack)] += weight
        out[profile["name"]] = profile["unit"], weights
    same("speedscope, the active profile", True, whole["activeProfileIndex"] in range(len(whole["profiles"])))
    return out


def folded(text):
    weights = collections.Counter()
    for line in text.splitlines():
        stack, _, weight = line.rpartition(" ")
        weights[stack] += int(weight)
    return weights


TITLES = {"processor": "processor: samples", "heap": "heap: bytes never freed",
          "peak": "heap: bytes at its peak", "allocated": "heap: bytes allocated", "waits": "waits: time"}


def stacks(trace, name):
    profiles, count = check_speedscope(name + ".speedscope.json"), 0
    for weight, title in TITLES.items():
        report = subprocess.run([FXT, "report", f"--folded={weight}:-", trace], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, check=False)
        made = subprocess.run([FXT, "convert", "-q", "--to=folded", f"--weight={weight}", "-o", "-", trace],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        same(f"folded, {weight}: exit status", report.returncode, made.returncode)
        same(f"folded, {weight}", report.stdout, made.stdout)
        same(f"speedscope has {weight}", report.returncode == 0, title in profiles)
        if report.returncode == 0:
            ours = folded(report.stdout)
            same(f"speedscope, the sum of {weight}", sum(ours.values()), sum(profiles[title][1].values()))
            same(f"speedscope, stacks of {weight}", ours,
                 collections.Counter({";".join(s): w for s, w in profiles[title][1].items()}))
            count += len(ours)
    return count


if __name__ == "__main__":
    command, trace, *rest = sys.argv[1:]
    if command == "rows":
        print(len(events(trace)))
    else:
        print({"forms": forms, "stacks": stacks}[command](trace, *rest))
