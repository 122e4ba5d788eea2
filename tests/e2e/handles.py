"""handles.py FXT TRACE SEED: draws handles from `fxt report --json --all`, and compares what --explain and
--around say of them with the rows that have them. Prints how many were explained."""
import json
import random
import re
import subprocess
import sys

fxt, trace, seed = sys.argv[1:]
draw = random.Random(f"{seed} {trace}")
HANDLE = re.compile(r"^([TPLDC][0-9a-hjkmnp-tv-z]{4}) ", re.M)


def run(*arguments):
    return subprocess.run([fxt, *arguments], capture_output=True, text=True, errors="replace", timeout=120)


def report(*arguments):
    done = run("report", *arguments, trace)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


def three(value, unit):
    return "%.*f %s" % (2 if value < 9.995 else 1 if value < 99.95 else 0, value, unit)


def duration(ns):
    if ns < 1000:
        return "%d ns" % ns
    for limit, unit in (999500, "us"), (999500000, "ms"):
        if ns < limit:
            return three(ns / (1e3 if unit == "us" else 1e6), unit)
    return three(ns / 1e9, "s")


def size(count):
    if count < 1024:
        return "%d B" % count
    value = count / 1024
    units = ["KiB", "MiB", "GiB"]
    while value >= 1023.5:
        value /= 1024
        units.pop(0)
    return three(value, units[0])


def spaced(n):
    return f"{n:,}".replace(",", " ")


# Section of JSON -> title of the table, and the figures of a row.
FIGURES = {
    "threads": ("THREADS", lambda t: [duration(t["last_ns"] - t["first_ns"])] +
                [duration(t[k]) for k in ("running_ns", "blocked_ns", "waiting_ns") if t[k]]),
    "calls": ("CALLS", lambda c: [spaced(c["count"])] + ([duration(c["total_ns"]), duration(c["max_ns"])]
                                                        if c["max_ns"] else [])),
    "waiting": ("WAITING FOR", lambda w: [duration(w["total_ns"]), spaced(w["count"]),
                                          duration(w["longest_ns"])]),
    "contended": ("CONTENDED LOCKS", lambda c: [duration(c["total_ns"]), spaced(c["count"])]),
    "heap": ("HEAP", lambda h: [size(h["peak_bytes"]), spaced(h["allocations"]), size(h["in_use_bytes"])]),
    "files": ("FILES AND SOCKETS", lambda f: [duration(f[use]["total_ns"]) for use in ("read", "write")
                                              if use in f]),
    "failures": ("FAILED CALLS", lambda f: [spaced(f["count"])]),
    "descriptors_open": ("DESCRIPTORS STILL OPEN AT THE END", lambda d: [spaced(d["count"])]),
}

whole = json.loads(report("--json", "--all"))
rows = {}                       # handle -> [(title, figures)]
for section, (title, figures) in FIGURES.items():
    for row in whole[section]:
        rows.setdefault(row["handle"], []).append((title, figures(row)))
for row in whole["processor"]["functions"] if whole["processor"] else []:
    rows.setdefault(row["handle"], []).append(("PROCESSOR TIME BY FUNCTION", []))
for row in whole["processor"]["processes"] if whole["processor"] else []:
    rows.setdefault(row["handle"], []).append(("PROCESSOR TIME BY PROCESS",
                                               [duration(row["running_ns"])] if row["running_ns"] else []))
for row in (whole["critical_path"] or {"without": []})["without"]:
    rows.setdefault(row["handle"], []).append(("CRITICAL PATH", []))
for circle in whole["lock_orders"]:
    for order in circle:
        rows.setdefault(order["lock_handle"], []).append(("LOCKS TAKEN IN BOTH ORDERS", []))

# Every handle of the text is one of JSON, but those of several things in one line.
text = report("--all")
plain = report()
handles = set(HANDLE.findall(plain))
assert handles, "the report has no handles"
of_several = {h for h in handles if re.search(rf"^{h} (\d+ x |\S+ .* \d+$)", plain, re.M)} | \
    {h for h in handles if h[0] == "P"}
named = set(rows)


def collect(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("handle", "lock_handle") and inner:
                named.add(inner)
            collect(inner)
    elif isinstance(value, list):
        for inner in value:
            collect(inner)


collect(whole)
assert handles <= named | of_several, (handles - named - of_several, "are in no row of JSON")


def sections(said):
    """Title -> its rows, each with the lines that it goes on in."""
    found, title, gap = {}, None, True
    for line in said.split("\n"):
        if not line:
            gap = True
            continue
        if gap and line[0] != " " and not HANDLE.match(line + " "):
            title = re.split(r" {2,}|: ", line)[0]
        elif title and HANDLE.match(line):
            found.setdefault(title, []).append(line)
        elif title and found.get(title):
            found[title][-1] += "\n" + line
        gap = False
    return found


def words(line):
    return re.sub(r" +", " ", line) + " "


def explain(handle):
    asked = handle if draw.random() < 0.7 else handle.swapcase()
    said = report("--explain", asked)
    assert said.startswith(handle + " "), (handle, said[:200])
    tables = sections(said)
    for title, figures in rows.get(handle, []):
        mine = [r for r in tables.get(title, []) if r.startswith(handle + " ")]
        assert mine, (handle, title, "is not among", list(tables))
        assert any(all(f" {figure} " in words(r.replace("\n", " ")).replace("+ ", " ") for figure in figures)
                   for r in mine), (handle, title, figures, mine)
    for table, found in tables.items():
        for row in found:
            own = row[:5]
            assert own == handle or handle[0] in "PL", (handle, table, row)
    return said


drawn = []
for kind in "TPLDC":
    of_kind = sorted(h for h in set(rows) | handles if h and h[0] == kind)
    drawn += draw.sample(of_kind, min(2, len(of_kind)))
for handle in drawn:
    said = explain(handle)
    # Each row of the plain report is there, with the figures that it has there.
    if re.search(r"^    no record names it$", said, re.M):
        done = run("dump", "--around", handle, trace)
        assert done.returncode == 1 and done.stderr.count("\n") == 1, (handle, done.stderr)
        continue
    moment = re.search(r"^    the (?:longest ends after|first is at) (\S+ \S+): (.*?)(?:, \S+ \S+)?; fxt",
                       said, re.M)
    assert moment, (handle, said[:400])
    done = run("dump", "--around", f"{handle},1us", trace)
    assert done.returncode == 0, (handle, done.stderr)
    assert f":{moment[2].split('(')[0]}" in done.stdout, (handle, moment[2], done.stdout[:500])
    # The options that are said choose as many records as are said.
    count, options = re.search(r"^    ([\d ]+) records?: fxt dump (.*) \S+$", said, re.M).groups()
    shown = subprocess.run(f"'{fxt}' dump --json {options} {trace}", shell=True, capture_output=True,
                           text=True)
    kinds = ("instant", "begin", "end", "complete", "async-begin", "async", "async-end", "flow-begin",
             "flow-step", "flow-end")
    events = [r for r in map(json.loads, shown.stdout.splitlines()) if r["type"] in kinds]
    assert len(events) == int(count.replace(" ", "")), (handle, count, options, len(events))

# Options change which rows there are, and not their handles. What is said of a thread by its numbers tells.
def threads(*options):
    done = json.loads(report("--json", "--all", *options))
    return {(t["pid"], t["tid"]): t["handle"] for t in done["threads"]}


of_whole = threads()
for options in (["--sort=total"], ["--category=pthread"], ["--wrappers=m*"], ["--from=1ms"],
                ["--pid=%d" % draw.choice(sorted(of_whole))[0]]):
    if options == ["--category=pthread"] and "pthread" not in {c["category"] for c in whole["calls"]}:
        continue
    part = threads(*options)
    assert part and part.items() <= of_whole.items(), (options, part)
short = report(f"--top={draw.randint(1, 4)}")
assert set(HANDLE.findall(short)) <= set(HANDLE.findall(text)) | handles, "--top changes handles"

# What there is not is refused by one line that says what there is.
of_threads = len({t["handle"] for t in whole["threads"]})
for kind in "TPLDCF":
    absent = kind + "".join(draw.choices("0123456789abcdefghjkmnpqrstvwxyz", k=4))
    if absent in named | handles:
        continue
    for command in ("report", "--explain"), ("dump", "--around"):
        done = run(*command, absent, trace)
        assert done.returncode == 1 and not done.stdout and done.stderr.count("\n") == 1, (absent, done)
        assert f"no handle '{absent}'" in done.stderr and "functions (C...)" in done.stderr, done.stderr
        assert re.search(rf" {of_threads} threads? \(T", done.stderr), (of_threads, done.stderr)

# Whatever is given for a handle, the answer is a report or one message.
letters = "TPLDCF0123456789abcz,. -*?[\\/'\"\n\xe9%s"
for _ in range(6):
    junk = "".join(draw.choices(letters, k=draw.randint(0, 9)))
    done = run("report", "--explain=" + junk, trace)
    assert done.returncode in (0, 1, 2) and "Sanitizer" not in done.stderr, (junk, done)
    assert done.returncode == 0 or not done.stdout, (junk, done.stdout[:200])
    done = run("dump", "--around=" + junk, trace)
    assert done.returncode in (0, 1, 2), (junk, done)

for number, finding in enumerate(whole["findings"], 1):
    assert finding["handle"] == f"F{number}"
    said = report("--explain", f"F{number}")
    assert finding["what"][:60] in said, (number, said[:200])
    done = run("dump", "--around", f"f{number}", trace)
    assert done.returncode == 0 or "has no moment" in done.stderr, (number, done.stderr)
    if finding["about"]:
        assert finding["what"][:60] in explain(finding["about"]), (number, finding["about"])

print("explained", len(drawn), "handles")
