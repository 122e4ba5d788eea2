#!/usr/bin/env python3
"""Controls fxt serve --wait as fuchsia.tracing.controller describes it, over the socket.

    controller.py table SOCKET                  every state and error of the interface
    controller.py sessions SOCKET SEED ROUNDS   random sessions of programs that keep a model
    controller.py churn SOCKET SEED PROGRAMS SECONDS
                                                many programs, started and stopped each second
    controller.py losses SOCKET SEED SESSIONS   sessions of programs that lose much
    controller.py orphans SOCKET SEED SESSIONS MANAGER
                                                sessions whose last program connects just before they end

The programs are tests/apps/obeys, which calls access() when it is told to. Sessions are started and stopped,
in random modes, while other calls are made between. Each trace has the calls that were made while it was
started, each once, and no others. The traces are left in the current directory, for other checkers."""
import array
import collections
import json
import os
import random
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import time

PACKET = struct.Struct("=HHIQ")
CALL, SAYS = 0x300, 0x301
FXT = os.environ.get("FXT", "fxt")


def need(condition, what):
    if not condition:
        raise SystemExit(f"controller.py: {what}")


class Controller:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(60)
        self.socket.connect(path)
        self.calls, self.states, self.answers = 0, [], {}

    def send(self, method, params=None, fd=None):
        self.calls += 1
        call = {"id": self.calls, "method": method}
        if params is not None:
            call["params"] = params
        message = PACKET.pack(CALL, 0, 0, 0) + json.dumps(call).encode()
        ancillary = [] if fd is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
        self.socket.sendmsg([message], ancillary)
        return self.calls

    def receive(self):
        """Receives one object; returns whether there was one."""
        message = self.socket.recv(1 << 20)
        if not message:
            return False
        need(PACKET.unpack(message[:PACKET.size]) == (SAYS, 0, 0, 0), f"not an answer: {message[:40]}")
        said = json.loads(message[PACKET.size:])
        if "event" in said:
            need(said["event"] == "on_session_state_change", said)
            self.states.append(said["state"])
        else:
            key = said["id"]
            self.answers[key if isinstance(key, int) else json.dumps(key)] = said
        return True

    def is_answered(self, number):
        while number not in self.answers and select.select([self.socket], [], [], 0)[0]:
            need(self.receive(), "the connection was closed")
        return number in self.answers

    def wait(self, number):
        while number not in self.answers:
            need(self.receive(), "the connection was closed")
        return self.answers.pop(number)

    def call(self, method, params=None, fd=None):
        return self.wait(self.send(method, params, fd))

    def result(self, method, params=None, fd=None):
        said = self.call(method, params, fd)
        need("result" in said, f"{method}: {said}")
        return said["result"]

    def error(self, method, params=None, fd=None):
        said = self.call(method, params, fd)
        need("error" in said, f"{method} {params} has succeeded: {said}")
        return said["error"]

    def initialize(self, config, out):
        with open(out, "xb") as file:
            return self.result("initialize_tracing", config, file.fileno())

    def state(self):
        return self.result("get_state")["state"]

    def is_closed(self):
        try:
            while self.receive():
                pass
        except ConnectionResetError:
            pass
        return True


# -- Every state and error -------------------------------------------------------------------------

BAD_CONFIGS = (
    {"categorys": []}, {"categories": "io"}, {"categories": [""]},
    {"categories": [7]},
    {"categories": ["io,malloc"]}, {"buffer_size_megabytes_hint": -1},
    {"buffer_size_megabytes_hint": 1 << 32},
    {"buffer_size_megabytes_hint": "1"}, {"buffer_size_megabytes_hint": 1.5}, {"buffering_mode": "round"},
    {"buffering_mode": 1}, {"start_timeout_milliseconds": -1}, {"start_timeout_milliseconds": 1 << 62},
    {"provider_specs": {}}, {"provider_specs": [{}]}, {"provider_specs": [{"name": "a", "size": 1}]},
    {"provider_specs": [{"name": "a"}] * 101}, {"provider_specs": [{"name": "a", "categories": ["a b"]}]},
    {"version": 1}, {"version": {"major": 0, "minor": 0}}, {"version": {"patch": 1}}, {"defer_transfer": 1})


def bad_configs(path):
    for config in BAD_CONFIGS:
        one = Controller(path)
        with open("bad.fxt", "wb") as file:
            need(one.error("initialize_tracing", config, file.fileno()) == "BAD_REQUEST", config)
        need(one.is_closed(), "a bad request ends the connection")
    for make in (lambda: None, lambda: os.open("/dev/null", os.O_RDWR), lambda: os.pipe()[1],
                 lambda: os.open("bad.fxt", os.O_RDONLY), lambda: os.open(sys.argv[0], os.O_RDONLY)):
        one, fd = Controller(path), make()
        need(one.error("initialize_tracing", {}, fd) == "BAD_REQUEST", "a file that is none")
        need(one.is_closed(), "a bad request ends the connection")
    os.unlink("bad.fxt")


# What each method answers in each state: None is success.
ANSWERS = {
    "READY": {"start_tracing": "NOT_INITIALIZED", "stop_tracing": "NOT_INITIALIZED",
              "terminate": "NOT_INITIALIZED", "watch_alert": "NOT_INITIALIZED",
              "raise_alert": "NOT_INITIALIZED"},
    "INITIALIZED": {"stop_tracing": "NOT_STARTED", "raise_alert": None},
    "STARTED": {"start_tracing": "ALREADY_STARTED", "raise_alert": None},
    "STOPPED": {"stop_tracing": "NOT_STARTED", "raise_alert": None},
}


def check_answers(one, state):
    need(one.state() == state, f"{one.state()} and not {state}")
    for method, error in ANSWERS[state].items():
        said = one.call(method, {"alert_name": "a b"} if method == "raise_alert" else {})
        need(said.get("error") == error, f"{method} in {state}: {said}")
    for method in ("get_known_categories", "get_providers"):
        one.result(method)
    need(one.error("no_such_method") == "BAD_REQUEST", "a method that there is not")
    need(one.error("start_tracing", {"disposition": 1}) == "BAD_REQUEST", "bad StartOptions")
    need(one.error("start_tracing", {"buffer_disposition": "KEEP"}) == "BAD_REQUEST", "bad StartOptions")
    need(one.error("stop_tracing", {"write_results": "yes"}) == "BAD_REQUEST", "bad StopOptions")
    need(one.error("raise_alert", {"alert_name": "fifteen bytes..."}) == "BAD_REQUEST", "a long alert")
    need(one.state() == state, f"{one.state()} after errors, and not {state}")


def not_the_owner(other, state):
    """Another controller has no session."""
    need(other.error("start_tracing") == "NOT_INITIALIZED", f"another's start in {state}")
    need(other.error("stop_tracing") == "NOT_INITIALIZED", f"another's stop in {state}")
    need(other.error("terminate") == "NOT_INITIALIZED", f"another's terminate in {state}")
    need(other.error("watch_alert") == "NOT_INITIALIZED", f"another's watch_alert in {state}")


def silent_provider(path):
    """Connects a provider that never answers, so that STARTING and STOPPING last."""
    end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    end.connect(path)
    end.send(PACKET.pack(0x200, 0, 1, 7) + b"silent")
    message, fds, _, _ = socket.recv_fds(end, 4096, 1)
    need(PACKET.unpack(message[:PACKET.size])[0] == 0x214 and len(fds) == 1, "not registered")
    os.close(fds[0])
    return end


def states_that_pass(path):
    """STARTING, STOPPING and TERMINATING, which a provider holds up that does not answer."""
    one, silent = Controller(path), silent_provider(path)
    # Nobody is told of a session that ends before it was started.
    one.initialize({}, "never.fxt")
    one.result("terminate")
    need(not select.select([silent], [], [], 0)[0], "a provider is told of a session that was not started")
    one.initialize({"start_timeout_milliseconds": 3000}, "slow.fxt")
    started = one.send("start_tracing")
    need(one.state() == "STARTING", "a start that waits")
    need(one.error("start_tracing") == "ALREADY_STARTED", "a start in STARTING")
    need(not one.is_answered(started), "the start is acknowledged too early")
    # A stop ends the start.
    stopped = one.send("stop_tracing")
    need("result" in one.wait(started), "the start that a stop has ended")
    need("result" in one.wait(stopped), "the stop")
    need(one.state() == "STOPPED", one.state())
    # After the timeout the start is acknowledged all the same.
    one.result("terminate")
    silent.close()
    one.initialize({"start_timeout_milliseconds": 20, "buffering_mode": "streaming"}, "slow2.fxt")
    silent = silent_provider(path)
    one.result("start_tracing")
    # This one has memory, and never answers STOP.
    sleeper = initialized_provider(path)
    while "STARTED" not in [p["state"] for p in one.result("get_providers")["providers"]]:
        pass
    stopping = one.send("stop_tracing")
    need(one.state() == "STOPPING", "a stop that waits")
    need(one.error("start_tracing") == "STOPPING", "a start in STOPPING")
    need(one.error("stop_tracing") == "NOT_STARTED", "a stop in STOPPING")
    need(len(one.wait(stopping)["result"]["provider_stats"]) == 1, "statistics of one provider")
    one.result("start_tracing")
    ended = one.send("terminate")
    need(one.state() == "TERMINATING", "a terminate that waits")
    need(one.error("start_tracing") == "TERMINATING", "a start in TERMINATING")
    need(one.error("stop_tracing") == "NOT_INITIALIZED", "a stop in TERMINATING")
    need(one.error("terminate") == "NOT_INITIALIZED", "a second terminate")
    need("result" in one.wait(ended), "terminate")
    need(one.states[-3:] == ["STARTED", "TERMINATING", "READY"], one.states)
    silent.close()
    sleeper.close()


def initialized_provider(path):
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "manager"))
    from model_provider import Provider
    return Provider(path, "sleeper", random.Random(1)).socket


def table(path):
    one, other = Controller(path), Controller(path)
    bad_configs(path)
    check_answers(one, "READY")
    need({"name", "description"} == set(one.result("get_known_categories")["categories"][0]), "a category")
    need(other.result("watch_state")["state"] == "READY", "watch_state")
    watch = one.error("watch_alert")
    need(watch == "NOT_INITIALIZED", watch)
    one.initialize({"buffering_mode": "circular", "buffer_size_megabytes_hint": 1, "defer_transfer": True,
                    "categories": [], "version": {"major": 0, "minor": 1}, "provider_specs": [
                        {"name": "x", "buffer_size_megabytes_hint": 2, "categories": ["io"]}]}, "table.fxt")
    check_answers(one, "INITIALIZED")
    not_the_owner(other, "INITIALIZED")
    third = Controller(path)
    with open("third.fxt", "wb") as file:
        need(third.error("initialize_tracing", {}, file.fileno()) == "BAD_REQUEST", "a second session")
    need(third.is_closed(), "a second session ends the connection")
    os.unlink("third.fxt")
    one.result("start_tracing", {"buffer_disposition": "CLEAR_ENTIRE", "additional_categories": ["io"]})
    check_answers(one, "STARTED")
    not_the_owner(other, "STARTED")
    one.result("stop_tracing", {"write_results": True})
    check_answers(one, "STOPPED")
    one.result("start_tracing", {"buffer_disposition": "RETAIN"})
    # Three alerts were raised by check_answers(), and come in turn; then one waits for the next.
    for _ in range(3):
        need(one.result("watch_alert") == {"alert_name": "a b"}, "an alert")
    waiting = one.send("watch_alert")
    need(not one.is_answered(waiting), "an alert that was not raised")
    other.result("raise_alert", {"alert_name": "fourteen bytes"})
    need(one.wait(waiting)["result"]["alert_name"] == "fourteen bytes", "the alert")
    waiting = one.send("watch_alert")
    one.result("terminate")
    need(one.wait(waiting).get("error") == "NOT_INITIALIZED", "the alert of a session that is over")
    need(one.states == ["INITIALIZED", "STARTING", "STARTED", "STOPPING", "STOPPED", "STARTING", "STARTED",
                        "TERMINATING", "READY"], one.states)
    while other.states[-1:] != ["READY"]:
        need(other.receive(), "the watcher")
    need(other.states == one.states, other.states)
    check_answers(one, "READY")
    # Who drops the connection terminates the session.
    one.initialize({}, "dropped.fxt")
    one.result("start_tracing")
    one.socket.close()
    while other.states[-1:] != ["READY"] or len(other.states) < 12:
        need(other.receive(), "the watcher")
    need(other.states[9:] == ["INITIALIZED", "STARTING", "STARTED", "TERMINATING", "READY"], other.states)
    states_that_pass(path)
    garbage(path)


def garbage(path):
    """What is no call is refused, or ends the connection, and nothing else happens."""
    for message in (b"", b"{", b"[]", b"null", b'{"method": 7}', b'{"method": "get_state", "params": 7}',
                    b"\xff" * 40, b"[" * 10000, b'{"id": {"a": []}, "method": "get_state"}'):
        one = Controller(path)
        one.socket.send(PACKET.pack(CALL, 0, 0, 0) + message)
        need(one.receive(), f"no answer to {message[:20]}")
        need(one.state() == "READY", "the state after garbage")
    one = Controller(path)
    need(one.state() == "READY", "the state")
    one.socket.send(b"short")
    need(one.is_closed(), "a message without a packet")
    need(Controller(path).state() == "READY", "fxt serve goes on")


# -- Sessions of programs --------------------------------------------------------------------------

class Program:
    count = 0

    def __init__(self, threads, **environment):
        Program.count += 1
        self.name, self.threads, self.obeyed = f"p{Program.count}", threads, 0
        self.process = subprocess.Popen([os.environ["OBEYS"], str(threads)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE,
                                        env=dict(os.environ, LD_PRELOAD=os.environ["FXT_AGENT"],
                                                 **environment))

    def obey(self, command):
        self.obeyed += 1
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()
        need(self.process.stdout.readline() == b"done\n", f"{self.name} has not obeyed")

    def calls(self, tag, count):
        """Makes calls and returns their paths."""
        self.obey(f"call {tag} {count}")
        return {f"/nowhere/{tag}/{thread}/{i}" for thread in range(self.threads) for i in range(count)}

    def forks(self, tag, count):
        self.obey(f"fork {tag} {count}")
        return {f"/nowhere/{tag}/0/{i}" for i in range(count)}

    def end(self):
        self.process.stdin.close()
        need(self.process.wait() == 0, f"{self.name} has ended with {self.process.returncode}")


def until_states(one, programs, wanted):
    """Waits until all programs are in this state; they hear of it when they do something."""
    pids = {p.process.pid for p in programs}
    while True:
        for program in programs:
            program.obey("poke")
        found = {p["pid"]: p["state"] for p in one.result("get_providers")["providers"]}
        need(pids <= set(found), f"{pids - set(found)} are not connected")
        if all(found[pid] == wanted for pid in pids):
            return


def change(one, programs, method, params, wanted):
    number = one.send(method, params)
    until_states(one, programs, wanted)
    said = one.wait(number)
    need("result" in said, f"{method}: {said}")
    # A thread that records for the first time since may find the gate lent.
    for program in programs:
        program.obey("poke")


def access_paths(trace):
    """Returns how often each path of a call of access() is in the trace."""
    dump = subprocess.run([FXT, "dump", trace], stdout=subprocess.PIPE, check=True, text=True).stdout
    return collections.Counter(re.findall(r'"(/nowhere/[^"]*/[0-9]+/[0-9]+)"', dump))


def compare(trace, expected):
    found = access_paths(trace)
    missing, others = expected - set(found), set(found) - expected
    twice = [path for path, times in found.items() if times > 1]
    need(not missing,
         f"{trace}: {len(missing)} of {len(expected)} calls are missing, such as {min(missing, default=0)}")
    need(not others, f"{trace}: {len(others)} calls should not be there, such as {min(others, default=0)}")
    need(not twice, f"{trace}: {len(twice)} calls are there twice, such as {min(twice, default=0)}")


def session(one, programs, rnd, number):
    mode, tag = rnd.choice(("oneshot", "circular", "streaming")), f"s{number}"
    trace, config = f"session{number}.fxt", {"buffering_mode": mode, "start_timeout_milliseconds": 20000,
                                             "buffer_size_megabytes_hint": rnd.choice((8, 16, 64)),
                                             "defer_transfer": rnd.random() < 0.3}
    if rnd.random() < 0.5:
        config["categories"] = rnd.choice((["io"], ["io", "pthread"], ["#default"], []))
    one.initialize(config, trace)
    expected, unsaved, saved = set(), set(), True
    for window in range(rnd.randint(1, 4)):
        disposition = rnd.choice(("RETAIN", "RETAIN", "CLEAR_ENTIRE", "CLEAR_NONDURABLE"))
        if saved or disposition != "RETAIN":
            unsaved = set()
        change(one, programs, "start_tracing", {"buffer_disposition": disposition}, "STARTED")
        if rnd.random() < 0.3:
            # This one records from its beginning on.
            programs.append(Program(rnd.choice((1, 4)), FXT_ON_FULL="wait"))
            until_states(one, programs, "STARTED")
        for program in programs:
            unsaved |= program.calls(f"{tag}.{window}.{program.name}", rnd.randint(1, 300))
            if rnd.random() < 0.4:
                # A child is a provider of its own, whose end saves what it has.
                expected |= program.forks(f"{tag}.{window}.{program.name}.child", rnd.randint(1, 50))
        if rnd.random() < 0.2:
            break
        saved = mode == "streaming" or rnd.random() < 0.4
        change(one, programs, "stop_tracing", {"write_results": saved and mode != "streaming"}, "STOPPED")
        if saved:
            expected |= unsaved
        for program in programs:
            program.calls(f"off.{tag}.{window}.{program.name}", rnd.randint(1, 50))
            if rnd.random() < 0.2:
                program.forks(f"off.{tag}.{window}.{program.name}.child", 5)
    ended = one.send("terminate")
    until_states(one, programs, "WAITING")
    need("result" in one.wait(ended), "terminate")
    compare(trace, expected | unsaved)


def sessions(path, seed, rounds):
    rnd = random.Random(int(seed))
    number = 0
    for _ in range(int(rounds)):
        programs = [Program(rnd.choice((1, 1, 2, 4, 8)), FXT_ON_FULL="wait")
                    for _ in range(rnd.randint(1, 3))]
        for program in programs:
            program.calls("off", 10)
        for _ in range(rnd.randint(1, 3)):
            one = Controller(path)
            number += 1
            session(one, programs, rnd, number)
            one.socket.close()
        for program in programs:
            program.calls("off", 10)
            program.end()
    print(f"{number} sessions")


def churn(path, seed, count, seconds):
    """Starts and stops each second, with many programs that never rest."""
    rnd = random.Random(int(seed))
    programs = [Program(rnd.choice((1, 2))) for _ in range(int(count))]
    one = Controller(path)
    one.initialize({"buffering_mode": "streaming", "buffer_size_megabytes_hint": 1,
                    "start_timeout_milliseconds": 60000}, "churn.fxt")
    expected, end, window = set(), time.monotonic() + float(seconds), 0
    while time.monotonic() < end:
        begin = time.monotonic()
        change(one, programs, "start_tracing", {}, "STARTED")
        for program in programs:
            expected |= program.calls(f"c.{window}.{program.name}", rnd.randint(1, 40))
        change(one, programs, "stop_tracing", {}, "STOPPED")
        for program in programs:
            program.calls(f"off.{window}.{program.name}", rnd.randint(1, 5))
        window += 1
        time.sleep(max(0, 1 - (time.monotonic() - begin)))
    result = one.result("terminate")
    need(result["records_dropped"] == 0, f"{result} were dropped")
    for program in programs:
        program.end()
    compare("churn.fxt", expected)
    print(f"{window} starts of {count} programs, {len(expected)} calls")


def accounts(trace, tag):
    """Returns for each process how many calls with this tag the trace has or tells to be lost. The counts are
    those of the program since it began, and an instant tells what they were when the session began."""
    dump = subprocess.run([FXT, "dump", "--json", trace], stdout=subprocess.PIPE, check=True)
    found, counters, sums = collections.Counter(), {}, collections.Counter()
    for record in map(json.loads, dump.stdout.splitlines()):
        if record["type"] == "counter" and record["category"] == "agent":
            counters[record["pid"], record["name"], record["id"]] = record["args"]["records"]
        elif record["type"] == "instant" and record["name"] == "lost before":
            for name, records in record["args"].items():
                counters[record["pid"], name, "before"] = -records
        elif f"/nowhere/{tag}/" in record.get("args", {}).get("pathname", ""):
            found[record["pid"]] += 1
    for (pid, name, _), records in counters.items():
        if name.startswith(("dropped", "overwritten", "filtered")):
            found[pid] += records
            sums[name.partition("_")[0]] += records
    report = json.loads(subprocess.run([FXT, "report", "--json", "--all", trace], stdout=subprocess.PIPE,
                                       check=True).stdout)["trace"]
    told = {name: report[name] for name in ("dropped", "overwritten", "filtered")}
    need(all(told[name] == sums[name] for name in told), f"{trace}: {sums} are lost, and told are {told}")
    need((report["reason"] or report["buffer_full"]) if told["dropped"] else not report["buffer_full"],
         f"{trace}: {told}, and why: {report['reason']}, {report['buffer_full']}")
    return found


def losses(path, seed, count):
    """Each session's trace has the calls that were made in it, or tells that they are lost: no others."""
    rnd = random.Random(int(seed))
    programs = [Program(2), Program(2, FXT_THRESHOLD_NS="10000000000"), Program(1)]
    for number in range(int(count)):
        # Those that lose much, and those that lose little or nothing, take turns.
        much = number % 2 == 0
        mode = rnd.choice(("oneshot", "circular") if much else ("oneshot", "circular", "streaming"))
        trace, tag = f"losses{number}.fxt", f"l{number}"
        one, made, before = Controller(path), collections.Counter(), {p: p.obeyed for p in programs}
        one.initialize({"buffering_mode": mode, "buffer_size_megabytes_hint": 1, "categories": ["io"],
                        "start_timeout_milliseconds": 20000}, trace)
        for _ in range(rnd.randint(1, 2)):
            change(one, programs, "start_tracing", {}, "STARTED")
            for program in programs:
                calls = rnd.randint(15000, 25000) if much else rnd.randint(1, 300)
                program.obey(f"call {tag} {calls}")
                made[program] += calls * program.threads
            change(one, programs, "stop_tracing", {"write_results": True}, "STOPPED")
        ended = one.send("terminate")
        until_states(one, programs, "WAITING")
        need("result" in one.wait(ended), "terminate")
        one.socket.close()
        told = accounts(trace, tag)
        for program in programs:
            others = told[program.process.pid] - made[program]
            # A thread makes eight calls at most beside those that a command asks for.
            need(0 <= others <= 8 * program.threads * (program.obeyed - before[program]),
                 f"{trace}, {mode}, {program.name}: {made[program]} calls, {others} more are told of")
    for program in programs:
        program.end()
    print(f"{count} sessions that lose")


def orphans(path, seed, count, manager):
    """A session ends while the only program, which nobody has heard, has connected, recorded and ended: a
    child whose parents are gone. The manager stands still meanwhile. All its calls are in the trace."""
    rnd = random.Random(int(seed))
    os.mkfifo("orphan")
    for number in range(int(count)):
        trace, one, calls = f"orphans{number}.fxt", Controller(path), rnd.randint(1, 300)
        one.initialize({"buffering_mode": rnd.choice(("oneshot", "circular", "streaming")),
                        "categories": ["io", "process"]}, trace)
        one.result("start_tracing")
        end, child_end = os.pipe()
        subprocess.run([os.environ["OUTLIVES"], str(rnd.randint(1, 2)), "orphan", str(calls), "0"],
                       env=dict(os.environ, LD_PRELOAD=os.environ["FXT_AGENT"]), check=True,
                       pass_fds=(child_end,))
        os.close(child_end)
        while one.result("get_providers")["providers"]:
            pass
        os.kill(int(manager), signal.SIGSTOP)
        try:
            # It may also connect when the end has been asked for.
            ended = one.send("terminate") if rnd.random() < 0.3 else None
            with open("orphan", "w") as gate:
                gate.write("go\n")
            # The child has the other end of the pipe.
            need(os.read(end, 1) == b"", "the child says something")
            ended = ended or one.send("terminate")
        finally:
            os.kill(int(manager), signal.SIGCONT)
        need("result" in one.wait(ended), "terminate")
        one.socket.close()
        os.close(end)
        dump = subprocess.run([FXT, "dump", trace], stdout=subprocess.PIPE, check=True, text=True).stdout
        found = len(re.findall('io:access .*"/nowhere/[0-9]+"', dump))
        need(found == calls, f"{trace}: {found} of {calls} calls of a child that nobody had heard")
    print(f"{count} sessions end with a child")


if __name__ == "__main__":
    os.environ.update(FXT_MANAGER=os.path.abspath(sys.argv[2]), FXT_QUIET="1")
    {"table": table, "sessions": sessions, "churn": churn, "losses": losses,
     "orphans": orphans}[sys.argv[1]](*sys.argv[2:])
