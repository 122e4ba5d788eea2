"""Says what a trace of tests/apps/call_trees has to hold, where functions are filtered.

usage: filters.py SAID FILTER DEPTH TRACE...

SAID is what the program printed. FILTER and DEPTH are the values of FXT_FILTER and FXT_DEPTH. Each trace is
of one process, PROGRAM.PID.fxt. FXT names the tool. Prints each count that differs, and nothing else."""
import collections, fnmatch, json, os, subprocess, sys

said, rules, depth = sys.argv[1], sys.argv[2], int(sys.argv[3] or 0)
rules = [r for r in rules.split(",") if r]


def verdict(name):
    """Returns what the last rule says that matches: whether the function is kept, and whether with its tree.
    None stands for a function that is recorded in a tree only."""
    last = (True, False)
    if rules and not rules[0].startswith("!"):
        last = None
    for rule in rules:
        pattern = rule.lstrip("!").rstrip("/")
        function, _, module = pattern.partition("@")
        if fnmatch.fnmatchcase(name, function or "*") and fnmatch.fnmatchcase("call_trees", module or "*"):
            last = (not rule.startswith("!"), rule.endswith("/"))
    return last


def expected():
    recorded, left_out = collections.Counter(), collections.Counter()
    stacks = collections.defaultdict(list)
    for line in open(said):
        pid, thread, at, name = line.split()
        at = int(at)
        stack = stacks[pid, thread]
        del stack[abs(at) - 1:]
        # How many recorded functions there are, whether they are in a tree that is kept, and whether nothing
        # more is recorded.
        level, in_tree, is_over = stack[-1] if stack else (0, False, False)
        says = verdict(name)
        keeps, is_tree = says or (in_tree, False)
        if keeps and not is_over:
            recorded[pid, name] += 1
            level += 1
            stack.append((level, in_tree or is_tree, depth and level >= depth))
            continue
        # What a child was in when it was forked, its parent has counted.
        if at > 0:
            left_out[pid, name] += 1
        stack.append((level, in_tree, is_over or is_tree))
    return recorded, left_out


def found(files):
    recorded, left_out, attempted = collections.Counter(), collections.Counter(), {}
    for file in files:
        pid = file.rsplit(".", 2)[1]
        report = json.loads(subprocess.run([os.environ["FXT"], "report", "--json", "--all", file],
                                           stdout=subprocess.PIPE, check=True).stdout)
        for call in report["calls"]:
            if call["category"] == "function":
                recorded[pid, call["name"]] = call["count"]
        for f in report["left_out"]:
            left_out[pid, f["function"]] = f["calls"]
        attempted[pid] = report["trace"]["attempted"]
    return recorded, left_out, attempted


want, got = expected(), found(sys.argv[4:])
# A child that has recorded nothing has no trace.
for counts in want:
    for pid, name in list(counts):
        if pid not in got[2] and not any(want[0][key] for key in want[0] if key[0] == pid):
            del counts[pid, name]
for what, a, b in ("recorded", want[0], got[0]), ("left out", want[1], got[1]):
    for key in sorted(set(a) | set(b)):
        if a[key] != b[key]:
            print(f"{what}: {key[1]} of {key[0]}: {b[key]} in the trace, called {a[key]}")
for pid, count in got[2].items():
    calls = sum(n for which in want for (p, _), n in which.items() if p == pid)
    if count != calls:
        print(f"attempted in {pid}: {count} in the trace, called {calls}")
