"""Makes small faults in the C sources, one at a time, and says which of them no test sees: `make mutate`.

docs/mutation.md says how to run it and how to read what it prints.
"""
import argparse
import collections
import fnmatch
import json
import os
import random
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import rules  # noqa: E402
import tree  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
DEFAULT = ("writer", "agent/emit", "agent/stacks", "agent/objects", "agent/arrows")
# A test has so many times what it took without a fault, and a few seconds for the scheduler.
SLOWER, LEAST_S = 4, 30
CONTROL = 12            # so many mutants lie between two runs without a fault
MODEL_S = 6


def options():
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--source", required=True, help="the top of the sources")
    given.add_argument("--build", required=True, help="a build folder that is configured")
    given.add_argument("--made", default="", help="sources that the build makes")
    given.add_argument("--work", default="", help="where the copy is made (BUILD/mutate)")
    given.add_argument("--files", default="", help="files and folders, separated by blanks")
    given.add_argument("--seconds", type=float, default=0, help="begins no mutant after so long")
    given.add_argument("--count", type=int, default=0, help="how many mutants (60)")
    given.add_argument("--seed", type=int, default=0)
    given.add_argument("--jobs", type=int, default=2, help="how many compilers at a time")
    given.add_argument("--scripts", choices=("yes", "no"), default="yes")
    given.add_argument("--again", default="", help="a log: its mutants that lived, and no others")
    given.add_argument("--tests", default="", help="these tests, and not those of the map")
    given.add_argument("--list", action="store_true", help="prints all mutants")
    return given.parse_args()


def table(name):
    """Yields the lines of a table that are no comments."""
    with open(os.path.join(HERE, name)) as file:
        for line in file:
            line = line.split("#")[0].rstrip()
            if line:
                yield line


def read_map():
    """Returns (pattern, tests) for each row, with continuation lines joined."""
    found = []
    for line in table("map"):
        if line[0].isspace():
            found[-1][1].extend(line.split())
        else:
            pattern, _, tests = line.partition(":")
            found.append((pattern.strip(), tests.split()))
    return found


def tests_of(path, rows):
    for pattern, tests in rows:
        if fnmatch.fnmatch(path, pattern):
            return tests
    return []


def read_equivalent():
    """Returns the reasons by what a mutant is recognised by. A row has four parts: file and function, the
    text that was, the text that is, and the reason."""
    found, lines = {}, []
    for line in table("equivalent"):
        if line.startswith("\t  "):
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
    for place, old, new, why in zip(*[iter(lines)] * 4):
        path, function = place.split()
        if not old.startswith("\t- ") or not new.startswith("\t+ ") or not why.startswith("\t"):
            sys.exit(f"mutate: tests/mutate/equivalent: what is \"{place}\"?")
        found[path, function, rules.squeeze(old[3:]), rules.squeeze(new[3:])] = why.strip()
    if len(lines) % 4:
        sys.exit("mutate: tests/mutate/equivalent: the last row has not four parts")
    return found


def group_of(path):
    """Returns the line of the score that a file counts in."""
    if path.startswith("writer/buffer_managed") or path in ("writer/buffer_talk.c", "writer/buffer_leave.c"):
        return "managed buffer"
    return os.path.dirname(path).replace("writer/run", "writer")


def sources(wanted, source):
    for name in wanted.split() or DEFAULT:
        path = os.path.join(source, name)
        if os.path.isdir(path):
            for folder, _, names in sorted(os.walk(path)):
                for inner in sorted(names):
                    if inner.endswith((".c", ".h")):
                        yield os.path.relpath(os.path.join(folder, inner), source)
        elif os.path.exists(path):
            yield os.path.relpath(path, source)
        else:
            sys.exit(f"mutate: there is no {name}")


class Runner:
    def __init__(self, given, work):
        self.given, self.tree = given, work
        self.took, self.red, self.made = {}, {}, set()
        self.random = random.Random(given.seed)

    def target(self, test):
        """Returns what make has to make for a test, and the command that runs it."""
        name = re.split("[:@]", test)[0]
        if name.endswith(".sh"):
            return ["all"], ["bash", os.path.join(self.tree.src, "tests/e2e", name)]
        if name == "model":
            seconds = test.partition(":")[2] or str(MODEL_S)
            return ["tests/model_emission"], ["tests/model_emission", "--seconds", seconds, "--seed",
                                              str(self.random.getrandbits(30))]
        case = test.partition("@")[2].replace("_", " ")
        program = "tests/" + name
        return [program], ["env", f"CK_RUN_CASE={case}", program] if case else [program]

    def run(self, test):
        """Returns why the test failed, or "" if it passed."""
        seconds = max(LEAST_S, SLOWER * self.took.get(test, 600))
        command = self.target(test)[1]
        begun = tree.now()
        status, said = tree.run(command, self.tree.build, self.tree.environment(), seconds)
        self.tree.kill_rest()
        self.last = tree.now() - begun
        if status is None:
            return f"it hung for {seconds:.0f} s"
        if status in (0, 77):
            return ""
        lines = [line for line in said.split("\n") if re.search(r"FAIL|:[FE]:|wrong|signal|assert", line)]
        return " ".join((lines or said.strip().split("\n"))[0].split())[:110] + f" (status {status})"

    def prepare(self, test):
        """Builds and runs a test without a fault. Returns whether it passes."""
        if test in self.took or test in self.red:
            return test in self.took
        name = re.split("[:@]", test)[0]
        targets = ["all", "check"] if name.endswith(".sh") else self.target(test)[0]
        key = "scripts" if name.endswith(".sh") else name
        if key not in self.made:
            done, said = self.tree.make(targets, self.given.jobs)
            if not done:
                sys.exit(f"mutate: {test} does not build without a fault:\n{said}")
            self.made.add(key)
            self.tree.keep()
        why = self.run(test)
        self.tree.put_back()
        if why:
            self.red[test] = why
            print(f"mutate: {test} fails without a fault, and is left out: {why}", flush=True)
        else:
            self.took[test] = self.last
        return not why

    def control(self, tests):
        """Runs tests without a fault. Returns 1 if one fails: then what is called found may not be."""
        whys = [f"{test}: {why}" for test in tests for why in [self.run(test)] if why]
        self.tree.put_back()
        for why in whys:
            print(f"mutate: without a fault, {why}", flush=True)
        return int(bool(whys))

    def try_one(self, mutant, text, tests):
        """Returns ("found", by whom), ("lived", ""), or (what is wrong with the mutant, "")."""
        passed, compared, differs = [], set(), False
        while True:
            result, by, differs = self.with_fault(mutant, text, tests, passed, compared, differs)
            if result != "unknown test":
                return result, by
            # It is run without the fault first, as late as this: most mutants need no script.
            self.prepare(by)

    def with_fault(self, mutant, text, tests, passed, compared, differs):
        """Runs those tests for a mutant that it has not passed yet, until one fails or is not known yet."""
        path = os.path.join(self.tree.src, mutant.path)
        info = os.stat(path)
        with open(path, "w") as file:
            file.write(mutant.applied(text))
        try:
            return self.judge(tests, passed, compared, differs)
        finally:
            with open(path, "w") as file:
                file.write(text)
            os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
            self.tree.put_back()

    def judge(self, tests, passed, compared, differs):
        for test in tests:
            if test in passed or test in self.red:
                continue
            if test not in self.took:
                return "unknown test", test, differs
            done, said = self.tree.make(self.target(test)[0], self.given.jobs, 600)
            if not done:
                return ("unbuildable", said.strip().split("\n")[0][:110], differs) if not differs else \
                    ("found", f"{test} does not build", differs)
            objects = self.tree.objects()
            differs = differs or any(objects[one] for one in objects if one not in compared)
            compared |= objects.keys()
            passed.append(test)
            if not differs:
                continue
            why = self.run(test)
            if why:
                return "found", f"{test}: {why}", differs
        return "lived" if differs else "same object", "", differs


def main():
    given = options()
    given.seed = given.seed or int(time.time())
    equivalent, rows = read_equivalent(), read_map()
    texts, all_mutants = {}, []
    for path in sources(given.files, given.source):
        with open(os.path.join(given.source, path)) as file:
            texts[path] = file.read()
        all_mutants += rules.mutants_of(path, texts[path])
    known = {mutant.key() for mutant in all_mutants}
    for row in equivalent:
        if row[0] in texts and row not in known:
            print(f"mutate: tests/mutate/equivalent: {row[0]} {row[1]} has no such mutant any more: {row[3]}")
    if given.list:
        for mutant in all_mutants:
            print(mutant, "(equivalent)" if mutant.key() in equivalent else "")
        return 0
    chooser = random.Random(given.seed)
    chooser.shuffle(all_mutants)
    count = given.count or (60 if not given.seconds else len(all_mutants))
    if given.again:
        with open(given.again) as file:
            results = {tuple(row["key"]): row["result"] for row in map(json.loads, file)}
        all_mutants = [mutant for mutant in all_mutants if results.get(mutant.key()) == "lived"]
        count = len(all_mutants)
    return go(given, equivalent, rows, texts, all_mutants, count)


def go(given, equivalent, rows, texts, mutants, count):
    work = tree.Tree(given.source, given.build, given.work or os.path.join(given.build, "mutate"))
    os.makedirs(work.root, exist_ok=True)
    if os.path.isdir(work.clean):
        work.state = work.listing()
    work.copy()
    work.configure()
    if given.made:
        work.make(given.made.split(), given.jobs)
    work.keep()
    runner = Runner(given, work)
    print(f"mutate: seed {given.seed}, {len(mutants)} mutants to draw from", flush=True)
    score = collections.defaultdict(collections.Counter)
    begun, done, times = tree.now(), 0, []
    control = [0, 0, 0]         # when the next one is due, how many there were, and how many failed
    log_path = os.path.join(given.build, f"mutate.{given.seed}.log")
    with open(log_path, "a") as log:
        for mutant in mutants:
            if done >= count or given.seconds and tree.now() - begun > given.seconds:
                break
            if mutant.key() in equivalent:
                score[group_of(mutant.path)]["equivalent"] += 1
                continue
            tests = given.tests.split() or tests_of(mutant.path, rows)
            tests = [test for test in tests if given.scripts == "yes" or not test.endswith(".sh")]
            if done % CONTROL == CONTROL - 1 and control[0] <= done:
                known = [test for test in tests if test in runner.took]
                control = [done + 1, control[1] + 1, control[2] + runner.control(known)]
            at = tree.now()
            result, by = runner.try_one(mutant, texts[mutant.path], tests)
            took = tree.now() - at
            log.write(json.dumps({"result": result, "by": by, "s": round(took, 1), "rule": mutant.rule,
                                  "line": mutant.line, "key": mutant.key()}) + "\n")
            log.flush()
            score[group_of(mutant.path)][result] += 1
            if result in ("found", "lived"):
                done += 1
                times.append(took)
                print(f"{result:6} {took:5.1f} s  {mutant}" + (f"\n{'':18}by {by}" if by else ""), flush=True)
    return tell(score, times, control[1:], log_path)


def tell(score, times, control, log_path):
    total = collections.Counter()
    print(f"\n{'':16}{'found':>7}{'lived':>7}{'score':>7}{'equivalent':>12}{'drawn again':>13}")
    for name in sorted(score) + ["all"]:
        row = total if name == "all" else score[name]
        total.update(score[name] if name != "all" else {})
        tried = row["found"] + row["lived"]
        share = f"{100 * row['found'] / tried:.0f} %" if tried else "-"
        again = row["same object"] + row["unbuildable"]
        print(f"{name:16}{row['found']:7}{row['lived']:7}{share:>7}{row['equivalent']:12}{again:13}")
    if times:
        times.sort()
        print(f"\na mutant took {times[len(times) // 2]:.1f} s (median), "
              f"{times[len(times) * 9 // 10]:.1f} s (90 %)")
    print(f"{control[0]} times the tests of a mutant were run without its fault, "
          f"and {control[1]} times one failed")
    print(f"mutate: {log_path} has the mutants; AGAIN={log_path} tries those that lived again")
    return 0


if __name__ == "__main__":
    sys.exit(main())
