"""A provider as a manager sees it: its connection, its memory, and a model of what it may say. This knows the
documents of the packets and writer/provider.h, and nothing else of the agent.

A fault is a Fault with the reason.
"""
import collections
import fcntl
import mmap
import os
import socket
import struct
import time

PACKET = struct.Struct("=HHIQ")
STARTED, SAVE_BUFFER, STOPPED, ALERT = 1, 2, 3, 4
REGISTER, INITIALIZED, ENDING, MUTED, FORKED = 0x200, 0x201, 0x202, 0x203, 0x204
BUFFER_SAVED, INITIALIZE, START, STOP, TERMINATE, REGISTERED = 0x100, 0x210, 0x211, 0x212, 0x213, 0x214
FULL_PACKET, ALL_SAVED = 0x215, 0x216
ONESHOT, CIRCULAR, STREAMING, WAITS = 0, 1, 2, 0x100
CLEAR_ENTIRE, CLEAR_NONDURABLE, RETAIN = 1, 2, 3
FREE, HELD, FULL, PAGES, TAKEN, SAVED, FREEING, EMPTY = range(8)
MAGIC, PAGE, SESSION_SHIFT, PID_BITS, DIED = 0x627566ee68656164, 4096, 48, 22, 0x40000000
HEADER = struct.Struct("=QHBBI7Q7Q3QII2QIIIIII")
GRANTED, SAVES = 196, 204               # the offsets of two members that the manager writes
SEALS = 2 | 4                           # F_SEAL_SHRINK, F_SEAL_GROW
Header = collections.namedtuple("Header", """magic version mode reserved1 wraps total durable_bytes
    rolling_bytes durable_end end0 end1 dropped r0 r1 r2 r3 r4 r5 r6 table durable rolling chunk chunks
    counters counters_bytes session outlives granted wanted saves sleepers""")


class Fault(Exception):
    """The provider has done what the documents do not allow."""


def need(condition, *what):
    if not condition:
        raise Fault(" ".join(map(str, what)))


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def divide(data):
    """Returns the records of a trace."""
    records, at = [], 0
    while at + 8 <= len(data):
        header, = struct.unpack_from("=Q", data, at)
        size = 8 * (header >> 4 & 0xfff)
        need(size, "a record of size 0 at", at)
        records.append(data[at:at + size])
        at += size
    return records


def losses(records):
    """Sums the counters of what was dropped, and of what was overwritten in a ring. They are counter events
    whose names stand at the beginning of a trace."""
    names, lost = {}, 0
    for record in records:
        header, = struct.unpack_from("=Q", record)
        if header & 0xf == 2 and header >> 16 & 0x7fff not in names:
            names[header >> 16 & 0x7fff] = record[8:8 + (header >> 32 & 0x7fff)]
        elif header & 0xf000f == 0x10004 and header >> 20 & 0xf == 1:
            if names.get(header >> 48, b"").startswith((b"dropped", b"overwritten")):
                lost += struct.unpack_from("=Q", record, 24 if header >> 24 & 0xff else 40)[0]
    return lost


class Window:
    """The times between which a provider has to record, and those between which it may."""

    def __init__(self, asked_ns, session, has_only_io):
        self.asked_ns, self.session, self.has_only_io = asked_ns, session, has_only_io
        self.begun_ns = self.stopping_ns = self.over_ns = None
        self.is_cleared = False         # what was recorded has been thrown away since


class Seen:
    def __init__(self, connection, number, log):
        self.connection, self.number, self.log = connection, number, log
        self.memory, self.koid, self.page, self.session = None, None, 0, None
        self.state = "new"              # new, waits, initialized, recording, stopped, ended
        self.owed = collections.Counter()       # the answers that may still come
        self.windows, self.outstanding, self.wraps = [], None, None
        self.saved, self.durable_saved, self.durable_end, self.archive = {}, 0, 0, []
        self.forged, self.tokens = set(), set()
        self.mode, self.born_ns, self.dropped = STREAMING, now_ns(), 0

    @property
    def pid(self):
        return self.koid & (1 << PID_BITS) - 1

    def must_have(self, began_ns, ended_ns):
        """Returns whether a call of this process has to be recorded, or counted."""
        return ended_ns and self.born_ns < began_ns and any(
            w.begun_ns is not None and w.begun_ns < began_ns and not w.is_cleared and
            (not w.stopping_ns or ended_ns < w.stopping_ns) for w in self.windows)

    def was_in_session(self, ns):
        """Returns whether this process had a window, and its connection at that time."""
        return self.born_ns < ns and any(w.begun_ns is not None for w in self.windows) and (
            self.state != "ended" or ns <= self.windows[-1].over_ns)

    def may_have(self, began_ns, ended_ns):
        return any(w.asked_ns <= (ended_ns or began_ns) and (not w.over_ns or began_ns <= w.over_ns)
                   for w in self.windows)

    # -- Messages ------------------------------------------------------------------------------------

    def send(self, request, data32=0, data64=0, text=b"", reserved=0, descriptor=None):
        self.log.append((self.number, "<-", hex(request), data32, hex(data64), text[:40]))
        message = PACKET.pack(request, reserved, data32, data64) + text
        try:
            if descriptor is None:
                self.connection.send(message)
            else:
                socket.send_fds(self.connection, [message], [descriptor])
        except (BrokenPipeError, ConnectionResetError):
            self.log.append((self.number, "is gone"))

    def peek(self):
        """Returns the request of the next message, which stays."""
        try:
            self.peeked = self.connection.recv(4096, socket.MSG_PEEK)
        except ConnectionResetError:
            return None
        return PACKET.unpack(self.peeked[:PACKET.size])[0] if len(self.peeked) >= PACKET.size else None

    def receive(self, text_left_out=None):
        """Takes one message. Returns its request, or None at the end of the connection. A helper's has a text
        by which the provider is known."""
        try:
            message, descriptors, _, _ = socket.recv_fds(self.connection, 4096, 4)
        except ConnectionResetError:
            message, descriptors = b"", []
        if not message:
            self.log.append((self.number, "->", "end"))
            self.end()
            return None
        need(len(message) >= PACKET.size, "a message of", len(message), "bytes")
        request, reserved, data32, data64 = PACKET.unpack(message[:PACKET.size])
        text = message[PACKET.size:] if text_left_out is None else b""
        if request != ALERT:
            self.log.append((self.number, "->", hex(request), data32, hex(data64), text[:40]))
        need(request == ALERT or not reserved, f"{request:#x}: reserved is {reserved}")
        hear = {STARTED: self.hear_started, SAVE_BUFFER: self.hear_save, STOPPED: self.hear_stopped,
                REGISTER: self.hear_register, INITIALIZED: self.hear_initialized, FORKED: self.hear_forked,
                ENDING: self.hear_ending, ALERT: self.hear_alert, MUTED: self.hear_muted}
        need(request in hear, f"request {request:#x}")
        if request == ALERT:
            text = message[2:PACKET.size] + text
        hear[request](data32, data64, text, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        if self.memory:
            self.header()
        return request

    def answers(self, what):
        need(self.owed[what] > 0, what, "comes unasked")
        self.owed[what] -= 1

    def hear_register(self, version, koid, text, descriptors):
        need(self.state == "new" and version == 1 and text and len(text) <= 100 and not descriptors,
             "REGISTER", version, text)
        self.koid, self.name, self.state = koid, text, "waits"

    def hear_forked(self, version, data64, text, descriptors):
        need(self.state == "new" and version == 1 and text and len(text) <= 100, "FORKED", version, text)
        self.koid, self.page, self.name = data64 & 0xffffffff, data64 >> 32, text
        self.state = "waits"
        if descriptors:
            need(len(descriptors) == 1, "more than one memory")
            self.map(descriptors[0], os.fstat(descriptors[0]).st_size)
            self.session, self.mode = self.header().session, self.header().mode
            self.state = "recording"
            # It records from its begin on.
            self.windows.append(Window(0, self.session, False))
            self.windows[-1].begun_ns = 0

    def hear_initialized(self, page, data64, text, descriptors):
        self.answers(INITIALIZED)
        self.is_late = False
        need(page == self.page and not text, "INITIALIZED of page", page)
        need(data64 >> SESSION_SHIFT in self.sessions, "INITIALIZED of session", data64 >> SESSION_SHIFT)
        size = data64 & (1 << SESSION_SHIFT) - 1
        if self.memory:
            need(not descriptors and size == len(self.memory), "a second memory")
        else:
            need(len(descriptors) == 1, "INITIALIZED without a memory")
            self.map(descriptors[0], size)
        if self.state in ("waits", "stopped") and data64 >> SESSION_SHIFT == self.session:
            self.state = "initialized"
            self.wraps = None

    def hear_started(self, version, data64, text, descriptors):
        self.answers(STARTED)
        need((version, data64, text, descriptors) == (1, 0, b"", []), "STARTED", version, data64)
        if self.is_late:
            return
        need(self.state == "initialized" or self.state == "stopped", "STARTED when", self.state)
        self.state = "recording"
        self.windows[-1].begun_ns = now_ns()

    def hear_stopped(self, data32, data64, text, descriptors):
        self.answers(STOPPED)
        need((data32, data64, text, descriptors) == (0, 0, b"", []), "STOPPED", data32, data64)
        if (self.state == "recording" or self.is_late) and self.windows[-1].stopping_ns:
            self.state, self.is_late = "stopped", False
            self.windows[-1].over_ns = now_ns()

    def hear_save(self, wraps, end, text, descriptors):
        header = self.header()
        need(self.mode == STREAMING or self.owed[INITIALIZED], "SAVE_BUFFER in another mode")
        need(self.state in ("recording", "stopped") or self.is_late, "SAVE_BUFFER when", self.state)
        need(not text and not descriptors, "SAVE_BUFFER with a text")
        # An answer that is sent before its request is seen may come after that; then the provider goes on.
        latest = wraps + 1
        while latest - 1 in self.forged:
            latest += 1
        need(self.outstanding is None or self.outstanding[0] in self.forged,
             "a second SAVE_BUFFER before BUFFER_SAVED")
        need(self.wraps is None or wraps == self.wraps, "wrap count", wraps, "and not", self.wraps)
        need(wraps < header.wraps <= latest, "the header's wrap count is", header.wraps, "at request", wraps)
        need(end % 8 == 0 and self.durable_asked <= end <= header.durable_end, "durable end", end)
        self.durable_asked, self.wraps, self.outstanding = end, wraps + 1, (wraps, end)

    durable_asked = 0
    is_late = False             # it was told to stop before it had answered START, and need not answer that

    def hear_ending(self, data32, data64, text, descriptors):
        need(self.waits and (data32, data64, text, descriptors) == (0, 0, b"", []), "ENDING")

    def hear_muted(self, data32, data64, text, descriptors):
        need(self.has_filters and (data32, data64, text, descriptors) == (0, 0, b"", []), "MUTED")

    def hear_alert(self, data32, data64, text, descriptors):
        name = text.rstrip(b"\0")
        need((self.has_trigger if name == b"access" else self.has_signal and name == b"signal") and
             len(text) == 14 and not descriptors, "ALERT", text)

    waits = has_trigger = has_signal = has_filters = False
    sessions = ()

    def end(self):
        if self.state == "recording":
            self.windows[-1].over_ns = now_ns()
        self.state = "ended"
        if self.memory:
            self.header()

    # -- The memory ----------------------------------------------------------------------------------

    def map(self, descriptor, size):
        need(fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & SEALS == SEALS, "the memory is not sealed")
        need(os.fstat(descriptor).st_size == size, "another size than said:", size)
        need(self.limit < 0 or size <= self.limit, "the memory is larger than a file may be:", size)
        self.memory = mmap.mmap(descriptor, size)

    def header(self):
        """Returns the header, which has to be right at every moment."""
        h = Header(*HEADER.unpack_from(self.memory))
        need((h.magic, h.version, h.reserved1, h.total) == (MAGIC, 0, 0, len(self.memory)), h)
        need(h[12:19] == (0,) * 7 and h.end0 == h.end1 == 0, "reserved words", h)
        need(h.mode <= STREAMING and h.durable_bytes % 8 == 0, h)
        need(h.chunks % 2 == 0 and 2 * h.rolling_bytes == h.chunks * h.chunk, "rolling buffers", h)
        need(h.table + 4 * h.chunks <= h.durable <= h.rolling - h.durable_bytes, "offsets", h)
        need(h.rolling + 2 * h.rolling_bytes == h.total, "the end of the rolling buffers", h)
        need(h.counters % 8 == h.counters_bytes % 8 == h.durable_end % 8 == 0, h)
        need(h.counters + h.counters_bytes <= h.durable_end <= h.durable_bytes, "the durable end", h)
        need(self.durable_end <= h.durable_end, "the durable end goes back", h)
        need(self.dropped <= h.dropped, "the dropped records get fewer", h)
        self.durable_end, self.dropped = h.durable_end, h.dropped
        return h

    def entry(self, chunk):
        return struct.unpack_from("=I", self.memory, self.header().table + 4 * chunk)[0]

    def put_entry(self, chunk, value):
        struct.pack_into("=I", self.memory, self.header().table + 4 * chunk, value)

    def put32(self, at, value):
        struct.pack_into("=I", self.memory, at, value)

    def walk(self, at, end):
        """Returns the records between two places, but fillers, and where the last one ends. The program may
        be writing there, so a record is copied only when its header says that it is there."""
        records, last = [], at
        while at < end:
            header, = struct.unpack_from("=Q", self.memory, at)
            size = 8 * (header >> 4 & 0xfff)
            need(size and at + size <= end, f"a record of {size} bytes at {at}, before {end}: {header:#x}")
            if header & 0xf:
                records.append(self.memory[at:at + size])
                last = at + size
            elif header >> 16 & 0xf != 15:
                last = at + size
            at += size
        return records, last

    def keep_durable(self):
        h = self.header()
        behind = h.counters + h.counters_bytes
        for low, high in ((self.durable_saved, min(h.durable_end, h.counters)),
                          (max(self.durable_saved, behind), h.durable_end)):
            if low < high:
                self.archive += self.walk(h.durable + low, h.durable + high)[0]
        self.durable_saved = h.durable_end

    def save_chunk(self, chunk, frees):
        """Keeps what a chunk has and was not kept yet. In circular mode it may be emptied meanwhile."""
        h = self.header()
        entry = self.entry(chunk)
        at, turn = h.rolling + chunk * h.chunk, entry >> 8
        if entry & 255 not in (HELD, FULL):
            return
        kept = self.saved.get((chunk, turn), 0)
        try:
            records, last = self.walk(at + kept, at + h.chunk)
        except Fault:
            if self.entry(chunk) >> 8 == turn:
                raise
            return
        if self.entry(chunk) >> 8 != turn:
            return
        self.keep_durable()
        self.archive += records
        self.saved[chunk, turn] = last - at
        if frees and entry & 255 == FULL and self.entry(chunk) == entry:
            self.put_entry(chunk, entry & ~255 | (SAVED if self.mode == CIRCULAR else FREE))

    def save(self, rnd=None):
        """Answers the request that is outstanding."""
        wraps, end = self.outstanding
        half = self.header().chunks // 2
        for chunk in range((wraps & 1) * half, (wraps & 1) * half + half):
            if self.entry(chunk) & 255 == FULL:
                self.save_chunk(chunk, True)
        self.outstanding = None
        if rnd:
            self.put32(GRANTED, rnd.choice((0, 2, 4, 16, half)))
        self.put32(SAVES, self.header().saves + 1)
        self.send(BUFFER_SAVED, wraps, end)

    def save_all(self, frees=False):
        self.keep_durable()
        for chunk in range(self.header().chunks):
            self.save_chunk(chunk, frees)

    def clear(self):
        """Takes what is recorded for saved, and what a thread appends to the chunk that it has: it turns to
        another one at the next start, but a program that was not waited for may not have stopped yet."""
        h = self.header()
        for chunk in range(h.chunks):
            entry = self.entry(chunk)
            if entry & 255 in (HELD, FULL):
                self.saved[chunk, entry >> 8] = h.chunk
            if entry & 255 == FULL:
                self.put_entry(chunk, entry & ~255 | (SAVED if self.mode == CIRCULAR else FREE))

    lost = 0

    def finish(self):
        """Saves what comes last: calls in progress, and the counts of losses. Begins a new archive."""
        self.save_all(self.mode != CIRCULAR)
        h = self.header()
        self.keep_durable()
        for chunk in range(h.chunks):
            if self.entry(chunk) & 255 == PAGES:
                at = h.rolling + chunk * h.chunk
                self.archive += self.walk(at, at + h.chunk)[0]
        self.archive += self.walk(h.durable + h.counters, h.durable + h.counters + h.counters_bytes)[0]
        self.lost = losses(self.archive)
        whole = self.whole()
        self.archive, self.durable_saved = [], 0
        return whole

    def whole(self):
        """Returns what was kept, as it stands in an archive."""
        name = self.name.ljust((len(self.name) + 7) // 8 * 8, b"\0")
        info = 1 << 16 | 1 + len(name) // 8 << 4 | self.number << 20 | len(self.name) << 52
        return struct.pack("=Q", info) + name + b"".join(self.archive)
