"""Makes traces that may cost a reader far more than their length would.

    hostile.py KIND BYTES SEED >FILE    makes a trace of this kind, of about so many bytes
    hostile.py list                     names the kinds of which a few megabytes are enough

The kind `long`, which is not listed, is an ordinary trace.
"""
import array
import random
import struct
import sys


def words(*values):
    return b''.join(struct.pack('<Q', v & (1 << 64) - 1) for v in values)


def padded(text):
    return text.ljust((len(text) + 7) // 8 * 8, b'\0')


def provider(number, name=b''):
    return words(1 + len(padded(name)) // 8 << 4 | 1 << 16 | number << 20 | len(name) << 52) + padded(name)


def string(index, text):
    return words(2 | 1 + len(padded(text)) // 8 << 4 | index << 16 | len(text) << 32) + padded(text)


def thread(index, process, number):
    return words(3 | 3 << 4 | index << 16, process, number)


def event(kind, time, category, name, index=0, koids=None, args=(), extra=None, inline=b''):
    body = words(time) + (words(*koids) if koids else b'') + inline + b''.join(args)
    body += words(extra) if extra is not None else b''
    return words(4 | 1 + len(body) // 8 << 4 | kind << 16 | len(args) << 20 | index << 24 | category << 32 |
                 name << 48) + body


HEAD = words(0x0016547846040010) + provider(1, b'p') + words(1 | 2 << 4, 10**9)
# ASYNC + 2 and FLOW + 2 are the ends.
INSTANT, COUNTER, BEGIN, END, COMPLETE, ASYNC, FLOW = 0, 1, 2, 3, 4, 5, 8
INT, LONG, TEXT, POINTER = 1, 4, 6, 7


def argument(kind, name, value):
    """Returns an argument; its name, and its value if that is text, are indices of registered strings."""
    if kind in (INT, TEXT):
        return words(kind | 1 << 4 | name << 16 | value << 32)
    return words(kind | 2 << 4 | name << 16, value)


class Writer:
    """A trace that grows until it has its size; names are registered when they are first used."""

    def __init__(self, size, rnd, indexed=1):
        self.out, self.size, self.rnd, self.known, self.time = bytearray(), size, rnd, {}, 1000
        for index in range(1, indexed + 1):
            self.out += thread(index, 7, 6 + index)

    def more(self):
        self.time += self.rnd.randrange(1, 5000)
        return len(self.out) < self.size

    def name(self, text):
        if text not in self.known:
            self.known[text] = len(self.known) + 1
            self.out += string(self.known[text], text.encode())
        return self.known[text]

    def put(self, kind, category, name, args=(), index=1, koids=None, lasts=3000, extra=None):
        args = [argument(kind, self.name(what), self.name(value) if kind == TEXT else value)
                for kind, what, value in args]
        if kind == COMPLETE:
            extra = self.time + lasts
        self.out += event(kind, self.time, self.name(category), self.name(name), index, koids, args, extra)

    def frame(self, node, name, args):
        """Writes a node of a call stack; a node of 0 is none."""
        args = [argument(kind, self.name(what), self.name(value) if kind == TEXT else value)
                for kind, what, value in [(TEXT, 'type', 'frame')] + args]
        n, body = self.name(name) if name else 0, words(node) + b''.join(args)
        self.out += words(6 | 1 + len(body) // 8 << 4 | 1 << 16 | n << 24 | len(args) << 40) + body


def half_events(size, rnd, args=()):
    """Returns half of a file: events that refer to strings and a thread, which the other half redefines."""
    out = bytearray(string(1, b'malloc') + string(2, b'malloc') + string(5, b'xa') + thread(1, 7, 7))
    time = 1000
    while len(out) < size // 2:
        time += rnd.randrange(60, 200)
        out += event(COMPLETE, time, 1, 2, 1, args=args, extra=time + 50)
    return out


def redefined_string(size, rnd):
    out = half_events(size, rnd, [words(1 | 1 << 4 | 5 << 16 | n << 32) for n in range(rnd.randrange(1, 16))])
    while len(out) < size:
        out += string(5, b'%d' % rnd.randrange(3))
    return out


def redefined_thread(size, rnd):
    out = half_events(size, rnd)
    while len(out) < size:
        out += thread(1, 7, 7 + rnd.randrange(3))
    return out


def colliding(size, rnd):
    """All koids have the same value in a hash without a key that multiplies and takes the exclusive or."""
    out = bytearray(string(1, b'a') + string(2, b'b'))
    factor = 0x9e3779b97f4a7c15
    number = rnd.randrange(1 << 32)
    while len(out) < size:
        number += 1
        out += event(INSTANT, 1000 + number, 1, 2, 0, (number, number * factor))
    return out


def threads(size, rnd):
    out = bytearray(string(1, b'a') + string(2, b'b'))
    time = 0
    while len(out) < size:
        time += 1
        out += event(INSTANT, time, 1, 2, 0, (rnd.randrange(1 << 48), time))
    return out


def names(size, rnd):
    out = bytearray(string(1, b'a') + thread(1, 7, 7))
    time = 1000
    while len(out) < size:
        time += 10
        out += event(COMPLETE, time, 1, 0x8008, 1, inline=struct.pack('<Q', rnd.getrandbits(64)),
                     extra=time + 5)
    return out


def backwards(size, rnd):
    out = bytearray(string(1, b'malloc') + string(2, b'malloc') + thread(1, 7, 7))
    for number in range(size // 32, 0, -1):
        start = number * 100 + rnd.randrange(40)
        out += event(COMPLETE, start, 1, 2, 1, extra=start + 50)
    return out


def providers(size, rnd):
    out = bytearray()
    number = 1
    while len(out) < size:
        number += 1
        out += provider(number) + string(rnd.randrange(1, 0x8000), b'a') + thread(rnd.randrange(1, 256), 7, 7)
    return out


def open_calls(size, rnd):
    out = bytearray(string(1, b'a') + string(2, b'b') + thread(1, 7, 7))
    time = 1000
    while len(out) < size:
        time += rnd.randrange(1, 9)
        out += event(BEGIN, time, 1, 2, 1)
    return out


def links(size, rnd):
    """Most asyncs and flows begin and never end, or end and never began."""
    out = bytearray(string(1, b'a') + string(2, b'b') + thread(1, 7, 7))
    time = 1000
    while len(out) < size:
        time += 10
        out += event(rnd.choice((ASYNC, ASYNC + 2, FLOW, FLOW + 2)), time, 1, 2, 1,
                     extra=rnd.getrandbits(rnd.choice((2, 64))))
    return out


def categories(size, rnd):
    """Each event has a category of its own."""
    w = Writer(size, rnd)
    while w.more():
        w.out += event(COMPLETE, w.time, 0x8008, w.name('b'), 1,
                       inline=struct.pack('<Q', rnd.getrandbits(64)), extra=w.time + 5)
    return w.out


def waiters(size, rnd):
    """Each thread waits for a lock that the next one holds, or in rare cases the first, in a circle."""
    w = Writer(size, rnd)
    first = len(w.out)
    while w.more():
        number = len(w.out)     # the next thread's is larger by 112, the bytes that a thread takes
        koids = (7, number)
        w.put(BEGIN, 'pthread', 'pthread_mutex_lock', [(POINTER, 'mutex', number)], 0, koids)
        after = first if w.rnd.randrange(10000) == 0 else number + 112
        w.put(INSTANT, 'agent', 'contended', [(POINTER, 'mutex', number), (LONG, 'holder', after)], 0, koids)
    return w.out


def accepted(size, rnd):
    """Each connection was accepted on the connection before it."""
    w = Writer(size, rnd)
    peer = 'p' * rnd.randrange(1, 512)
    while w.more():
        w.put(COMPLETE, 'net', 'accept', [(INT, 'sockfd', 5), (TEXT, 'addr', peer), (INT, 'ret', 5)])
        w.put(COMPLETE, 'fd', 'read', [(INT, 'fd', 5)])
    return w.out


def objects(size, rnd):
    """All objects have the same long name."""
    w = Writer(size, rnd)
    name = w.name('mutex of ' + 'n' * rnd.randrange(1, 31000))
    while w.more():
        w.out += words(6 | 2 << 4 | 1 << 16 | name << 24, len(w.out))
    return w.out


def repeated(size, rnd):
    """All calls have the same long text as an argument."""
    w = Writer(size, rnd)
    path = 'q' * rnd.randrange(1, 31000)
    while w.more():
        w.put(COMPLETE, 'stdio', rnd.choice(('open', 'fopen', 'other')),
              [(TEXT, 'pathname', path), (INT, 'ret', rnd.randrange(999))])
    return w.out


def children(size, rnd):
    w = Writer(size, rnd)
    while w.more():
        w.put(ASYNC, 'process', 'child', rnd.choice(([], [(INT, 'pid', rnd.randrange(1 << 20))])),
              extra=len(w.out))
    return w.out


def programs(size, rnd):
    """Every event has a program of its own, in which it is an exit, a vfork or an exec."""
    w = Writer(size, rnd)
    number = 1
    while w.more():
        number += 1
        w.known = {}
        w.out += provider(number)
        w.put(rnd.choice((INSTANT, COMPLETE)), 'process', rnd.choice(('_exit', 'vfork', 'execve')), [], 0,
              (number, number))
    return w.out


def descriptors(size, rnd):
    w = Writer(size, rnd)
    path = 'q' * rnd.randrange(1, 600)
    while w.more():
        w.put(ASYNC, 'fd', 'file', [(INT, 'fd', rnd.randrange(9, 99)), (TEXT, 'call', 'open'),
                                    (TEXT, 'path', path)],
              extra=len(w.out))
    return w.out


def logs(size, rnd):
    w = Writer(size, rnd)
    while w.more():
        w.out += words(9 | 3 << 4 | 8 << 16 | 1 << 32, w.time) + b'said %03d' % rnd.randrange(1000)
    return w.out


def nested(size, rnd):
    """Threads take many locks within each other, in any order, and give them up in any order or never."""
    indexed, number = rnd.randrange(2, 200), 1 << rnd.randrange(3, 12)
    w = Writer(size, rnd, indexed)
    for lock in range(min(number, size // 300)):
        w.put(COMPLETE, 'pthread', 'pthread_mutex_init', [(POINTER, 'mutex', lock * 64)])
    while w.more():
        index, depth = rnd.randrange(1, indexed + 1), rnd.randrange(2, 34)
        locks = [rnd.randrange(number) * 64 for _ in range(depth)]
        for lock in locks:
            w.put(COMPLETE, 'pthread', 'pthread_mutex_lock', [(POINTER, 'mutex', lock)], index, lasts=0)
            w.more()
        rnd.shuffle(locks)
        for lock in locks[rnd.randrange(2):]:
            w.put(COMPLETE, 'pthread', 'pthread_mutex_unlock', [(POINTER, 'mutex', lock)], index, lasts=0)
            w.more()
    return w.out


def gated(size, rnd):
    """Each two locks are taken in both orders, but never without one that all threads take before."""
    indexed, number = rnd.randrange(2, 9), rnd.randrange(20, 200)
    w = Writer(size, rnd, indexed)
    for lock in range(number + 1):
        w.put(COMPLETE, 'pthread', 'pthread_mutex_init', [(POINTER, 'mutex', lock * 64)])
    while w.more():
        index, locks = rnd.randrange(1, indexed + 1), rnd.sample(range(1, number), 2)
        for name, order in ('lock', [0, *locks]), ('unlock', [*locks, 0]):
            for lock in order:
                w.put(COMPLETE, 'pthread', 'pthread_mutex_' + name, [(POINTER, 'mutex', lock * 64)], index,
                      lasts=0)
                w.more()
    return w.out


def allocated(size, rnd):
    """Every block that is allocated has all locks in it."""
    w = Writer(size, rnd, 2)
    number = 0
    while w.more() and number < size // 800:
        number += 1
        for index in 1, 2:
            locks = [128 * number, 128 * number + 64][::1 if index == 1 else -1]
            for name in 'lock', 'unlock':
                for lock in locks:
                    w.put(COMPLETE, 'pthread', 'pthread_mutex_' + name, [(POINTER, 'mutex', lock)], index,
                          lasts=0)
                    w.more()
    while w.more():
        w.put(COMPLETE, 'malloc', 'malloc', [(LONG, 'size', 1 << 60), (POINTER, 'ret', 8)], lasts=0)
    return w.out


def gaps(size, rnd):
    """One program has many blocks and streams, and recording of another one starts again and again."""
    w = Writer(size, rnd)

    def allocate_and_open():
        w.put(COMPLETE, 'malloc', 'malloc', [(LONG, 'size', 8), (POINTER, 'ret', len(w.out))], lasts=0)
        w.more()
        w.put(COMPLETE, 'stdio', 'fopen', [(TEXT, 'pathname', 'p'), (POINTER, 'ret', len(w.out))], lasts=0)

    while w.more() and len(w.out) < size // 2:
        allocate_and_open()
    w.out += provider(2) + words(1 | 2 << 4, 10**9) + thread(1, 8, 8)
    w.known = {}
    while w.more():
        allocate_and_open()
        w.more()
        w.put(INSTANT, 'agent', 'recording started')
    return w.out


NODES = 0x7fe0000000000000
FUNCTIONS = ('main', 'std::f', 'malloc', 'xmalloc', 'my_lock', 'f(int)', 'g<h>()', '_ZN3foo3barEi', '')


def told(w, node):
    """Writes what is told with a stack."""
    rnd, number = w.rnd, len(w.out)
    stack = [(POINTER, 'stack', NODES + node)]
    w.put(ASYNC, 'malloc', rnd.choice(('heap block', 'heap sample', 'mapping')),
          stack + [(LONG, 'size', number), (LONG, 'stands_for', number << 20)], extra=number)
    kind = rnd.randrange(4)
    if kind == 0:
        w.put(BEGIN, 'pthread', 'pthread_mutex_lock', [(POINTER, 'mutex', node)], 0, (7, number))
        w.put(INSTANT, 'pthread', 'blocked', stack, 0, (7, number))
    elif kind == 1:
        w.put(COMPLETE, 'fd', 'open', stack + [(INT, 'errno', rnd.randrange(1, 99))])
    elif kind == 2:
        w.put(INSTANT, 'pthread', 'unlocked', [(POINTER, 'mutex', 8)] + stack)
        w.put(COMPLETE, 'pthread', 'pthread_mutex_lock', [(POINTER, 'mutex', 8), (TEXT, 'at', 'f')] + stack)
    else:
        w.put(ASYNC, 'fd', 'file', stack + [(INT, 'fd', 9), (TEXT, 'call', 'open')], extra=number)


def deep(size, rnd):
    """All call stacks are one chain, of some functions or of one, which is a wrapper or is not."""
    w = Writer(size, rnd)
    functions, node = rnd.sample(FUNCTIONS, rnd.randrange(1, len(FUNCTIONS))), 0
    while w.more():
        node += 1
        w.frame(NODES + node, rnd.choice(functions),
                [(POINTER, 'parent', NODES + node - 1), (TEXT, 'module', '/app'), (LONG, 'offset', node)])
        told(w, node)
    return w.out


def stacks(size, rnd):
    """Recording starts again and again, and call stacks are chains of any length, circles, or not there."""
    w = Writer(size, rnd)
    number = 1 << rnd.randrange(2, 16)
    while w.more():
        w.frame(NODES + rnd.randrange(number), rnd.choice(FUNCTIONS),
                [(POINTER, 'parent', NODES + rnd.randrange(number)), (LONG, 'offset', rnd.randrange(9))])
        told(w, rnd.randrange(number))
        if rnd.randrange(2):
            w.put(INSTANT, 'agent', 'recording started')
    return w.out


CALLS = (('malloc', 'malloc'), ('malloc', 'realloc'), ('malloc', 'free'), ('stdio', 'fopen'),
         ('stdio', 'fclose'), ('fd', 'open'), ('fd', 'read'), ('fd', 'write'), ('fd', 'close'),
         ('fd', 'dup2'), ('fd', 'fcntl'), ('net', 'socket'), ('net', 'accept'), ('net', 'connect'),
         ('net', 'bind'), ('process', 'fork'), ('process', 'vfork'), ('process', 'execve'),
         ('process', 'waitpid'),
         ('process', 'posix_spawn'), ('pthread', 'pthread_mutex_lock'), ('pthread', 'pthread_cond_wait'),
         ('pthread', 'pthread_mutex_unlock'), ('pthread', 'pthread_mutex_init'),
         ('pthread', 'pthread_join'), ('pthread', 'sem_wait'), ('function', '_ZN3foo3barEi'),
         ('agent', 'released'), ('agent', 'resumed'), ('agent', 'contended'), ('agent', 'arrow'),
         ('agent', 'dropped'), ('malloc', 'heap block'), ('malloc', 'heap sample'), ('malloc', 'mapping'),
         ('pthread', 'blocked'), ('pthread', 'unlocked'), ('process', 'child'),
         ('pthread', 'thread'), ('fd', 'file'), ('fd', 'pipe'), ('net', 'connection'), ('log', 'log'))
NAMES = ('fd', 'oldfd', 'newfd', 'sockfd', 'ptr', 'size', 'call', 'path', 'pathname', 'addr', 'stream',
         'mutex', 'cond', 'sem', 'thread', 'ret', 'errno', 'at', 'held_at', 'holder', 'held_ns', 'pid',
         'status', 'signal', 'cpu_ns', 'voluntary', 'function', 'object', 'of', 'cmd', 'arg', 'flags',
         'message', 'reason', 'records', 'ended_by', 'since', 'type', 'stack', 'stands_for')


def mixed(size, rnd):
    """Random events, of all that analyses look at, have few or many different values of each kind."""
    indexed, values = rnd.randrange(1, 200), [1 << rnd.randrange(1, 40) for _ in NAMES]
    w = Writer(size, rnd, indexed)
    calls, kinds = (rnd.sample(CALLS, rnd.randrange(1, len(CALLS))),
                    rnd.sample(range(11), rnd.randrange(1, 11)))
    texts = ['t' * rnd.randrange(1, 1 << rnd.randrange(1, 15)) for _ in range(rnd.randrange(1, 20))]
    new_threads, new_programs, most_args = rnd.random() ** 8, rnd.random() ** 12, rnd.randrange(0, 9)
    number, ids = 1, 1 << rnd.randrange(1, 40)
    while w.more():
        if rnd.random() < new_programs:
            number, w.known = number + 1, {}
            w.out += provider(number) + b''.join(thread(index, number, 6 + index)
                                                 for index in range(1, indexed + 1)[:8])
            indexed = min(indexed, 8)
        args = []
        for what in rnd.sample(range(len(NAMES)), rnd.randrange(most_args + 1)):
            kind = rnd.choice((INT, LONG, TEXT, POINTER))
            value = rnd.choice(texts) if kind == TEXT else rnd.randrange(values[what])
            args.append((kind, NAMES[what], value & 0x7fffffff if kind == INT else value))
        category, name = rnd.choice(calls)
        index, koids = rnd.randrange(1, indexed + 1), None
        if rnd.random() < new_threads:
            index, koids = 0, (7, rnd.randrange(1 << 40))
        kind = rnd.choice(kinds)
        extra = rnd.randrange(ids) if kind == COUNTER or kind >= ASYNC else None
        w.put(kind, category, name, args, index, koids, rnd.randrange(1 << rnd.randrange(1, 20)), extra)
        if rnd.random() < .1:
            w.out += words(6 | 2 << 4 | 1 << 16 | w.name(rnd.choice(texts)) << 24, rnd.randrange(values[4]))
    return w.out


def long(size, rnd):
    """Nothing is wrong with this trace: it has calls, and in each an arrow to itself and a lifetime."""
    out = bytearray(string(1, b'a') + string(2, b'b') + thread(1, 7, 7))
    kinds = (COMPLETE, 0, 8), (FLOW, 0, None), (ASYNC, 1, None), (ASYNC + 2, 2, None), (FLOW + 2, 5, None)
    count, first, step = size // (24 * len(kinds)), rnd.randrange(1 << 40), 20
    events = array.array('Q', bytes(24 * len(kinds) * count))
    for i, (kind, after, until) in enumerate(kinds):
        header, = struct.unpack('<Q', event(kind, 0, 1, 2, 1, extra=0)[:8])
        events[3 * i::3 * len(kinds)] = array.array('Q', [header]) * count
        events[3 * i + 1::3 * len(kinds)] = array.array(
            'Q', range(first + after, first + after + step * count, step))
        extra = (range(1, count + 1) if until is None
                 else range(first + until, first + until + step * count, step))
        events[3 * i + 2::3 * len(kinds)] = array.array('Q', extra)
    return out + events.tobytes()


KINDS = (redefined_string, redefined_thread, colliding, threads, names, backwards, providers, open_calls,
         links, categories, waiters, deep, stacks, accepted, objects, repeated, children, programs,
         descriptors, logs, nested, gated, allocated, gaps, mixed)

if __name__ != '__main__':
    pass                                # stacked.py uses what writes records
elif sys.argv[1] == 'list':
    print(*(kind.__name__ for kind in KINDS))
else:
    make = {kind.__name__: kind for kind in (*KINDS, long)}[sys.argv[1]]
    sys.stdout.buffer.write(HEAD + make(int(sys.argv[2]), random.Random(int(sys.argv[3]))))
