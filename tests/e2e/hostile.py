"""Makes traces whose reading could cost more than they are long. hostile.py KIND BYTES SEED >FILE; hostile.py list names the kinds
that a few megabytes are enough of, and `long` is an ordinary trace."""
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
    return words(4 | 1 + len(body) // 8 << 4 | kind << 16 | len(args) << 20 | index << 24 | category << 32 | name << 48) + body


HEAD = words(0x0016547846040010) + provider(1, b'p') + words(1 | 2 << 4, 10**9)
COMPLETE, INSTANT, BEGIN, ASYNC, FLOW = 4, 0, 2, 5, 8


def half_events(size, rnd, args=()):
    """Events that refer to what is then redefined, for as long as half of the file."""
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
    """Koids that an unkeyed hash of multiplication and exclusive or sends to one place."""
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
        out += event(COMPLETE, time, 1, 0x8008, 1, inline=struct.pack('<Q', rnd.getrandbits(64)), extra=time + 5)
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
    """Asyncs and flows that begin and never end, or end and never began."""
    out = bytearray(string(1, b'a') + string(2, b'b') + thread(1, 7, 7))
    time = 1000
    while len(out) < size:
        time += 10
        out += event(rnd.choice((ASYNC, ASYNC + 2, FLOW, FLOW + 2)), time, 1, 2, 1, extra=rnd.getrandbits(rnd.choice((2, 64))))
    return out


def long(size, rnd):
    """Nothing is wrong with it: calls, and in each an arrow to itself and a lifetime."""
    out = bytearray(string(1, b'a') + string(2, b'b') + thread(1, 7, 7))
    kinds = (COMPLETE, 0, 8), (FLOW, 0, None), (ASYNC, 1, None), (ASYNC + 2, 2, None), (FLOW + 2, 5, None)
    count, first, step = size // (24 * len(kinds)), rnd.randrange(1 << 40), 20
    events = array.array('Q', bytes(24 * len(kinds) * count))
    for i, (kind, after, until) in enumerate(kinds):
        header, = struct.unpack('<Q', event(kind, 0, 1, 2, 1, extra=0)[:8])
        events[3 * i::3 * len(kinds)] = array.array('Q', [header]) * count
        events[3 * i + 1::3 * len(kinds)] = array.array('Q', range(first + after, first + after + step * count, step))
        extra = range(1, count + 1) if until is None else range(first + until, first + until + step * count, step)
        events[3 * i + 2::3 * len(kinds)] = array.array('Q', extra)
    return out + events.tobytes()


KINDS = (redefined_string, redefined_thread, colliding, threads, names, backwards, providers, open_calls, links)

if sys.argv[1] == 'list':
    print(*(kind.__name__ for kind in KINDS))
else:
    make = {kind.__name__: kind for kind in (*KINDS, long)}[sys.argv[1]]
    sys.stdout.buffer.write(HEAD + make(int(sys.argv[2]), random.Random(int(sys.argv[3]))))
