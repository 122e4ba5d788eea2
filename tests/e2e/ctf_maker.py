"""Makes traces in the Common Trace Format 1.8, as LTTng-UST writes them, and what a reader has to find.

    ctf_maker.py DIRECTORY SEED SYMBOLS [STEPS] [rotated]
                        writes traces into the new DIRECTORY, and a model of them to standard output
    ctf_maker.py damage DIRECTORY SEED
                        damages one file of a trace

SYMBOLS is what nm(1) says of a file, with its path in the first line: some functions of the model are its.
A rotated session has lost events, and the packets of its streams are in several directories. The seed
decides on everything else: processes and threads, what they call, how buffers are divided, the form of
headers and of metadata, the byte order, and whether events were lost.
"""
import json
import os
import random
import sys

from ctf_writer import FIELDS, HEAP, LOCK, OFFSET_NS, STATE, Trace


class Program:
    """A program of a process: its heap, as the report has it."""

    def __init__(self, pid, name):
        self.pid, self.name = pid, name
        self.live, self.freed = {}, []
        self.use = self.next = 0
        self.heap = {'pid': pid, 'program': name, 'allocations': 0, 'failed': 0, 'allocated_bytes': 0,
                     'frees': 0, 'unknown_frees': 0, 'peak_bytes': 0}
        self.base = self.tid = 0

    def came(self, block, size):
        self.live[block] = size
        self.use += size
        self.heap['allocations'] += 1
        self.heap['allocated_bytes'] += size
        self.heap['peak_bytes'] = max(self.heap['peak_bytes'], self.use)

    def went(self, block):
        self.heap['frees'] += 1
        if block in self.live:
            self.use -= self.live.pop(block)
            self.freed.append(block)
        else:
            self.heap['unknown_frees'] += 1


class Thread:
    def __init__(self, program, tid, name):
        self.program, self.tid, self.name = program, tid, name
        self.stack = []                 # of [address, call site, begin]
        self.waits = None               # mutex, begin, who held it
        self.holds = []


class Model:
    def __init__(self, seed, path, symbols, rotated):
        self.rng = rng = random.Random(seed)
        self.path = path
        self.seed = seed
        self.ns = rng.randrange(10 ** 9, 10 ** 15)
        self.calls, self.events, self.lost, self.contended = {}, 0, 0, {}
        self.mutexes, self.programs, self.threads, self.logged = {}, [], [], []
        self.by_pid = rng.randrange(2)
        self.is_lossy = rng.randrange(3) == 0 or rotated
        self.fast = rng.choice(['', '_fast'])
        self.cpus = rng.randrange(1, 5)
        self.form = {
            'big': rng.randrange(4) == 0, 'large': rng.randrange(2),
            'packets': rng.randrange(2) or rotated, 'rotated': rotated,
            'packet_bytes': rng.randrange(200, 20000),
            'context': [('s32', 'vpid'), ('s32', 'vtid'), ('comm', 'procname')]}
        self.file, self.symbols = symbols
        env = 'domain = "ust"; tracer_name = "lttng-ust"; tracer_major = 2; tracer_minor = 13; '
        self.traces = {}
        self.env = env
        if not self.by_pid:
            self.traces[0] = Trace(rng, path + '/ust/uid/0/64-bit', env, self.form)
        for i in range(rng.randrange(1, 5)):
            self.start(1000 + 100 * i + rng.randrange(90), 'app%d' % i, [])

    # -- What is in the trace ------------------------------------------------------------------------

    def emit(self, thread, name, *values):
        self.ns += self.rng.randrange(60, 4000)
        # Now and then nothing happens for longer than a compact header can say.
        if self.rng.randrange(150) == 0:
            self.ns += self.rng.randrange(1 << 26, 1 << 34)
        pid = thread.program.pid
        trace = self.traces[pid if self.by_pid else 0]
        cpu = self.rng.randrange(self.cpus)
        trace.event(cpu, self.ns, name, (pid, thread.tid, thread.name), values)
        self.events += 1
        if self.is_lossy and self.rng.randrange(200) == 0:
            trace.lose(cpu, self.rng.randrange(1, 100000))

    def called(self, category, name, ns=0):
        key = category + ':' + name
        count, total = self.calls.get(key, (0, 0))
        self.calls[key] = (count + 1, total + ns)

    def start(self, pid, name, before):
        """A process begins, or executes another program: then it has one thread, and another of LTTng's."""
        rng = self.rng
        if self.by_pid and pid not in self.traces:
            env = self.env + 'tracer_buffering_scheme = "pid"; vpid = %d; procname = "%s"; ' % (pid, name)
            self.traces[pid] = Trace(rng, '%s/ust/pid/%s-%d' % (self.path, name, pid), env, self.form)
        program = Program(pid, name)
        program.base = rng.randrange(1 << 20, 1 << 30) << 16
        program.tid = pid + 1 + len([p for p in self.programs if p.pid == pid])
        listener = Thread(program, program.tid, name[:8] + '-ust')
        self.programs.append(program)
        state = [('start', ()), ('procname', (name,)),
                 ('bin_info', (program.base, 1 << 32, self.file, 1, 0, 0)), ('end', ())]
        first_ns = 0
        for what, values in state:
            self.emit(listener, STATE + what, *values)
            first_ns = first_ns or self.ns
            self.called('lttng_ust_statedump', what)
        for t in before:
            self.threads.remove(t)
            # What they were in ends right before the first event of the program.
            for address, _, began in t.stack:
                self.called('function', self.name(t.program, address), first_ns - 1 - began)
            if t.waits:
                self.called('pthread', 'pthread_mutex_lock', first_ns - 1 - t.waits[1])
        for i in range(1 if before else rng.randrange(1, 5)):
            self.threads.append(Thread(program, pid + 20 + i, 'worker%d' % i) if i else
                                Thread(program, pid, name))

    # -- Things that threads do ----------------------------------------------------------------------

    def heap(self, t):
        rng, p = self.rng, t.program
        what = rng.choice(['malloc', 'malloc', 'calloc', 'realloc', 'free', 'free', 'memalign',
                           'posix_memalign'])
        size = rng.choice([0, rng.randrange(200), rng.randrange(100000)])
        nmemb = rng.randrange(1, 20) if what == 'calloc' else 1
        fails = rng.randrange(15) == 0
        if p.freed and rng.randrange(2):
            block = p.freed.pop(rng.randrange(len(p.freed)))
        else:
            p.next += 1
            block = 0x7f0000000000 + p.next * 64
        old = 0
        if what in ('free', 'realloc') and p.live and rng.randrange(20):
            old = rng.choice(list(p.live))
        elif what == 'free' and rng.randrange(3):
            old = 0x600000000000 + rng.randrange(1 << 20) * 16
        self.called('malloc', what)
        if what == 'free':
            self.emit(t, HEAP + what, old)
            if old:
                p.went(old)
            p.freed.append(block)
            return
        given = 0 if fails else block
        alignment = 1 << rng.randrange(4, 12)
        if what == 'malloc':
            self.emit(t, HEAP + what, size, given)
        elif what == 'calloc':
            self.emit(t, HEAP + what, nmemb, size, given)
        elif what == 'realloc':
            # One of size 0 that returns nothing has freed the block.
            size = max(size, 1)
            self.emit(t, HEAP + what, old, size, given)
        elif what == 'memalign':
            self.emit(t, HEAP + what, alignment, size, given)
        else:
            self.emit(t, HEAP + what, given, alignment, size, 12 if fails else 0)
        if fails:
            p.heap['failed'] += 1
            p.freed.append(block)
            return
        if old:
            p.went(old)
        p.came(block, size * nmemb)

    def lock(self, t):
        rng = self.rng
        mutex = 0x555500000000 + rng.randrange(4) * 64
        key = (t.program, mutex)
        holder = self.mutexes.get(key, {}).get('holder')
        if t.holds and rng.randrange(3):
            self.unlock(t, t.holds[-1])
        elif mutex in t.holds:
            return
        elif rng.randrange(4) == 0:
            self.emit(t, LOCK + 'trylock', mutex, 16 if holder else 0)
            self.called('pthread', 'pthread_mutex_trylock')
            if not holder:
                self.take(t, mutex)
        elif not t.holds or not holder:
            self.emit(t, LOCK + 'lock_req', mutex)
            t.waits = (mutex, self.ns, holder)

    def take(self, t, mutex):
        self.mutexes[(t.program, mutex)] = {'holder': t}
        t.holds.append(mutex)

    def unlock(self, t, mutex):
        self.emit(t, LOCK + 'unlock', mutex, 0)
        self.called('pthread', 'pthread_mutex_unlock')
        t.holds.remove(mutex)
        self.mutexes[(t.program, mutex)]['holder'] = None

    def go_on(self, t):
        """A thread that waits for a mutex gets it, if it is free."""
        mutex, begin, holder = t.waits
        if self.mutexes.get((t.program, mutex), {}).get('holder'):
            return
        self.emit(t, LOCK + 'lock_acq', mutex, 0)
        self.called('pthread', 'pthread_mutex_lock', self.ns - begin)
        if holder:
            key = '%d 0x%x' % (t.program.pid, mutex)
            self.contended[key] = self.contended.get(key, 0) + 1
        self.take(t, mutex)
        t.waits = None

    def function(self, t):
        rng = self.rng
        entry = 'lttng_ust_cyg_profile%s:func_entry' % self.fast
        leave = 'lttng_ust_cyg_profile%s:func_exit' % self.fast
        if not t.stack and rng.randrange(40) == 0:
            # It was entered before recording began.
            self.emit(t, leave, *(() if self.fast else (0x1230, 0x4560)))
            self.called('lttng_ust_cyg_profile', 'func_exit')
        elif len(t.stack) < 30 and (not t.stack or rng.randrange(2)):
            address = 0x400000 + rng.randrange(6) * 16
            if self.symbols and rng.randrange(2):
                address = t.program.base + rng.choice(list(self.symbols))
            site = rng.randrange(1 << 40)
            self.emit(t, entry, address, site)
            t.stack.append((address, site, self.ns))
        else:
            # A longjmp leaves several at once, and nothing says when the inner ones ended.
            outer = 1
            if not self.fast and len(t.stack) > 3 and rng.randrange(20) == 0:
                outer = 2
            for address, site, begin in t.stack[len(t.stack) - outer + 1:]:
                self.called('function', self.name(t.program, address))
            del t.stack[len(t.stack) - outer + 1:]
            address, site, begin = t.stack.pop()
            self.emit(t, leave, *(() if self.fast else (address, site)))
            self.called('function', self.name(t.program, address), self.ns - begin)

    def name(self, program, address):
        return self.symbols.get(address - program.base, '0x%x' % address)

    def other(self, t):
        rng = self.rng
        what = rng.choice(['app:numbers', 'app:many', 'plain'])
        text = rng.choice(['', 'plain', 'caf\u00e9 \U0001f600', 'say "x"\\n', 'tab\there', 'x' * 300])
        if what == 'app:numbers':
            values = (-rng.randrange(1 << 31), rng.randrange(1 << 32), -rng.randrange(1 << 63),
                      rng.getrandbits(64), rng.getrandbits(64), rng.uniform(-1e9, 1e9),
                      rng.randrange(-32768, 32768), text)
        elif what == 'app:many':
            values = tuple(rng.randrange(1 << 32) for _ in range(20))
        else:
            values = (text,)
        self.emit(t, what, *values)
        category, name = what.split(':') if ':' in what else ('ctf', what)
        self.called(category, name)
        args = {}
        for i, ((kind, field), value) in enumerate(zip(FIELDS[what], values)):
            if len(values) > 15 and i >= 14:
                args['more fields'] = args.get('more fields', '') + ' %s=%d' % (field, value)
            else:
                args[field] = '0x%x' % value if kind == 'x64' else value
        if 'more fields' in args:
            args['more fields'] = args['more fields'].strip()
        self.logged.append({'time': self.ns, 'pid': t.program.pid, 'tid': t.tid, 'category': category,
                            'name': name, 'args': args})

    def run(self, steps):
        rng = self.rng
        for _ in range(steps):
            t = rng.choice(self.threads)
            if t.waits:
                self.go_on(t)
                continue
            what = rng.randrange(100)
            if what < 40:
                self.heap(t)
            elif what < 60:
                self.lock(t)
            elif what < 95:
                self.function(t)
            elif what < 99:
                self.other(t)
            elif rng.randrange(20) == 0:
                pid = t.program.pid
                self.start(pid, 'next%d' % len(self.programs),
                           [o for o in self.threads if o.program.pid == pid])
        for trace in self.traces.values():
            trace.write()

    def result(self):
        for p in self.programs:
            p.heap['in_use_bytes'], p.heap['in_use_blocks'] = p.use, len(p.live)
        losses = [trace.losses() for trace in self.traces.values()]
        self.lost = sum(lost for lost, _ in losses)
        return {
            'unknown_losses': sum(unknown for _, unknown in losses), 'seed': self.seed,
            'events': self.events, 'lost': self.lost, 'is_lossy': self.is_lossy,
            'first_ns': OFFSET_NS, 'calls': self.calls, 'contended': self.contended,
            'heap': [p.heap for p in self.programs
                     if p.heap['allocations'] + p.heap['frees'] + p.heap['failed']],
            'losers': sorted(self.traces) if self.by_pid else [], 'logged': self.logged,
            'open': sum(len(t.stack) + (t.waits is not None) for t in self.threads),
            'form': self.form, 'fast': self.fast, 'traces': len(self.traces)}


def read_symbols(path, rng):
    """Returns the file, and some of its functions by their address."""
    with open(path, encoding='utf-8') as file:
        name = file.readline().rstrip('\n')
        found = {}
        for line in file:
            address, kind, symbol = line.rsplit(None, 2)
            found.setdefault(int(address, 16), []).append((kind, symbol))
    # An address that has two names may get either.
    found = {address: names[0][1] for address, names in found.items()
             if len(names) == 1 and names[0][0] == 'T'}
    some = rng.sample(sorted(found), min(6, len(found)))
    return name, {address: found[address] for address in some}


def damage(directory, seed):
    rng = random.Random(seed)
    files = sorted(os.path.join(where, name) for where, _, names in os.walk(directory) for name in names)
    path = rng.choice(files)
    with open(path, 'rb') as file:
        data = bytearray(file.read())
    how = rng.randrange(3)
    if how == 0:
        del data[rng.randrange(len(data)):]
    elif how == 1:
        for _ in range(rng.randrange(1, 20)):
            data[rng.randrange(len(data))] = rng.randrange(256)
    else:
        at = rng.randrange(len(data))
        data[at:at] = rng.randbytes(rng.randrange(1, 100))
    with open(path, 'wb') as file:
        file.write(data)


def main():
    if sys.argv[1] == 'damage':
        damage(sys.argv[2], sys.argv[3])
        return
    model = Model(sys.argv[2], sys.argv[1], read_symbols(sys.argv[3], random.Random(sys.argv[2])),
                  'rotated' in sys.argv[4:])
    steps = model.rng.choice([0, 300, 3000, 6000])
    model.run(int(sys.argv[4]) if sys.argv[4:] and sys.argv[4].isdigit() else steps)
    json.dump(model.result(), sys.stdout)


main()
