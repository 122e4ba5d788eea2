"""Checks fxt serve as a provider and a controller see it, against the documents of the packets and of
fuchsia.tracing.controller. It runs fxt serve itself, in the current directory.

    protocol.py                     each rule alone
    protocol.py SEED SESSIONS       so many random sessions of a controller and a provider that keep a model

The provider and the controller are those of model_provider.py and of tests/e2e/controller.py, which know
nothing of fxt serve but the documents and writer/provider.h.
"""
import importlib.util
import os
import random
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import model_provider as model
from model_provider import (ALERT, BUFFER_SAVED, DROPPED, FULL, INITIALIZE, INITIALIZED, PACKET, REGISTER,
                            REGISTERED, SAVE_BUFFER, START, STARTED, STOP, STOPPED, TERMINATE, WRAPPED, words)

spec = importlib.util.spec_from_file_location(
    "controller", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e/controller.py"))
controller = importlib.util.module_from_spec(spec)
spec.loader.exec_module(controller)
need = controller.need
FXT = os.environ["FXT"]
FULL_EVENT = 3 << 16 | 1 << 4


class Serve:
    def __init__(self, *options):
        for path in "socket", "o.fxt":
            if os.path.exists(path):
                os.unlink(path)
        if "--wait" not in options:
            options = ("-o", "o.fxt", *options)
        self.process = subprocess.Popen([FXT, "serve", "--socket=socket", *options], stderr=subprocess.PIPE,
                                        text=True)
        self.said = ""
        if "-q" not in options:
            self.said = self.process.stderr.readline() + self.process.stderr.readline()
        while not self.answers():
            time.sleep(0.01)

    def answers(self):
        """Returns whether somebody serves at the socket."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as end:
            return end.connect_ex("socket") == 0

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.said += self.process.stderr.read()
        need(self.process.wait() == 0, f"fxt serve has failed: {self.said}")
        return self.said


class Raw(model.Provider):
    """A provider that sends what it is told to, and nothing by itself but REGISTER."""

    def __init__(self, name=b"raw", mode=None):
        self.rnd, self.name, self.pid = random.Random(1), name.decode(), os.getpid()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(20)
        self.socket.connect("socket")
        self.send(REGISTER, 1, self.pid, name)
        message, descriptors, _, _ = socket.recv_fds(self.socket, 4096, 1)
        _, _, self.page, _ = PACKET.unpack(message[:PACKET.size])
        os.close(descriptors[0])
        self.lanes, self.units, self.cursor, self.passes, self.saved, self.dropped = {}, {}, 0, 0, 0, 0
        self.strings, self.ticks, self.slots, self.memory = 0, 1000, [], None

    def send(self, request, data32=0, data64=0, more=b"", reserved=0, descriptor=None):
        message = PACKET.pack(request, reserved, data32, data64) + more
        if descriptor is None:
            self.socket.send(message)
        else:
            socket.send_fds(self.socket, [message], [descriptor])

    def initialized(self, numbered=True):
        """Answers INITIALIZE; returns what it has said of the size."""
        request, reserved, data32, data64 = self.receive()[:4]
        need(request == INITIALIZE and not reserved, f"INITIALIZE: {request:#x}, reserved {reserved}")
        self.mode, session = data32 & 0xff, data64 >> 48
        descriptor = None
        if not self.memory:
            self.make_memory()
            self.prologue()
            descriptor = self.descriptor
        self.send(INITIALIZED, self.page, len(self.memory) | (session << 48 if numbered else 0),
                  descriptor=descriptor)
        return data64 & (1 << 48) - 1

    def receive(self):
        message = self.socket.recv(4096)
        need(len(message) >= PACKET.size, "fxt serve has closed the connection")
        return (*PACKET.unpack(message[:PACKET.size]), message[PACKET.size:])

    def expect(self, request):
        got = self.receive()
        need(got[0] == request and not got[1], f"{got[0]:#x} came, and {request:#x} is what should")
        return got

    def begin(self, **how):
        self.initialized(**how)
        self.expect(START)
        self.send(STARTED, 1)

    def event(self, chunk, name, state=FULL):
        """Fills a chunk with one event."""
        self.begin_chunk(chunk, name, state)

    def begin_chunk(self, chunk, name, state):
        number = self.string(name)
        super().begin(chunk)
        record = words(4 | 2 << 4 | 1 << 24 | self.category << 32 | number << 48, self.ticks)
        rest = (model.CHUNK_BYTES - 8 - len(record)) // 8
        self.put(self.base(chunk) + len(record), words(model.filler(rest)))
        self.put(self.base(chunk), record)
        self.entry(chunk, self.entry(chunk) & ~0xff | state)

    def is_closed(self):
        try:
            while self.socket.recv(4096):
                pass
        except ConnectionResetError:
            pass
        return True


def archive(path="o.fxt"):
    with open(path, "rb") as file:
        return file.read()


def refused(what, *packets):
    """A provider that does this is closed; what it had recorded before is in the archive."""
    serve = Serve("-q")
    one = Raw()
    one.begin()
    one.event(0, b"before the fault")
    for packet in packets:
        one.send(*packet)
    need(one.is_closed(), what)
    serve.end()
    need(b"before the fault" in archive(), f"{what}: what was recorded before")


def packets():
    for numbered in (True, False):
        serve = Serve()
        one = Raw()
        one.begin(numbered=numbered)
        one.event(0, b"an event")
        one.send(SAVE_BUFFER, 0, one.durable_end)
        need(one.expect(BUFFER_SAVED)[2:4] == (0, one.durable_end), "the values of the request")
        one.event(1, b"another event")
        one.send(SAVE_BUFFER, 1, one.durable_end)
        one.expect(BUFFER_SAVED)
        said = serve.end()
        need(archive().count(b"an event") == 1 and "nothing lost" in said, said)
    refused("INITIALIZED with something in `reserved`",
            (INITIALIZED, 0, 1 << 20, b"", 1))
    refused("a wrap count that is not the next", (SAVE_BUFFER, 7, 0))
    refused("a wrap count that comes twice", (SAVE_BUFFER, 0, 0), (SAVE_BUFFER, 0, 0))
    refused("a wrap count that is left out", (SAVE_BUFFER, 0, 0), (SAVE_BUFFER, 2, 0))
    refused("an end behind the durable area", (SAVE_BUFFER, 0, 1 << 40))
    refused("an end behind what was written", (SAVE_BUFFER, 0, model.Provider.DURABLE_BYTES))
    refused("an end within a word", (SAVE_BUFFER, 0, 13))


def unknown_version():
    """Nothing is known of the memory of a provider of another version."""
    serve = Serve()
    # The second provider of a process ends the first.
    good = Raw(b"good")
    good.begin()
    good.event(0, b"of the good one")
    bad = Raw(b"bad")
    bad.initialized()
    bad.expect(START)
    bad.event(0, b"of the bad one")
    # The answer to a buffer has to wait for the version.
    bad.send(SAVE_BUFFER, 0, bad.durable_end)
    bad.send(STARTED, 2)
    need(bad.is_closed(), "another version of the packets")
    said = serve.end()
    need(b"of the good one" in archive() and b"of the bad one" not in archive(), "an unknown version's data")
    need("nothing lost" not in said and "unknown what 1 program lost" in said, said)


def never_started():
    """A provider is over before it has begun to record: it has no part, and nobody says that nothing is lost,
    unless it has recorded and was about to say so."""
    serve = Serve()
    good = Raw(b"good")
    good.begin()
    good.event(0, b"of the good one")
    for name, records in (b"unstarted", False), (b"about to", True):
        one = Raw(name)
        one.initialized()
        one.expect(START)
        if records:
            one.event(0, b"an early event")
        one.socket.close()
    said = serve.end()
    need(b"unstarted" not in archive(), "a part of a provider that has not begun")
    need(b"of the good one" in archive() and b"an early event" in archive(), "what was recorded")
    need("nothing lost" not in said and "unknown what 1 program lost" in said, said)


def early_save():
    """A provider records before it says that it does."""
    serve = Serve("-q")
    one = Raw()
    one.initialized()
    one.expect(START)
    one.event(0, b"an early event")
    one.send(SAVE_BUFFER, 0, one.durable_end)
    one.send(STARTED, 1)
    need(one.expect(BUFFER_SAVED)[2:4] == (0, one.durable_end), "BUFFER_SAVED")
    serve.end()
    need(archive().count(b"an early event") == 1, "an early event")


def events():
    """A provider event keeps its number. Of losses that only the manager knows, it writes one itself."""
    serve = Serve()
    one = Raw()
    one.begin()
    one.append_durable(words(FULL_EVENT | 33 << 20 | 5 << 52), False)
    one.put(DROPPED, words(0))
    two = Raw(b"two")
    two.begin()
    two.put(DROPPED, words(77))
    three = Raw(b"three")
    three.begin()
    three.put(DROPPED, words(1))
    three.append_durable(words(FULL_EVENT | 33 << 20), False)
    three.event(0, b"an event")
    said = serve.end()
    data, found = archive(), []
    at = 8
    while at < len(data):
        header = int.from_bytes(data[at:at + 8], "little")
        if header & 0xfffff == FULL_EVENT:
            found.append(header >> 52 & 15)
        at += 8 * (header >> 4 & 0xfff)
    need(sorted(found) == [0, 0, 5], f"the provider events are {found}")
    need("78 records LOST" in said, said)


# -- With a controller ------------------------------------------------------------------------------

class Controlled:
    def __init__(self, **config):
        self.serve = Serve("--wait", "-q")
        self.one = controller.Controller("socket")
        if os.path.exists("o.fxt"):
            os.unlink("o.fxt")
        self.one.initialize({"start_timeout_milliseconds": 20000, **config}, "o.fxt")

    def start(self, provider, **options):
        started = self.one.send("start_tracing", options)
        if not provider.memory:
            provider.wanted = provider.initialized()
        provider.begun = provider.expect(START)
        provider.send(STARTED, 1)
        need("result" in self.one.wait(started), "start_tracing")

    def stop(self, provider, **options):
        stopped = self.one.send("stop_tracing", options)
        provider.expect(STOP)
        provider.send(STOPPED)
        return self.one.wait(stopped)["result"]["provider_stats"][0]

    def end(self):
        result = self.one.result("terminate")
        self.serve.end()
        return result


def hints():
    for hint, wanted in (0, 0), (1, 1 << 20), (4096, 1 << 32), (4097, 1 << 32), (4000000000, 1 << 32):
        run = Controlled(buffer_size_megabytes_hint=hint, categories=["no-such-category", "io"],
                         provider_specs=[{"name": "special", "buffer_size_megabytes_hint": 0},
                                         {"name": "other", "categories": ["x"]}])
        one = Raw()
        run.start(one, additional_categories=["un-known", "time"])
        need(one.wanted == wanted, f"a hint of {hint}: {one.wanted} bytes")
        need(one.begun[4] == b"un-known,time", one.begun)
        run.stop(one)
        run.end()
    run = Controlled(provider_specs=[{"name": "special", "buffer_size_megabytes_hint": 0}])
    one = Raw(b"special")
    run.start(one)
    need(one.wanted == 0, f"the special one: {one.wanted}")
    run.stop(one)
    run.end()


def deferred():
    """Only in streaming mode there is a transfer that could be deferred."""
    for mode in ("oneshot", "circular", "streaming"):
        run = Controlled(buffering_mode=mode, defer_transfer=True)
        one = Raw()
        run.start(one)
        one.event(0, b"an event")
        run.stop(one, write_results=True)
        size = os.path.getsize("o.fxt")
        need((size == 0) == (mode == "streaming"), f"{mode}: {size} bytes at the stop")
        run.end()
        need(archive().count(b"an event") == 1, mode)


def statistics():
    """ProviderStats are those of this moment."""
    for mode in ("oneshot", "circular", "streaming"):
        run = Controlled(buffering_mode=mode)
        one = Raw()
        run.start(one)
        half = one.CHUNKS // 2
        for turn in range(4 if mode == "circular" else 1):
            for chunk in range(half if mode == "streaming" else one.CHUNKS):
                one.event(chunk, b"of turn %d" % turn)
        if mode == "streaming":
            one.put(WRAPPED, b"\x01\0\0\0")
            one.send(SAVE_BUFFER, 0, one.durable_end)
            one.expect(BUFFER_SAVED)
            one.event(half, b"of the other half")
        one.put(DROPPED, words(5))
        said = run.stop(one)
        wraps = {"oneshot": 0, "circular": (4 * one.CHUNKS - 1) // half, "streaming": 1}[mode]
        written = {"oneshot": 16 * one.CHUNKS, "streaming": 16 * (half + 1),
                   "circular": 3 * one.CHUNKS * model.CHUNK_BYTES + 16 * one.CHUNKS}[mode]
        need(said["buffering_mode"] == mode.upper() and said["records_dropped"] == 5, said)
        need(said["buffer_wrapped_count"] == wraps, f"{said}: {wraps} wraps")
        need(said["non_durable_bytes_written"] == written, f"{said}: {written} bytes")
        used = 100 * one.durable_end / one.DURABLE_BYTES
        need(abs(said["percentage_durable_buffer_used"] - used) < 0.01, said)
        # What the provider drops while it does not answer is told as well.
        started = run.one.send("start_tracing", {})
        one.expect(START)
        one.send(STARTED, 1)
        need("result" in run.one.wait(started), "start_tracing")
        one.put(DROPPED, words(1234))
        said = run.one.result("stop_tracing")["provider_stats"][0]
        need(said["records_dropped"] == 1234, f"{said}: 1234 dropped")
        one.put(DROPPED, words(2345))
        said = run.end()
        need(said["records_dropped"] == 2345, said)


# -- Random sessions --------------------------------------------------------------------------------

class Session:
    """A session of a provider, with a model of its states, statistics and trace."""

    def __init__(self, one, provider, rnd):
        self.one, self.provider, self.rnd = one, provider, rnd
        self.mode = rnd.choice(("oneshot", "circular", "streaming"))
        self.kept, self.unsaved, self.overwritten, self.saved_bytes = [], {}, 0, 0
        self.written_before, self.wraps, self.was_saved = 0, 0, False
        if os.path.exists("o.fxt"):
            os.unlink("o.fxt")
        one.initialize({"buffering_mode": self.mode, "defer_transfer": rnd.random() < 0.5,
                        "buffer_size_megabytes_hint": rnd.choice((0, 1, 64, 5000)),
                        "start_timeout_milliseconds": 20000}, "o.fxt")
        self.begun, self.dropped_before = False, None

    def hear(self, wanted):
        """Answers what fxt serve says, until it is what was wanted."""
        while True:
            request, reserved, data32, data64, _ = self.provider.receive()
            need(not reserved, f"{request:#x}: reserved is {reserved}")
            if request == INITIALIZE:
                self.provider.mode = data32 & 0xff
                number = data64 >> 48 if self.rnd.random() < 0.5 else 0
                descriptor = None
                if not self.provider.memory:
                    self.provider.make_memory()
                    self.provider.prologue()
                    descriptor = self.provider.descriptor
                self.dropped_before, self.wraps = self.provider.dropped, 0
                self.provider.send(INITIALIZED, self.provider.page,
                                   len(self.provider.memory) | number << 48, descriptor=descriptor)
            elif request == START:
                self.provider.send(STARTED, 1)
            elif request == STOP:
                self.provider.send(STOPPED)
            if request == wanted:
                return

    def start(self):
        how = self.rnd.choice(("RETAIN", "CLEAR_ENTIRE", "CLEAR_NONDURABLE"))
        number = self.one.send("start_tracing", {"buffer_disposition": how})
        self.hear(START)
        need("result" in self.one.wait(number), "start_tracing")
        need(self.one.error("start_tracing") == "ALREADY_STARTED", "a second start")
        if how != "RETAIN" or self.was_saved:
            self.unsaved = {}

    def record(self):
        provider, half = self.provider, self.provider.CHUNKS // 2
        for _ in range(self.rnd.randrange(3 * provider.CHUNKS)):
            first = provider.passes % 2 * half if self.mode == "streaming" else 0
            usable = range(first, first + half) if self.mode == "streaming" else range(provider.CHUNKS)
            free = [c for c in usable if provider.entry(c) & 0xff in (model.FREE, model.SAVED)]
            if not free and self.mode == "oneshot":
                provider.dropped += 1
                provider.put(DROPPED, words(provider.dropped))
                continue
            if not free and self.mode == "streaming":
                provider.put(WRAPPED, (provider.passes + 1).to_bytes(4, "little"))
                provider.send(SAVE_BUFFER, provider.passes, provider.durable_end)
                self.hear(BUFFER_SAVED)
                provider.passes += 1
                self.wraps += 1
                self.kept += self.unsaved.values()
                self.saved_bytes += 16 * len(self.unsaved)
                self.unsaved = {}
                continue
            chunk = self.rnd.choice(free or list(usable))
            self.overwritten += chunk in self.unsaved
            provider.ticks += 1
            self.unsaved[chunk] = b"event %d." % provider.ticks
            provider.event(chunk, self.unsaved[chunk])

    def stop(self):
        writes = self.rnd.random() < 0.5
        number = self.one.send("stop_tracing", {"write_results": writes})
        if self.rnd.random() < 0.8:
            self.hear(STOP)
        said = self.one.wait(number)["result"]["provider_stats"][0]
        need(self.one.error("stop_tracing") == "NOT_STARTED", "a second stop")
        self.was_saved = writes or self.mode == "streaming"
        dropped = self.provider.dropped - self.dropped_before
        written = self.saved_bytes + 16 * len(self.unsaved) + self.overwritten * model.CHUNK_BYTES
        need(said["records_dropped"] == dropped, f"{said}: {dropped} dropped")
        need(said["non_durable_bytes_written"] == written, f"{said}: {self.mode}, {written} bytes")
        if self.mode != "circular":
            need(said["buffer_wrapped_count"] == self.wraps, f"{said}: {self.wraps} wraps")
        if self.was_saved:
            self.kept += self.unsaved.values()
            self.saved_bytes += 16 * len(self.unsaved)
            self.unsaved = {}

    def end(self):
        number = self.one.send("terminate")
        self.hear(TERMINATE)
        said = self.one.wait(number)["result"]
        need(said["records_dropped"] == self.provider.dropped - (self.dropped_before or 0), said)
        need(self.one.state() == "READY", "the state in the end")
        self.kept += self.unsaved.values()
        data = archive()
        names = {b"event %d." % tick for tick in range(1001, self.provider.ticks + 1)}
        # The strings of the provider are in each archive; its events tell which were recorded.
        at, strings, found = 8, {}, []
        while at < len(data):
            header = int.from_bytes(data[at:at + 8], "little")
            size = 8 * (header >> 4 & 0xfff)
            if header & 15 == 2:
                strings[header >> 16 & 0x7fff] = data[at + 8:at + 8 + (header >> 32 & 0x7fff)]
            elif header & 0xf000f == 4 and size == 16:
                found.append(strings[header >> 48])
            at += size
        found = [name for name in found if name in names]
        need(sorted(found) == sorted(self.kept), f"{self.mode}: {len(found)} events, not {len(self.kept)}")


def sessions(seed, rounds):
    rnd, provider = random.Random(seed), None
    serve = Serve("--wait", "-q")
    for _ in range(int(rounds)):
        # A provider that has used up its strings is followed by another one.
        if not provider or provider.strings > 8000 or rnd.random() < 0.1:
            provider = Raw()
        one = controller.Controller("socket")
        need(one.error("start_tracing") == "NOT_INITIALIZED", "a start without a session")
        session = Session(one, provider, rnd)
        for _ in range(rnd.randrange(1, 4)):
            session.start()
            session.record()
            session.stop()
        session.end()
        one.socket.close()
    serve.end()
    print(f"{rounds} sessions, seed {seed}")


RULES = (packets, unknown_version, never_started, early_save, events, hints, deferred, statistics)

if __name__ == "__main__":
    if len(sys.argv) == 3:
        sessions(sys.argv[1], sys.argv[2])
    else:
        for rule in RULES:
            rule()
        print(f"{len(RULES)} rules")
