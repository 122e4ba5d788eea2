#!/usr/bin/env python3
"""Answers what the end-to-end tests ask of a trace, through `fxt dump --json` and `fxt report --json --all`.

    trace.py counts FILE        category:name count, a line for each function
    trace.py own FILE           the same, but of the heap only the calls that concern the program's own blocks
    trace.py open FILE          tid category:name, a line for each call still in progress
    trace.py lost FILE          "dropped N", "filtered N", "overwritten N" from the counters of the trace
    trace.py categories FILE    the categories of calls, in one line
    trace.py threads FILE       the names of threads, a line each
    trace.py sequence FILE      first, last and number of the calloc calls that count (tests/apps/sequence.c)
    trace.py calls FILE         category:name tid start end arguments, in the order of time
    trace.py lifetimes FILE     descriptors' lifetimes, a line each, as tests/apps/lifetimes.c says them
    trace.py said FILE          what the program said, line by line; syslog messages begin with their priority
    trace.py objects FILE       call and names of the objects that its arguments point to, a line each, in the
                                order of time
    trace.py told FILE          type and name of each object that the trace was told of, a line each, in the
                                order of time
    trace.py blocks FILE        name, size and end of each heap block that has a lifetime, a line each, in the
                                order of time
    trace.py arrows FILE        "cause -> effect count": the calls that arrows lead from and to, a line each
    trace.py wakers FILE        "tid -> tid count": the threads that arrows lead from and to
    trace.py wakeups FILE       the same, from the scheduling records
    trace.py lives FILE         category:name begun ended open, and the arguments of the ends, a line for each
                                kind of lifetime
    trace.py unended FILE       the trace without the ends of lifetimes that fxt record made, as bytes
    trace.py uncut FILE         the trace without the ends of calls that fxt record made, as bytes
    trace.py cut FILE           how each call that was in progress ended, and its name, a line each, without
                                functions
    trace.py stacks FILE        tid, kind and callers of each call that has a call stack, as
                                tests/apps/call_stacks.c says them: a line each, sorted
    trace.py left FILE          what the processes of `ends left` left open: mark, lifetime, how it ended, and
                                how many, a line each

It fails when the trace contradicts itself, as one with a flow that has no end does.
"""
import collections, json, os, re, subprocess, sys

OWN_SIZES = range(20000, 21000)         # tests/apps/counts.h


def records(path):
    with subprocess.Popen([os.environ["FXT"], "dump", "--json", path], stdout=subprocess.PIPE) as dump:
        for line in dump.stdout:
            yield json.loads(line)
    if dump.returncode:
        sys.exit(f"trace.py: fxt dump {path} failed")


def report(path):
    return json.loads(subprocess.run([os.environ["FXT"], "report", "-ja", path], stdout=subprocess.PIPE,
                                     check=True).stdout)


def calls(path):
    """Yields the program's calls: no events of the agent, no lines that the program says, and not its end."""
    return (r for r in records(path)
            if r["type"] in ("complete", "begin", "instant") and r["category"] != "agent"
            and not (r["category"] == "log" and "message" in r.get("args", {})) and not is_end(r))


def is_end(record):
    return record["type"] == "instant" and record["category"] == "process" and record["name"] == "exit"


def name(call):
    return f"{call['category']}:{call['name']}"


def is_of_stack(record):
    """Returns whether the object is part of call stacks, and none of the program's."""
    return record["args"]["type"] in ("frame", "module")


def number(text):
    return int(text, 0) if isinstance(text, str) else text


def print_counts(counts):
    for key, value in sorted(counts.items()):
        print(key, value)


def counts(path):
    found = collections.Counter()
    for call in calls(path):
        found[name(call)] += 1
    print_counts(found)


def own_heap(heap):
    """Counts the program's own calls of the heap by replaying all of them in the order of time.

    A call is the program's own when it asks for a size in OWN_SIZES or concerns a block that had one.
    """
    steps = []
    for call in heap:
        args, start, end = call.get("args", {}), call["time"], call["time"] + call.get("duration", 0)
        if "ptr" in args and call["name"] != "malloc_usable_size":
            steps.append((start, 0, call["name"], args["ptr"], call))
        if call["name"] == "malloc_usable_size":
            steps.append((start, 1, call["name"], args["ptr"], call))
        elif "size" in args and args["size"] in OWN_SIZES:
            steps.append((end, 2, call["name"], args.get("ret"), call))
    found, live = collections.Counter(), set()
    for _, kind, called, pointer, call in sorted(steps, key=lambda s: s[:2]):
        if kind == 2:
            if called != "free":
                found["malloc:" + called] += 1
            # A call that failed made no block, and free(NULL) frees none.
            if number(pointer or 0):
                live.add(pointer)
        elif pointer in live:
            if kind == 0:
                live.discard(pointer)
            if called in ("free", "malloc_usable_size"):
                found["malloc:" + called] += 1
    return found


HEAP = ("malloc", "calloc", "realloc", "reallocarray", "free", "aligned_alloc", "memalign", "posix_memalign",
        "valloc", "pvalloc", "malloc_usable_size")


def own(path):
    found, heap = collections.Counter(), []
    for call in calls(path):
        if call["category"] == "malloc" and call["name"] in HEAP:
            heap.append(call)
        else:
            found[name(call)] += 1
    print_counts(found + own_heap(heap))


def still_open(path):
    for call in report(path)["open"]:
        print(call["tid"], f"{call['category']}:{call['call']}")


def lost(path):
    """Prints sums over the counters' last values: a counter holds the total of its thread so far."""
    last = {}
    for record in records(path):
        if record["type"] == "counter" and record["category"] == "agent":
            last[record["name"], record["pid"], record.get("id")] = record["args"]["records"]
    for what in ("dropped", "filtered", "overwritten"):
        print(what, sum(value for key, value in last.items()
                        if key[0] == what or key[0].startswith(what + "_")))


def categories(path):
    print(*sorted({call["category"] for call in calls(path)}))


def threads(path):
    for record in records(path):
        if record["type"] == "thread-name":
            print(record["name"])


def sequence(path):
    numbers = sorted(r["args"]["nmemb"] for r in calls(path)
                     if r["name"] == "calloc" and r["args"].get("size") == 0)
    print(numbers[0] if numbers else 0, numbers[-1] if numbers else 0, len(numbers))


def all_calls(path):
    for call in sorted(calls(path), key=lambda c: c["time"]):
        end = "open" if call["type"] == "begin" else call["time"] + call.get("duration", 0)
        args = " ".join(f"{k}={v}" for k, v in call.get("args", {}).items())
        print(name(call), call["tid"], call["time"], end, args)


def arrows(path):
    """Checks that flows lead from slices `released` to slices `resumed`, and counts the calls around them."""
    slices, flows = collections.defaultdict(list), collections.defaultdict(dict)
    for r in records(path):
        if r["type"] in ("complete", "begin"):
            slices[r["tid"]].append((r["time"], r["time"] + r.get("duration", 1 << 62), r))
        elif r["type"].startswith("flow-"):
            if r["type"] in flows[r["id"]]:
                sys.exit(f"flow {r['id']} has two of {r['type']}")
            flows[r["id"]][r["type"]] = r
    for of_thread in slices.values():
        of_thread.sort(key=lambda s: (s[0], -s[1]))

    # Finds the slices around all events of a thread in one pass, in the order of time.
    events = collections.defaultdict(list)
    for ends in flows.values():
        for r in ends.values():
            events[r["tid"]].append(r)
    within = {}
    for tid, of_thread in events.items():
        stack, position, begun = [], 0, slices[tid]
        for r in sorted(of_thread, key=lambda r: r["time"]):
            while position < len(begun) and begun[position][0] <= r["time"]:
                stack = [s for s in stack if s[1] >= begun[position][0]] + [begun[position]]
                position += 1
            within[id(r)] = [s for _, end, s in stack if end >= r["time"]]

    def around(r, inner):
        """Returns the calls around a flow's event in the slice `inner`, the innermost first, and "thread"."""
        stack = within[id(r)]
        if not stack or stack[-1]["name"] != inner:
            sys.exit(f"flow {r['id']}: {r['type']} at {r['time']} is in {[s['name'] for s in stack]}")
        return [s["name"] for s in reversed(stack[:-1])
                if s["category"] != "function"] + ["thread"]

    found = collections.Counter()
    for ident, ends in flows.items():
        if set(ends) != {"flow-begin", "flow-end"}:
            sys.exit(f"flow {ident} has only {set(ends)}")
        if ends["flow-begin"]["time"] >= ends["flow-end"]["time"]:
            sys.exit(f"flow {ident} ends before it begins")
        found[around(ends["flow-begin"], "released")[0] + " -> " +
              around(ends["flow-end"], "resumed")[0]] += 1
    print_counts(found)


def lifetimes(path):
    begun, ended = {}, {}
    for r in records(path):
        if r["type"] == "async-begin" and ("call" in r.get("args", {}) or r["name"].startswith("aio_")):
            begun[r["id"]] = r
        elif r["type"] == "async-end":
            ended[r["id"]] = r
    for ident, r in begun.items():
        if "call" not in r.get("args", {}):
            args, end = r["args"], ended.get(ident, {}).get("args", {})
            print(r["pid"], name(r), "request",
                  f"{args['offset']}+{args['nbytes']}" if "nbytes" in args else ".",
                  end.get("ret", "-" if ident in ended else "left"),
                  *(["errno", end["errno"]] if "errno" in end else []))
            continue
        detail = [value for key, value in r["args"].items()
                  if key not in ("fd", "call", "of", "pid", "stack")] or ["."]
        end = ended.get(ident)
        if not end:
            moved = "left"
        elif not end.get("args"):
            moved = "-"
        else:
            moved = f"{end['args']['read_bytes']}/{end['args']['written_bytes']}"
        print(r["pid"], name(r), r["args"]["call"], str(detail[0]).replace(" ", "_"), moved)


def said(path):
    """Checks that log records and instants say the same at the same times, and prints that."""
    lines, instants = [], []
    for r in records(path):
        if r["type"] == "log":
            lines.append((r["time"], r["tid"], r["message"]))
        elif r["type"] == "instant" and r["category"] == "log" and "message" in r["args"]:
            instants.append((r["time"], r["tid"], r["args"]["message"], r["args"].get("priority"), r["name"]))
    lines.sort()
    instants.sort()
    if lines != [i[:3] for i in instants]:
        sys.exit("log records and instants differ")
    for _, _, message, priority, called in instants:
        if (priority is None) != (called == "stderr"):
            sys.exit(f"priority {priority} of {called}")
        sys.stdout.write(f"{message}\n" if priority is None else f"{priority} {message}\n")


def wakers(path):
    flows = collections.defaultdict(dict)
    for r in records(path):
        if r["type"].startswith("flow-"):
            flows[r["id"]][r["type"]] = r["tid"]
    print_counts(collections.Counter(f"{ends['flow-begin']} -> {ends['flow-end']}"
                                     for ends in flows.values()))


def wakeups(path):
    print_counts(collections.Counter(f"{r['args']['waker']} -> {r['woken']}"
                                     for r in records(path) if r["type"] == "wakeup"))


def lives(path):
    """Checks that every id begins once, and ends at most once, later and in the same process."""
    begun, ended, says = (collections.defaultdict(dict), collections.Counter(),
                          collections.defaultdict(collections.Counter))
    for r in sorted((r for r in records(path) if r["type"].startswith("async")), key=lambda r: r["time"]):
        lives_of = begun[name(r)]
        if r["type"] == "async-begin":
            if r["id"] in lives_of:
                sys.exit(f"{name(r)} {r['id']} begins twice")
            # Viewers draw lifetimes without their process, so an argument has to name it.
            if r["args"].get("parent" if r["name"] == "child" else "pid") != r["pid"]:
                sys.exit(f"{name(r)} {r['id']} does not say whose it is")
            if r["name"] == "thread" and r["args"].get("tid") != r["tid"]:
                sys.exit(f"{name(r)} {r['id']} is of another thread")
            lives_of[r["id"]] = r
        else:
            begin = lives_of[r["id"]]
            if begin.get("ended") or begin["pid"] != r["pid"]:
                sys.exit(f"{name(r)} {r['id']} ends twice, or elsewhere")
            begin["ended"] = True
            ended[name(r)] += 1
            says[name(r)].update(f"{k}={v}" for k, v in r.get("args", {}).items() if k != "pid")
    for kind in sorted(begun):
        print(kind, len(begun[kind]), ended[kind], len(begun[kind]) - ended[kind],
              *(f"{k}*{v}" for k, v in sorted(says[kind].items())))


def without_made(path, kind):
    """Writes the trace without the ends of this kind of event that fxt record made.

    Only those ends have the name `ended_by` inline.
    """
    data, at = open(path, "rb").read(), 0
    while at < len(data):
        header = int.from_bytes(data[at:at + 8], "little")
        words = (header >> 4) & 0xfff
        record = data[at:at + words * 8]
        if not (header & 0xf == 4 and (header >> 16) & 0xf == kind and b"ended_by" in record):
            sys.stdout.buffer.write(record)
        at += words * 8


def unended(path):
    without_made(path, 7)


def uncut(path):
    without_made(path, 3)


def kernel_ends(path):
    """Returns when processes ended, as the kernel says: with the last of their threads.

    If another thread than the first executes a program, the first one ends and that takes its number.
    """
    over = {}
    for r in records(path):
        args = r.get("args", {})
        if r.get("category") != "kernel" or r.get("name") not in ("ended", "executed"):
            continue
        pid = args["process"]
        if r["name"] == "executed":
            over.pop(pid, None)
        elif pid == args["thread"] or pid in over:
            over[pid] = max(r["time"], over.get(pid, 0))
    return over


def left(path):
    """Checks that no lifetime ends before it began, and that ends made by fxt record have the right times.

    A lifetime that the program did not end is over when its process ends or becomes another program.
    """
    marks, begun, ended, over, became, ended_by_kernel = {}, {}, {}, {}, {}, kernel_ends(path)
    for r in records(path):
        args = r.get("args", {})
        if r["type"] == "complete" and r["name"] == "access":
            marks[r["pid"]] = args["pathname"]
        elif r["type"] == "complete" and r["name"] == "execl":
            became[r["pid"]] = r["time"] + r["duration"]
        elif is_end(r):
            over[r["pid"]] = min(r["time"], over.get(r["pid"], r["time"]))
        elif r["type"] == "async-begin":
            begun[r["id"]] = r
        elif r["type"] == "async-end":
            if r["id"] in ended:
                sys.exit(f"{name(r)} {r['id']} ends twice")
            ended[r["id"]] = r
            if r["name"] == "child" and "pid" in args:
                over[args["pid"]] = min(r["time"], over.get(args["pid"], r["time"]))
    over.update(ended_by_kernel)
    found = collections.Counter()
    for ident, r in begun.items():
        end = ended.pop(ident, None)
        how = end.get("args", {}).get("ended_by", "itself") if end else "open"
        if end and (end["time"] < r["time"] or (end["pid"], name(end)) != (r["pid"], name(r))):
            sys.exit(f"{r} ends as {end}")
        moment = {"exec": became, "exit": over, "signal": over}.get(how)
        if moment and end["time"] != max(moment[r["pid"]], r["time"]):
            sys.exit(f"{end} is not at {moment[r['pid']]}")
        if r["pid"] in marks:
            found[f"{marks[r['pid']]} {name(r)} {how}"] += 1
    if ended:
        sys.exit(f"without a begin: {ended}")
    print_counts(found)


def cut(path):
    """Checks that each call in progress ends when its program did, as viewers show it.

    If the thread's last record is later, the call ends with that.
    """
    begun, ends, last = collections.defaultdict(list), collections.defaultdict(list), collections.Counter()
    executed, over = collections.defaultdict(list), {}
    for r in records(path):
        thread = r.get("pid"), r.get("tid")
        if r["type"] == "complete":
            last[thread] = max(last[thread], r["time"] + r["duration"])
            if r["category"] == "process" and r["name"].startswith("exec") and "errno" not in r["args"]:
                executed[r["pid"]].append(r["time"] + r["duration"])
        elif is_end(r):
            over[r["pid"]] = r["time"]
        elif r["type"] == "begin":
            last[thread] = max(last[thread], r["time"])
            begun[thread].append(r)
        elif r["type"] == "end":
            ends[thread].append(r)
    over.update(kernel_ends(path))
    for thread, of_thread in ends.items():
        for end in sorted(of_thread, key=lambda r: r["time"]):
            begin = max((b for b in begun[thread] if b["time"] <= end["time"]),
                        key=lambda b: b["time"], default=None)
            how = end["args"]["ended_by"]
            if begin is None or name(begin) != name(end):
                sys.exit(f"{end} ends {begin}")
            begun[thread].remove(begin)
            # Without the category `process` the trace has no exec calls, so the time of an exec is not known.
            moment = (max((e for e in executed[thread[0]] if e <= end["time"]), default=end["time"])
                      if how == "exec" else over[thread[0]])
            # The first thread goes on in the next program, so its last record says nothing about this one.
            if end["time"] != max(moment, last[thread] if thread[0] != thread[1] else 0):
                sys.exit(f"{end} is not at {moment}")
            if begin["category"] != "function":
                print(how, name(begin))
    for thread, of_thread in begun.items():
        if of_thread:
            sys.exit(f"{thread}: in progress for ever: {[name(b) for b in of_thread]}")


# These calls have an argument with the name of their object.
SAY_OBJECT = re.compile(
    "_(init|destroy)$|^(fopen|fdopen|opendir|pthread_barrier_wait|pthread_cond_timedwait)$")


def objects(path):
    """Checks that the names in calls' arguments are those in the records of objects.

    An object that is made again and again is named in the first of these calls only.
    """
    said = set()
    for call in sorted(calls(path), key=lambda c: c["time"]):
        names, says = call.get("objects", {}), call.get("args", {}).get("object")
        repeated = (re.search("_(init|destroy)$", call["name"])
                    and (call["name"], *names.values()) in said)
        said.add((call["name"], says))
        if ((says is not None) != bool(names and SAY_OBJECT.search(call["name"]))
                and not (says is None and repeated)):
            sys.exit(f"{name(call)} at {call['time']} says {says}, objects {names}")
        if says is not None and says not in names.values():
            sys.exit(f"{name(call)} says {says}, and its objects are {names}")
        if names:
            print(call["name"], *(re.sub(r"\.[0-9]+$", "", n) for n in names.values()))


def told(path):
    records_of = [r for r in records(path) if r["type"] == "object" and not is_of_stack(r)]
    for r in sorted(records_of, key=lambda r: r.get("args", {}).get("since", 0)):
        print(r["args"]["type"], r["name"])


def blocks(path):
    """Checks that the begin and the end of a block say what its one record from that time says."""
    begun, ended, records_of = [], {}, collections.defaultdict(list)
    for r in records(path):
        if r["type"] == "object" and r["args"]["type"] == "block":
            records_of[int(r["id"], 16)].append((r["args"]["since"], r["name"], r["args"]["size"]))
        elif r["type"] == "async-begin" and r["name"] == "heap block":
            begun.append(r)
        elif r["type"] == "async-end" and r["name"] == "heap block":
            ended[r["id"]] = r
    for pointer, told_of in records_of.items():
        told_of.sort()
        if any(one[1:] == next[1:] for one, next in zip(told_of, told_of[1:])):
            sys.exit(f"{pointer:#x} is told twice to be the same: {told_of}")
    for r in sorted(begun, key=lambda r: r["time"]):
        args, end = r["args"], ended.get(r["id"])
        told_of = max((t for t in records_of[number(args["ptr"])] if t[0] <= r["time"]),
                      default=None)
        if (told_of is None or told_of[1:] != (args["object"], args["size"])
                or r.get("objects") != {"ptr": args["object"]}):
            sys.exit(f"{args} at {r['time']}: told was {told_of}, {r.get('objects')}")
        if (args["object"] != "block of " + args["function"]
                or (end and end["args"]["object"] != args["object"])):
            sys.exit(f"{args} ends as {end}")
        print(args["object"], args["size"], "gone" if end else "kept")


def stacks(path):
    """Checks that each record of a node is there, and that a stack leads to an outermost node."""
    nodes, modules, seen = {}, {}, []
    for r in records(path):
        args = r.get("args", {})
        if r["type"] == "object" and args["type"] == "module":
            modules[int(r["id"], 16)] = r["name"]
        elif r["type"] == "object" and args["type"] == "frame":
            nodes[int(r["id"], 16)] = args
        elif "stack" in args:
            seen.append(r)

    def callers(node):
        while node:
            args = nodes[node]
            module = modules[number(args["mapping"])] if "mapping" in args else "[further]"
            yield f"{module.split('/')[-1]}+{args['offset']:#x}"
            node = number(args["parent"]) if "parent" in args else 0

    kinds = {"file": "file", "heap block": "block", "mapping": "mapping", "usleep": "slow",
             "contended": "contended", "blocked": "joins"}

    def kind(r):
        return "freed" if r["type"] == "async-end" else kinds.get(r["name"], "")
    for r in sorted(seen, key=lambda r: (r["tid"], kind(r), r["time"])):
        if r["name"] in kinds:
            print(r["tid"], kind(r), *callers(number(r["args"]["stack"])))


COMMANDS = {"counts": counts, "own": own, "open": still_open, "lost": lost, "categories": categories,
            "threads": threads, "said": said, "sequence": sequence, "calls": all_calls, "arrows": arrows,
            "lifetimes": lifetimes, "wakers": wakers, "wakeups": wakeups, "lives": lives, "objects": objects,
            "told": told, "blocks": blocks, "unended": unended, "uncut": uncut, "stacks": stacks,
            "left": left, "cut": cut}

if len(sys.argv) != 3 or sys.argv[1] not in COMMANDS:
    sys.exit(__doc__)
COMMANDS[sys.argv[1]](sys.argv[2])
