#!/usr/bin/env python3
"""Interrupts a call at its instructions, and says what is wrong with the traces.

    steps.py PROGRAM CALL COUNT|all ACTION...

PROGRAM is tests/apps/steps, which says what it does and what its lines mean. The traces are in the current
directory, which has nothing else. Of each process this has to be true:

* It ended with status 0, and its trace keeps every rule of the format (`fxt check`).
* Each call that was not left is in its trace as often as it was made.
* A call that was left is there, or is counted as lost, or its record was not begun. The handler's own calls
  tell whether it was: they are in another chunk then, because the interrupted emission has raised the level.
  Before a call has got its lock, that is the emission of an instant, which is no call.
* A call whose handler forked is there once in the parent's trace. It may be in the child's, too, which goes
  on in that call, or is in the function that was interrupted.
* Of calls that are interrupted by a switch of stacks, and go on later, each is there or is counted as lost.
* Nothing else is counted as lost.
"""
import collections, json, os, subprocess, sys

BEFORE, STEPPED, HANDLER, AFTER, FORKED, OTHER = range(1, 7)
WHO = ("", "before", "stepped", "handler", "after", "forked", "other")
CHUNK_BYTES = 32768
FORKED_FAILED = 2000    # the status by which the program says that a forked child has failed
LEAVES = ("jump", "emit-jump", "switch-away")
FUNCTIONS = {"steps_" + name: who for who, name in enumerate(WHO) if name}
FXT = os.environ["FXT"]


class Trace:
    """What the trace of one process has of the program's calls."""

    def __init__(self, pid, identities):
        self.found, self.lost = collections.Counter(), {}
        chunks, handled = set(), []
        self.raised = None
        for record in self.records(f"steps.{pid}.fxt"):
            if record["type"] == "counter" and record["category"] == "agent":
                if record["name"].split("_")[0] in ("dropped", "filtered", "overwritten"):
                    self.lost[record["name"], record.get("id")] = record["args"]["records"]
            if record["type"] not in ("complete", "begin", "instant"):
                continue
            # Another thread holds the lock that the program waits for. Coroutines have tracks of their own.
            if record["name"] == "pthread_mutex_lock" and record["tid"] != pid:
                continue
            who = self.who(record, identities)
            if not who:
                continue
            self.found[who] += 1
            if who == HANDLER:
                handled.append((record["time"], record["offset"] // CHUNK_BYTES))
            elif who != AFTER:
                chunks.add(record["offset"] // CHUNK_BYTES)
        # The first time the program itself has made the handler's call.
        if len(handled) > 1:
            chunks.add(min(handled)[1])
            self.raised = max(handled)[1] not in chunks
        self.dropped = sum(self.lost.values())

    @staticmethod
    def records(path):
        with subprocess.Popen([FXT, "dump", "--json", path], stdout=subprocess.PIPE) as dump:
            yield from map(json.loads, dump.stdout)
        # `fxt check` says what is wrong with it.
        if dump.returncode:
            print(f"fxt dump {path}: status {dump.returncode}")

    @staticmethod
    def who(record, identities):
        """Returns who made a call, which its arguments tell, or None if it is none of the program's."""
        if record["category"] == "function":
            return FUNCTIONS.get(record["name"])
        args = record.get("args", {})
        if record["name"] not in ("close", "malloc", "pthread_mutex_lock", "open", "read", "access"):
            return None
        if record["name"] == "access":
            return identities.get(("length", str(len(args.get("pathname", "").rstrip("\0")))))
        for key in ("fd", "size", "mutex", "pathname"):
            if (key, str(args.get(key))) in identities:
                return identities[key, str(args[key])]
        return None


def judge(call, action, point, trace, made):
    """Returns what is wrong with the trace of a process that was interrupted, and what became of its call."""
    wrong = []
    was_reached = point["how"] != "over"
    missing = {who: made[who] - trace.found[who] for who in range(1, 7)}
    may_miss = ()
    if was_reached and action in LEAVES:
        may_miss = (STEPPED,)
    elif was_reached and action == "switch-later":
        may_miss = (STEPPED, OTHER)
    for who, count in missing.items():
        if count and not (who in may_miss and count == 1):
            wrong.append(f"{WHO[who]}: {made[who]} made, {trace.found[who]} found")
    absent = sum(missing[who] for who in may_miss)
    if not was_reached:
        outcome = "over"
    elif not absent:
        outcome = "there, and counted" if trace.dropped else "there"
    else:
        outcome = "counted" if trace.dropped else "not begun"
    # A call that was left may be counted as lost although its record is there.
    if trace.dropped > (1 if may_miss and action in LEAVES else absent):
        wrong.append(f"{trace.dropped} counted as lost, {absent} missing")
    if action == "switch-later" and absent > trace.dropped:
        wrong.append(f"{absent} missing, {trace.dropped} counted as lost")
    was_call = call != "contended" or point["has_got"]
    if action in LEAVES and trace.raised and absent > trace.dropped and was_call:
        wrong.append("its record was begun, and is neither there nor counted")
    if was_reached and trace.raised is not None:
        outcome += ", begun" if trace.raised else ""
    return wrong, outcome


def judge_child(trace, made):
    """Does the same with the trace of a child that the handler has forked."""
    wrong = []
    for who in range(1, 7):
        least = most = made[who]
        # The child ends the call too, or is in a function that was interrupted.
        if who == STEPPED:
            most += 1
        if not least <= trace.found[who] <= most:
            wrong.append(f"child: {WHO[who]}: {made[who]} made, {trace.found[who]} found")
    if trace.dropped:
        wrong.append(f"child: {trace.dropped} counted as lost")
    return wrong, ", in the child" if trace.found[STEPPED] else ""


def valid(files):
    """Returns what `fxt check` says against the files."""
    wrong = []
    for at in range(0, len(files), 500):
        check = subprocess.run([FXT, "check", *files[at:at + 500]], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
        if check.returncode:
            wrong += [line for line in check.stdout.splitlines()
                      if not line.endswith((": ok", "(no violation)"))][:20] or ["?"]
    return wrong


def read_point(line):
    fields = line.split()
    numbers = list(map(int, fields[5:]))
    return {"pid": int(fields[0]), "how": fields[1], "where": fields[2], "then": " ".join(fields[3:5]),
            "status": numbers[0], "forked": numbers[1], "made": [0] + numbers[2:8],
            "forked_made": [0] + numbers[8:14], "has_got": numbers[14]}


def examine(call, action, learned, points, identities):
    """Judges what a run did, and prints what is wrong and the outcomes. Returns whether all is right."""
    outcomes, faults, files = collections.Counter(), 0, []
    for point in points:
        wrong, outcome = [], "died"
        # A child that is forked between single steps has the processor's flag for them, and nobody who steps.
        if point["status"] == FORKED_FAILED and point["how"] == "step":
            outcome = "stepped on"
        elif point["status"]:
            wrong.append(f"status {point['status']}")
        else:
            trace = Trace(point["pid"], identities)
            wrong, outcome = judge(call, action, point, trace, point["made"])
            files.append(f"steps.{point['pid']}.fxt")
            if point["forked"]:
                files.append(f"steps.{point['forked']}.fxt")
                more, of_child = judge_child(Trace(point["forked"], identities), point["forked_made"])
                wrong += more
                outcome += of_child
        outcomes[outcome] += 1
        if os.environ.get("FXT_STEPS_TELL"):
            print(point["how"], point["where"], point["then"], outcome)
        if wrong:
            faults += 1
            if faults <= 10:
                print(f"{call} {action} at {point['how']} {point['where']}, {point['then']}: process "
                      f"{point['pid']}: {'; '.join(wrong)}")
    said = valid(files)
    for line in said[:20]:
        print(f"{call} {action}: {line}")
    print(f"{call} {action}: {learned}, {len(points)} interrupted:",
          ", ".join(f"{count} {what}" if "," not in what else f"{count} ({what})"
                    for what, count in sorted(outcomes.items())))
    if not sum(count for what, count in outcomes.items() if what != "over"):
        print(f"{call} {action}: nothing was interrupted")
        faults += 1
    return not faults and not said


def main():
    program, call, count, *actions = sys.argv[1:]
    environment = dict(os.environ, LD_PRELOAD=os.environ["FXT_AGENT"], FXT_OUTPUT="%e.%p.fxt",
                       FXT_EXPLAIN_NS="0")
    run = subprocess.run([program, call, count, *actions], stdout=subprocess.PIPE, env=environment, text=True)
    identities, points = {}, collections.defaultdict(list)
    learned, action = "nothing learned", None
    for line in run.stdout.splitlines():
        if line.startswith("instructions"):
            learned = line
        elif line.startswith("action"):
            action = line.split()[1]
        elif "=" in line:
            who, *names = line.split()
            identities.update((tuple(name.split("=")), int(who)) for name in names)
        else:
            points[action].append(read_point(line))
    right = not run.returncode
    if run.returncode:
        print(f"{call} {action}: the program ended with status {run.returncode}")
    for action in actions:
        right &= examine(call, action, learned, points[action], identities)
    sys.exit(not right)


if __name__ == "__main__":
    main()
