"""Compares pages (fxt report --html) with the traces that they are of: page.sh runs this.

    page.py FXT SEED ROUNDS         made traces, whose contents are known, decoded here
    page.py FXT SEED draw           the same in a browser, if there is one: what is drawn, and where
    page.py FXT --real TRACE...     recorded ones against fxt dump --json
"""
import base64
import json
import random
import re
import struct
import subprocess
import sys
import zlib
from collections import Counter

import browser
from page_maker import Made

BLOCK = re.compile(r'<script type="application/octet-stream" id="(\w+)">([A-Za-z0-9+/=]*)</script>')
comparisons = 0


def same(what, wanted, found):
    global comparisons
    comparisons += 1
    if wanted != found:
        raise SystemExit("FAIL: %s: wanted %.600r, found %.600r" % (what, wanted, found))


class Column:
    def __init__(self, data):
        self.data, self.at = data, 0

    def unsigned(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    def signed(self):
        value = self.unsigned()
        return -(value + 1) // 2 if value & 1 else value // 2

    def real(self):
        self.at += 8
        return struct.unpack("<d", self.data[self.at - 8:self.at])[0]


class Page:
    """A page, taken to pieces."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        blocks = {name: zlib.decompress(base64.b64decode(data)) for name, data in BLOCK.findall(text)}
        self.rest_of_it = BLOCK.sub("", text)
        self.head = json.loads(blocks["head"])
        self.details = blocks["details"]
        self.blocks = {}
        for name in "first", "rest":
            at, self.blocks[name] = 0, []
            for size in self.head[name]:
                self.blocks[name].append(Column(blocks[name][at:at + size]))
                at += size
        for track in self.head["tracks"]:
            for key in "rows", "moments":
                track[key] = [self.split(row) for row in track[key]]
        for name in "first", "rest":
            for track in self.head["tracks"]:
                for row in track["rows"] + track["moments"]:
                    for level in row[:1] if name == "first" else row[1:]:
                        self.read(level, self.blocks[name])
        self.values = [self.values_of(node) for node in self.head["arguments"]]
        self.give_arguments()
        self.read_points()
        self.read_arrows()

    @staticmethod
    def split(row):
        return [{"width": row[i], "count": row[i + 1]} for i in range(0, len(row), 2)]

    @staticmethod
    def read(level, columns):
        at, level["list"] = 0, []
        for _ in range(level["count"]):
            at += columns[0].unsigned()
            one = [at, at + columns[1].unsigned(), columns[2].unsigned(), columns[3].unsigned()]
            if level["width"]:
                one.append(columns[3].unsigned() if one[3] else one[1] - at)
            level["list"].append(one)

    def values_of(self, node):
        _, _, kind, at, size = node
        column, values, last = Column(self.details[at:at + size]), [], 0
        while column.at < size:
            if kind in (1, 2, 3):
                last = last + column.signed() & (1 << 64) - 1
                values.append(last - (1 << 64) if kind == 1 and last >> 63 else last)
            elif kind == 4:
                values.append(column.real())
            else:
                values.append(column.unsigned())
        if kind == 5:
            values = [self.head["texts"][value] for value in values]
        if kind == 6:
            values = [bool(value) for value in values]
        return values

    def give_arguments(self):
        """Puts in the place of the node of each slice its arguments: pairs of name and value."""
        taken = [0] * len(self.values)
        for track in self.head["tracks"]:
            for row in track["rows"] + track["moments"]:
                for slice_ in row[-1]["list"]:
                    node, list_ = slice_[3] >> 1, []
                    while node:
                        parent, name, kind = self.head["arguments"][node][:3]
                        if kind:
                            list_.insert(0, (self.head["texts"][name], self.values[node][taken[node]]))
                            taken[node] += 1
                        node = parent
                    slice_.append(list_)
        same("values of arguments", [len(values) for values in self.values], taken)

    def read_points(self):
        column = self.blocks["rest"][4]
        for track in self.head["tracks"]:
            at = value = 0
            track["list"] = []
            for _ in range(track["points"]):
                at += column.unsigned()
                value = column.real() if track["real"] else value + column.signed()
                track["list"].append((at, value))

    def read_arrows(self):
        column, at, self.arrows = self.blocks["rest"][5], 0, []
        for _ in range(self.head["arrows"]):
            at += column.unsigned()
            to = at + column.signed()
            self.arrows.append((at, to, column.unsigned(), column.unsigned(), column.unsigned()))

    def name(self, slice_):
        return tuple(self.head["labels"][slice_[2]])

    def thread(self, number):
        return next(t for t in self.head["tracks"] if t["kind"] == "thread" and t["thread"] == number)


def make_page(fxt, trace, *options):
    page = trace + ".html"
    subprocess.run([fxt, "report", "--html", page, *options, trace], check=True)
    return page


# -- Made traces ---------------------------------------------------------------------------------------

def check_levels(row):
    """Each level is the row once more, in fewer runs."""
    slices = row[-1]["list"]
    same("width of the last level", 0, row[-1]["width"])
    before = None
    for level in row[:-1]:
        if before:
            same("width", before // 4, level["width"])
        before = level["width"]
        at = 0
        for begin, end, name, count, longest in level["list"]:
            part = slices[at:at + count + 1]
            at += count + 1
            lengths = [one[1] - one[0] for one in part]
            same("begin of a run", part[0][0], begin)
            same("end of a run", max(one[1] for one in part), end)
            same("the longest of a run", max(lengths), longest)
            same("name of a run", True, name in [one[2] for one, ns in zip(part, lengths) if ns == longest])
            if count:
                same("lengths in a run", True, longest < before or part[0][1] - part[0][0] < before)
        same("slices of a level", len(slices), at)
        same("a level is worth it", True, level["count"] <= len(slices) // 2)


def check_thread(page, first, thread, model):
    track = page.thread(thread.tid)
    found, opens = [], []
    for depth, row in enumerate(track["rows"]):
        last = -1
        for begin, end, *rest in row[-1]["list"]:
            same("order in a row", True, begin >= last)
            last = end
        check_levels(row)
        for slice_ in row[-1]["list"]:
            key = (slice_[0] + first, slice_[1] + first, page.name(slice_))
            if slice_[3] & 1:
                opens.append((key[0], key[2]))
            else:
                found.append(key + (tuple(slice_[4]),) + ((depth,) if not thread.open else ()))
    wanted = []
    for call in thread.calls:
        args = tuple((name, value) for name, (kind, value) in call.args)
        wanted.append((call.begin, call.end, call.name, args) + ((call.depth,) if not thread.open else ()))
    same("calls of thread %d" % thread.tid, sorted(wanted), sorted(found))
    same("open calls", sorted(thread.open), sorted(opens))
    moments = [one[0] + first for row in track["moments"] for one in row[-1]["list"]]
    same("moments", thread.instants, sorted(moments))


def check_made(page, model):
    head, first = page.head, page.head["first_ns"]
    for thread in model.threads:
        if thread.calls or thread.open or thread.instants:
            check_thread(page, first, thread, model)
    tids = [track.get("thread") for track in head["tracks"]]
    arrows = sorted((a + first, b + first, tids[c], tids[d]) for a, b, c, d, _ in page.arrows)
    same("arrows", sorted((a, b, c.tid, d.tid) for a, b, c, d in model.arrows), arrows)
    counters = {t["label"]: [(ns + first, value) for ns, value in t["list"]]
                for t in head["tracks"] if t["kind"] == "counter"}
    same("points", {name + ", v": sorted(points) for name, points in model.points.items()},
         {name: sorted(points) for name, points in counters.items()})
    runs = [[int(track["label"].split()[1]), one[0] + first, one[1] + first] for track in head["tracks"]
            if track["kind"] == "processor" for row in track["rows"] for one in row[-1]["list"]]
    same("processors", sorted(one[:3] for one in model.switches), sorted(runs))
    lives = [(track["process"], one[0] + first, one[1] + first) for track in head["tracks"]
             if track["kind"] == "lifetimes" for row in track["rows"] for one in row[-1]["list"]]
    same("lifetimes", sorted(model.lifetimes), sorted(lives))
    same("left out", 0, head["left_out"])


def check_limit(fxt, trace, model, most):
    """With a limit, the shortest are left out, and counted."""
    page = Page(make_page(fxt, trace, "--slices=%d" % most))
    least, kept, lengths = page.head["least_ns"], [], []
    for track in page.head["tracks"]:
        if track["kind"] in ("thread", "processor"):
            kept += [one[1] - one[0] for row in track["rows"] for one in row[-1]["list"] if not one[3] & 1]
    for thread in model.threads:
        lengths += [call.end - call.begin for call in thread.calls]
    lengths += [one[2] - one[1] for one in model.switches]
    same("what a limit keeps", Counter(ns for ns in lengths if ns >= least), Counter(kept))
    same("the limit", True, len(kept) <= most)
    opens = sum(len(thread.open) for thread in model.threads)
    moments = sum(len(thread.instants) for thread in model.threads)
    if least:
        lost = sum(ns < least for ns in lengths) + moments
        found = page.head["left_out"]
        lives = sum(end - begin < least for _, begin, end in model.lifetimes)
        same("what a limit leaves out", True, lost + lives <= found <= lost + lives + opens)


def check_cut(fxt, trace, model, bytes_):
    """A trace that is cut within a record: the page has what is before, and says so."""
    model.write(trace)
    with open(trace, "r+b") as file:
        file.truncate(file.seek(0, 2) - bytes_)
    page = trace + ".html"
    ended = subprocess.run([fxt, "report", "--html", page, trace], capture_output=True, check=False)
    same("exit status for a trace that is cut", 1, ended.returncode)
    page = Page(page)
    same("a trace that is cut is whole", False, page.head["is_whole"])
    known = Counter((call.begin, call.end) for thread in model.threads for call in thread.calls)
    found = Counter((one[0] + page.head["first_ns"], one[1] + page.head["first_ns"])
                    for track in page.head["tracks"] if track["kind"] == "thread"
                    for row in track["rows"] for one in row[-1]["list"] if not one[3] & 1)
    same("calls before the cut", known, known | found)
    same("calls that a cut leaves", sum(known.values()) - 1, sum(found.values()))


def made(fxt, seed, rounds):
    skeletons = set()
    draw = random.Random(seed)
    for number in range(rounds):
        long_row = draw.choice((0, 0, draw.randint(4097, 9000))) if number else draw.randint(4097, 9000)
        model = Made(draw.getrandbits(40), draw.choice((0, 5, 300)) if number else 300, long_row)
        trace = "made%d.fxt" % number
        model.write(trace)
        page = Page(make_page(fxt, trace))
        skeletons.add(page.rest_of_it)
        same("a sound trace is whole", True, page.head["is_whole"])
        check_made(page, model)
        check_limit(fxt, trace, model, draw.randint(1, draw.choice((500, 9000))))
        # As many as are at least so long: those of just that length stay.
        least = 2 ** draw.choice((8, 14))
        check_limit(fxt, trace, model, 1 + sum(len(thread.open) for thread in model.threads) + sum(
            call.end - call.begin >= least for thread in model.threads for call in thread.calls))
    check_cut(fxt, "cut.fxt", Made(draw.getrandbits(40), 300), 8 * draw.randint(1, 3))
    # All that is no block is the same in each page: no text of a trace is in the markup.
    same("pages without their blocks", 1, len(skeletons))


# -- In a browser --------------------------------------------------------------------------------------

def check_drawn(b, page, model, draw):
    """What is drawn in a stretch of time, against what the trace has there."""
    head, first = page.head, page.head["first_ns"]
    calls = [call for thread in model.threads for call in thread.calls]
    for number in range(8):
        # A stretch around a call or an arrow, of any width.
        begin = draw.choice([call.begin for call in calls] if number % 2 or not model.arrows
                            else [one[0] for one in model.arrows]) - first
        width = 10 ** draw.uniform(2, 7)
        a, z = int(begin - width * draw.random()), int(begin + width)
        b.run("fxt.keep = true; fxt.view.top = 0; fxt.look(%d, %d); fxt.draw()" % (a, max(z, a + 50)))
        view = b.run("({from: fxt.view.from, to: fxt.view.to, gutter: fxt.view.gutter, "
                     "width: fxt.view.width, height: fxt.view.height})")
        picture = b.run("fxt.picture()")
        per_ns = (view["width"] - view["gutter"]) / (view["to"] - view["from"])
        truth = {}
        for thread in model.threads:
            truth[thread.tid] = Counter((call.begin - first, call.end - first) for call in thread.calls)
        lanes = Counter()
        for one in picture["slices"]:
            track = head["tracks"][one["track"]]
            if track["kind"] != "thread" or one["kind"] != "slices":
                continue
            lanes[track["thread"], one["depth"]] += one["count"]
            if one["count"] == 1 and not model_opens(model, track["thread"]):
                same("what is drawn is in the trace", True,
                     (one["begin"], one["end"]) in truth[track["thread"]])
            x = view["gutter"] + (one["begin"] - view["from"]) * per_ns
            same("its place", True, abs(max(x, view["gutter"] - 2) - one["x"]) < 0.6)
        # Whatever is two pixels wide or more is there, in each lane that is in the picture.
        for thread in model.threads:
            depths = {d for t, d in lanes if t == thread.tid}
            drawn = {(one["begin"], one["end"]) for one in picture["slices"]
                     if head["tracks"][one["track"]].get("thread") == thread.tid}
            for call in thread.calls:
                at, end = call.begin - first, call.end - first
                if not thread.open and call.depth in depths and at < view["to"] and end > view["from"] and \
                        (min(end, view["to"]) - max(at, view["from"])) * per_ns > 2:
                    same("a wide call is drawn", True, (at, end) in drawn)
        check_pixels(b, picture, view, draw)
        tids = [track.get("thread") for track in head["tracks"]]
        arrows = {(x - first, y - first, c.tid, d.tid) for x, y, c, d in model.arrows}
        for one in picture["arrows"]:
            same("an arrow is in the trace", True,
                 (one["from"], one["to"], tids[one["fromTrack"]], tids[one["toTrack"]]) in arrows)
            for x, ns in (one["x1"], one["from"]), (one["x2"], one["to"]):
                same("an arrow's end", True,
                     abs(x - view["gutter"] - (ns - view["from"]) * per_ns) < 0.6)
        seen = sum(x - first <= view["to"] and y - first >= view["from"] for x, y, _, _ in model.arrows)
        same("arrows in this time", seen, picture["arrowsInTime"])


def model_opens(model, tid):
    return next(thread.open for thread in model.threads if thread.tid == tid)


def check_pixels(b, picture, view, draw):
    """Ten of the calls that are drawn have their colour on the canvas."""
    wide = [one for one in picture["slices"] if one["kind"] == "slices" and one["width"] > 3 and
            one["y"] > 40 and one["y"] + one["height"] < view["height"] and one["x"] >= view["gutter"]]
    background = b.run("Array.from(document.getElementById('picture').getContext('2d')"
                       ".getImageData(fxt.view.width - 20, 8, 1, 1).data)")
    for one in draw.sample(wide, min(10, len(wide))):
        pixel = b.run("Array.from(document.getElementById('picture').getContext('2d').getImageData("
                      "%d, %d, 1, 1).data)" % (one["x"] + 1, one["y"] + 3))
        same("a pixel of a call", True, pixel != background)


def check_hands(b, page, model, draw):
    """A click shows the call's arguments; a search counts what the trace has."""
    threads = [thread for thread in model.threads if thread.calls and not thread.open]
    for thread in threads * 3:
        call = draw.choice(thread.calls)
        track = page.head["tracks"].index(page.thread(thread.tid))
        row = page.head["tracks"][track]["rows"][call.depth][-1]["list"]
        index = next(i for i, one in enumerate(row)
                     if one[0] + page.head["first_ns"] == call.begin)
        shown_rows = b.run(
            "(async () => { const t = fxt.tracks()[%d], r = t.rows[%d];"
            "await fxt.select(fxt.thingOf(t, r, r[r.length - 1], %d));"
            "return [...document.querySelectorAll('#selection tr')].map((e) => "
            "[...e.children].map((c) => c.textContent)); })()" % (track, call.depth, index))
        names = [name for name, _ in call.args]
        found = [one for one in shown_rows if one[0] in names]
        same("arguments that are shown", sorted(names), sorted(one[0] for one in found))
        for name, (kind, value) in call.args:
            if kind in ("int32", "int64", "uint32", "uint64", "koid", "string"):
                same("an argument", True, [name, str(value)] in found)
        same("the title", "%s (%s)" % (call.name[1], call.name[0]),
             b.run("document.querySelector('#selection h2').textContent"))
    for word in draw.sample(["read", "stolen", "write", "<", "script"], 3):
        names = sum(word in ("%s:%s" % page.name(one)).lower() for track in page.head["tracks"]
                    for row in track["rows"] + track["moments"] for one in row[-1]["list"])
        b.run("fxt.search(%s)" % json.dumps(word))
        told = b.run("document.getElementById('hits').textContent")
        same("hits of " + word, "%d found" % names, told.replace("\u2009", ""))
    b.run("fxt.search('')")


def check_keys(b):
    """w zooms in, s out, d goes on, and a back."""
    b.run("document.activeElement.blur(); fxt.look(1000, 51000)")
    spans = {"w": lambda old, new: new[1] - new[0] < old[1] - old[0],
             "s": lambda old, new: new[1] - new[0] > old[1] - old[0],
             "d": lambda old, new: new[0] > old[0], "a": lambda old, new: new[0] < old[0]}
    for key, holds in spans.items():
        old = b.run("[fxt.view.from, fxt.view.to]")
        b.ask("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
        b.run("new Promise((done) => { const look = () => (fxt.view.from !== %r || fxt.view.to !== %r"
              " ? done(1) : requestAnimationFrame(look)); look(); })" % tuple(old))
        b.ask("Input.dispatchKeyEvent", type="keyUp", key=key)
        same("key " + key, True, holds(old, b.run("[fxt.view.from, fxt.view.to]")))


def draw_them(fxt, seed):
    draw = random.Random(seed)
    with browser.Browser() as b:
        for number in range(3):
            model = Made(draw.getrandbits(40), 300, draw.choice((0, draw.randint(4097, 9000))))
            trace = "drawn%d.fxt" % number
            model.write(trace)
            page = Page(make_page(fxt, trace))
            b.size(draw.randint(320, 1600), draw.randint(600, 1000))
            b.dark(draw.random() < 0.5)
            b.open(trace + ".html")
            check_drawn(b, page, model, draw)
            check_hands(b, page, model, draw)
            check_keys(b)
            for tab in range(b.run("document.querySelectorAll('#tabs button').length")):
                b.run("document.querySelectorAll('#tabs button')[%d].click(); fxt.draw()" % tab)
            # This test reads pixels back, which the browser finds slow.
            same("what the browser says is wrong", [],
                 [one for one in b.errors if "willReadFrequently" not in one])
            same("scripts that a name has begun", None, b.run("window.stolen || null"))
            same("elements that a name has made", 0,
                 b.run("document.querySelectorAll('img, svg, b, iframe, script[src]').length"))


# -- Recorded traces -----------------------------------------------------------------------------------

def real(fxt, traces):
    for trace in traces:
        page = Page(make_page(fxt, trace))
        lines = subprocess.run([fxt, "dump", "--json", trace], check=True, capture_output=True).stdout
        wanted, ends, starts = Counter(), 0, 0
        for line in lines.splitlines():
            record = json.loads(line)
            if record["type"] == "complete":
                wanted[record["tid"], record["time"], record["time"] + record["duration"],
                       record["category"], record["name"]] += 1
            ends += record["type"] == "flow-end"
        found = Counter()
        for track in page.head["tracks"]:
            for row in track["rows"] if track["kind"] == "thread" else []:
                check_levels(row)
                for one in row[-1]["list"]:
                    if not one[3] & 1:
                        found[(track["thread"], one[0] + page.head["first_ns"],
                               one[1] + page.head["first_ns"]) + page.name(one)] += 1
        same(trace + ": calls", wanted, found)
        same(trace + ": arrows", ends, page.head["arrows"] + page.head["arrows_without_begin"])
        report = json.loads(subprocess.run([fxt, "report", "--json", trace], check=True,
                                           capture_output=True).stdout)
        same(trace + ": findings", [(one["handle"], one["what"]) for one in report["findings"]],
             [(one["handle"], one["what"]) for one in page.head["findings"]][:len(report["findings"])])
        peaks = {heap["pid"]: heap["peak_bytes"] for heap in report["heap"]} if "heap" in report else {}
        for track in page.head["tracks"]:
            if track["label"] == "heap in use, bytes" and track["process"] in peaks:
                same(trace + ": peak of the heap", peaks[track["process"]],
                     max(value for _, value in track["list"]))


if sys.argv[2] == "--real":
    real(sys.argv[1], sys.argv[3:])
elif sys.argv[3] == "draw":
    draw_them(sys.argv[1], int(sys.argv[2]))
else:
    made(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
print(comparisons, "comparisons")
