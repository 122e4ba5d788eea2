"""Providers that break the protocol of writer/provider.h, or share memory that is garbage.

    hostile_providers.py SOCKET SEED ROUNDS [KIND...]

Each of them runs ROUNDS times, in a random order. fxt serve must not fall for any; what it closes is seen
here as the end of the connection.
"""
import fcntl
import os
import random
import socket
import struct
import sys
import threading

import model_provider as model
from model_provider import (ALERT, CHUNK_BYTES, F_ADD_SEALS, FREE, FULL, HELD, INITIALIZE, INITIALIZED,
                            PACKET, PAGES, REGISTER, REGISTERED, SAVE_BUFFER, START, STARTED, STOPPED,
                            filler, words)

EXTREMES = (0, 1, 2, 3, 7, 8, 4095, 4096, 4097, 1 << 15, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1,
            1 << 32, (1 << 48) + 8, (1 << 63) - 1, 1 << 63, (1 << 64) - 8, (1 << 64) - 1)
REQUESTS = (STARTED, SAVE_BUFFER, STOPPED, ALERT, REGISTER, INITIALIZED, INITIALIZE, START, 0, 0x100, 0xffff)


class Liar(model.Provider):
    """A provider of which some steps are wrong; `changes` are the places of the header that are."""

    def __init__(self, path, rnd, changes=(), name="liar"):
        self.changes, self.path = changes, path
        super().__init__(path, name, rnd)

    def header(self):
        header, sizes = super().header(), [8, 2, 1, 1, 4, *[8] * 17, 4, 4, 8, 8]
        for place in self.changes:
            value = self.rnd.choice((*EXTREMES, header[place] + self.rnd.choice((-4096, -8, -1, 1, 8, 4096)),
                                     self.rnd.getrandbits(64)))
            header[place] = value & (1 << 8 * sizes[place]) - 1
        return header


def connected(path):
    end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    end.settimeout(20)
    end.connect(path)
    return end


def told_to_initialize(end):
    """Reads what fxt serve answers to REGISTER."""
    for request in (REGISTERED, INITIALIZE):
        message = end.recv(4096)
        if len(message) < PACKET.size or PACKET.unpack(message[:PACKET.size])[0] != request:
            return


def until_closed(end):
    """Waits until fxt serve has closed the connection."""
    while end.recv(4096):
        pass


def garbage(path, rnd):
    end = connected(path)
    while True:
        end.send(rnd.randbytes(rnd.choice((1, 2, 15, 16, 17, 116, 117, 4095, 4097, 20000))))


def out_of_order(path, rnd):
    end = connected(path)
    end.send(PACKET.pack(REGISTER, 0, 1, 7) + b"disorder")
    while True:
        end.send(PACKET.pack(rnd.choice(REQUESTS), rnd.choice((0, 0, 0, 5)), rnd.choice((0, 1, 9)),
                             rnd.choice(EXTREMES)))


def early(path, rnd):
    end = connected(path)
    end.send(PACKET.pack(rnd.choice([r for r in REQUESTS if r != REGISTER]), 0, 1, 0))
    until_closed(end)


def version(path, rnd):
    end = connected(path)
    end.send(PACKET.pack(REGISTER, 0, rnd.choice((0, 2, 1 << 31)), 7) + b"old")
    until_closed(end)


def empty(path, rnd):
    """A message without bytes has descriptors."""
    end = connected(path)
    socket.send_fds(end, [b""], [end.fileno()] * rnd.choice((1, 2, 253)))
    until_closed(end)


def descriptors(path, rnd):
    """Packets have descriptors that nobody asked for."""
    end = connected(path)
    for size in (1, 2, 3, 253):
        socket.send_fds(end, [PACKET.pack(REGISTER, 0, 1, 7) + b"generous"], [end.fileno()] * size)
        end.close()
        end = connected(path)
    socket.send_fds(end, [PACKET.pack(REGISTER, 0, 1, 7) + b"generous"], [0, 1, 2])
    told_to_initialize(end)
    socket.send_fds(end, [PACKET.pack(INITIALIZED, 0, 0, 1 << 20)], [0] * rnd.choice((2, 3, 50)))
    until_closed(end)


def memory(path, rnd):
    """What comes as the memory is none, or is not sealed, or has another size."""
    end = connected(path)
    end.send(PACKET.pack(REGISTER, 0, 1, 7) + b"wrong memory")
    told_to_initialize(end)
    size = 1 << 20
    kind = rnd.randrange(8)
    if kind == 0:
        end.send(PACKET.pack(INITIALIZED, 0, 0, size))
    elif kind == 1:
        with open("/dev/null", "rb") as null:
            socket.send_fds(end, [PACKET.pack(INITIALIZED, 0, 0, size)], [null.fileno()])
    elif kind == 2:
        socket.send_fds(end, [PACKET.pack(INITIALIZED, 0, 0, size)], [end.fileno()])
    else:
        fd = os.memfd_create("wrong", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        seals = {3: 0, 4: 2, 5: 4, 6: 6, 7: 6 | 8}[kind]
        if kind == 6:
            size = rnd.choice((0, 8, 4096, 1 << 40))
        os.ftruncate(fd, size)
        fcntl.fcntl(fd, F_ADD_SEALS, seals)
        said = size if kind == 6 and rnd.randrange(2) else rnd.choice((size + 1, 2 * size, 0, (1 << 64) - 1))
        socket.send_fds(end, [PACKET.pack(INITIALIZED, 0, 0, said if kind == 6 else size)], [fd])
        os.close(fd)
    until_closed(end)


def header(path, rnd):
    liar = Liar(path, rnd, [rnd.randrange(26) for _ in range(rnd.choice((1, 1, 2, 5)))])
    scribble(liar, rnd)


def scribble(liar, rnd):
    """Fills the memory with what looks like chunks and records, and asks for it to be saved."""
    size = len(liar.memory)
    for chunk in range(liar.CHUNKS):
        kind = rnd.randrange(4)
        if kind == 0:
            liar.put(liar.base(chunk), rnd.randbytes(CHUNK_BYTES))
        elif kind == 1:
            some = b"".join(words(rnd.getrandbits(60) << 16 | rnd.randrange(4096) << 4 | rnd.randrange(16))
                            for _ in range(CHUNK_BYTES // 8))
            liar.put(liar.base(chunk), some)
        elif kind == 2:
            liar.put(liar.base(chunk), words(filler(rnd.choice((0, 1, 4094, 4095)))) * (CHUNK_BYTES // 8))
        liar.entry(chunk, rnd.getrandbits(24) << 8 | rnd.choice((FREE, HELD, FULL, PAGES, 4, 255)))
    liar.put(model.DURABLE_END, words(rnd.choice((*EXTREMES, rnd.randrange(size)))))
    if rnd.randrange(2):
        at = rnd.randrange(4096, size - 8)
        liar.put(at, rnd.randbytes(min(4096, size - at)))
    for wraps in range(rnd.randrange(9)):
        liar.say(SAVE_BUFFER, rnd.choice((wraps, wraps, rnd.getrandbits(32))), rnd.choice(EXTREMES))


def table(path, rnd):
    liar = Liar(path, rnd)
    scribble(liar, rnd)
    if rnd.randrange(2):
        liar.say(STOPPED, 0, 0)


def changing(path, rnd):
    """The memory changes while it is saved: entries, the size of the durable area, and headers of records."""
    liar, over = Liar(path, rnd), False

    def change():
        again = random.Random(rnd.getrandbits(30))
        while not over:
            chunk = again.randrange(liar.CHUNKS)
            liar.entry(chunk, again.getrandbits(2) << 8 | again.choice((FREE, HELD, FULL, PAGES)))
            liar.put(model.DURABLE_END, words(again.choice((0, 8, 800, liar.DURABLE_BYTES, 1 << 40))))
            liar.put(liar.base(chunk) + 8 * again.randrange(4096), words(again.getrandbits(16)))

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for wraps in range(20):
            liar.say(SAVE_BUFFER, wraps, liar.durable_end)
            liar.hear(model.BUFFER_SAVED)
    finally:
        over = True
        thread.join()


def deaf(path, rnd):
    """Asks without end, and reads no answer. The socket is full one day."""
    liar = Liar(path, rnd)
    liar.socket.settimeout(0.2)
    for wraps in range(1000):
        liar.say(SAVE_BUFFER, wraps, liar.durable_end)


def names(path, rnd):
    name = rnd.choice((b"\x1b[2Jred\x07", b"\xff\xfe\x80", b"n" * 101, b"n" * 4080, b"", b"a\0b\r\n",
                       b"\xc2\x9b1m"))
    end = connected(path)
    end.send(PACKET.pack(REGISTER, 0, 1, 7) + name)
    told_to_initialize(end)
    end.send(PACKET.pack(STOPPED, 0, 0, 0))
    until_closed(end)


def large(path, rnd):
    """Records that say that they are larger than any is."""
    liar = Liar(path, rnd)
    for chunk in range(liar.CHUNKS):
        size = rnd.choice((0, 1, 4094, 4095, 4096, (1 << 32) - 1))
        liar.put(liar.base(chunk), words(15 | size << 4) * 4096)
        liar.entry(chunk, 1 << 8 | rnd.choice((HELD, FULL, PAGES)))
    liar.put(liar.DURABLE + liar.durable_end, words(15 | 20000 << 4))
    liar.put(model.DURABLE_END, words(liar.DURABLE_BYTES))
    liar.say(SAVE_BUFFER, 0, 0)


KINDS = (garbage, out_of_order, early, version, empty, descriptors, memory, header, table, changing, deaf,
         names, large)


def main(path, seed, rounds, *kinds):
    rnd = random.Random(seed)
    todo = [kind for kind in KINDS if not kinds or kind.__name__ in kinds] * int(rounds)
    rnd.shuffle(todo)
    for kind in todo:
        seed = rnd.getrandbits(32)
        try:
            kind(path, random.Random(seed))
        except socket.timeout as error:
            if kind is not deaf:
                sys.exit(f"{kind.__name__} with {seed} waits for an end: {error}")
        except (ConnectionError, model.Told):
            pass
    print(len(todo))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
