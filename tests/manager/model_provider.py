"""A provider written from writer/provider.h alone, which keeps a model of all that it wrote.

    model_provider.py SOCKET NAME SWITCHES SEED MODEL ENDING [HELD]

It records into the memory that it shares with the manager until the memory has turned from one rolling buffer
to the other SWITCHES times, in records of random sizes, and writes the model to the file MODEL. ENDING is

    exit    it is over, also when the manager is
    stop    it waits until it is told to stop, answers, and waits for the end
    kill    it kills itself in the middle of a rolling buffer
    orphan  as kill, but a child holds a copy of the connection until the file HELD is there
    exec    as exit, but in the same process the provider NAME+ registers anew, while a child holds a copy of
            the first connection until the file HELD is there
"""
import fcntl
import mmap
import os
import pickle
import random
import signal
import socket
import struct
import sys
import time

PACKET = struct.Struct("=HHIQ")
STARTED, SAVE_BUFFER, STOPPED, ALERT, REGISTER, INITIALIZED = 1, 2, 3, 4, 0x200, 0x201
BUFFER_SAVED, INITIALIZE, START, STOP, TERMINATE, REGISTERED = 0x100, 0x210, 0x211, 0x212, 0x213, 0x214
ONESHOT, CIRCULAR, STREAMING = 0, 1, 2
FREE, HELD, FULL, PAGES, TAKEN, SAVED = 0, 1, 2, 3, 4, 5
MAGIC, CHUNK_BYTES, CHUNK_WORDS, PAGE_BYTES = 0x627566ee68656164, 32768, 4096, 4096
HEADER = "=QHBBI7Q7Q3QII2Q"
# The offsets of members of the header.
MODE, WRAPPED, DURABLE_END, DROPPED = 10, 12, 40, 64
SEALS = 0x0002 | 0x0004                 # F_SEAL_SHRINK, F_SEAL_GROW
F_ADD_SEALS = 1033


def words(*values):
    return struct.pack(f"<{len(values)}Q", *(v & (1 << 64) - 1 for v in values))


def filler(count):
    return 15 << 16 | count << 4


def text(data):
    return data.ljust((len(data) + 7) // 8 * 8, b"\0")


class Full(Exception):
    """There is no chunk any more."""


class Told(Exception):
    """The manager has said something else than was expected."""


class Provider:
    CHUNKS, TABLE, DURABLE = 8, PAGE_BYTES, 2 * PAGE_BYTES
    DURABLE_BYTES, COUNTERS, COUNTERS_BYTES = 1 << 18, 3 * 8, 5 * 8

    def __init__(self, path, name, rnd, koid=None):
        self.rnd, self.name, self.pid = rnd, name, koid or os.getpid()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(path)
        self.say(REGISTER, 1, self.pid, name.encode())
        message, descriptors, _, _ = socket.recv_fds(self.socket, 4096, 1)
        request, _, self.page, comes = PACKET.unpack(message[:PACKET.size])
        if request != REGISTERED or len(descriptors) != 1:
            raise Told(f"not registered: {request:#x}")
        self.gates = mmap.mmap(descriptors[0], 0, mmap.MAP_SHARED, mmap.PROT_READ)
        os.close(descriptors[0])
        if not comes:
            self.wait_for_gate()
        self.session = 0
        _, self.mode, self.wanted_bytes, _ = self.hear(INITIALIZE)
        self.session, self.wanted_bytes = self.wanted_bytes >> 48, self.wanted_bytes & (1 << 48) - 1
        self.make_memory()
        self.lanes, self.units, self.cursor, self.passes, self.saved, self.dropped = {}, {}, 0, 0, 0, 0
        self.strings, self.ticks, self.slots = 0, 1000, []
        self.prologue()
        self.say(INITIALIZED, self.page, len(self.memory), b"", self.descriptor)
        os.close(self.descriptor)
        self.hear(START)
        self.say(STARTED, 1, 0)

    # -- Messages ------------------------------------------------------------------------------------

    def say(self, request, data32, data64, more=b"", descriptor=None):
        # A provider may leave it to the order of its answers which session each is for.
        if request == INITIALIZED and self.rnd.random() < 0.5:
            data64 |= self.session << 48
        message = PACKET.pack(request, 0, data32, data64) + more
        if descriptor is None:
            self.socket.send(message)
        else:
            socket.send_fds(self.socket, [message], [descriptor])

    def hear(self, *expected):
        message = self.socket.recv(4096)
        if len(message) < PACKET.size:
            raise Told("the connection is closed")
        request, reserved, data32, data64 = PACKET.unpack(message[:PACKET.size])
        if request not in expected or reserved:
            raise Told(f"packet {request:#x} came, expected was one of {expected}")
        return request, data32, data64, message[PACKET.size:]

    def gate(self):
        """Returns whether the manager has messages for a provider that waits."""
        return self.gates[self.page * PAGE_BYTES:self.page * PAGE_BYTES + 4] != bytes(4)

    def wait_for_gate(self):
        while not self.gate():
            time.sleep(0.001)

    # -- The memory ----------------------------------------------------------------------------------

    def header(self):
        """Returns the header, as a list of its members' values that hostile providers change."""
        size = self.DURABLE + self.DURABLE_BYTES + self.CHUNKS * CHUNK_BYTES
        return [MAGIC, 0, self.mode, 0, 0, size, self.DURABLE_BYTES, self.CHUNKS // 2 * CHUNK_BYTES, 0,
                0, 0, 0, *[0] * 7, self.TABLE, self.DURABLE, self.DURABLE + self.DURABLE_BYTES, CHUNK_BYTES,
                self.CHUNKS, self.COUNTERS, self.COUNTERS_BYTES]

    def make_memory(self):
        header = self.header()
        self.descriptor = os.memfd_create("provider", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, self.DURABLE + self.DURABLE_BYTES + self.CHUNKS * CHUNK_BYTES)
        fcntl.fcntl(self.descriptor, F_ADD_SEALS, SEALS)
        self.memory = mmap.mmap(self.descriptor, 0)
        self.put(0, struct.pack(HEADER, *header))

    def put(self, at, data):
        self.memory[at:at + len(data)] = data

    def get32(self, at):
        return struct.unpack_from("=I", self.memory, at)[0]

    def entry(self, chunk, value=None):
        if value is not None:
            self.put(self.TABLE + 4 * chunk, struct.pack("=I", value))
        return self.get32(self.TABLE + 4 * chunk)

    def base(self, chunk):
        return self.DURABLE + self.DURABLE_BYTES + chunk * CHUNK_BYTES

    # -- Records -------------------------------------------------------------------------------------

    def prologue(self):
        """Writes what each provider begins with. The counter behind it is rewritten in place."""
        self.durable_model, self.durable_end = [], 0
        metadata = words(0x0016547846040010)
        self.append_durable(metadata, False)
        self.append_durable(words(1 | 2 << 4, 10**9))
        assert self.durable_end == self.COUNTERS
        self.set_counter(0)
        self.durable_end += self.COUNTERS_BYTES
        # The manager writes its own records of these kinds.
        self.append_durable(words(1 << 16 | 2 << 4 | 77 << 20 | 4 << 52) + b"evil\0\0\0\0", False)
        self.append_durable(words(2 << 16 | 1 << 4 | 78 << 20), False)
        self.category = self.string(b"model")
        self.append_durable(words(3 | 3 << 4 | 1 << 16, self.pid, self.pid))

    def set_counter(self, value):
        # The value is in the word that counters have for their id.
        self.counter = words(4 | 5 << 4 | 1 << 16, 1, self.pid, self.pid, value)
        self.put(self.DURABLE + self.COUNTERS, self.counter)

    def append_durable(self, record, counts=True):
        if self.durable_end + len(record) > self.DURABLE_BYTES:
            return False
        self.put(self.DURABLE + self.durable_end, record)
        self.durable_end += len(record)
        self.put(DURABLE_END, words(self.durable_end))
        if counts:
            self.durable_model.append(record)
        return True

    def string(self, data):
        index = self.strings + 1
        if index < 0x8000 and self.append_durable(
                words(2 | 1 + len(text(data)) // 8 << 4 | index << 16 | len(data) << 32) + text(data)):
            self.strings = index
        return self.strings

    def record(self):
        """Returns a record that comes only once, and the least words that it has behind it."""
        rnd, kind = self.rnd, self.rnd.random()
        self.ticks += rnd.randrange(1, 99)
        if kind < 0.02:
            self.string(b"name %d of %s" % (self.ticks, b"x" * rnd.randrange(40)))
        name = rnd.randrange(1, self.strings + 1)
        head = 4 | 1 << 24 | self.category << 32 | name << 48
        if kind < 0.6:                          # a complete event of 40 bytes, as most are
            argument = words(1 | 1 << 4 | name << 16 | 7 << 32)
            return words(head | 4 << 4 | 4 << 16 | 1 << 20, self.ticks) + argument + words(self.ticks)
        if kind < 0.7:                          # a log record, whose bytes look like headers
            data = rnd.randbytes(8 * rnd.randrange(1, 20)).translate(bytes(i % 95 + 32 for i in range(256)))
            return words(9 | 2 + len(data) // 8 << 4 | len(data) << 16 | 1 << 32, self.ticks) + data
        size = rnd.choice((0, 8, 24, 200, 200, 1000, 1000, 31000))
        size = rnd.randrange(size + 1) // 8 * 8
        argument = words(6 | 1 + size // 8 << 4 | name << 16 | (0x8000 | size) << 32) + b"p" * size
        return words(head | 2 + len(argument) // 8 << 4 | 1 << 20, self.ticks) + argument

    # -- Chunks --------------------------------------------------------------------------------------

    def take(self):
        """Returns a chunk in a new turn; that is a pass over one rolling buffer, or over both."""
        while True:
            count = self.CHUNKS // 2 if self.mode == STREAMING else self.CHUNKS
            while self.cursor < count:
                chunk = self.cursor + (self.passes % 2 * count if self.mode == STREAMING else 0)
                self.cursor += 1
                state = self.entry(chunk) & 0xff
                if state == FREE or (state == FULL and self.mode == CIRCULAR):
                    return self.begin(chunk)
            self.turn_over()

    def turn_over(self):
        """Turns to the other rolling buffer, once the manager has saved that."""
        if self.mode == ONESHOT or self.passes >= self.switches:
            raise Full
        if self.mode == STREAMING:
            if self.passes:
                _, data32, data64, _ = self.hear(BUFFER_SAVED)
                assert (data32, data64) == self.asked, (data32, data64)
            self.asked = self.passes, self.durable_end
            self.put(WRAPPED, struct.pack("=I", self.passes + 1))
            self.say(SAVE_BUFFER, *self.asked)
        self.passes += 1
        self.cursor = 0

    def begin(self, chunk):
        self.entry(chunk, ((self.entry(chunk) >> 8) + 1) << 8 | TAKEN)
        self.put(self.base(chunk) + CHUNK_BYTES - 8, words(filler(1)))
        self.put(self.base(chunk), words(filler(CHUNK_WORDS - 1)))
        self.entry(chunk, self.entry(chunk) & ~0xff | HELD)
        # Only what is overwritten is missing in the archive.
        if self.mode == CIRCULAR:
            self.units.pop((chunk, (self.entry(chunk) >> 8) - 1), None)
        self.units[chunk, self.entry(chunk) >> 8] = []
        return chunk

    def append(self, lane, record):
        """Commits a record in the chunk of the lane, or in the next one."""
        if lane not in self.lanes:
            self.lanes[lane] = [self.take(), 0]
        chunk, at = self.lanes[lane]
        gap = self.rnd.choice((0, 0, 0, 0, 0, 0, 0, 8 * self.rnd.randrange(1, 7)))
        if at + gap + len(record) > CHUNK_BYTES - 16:
            del self.lanes[lane]
            self.entry(chunk, self.entry(chunk) & ~0xff | FULL)
            return self.append(lane, record)
        if gap:
            rest = (CHUNK_BYTES - 8 - at - gap) // 8
            self.put(self.base(chunk) + at + gap, words(filler(rest)))
            self.put(self.base(chunk) + at, words(filler(gap // 8)))
        at, end = self.base(chunk) + at + gap, self.base(chunk) + CHUNK_BYTES - 8
        self.put(at + len(record), words(filler((end - at - len(record)) // 8)))
        self.put(at + 8, record[8:])
        self.put(at, record[:8])
        self.lanes[lane][1] = at + len(record) - self.base(chunk)
        self.units[chunk, self.entry(chunk) >> 8].append(record)

    def make_pages(self):
        """Divides a chunk into pages with slots; every third one has a call in progress."""
        chunk = self.take()
        self.units.pop((chunk, self.entry(chunk) >> 8))
        self.slots = []
        for page in range(CHUNK_BYTES // PAGE_BYTES):
            slots = []
            for number in range(127):
                self.ticks += 1
                slots.append(words(4 | 4 << 4 | 2 << 16 | 1 << 20 | 1 << 24 | self.category << 32 |
                                   self.category << 48, self.ticks, 4 | 2 << 4 | self.category << 16, 5)
                             if number % 3 == 0 else words(filler(4), 1, 2, 3))
            self.slots += slots[::3]
            at = self.base(chunk) + page * PAGE_BYTES
            self.put(at, b"".join(slots) + words(filler(3), 0, 0, filler(1)))
        self.entry(chunk, self.entry(chunk) & ~0xff | PAGES)

    # -- All of it -----------------------------------------------------------------------------------

    def run(self, switches):
        self.switches = switches
        try:
            self.make_pages()
            while True:
                self.append(self.rnd.randrange(3), self.record())
        except Full:
            if self.mode == ONESHOT:
                self.dropped = self.rnd.randrange(1, 9)
        if self.mode == STREAMING and self.passes:
            self.hear(BUFFER_SAVED)
        # The half in which it ends is not full.
        self.switches, lanes = 0, list(self.lanes)
        for _ in range(self.rnd.randrange(500) if lanes else 0):
            try:
                self.append(self.rnd.choice(lanes), self.record())
            except Full:
                break
        self.set_counter(self.rnd.randrange(1 << 60))
        self.put(DROPPED, words(self.dropped))

    def model(self):
        return {"name": self.name, "durable": self.durable_model, "counter": self.counter,
                "slots": self.slots, "units": [unit for unit in self.units.values() if unit],
                "dropped": self.dropped}

    def stop(self):
        """Answers the manager until that wants nothing any more; it may start the trace again."""
        while True:
            try:
                request = self.hear(STOP, START, TERMINATE)[0]
            except (Told, ConnectionError):
                return
            if request == TERMINATE:
                return
            self.say(*((STOPPED, 0, 0) if request == STOP else (STARTED, 1, 0)))


def hold(path):
    """Makes a child, which has a copy of every connection until there is a file at `path`.

    It lasts a minute at most.
    """
    if os.fork() == 0:
        end = time.monotonic() + 60
        while not os.path.exists(path) and time.monotonic() < end:
            time.sleep(0.01)
        os._exit(0)


def save_model(path, models):
    with open(path + ".new", "wb") as out:
        pickle.dump(models, out)
    os.rename(path + ".new", path)


def main(path, name, switches, seed, model, ending, held=None):
    rnd = random.Random(seed)
    provider = Provider(path, name, rnd)
    try:
        provider.run(int(switches))
    except (Told, ConnectionError):
        # The manager was killed.
        ending = "exit"
    models = [provider.model()]
    if ending == "exec":
        hold(held)
        provider = Provider(path, name + "+", rnd, os.getpid() + (1 << 22))
        provider.run(int(switches))
        models.append(provider.model())
    elif ending == "orphan":
        hold(held)
    save_model(model, models)
    if ending in ("kill", "orphan"):
        os.kill(os.getpid(), signal.SIGKILL)
    elif ending == "stop":
        provider.stop()


if __name__ == "__main__":
    if not 7 <= len(sys.argv) <= 8:
        sys.exit(__doc__)
    main(*sys.argv[1:])
