"""Checks the agent against a model of the protocol: a manager that behaves at random, and now and then
wrongly, and a program with threads, forks and executed programs, which does what it does untraced.

    random_manager.py SEED SESSIONS [FIRST]

The program is tests/apps/rounds. A session is one life of it. What it prints, and how it ends, follow from
the lines that it is given. Every message and the header of every memory are compared with the model at every
step (seen_provider.py), and in the end the calls that the program noted with those in the traces.
"""
import collections
import os
import random
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import seen_provider as seen
from rounds_program import EXIT_STATUS, Program, compare, compare_files, noted
from seen_provider import (ALL_SAVED, BUFFER_SAVED, CIRCULAR, CLEAR_ENTIRE, CLEAR_NONDURABLE, INITIALIZE,
                           INITIALIZED, ONESHOT, PAGE, REGISTERED, RETAIN, SAVE_BUFFER, SESSION_SHIFT, START,
                           STARTED, STOP, STOPPED, STREAMING, TERMINATE, WAITS, Window, need, now_ns)

AGENT = os.environ["FXT_AGENT"]
PATIENCE, F_ADD_SEALS = 30, 1033        # seconds that the program may need for anything
# Whoever is to record calls has `io` in its list.
ONLY_IO = (b"io", b"io,no-such-category", b"i*", b"io," + b"x" * 3000)
LISTS = (*ONLY_IO, b"#default,-malloc", b"io pthread", b"-malloc,-counter", b"io,,time")


def has_hung_up(connection):
    poll = select.poll()
    poll.register(connection, 0)
    return any(events & select.POLLHUP for _, events in poll.poll(0))


class Session:
    def __init__(self, rnd, name):
        self.rnd, self.log, self.providers, self.next = rnd, [], [], 1
        os.mkdir(name)
        os.chdir(name)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind("side")
        self.listener.listen(1000)
        self.listener.setblocking(False)
        self.gates_fd = os.memfd_create("gates", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.gates_fd, 64 * PAGE)
        seen.fcntl.fcntl(self.gates_fd, F_ADD_SEALS, seen.SEALS)
        self.gates = seen.mmap.mmap(self.gates_fd, 64 * PAGE)
        self.gates[:4] = struct.pack("=I", os.getpid())
        self.number = rnd.randrange(1, 1 << 16)         # of the session
        self.mode, self.waits = STREAMING, False
        self.archives, self.parts, self.begins_saved = [], [], False
        self.answer_saves, self.is_gone = True, False
        self.wakes, self.told_to_start = collections.Counter(), set()
        environment = {**os.environ, "LD_PRELOAD": AGENT, "FXT_MANAGER": os.path.abspath("side"),
                       "FXT_QUIET": "1", "FXT_OUTPUT": os.path.abspath("beside.%p.fxt")}
        self.has_trigger = rnd.random() < 0.15
        if self.has_trigger:
            environment["FXT_TRIGGER"] = "access>1ns"
        # The memory is no larger than files may be.
        self.limit = rnd.choice((2 << 20, 9 << 20)) if rnd.random() < 0.2 else resource.RLIM_INFINITY
        self.environment, self.program = environment, None

    def launch(self):
        self.program = Program(self.environment, self.rnd.randrange(1, 6), self.limit)

    def note(self, *what):
        self.log.append((round(time.monotonic(), 4), *what))

    # -- Listening -----------------------------------------------------------------------------------

    def pump(self, until, seconds=PATIENCE, may_fail=False):
        """Hears what is said until the condition holds."""
        end = time.monotonic() + seconds
        while not until():
            left = end - time.monotonic()
            if left <= 0:
                need(may_fail, "nothing happens any more")
                return False
            self.hear_ready(left)
        return True

    def hear_ready(self, seconds):
        """Waits until something can be heard, and hears it. Returns whether there was anything."""
        live = {p.connection: p for p in self.providers if p.state != "ended" and not self.is_gone}
        ends = [*([] if self.program.is_over else [self.program.process.stdout]), *live]
        if not self.is_gone:
            ends.append(self.listener)
        poll, by_number = select.poll(), {end.fileno(): end for end in ends}
        for end in ends:
            poll.register(end, select.POLLIN)
        ready = [by_number[number] for number, _ in poll.poll(seconds * 1000)]
        for end in ready:
            if end is self.listener:
                self.accept()
            elif end is self.program.process.stdout:
                if not self.program.read():
                    self.program.is_over = True
                    need(self.is_quitting, "the program has ended:", self.program.process.wait())
            elif end in live and live[end].state != "ended":
                self.hear(live[end])
        return ready

    def accept(self):
        try:
            connection, _ = self.listener.accept()
        except BlockingIOError:
            return False
        connection.settimeout(PATIENCE)
        self.providers.append(seen.Seen(connection, self.next, self.log))
        new = self.providers[-1]
        new.has_trigger, new.limit, new.has_filters = self.has_trigger, self.limit, self.has_filters
        new.has_signal = "FXT_SIGNAL" in self.environment
        self.next += 1
        return True

    def hear(self, p):
        if p.state == "new" and p.peek() == INITIALIZED:
            self.helped(p)
            return
        # What a helper has said on a connection of its own comes first.
        if p.state == "waits" and p.owed[INITIALIZED] and p.peek() == STARTED:
            while self.accept():
                pass
            for new in self.live("new"):
                self.hear(new)
        was = p.state
        request = p.receive()
        if request == seen.REGISTER:
            self.registered(p)
        elif request == seen.FORKED:
            self.forked(p)
        elif request == SAVE_BUFFER and self.answer_saves:
            p.save(self.rnd)
        elif request == seen.ENDING:
            p.save_all(True)
            p.send(ALL_SAVED)
        elif request == STARTED:
            self.close_gate(p)
        elif request == STOPPED and p.state == "stopped":
            self.stopped(p)
        elif request is None and was != "ended":
            self.ended(p, was != "waits")

    def helped(self, helper):
        """A helper of a provider hands the memory over, and has nothing else to say."""
        # Another child may have had the same number before.
        token, koid = helper.peeked[16:32], helper.peeked[32:36]
        known = [p for p in self.providers if p.koid and koid == struct.pack("=I", p.koid) and
                 token in p.tokens]
        whose = [p for p in known if p.state != "ended"]
        # A provider may be over before its helper is heard.
        need(known and len(whose) <= 1, "a helper of nobody:", helper.peeked)
        if whose:
            own, whose[0].connection = whose[0].connection, helper.connection
            whose[0].receive(True)
            whose[0].connection = own
        helper.state = "ended"
        helper.connection.close()

    def registered(self, p):
        """Answers a program that is new. A later one than the first is in the session at once, or waits."""
        p.page, p.sessions, p.waits = self.page(), {self.number}, self.waits
        if self.refuses:
            self.refuse(p)
            return
        joins = self.is_open and (self.is_started or self.rnd.random() < 0.5)
        p.tokens = {b"token %9d." % p.number}
        p.send(REGISTERED, p.page, 1 if joins else 0, *p.tokens, descriptor=self.gates_fd)
        if joins:
            self.initialize(p)
            if self.is_started:
                self.start(p)

    is_open = is_started = is_quitting = False        # there is a session, and it is started

    def refuse(self, p):
        """Does something that makes the program go on without a manager, a second later at most."""
        how = self.rnd.choice(("end", "nothing", "short", "no pages", "far page", "mode", "unknown",
                               "no start"))
        self.note("refuse", how)
        self.is_gone = how != "unknown"
        if how == "short":
            p.connection.send(b"12345678")
        elif how == "no pages":
            p.send(REGISTERED, p.page, 1, b"0" * 16)
        elif how == "far page":
            p.send(REGISTERED, 64, 1, b"0" * 16, descriptor=self.gates_fd)
        elif how == "mode":
            p.send(INITIALIZE, 7, 1 << 20, b"io")
        elif how == "no start":
            p.send(REGISTERED, p.page, 1 | 2, *p.tokens, descriptor=self.gates_fd)
            p.send(INITIALIZE, STREAMING, 1 << 20 | self.number << SESSION_SHIFT, b"io")
        elif how == "end":
            p.connection.close()
        # Nothing of this is what the program waits for.
        if how == "unknown":
            self.tell("r 1")
        while how == "unknown" and not noted():
            need(len(self.log) < 1000, "the program waits for ever")
            p.send(0x77)
            time.sleep(0.05)
        self.is_gone = True
        self.listener.close()

    refuses = has_filters = False

    def leave(self):
        """The manager is gone, with what it has saved. What had ended before was saved."""
        self.settle()
        for _ in range(100):
            if not self.hear_ready(0):
                break
        for p in self.live("recording", "stopped", "initialized", "waits"):
            # One that does not rest may just have ended: it has not noticed that the manager goes.
            while p.state != "ended" and has_hung_up(p.connection):
                self.hear(p)
            if p.state == "ended":
                continue
            if p.memory:
                self.parts.append(p.whole())
            p.connection.close()
        self.note("leaves")
        self.listener.close()
        self.gates[:4] = struct.pack("=I", self.rnd.choice((0, seen.DIED | os.getpid())))
        self.is_gone = True

    def page(self):
        self.pages = self.pages % 63 + 1
        return self.pages

    pages = 0

    def forked(self, p):
        p.sessions, p.waits, p.tokens = {self.number}, self.waits, self.tokens_of(p)
        if p.state == "waits":
            # Its parent waits: what it needs to know follows.
            if self.is_open:
                self.initialize(p)
                if self.is_started:
                    self.start(p)
            return
        need(p.mode == self.mode or not self.is_open or p.session != self.number, "a child in mode", p.mode)
        if not (self.is_started and p.session == self.number):
            self.stop(p)

    def tokens_of(self, child):
        """Returns the tokens of those whose child it may be. Pages are used again, so there may be more."""
        return set().union(*(p.tokens for p in self.providers if p.page == child.page))

    # -- What a manager does -------------------------------------------------------------------------

    def open_gate(self, p):
        if not p.page:
            return
        self.wakes[p.page] += 1
        p.woken = getattr(p, "woken", 0) + 1
        self.gates[p.page * PAGE:p.page * PAGE + 4] = b"\xff" * 4

    def close_gate(self, p):
        if not p.page:
            return
        self.wakes[p.page] -= getattr(p, "woken", 0)
        p.woken = 0
        if self.wakes[p.page] <= 0:
            self.gates[p.page * PAGE:p.page * PAGE + 4] = bytes(4)

    def enter(self, p):
        """A program is in the session. Its answer to an earlier one may be under way."""
        p.sessions, p.waits = {self.number, *(p.sessions if p.owed[INITIALIZED] else ())}, self.waits

    def initialize(self, p):
        if p.memory:
            p.wraps = None
            p.clear()
        p.mode, p.session, p.owed[INITIALIZED] = self.mode, self.number, p.owed[INITIALIZED] + 1
        self.told_to_start.discard(p)
        size = self.rnd.choice((0, 1, 65536, 1 << 20, 1 << 20, 3 << 20, 64 << 20))
        p.send(INITIALIZE, self.mode | (WAITS if self.waits else 0), size | self.number << SESSION_SHIFT,
               self.categories)
        self.open_gate(p)

    def start(self, p):
        how = self.rnd.choice((CLEAR_ENTIRE, CLEAR_NONDURABLE, RETAIN))
        if p.memory and p.windows and how != RETAIN and not self.begins_saved:
            p.clear()
            for window in p.windows:
                window.is_cleared = window.is_cleared or window.session == self.number
        more = self.rnd.choice((b"", b"", b"time", b"un-known,pthread", b"time -pthread"))
        p.windows.append(Window(now_ns(), self.number, not more and self.categories in ONLY_IO))
        p.owed[STARTED] += 1
        self.told_to_start.add(p)
        p.send(START, how, 1 if self.begins_saved else 0, more)
        self.open_gate(p)

    def stop(self, p, request=STOP):
        if p.windows and not p.windows[-1].stopping_ns:
            p.windows[-1].stopping_ns = now_ns()
        p.owed[STOPPED] += 1
        self.told_to_start.discard(p)
        p.is_late = p.owed[STARTED] > 0 and p.state != "recording"
        p.send(request)

    def stopped(self, p):
        self.close_gate(p)
        if p.outstanding:
            p.save(self.rnd)

    def ended(self, p, has_session):
        if p.windows and not p.windows[-1].stopping_ns:
            p.windows[-1].stopping_ns = p.windows[-1].over_ns
        self.close_gate(p)
        if p.memory and has_session:
            self.parts.append(p.finish())
        p.connection.close()
        p.memory = None

    def hold(self):
        """Answers no SAVE_BUFFER for a while."""
        self.answer_saves = self.waits or self.mode != STREAMING
        self.work()
        self.work()
        if self.rnd.random() < 0.5:
            self.release()

    def release(self):
        self.answer_saves = True
        for p in self.live("recording", "stopped"):
            if p.outstanding:
                p.save(self.rnd)

    def live(self, *states):
        return [p for p in self.providers if p.state in states]

    # -- Steps ---------------------------------------------------------------------------------------

    def begin(self):
        """The session begins: Initialize, and Start soon after that or late."""
        self.mode = self.rnd.choice((ONESHOT, CIRCULAR, STREAMING, STREAMING))
        self.waits = self.mode == STREAMING and self.rnd.random() < 0.3
        self.categories = self.rnd.choice(LISTS)
        self.number = self.number % 0xffff + 1
        self.is_open, self.begins_saved, self.answer_saves = True, False, True
        for p in self.live("waits", "stopped"):
            self.enter(p)
            self.initialize(p)

    def run(self):
        self.is_started = True
        for p in self.live("waits", "stopped", "initialized"):
            # One that is new was told to start already.
            if p in self.told_to_start:
                continue
            if p.session != self.number:
                self.enter(p)
                self.initialize(p)
            self.start(p)
        self.work_until(lambda: not self.live("waits", "stopped", "initialized"))

    def work_until(self, until):
        """Has the program make calls until something is so: it hears its manager when it records."""
        rounds = 0
        while not until():
            need(rounds < 200, "the program has made", rounds, "rounds")
            rounds += 1
            self.tell("r 50")
            self.pump(lambda: self.program.has_done_all() or until())
            if self.pump(until, 0.02, True):
                break

    def tell(self, line):
        self.note("tell", line)
        self.program.tell(line)

    def work(self):
        what = self.rnd.choice("rrrrfkxv" + ("e" if self.rnd.random() < 0.3 else ""))
        if what == "e":
            self.settle()
        self.tell(f"{what} {self.rnd.choice((0, 1, 20, 300, 300, 2000) if what == 'r' else (0, 3, 40))}")
        self.pump(self.program.has_done_all)

    def settle(self):
        """Waits until the program has done all that it was told to."""
        self.pump(self.program.has_done_all)

    def halt(self, request):
        self.is_started = False
        for p in self.live("recording", "initialized"):
            self.stop(p, request)
        self.work_until(lambda: not [p for p in self.live("recording", "initialized")
                                     if p.state == "recording" or (p.is_late and request == STOP)])

    def write_results(self):
        for p in self.live("stopped"):
            p.save_all(True)
        self.begins_saved = True

    def finish(self):
        """The session is over: its archive is complete."""
        if self.is_started:
            # Who has not said STARTED yet need not answer TERMINATE.
            self.halt(STOP if self.live("initialized") else self.rnd.choice((STOP, TERMINATE)))
        for p in self.live("stopped", "initialized", "waits"):
            p.send(TERMINATE)
            self.close_gate(p)
            if p.memory and p.windows:
                self.parts.append(p.finish())
            p.state, p.is_late = "waits", p.owed[STARTED] > 0
        self.is_open = False
        self.archives.append((self.mode, self.parts))
        self.parts = []

    def pester(self):
        """Says something wrong, late or early; nobody has to do anything then."""
        rnd, states = self.rnd, self.live("recording", "stopped", "waits")
        if not states:
            return
        p = rnd.choice(states)
        what = rnd.randrange(8)
        self.note("pester", p.number, what)
        wraps = (p.wraps or 0) + rnd.choice((-1, 0, 1, 2, 1000))
        if what == 0 and not p.outstanding:
            p.forged.add(wraps & 0xffffffff)
            p.send(BUFFER_SAVED, wraps & 0xffffffff, rnd.choice((0, 8, 1 << 40)))
        elif what == 1:
            p.send(rnd.choice((0, 5, 0x77, 0x150, 0x2ff, 0xffff)), rnd.randrange(1 << 32),
                   rnd.randrange(1 << 62))
        elif what == 2 and p.state == "recording":
            p.send(START, RETAIN, 0, b"time")
            p.owed[STARTED] += 1
        elif what == 3 and p.state == "stopped":
            p.owed[STOPPED] += 1
            p.send(STOP)
        elif what == 4:
            p.send(ALL_SAVED)
        elif what == 5 and p.state == "recording":
            p.send(INITIALIZE, rnd.randrange(3), 1 << 20, b"io")
        elif what == 6:
            p.send(0x77, 1, 2, bytes(rnd.randrange(2000)))
        elif what == 7 and p.memory:
            p.header()

    # -- In the end ----------------------------------------------------------------------------------

    def quit(self, how):
        self.settle()
        self.is_quitting, self.ending = True, how
        if how == "kill":
            self.program.process.kill()
        else:
            self.program.process.stdin.close()
        self.pump(lambda: self.program.process.poll() is not None and
                  (self.is_gone or not [p for p in self.providers if p.state != "ended"]))
        self.program.is_right(-signal.SIGKILL if how == "kill" else EXIT_STATUS)
        self.archives.append((self.mode, self.parts))


def play(session, rnd):
    """Goes through sessions of the manager, in an order that is allowed, with faults in between."""
    how = rnd.choice(("waits", "initialized", "started"))
    if how != "waits":
        session.begin()
        session.is_started = how == "started"
    session.launch()
    session.pump(lambda: session.providers and session.providers[0].koid)
    ends = rnd.random() < 0.25
    for _ in range(rnd.randrange(1, 4)):
        if not session.is_open:
            session.begin()
        for _ in range(rnd.randrange(1, 4)):
            session.run()
            for _ in range(rnd.randrange(1, 6)):
                rnd.choice((session.work, session.work, session.pester, session.hold))()
            if ends and rnd.random() < 0.4:
                session.leave()
                session.work()
                session.work()
                return
            if rnd.random() < 0.7:
                session.halt(STOP)
                session.release()
                if rnd.random() < 0.5:
                    session.write_results()
                session.work()
                session.pester()
        session.finish()
        session.work()


def one(rnd, name):
    session = Session(rnd, name)
    try:
        if rnd.random() < 0.1:
            session.refuses = True
            session.launch()
            session.pump(lambda: session.is_gone)
            for _ in range(4):
                session.work()
        else:
            play(session, rnd)
        session.quit(rnd.choice(("exit", "exit", "kill")))
        if session.refuses:
            return compare_files(session.archives)
        return compare(session.archives, session.providers, session.program.lines, session.is_gone,
                       session.is_gone and session.ending == "kill")
    except BaseException:
        for line in [l for l in session.log if "r 50" not in l][-60:]:
            print(*line, file=sys.stderr)
        if session.program:
            session.program.process.kill()
        raise
    finally:
        os.chdir("..")


def play_all(tool, one, seed, sessions, first="0"):
    """Plays sessions from number `first` on, each in a directory of its own. `tool` is the program's name."""
    sums = [0, 0, 0, 0]
    for i in range(int(first), int(first) + int(sessions)):
        name, began = f"session.{i}", time.monotonic()
        try:
            said = one(random.Random(f"{seed}.{i}"), name)
        except seen.Fault as fault:
            sys.exit(f"{tool} {seed} 1 {i}: {fault}")
        if os.environ.get("LOUD"):
            print(i, said, round(time.monotonic() - began, 2), file=sys.stderr, flush=True)
        sums = [a + b for a, b in zip(sums, said)]
        os.environ.get("KEEP") or subprocess.run(["rm", "-r", name], check=True)
    print(f"{sessions} sessions, seed {seed}: {sums[0]} calls, {sums[1]} of them surely in a window, "
          f"{sums[2]} of these missing, {sums[3]} found")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    play_all("random_manager.py", one, *sys.argv[1:])
