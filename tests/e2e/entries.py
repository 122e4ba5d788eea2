"""Says what tests/e2e/entries.sh has to try, and compares what programs, traces and profiles count.

    entries.py cases SEED VARIANTS ATTRIBUTE PROGRAM...
                                prints lines "PROGRAM VARIANT LEVEL MODE", in the order to try them
    entries.py calls PROGRAM WITHOUT FOLDER
                                compares how often functions were called: as the processes of a run say, and
                                as their traces do
    entries.py profiles PROGRAM HOW BARE TRACED
                                compares the profiles (gmon.*) of two runs
    entries.py filtered PROGRAM WHICH FOLDER [FOLDER]
                                compares what was recorded and what was left out with what the program says,
                                and with the traces of another build of the program

`cases` draws a few cases from the seed, or prints all if FXT_ALL=1. A level stands for all optimisations, a
mode for all buffering modes. ATTRIBUTE is a variant of the program `registers` alone, or `none`.

A folder has what a run left: `out`, what the program printed; counts.PID, if its processes wrote such files;
and the traces PROGRAM.PID.fxt. WITHOUT is a pattern of functions that must not be in the traces, or `none`.
HOW is `exactly`, or `about` where mcount() loses calls that a signal or another thread makes while it runs.
WHICH is `both` if some functions must have been recorded and others left out, else `any`.

Each command but the first prints what differs, and nothing else."""
import collections, fnmatch, glob, json, os, random, re, subprocess, sys

LEVELS = ["O0", "O2"]
MODES = ["streaming", "oneshot", "circular"]
CASES = 2                               # for each program

COUNT = re.compile(r"(\S+) (\d+)(?: (\d+))?$")
# A nested function has a number behind its name.
NUMBER = re.compile(r"\.\d+$")
# Lines of `fxt dump --json`. A trace has several 100000, too many to parse as JSON.
CALL = re.compile(rb'"type":"(?:complete|begin)".*"category":"function","name":"((?:[^"\\]|\\.)*)"')
LOST = re.compile(rb'"type":"counter".*"category":"agent","name":"(?:dropped|overwritten)')
LEFT_OUT = re.compile(rb'"category":"agent","name":"left out"')


def cases(seed, variants, attribute, programs):
    draw = random.Random(int(seed))
    pairs = [(variant, level) for variant in variants.split() for level in LEVELS]
    if os.environ.get("FXT_ALL") == "1":
        for program in programs:
            extra = [(attribute, level) for level in LEVELS if program == "registers" and attribute != "none"]
            for pair in pairs + extra:
                for mode in MODES:
                    print(program, *pair, mode)
        return
    # A deck of cards: all pairs come up before one comes again.
    deck = []
    for program in draw.sample(programs, len(programs)):
        mine = set()
        while len(mine) < min(CASES, len(pairs)):
            if not deck:
                deck = draw.sample(pairs, len(pairs))
            mine.add(deck.pop())
        if program == "registers" and attribute != "none":
            mine.add((attribute, draw.choice(LEVELS)))
        for pair in sorted(mine):
            print(program, *pair, draw.choice(MODES))


class Program:
    """A program with the libraries that it opens."""

    def __init__(self, path):
        self.path, self.symbols = path, {}
        self.is_cpp = False
        for file in [path, *glob.glob(path + ".*.so")]:
            at = collections.defaultdict(list)
            for line in output("nm", file).splitlines():
                address, *kind = line.split(" ", 2)
                if len(kind) == 2 and kind[0] in "tTwW":
                    at[address].append(kind[1])
            # The constructors and destructors of a class may be one function with several names.
            for names in at.values():
                self.symbols.update(dict.fromkeys(names, min(names)))
        self.is_cpp = any(name.startswith("_Z") for name in self.symbols)
        for name, first in list(self.symbols.items()):
            self.symbols.setdefault(NUMBER.sub("", name), first)

    def name_of(self, name):
        return self.symbols.get(name) or self.symbols.get(NUMBER.sub("", name), name)


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, errors="replace").stdout


def said(program, folder):
    """Returns {pid: {name: calls}}; what a process has inherited it records as well. A process that has not
    written its own file is called 0."""
    counts = {}
    files = glob.glob(os.path.join(folder, "counts.*")) or [os.path.join(folder, "out")]
    for file in files:
        pid = int(file.rsplit(".")[-1]) if "counts." in file else 0
        counts[pid] = collections.Counter()
        for match in filter(None, map(COUNT.match, open(file))):
            if match[1] not in program.symbols and NUMBER.sub("", match[1]) not in program.symbols:
                print(f"{program.path} has no symbol {match[1]}")
            counts[pid][program.name_of(match[1])] += int(match[2]) + int(match[3] or 0)
    if not any(counts.values()):
        print(f"{program.path} has printed no counts")
    return counts


def read(program, file):
    """Returns {name: calls}, {name: calls left out} and the number of lost calls."""
    recorded, left_out, lost = collections.Counter(), {}, {}
    with subprocess.Popen([os.environ["FXT"], "dump", "--json", file], stdout=subprocess.PIPE) as dump:
        for line in dump.stdout:
            if match := CALL.search(line):
                recorded[program.name_of(match[1].decode())] += 1
            elif LEFT_OUT.search(line):
                r = json.loads(line)
                # These are running totals of a thread.
                name = program.name_of(r["args"].get("function", "others"))
                left_out[r["tid"], name] = number(r["args"]["calls"])
            elif LOST.search(line):
                r = json.loads(line)
                lost[r["tid"], r["name"]] = number(r["args"]["records"])
    if dump.returncode:
        print(f"fxt dump {file}: exit status {dump.returncode}")
    return recorded, totals(left_out), sum(lost.values())


def totals(of_threads):
    sums = collections.Counter()
    for (_, name), calls in of_threads.items():
        sums[name] += calls
    return sums


def number(text):
    return int(text, 0) if isinstance(text, str) else text


def traces(folder, pids):
    """Returns {pid: file}; the only process is called as in `pids`."""
    found = {int(f.split(".")[-2]): f for f in glob.glob(os.path.join(folder, "*.fxt"))}
    return {0: f for f in found.values()} if list(pids) == [0] and len(found) == 1 else found


def calls(program, without, folder):
    """Where its tail calls are no jumps, the program `tailcalls` nests deeper than 500 functions. What is
    missing has to be counted as lost then."""
    wanted = said(program, folder)
    files = traces(folder, wanted)
    for pid in sorted({*wanted, *files}):
        if pid not in files or pid not in wanted:
            print(f"process {pid}: {'no trace' if pid in wanted else 'no counts'}")
            continue
        found, left_out, lost = read(program, files[pid])
        differences, missing = [], 0
        for name, count in sorted(wanted[pid].items()):
            right = 0 if fnmatch.fnmatchcase(name, without) else count
            missing += right - found[name]
            if found[name] != right:
                differences.append(f"{name}: {found[name]} in the trace, called {right}")
        # In C++ there are functions that the program does not count.
        strange = sorted(set(found) - set(wanted[pid])) if not program.is_cpp else []
        differences += [f"{name}: {found[name]} in the trace, never called" for name in strange]
        if os.path.basename(program.path) == "tailcalls" and lost == missing:
            continue
        if differences:
            print(*differences, sep="\n")
        if lost:
            print(f"process {pid}: lost {lost}, missing {missing}")
        if left_out:
            print(f"process {pid}: left out {left_out}")


def profile(program, folder):
    counts = {}
    for file in glob.glob(os.path.join(folder, "gmon.*")):
        counts[int(file.rsplit(".")[-1])] = mine = {}
        for line in output("gprof", "-b", "-p", "--no-demangle", program.path, file).splitlines():
            fields = line.split()
            if len(fields) == 7 and fields[3].isdigit():
                mine[program.name_of(fields[6])] = int(fields[3])
    return counts


def profiles(program, how, bare, traced):
    a, b = profile(program, bare), profile(program, traced)
    if not a or len(a) != len(b):
        print(f"{len(a)} profiles bare, {len(b)} traced")
        return
    if not all(counts for counts in a.values()):
        print("gprof finds no calls in a profile of the bare program")
    if how == "exactly":
        ours, theirs = ([sorted(x.items()) for x in counts.values()] for counts in (a, b))
        for x, y in zip(sorted(ours), sorted(theirs)):
            for name, count in sorted(set(x) ^ set(y)):
                print(f"{name}: {count} calls {'bare' if (name, count) in x else 'traced'} only")
        return
    [x], [y], [own] = a.values(), b.values(), said(program, traced).values()
    for name, count in sorted(y.items()):
        if count > own.get(name, 0):
            print(f"{name}: {count} calls in the profile, called {own.get(name, 0)}")
    if sum(y.values()) < sum(x.values()) / 4:
        print(f"{sum(y.values())} calls traced, {sum(x.values())} bare")


def filtered(program, which, folder, other=None):
    wanted, (file, *more) = said(program, folder), glob.glob(os.path.join(folder, "*.fxt"))
    if more:
        print(f"several traces in {folder}")
    recorded, left_out, lost = read(program, file)
    for name, count in wanted[0].items():
        if recorded[name] + left_out[name] != count:
            print(f"{name}: {recorded[name]} recorded, {left_out[name]} left out, called {count}")
    if lost:
        print(f"lost {lost}")
    if which == "both" and not (sum(recorded.values()) and sum(left_out.values())):
        print(f"{sum(recorded.values())} recorded, {sum(left_out.values())} left out")
    if not other:
        return
    theirs = Program(os.path.join(other, os.path.basename(program.path)))
    [file] = glob.glob(os.path.join(other, "*.fxt"))
    for what, a, b in zip(("recorded", "left out"), (recorded, left_out), read(theirs, file)):
        for name in sorted({*a, *b}):
            # clang makes thunks call mcount(), and no hooks.
            if a[name] != b[name] and not name.startswith("_ZTh"):
                print(f"{what}: {name}: {a[name]}, and {b[name]} with hooks")


command, *arguments = sys.argv[1:]
if command == "cases":
    cases(*arguments[:3], arguments[3:])
else:
    compare = {"calls": calls, "profiles": profiles, "filtered": filtered}[command]
    compare(Program(arguments[0]), *arguments[1:])
