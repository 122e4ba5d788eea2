"""Starts and stops programs that do not rest: while a manager begins and ends sessions as soon as it can,
and signals come, threads of the program make children and threads, execute what is not there, and ask for
filters. random_manager.py has the model, and says what is compared.

    restless_manager.py SEED SESSIONS [FIRST]
"""
import os
import random
import resource
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import seen_provider as seen
from random_manager import Session, play_all
from rounds_program import Program, compare, noted
from seen_provider import STOP, need


class Restless(Session):
    def __init__(self, rnd, name):
        super().__init__(rnd, name)
        self.limit = resource.RLIM_INFINITY
        # A filter and a counter that is forbidden are reasons for which calls are not recorded.
        self.ways = rnd.choice(("", "", "", "s", "t", "st"))
        self.has_filters = "s" in self.ways
        self.signal = rnd.choice((0, signal.SIGUSR2))
        if self.signal:
            self.environment["FXT_SIGNAL"] = str(int(self.signal))
        if rnd.random() < 0.1:
            self.environment["FXT_TRIGGER"] = rnd.choice(("execve=ENOENT:stop", "access>300us:stop"))
            self.ways += "!"

    def launch(self):
        self.program = Program(self.environment, self.rnd.choice((1, 2, 3, 4, 4, 8, 8, 32)), self.limit)

    def work_until(self, until):
        """The program makes calls all the time. It may have ended recording for good."""
        self.pump(until, 0.2 if self.ways else 30, bool(self.ways))

    def hear(self, p):
        try:
            super().hear(p)
        except seen.Fault:
            # Nobody waits for a program that may not answer any more, so the model does not know what it is
            # asked for when an answer comes late.
            if not self.ways:
                raise

    def work(self):
        end = time.monotonic() + self.rnd.choice((0, 0, 0.001, 0.003, 0.02, 0.1))
        while time.monotonic() < end:
            self.hear_ready(0.001)
        if self.signal and self.rnd.random() < 0.5:
            self.program.process.send_signal(self.signal)


def play(session, rnd):
    if rnd.random() < 0.5:
        session.begin()
        session.is_started = rnd.random() < 0.5
    session.launch()
    session.pump(lambda: session.providers and session.providers[0].koid)
    session.tell(f"z {rnd.randrange(1, 1 << 32)} {session.ways}")
    # A signal that comes before the agent has its handler ends the program.
    session.pump(lambda: os.path.exists("notes") and os.path.getsize("notes") and noted())
    for _ in range(rnd.randrange(1, 4)):
        if not session.is_open:
            session.begin()
        for _ in range(rnd.randrange(1, 6)):
            session.run()
            rnd.choice((session.work, session.work, session.pester, session.hold))()
            session.work()
            if rnd.random() < 0.05:
                session.leave()
                return
            if rnd.random() < 0.9:
                session.halt(STOP)
                session.release()
                if rnd.random() < 0.5:
                    session.write_results()
                session.work()
                session.pester()
        session.finish()
        session.work()


def one(rnd, name):
    session = Restless(rnd, name)
    session.ending = ""
    try:
        play(session, rnd)
        how = rnd.choice(("exit", "exit", "exit", "kill"))
        if how == "exit":
            session.tell("h")
        session.quit(how)
        return compare(session.archives, session.providers, session.program.lines, session.is_gone,
                       session.ways or session.is_gone and session.ending == "kill", not session.is_gone)
    except BaseException:
        for line in session.log[-60:]:
            print(*line, file=sys.stderr)
        print(session.ways, session.environment.get("FXT_TRIGGER"), session.mode, file=sys.stderr)
        if session.program and not os.environ.get("KEEP"):
            session.program.process.kill()
        raise
    finally:
        os.chdir("..")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    play_all("restless_manager.py", one, *sys.argv[1:])
