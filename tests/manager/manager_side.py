"""Checks the agent as a manager sees it, against the documents of the packets and writer/provider.h. The
manager is this program, and knows nothing else.

    manager_side.py WINDOWS     each rule alone; the trace is started and stopped so often

The program is tests/apps/noted, which notes when each of its calls began and ended.
"""
import collections
import fcntl
import json
import mmap
import os
import random
import resource
import select
import socket
import struct
import subprocess
import sys
import time

PACKET = struct.Struct("=HHIQ")
STARTED, SAVE_BUFFER, STOPPED, ALERT, REGISTER, INITIALIZED = 1, 2, 3, 4, 0x200, 0x201
BUFFER_SAVED, INITIALIZE, START, STOP, TERMINATE, REGISTERED = 0x100, 0x210, 0x211, 0x212, 0x213, 0x214
ONESHOT, CIRCULAR, STREAMING = 0, 1, 2
FREE, HELD, FULL, PAGES = range(4)
PAGE, F_ADD_SEALS = 4096, 1033
FXT, AGENT = os.environ["FXT"], os.environ["FXT_AGENT"]
APP = os.path.join(os.environ["abs_top_builddir"], "tests/apps/noted")


def need(condition, what):
    if not condition:
        sys.exit(f"manager_side.py: {what}")


def read(path):
    dump = subprocess.run([FXT, "dump", "--json", path], stdout=subprocess.PIPE, text=True, check=True)
    return list(map(json.loads, dump.stdout.splitlines()))


class Noted:
    """A running tests/apps/noted."""

    def __init__(self, threads, burst, pause_us, most=100000, limit=resource.RLIM_INFINITY, **environment):
        self.threads, self.most = threads, most
        open("notes", "wb").close()
        self.process = subprocess.Popen(
            [APP, "notes", str(threads), str(most), str(burst), str(pause_us)], stdin=subprocess.PIPE,
            env={**os.environ, "LD_PRELOAD": AGENT, "FXT_MANAGER": os.path.abspath("side"), "FXT_QUIET": "1",
                 "FXT_OUTPUT": "beside.%p.fxt", **environment},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))

    def counts(self):
        with open("notes", "rb") as file:
            words = file.read(8 * self.threads)
        # The program may not have made it long enough yet.
        return struct.unpack(f"={self.threads}Q", words.ljust(8 * self.threads, b"\0"))

    def go_on(self, calls):
        """Waits until each thread has made so many calls more."""
        before = self.counts()
        while any(now < then + calls for now, then in zip(self.counts(), before)):
            need(self.process.poll() is None, "the program has ended")
            time.sleep(0.001)

    def calls(self):
        counts = self.counts()
        with open("notes", "rb") as file:
            data = file.read()
        return {(thread, i): struct.unpack_from("=QQ", data, PAGE + 16 * (thread * self.most + i))
                for thread in range(self.threads) for i in range(counts[thread])}

    def end(self):
        self.process.stdin.close()
        need(self.process.wait() == 0, "the program has failed")


class Manager:
    """A manager of one provider, whose page of gates is page 1."""

    def __init__(self, threads, burst, pause_us, answer=REGISTERED, has_word=True, follows=1,
                 **how):
        if os.path.exists("side"):
            os.unlink("side")
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind("side")
        self.listener.listen()
        fd = os.memfd_create("gates", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, 2 * PAGE)
        fcntl.fcntl(fd, F_ADD_SEALS, 2 | 4)
        self.gates = mmap.mmap(fd, 2 * PAGE)
        if has_word:
            self.gates[:4] = struct.pack("=I", os.getpid())
        self.program = Noted(threads, burst, pause_us, **how)
        self.listener.settimeout(20)
        self.end, _ = self.listener.accept()
        self.end.settimeout(20)
        need(self.receive()[0] == REGISTER, "REGISTER")
        socket.send_fds(self.end, [PACKET.pack(answer, 0, 1, follows) + b"0" * 16], [fd])
        os.close(fd)
        self.memory, self.saved, self.trace, self.durable_saved, self.wraps = None, {}, bytearray(), 0, 0

    def send(self, request, data32=0, data64=0, text=b""):
        self.end.send(PACKET.pack(request, 0, data32, data64) + text)

    def receive(self):
        message, descriptors, _, _ = socket.recv_fds(self.end, 4096, 1)
        if not message:
            time.sleep(0.1)             # so that the kernel says whether the program has died
        need(len(message) >= PACKET.size,
             f"the program has closed the connection; its status is {self.program.process.poll()}")
        packet = PACKET.unpack(message[:PACKET.size])
        need(packet[1] == 0 or packet[0] == ALERT, f"{packet}: `reserved` is not 0")
        return (*packet, descriptors)

    def initialize(self, mode, size, session, *more):
        """Sends INITIALIZE, and what is to follow that at once, and takes the answer."""
        self.mode = mode
        self.send(INITIALIZE, mode, size | session << 48, b"io")
        for packet in more:
            self.send(*packet)
        request, _, page, told, descriptors = self.receive()
        need((request, page, told >> 48) == (INITIALIZED, 1, session), f"INITIALIZED: {request:#x} {told:#x}")
        size = told & (1 << 48) - 1
        need(os.fstat(descriptors[0]).st_size == size, "another size than said")
        self.memory = mmap.mmap(descriptors[0], size)
        os.close(descriptors[0])
        (self.table, self.durable, self.rolling, self.chunk, self.chunks, self.counters,
         self.counters_size) = struct.unpack_from("=QQQIIQQ", self.memory, 128)

    def start(self):
        self.gates[PAGE:PAGE + 4] = b"\xff" * 4
        self.send(START, 3, 1)
        while self.step() != STARTED:
            pass
        self.gates[PAGE:PAGE + 4] = bytes(4)

    def stop(self):
        """Returns whether the program has answered."""
        self.send(STOP)
        while request := self.step(1):
            if request == STOPPED:
                return True
        return False

    def step(self, seconds=20):
        """Answers one packet, and returns which; None if there is none for so long."""
        if not select.select([self.end], [], [], seconds)[0]:
            need(seconds < 20, "the program says nothing")
            return None
        request, _, data32, data64, _ = self.receive()
        if request == SAVE_BUFFER:
            need(data32 == self.wraps, f"wrap count {data32} after {self.wraps}")
            self.wraps += 1
            half = self.chunks // 2
            for number in range((data32 & 1) * half, (data32 & 1) * half + half):
                self.save(number, True)
            self.send(BUFFER_SAVED, data32, data64)
        return request

    # -- The memory ----------------------------------------------------------------------------------

    def keep(self, data):
        """Appends records but fillers. Returns where the last one ends."""
        at = last = 0
        while at < len(data):
            header, = struct.unpack_from("=Q", data, at)
            size = 8 * (header >> 4 & 0xfff)
            need(size and at + size <= len(data), f"a record of {size} bytes at {at}")
            if header & 0xf or header >> 16 & 0xf != 15:
                self.trace += data[at:at + size]
                last = at + size
            at += size
        return last

    def keep_durable(self):
        end, = struct.unpack_from("=Q", self.memory, 40)
        behind = self.counters + self.counters_size
        for low, high in ((self.durable_saved, min(end, self.counters)),
                          (max(self.durable_saved, behind), end)):
            if low < high:
                self.keep(self.memory[self.durable + low:self.durable + high])
        self.durable_saved = max(self.durable_saved, end)

    def save(self, number, frees=False):
        entry, = struct.unpack_from("=I", self.memory, self.table + 4 * number)
        if entry & 255 not in ((FULL,) if frees else (HELD, FULL)):
            return
        at, kept = self.rolling + number * self.chunk, self.saved.get((number, entry >> 8), 0)
        data = self.memory[at + kept:at + self.chunk]
        self.keep_durable()
        self.saved[number, entry >> 8] = kept + self.keep(data)
        if frees:
            struct.pack_into("=I", self.memory, self.table + 4 * number, entry & ~255 | FREE)

    def save_all(self):
        self.keep_durable()
        for number in range(self.chunks):
            self.save(number)

    def dropped(self):
        """Returns how many records the header says to be lost."""
        return struct.unpack_from("=Q", self.memory, 64)[0]

    def left(self):
        """Returns whether the header says that nothing that counts was ever in the memory."""
        return struct.unpack_from("=I", self.memory, 200)[0] == 2

    def records(self):
        """Returns what was saved."""
        with open("side.fxt", "wb") as file:
            file.write(struct.pack("=QQ", 0x0016547846040010, 1 << 4 | 1 << 16 | 1 << 20) + self.trace)
        return read("side.fxt")

    def found(self, path=None):
        """Returns how often each call is in what was saved, or in this file."""
        found = collections.Counter()
        for record in read(path) if path else self.records():
            path = record.get("args", {}).get("pathname") if record.get("name") == "access" else None
            if isinstance(path, str) and path.startswith("/nowhere/"):
                found[tuple(map(int, path.split("/")[2:]))] += 1
        return found


def sizes():
    """How large the memory is to be is a hint."""
    for hint in 0, 1, 4096, 1 << 20, 3 << 20, 1 << 46:
        manager = Manager(1, 10, 1000)
        manager.initialize(CIRCULAR, hint, 1)
        manager.start()
        manager.program.go_on(20)
        need(hint <= len(manager.memory) or hint > 1 << 40, f"{hint}: {len(manager.memory)} bytes")
        need(len(manager.memory) < 5 << 30, f"{hint}: {len(manager.memory)} bytes")
        manager.save_all()
        manager.program.end()
        need(manager.found(), f"{hint}: nothing was recorded")


def limited():
    """The memory is no larger than the files of the program may be, and neither is the file in which the
    program goes on without its manager."""
    manager = Manager(1, 10, 1000, limit=3 << 20)
    manager.initialize(STREAMING, 64 << 20, 1)
    need(len(manager.memory) <= 3 << 20, f"{len(manager.memory)} bytes")
    manager.start()
    manager.program.go_on(20)
    manager.gates[:4] = bytes(4)
    manager.end.close()
    manager.program.go_on(2000)
    manager.program.end()
    path = f"beside.{manager.program.process.pid}.fxt"
    need(os.path.exists(path) and os.path.getsize(path) > 4096, "there is no file of the program's own")


def small():
    """The memory takes nothing of the size of the file in which the program goes on without its manager."""
    threads = random.choice((1, 2, 5))
    manager = Manager(threads, 10, 100, FXT_MAX_SIZE_MB=str(random.choice((2, 3, 8))))
    manager.initialize(STREAMING, random.choice((8, 16, 64)) << 20, 1)
    manager.start()
    manager.program.go_on(20)
    manager.gates[:4] = bytes(4)
    manager.end.close()
    manager.program.go_on(20)
    begun = manager.program.counts()
    manager.program.go_on(1000)
    manager.program.end()
    found = manager.found(f"beside.{manager.program.process.pid}.fxt")
    missing = [call for call in manager.program.calls() if call[1] >= begun[call[0]] and call not in found]
    need(not missing, f"{len(missing)} calls are not in the program's own file, such as {missing[:3]}")


def soon_and_late():
    """START may come right behind INITIALIZE, or long after it, while the program goes on."""
    manager = Manager(1, 10, 1000)
    manager.initialize(STREAMING, 1 << 20, 1, (START, 1))
    need(manager.step() == STARTED, "STARTED")
    manager.program.end()
    manager = Manager(2, 10, 1000)
    manager.initialize(STREAMING, 1 << 20, 1)
    manager.program.go_on(20)
    manager.start()
    manager.program.go_on(20)
    need(manager.stop(), "STOP has no answer")
    manager.save_all()
    manager.program.end()
    need(manager.found(), "nothing was recorded")


def announced():
    """A program that was told that START follows, and gets none, has all calls in a file of its own."""
    manager = Manager(random.choice((1, 4)), 10, 1000, follows=1 | 2)
    if random.random() < 0.8:
        manager.initialize(random.choice((STREAMING, CIRCULAR, ONESHOT)), random.choice((0, 1 << 20)), 1)
    manager.program.go_on(20)
    need(not manager.memory or manager.left(), "the memory does not say that the program has left")
    manager.program.end()
    found = manager.found(f"beside.{manager.program.process.pid}.fxt")
    calls = manager.program.calls()
    need(set(found) == set(calls), f"{len(found)} of {len(calls)} calls are in the program's own file")


def nonsense():
    """A program waits no longer for a manager that says something else than what it waits for."""
    for first in REGISTERED, 0x77:
        manager = Manager(1, 10, 1000, answer=first)
        for i in range(400):
            try:
                manager.send(0x77)
            except BrokenPipeError:
                break
            if any(manager.program.counts()):
                break
            need(i < 399, "the program waits as long as its manager says anything")
            time.sleep(0.02)
        manager.program.go_on(1)
        manager.end.close()
        manager.program.end()


def alerts():
    """A manager that does not read for a while may find alerts left out, and nothing else."""
    manager = Manager(2, 50, 100, FXT_TRIGGER="access>1ns")
    manager.initialize(STREAMING, 1 << 20, 1)
    manager.start()
    manager.program.go_on(3000)
    manager.send(STOP)
    manager.program.go_on(3000)
    heard = collections.Counter()
    while not heard[STOPPED]:
        heard[manager.step()] += 1
    need(heard[ALERT] > 1 and set(heard) <= {ALERT, SAVE_BUFFER, STOPPED}, heard)
    manager.start()
    manager.program.end()


def premature():
    """An answer to a request that was not sent says nothing: the program goes on to ask."""
    for first in 0, 1, None:
        manager = Manager(2, 20, 100)
        manager.initialize(STREAMING, 1 << 20, 0)
        manager.start()
        if first is not None:
            manager.send(BUFFER_SAVED, first, 0)
        while manager.wraps < 6:
            manager.step()
        manager.stop()
        manager.program.end()


def again():
    """A program with threads may be stopped and started again as often and as soon as a manager likes."""
    for _ in range(4):
        manager = Manager(random.choice((2, 4, 8, 16)), random.choice((1, 50, 1000)), random.choice((0, 20)),
                          most=1000000)
        manager.initialize(random.choice((STREAMING, CIRCULAR)), 1 << 20, 1)
        for _ in range(50):
            manager.start()
            time.sleep(random.choice((0, 0, random.random() / 1000)))
            need(manager.stop(), "STOP has no answer")
        manager.start()
        manager.program.go_on(20)
        manager.program.end()


def losses():
    """What finds no room is counted in the header while the program goes on, and each thread that finds room
    again tells how much it has lost, and when: windows that are apart stay apart."""
    threads = random.choice((1, 1, 2, 8))
    manager = Manager(threads, 50, 20, most=1000000)
    manager.initialize(STREAMING, 1 << 20, 1)
    manager.start()
    times = []
    for _ in range(random.randint(2, 4)):
        wanted, deadline = manager.dropped() + random.randint(100, 2000), time.monotonic() + 20
        while manager.dropped() < wanted:
            need(time.monotonic() < deadline, "the header does not count what is lost meanwhile")
            time.sleep(0.001)
        times.append(time.clock_gettime_ns(time.CLOCK_BOOTTIME))
        least = manager.dropped()
        manager.program.go_on(50)
        wraps = manager.wraps
        while manager.wraps < wraps + 3:
            manager.step()
        manager.program.go_on(200)
    need(manager.stop(), "STOP has no answer")
    dropped = manager.dropped()
    manager.save_all()
    manager.program.end()
    told = [(record["time"] - record["args"]["ns"], record["time"], record["args"]["records"])
            for record in manager.records()
            if (record.get("category"), record.get("name")) == ("agent", "lost")]
    # What a thread has lost in the end it has not told.
    need((least if threads == 1 else 0) <= sum(records for _, _, records in told) <= dropped,
         f"{dropped} records are lost, and {told} are told")
    around = [[window for window in told if window[0] < at < window[1]] for at in times]
    need(all(around), f"no window around one of {times}: {told}")
    # A single thread finds room as soon as there is some.
    need(threads > 1 or len({windows[0] for windows in around}) == len(times),
         f"one window for several of {times}: {told}")


def wordless():
    """A manager need hold no futex. It saves what there is, and the end of the connection is its end."""
    manager = Manager(2, 20, 100, has_word=False)
    manager.initialize(STREAMING, 1 << 20, 1)
    manager.start()
    while manager.wraps < random.randrange(1, 6):
        manager.step()
    if random.random() < 0.5:
        need(manager.stop(), "STOP has no answer")
        manager.start()
        manager.program.go_on(20)
    manager.save_all()
    saved = set(manager.found())
    manager.end.close()
    manager.program.go_on(2000)
    manager.program.end()
    path = f"beside.{manager.program.process.pid}.fxt"
    need(saved, "nothing was recorded")
    need(os.path.exists(path) and os.path.getsize(path) > 4096, "there is no file of the program's own")


def windows(count):
    """A call that begins after STARTED has come is recorded, and so is one before STOP is sent."""
    manager = Manager(6, 1, 100)
    manager.initialize(STREAMING, 64 << 20, 7)
    times = []
    for _ in range(count):
        manager.start()
        begin = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        manager.program.go_on(20)
        end = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        times.append((begin, end))
        need(manager.stop(), "STOP has no answer")
        manager.save_all()
    manager.program.end()
    found, calls = manager.found(), manager.program.calls()
    missing = [call for call, (began, ended) in calls.items() if call not in found and
               any(begin < began and ended < end for begin, end in times)]
    need(not missing, f"{len(missing)} calls after STARTED are missing, such as {missing[:3]}")
    need(max(found.values()) == 1, "calls are there twice")
    return len(found)


if __name__ == "__main__":
    seed = int(os.environ.get("FXT_SEED", time.time_ns()))
    print(f"seed {seed}")
    random.seed(seed)
    for rule in (losses, sizes, limited, small, soon_and_late, announced, nonsense, wordless, alerts,
                 premature, again):
        print(rule.__name__, flush=True)
        rule()
    print(f"{windows(int(sys.argv[1]))} calls in {sys.argv[1]} windows")
