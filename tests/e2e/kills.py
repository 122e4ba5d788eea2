#!/usr/bin/env python3
"""Kills managers, programs, and both at once, at random moments, and looks whether anything is missing.

    kills.py ROUNDS     so many kills of managers and of programs, and a fifth as many of both; of the
                        manager's heir alone; and of the manager, the programs and then the heir

tests/apps/tells.c, the program, writes into a file how many numbered calls each of its threads has made. All
of them have to be in the archive of the manager or in files of the programs, or be counted as lost by the
same process. All files of a round are in one directory, which fxt reads with one command. In some rounds the
manager is told to save what all programs have a moment before. The plan and the moments follow from
FXT_SEED; a line that tells of a fault has the round and what it was. FXT_ORACLE names a second checker.
FXT_KILL_ROUND runs one round alone, and FXT_KEEP names a directory to keep what was wrong in.
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
NAMES = {"manager": "the manager was", "program": "the programs were", "both": "both were",
         "heir": "the heir was", "again": "all were"}
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


def kill_all(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Round:
    def __init__(self, number, kind):
        self.number, self.kind = number, kind
        random.seed(SEED * 1000003 + number)
        self.mode = random.choice(("streaming", "circular", "oneshot"))
        self.tool = "record" if self.mode == "streaming" and random.random() < .4 else "serve"
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

    def __str__(self):
        return (f"round {self.number}: {self.kind} killed, fxt {self.tool}, {self.mode}, {self.size} MB, "
                f"{self.wait}, {self.threads} threads, {self.children} children, a short one every "
                f"{self.short} calls, saved {self.saves} times, {self.moment * 1000:.2f} ms before, "
                f"rests of {self.rest} us, after {self.before:.3f} s, then {self.ending} "
                f"after {self.after:.3f} s")

    def start(self):
        shutil.rmtree("run", ignore_errors=True)
        os.mkdir("run")
        # Programs that have changed their user have files there too.
        os.chmod("run", 0o777)
        command = [APP, "run/told", str(self.threads), str(self.children), str(self.short),
                   str(self.rest)]
        environment = {**os.environ, "FXT_QUIET": "1", "FXT_CATEGORIES": "io",
                       "FXT_SEED": str(random.getrandbits(32))}
        if self.tool == "record":
            self.manager = self.program = subprocess.Popen(
                [FXT, "record", "-q", "-o", "run/out.fxt", "--", *command], stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL, stderr=open("run/said", "w"), env=environment)
            return
        self.manager = subprocess.Popen(
            [FXT, "serve", "--socket=run/socket", "-o", "run/manager.fxt", "-m", self.mode, "-b", self.size],
            stderr=subprocess.PIPE, text=True)
        # It says two lines when it is ready.
        self.manager.stderr.readline()
        self.manager.stderr.readline()
        self.program = subprocess.Popen(
            command, stdin=subprocess.PIPE,
            env={**environment, "LD_PRELOAD": AGENT, "FXT_MANAGER": os.path.abspath("run/socket"),
                 "FXT_OUTPUT": os.path.abspath("run/%p.fxt"), "FXT_ON_FULL": self.wait})

    def kill_programs(self):
        """Kills all processes of the program, and those that they make meanwhile."""
        while True:
            pids = [int(name) for name in os.listdir("/proc") if name.isdigit() and is_program(name)]
            if not pids:
                return
            kill_all(pids)

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
        if self.saves:
            time.sleep(self.moment)

    def play(self):
        """Runs programs and kills somebody. Returns when all processes are over."""
        self.start()
        while not told():
            time.sleep(.001)
        time.sleep(self.before)
        self.save_now()
        if self.kind == "manager":
            self.manager.kill()
            time.sleep(self.after)
            self.end_programs()
        elif self.kind == "heir":
            self.kill_heir()
            time.sleep(self.after)
            self.program.stdin.close()
            if self.tool == "serve":
                # Daemons may live longer than the program.
                while any(name.isdigit() and is_program(name) for name in os.listdir("/proc")):
                    time.sleep(.001)
                self.manager.send_signal(signal.SIGINT)
        elif self.kind == "again":
            self.manager.kill()
            self.kill_programs()
            time.sleep(self.after / 10)
            self.kill_heir()
            self.program.stdin.close()
        elif self.kind == "both":
            for do in random.sample((self.manager.kill, self.kill_programs), 2):
                do()
            self.kill_programs()
            self.program.stdin.close()
        else:
            self.kill_programs()
            self.program.stdin.close()
            if self.tool == "serve":
                self.program.wait()
                self.manager.send_signal(signal.SIGINT)
        if self.tool == "serve":
            self.manager.stderr.close()
        # This process has become the parent of all that are left, the manager's heir among them.
        while True:
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                break
        for process in self.manager, self.program:
            process.returncode = 0

    def directory(self):
        """Returns the directory that has all traces of the round."""
        parts = glob.glob("run/.fxt-parts*")
        # The trace may have its name already, and be in the directory above.
        is_there = self.tool == "record" and parts and glob.glob(os.path.join(parts[0], "*.fxt"))
        return parts[0] if is_there else "run"

    def run_tool(self, *arguments):
        result = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if result.returncode:
            fail(f"{self}\n{' '.join(arguments)}: {result.returncode}: {result.stdout[:300]}")
        return result.stdout

    def found(self, path):
        """Returns the numbered calls of each thread, and how many records each process has lost."""
        calls, counts = collections.defaultdict(list), {}
        with subprocess.Popen([FXT, "dump", "--json", path], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as dump:
            for line in dump.stdout:
                match = CALL.search(line)
                if match:
                    calls[int(match[1]), int(match[2])].append(int(match[3]))
                elif b"the allowed size is used up" in line and self.mode == "streaming":
                    fail(f"{self}: {path} says that its size is used up: {line[:200]}")
                elif b'"counter"' in line:
                    record = json.loads(line)
                    if record["name"].startswith(("dropped", "overwritten")):
                        key = record["pid"], record["name"], record.get("id")
                        counts[key] = max(counts.get(key, 0), record["args"]["records"])
        lost = collections.Counter()
        for (pid, _, _), records in counts.items():
            lost[pid] += records
        return calls, lost

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
        calls, lost = self.found(path)
        missing = collections.Counter()
        sums["rounds", self.kind] += 1
        for thread, number in told().items():
            have = calls.get(thread, [])
            numbers = set(have)
            changed_user, number = number >> 32, number & 0xffffffff
            # It may enter neither the directory nor connect to fxt serve; and it may have been forked when
            # fxt record was gone.
            if changed_user and not have:
                continue
            missing[thread[0]] += len(set(range(1, number + 1)) - numbers)
            sums["calls", self.kind] += number
            sums["twice", self.kind] += len(have) - len(numbers)
            if len(have) > len(numbers):
                fail(f"{self}: thread {thread}: {len(have) - len(numbers)} calls are there twice")
            if have and max(have) > number + 1:
                fail(f"{self}: thread {thread} had made {number} calls, and the trace has {max(have)}")
        for pid in missing:
            sums["missing", self.kind] += missing[pid]
            sums["counted", self.kind] += lost[pid]
            if missing[pid] > lost[pid]:
                sums["uncounted", self.kind] += missing[pid] - lost[pid]
                fail(f"{self}: process {pid}: {missing[pid]} calls are nowhere, {lost[pid]} are counted")


def main(rounds):
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    kinds = ["manager"] * rounds + ["program"] * rounds
    kinds += ["both", "heir", "again"] * ((rounds + 4) // 5)
    random.Random(SEED).shuffle(kinds)
    only = os.environ.get("FXT_KILL_ROUND")
    for number, kind in enumerate(kinds):
        if only and number != int(only):
            continue
        one = Round(number, kind)
        if os.environ.get("FXT_SHOW"):
            print(one, flush=True)
        one.play()
        one.compare()
        if failures > MOST_FAILURES:
            break
    for kind in sorted({kind for _, kind in sums}):
        print(f"{NAMES[kind]} killed {sums['rounds', kind]} times: {sums['calls', kind]} calls were told of, "
              f"{sums['missing', kind]} are in no file, {sums['counted', kind]} are counted as lost, "
              f"{sums['uncounted', kind]} neither; {sums['twice', kind]} are there twice")
    if failures:
        print(f"kills.py was run with FXT_SEED={SEED}", file=sys.stderr)
    return 1 if failures else 0


sys.exit(main(int(sys.argv[1])))
