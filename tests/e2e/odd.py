"""Makes a trace of odd names, strings, numbers and orders, of each kind of record.

    odd.py SEED >FILE
    odd.py SEED losses >FILE     one of a process that has lost records now and then
    odd.py SEED halves >FILE     one of arrows and lifetimes whose ends stand before or behind their begins
"""
import random
import struct
import sys

import hostile


def losses(rnd):
    """A thread tells at the end of a window how many records it has dropped in it; a counter has the sum."""
    names = [b'agent', b'lost', b'records', b'ns', b'dropped', b'io', b'read', b'ret']
    number = {name: index for index, name in enumerate(names, 1)}
    out, at, dropped = bytearray(hostile.HEAD), rnd.randrange(1 << 40), 0
    for index in range(1, 4):
        out += hostile.thread(index, 7, 6 + index)
    for index, text in enumerate(names, 1):
        out += hostile.string(index, text)
    for _ in range(rnd.randrange(2000, 4000)):
        at += rnd.randrange(1, 1000)
        if rnd.randrange(100):
            out += hostile.event(4, at, number[b'io'], number[b'read'], rnd.randrange(1, 4), extra=at + 1,
                                 args=[hostile.argument(4, number[b'ret'], rnd.getrandbits(40))])
        else:
            records = rnd.randrange(1, 1000)
            dropped += records
            out += hostile.event(0, at, number[b'agent'], number[b'lost'], rnd.randrange(1, 4),
                                 args=[hostile.argument(4, number[b'records'], records),
                                       hostile.argument(4, number[b'ns'], rnd.choice([1, 500, 20000]))])
    dropped += rnd.choice([0, rnd.randrange(1000)])
    out += hostile.event(1, at + 1, number[b'agent'], number[b'dropped'], 1,
                         args=[hostile.argument(4, number[b'records'], dropped)], extra=1)
    sys.stdout.buffer.write(out)


def halves(rnd):
    """Of some the begin or the end alone is there."""
    out, halves = bytearray(hostile.HEAD), []
    out += hostile.thread(1, 7, 7) + hostile.thread(2, 7, 8)
    out += hostile.string(1, b'agent') + hostile.string(2, b'name')
    for ident in rnd.sample(range(1, 1 << 16), 400):
        begin, end = rnd.choice([(5, 7), (8, 10)])
        halves += [(kind, ident) for kind in rnd.choice([(begin, end)] * 6 + [(begin,), (end,)])]
    rnd.shuffle(halves)
    for at, (kind, ident) in enumerate(halves, 1000):
        out += hostile.event(kind, at, 1, 2, rnd.choice([1, 2]), extra=ident)
    sys.stdout.buffer.write(out)


def main():
    rnd = random.Random(sys.argv[1])
    if sys.argv[2:] == ['halves']:
        halves(rnd)
        return
    if sys.argv[2:] == ['losses']:
        losses(rnd)
        return
    texts = [b'plain', b'', b'"quoted"', b'back\\slash', b'new\nline', b'tab\t', b'\xff\xfe', b'caf\xc3\xa9',
             b'\x01\x7f', b'int', b'struct', b'event', b'a b', b'a-b', b'a_b', b'_under', b'9digit',
             b'x' * 300, b'ret', b'errno', b'stack', b'id', b'fxt_kind', b'nul\0nul', b'{ } ( ) , = :',
             b'%s%n', '\u4e16\u754c'.encode()]
    names = [t for t in texts if b'\n' not in t]
    out = bytearray(hostile.HEAD)
    for index in range(1, 4):
        out += hostile.thread(index, rnd.choice([7, 7, 1 << 33]), 6 + index)
    for index, text in enumerate(texts, 1):
        out += hostile.string(index, text)
    number = {text: index for index, text in enumerate(texts, 1)}

    def argument(used):
        name = rnd.choice([n for n in names if n not in used])
        used.add(name)
        kind = rnd.randrange(10)
        big = rnd.choice([0, 1, 1 << 31, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, rnd.getrandbits(64)])
        head = kind | number[name] << 16
        if kind in (0, 1, 2, 9):
            return hostile.words(head | 1 << 4 | (0 if kind == 0 else big & 1 if kind == 9 else
                                                  big & 0xffffffff) << 32)
        if kind == 6:
            return hostile.words(head | 1 << 4 | number[rnd.choice(texts)] << 32)
        if kind == 5:
            big, = struct.unpack('<Q', struct.pack('<d', rnd.choice([0.5, -1e300, 3.0, rnd.random()])))
        return hostile.words(head | 2 << 4, big)

    def arguments():
        used = set()
        return [argument(used) for _ in range(rnd.choice([0, 1, 2, 3, 15]))]

    def event(kind, at, extra=None, thread=None):
        return hostile.event(kind, at, number[rnd.choice(names)], number[rnd.choice(names)],
                             thread or rnd.randrange(1, 4), args=arguments(), extra=extra)

    at = rnd.randrange(1, 1 << 50)
    for _ in range(rnd.randrange(200, 2000)):
        at += rnd.choice([0, 0, 1, 1000, 1 << 20])
        kind = rnd.randrange(15)
        if kind == 4:
            out += event(4, at - rnd.choice([0, 0, 1, 10, 100000]) if at > 100000 else at, at)
        elif kind in (2, 3):
            out += event(kind, at)
        elif kind == 0:
            out += event(0, at)
        elif kind <= 10:
            out += event(kind, at, rnd.getrandbits(64))
        elif kind == 11:
            text = rnd.choice(texts)
            body = hostile.padded(text)
            out += hostile.words(9 | 2 + len(body) // 8 << 4 | len(text) << 16 | 1 << 32, at) + body
        elif kind == 12:
            body = hostile.padded(rnd.choice(texts))
            out += hostile.words(5 | 1 + len(body) // 8 << 4 | number[rnd.choice(texts)] << 16 |
                                 len(body) << 32 | 1 << 48) + body
        elif kind == 13:
            state, cpu = rnd.randrange(6), rnd.randrange(4)
            out += hostile.words(8 | 2 << 4 | cpu << 16 | state << 24 | 1 << 28 | 2 << 36, at)
        else:
            args = arguments()
            body = b''.join(args)
            out += hostile.words(8 | 4 + len(body) // 8 << 4 | len(args) << 16 | rnd.randrange(4) << 20 |
                                 rnd.randrange(6) << 36 | 1 << 60, at, rnd.randrange(12),
                                 rnd.randrange(12)) + body
    sys.stdout.buffer.write(out)


if __name__ == '__main__':
    main()
