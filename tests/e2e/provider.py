#!/usr/bin/env python3
"""A provider, written from writer/provider.h alone, that fxt serve saves; and one that breaks every rule.

    provider.py honest SOCKET SWITCHES EXPECTED     fills buffers of random records so often, and writes to
                                                    EXPECTED what the archive has to have of it
    provider.py hostile SOCKET ROUNDS               garbage, wrong order, wrong sizes; dies in the middle

What they do follows from FXT_SEED.
"""
import fcntl, mmap, os, random, socket, struct, sys

PACKET = struct.Struct("=HHIQ")
HEADER = struct.Struct("=QHBBIQQQQQQQ56xQQQIIQQ")
STARTED, SAVE_BUFFER, STOPPED, ALERT, BUFFER_SAVED = 1, 2, 3, 4, 0x100
REGISTER, INITIALIZED, INITIALIZE, START, STOP, TERMINATE = 0x200, 0x201, 0x210, 0x211, 0x212, 0x213
FREE, HELD, FULL, PAGES = range(4)
MAGIC, CHUNK, DURABLE = 0x627566ee68656164, 32768, 65536
SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW


def filler(words):
    return 15 << 16 | words << 4


class Provider:
    def __init__(self, path, name, seals=SEALS, **header):
        self.connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.connection.connect(path)
        self.connection.send(PACKET.pack(REGISTER, 0, 1, os.getpid()) + name)
        request, _, self.mode, size = PACKET.unpack(self.connection.recv(4096)[:16])
        assert request == INITIALIZE, request
        self.make_memory(size, seals, header)

    def make_memory(self, size, seals, changed):
        self.half = (size // CHUNK - 4) // 2
        table, durable = 4096, 4096 + (8 * self.half + 7 & ~7)
        self.table, self.durable, self.rolling = table, durable, durable + DURABLE
        total = self.rolling + 2 * self.half * CHUNK
        header = dict(magic=MAGIC, version=0, mode=self.mode, reserved=0, wraps=0, total=total,
                      durable_size=DURABLE, rolling_size=self.half * CHUNK, end=0, end0=0, end1=0, dropped=0,
                      table=table, durable=durable, rolling=self.rolling, chunk=CHUNK,
                      chunks=2 * self.half, counters=0, counters_size=0)
        header.update(changed)
        self.fd = os.memfd_create("provider", os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, total)
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, seals)
        self.memory = mmap.mmap(self.fd, total)
        HEADER.pack_into(self.memory, 0, *header.values())
        self.durable_end = 0
        self.total, self.wraps = total, 0

    def send(self, request, data32=0, data64=0):
        self.connection.send(PACKET.pack(request, 0, data32, data64))

    def hand_over(self):
        socket.send_fds(self.connection, [PACKET.pack(INITIALIZED, 0, 0, self.total)], [self.fd])
        request = PACKET.unpack(self.connection.recv(4096)[:16])[0]
        assert request == START, request
        self.send(STARTED, 1)

    def append_durable(self, record):
        at = self.durable + self.durable_end
        self.memory[at:at + len(record)] = record
        self.durable_end += len(record)
        struct.pack_into("=Q", self.memory, 40, self.durable_end)

    def fill(self, number, records, state):
        """Fills a chunk with whole records and the filler behind them."""
        data = b"".join(records)
        words = CHUNK // 8 - 1 - len(data) // 8
        data += (struct.pack("=Q", filler(words)) + bytes(8 * words - 8) if words else b"")
        at = self.rolling + number * CHUNK
        self.memory[at:at + CHUNK] = data + struct.pack("=Q", filler(1))
        entry, = struct.unpack_from("=I", self.memory, self.table + 4 * number)
        struct.pack_into("=I", self.memory, self.table + 4 * number, ((entry >> 8) + 1) << 8 | state)

    def turn(self):
        self.send(SAVE_BUFFER, self.wraps, self.durable_end)
        answer = PACKET.unpack(self.connection.recv(4096)[:16])
        assert answer == (BUFFER_SAVED, 0, self.wraps, self.durable_end), answer
        self.wraps += 1


def blob(payload):
    """Returns a BLOB record with an inline name, whose payload is its identity."""
    padded = payload + bytes(-len(payload) % 8)
    return struct.pack("=QQ", 5 | (2 + len(padded) // 8) << 4 | (0x8000 | 8) << 16 | len(payload) << 32 |
                       1 << 48, int.from_bytes(b"provider", "little")) + padded


def honest(path, switches, expected):
    provider = Provider(path, b"honest")
    provider.hand_over()
    made = 0
    with open(expected, "w") as model:
        def records(most):
            nonlocal made
            room, out = CHUNK - 16, []
            while len(out) < most:
                made += 1
                record = blob(b"%08d " % made + bytes(random.choices(b"abc", k=random.randrange(900))))
                if len(record) > room:
                    made -= 1
                    break
                room -= len(record)
                out.append(record)
                model.write(f"{made}\n")
            return out
        for _ in range(int(switches)):
            for i in range(provider.half):
                # Some chunks stay free, and some are held and filled up later.
                number = (provider.wraps & 1) * provider.half + i
                if random.randrange(4):
                    provider.fill(number, records(random.randrange(1, 200)), FULL)
            provider.turn()
        for number in range(2 * provider.half):
            if random.randrange(2):
                provider.fill(number, records(random.randrange(50)), random.choice((HELD, FULL, PAGES)))
    # It ends without a word.


def hostile_once(path, kind):
    random_bytes = random.randbytes
    if kind == 0:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.connect(path)
        for _ in range(random.randrange(1, 9)):
            descriptors = [connection.fileno()] * random.choice((0, 1, 2, 3, 9))
            socket.send_fds(connection, [random_bytes(random.randrange(1, 4096))], descriptors)
        return
    if kind == 1:
        member = random.choice(("magic", "version", "total", "durable_size", "rolling_size", "table",
                                "durable", "rolling", "chunk", "chunks", "counters", "counters_size"))
        bits = {"version": 16, "chunk": 32, "chunks": 32}.get(member, 64)
        provider = Provider(path, b"header", **{member: random.choice((1, 2 ** bits - 1, 2 ** (bits - 1),
                                                                       random.getrandbits(bits)))})
        provider.hand_over()
        return
    if kind == 2:
        Provider(path, b"unsealed", seals=random.choice((0, fcntl.F_SEAL_GROW))).hand_over()
        return
    provider = Provider(path, random_bytes(random.randrange(100)))
    provider.hand_over()
    for _ in range(random.randrange(1, 20)):
        number = random.randrange(2 * provider.half)
        at = provider.rolling + number * CHUNK
        provider.memory[at:at + CHUNK] = random_bytes(CHUNK)
        struct.pack_into("=I", provider.memory, provider.table + 4 * number, random.getrandbits(32) & ~252)
    struct.pack_into("=Q", provider.memory, 40, random.choice((DURABLE, 2 ** 64 - 8, random.getrandbits(64),
                                                               random.randrange(DURABLE))))
    if kind == 3:
        provider.turn()
    elif kind == 4:
        for _ in range(random.randrange(1, 9)):
            request = random.choice((STARTED, SAVE_BUFFER, STOPPED, ALERT, REGISTER, INITIALIZED, START, 99))
            provider.send(request, random.getrandbits(32), random.getrandbits(64))


def hostile(path, rounds):
    for i in range(int(rounds)):
        try:
            hostile_once(path, i % 6)
        except (ConnectionResetError, BrokenPipeError, struct.error, IndexError, AssertionError):
            pass


random.seed(int(os.environ.get("FXT_SEED") or 0))
{"honest": honest, "hostile": hostile}[sys.argv[1]](*sys.argv[2:])
