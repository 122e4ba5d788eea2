"""tests/apps/rounds as it runs: what it has to print, and the calls that it has noted, which are compared
with those that traces have."""
import collections
import json
import os
import resource
import struct
import subprocess

import seen_provider as seen
from seen_provider import CIRCULAR, PAGE, need

FXT = os.environ["FXT"]
APP = os.path.join(os.environ["abs_top_builddir"], "tests/apps/rounds")
NOTE_BYTES, MOST_CALLS, EXIT_STATUS = 24, 1 << 22, 7
MAGIC_RECORD = struct.pack("=Q", 0x0016547846040010)


class Program:
    """The running program. No file of it may be larger than `limit`."""

    def __init__(self, environment, threads, limit):
        # It finds a file that is as large as it would make it.
        with open("notes", "wb") as file:
            file.truncate(PAGE + NOTE_BYTES * MOST_CALLS)
        self.process = subprocess.Popen(
            [APP, "notes", str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=environment,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.out, self.due, self.lines, self.is_over = b"", [], 0, False

    def tell(self, line):
        what = line[0]
        if what in "rghz":
            self.due.append(f"ok {what}")
        elif what == "e":
            self.due.append("executed")
        else:
            self.due.append(f"{what} 9 0" if what == "k" else f"{what} 0 {EXIT_STATUS}")
        self.lines += 1
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def has_done_all(self):
        return self.out.count(b"\n") == len(self.due)

    def read(self):
        data = os.read(self.process.stdout.fileno(), 4096)
        self.out += data
        return data

    def is_right(self, status):
        """Checks that the program has done what it does when nobody traces it."""
        while self.read():
            pass
        need(self.process.wait() == status, "the exit status is", self.process.returncode)
        need(self.out.decode().splitlines() == self.due, "the program says", self.out, "and not", self.due)
        said = self.process.stderr.read()
        need(not said, "the program says on standard error:", said)


def noted():
    """Returns the process, begin and end of each call; of a great many calls, those of the first ones."""
    with open("notes", "rb") as file:
        count = min(struct.unpack("=Q", file.read(8))[0], MOST_CALLS)
        file.seek(PAGE)
        data = file.read(NOTE_BYTES * count)
    return [struct.unpack_from("=QQQ", data, NOTE_BYTES * i) for i in range(count)]


class Found:
    """How often each call is in the traces: in those of the manager, and in files of the program's own."""

    def __init__(self, archives, checks=True):
        self.checks, self.counts, self.lost_in_files = checks, collections.Counter(), 0
        for number, (mode, parts) in enumerate(archives):
            path = f"archive.{number}.fxt"
            with open(path, "wb") as file:
                file.write(MAGIC_RECORD + b"".join(parts))
            self.look_into(path, ["--ring"] if mode == CIRCULAR else [])
        self.in_archives, self.files = dict(self.counts), {}
        for path in os.listdir("."):
            if not path.startswith("beside."):
                continue
            before = self.counts.copy()
            # The program may have had a ring.
            self.look_into(path, ["--ring"])
            self.files[path] = self.counts - before
            with open(path, "rb") as file:
                self.lost_in_files += seen.losses(seen.divide(file.read()))

    def look_into(self, path, options):
        for check in [[FXT, "check"], os.environ.get("FXT_ORACLE", "").split()]:
            if check and self.checks:
                said = subprocess.run([*check, *options, path], stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, check=False)
                need(said.returncode == 0, check, path, said.stdout[:600])
        dump = subprocess.run([FXT, "dump", "--json", path], stdout=subprocess.PIPE, text=True, check=True)
        for record in map(json.loads, dump.stdout.splitlines()):
            name, args = record.get("name"), record.get("args", {})
            if name == "access" and str(args.get("pathname", "")).startswith("/nowhere/"):
                self.counts[int(args["pathname"].split("/")[2])] += 1


def compare_files(archives):
    """Compares what a program has noted that had no manager."""
    calls, found = noted(), Found(archives)
    missing = [number for number, (_, _, ended) in enumerate(calls) if ended and not found.counts[number]]
    need(not missing, "of", len(calls), "calls", len(missing), "are in no file, such as", missing[:3])
    need(max(found.counts.values(), default=0) < 2, "calls are there twice")
    return len(calls), len(calls), 0, len(found.counts)


def compare(archives, providers, lines, is_gone, may_lose, checks=True):
    """Compares the calls that were made with those that were found. Of a call that a provider surely had to
    record, and that is nowhere, the provider has to know. If the manager `is_gone`, calls may be in its
    archive and in a file. A program that was killed after it, before it has noticed, `may_lose` what was not
    saved. Where the manager went in the midst of what threads did, an archive or a file may have the end of
    something of which the other one has the begin: neither is checked then."""
    calls, found = noted(), Found(archives, checks)
    counts, sure, all_missing = found.counts, 0, 0
    # A process that had no answer within a second writes a file, and so had no window. Another process may
    # have had its number before.
    for path, in_file in found.files.items():
        for p in providers:
            need(is_gone or not p.koid or int(path.split(".")[1]) != p.pid or
                 not any(p.was_in_session(calls[number][1]) for number in in_file),
                 "a file of the program's own:", path)
    need(is_gone or max(counts.values(), default=0) < 2, "calls are there twice")
    mine, explained = collections.defaultdict(list), set()
    for number, call in enumerate(calls):
        mine[call[0]].append((number, *call[1:]))
    for p in providers:
        missing, perhaps = [], 0
        for number, began, ended in mine[p.pid] if p.koid else ():
            if p.may_have(began, ended):
                explained.add(number)
                perhaps += not counts[number]
            if p.must_have(began, ended):
                sure += 1
                missing += [] if counts[number] else [number]
        all_missing += len(missing)
        need(may_lose or len(missing) <= p.lost + found.lost_in_files,
             f"provider {p.number} counts {p.lost} losses, and {len(missing)} calls are missing, such as "
             f"{missing[:3]}")
        # Each line that the program reads makes some other calls.
        if p.koid and all(w.has_only_io and not w.is_cleared for w in p.windows):
            need(p.lost <= perhaps + 100 + 10 * lines,
                 f"provider {p.number} counts {p.lost} losses of {perhaps} calls at most")
    wrong = [(number, calls[number]) for number in found.in_archives if number not in explained]
    need(is_gone or not wrong, len(wrong), "calls were recorded outside of the windows:", wrong[:3], *[
        (p.number, vars(w)) for p in providers if wrong and p.koid and p.pid == wrong[0][1][0]
        for w in p.windows])
    return len(calls), sure, all_missing, len(counts)
