#!/usr/bin/env python3
"""A manager of one provider, written from the packets' specification ("FIFO packets") and from the layout
that writer/provider.h documents, and from nothing else of this project.

    manager.py SOCKET MODE MEGABYTES ARCHIVE [SWITCHES]

It initializes and starts the provider that connects, saves each buffer that it is asked to save, checks every
packet, and stops and terminates the provider after so many switches, or else when the provider is gone. It
prints how many buffers it saved. Anything that the specification does not allow is an error.
"""
import fcntl, mmap, os, socket, struct, sys

PACKET = struct.Struct("=HHIQ")
HEADER = struct.Struct("=QHBBIQQQQQQQ56xQQQIIQQ")
STARTED, SAVE_BUFFER, STOPPED, BUFFER_SAVED = 1, 2, 3, 0x100
REGISTER, INITIALIZED, INITIALIZE, START, STOP, TERMINATE = 0x200, 0x201, 0x210, 0x211, 0x212, 0x213
FREE, HELD, FULL, PAGES, TAKEN = range(5)
MODES = {"oneshot": 0, "circular": 1, "streaming": 2}


def need(condition, what):
    if not condition:
        sys.exit(f"manager.py: {what}")


class Provider:
    def __init__(self, connection, mode, size, archive):
        self.connection, self.mode, self.archive = connection, mode, archive
        self.durable_saved, self.wraps, self.saved = 0, 0, {}
        request, name = self.receive()
        need(request[0] == REGISTER and request[2] == 1 and name, f"not registered: {request}")
        self.send(INITIALIZE, mode, size)
        message, descriptors, _, _ = socket.recv_fds(connection, 4096, 1)
        request = PACKET.unpack(message)
        need(request[0] == INITIALIZED and len(descriptors) == 1, f"not initialized: {request}")
        need(fcntl.fcntl(descriptors[0], fcntl.F_GET_SEALS) & 6 == 6, "the memory is not sealed")
        need(os.fstat(descriptors[0]).st_size == request[3], "another size than said")
        self.memory = mmap.mmap(descriptors[0], request[3])
        os.close(descriptors[0])
        self.read_header(request[3])
        self.send(START, 1)
        request, _ = self.receive()
        need(request == (STARTED, 0, 1, 0), f"not started: {request}")

    def read_header(self, size):
        (magic, version, mode, reserved, wraps, total, durable, rolling, end, *ends_and_dropped, self.table,
         self.durable, self.rolling, self.chunk, self.chunks, self.counters,
         self.counters_size) = HEADER.unpack_from(self.memory)
        need(magic == 0x627566ee68656164 and version == 0 and reserved == 0 and mode == self.mode, "header")
        need(total == size and wraps == 0 and end <= durable and durable % 8 == 0, "sizes")
        need(rolling * 2 == self.chunk * self.chunks and self.rolling + 2 * rolling == total, "buffers")
        need(self.table + 4 * self.chunks <= self.durable <= self.rolling - durable, "offsets")

    def send(self, request, data32=0, data64=0):
        self.connection.send(PACKET.pack(request, 0, data32, data64))

    def receive(self):
        message = self.connection.recv(4096)
        need(not message or len(message) >= 16, "a message without a packet")
        return (PACKET.unpack(message[:16]), message[16:]) if message else (None, b"")

    def keep(self, data):
        """Appends records but fillers (metadata of type 15). Returns where the last one ends."""
        at = last = 0
        while at < len(data):
            header, = struct.unpack_from("=Q", data, at)
            size = 8 * (header >> 4 & 0xfff)
            need(size and at + size <= len(data), f"a record of {size} bytes at {at}")
            if header & 0xf0000000f not in (0,) or header >> 16 & 15 != 15:
                self.archive.write(data[at:at + size])
                last = at + size
            at += size
        return last

    def keep_durable(self, end=None):
        end = end or struct.unpack_from("=Q", self.memory, 40)[0]
        for low, high in ((self.durable_saved, min(end, self.counters)),
                          (max(self.durable_saved, self.counters + self.counters_size), end)):
            if low < high:
                self.keep(self.memory[self.durable + low:self.durable + high])
        self.durable_saved = max(self.durable_saved, end)

    def state(self, number):
        entry, = struct.unpack_from("=I", self.memory, self.table + 4 * number)
        return entry & 255, entry >> 8

    def keep_chunk(self, number, turn):
        at = self.rolling + number * self.chunk
        kept = self.saved.get((number, turn), 0)
        data = self.memory[at + kept:at + self.chunk]
        self.keep_durable()
        self.saved[number, turn] = kept + self.keep(data)

    def save(self, wraps, durable_end):
        need(self.mode == MODES["streaming"], "a buffer to save in another mode")
        need(wraps == self.wraps, f"wrap count {wraps} instead of {self.wraps}")
        need(durable_end <= struct.unpack_from("=Q", self.memory, 40)[0], "the durable end")
        self.wraps += 1
        self.keep_durable(durable_end)
        half = self.chunks // 2
        for number in range((wraps & 1) * half, (wraps & 1) * half + half):
            state, turn = self.state(number)
            if state == FULL:
                self.keep_chunk(number, turn)
                struct.pack_into("=I", self.memory, self.table + 4 * number, turn << 8 | FREE)
        self.send(BUFFER_SAVED, wraps, durable_end)

    def save_rest(self):
        self.keep_durable()
        for number in range(self.chunks):
            state, turn = self.state(number)
            if state not in (FREE, TAKEN):
                self.keep_chunk(number, turn)
        self.keep(self.memory[self.durable + self.counters:
                              self.durable + self.counters + self.counters_size])


def main(path, mode, megabytes, out, switches="0"):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener, open(out, "wb") as archive:
        listener.bind(path)
        listener.listen()
        print("listening", flush=True)
        provider = Provider(listener.accept()[0], MODES[mode], int(megabytes) << 20, archive)
        stopping = False
        while (request := provider.receive()[0]) is not None:
            if request[0] == SAVE_BUFFER and request[1] == 0:
                provider.save(*request[2:])
            elif request == (STOPPED, 0, 0, 0) and stopping:
                provider.send(TERMINATE)
                break
            else:
                need(False, f"an unexpected packet: {request}")
            if provider.wraps == int(switches) and not stopping:
                stopping = True
                provider.send(STOP)
        provider.save_rest()
        print(f"{provider.wraps} buffers saved")


main(*sys.argv[1:])
