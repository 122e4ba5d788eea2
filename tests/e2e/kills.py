#!/usr/bin/env python3
"""Kills managers, programs, and both at once, at random moments, and looks whether anything is missing.

    kills.py ROUNDS     so many kills of managers and of programs, and a fifth as many of both; of the
                        manager's heir alone; and of the manager, the programs and then the heir

tests/apps/tells.c, the program, writes into a file how many numbered calls each of its threads has made. All
of them have to be in the archive of the manager or in files of the programs, or be counted as lost by the
same process. All files of a round are in one directory, which fxt reads with one command. In some rounds the
manager is told to save what all programs have a moment before, or a snapshot is asked for, and somebody may
be killed while it is being made: there is one that has all that was told of before, or none. In some the run
outgrows what is kept of it. The plan and the moments follow from FXT_SEED; a line that tells of a fault has
the round and what it was. FXT_ORACLE names a second checker. FXT_KILL_ROUND runs one round alone, and
FXT_KEEP names a directory to keep what was wrong in.
"""
import collections, ctypes, glob, json, os, random, re, shutil, signal, socket, struct, subprocess, sys, time

FXT, AGENT, ORACLE = os.environ["FXT"], os.environ["FXT_AGENT"], os.environ.get("FXT_ORACLE")
APP = os.path.join(os.environ["abs_top_builddir"], "tests/apps/tells")
SEED = int(os.environ.get("FXT_SEED") or random.SystemRandom().getrandbits(32))
MOST_FAILURES = 5
# The part of the rounds that fxt check and fxt report look at.
SLOW = bool(os.environ.get("FXT_FULL"))
LOOKS = float(os.environ.get("FXT_LOOKS", "1"))
CALL = re.compile(rb'"complete".*"pid":(\d+),"tid":(\d+),.*"name":"truncate".*"length":(\d+)')
ENTRY = struct.Struct("=IIQ")
PACKET, CALL_MANAGER = struct.Struct("=HHIQ"), 0x300
PR_SET_CHILD_SUBREAPER = 36
# A file in streaming mode grows by so much.
WINDOW_BYTES = 4 << 20
# Executes what follows where /proc is an empty directory, and looks like before to everybody else.
WITHOUT_PROC = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
NAMES = {"manager": "the manager was killed", "program": "the programs were killed",
         "both": "both were killed", "heir": "the heir was killed", "again": "all were killed",
         "snapshot": "a snapshot was made", "copy": "the files of programs without a manager were copied",
         "read at once": "what both left was read at once"}
failures = 0
sums = collections.Counter()


def fail(text):
    global failures
    failures += 1
    print("FAIL:", text, file=sys.stderr, flush=True)
    if os.environ.get("FXT_KEEP"):
        shutil.copytree("run", os.path.join(os.environ["FXT_KEEP"], f"round.{failures}"), symlinks=True,
                        ignore=lambda path, names: [n for n in names if n == "socket" or n == "manager"])


def told():
    """Returns how many calls each thread says that it has made."""
    if not os.path.exists("run/told") or os.path.getsize("run/told") < 8:
        return {}
    with open("run/told", "rb") as file:
        count = struct.unpack("=Q", file.read(8))[0]
        entries = ENTRY.iter_unpack(file.read(count * ENTRY.size))
    calls = {}
    for pid, tid, number in entries:
        # A number that is used again belongs to another process.
        if pid:
            calls[pid, tid] = max(number, calls.get((pid, tid), 0))
    return calls


def is_program(pid):
    """Returns whether the process lives and is the program of this test."""
    try:
        return os.path.samefile(f"/proc/{pid}/exe", APP) and os.path.samefile(f"/proc/{pid}/cwd", ".")
    except OSError:
        return False


def ask_to_save(path, streaming):
    """Makes fxt serve save what the programs have, and returns when it may be about to."""
    method, params = ("save_trace", {}) if streaming else ("raise_alert", {"alert_name": "kills"})
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(path)
        connection.send(PACKET.pack(CALL_MANAGER, 0, 0, 0) +
                        json.dumps({"id": 1, "method": method, "params": params}).encode())
        # The answer to an alert comes before the manager saves.
        if streaming and random.random() < .5:
            connection.recv(65536)


def kill_all(pids, how=signal.SIGKILL):
    for pid in pids:
        try:
            os.kill(pid, how)
        except ProcessLookupError:
            pass


def programs():
    """Returns the processes of the program."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and is_program(name)]


class Round:
    def __init__(self, number, kind):
        self.number, self.kind = number, kind
        random.seed(SEED * 1000003 + number)
        self.mode = random.choice(("streaming", "circular", "oneshot"))
        self.tool = "record" if random.random() < .4 else "serve"
        self.threads = random.choice((1, 2, 3, 8, 20, 64, random.randint(1, 64)))
        self.children = random.choice((0, 0, 2))
        self.short = random.choice((0, 0, 100, 1000))
        # All threads together make some 100 000 calls a second.
        self.rest = 2000 * random.choice((0, self.threads)) if SLOW else 4000 * self.threads
        self.wait = random.choice(("wait", "drop"))
        self.size = random.choice(("1", "5", "64"))
        self.ending = random.choice(("end", "kill"))
        longest = .5 if SLOW else .1
        self.before = random.choice((random.uniform(0, longest / 10), random.uniform(0, longest)))
        self.after = random.choice((0, random.uniform(0, .02), random.uniform(0, longest / 2)))
        self.ring = ["--ring"] if self.mode == "circular" else []
        # How often the manager saves before somebody is killed. It does so ten times a second at most. A
        # program that never rests overwrites what is being saved.
        self.saves = random.choice((0, 0, 1, 1, 2)) if self.tool == "serve" else 0
        self.moment = random.uniform(0, random.choice((.001, .01)))
        if self.saves and random.random() < .5:
            self.rest = 0
        self.options = ["-m", self.mode, "-b", self.size] if self.mode != "streaming" else []
        if self.mode == "streaming" and random.random() < .4:
            self.outgrow()
        # What fxt record makes a snapshot of: all programs, or each of those that have a ring or one shot.
        self.snapshots = random.choice((0, 0, 1, 2)) if self.tool == "record" else 0
        self.waits_for_snapshot = random.random() < .5
        # The manager may be stopped for some time before it is killed: programs find no room meanwhile.
        self.stops = random.choice((0, 0, 0, random.uniform(0, longest / 2)))
        # All that is on disk at one moment is a trace, as after a power failure.
        self.copies = random.random() < .2
        # Both may be killed at one moment, and what is left is read while the heir still writes.
        self.is_group = random.random() < .5
        self.reads_at_once = kind == "both" and random.random() < .5
        # There may be no /proc for the programs, nor for fxt record.
        self.has_proc = os.geteuid() != 0 or random.random() < .8

    def outgrow(self):
        """Makes the run longer than what is kept of it. Of fxt serve's files none goes: it does not count
        what went."""
        count = random.choice((0, 1, 3))
        kept = [f"--rotate=1,{count}"]
        if self.tool == "serve":
            kept = ["--rotate=1,999"]
        elif random.random() < .5:
            kept = random.choice(([f"--max-size={random.randint(1, 8)}"], [*kept, "--keep=1s"]))
        self.options += kept
        self.rest = random.choice((0, self.rest))
        self.before += random.uniform(0, .2)

    def __str__(self):
        return (f"round {self.number}: {self.kind} killed, fxt {self.tool}, {self.mode}, {self.size} MB, "
                f"{self.wait}, {' '.join(self.options)}, {self.threads} threads, "
                f"{self.children} children, a short one every "
                f"{self.short} calls, saved {self.saves} times, {self.moment * 1000:.2f} ms before, "
                f"{self.snapshots} snapshots, stopped for {self.stops:.3f} s, "
                f"{'copied, ' * self.copies}{'as a group, ' * self.is_group}"
                f"{'read at once, ' * self.reads_at_once}{'without /proc, ' * (not self.has_proc)}"
                f"rests of {self.rest} us, after {self.before:.3f} s, then {self.ending} "
                f"after {self.after:.3f} s")

    def start(self):
        for directory in "run", "snapshots":
            shutil.rmtree(directory, ignore_errors=True)
            os.mkdir(directory)
        self.asked = []
        # Programs that have changed their user have files there too.
        os.chmod("run", 0o777)
        command = [APP, "run/told", str(self.threads), str(self.children), str(self.short),
                   str(self.rest)]
        environment = {**os.environ, "FXT_QUIET": "1", "FXT_CATEGORIES": "io",
                       "FXT_SEED": str(random.getrandbits(32))}
        host = [] if self.has_proc else WITHOUT_PROC
        if self.tool == "record":
            self.manager = self.program = subprocess.Popen(
                [*host, FXT, "record", "-q", "-o", "run/out.fxt", *self.options, "--", *command],
                stdin=subprocess.PIPE, preexec_fn=os.setpgrp,
                stdout=subprocess.DEVNULL, stderr=open("run/said", "w"), env=environment)
            return
        self.manager = subprocess.Popen(
            [FXT, "serve", "--socket=run/socket", "-o", "run/manager.fxt", "-m", self.mode, "-b", self.size,
             *[option for option in self.options if option.startswith("--rotate")]],
            stderr=subprocess.PIPE, text=True, preexec_fn=os.setpgrp)
        # It says two lines when it is ready.
        self.manager.stderr.readline()
        self.manager.stderr.readline()
        self.program = subprocess.Popen(
            [*host, *command], stdin=subprocess.PIPE, preexec_fn=lambda: os.setpgid(0, self.manager.pid),
            env={**environment, "LD_PRELOAD": AGENT, "FXT_MANAGER": os.path.abspath("run/socket"),
                 "FXT_OUTPUT": os.path.abspath("run/%p.fxt"), "FXT_ON_FULL": self.wait})

    def kill_programs(self):
        """Kills all processes of the program, and those that they make meanwhile."""
        while True:
            pids = programs()
            if not pids:
                return
            kill_all(pids)

    def kill_manager(self):
        if self.stops:
            self.manager.send_signal(signal.SIGSTOP)
            time.sleep(self.stops)
        self.manager.kill()

    def kill_group(self):
        """Kills the manager and the programs at once, but for daemons."""
        if self.stops:
            self.manager.send_signal(signal.SIGSTOP)
            time.sleep(self.stops)
        os.killpg(self.manager.pid, signal.SIGKILL)

    def copy(self):
        """Copies what is on disk while nobody writes there."""
        self.manager.send_signal(signal.SIGSTOP)
        # One that is found here may execute another program before it stops.
        stopped = set()
        while set(programs()) - stopped:
            stopped.update(programs())
            kill_all(stopped, signal.SIGSTOP)
        shutil.rmtree("copy", ignore_errors=True)
        shutil.copytree(self.directory(), "copy", ignore=shutil.ignore_patterns("socket", "manager", "told"))
        self.told_to_copy = told()
        kill_all(stopped, signal.SIGCONT)
        self.manager.send_signal(signal.SIGCONT)

    def kill_heir(self):
        """Kills the manager's heir, unless it has ended."""
        for name in os.listdir("/proc"):
            try:
                if name.isdigit() and open(f"/proc/{name}/comm").read() == "fxt heir\n" and \
                        os.path.samefile(f"/proc/{name}/cwd", "."):
                    os.kill(int(name), signal.SIGKILL)
            except OSError:
                pass

    def end_programs(self):
        if self.ending == "kill":
            self.kill_programs()
        self.program.stdin.close()

    def save_now(self):
        """Makes the manager save, the last time just before somebody is killed."""
        for i in range(self.saves):
            if i:
                time.sleep(.1)
            ask_to_save("run/socket", self.mode == "streaming")
        for i in range(self.snapshots):
            self.ask_for_snapshot(f"snapshots/{i}.fxt")
        if self.saves or self.snapshots:
            time.sleep(self.moment)

    def ask_for_snapshot(self, path):
        """Asks for a snapshot, and may wait until it is there."""
        if self.mode != "streaming":
            kill_all(programs(), signal.SIGUSR2)
            return
        before = told()
        asked = subprocess.Popen([FXT, "ctl", "--socket=run", "-o", path, "save=all"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.asked.append((asked, path, before))
        if self.waits_for_snapshot:
            status, said = asked.wait(), asked.stderr.read()
            if status:
                fail(f"{self}: no snapshot: {status}: {said}")

    def play(self):
        """Runs programs and kills somebody. Returns when all processes are over."""
        self.start()
        while not told() and self.program.poll() is None:
            time.sleep(.001)
        time.sleep(self.before)
        self.save_now()
        if self.copies:
            self.copy()
        if self.kind == "manager":
            self.kill_manager()
            time.sleep(self.after)
            self.end_programs()
        elif self.kind == "heir":
            self.kill_heir()
            time.sleep(self.after)
            self.program.stdin.close()
            if self.tool == "serve":
                # Daemons may live longer than the program.
                while programs():
                    time.sleep(.001)
                self.manager.send_signal(signal.SIGINT)
        elif self.kind == "again":
            self.manager.kill()
            self.kill_programs()
            time.sleep(self.after / 10)
            self.kill_heir()
            self.program.stdin.close()
        elif self.kind == "both":
            ways = (self.kill_group,) if self.is_group else (self.kill_manager, self.kill_programs)
            for do in random.sample(ways, len(ways)):
                do()
            self.kill_programs()
            self.program.stdin.close()
            if self.reads_at_once:
                self.read_at_once()
        else:
            self.kill_programs()
            self.program.stdin.close()
            if self.tool == "serve":
                self.program.wait()
                self.manager.send_signal(signal.SIGINT)
        if self.tool == "serve":
            self.manager.stderr.close()
        for asked, _, _ in self.asked:
            asked.communicate()
        # This process has become the parent of all that are left, the manager's heir among them.
        while True:
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                break
        for process in self.manager, self.program:
            process.returncode = 0

    def read_at_once(self):
        """Reads what is left. The heir, which may not have begun, writes it meanwhile. A manager that has
        been killed and lives still will join the parts, for all that the tool knows, which refuses them."""
        self.manager.wait()
        path = self.directory()
        if glob.glob(os.path.join(path, "*.fxt")):
            self.compare_calls(path, told(), "read at once")

    def directory(self):
        """Returns the directory that has all traces of the round."""
        parts = glob.glob("run/.fxt-parts*")
        # The trace may have its name already, and be in the directory above: snapshots are left then.
        is_there = self.tool == "record" and parts and not os.path.exists("run/out.fxt") and \
            glob.glob(os.path.join(parts[0], "*.fxt"))
        return parts[0] if is_there else "run"

    def run_tool(self, *arguments):
        result = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if result.returncode:
            fail(f"{self}\n{' '.join(arguments)}: {result.returncode}: {result.stdout[:300]}")
        return result.stdout

    def found(self, path):
        """Returns the numbered calls of each thread, and how many records each process has lost; and notes
        the processes of which the trace says that they ran untraced."""
        calls, counts = collections.defaultdict(list), {}
        self.untraced = set()
        with subprocess.Popen([FXT, "dump", "--json", path], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as dump:
            for line in dump.stdout:
                match = CALL.search(line)
                if match:
                    calls[int(match[1]), int(match[2])].append(int(match[3]))
                elif b"the allowed size is used up" in line and self.mode == "streaming":
                    self.examine_limit(path, json.loads(line))
                elif b'"ran untraced"' in line:
                    self.untraced.add(json.loads(line)["args"]["pid"])
                elif b'"counter"' in line:
                    record = json.loads(line)
                    if record["name"].startswith(("dropped", "overwritten")):
                        key = record["pid"], record["name"], record.get("id")
                        counts[key] = max(counts.get(key, 0), record["args"]["records"])
            said = dump.stderr.read()
        # What cannot be read is not lost.
        if not calls and dump.returncode:
            fail(f"{self}: fxt dump {path}: {dump.returncode}: {said[:300]}")
        lost = collections.Counter()
        for (pid, _, _), records in counts.items():
            lost[pid] += records
        return calls, lost

    def examine_limit(self, path, record):
        """Examines what a program says that has gone on in a file of its own: its size is used up."""
        own = glob.glob(os.path.join(path, f"*.{record['pid']}.fxt"))
        largest = max((os.path.getsize(name) for name in own), default=0)
        if largest < record["args"]["limit_bytes"] - WINDOW_BYTES:
            fail(f"{self}: {path} says that its size is used up, and it has {largest} bytes: {record}")

    def compare(self):
        path = self.directory()
        if not glob.glob(os.path.join(path, "*.fxt")):
            fail(f"{self}: there is no trace")
            return
        if random.random() < LOOKS or self.kind == "again":
            self.run_tool(FXT, "check", *self.ring, path)
        if random.random() < LOOKS:
            self.run_tool(FXT, "report", path)
        for part in glob.glob(os.path.join(path, "*.fxt")) if ORACLE else []:
            self.run_tool("python3", ORACLE, "--allow-tail", *self.ring, part)
        if self.kind == "again":
            # What the heir had no time to save is lost, but what there is has to be a trace.
            sums["rounds", self.kind] += 1
            return
        self.compare_calls(path, told(), self.kind)
        if self.copies:
            self.compare_copy()
        for asked, snapshot, before in self.asked:
            if asked.returncode == 0:
                self.run_tool(FXT, "check", snapshot)
                if ORACLE:
                    self.run_tool("python3", ORACLE, snapshot)
                self.compare_calls(snapshot, before, "snapshot")
            sums["rounds", "no snapshot"] += asked.returncode != 0
        left = [name for name in os.listdir("snapshots")
                if (name, 0) not in [(os.path.basename(path), asked.returncode)
                                     for asked, path, _ in self.asked]]
        if left:
            fail(f"{self}: {left} are left, and no snapshot")

    def compare_copy(self):
        """Looks at the copy. Files of programs that have no manager have everything at each moment."""
        if not glob.glob("copy/*.fxt"):
            return
        self.run_tool(FXT, "check", *self.ring, "copy")
        for part in glob.glob("copy/*.fxt") if ORACLE else []:
            self.run_tool("python3", ORACLE, "--allow-tail", *self.ring, part)
        if self.tool == "record" and self.mode != "streaming":
            self.compare_calls("copy", self.told_to_copy, "copy")

    def compare_calls(self, path, all_told, kind):
        """Looks whether the calls that were told of are in a trace or counted there."""
        calls, lost = self.found(path)
        missing = collections.Counter()
        sums["rounds", kind] += 1
        for thread, number in all_told.items():
            have = calls.get(thread, [])
            numbers = set(have)
            changed_user, number = number >> 32, number & 0xffffffff
            # It may enter neither the directory nor connect to fxt serve; and it may have been forked when
            # fxt record was gone.
            if changed_user and not have:
                continue
            # A busy manager may answer a program that is executed when it is over.
            if thread[0] in self.untraced and not have:
                sums["untraced", kind] += 1
                continue
            missing[thread[0]] += len(set(range(1, number + 1)) - numbers)
            sums["calls", kind] += number
            sums["twice", kind] += len(have) - len(numbers)
            if len(have) > len(numbers):
                fail(f"{self}: {path}: thread {thread}: {len(have) - len(numbers)} calls are there twice")
            if kind not in ("snapshot", "copy") and have and max(have) > number + 1:
                fail(f"{self}: thread {thread} had made {number} calls, and the trace has {max(have)}")
        for pid in missing:
            sums["missing", kind] += missing[pid]
            sums["counted", kind] += lost[pid]
            if missing[pid] > lost[pid]:
                sums["uncounted", kind] += missing[pid] - lost[pid]
                fail(f"{self}: {path}: process {pid}: {missing[pid]} calls are nowhere, {lost[pid]} are "
                     "counted")


def main(rounds):
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    kinds = ["manager"] * rounds + ["program"] * rounds
    kinds += ["both", "heir", "again"] * ((rounds + 4) // 5)
    random.Random(SEED).shuffle(kinds)
    only = os.environ.get("FXT_KILL_ROUND")
    # A long run may be ended early: it says what it has found.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for number, kind in enumerate(kinds):
        if only and number != int(only):
            continue
        one = Round(number, kind)
        if os.environ.get("FXT_SHOW"):
            print(one, flush=True)
        try:
            one.play()
            one.compare()
        except KeyboardInterrupt:
            one.manager.kill()
            one.kill_programs()
            break
        if failures > MOST_FAILURES:
            break
    print(f"{sums['rounds', 'no snapshot']} snapshots were not made because of a kill")
    for kind in sorted({kind for _, kind in sums if kind in NAMES}):
        print(f"{NAMES[kind]} {sums['rounds', kind]} times: {sums['calls', kind]} calls were told of, "
              f"{sums['missing', kind]} are in no file, {sums['counted', kind]} are counted as lost, "
              f"{sums['uncounted', kind]} neither; {sums['twice', kind]} are there twice; "
              f"{sums['untraced', kind]} threads are said to have run untraced")
    if failures:
        print(f"kills.py was run with FXT_SEED={SEED}", file=sys.stderr)
    return 1 if failures else 0


sys.exit(main(int(sys.argv[1])))
