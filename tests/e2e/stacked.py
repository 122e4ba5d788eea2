"""Makes a trace with call stacks, of which every figure is known.

    stacked.py >FILE

The program `bank` leaks what load() asks for by way of xstrdup(), frees what parse() asks for, waits for a
lock that audit() holds, and takes a lock again that it has.
"""
import random
import sys

sys.dont_write_bytecode = True
from hostile import (ASYNC, BEGIN, COMPLETE, HEAD, INSTANT, INT, LONG, NODES, POINTER, TEXT, Writer)

w = Writer(0, random.Random(1), 2)


def stack(first, *functions):
    """Writes a stack, the innermost function first, and returns how events name it."""
    for i, function in enumerate(functions):
        name, _, module = function.partition('@')
        caller = [(POINTER, 'parent', NODES + first + i + 1)] if i + 1 < len(functions) else []
        w.frame(NODES + first + i, name, caller + [(TEXT, 'module', module or '/opt/bank'),
                                                   (LONG, 'offset', 16 * (first + i))])
    return (POINTER, 'stack', NODES + first)


def at(time, *event, **more):
    w.time = time
    w.put(*event, **more)


AGENT, LIBC = '@/usr/lib/libfxtagent.so.0', '@/lib/libc.so.6'
leak = stack(1, 'malloc' + AGENT, 'xmalloc', 'xstrdup', 'load(char const*)', 'main', '_start')
freed = stack(10, 'malloc' + AGENT, 'operator new(unsigned long)', 'std::string::append(char)', 'parse',
              'main')
lock = stack(20, 'pthread_mutex_lock' + AGENT, 'std::mutex::lock()', 'account_lock', 'withdraw', 'main')
unlock = stack(30, 'pthread_mutex_unlock' + AGENT, 'account_unlock', 'audit', 'start_thread' + LIBC)
missing = stack(40, 'open' + AGENT, 'fopen' + LIBC, 'load(char const*)', 'main')

for n in range(20):
    at(1000 + n, ASYNC, 'malloc', 'heap sample',
       [(POINTER, 'ptr', 64 * n), (LONG, 'size', 100), (LONG, 'stands_for', 65586), leak], extra=n)
for n in range(3):
    at(2000 + n, ASYNC, 'malloc', 'heap block',
       [(POINTER, 'ptr', 1 << 20), (LONG, 'size', 100000), freed], extra=100 + n)
    if n != 1:
        at(2100 + n, ASYNC + 2, 'malloc', 'heap block', extra=100 + n)
at(2200, ASYNC + 2, 'malloc', 'heap block', extra=101)
MUTEX = (POINTER, 'mutex', 64)
at(2000000, INSTANT, 'pthread', 'unlocked', [MUTEX, unlock], index=2)
at(1000000, COMPLETE, 'pthread', 'pthread_mutex_lock',
   [MUTEX, (TEXT, 'at', 'account_lock'), (TEXT, 'held_at', 'account_lock'), lock], lasts=1000100)
at(3000000, COMPLETE, 'fd', 'open', [(INT, 'ret', 0xffffffff), (INT, 'errno', 2), missing])
at(4000000, BEGIN, 'pthread', 'pthread_mutex_lock', [MUTEX])
at(4000010, INSTANT, 'pthread', 'blocked', [lock])
at(4000020, INSTANT, 'agent', 'contended', [MUTEX, (TEXT, 'at', 'account_lock'), (LONG, 'holder', 7)])
at(5000000, COMPLETE, 'time', 'nanosleep', index=2)
sys.stdout.buffer.write(HEAD + w.out)
