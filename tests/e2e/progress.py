#!/usr/bin/env python3
"""Checks that a trace has all calls up to the moment at which its program is cut off or its trace saved.

tests/apps/progress.c, the program, says how far each thread has come.

    progress.py kill ROUNDS     SIGKILL at random moments, over modes, 1 to 64 threads, with and without forks
    progress.py manage ROUNDS   the same under fxt serve, which saves the traces into an archive
    progress.py packets N       N buffers are saved by a manager that knows the specification alone, which
                                then stops the program; and the other modes
    progress.py ring SECONDS    eight threads at full speed in a small ring: its size, the program's memory,
                                and snapshots

Prints what is wrong, a line each; then the exit status is 1. FXT_ORACLE names a second checker. The plan, the
moments and the arguments of the programs follow from FXT_SEED.
"""
import collections, json, os, random, shutil, signal, struct, subprocess, sys, time

REPORT = struct.Struct("=IIII")
APP = os.path.join(os.environ["abs_top_builddir"], "tests/apps/progress")
FXT, AGENT, ORACLE = os.environ["FXT"], os.environ["FXT_AGENT"], os.environ.get("FXT_ORACLE")
SEED = int(os.environ.get("FXT_SEED") or random.SystemRandom().getrandbits(32))
failures = 0


def fail(text):
    global failures
    failures += 1
    print("FAIL:", text, file=sys.stderr)


class Program:
    """A running tests/apps/progress, in a directory of its own that its traces go to."""

    def __init__(self, threads, every, children, **environment):
        shutil.rmtree("trace", ignore_errors=True)
        os.mkdir("trace")
        self.every, self.last, self.final = every, {}, {}
        self.seed = random.getrandbits(32)
        self.process = subprocess.Popen(
            [APP, str(threads), str(every), str(children)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            bufsize=0, start_new_session=True,
            env={**os.environ, "LD_PRELOAD": AGENT, "FXT_OUTPUT": "trace/%p.fxt",
                 "FXT_CATEGORIES": "malloc,io", "FXT_QUIET": "1",
                 "FXT_SEED": str(self.seed), **environment})
        self.rest = b""

    def read(self):
        """Takes the reports that are in the pipe; returns False when no process has it open any more."""
        got = os.read(self.process.stdout.fileno(), 1 << 16)
        self.rest += got
        whole = len(self.rest) - len(self.rest) % REPORT.size
        for pid, tid, call, is_last in REPORT.iter_unpack(self.rest[:whole]):
            self.last[pid, tid] = call
            if is_last:
                self.final[pid, tid] = call
        self.rest = self.rest[whole:]
        return bool(got)

    def read_reports(self, calls):
        """Waits until the threads have made so many calls in all."""
        while sum(self.last.values()) < calls and self.read():
            pass

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        while self.read():
            pass
        self.process.wait()
        self.process.stdin.close()

    def end(self):
        self.process.stdin.close()
        while self.read():
            pass
        if self.process.wait():
            fail(f"the program ended with {self.process.returncode}")


def check(path, *how):
    for checker in ([FXT, "check"], ["python3", ORACLE]) if ORACLE else ([FXT, "check"],):
        result = subprocess.run([*checker, *how, path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True)
        if result.returncode:
            fail(f"{path} is not valid: {result.stdout[:500]}")
            return False
    return True


def steps(path):
    """Returns the numbered calls of each thread, and how many records are counted as lost, and as
    overwritten."""
    found, dropped, overwritten = collections.defaultdict(list), {}, {}
    with subprocess.Popen([FXT, "dump", "--json", path], stdout=subprocess.PIPE) as dump:
        for line in dump.stdout:
            record = json.loads(line)
            if record["type"] == "complete" and record["name"] == "calloc" and record["args"]["size"] == 0:
                found[record["pid"], record["tid"]].append(record["args"]["nmemb"])
            elif record["type"] == "complete" and record["name"] == "truncate":
                found[record["pid"], record["tid"]].append(record["args"]["length"])
            elif record["type"] == "counter" and record["name"].startswith("dropped"):
                dropped[record["name"], record.get("id")] = record["args"]["records"]
            elif record["type"] == "counter" and record["name"] == "overwritten":
                overwritten[record.get("id")] = max(overwritten.get(record.get("id"), 0),
                                                    record["args"]["records"])
    if dump.returncode:
        fail(f"{path}: fxt dump failed")
    # Chunks do not lie in the file in the order of time.
    return ({thread: sorted(calls) for thread, calls in found.items()}, sum(dropped.values()),
            sum(overwritten.values()))


def compare(what, path, last, mode, every, drops=False):
    """Compares the calls in a file with those that its threads have reported. With `drops` calls in between
    may have found no room, or were overwritten."""
    found, dropped, overwritten = steps(path)
    if mode == "circular":
        dropped = overwritten if drops else 0
    missing = 0
    for thread, told in last.items():
        calls = found.get(thread, [])
        end = calls[-1] if calls else 0
        if drops:
            missing += len(set(range(1, end + 1)).difference(calls))
            if len(set(calls)) != len(calls):
                fail(f"{what}: thread {thread}: calls are there twice")
        elif calls != list(range(calls[0], calls[0] + len(calls)) if calls else []):
            fail(f"{what}: thread {thread}: calls are missing in between: "
                 f"{calls[0]} to {calls[-1]} in {len(calls)}")
        if calls and calls[0] != 1 and mode != "circular" and not drops:
            fail(f"{what}: thread {thread}: the first call is {calls[0]}")
        missing += max(0, told - end)
        if end > told + every:
            fail(f"{what}: thread {thread} had come to {told}, and the trace has {end}")
    if missing > dropped:
        fail(f"{what}: {missing} calls that were told of are not there, {dropped} records were lost")


def plan_of(rounds):
    plan = [(mode, threads, children) for threads in (1, 2, 4, 16, 64) for children in (0, 2)
            for mode in ("streaming", "circular", "oneshot")]
    random.shuffle(plan)
    return [(i, *plan[i % len(plan)]) for i in range(rounds)]


def kill(rounds):
    files = 0
    for i, mode, threads, children in plan_of(rounds):
        # Where no more threads than three quarters of a ring's chunks of 32 KiB have one, each one's last
        # call is there, and all before it that are there are in one piece. A ring of 2 MiB has room for 40
        # threads.
        size = random.choice((2, 4, 8)) if mode == "circular" else 4
        shares = mode == "circular" and threads > 20 * size
        program = Program(threads, 16, children, FXT_BUFFERING_MODE=mode, FXT_BUFFER_SIZE_MB=str(size),
                          FXT_MAX_SIZE_MB="64")
        what = (f"round {i}, {mode}, {size} MB, {threads} threads, {children} children, "
                f"the program's FXT_SEED={program.seed}")
        program.read_reports(random.randrange(20000))
        program.kill()
        told = collections.defaultdict(dict)
        for (pid, tid), call in program.last.items():
            told[pid][pid, tid] = call
        for pid, last in told.items():
            path = f"trace/{pid}.fxt"
            if not os.path.exists(path):
                fail(f"{what}: process {pid} has told of calls and has no trace")
            elif check(path, *["--ring"] * (mode == "circular")):
                compare(what, path, last, mode, program.every, shares)
        for path in os.listdir("trace"):
            files += 1
            if int(path.split(".")[0]) not in told:
                check(f"trace/{path}", *["--ring"] * (mode == "circular"))
        if failures > 5:
            break
    print(f"{rounds} kills, {files} traces")


class Manager:
    """A running fxt serve, whose archive is manager.fxt."""

    def __init__(self, *options):
        for path in "manager.fxt", "manager":
            if os.path.exists(path):
                os.unlink(path)
        self.path = os.path.abspath("manager")
        self.process = subprocess.Popen([FXT, "serve", "--socket=manager", "-o", "manager.fxt", *options],
                                        stderr=subprocess.PIPE, text=True)
        # It says two lines when it is ready.
        self.said = self.process.stderr.readline() + self.process.stderr.readline()

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.said += self.process.stderr.read()
        if self.process.wait():
            fail(f"fxt serve ended with {self.process.returncode}: {self.said}")


def manage(rounds):
    for i, mode, threads, children in plan_of(rounds):
        # A ring of each process has a chunk for each thread, and so have both halves of a stream.
        size, wait = random.choice(("5", "8", "16")), random.choice(("wait", "drop"))
        manager = Manager("-m", mode, "-b", size)
        program = Program(threads, 16, children, FXT_MANAGER=manager.path, FXT_ON_FULL=wait)
        what = (f"round {i}, {mode}, {size} MB, {wait}, {threads} threads, {children} children, "
                f"the program's FXT_SEED={program.seed}")
        program.read_reports(random.randrange(100000))
        program.kill()
        manager.end()
        if os.listdir("trace"):
            fail(f"{what}: there are traces beside the archive: {os.listdir('trace')}")
        if check("manager.fxt", *["--ring"] * (mode == "circular")):
            compare(what, "manager.fxt", program.last, mode, program.every,
                    mode == "streaming" and wait == "drop")
        if failures > 5:
            break
    print(f"{rounds} kills under fxt serve")


def packets(switches):
    """Runs the program under manager.py, which ends when it has seen all that it knows of the protocol."""
    for mode, threads in ("streaming", 3), ("circular", 5), ("oneshot", 2):
        for path in "packets.fxt", "packets":
            if os.path.exists(path):
                os.unlink(path)
        manager = subprocess.Popen(
            ["python3", os.path.join(os.environ["abs_top_srcdir"], "tests/e2e/manager.py"), "packets", mode,
             "1", "packets.fxt", str(switches if mode == "streaming" else -1)],
            stdout=subprocess.PIPE, text=True)
        if manager.stdout.readline() != "listening\n":
            fail("manager.py does not listen")
            return
        program = Program(threads, 16, 0, FXT_MANAGER=os.path.abspath("packets"), FXT_ON_FULL="wait")
        if mode == "streaming":
            # The program goes on after it was stopped, and nothing of that is in the archive.
            while manager.poll() is None and program.read():
                pass
            program.read_reports(sum(program.last.values()) + 20000)
        else:
            program.read_reports(50000)
        program.kill()
        said = manager.stdout.read()
        if manager.wait() or (mode == "streaming" and int(said.split()[0]) < switches):
            fail(f"manager.py, {mode}: {said}")
        if not check("packets.fxt", *["--ring"] * (mode == "circular")):
            continue
        found, dropped, _ = steps("packets.fxt")
        for thread, calls in found.items():
            if calls != list(range(calls[0], calls[0] + len(calls))):
                fail(f"packets, {mode}: thread {thread}: calls are missing in between, "
                     f"{dropped} records were dropped")
        if mode != "streaming":
            compare(f"packets, {mode}", "packets.fxt", program.last, mode, program.every)
        elif len(found) != threads or not sum(map(len, found.values())) < sum(program.last.values()):
            fail(f"packets: {len(found)} threads, {sum(map(len, found.values()))} calls")
        print(f"packets, {mode}: {said.strip()}, {sum(map(len, found.values()))} calls")


def resident(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def ring(seconds):
    every, size = 1000, 4
    program = Program(8, every, 0, FXT_BUFFERING_MODE="circular", FXT_BUFFER_SIZE_MB=str(size))
    pid, path = program.process.pid, f"trace/{program.process.pid}.fxt"
    program.read_reports(2000000)       # the ring has been filled many times
    memory, started, snapshots = [resident(pid)], time.monotonic(), 0
    # Each snapshot of the running program has the calls that were reported before the signal was sent.
    while snapshots < 3 or time.monotonic() - started < seconds:
        told = dict(program.last)
        os.kill(pid, signal.SIGUSR2)
        saved = f"trace/{pid}.snapshot{'.' + str(snapshots) if snapshots else ''}.fxt"
        while not os.path.exists(saved) and program.read():
            pass
        snapshots += 1
        if snapshots <= 3 or time.monotonic() - started >= seconds:
            if check(saved, "--ring"):
                found, *_ = steps(saved)
                for thread, call in told.items():
                    calls = found.get(thread, [0])
                    if calls[-1] < call or calls != list(range(calls[0], calls[0] + len(calls))):
                        fail(f"snapshot {snapshots}: thread {thread} had come to {call}, "
                             f"it has {calls[0]} to {calls[-1]} in {len(calls)}")
        # The next snapshot comes half way through the time that remains, so that long runs have few.
        wait = time.monotonic() + max(0, (started + seconds - time.monotonic()) / 2)
        program.read_reports(sum(program.last.values()) + 100000)
        while seconds and time.monotonic() < wait - 0.5 and program.read():
            pass
        memory.append(resident(pid))
        if os.stat(path).st_size != size << 20:
            fail(f"the file has {os.stat(path).st_size} bytes")
    if memory[-1] > memory[0] + 1024:
        fail(f"memory grew: {memory} KiB")
    program.end()
    saved = f"trace/{pid}.snapshot.{snapshots}.fxt"
    for file in (saved, path):
        check(file, "--ring")
        found, *_ = steps(file)
        for thread, call in program.final.items():
            if found.get(thread, [0])[-1] != call:
                fail(f"{file}: the last call of {thread} is {found.get(thread, [0])[-1]}, not {call}")
    print(f"{sum(program.final.values())} calls of {len(program.final)} threads in "
          f"{time.monotonic() - started:.0f} s, {snapshots + 1} snapshots, "
          f"memory {memory[0]} to {memory[-1]} KiB, the file always {size} MiB")


random.seed(SEED)
kinds = {"kill": kill, "manage": manage, "packets": packets, "ring": ring}
kinds[sys.argv[1]](int(sys.argv[2]))
if failures:
    print(f"progress.py was run with FXT_SEED={SEED}", file=sys.stderr)
sys.exit(1 if failures else 0)
