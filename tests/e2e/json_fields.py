#!/usr/bin/env python3
"""Compares what fxt writes as JSON with what is in a trace.

    json_fields.py dump NUMBER      writes so many traces at random, of the records that other_writers.py does
                                    not write, and compares every member of `fxt dump --json`
    json_fields.py cut FILE...      compares the report of each trace with --all and without: what is left out
                                    of an array is its end, and is counted in "cut"; nothing else differs

The seed is FXT_SEED's. The exit status is 1 after a difference.
"""
import json, os, random, struct, subprocess, sys

FXT = os.environ["FXT"]


def run(*arguments):
    return subprocess.run([FXT, *arguments], stdout=subprocess.PIPE, check=True).stdout


def padded(raw):
    return raw + bytes(-len(raw) % 8)


class Trace:
    def __init__(self, draw):
        self.draw, self.told = draw, []
        self.out = bytearray(struct.pack("<Q", 0x0016547846040010))
        self.told.append({"offset": 0, "type": "magic"})

    def number(self):
        """A number of 64 bits, often one that no double has."""
        return self.draw.choice([self.draw.randrange(9), self.draw.randrange(1 << 32),
                                 (1 << 53) + 1 + self.draw.randrange(99), self.draw.randrange(1 << 64),
                                 (1 << 64) - 1])

    def record(self, kind, fields, body, **told):
        self.told.append({"offset": len(self.out), **told})
        self.out += struct.pack("<Q", kind | (1 + len(body) // 8) << 4 | fields) + body

    def text(self):
        raw = self.draw.choice(["a", "name", "ünder", "x" * self.draw.randrange(1, 40)]).encode()
        return 0x8000 | len(raw), padded(raw), raw.decode()

    def arguments(self):
        """Returns the bytes, their number, and what is to be told of them."""
        out, last, all_told = b"", {}, []
        count = self.draw.randrange(5)
        for _ in range(count):
            ref, inline, name = self.text() if self.draw.random() < .5 else (0x8001, padded(b"k"), "k")
            kind = self.draw.choice([0, 2, 3, 4, 5, 7, 8, 9])
            value, upper, body = self.number(), 0, b""
            if kind == 0:
                said = None
            elif kind == 2:
                said = upper = value & 0xffffffff
            elif kind == 9:
                upper = self.draw.randrange(2)
                said = bool(upper)
            elif kind == 5:
                said = self.draw.uniform(-1e9, 1e9)
                body = struct.pack("<d", said)
            else:
                body = struct.pack("<Q", value)
                said = value - (1 << 64 if kind == 3 and value >> 63 else 0)
                said = "0x%x" % value if kind == 7 else said
            all_told.append({"name": name, "value": said})
            last[name] = said
            body = inline + body
            out += struct.pack("<Q", kind | (1 + len(body) // 8) << 4 | ref << 16 | upper << 32) + body
        told = {"args": last} if last else {}
        earlier = [one for i, one in enumerate(all_told)
                   if one["name"] in [later["name"] for later in all_told[i + 1:]]]
        if earlier:
            told["repeated_args"] = earlier
        return out, count, told

    def thread(self):
        index = self.draw.randrange(1, 256)
        pid, tid = self.draw.randrange(1, 1 << 40), self.draw.randrange(1, 1 << 40)
        self.record(3, index << 16, struct.pack("<QQ", pid, tid), type="thread", pid=pid, tid=tid, id=index)
        return index, pid, tid

    def add(self):
        draw = self.draw
        ticks, what = draw.randrange(1 << 50), draw.randrange(9)
        if what == 0:
            one, two = self.thread(), self.thread()
            if one[0] == two[0]:
                one = two
            cpu, state, before, after = (draw.randrange(256), draw.choice([0, 1, 2, 3, 4, 5]),
                                         draw.randrange(256), draw.randrange(256))
            fields = cpu << 16 | state << 24 | one[0] << 28 | two[0] << 36
            self.record(8, fields | before << 44 | after << 52, struct.pack("<Q", ticks),
                        type="switch", time=ticks, cpu=cpu, state=state, outgoing=one[2],
                        incoming=two[2], outgoing_pid=one[1], incoming_pid=two[1],
                        outgoing_priority=before, incoming_priority=after)
        elif what in (1, 2):
            args, count, told = self.arguments()
            cpu, state = draw.randrange(1 << 16), draw.choice([1, 2, 3, 4])
            a, b = self.number(), self.number()
            fields = count << 16 | cpu << 20
            if what == 1:
                self.record(8, fields | state << 36 | 1 << 60, struct.pack("<QQQ", ticks, a, b) + args,
                            type="switch", time=ticks, cpu=cpu, state=state, outgoing=a, incoming=b, **told)
            else:
                self.record(8, fields | 2 << 60, struct.pack("<QQ", ticks, a) + args, type="wakeup",
                            time=ticks, cpu=cpu, woken=a, **told)
        elif what == 3:
            ref, inline, name = self.text()
            data, kind = draw.randbytes(draw.randrange(40)), draw.choice([1, 2, 4, 0x80])
            self.record(5, ref << 16 | len(data) << 32 | kind << 48, inline + padded(data), type="blob",
                        blob_type=kind, bytes=len(data), name=name)
        elif what == 4:
            ref, inline, name = self.text()
            args, count, told = self.arguments()
            koid, kind = self.number(), draw.choice([3, 4, 5, 17])
            word = {3: "kernel-object", 4: "kernel-object", 5: "kernel-object", 17: "kernel-object"}[kind]
            self.record(7, kind << 16 | ref << 24 | count << 40, struct.pack("<Q", koid) + inline + args,
                        type=word, id=koid, name=name, object_type=kind, **told)
        elif what == 5:
            provider, event = draw.randrange(1, 1 << 32), draw.randrange(1, 16)
            self.record(0, 3 << 16 | provider << 20 | event << 52, b"", type="provider-event", id=provider,
                        event=event)
        elif what == 6:
            _, pid, tid = self.thread()
            category_ref, category, category_text = self.text()
            ref, inline, name = self.text()
            args, count, told = self.arguments()
            data = draw.randbytes(draw.randrange(40))
            body = struct.pack("<Q", category_ref | ref << 16 | count << 32) + category + inline
            body += struct.pack("<QQQ", ticks, pid, tid) + args
            body += struct.pack("<Q", len(data)) + padded(data)
            self.told.append({"offset": len(self.out), "type": "large-blob", "time": ticks, "pid": pid,
                              "tid": tid, "category": category_text, "bytes": len(data), "name": name,
                              **told})
            self.out += struct.pack("<Q", 15 | (1 + len(body) // 8) << 4) + body
        elif what == 7:
            kind = draw.choice([8, 9, 10])
            number = self.number()
            self.record(4, kind << 16 | 0x8001 << 32 | 0x8001 << 48,
                        struct.pack("<QQQ", ticks, 7, 8) + padded(b"c") + padded(b"n") +
                        struct.pack("<Q", number),
                        type=["flow-begin", "flow-step", "flow-end"][kind - 8], time=ticks, pid=7, tid=8,
                        category="c", name="n", id=str(number))
        else:
            pointer = self.number()
            index, pid, _ = self.thread()
            ref, inline, name = self.text()
            args, count, told = self.arguments()
            self.record(6, index << 16 | ref << 24 | count << 40, struct.pack("<Q", pointer) + inline + args,
                        type="object", pid=pid, id="0x%x" % pointer, name=name, **told)


def dumps(number):
    draw = random.Random(int(os.environ.get("FXT_SEED", "1")))
    compared = 0
    for _ in range(number):
        trace = Trace(draw)
        for _ in range(draw.randrange(1, 80)):
            trace.add()
        with open("fields.fxt", "wb") as file:
            file.write(trace.out)
        said = [json.loads(line) for line in run("dump", "--json", "--all", "fields.fxt").splitlines()]
        if len(said) != len(trace.told):
            sys.exit("%d records, and %d were written" % (len(said), len(trace.told)))
        for one, told in zip(said, trace.told):
            # Threads get their names from records of any kind, and other members depend on them.
            one.pop("thread", None), one.pop("objects", None)
            if one != told:
                sys.exit("told\n  %s\nfound\n  %s" % (told, one))
            compared += len(one)
    print("%d members of records of %d traces" % (compared, number))


def compare(whole, part, path, cut):
    if type(whole) is not type(part):
        sys.exit("%s: %r is %r" % (path, whole, part))
    if isinstance(whole, dict):
        if list(whole) != list(part):
            sys.exit("%s: other members: %s" % (path, set(whole) ^ set(part)))
        for key in whole:
            compare(whole[key], part[key], path + [key], cut)
    elif isinstance(whole, list):
        if len(part) < len(whole):
            name = ".".join(path)
            cut[name] = cut.get(name, 0) + len(whole) - len(part)
        for one, other in zip(whole, part):
            compare(one, other, path, cut)
    elif whole != part:
        sys.exit("%s: %r is %r" % (path, whole, part))


def cuts(files):
    for file in files:
        text = run("report", "--json", file)
        whole, part = json.loads(run("report", "--json", "--all", file)), json.loads(text)
        told, found = part.pop("cut"), {}
        if whole["schema"] != 1 or "cut" in whole:
            sys.exit("%s: the whole report has no schema, or is cut" % file)
        compare(whole, part, [], found)
        # What an array has within elements that are left out is not counted.
        for name, count in found.items():
            if told.get(name) != count:
                sys.exit("%s: %d of %s are left out, and %s is told" % (file, count, name, told.get(name)))
        if set(told) != set(found):
            sys.exit("%s: nothing is left out of %s" % (file, set(told) - set(found)))
        if len(text) > 20000:
            sys.exit("%s: %d bytes" % (file, len(text)))
        print("%s: %d bytes of %d" % (file, len(text), len(json.dumps(whole, indent=2))))


if sys.argv[1] == "dump":
    dumps(int(sys.argv[2]))
else:
    cuts(sys.argv[2:])
