"""Makes traces at random and knows what is in them: page.py compares pages with that.

A thread's calls lie within one another, and none begins or ends when another of its thread does. Names and
texts are such as would be markup or script in a careless page.
"""
import random
import struct

HOSTILE = [
    "</script><script>window.stolen = 1</script>", "<img src=x onerror='window.stolen = 2'>",
    "\"><svg onload=window.stolen=3>", "<!--", "]]>", "&lt;b&gt;", "</title>", "javascript:window.stolen=4",
    "'+(window.stolen=5)+'", "`${window.stolen = 6}`", "\u2028\u2029", "__proto__", "constructor", "a\tb\nc",
    "\x01\x7f", "</SCRIPT ", "<script", "toString", "F1", "ä€😀", "", "x" * 300,
]


class Call:
    def __init__(self, begin, end, depth, name, args):
        self.begin, self.end, self.depth, self.name, self.args = begin, end, depth, name, args


class Thread:
    def __init__(self, pid, tid, name):
        self.pid, self.tid, self.name = pid, tid, name
        self.calls, self.open, self.instants = [], [], []


class Made:
    """A trace, and in members what it has."""

    def __init__(self, seed, calls=400, long_row=0):
        self.random = random.Random(seed)
        self.words, self.threads, self.arrows = [], [], []
        self.points, self.switches, self.lifetimes = {}, [], []
        self.start = self.random.choice((0, 1, 10 ** 9, 44446484881142))
        self.begin_file()
        self.make_threads(calls)
        if long_row:
            self.make_long_row(long_row)
        self.make_arrows()
        self.make_points()
        self.make_switches()
        self.make_lifetimes()
        self.write_threads()

    # -- Records -------------------------------------------------------------------------------------

    def put(self, *words):
        self.words.extend(word & 0xffffffffffffffff for word in words)

    @staticmethod
    def text(text):
        """Returns the reference and the words of an inline string."""
        data = text.encode()
        data = data[:32000]
        padded = data + b"\0" * (-len(data) % 8)
        return (0x8000 | len(data) if data else 0), [word for (word,) in struct.iter_unpack("<Q", padded)]

    def argument(self, name, value):
        ref, words = self.text(name)
        kind, data = value
        extra, small = [], 0
        if kind == "int32":
            small, type_ = data & 0xffffffff, 1
        elif kind == "uint32":
            small, type_ = data, 2
        elif kind == "bool":
            small, type_ = int(data), 9
        elif kind == "string":
            small, extra = self.text(data)
            type_ = 6
        elif kind == "double":
            extra, type_ = [struct.unpack("<Q", struct.pack("<d", data))[0]], 5
        else:
            type_ = {"int64": 3, "uint64": 4, "pointer": 7, "koid": 8}[kind]
            extra = [data]
        head = type_ | (1 + len(words) + len(extra)) << 4 | ref << 16 | small << 32
        return [head] + words + extra

    def event(self, kind, ns, thread, category, name, args=(), last=None):
        words = [ns, thread.pid, thread.tid]
        refs = []
        for text in category, name:
            ref, more = self.text(text)
            refs.append(ref)
            words += more
        for key, value in args:
            words += self.argument(key, value)
        if last is not None:
            words.append(last)
        self.put(4 | (1 + len(words)) << 4 | kind << 16 | len(args) << 20 | refs[0] << 32 | refs[1] << 48,
                 *words)

    def begin_file(self):
        self.put(0x0016547846040010)
        ref, words = self.text("maker")
        self.put(0 | (1 + len(words)) << 4 | 1 << 16 | 7 << 20 | (ref & 0xff) << 52, *words)
        self.put(1 | 2 << 4, 10 ** 9)

    def name_object(self, kind, koid, name, process=None):
        ref, words = self.text(name)
        args = self.argument("process", ("koid", process)) if process else []
        self.put(7 | (2 + len(words) + len(args)) << 4 | kind << 16 | ref << 24 | bool(process) << 40, koid,
                 *words, *args)

    # -- What happens --------------------------------------------------------------------------------

    def value(self):
        r = self.random
        kind = r.choice(("int32", "uint32", "int64", "uint64", "double", "string", "pointer", "koid", "bool"))
        if kind == "string":
            return kind, r.choice(HOSTILE)
        if kind == "double":
            return kind, r.choice((0.5, -1e300, r.random(), 3.0))
        if kind == "bool":
            return kind, r.random() < 0.5
        bits = 32 if kind.endswith("32") else 64
        number = r.getrandbits(r.randint(1, bits))
        return kind, number - (1 << bits if kind.startswith("int") and number >> (bits - 1) else 0)

    def args(self):
        r = self.random
        names = r.sample(HOSTILE[:8] + ["fd", "count", "ret", "ptr"], r.randint(0, 4))
        return [(name, self.value()) for name in names]

    def name(self):
        r = self.random
        return r.choice(("malloc", "io", "<b>", "time")), r.choice(HOSTILE + ["read", "write", "poll"] * 4)

    def fill(self, thread, begin, end, depth, budget):
        """Puts calls into a stretch of time, each with others within."""
        r = self.random
        at = begin + r.randint(1, 5)
        while budget[0] > 0 and at + 3 < end:
            stop = min(end - 1, at + max(2, int((end - at) * r.random() ** 3)))
            budget[0] -= 1
            thread.calls.append(Call(at, stop, depth, self.name(), self.args()))
            if depth < 6 and stop - at > 10 and r.random() < 0.5:
                self.fill(thread, at, stop, depth + 1, budget)
            at = stop + r.randint(1, max(1, (end - begin) // 40))

    def make_threads(self, calls):
        r = self.random
        for process in range(r.randint(1, 3)):
            pid = 1000 + process * 100
            self.name_object(1, pid, r.choice(HOSTILE + ["program"] * 5))
            for number in range(r.randint(1, 3)):
                thread = Thread(pid, pid + number, r.choice(HOSTILE + ["worker"] * 5))
                self.name_object(2, thread.tid, thread.name, pid)
                self.threads.append(thread)
                self.fill(thread, self.start, self.start + 10 ** r.randint(5, 9), 0, [calls // 3])
                thread.instants = sorted(r.sample(range(self.start, self.start + 10 ** 5), r.randint(0, 5)))

    def make_long_row(self, count):
        r = self.random
        thread = Thread(5000, 5000, "long")
        self.threads.append(thread)
        at = self.start + 10
        for _ in range(count):
            at += r.choice((1, 2, 50, 1000, 10 ** 6)) if r.random() < 0.3 else 3
            stop = at + r.choice((0, 1, 7, 255, 16383)) + 1
            thread.calls.append(Call(at, stop, 0, self.name(), []))
            at = stop

    def make_arrows(self):
        r = self.random
        for number in range(r.randint(0, 40)):
            a, b = r.choice(self.threads), r.choice(self.threads)
            from_ns = self.start + r.randrange(10 ** 5)
            to_ns = from_ns + r.randrange(10 ** 5)
            self.arrows.append((from_ns, to_ns, a, b))
            ident = number + (r.getrandbits(20) << 20)
            self.event(8, from_ns, a, "agent", "wakes", last=ident)
            self.event(10, to_ns, b, "agent", "wakes", last=ident)

    def make_points(self):
        r = self.random
        thread = self.threads[0]
        for number in range(r.randint(0, 4)):
            name, real = r.choice(HOSTILE[:6]) + str(number), r.random() < 0.3
            times = sorted(r.sample(range(self.start, self.start + 10 ** 5), r.randint(1, 50)))
            list_ = [(ns, r.random() if real else r.randint(-10 ** 6, 10 ** 12)) for ns in times]
            self.points[name] = list_
            for ns, value in list_:
                self.event(1, ns, thread, "counter", name, [("v", ("double" if real else "int64", value))],
                           last=number)

    def make_switches(self):
        """What the kernel tells of processors: who left, and who came."""
        r = self.random
        for cpu in range(r.randint(0, 3)):
            at, runs = self.start + r.randrange(100), 0
            for _ in range(r.randint(1, 60)):
                comes = r.choice([0] + [thread.tid for thread in self.threads])
                # One in ten is missing: somebody leaves who did not come.
                if self.switches and r.random() < 0.1 and self.switches[-1][0] == cpu and runs:
                    self.switches.pop()
                    runs = 999
                self.put(8 | 4 << 4 | cpu << 20 | (r.choice((2, 3))) << 36 | 1 << 60, at, runs, comes)
                stop = at + r.randint(1, 1000)
                if comes:
                    self.switches.append([cpu, at, stop, comes])
                at, runs = stop, comes
            self.put(8 | 4 << 4 | cpu << 20 | 3 << 36 | 1 << 60, at, runs, 0)

    def make_lifetimes(self):
        r = self.random
        for number in range(r.randint(0, 20)):
            thread = r.choice(self.threads)
            begin = self.start + r.randrange(10 ** 4)
            end = begin + r.randrange(10 ** 4)
            self.lifetimes.append((thread.pid, begin, end))
            self.event(5, begin, thread, "io", "file", last=number + 7)
            self.event(7, end, thread, "io", "file", last=number + 7)

    def write_threads(self):
        r = self.random
        left = []
        for thread in self.threads:
            calls = sorted(thread.calls, key=lambda call: call.end)
            left.append([(thread, call) for call in reversed(calls)])
            for ns in thread.instants:
                self.event(0, ns, thread, "agent", r.choice(HOSTILE))
            for _ in range(r.choice((0, 0, 0, 1, 2))):
                ns = self.start + r.randrange(10 ** 5)
                name = self.name()
                thread.open.append((ns, name))
                self.event(2, ns, thread, *name)
        while any(left):
            thread, call = r.choice([one for one in left if one]).pop()
            self.event(4, call.begin, thread, *call.name, call.args, last=call.end)

    def write(self, path):
        with open(path, "wb") as out:
            out.write(struct.pack("<%dQ" % len(self.words), *self.words))
