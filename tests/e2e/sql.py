#!/usr/bin/env python3
"""Runs the queries of docs/sql.md with fxt query, and compares each answer with fxt report --json --all.

    sql.py queries PAGE TRACE...     runs all queries on each trace; prints the numbers of those that answered
    sql.py schema PAGE TRACE         the page names all tables and columns, and no other

It prints what differs, and fails then.
"""
import collections, json, os, re, subprocess, sys

FXT = os.environ["FXT"]


def run(*args):
    made = subprocess.run([FXT, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if made.returncode:
        sys.exit(f"fxt {args}: {made.stderr.decode()}")
    return made.stdout


def queries(page):
    """Yields number and SQL of each question."""
    text = open(page, encoding="utf-8").read()
    for number, sql in re.findall(r"^### (\d+)\. .*?^```sql\n(.*?)^```", text, re.S | re.M):
        yield int(number), sql


def numbers(rows):
    """Numbers beyond 2^53 are text in JSON."""
    return [{k: int(v) if isinstance(v, str) and re.fullmatch(r"-?[0-9]{16,}", v) else v
             for k, v in row.items()} for row in rows]


class Trace:
    def __init__(self, path):
        self.path = path
        self.report = json.loads(run("report", "--json", "--all", path))
        self.dump = None

    def records(self):
        if self.dump is None:
            self.dump = [json.loads(line) for line in run("dump", "--json", self.path).splitlines()]
        return self.dump


def picked(rows, *columns):
    return sorted((tuple(row[c] for c in columns) for row in rows), key=repr)


# A function for each question: what the answer has, and what the report has.

def q1(rows, t):
    """The report's times are without those of calls within a call, and it counts instants too."""
    ours = {(r["category"], r["name"]): r for r in rows}
    for call in t.report["calls"]:
        row = ours.get((call["category"], call["name"]))
        yield f"calls of {call['name']}", call["count"], (row["calls"] if row else 0) + instants(t, call)
        if row and is_whole(call, row):
            yield f"time of {call['name']}", (call["total_ns"], call["max_ns"]), \
                (row["total_ns"], row["longest_ns"])


def is_whole(call, row):
    """Returns whether the report counts each of these calls with all its time."""
    return call["category"] == "malloc" or row["longest_ns"] < 2000


def instants(t, call):
    """Calls of which only the begin is seen. That a process ended is none."""
    return sum(1 for r in t.records() if r["type"] == "instant" and r["name"] == call["name"] and
               r["category"] == call["category"] and (r["category"], r["name"]) != ("process", "exit"))


def q2(rows, t):
    """The report's percentiles are those of a histogram, whose steps are a 16th wide; see histogram.h."""
    ours = {r["name"]: r for r in rows}
    for call in t.report["calls"]:
        row = ours.get(call["name"])
        if row and is_whole(call, row) and not instants(t, call):
            for key in ("p50_ns", "p99_ns"):
                yield f"{key} of {call['name']}", True, \
                    abs(row[key] - call[key]) <= max(call[key], row[key]) / 8 + 1


def q3(rows, t):
    yield "waits of threads", sorted((r["handle"], r["blocked_ns"], r["waiting_ns"])
                                     for r in t.report["threads"] if r["blocked_ns"] or r["waiting_ns"]), \
        sorted((r["handle"], r["blocked_ns"] or 0, r["waiting_ns"] or 0) for r in rows)


def least_ns(link):
    """A chain counts the time that a call ran, too, and a database, like the threads' section, does not."""
    return link["waited_ns"] - number(link["args"].get("cpu_ns", 0))


def number(value):
    return int(value) if isinstance(value, str) else value


def q4(rows, t):
    """The number of arrows is the most that can have let a thread go on; each chain's longest is a wait."""
    flows, arrows = {}, collections.Counter()
    for r in t.records():
        if r["type"] == "flow-begin":
            flows[r["id"]] = r["tid"]
        elif r["type"] == "flow-end" and r["id"] in flows:
            arrows[r["tid"], flows[r["id"]]] += 1
    for row in rows:
        yield f"arrows of {row['by_tid']} to {row['tid']}", True, \
            row["waits"] <= arrows[row["tid"], row["by_tid"]]
    pairs = {(r["tid"], r["by_tid"]): r for r in rows}
    for chain in t.report["chains"]:
        for link in chain["longest"]:
            row = pairs.get((link["koid"], link["by"]["koid"]))
            yield "a wait of a chain is among them", True, \
                bool(row) and row["total_ns"] >= least_ns(link)


def q5(rows, t):
    """The longest wait for another thread is the first link of some chain, with those behind it."""
    if not rows:
        yield "chains", [], [c for c in t.report["chains"] if "pthread" in c["longest"][0]["call"]]
        return
    found = [(r["by_tid"], r["let_go_ns"], r["waited_ns"]) for r in rows]
    # A chain begins with a wait that is no other's reason. The report has the longest of each kind alone.
    links = [[(link["by"]["koid"], link["let_go_ns"], least_ns(link)) for link in chain["longest"]][i:]
             for chain in t.report["chains"] for i in range(len(chain["longest"]))]
    yield "the chain of the longest wait", True, found[:8] in [chain[:8] for chain in links]


def q6(rows, t):
    columns = ("handle", "kind", "label", "count", "total_ns", "longest_ns")
    yield "locks", picked(t.report["waiting"], *columns), \
        picked([{**r, "label": r["name"], "count": r["waits"]} for r in rows], *columns)
    yield "threads that waited for a lock", sorted(len(w["by"]) for w in t.report["waiting"]), \
        sorted(r["threads"] for r in rows)


def q7(rows, t):
    columns = ("lock", "wanted_in", "held_in", "count", "total_ns")
    yield "contended", picked(t.report["contended"], *columns), \
        picked([{**r, "count": r["waits"]} for r in rows], *columns)


def q8(rows, t):
    columns = ("program", "allocations", "allocated_bytes", "peak_bytes", "in_use_bytes", "in_use_blocks")
    yield "heaps", picked(t.report["heap"], *columns), picked(rows, *columns)


def q9(rows, t):
    largest, calls = collections.Counter(), collections.Counter()
    for r in t.records():
        if r["type"] == "complete" and r["category"] == "malloc" and "size" in r.get("args", {}):
            calls[r["name"]] += 1
            largest[r["name"]] = max(largest[r["name"]], r["args"]["size"] * r["args"].get("nmemb", 1))
    yield "largest blocks", [(n, calls[n], largest[n]) for n in sorted(calls)], \
        sorted((r["name"], r["calls"], r["largest"]) for r in rows)


def q10(rows, t):
    yield "files", picked(t.report["files"], "file", "calls", "read_bytes", "written_bytes", "total_ns"), \
        picked(rows, "file", "calls", "read_bytes", "written_bytes", "total_ns")


def q11(rows, t):
    yield "failures", sorted((f["category"], f["call"], f["errno"], f["count"])
                             for f in t.report["failures"]), \
        sorted((r["category"], r["name"], r["errno"], r["failures"]) for r in rows)


def q12(rows, t):
    yield "findings", [tuple(f[c] for c in ("handle", "rule", "what", "cost_ns", "cost_bytes"))
                       for f in t.report["findings"]], \
        [tuple(r[c] for c in ("handle", "rule", "what", "cost_ns", "cost_bytes")) for r in rows]


def q13(rows, t):
    yield "calls in progress", sorted((r["koid"], r["category"], r["call"], r["since_ns"])
                                      for r in t.report["open"]), \
        sorted((r["tid"], r["category"], r["name"], r["begin_ns"]) for r in rows)


def q14(rows, t):
    """A program that another one executed is one of its own for the report, and has a number of its own."""
    programs = t.report["trace"]["programs"]
    numbers = {r["number"] for r in rows}
    yield "processes", set(), {p["id"] for p in programs if p["id"] < 1 << 22} - numbers
    yield "number of processes", t.report["trace"]["processes"], len(numbers)
    yield "their names", set(), {r["name"] for r in rows} - {p["name"] for p in programs}
    children = {(r["args"]["pid"], r["args"]["parent"]) for r in t.records()
                if r["type"] == "async-begin" and r["name"] == "child" and r["category"] == "process"}
    for row in rows:
        if row["parent"] is not None:
            yield f"the parent of {row['number']}", True, (row["number"], row["parent"]) in children


def q15(rows, t):
    opened, ours = collections.Counter(), collections.Counter()
    for d in t.report["descriptors_open"]:
        opened[d["call"]] += d["count"]
    for row in rows:
        ours[row["call"]] += row["left_open"]
    yield "open descriptors", opened, ours


def q16(rows, t):
    for row in rows:
        for thread in (t.report["processor"] or {"threads": []})["threads"]:
            if thread["koid"] == row["tid"]:
                yield f"processor time of {row['tid']}", True, \
                    abs(thread["running_ns"] - row["ran_ns"]) <= max(thread["running_ns"] // 5, 5000000)


def q17(rows, t):
    processor = t.report["processor"] or {"samples": 0, "functions": []}
    yield "samples", processor["samples"], sum(r["samples"] for r in rows)
    wanted, ours = collections.Counter(), {r["function"]: r["samples"] for r in rows}
    for function in processor["functions"]:
        wanted[function["name"]] += function["self_samples"]
    yield "functions that ran", {n: c for n, c in wanted.items() if c and n in ours}, \
        {n: c for n, c in ours.items() if n in wanted}


def q18(rows, t):
    yield "lines of the log", t.report["log"]["lines"], len(rows)
    told = [(line["tid"], line["message"]) for line in t.report["log"]["last"]]
    yield "the log", sorted(told), sorted((r["tid"], r["message"]) for r in rows[-len(told):] if told)


def q19(rows, t):
    yield "losses", [(c["cause"], c["records"], c["last_ns"])
                     for c in sorted(t.report["trace"]["dropped_by_cause"], key=lambda c: c["cause"])], \
        sorted((r["cause"], r["records"], r["last_ns"]) for r in rows)


def q20(rows, t):
    """The report counts records: the begin and the end of a call, and the ends that the join has made."""
    ours, wanted = collections.Counter(), collections.Counter()
    for r in rows:
        ours[r["category"]] += r["events"]
    for c in t.report["trace"]["categories"]:
        wanted[c["category"]] += c["events"]
    for r in t.records():
        if r["type"] == "end" or r["type"] == "async-end" and "ended_by" in r.get("args", {}):
            wanted[r["category"]] -= 1
    yield "events by category", wanted, ours


def check_queries(page, *traces):
    answered = set()
    for path in traces:
        t = Trace(path)
        for number, sql in queries(page):
            rows = numbers(json.loads(run("query", "--json", path, sql)))
            compared = 0
            for what, wanted, found in globals()[f"q{number}"](rows, t):
                compared += 1
                if wanted != found:
                    sys.exit(f"{path}, question {number}, {what}: the report has {wanted!r}, "
                             f"the answer is {found!r}")
            if rows and compared:
                answered.add(number)
    return " ".join(map(str, sorted(answered)))


def check_schema(page, path):
    text = open(page, encoding="utf-8").read()
    told = {}
    for name, columns in re.findall(r"^\| `(\w+)` \| (.*) \|$", text, re.M):
        told[name] = set(re.findall(r"`(\w+)`", columns.split(":", 1)[1] if ":" in columns else columns))
    for row in json.loads(run("query", "--json", path)):
        name, columns = row["table"], set(row["columns"].split(", "))
        if name not in told:
            if f"`{name}`" not in text:
                sys.exit(f"the page does not name {name}")
            continue
        if name == "calls":
            columns = told[name] = set()
        if not columns <= told[name]:
            sys.exit(f"the page lacks {columns - told[name]} of {name}")
        del told[name]
    if told:
        sys.exit(f"the page has tables that are none: {list(told)}")
    return "ok"


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    print({"queries": check_queries, "schema": check_schema}[command](*rest))
