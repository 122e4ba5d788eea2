"""Compares a CTF directory with the trace that it was made of.

    ctf.py same FXT TRACE DIRECTORY SEED     all events, by name and time, and 1000 arguments
    ctf.py metadata DIRECTORY                what views of Trace Compass are made of
    ctf.py discarded DIRECTORY               the sum of the streams' last packets, from the files alone
    ctf.py windows FXT TRACE DIRECTORY       each window of losses is a packet, with its number
    ctf.py cut DIRECTORY SEED                takes a packet out of each stream that has three, at random
    ctf.py packets DIRECTORY                 fails where a packet breaks a rule
    ctf.py nesting DIRECTORY                 fails where calls of a thread do not nest
    ctf.py addresses DIRECTORY               in which files events are
    ctf.py hops DIRECTORY SIZE               calls of malloc ask for SIZE and the processor that they are on
    ctf.py hostname DIRECTORY                the host that the events are of
    ctf.py oracle FXTCHECK TRACE DIRECTORY [OPTION...]
                                             each name is as often there as another reader counts

What a trace has is read from `fxt dump --json`, and what the directory has from what babeltrace2 prints.
"""
import collections
import json
import os
import random
import re
import struct
import subprocess
import sys

HEAP = {'malloc', 'calloc', 'realloc', 'reallocarray', 'free', 'memalign', 'aligned_alloc', 'valloc',
        'pvalloc', 'posix_memalign'}
HEAP_NAMES = {'reallocarray': 'realloc', 'aligned_alloc': 'memalign', 'valloc': 'memalign',
              'pvalloc': 'memalign'}
UNTIMED = {'blob': 'blob', 'object': 'object', 'process': 'process', 'thread-name': 'thread',
           'clock': 'kernel_object', 'kernel-object': 'kernel_object', 'provider': 'provider',
           'init': 'initialization', 'provider-event': 'provider_event'}


def fail(text):
    print('FAIL: ' + text)
    sys.exit(1)


# -- What babeltrace2 prints ---------------------------------------------------------------------------

STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.S)
NUMBER = re.compile(r'-?(?:0x[0-9A-Fa-f]+|nan|inf|[0-9.]+(?:e[-+]?[0-9]+)?)')
ESCAPES = {'n': '\n', 't': '\t', 'r': '\r', 'a': '\a', 'b': '\b', 'f': '\f', 'v': '\v', 'e': '\x1b'}


def unescaped(text):
    def one(match):
        what = match.group(1)
        return chr(int(what[1:], 16)) if what[0] == 'x' else ESCAPES.get(what, what)
    return re.sub(r'\\(x[0-9a-fA-F]{2}|.)', one, text, flags=re.S)


def value(text, at):
    """Returns the value at this place, and where it ends."""
    if text[at] == '"':
        match = STRING.match(text, at)
        return unescaped(match.group(1)), match.end()
    if text[at] == '(':
        match = re.compile(r'\( "((?:[^"\\]|\\.)*)" : container = (\d+) \)', re.S).match(text, at)
        return (unescaped(match.group(1)), int(match.group(2))), match.end()
    if text.startswith('[ ]', at):
        return [], at + 3
    if text[at] == '[':
        items, at = [], at + 2
        while True:
            at = text.index('= ', at) + 2
            item, at = value(text, at)
            items.append(item)
            if text.startswith(' ]', at):
                return items, at + 2
            at += 2
    match = NUMBER.match(text, at)
    word = match.group()
    return (int(word, 0) if re.fullmatch(r'-?(0x[0-9A-Fa-f]+|[0-9]+)', word) else float(word)), match.end()


def fields(text):
    """Returns the names and values of `{ a = 1, b = "x" }`."""
    out, at = [], 2
    if text in ('{ }', '{  }'):
        return out
    while True:
        end = text.index(' = ', at)
        name = text[at:end]
        item, at = value(text, end + 3)
        out.append((name, item))
        if text.startswith(' }', at):
            return out
        at += 2


LINE = re.compile(r'\[(\d+)\] \S+ (.*?): (?:\{ cpu_id = (\d+) \}(?:, )?)?'
                  r'(?:\{ vpid = (-?\d+), vtid = (-?\d+), '
                  r'procname = ("(?:[^"\\]|\\.)*"), ip = (0x[0-9A-F]+) \}(?:, )?)?'
                  r'(\{ perf_thread_[^}]*\}, )?(\{.*\})?', re.S)
# The classes of names beyond the first thousands have the name in a field.
NAMED = re.compile(r'fxt:.*?(_entry|_exit|)')


class Event(tuple):
    """(time, name, vtid, fields as text), and beside them what readers show in front of the fields."""

    def __new__(cls, match):
        name = match.group(2).replace('<unknown>', '')
        text = match.group(9)
        if name.startswith('fxt:') and 'fxt_category = ( "' in text and ', fxt_name = "' in text:
            name = dict(fields(text))['fxt_name'] + NAMED.fullmatch(name).group(1)
        self = super().__new__(cls, (int(match.group(1)), name, match.group(5), text))
        self.cpu = None if match.group(3) is None else int(match.group(3))
        self.vpid, self.ip = match.group(4), int(match.group(7) or '0', 16)
        self.counted = match.group(8)
        return self


def events_of(directory):
    """Returns the events of the directory, and what was said."""
    run = subprocess.run(['babeltrace2', '--clock-cycles', '--no-delta', directory], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    events = []
    said = run.stderr.decode()
    if run.returncode:
        fail(f'babeltrace2 {directory}: exit status {run.returncode}: {said}')
    for line in run.stdout.decode().split('\n')[:-1]:
        match = LINE.fullmatch(line)
        if not match:
            fail(f'this line of babeltrace2 is none of an event: {line}')
        # It has a word for an event without a name.
        events.append(Event(match))
    return events, said


# -- What the trace has --------------------------------------------------------------------------------

def cleaned(name):
    """Returns an event's name as a class has it."""
    return name.replace('\0', '?')


def expected(fxt, trace):
    """Yields what the directory has to have: (time or None, name, record, part)."""
    dump = subprocess.Popen([fxt, 'dump', '--json', trace], stdout=subprocess.PIPE)
    for line in dump.stdout:
        record = json.loads(line)
        kind, at, name = record['type'], record.get('time'), cleaned(record.get('name', ''))
        if kind == 'complete':
            end = at + record['duration']
            yield at, name + '_entry', record, 'entry'
            yield end, name + '_exit', record, 'exit'
            kernels = record['pid'] == 0x7fffffff
            if record['category'] == 'malloc' and name in HEAP and not kernels:
                heap = 'lttng_ust_libc:' + HEAP_NAMES.get(name, name)
                yield at if name == 'free' else end, heap, record, None
            if record['category'] == 'function' and not kernels:
                yield at, 'lttng_ust_cyg_profile:func_entry', record, None
                yield end, 'lttng_ust_cyg_profile:func_exit', record, None
        elif kind in ('begin', 'end'):
            yield at, name + ('_entry' if kind == 'begin' else '_exit'), record, 'whole'
            if record['category'] == 'function':
                which = 'entry' if kind == 'begin' else 'exit'
                yield at, 'lttng_ust_cyg_profile:func_' + which, record, None
        elif kind == 'switch':
            yield at, 'sched_switch', record, 'switch'
            if record.get('args'):
                yield at, 'fxt:switch', record, 'whole'
        elif kind == 'wakeup':
            yield at, 'sched_waking', record, None
            yield at, 'sched_wakeup', record, None
            if record.get('args'):
                yield at, 'fxt:wakeup', record, 'whole'
        elif kind == 'log':
            yield at, 'fxt:log', record, 'log'
        elif kind == 'large-blob':
            yield at, 'fxt:large_blob', record, 'whole'
        elif kind in UNTIMED:
            yield None, 'fxt:' + UNTIMED[kind], record, 'named'
        elif 'time' in record:
            yield at, name, record, 'whole'
            if kind == 'instant' and record['category'] == 'kernel' and record['pid'] == 0x7fffffff and \
                    name in ('executed', 'ended'):
                yield at, 'sched_process_exec' if name == 'executed' else 'sched_process_exit', record, None
    if dump.wait():
        fail(f'fxt dump {trace}: exit status {dump.returncode}')


OWN = ('fxt_kind', 'fxt_provider', 'fxt_category', 'fxt_id', 'fxt_message', '_fxt_stack_length', 'fxt_stack',
       'fxt_name', '_fxt_data_length', 'fxt_data')


def identifiers(args, own):
    """Returns the names of the fields that arguments have, in their order, behind those of our own."""
    names = [name for name in own if 'stack' not in name and 'data' not in name]
    before = len(names)
    for wanted in args:
        plain = re.sub(r'[^A-Za-z0-9]', '_', ''.join(chr(b) for b in wanted.encode()[:87])) or 'unnamed'
        name, number = plain, 2
        while name in names:
            name, number = f'{plain}_{number}', number + 1
        names.append(name)
    return names[before:]


def alike(wanted, found):
    if isinstance(found, tuple):
        found = {'true': True, 'false': False}[found[0]]
    if isinstance(wanted, bool) or isinstance(found, bool):
        return wanted is found
    if isinstance(wanted, str) and not isinstance(found, str):
        return wanted.startswith('0x') and int(wanted, 16) == found
    if isinstance(wanted, str):
        return wanted.replace('\0', '?') == found
    if wanted is None:
        return isinstance(found, float)
    if isinstance(wanted, float) or isinstance(found, float):
        return abs(wanted - found) <= abs(wanted) * 1e-5
    return wanted == found


def part_of(args, part):
    """Returns the arguments that an event of a call has."""
    names = list(args)
    first = next((i for i, name in enumerate(names) if name in ('ret', 'errno')), len(names))
    names = names[:first] if part == 'entry' else names[first:] if part == 'exit' else names
    return {name: args[name] for name in names if args[name] is not None}


def counted(record, event):
    """A counter's whole numbers stand in its context too, where Trace Compass looks for them."""
    args = record.get('args', {}) if record['type'] == 'counter' else {}
    whole = [v for v in args.values() if isinstance(v, int) and not isinstance(v, bool)]
    return whole == [v for _, v in fields(event.counted[:-2])] if event.counted else not whole


def check_arguments(events, wanted, rnd):
    """Finds as many as 1000 events in what was expected, and compares all that they have."""
    by_key = collections.defaultdict(list)
    for at, name, record, part in wanted:
        if part in ('entry', 'exit', 'whole', 'log'):
            by_key[at, name].append((record, part))
    checked = 0
    for event in rnd.sample(events, len(events)):
        at, name, vtid, text = event
        candidates = by_key.get((at, name), [])
        if not candidates or checked == 1000:
            continue
        checked += 1
        found = dict(fields(text or '{ }'))
        for record, part in candidates:
            args, own = part_of(record.get('args', {}), part), {n for n in OWN if n in found}
            names = identifiers(args, own)
            if part == 'log':
                args, names, own = {'message': record['message']}, ['fxt_message'], \
                    {'fxt_kind', 'fxt_provider'}
            elif 'fxt_category' in found and \
                    found['fxt_category'][0] != cleaned(record.get('category', '')):
                continue
            if vtid is not None and record.get('tid', 0) < 0x70000000 and int(vtid) != record.get('tid'):
                continue
            if set(names) == set(found) - own and counted(record, event) and all(
                    alike(v, found[n]) for n, v in zip(names, args.values())):
                break
            if part == 'whole' and 'id' in record and 'fxt_id' in found and \
                    int(record['id']) != found['fxt_id']:
                continue
        else:
            fail(f'{name} at {at}: found {text}, expected one of {candidates[:3]}')
    return checked


def check_priorities(events, wanted):
    """The priorities of a switch are its weights, less a hundred; 20 is that of an idle processor."""
    told, found = collections.Counter(), collections.Counter()
    for at, _, record, part in wanted:
        if part == 'switch':
            weights = [record.get('args', {}).get(side + '_weight') for side in ('outgoing', 'incoming')]
            told[at, *(20 if w in (None, -2 ** 31) else w - 100 for w in weights)] += 1
    switches = ({'at': at, **dict(fields(text))} for at, name, _, text in events if name == 'sched_switch')
    for values in switches:
        found[values['at'], values['prev_prio'], values['next_prio']] += 1
    if found != told:
        fail(f'priorities: {list((told - found).items())[:3]} and not {list((found - told).items())[:3]}')


MAPPED = ('lttng_ust_statedump:bin_info', 'lttng_ust_lib:load')


def check_modules(trace, events, wanted):
    """Each file that stacks lead through is told of in the process that had it mapped."""
    told = {(record['pid'], record['name']) for _, name, record, _ in wanted
            if name == 'fxt:object' and record.get('args', {}).get('type') == 'module'}
    found = {(int(event.vpid), dict(fields(event[3]))['path']) for event in events if event[1] in MAPPED}
    # What nobody has recorded an event of has no time at which it could be told.
    if not found <= told or (told and not found):
        fail(f'{trace}: {sorted(found - told)} are mapped, {sorted(told - found)} are not')


def same(fxt, trace, directory, seed):
    wanted = list(expected(fxt, trace))
    events, said = events_of(directory)
    found = collections.Counter((at, name) for at, name, _, _ in events)
    names = collections.Counter(name for _, name, _, _ in events)
    times = [at for at, _, _, _ in wanted if at is not None]
    first = min(times) if times else 0
    made = re.compile('lttng_ust_statedump:|lttng_ust_lib:|lttng_statedump_process_state|'
                      'sched_process_fork|sched_process_free')
    for at, name, record, _ in wanted:
        if not found[first if at is None else at, name]:
            fail(f'{trace}: {name} at {at} is missing: {record}')
        found[first if at is None else at, name] -= 1
    for (at, name), count in found.items():
        if count and not made.match(name):
            fail(f'{trace}: {name} at {at} is there {count} times more than expected')
    if times:
        ends = [record['time'] + record.get('duration', 0) for _, _, record, _ in wanted if 'time' in record]
        if events[0][0] != first or events[-1][0] != max(ends):
            fail(f'{trace}: from {first} to {max(ends)}, found from {events[0][0]} to {events[-1][0]}')
    by_name = collections.Counter(name for _, name, _, _ in wanted)
    for name, count in by_name.items():
        if names[name] != count:
            fail(f'{trace}: {count} {name} expected, {names[name]} found')
    check_priorities(events, wanted)
    check_modules(trace, events, wanted)
    checked = check_arguments(events, wanted, random.Random(seed))
    said = re.sub(r'WARNING: .*?Tracer (?:may have )?discarded.*?\n', '', said)
    if said.strip():
        fail(f'{trace}: babeltrace2 says: {said}')
    print(len(events), checked)


def oracle(checker, trace, directory, *options):
    run = subprocess.run([sys.executable, checker, '--json', *options, trace], stdout=subprocess.PIPE)
    counts, found = json.loads(run.stdout), collections.Counter()
    if counts['violations']:
        fail(f'{trace}: {counts["violations"]} {counts["examples"]}')
    for event in events_of(directory)[0]:
        head = re.match(r'\{ fxt_kind = \( "([a-z_]+)" ', event[3] or '')
        kind = head and head.group(1)
        if not kind or kind in ('switch', 'wakeup') or ' fxt_category = ( "' not in event[3]:
            continue
        name = event[1]
        if kind in ('complete', 'begin', 'end'):
            name, _, side = name.rpartition('_')
            if kind == 'complete' and side == 'exit':
                continue
        found[dict(fields(event[3]))['fxt_category'][0] + ':' + name] += 1
    for name, count in counts['names'].items():
        if found[name] != count:
            fail(f'{trace}: {name} is there {count} times, and in {directory} {found[name]}')
    if len(counts['names']) < 2000 and len(found) != len(counts['names']):
        fail(f'{trace}: {sorted(set(found) - set(counts["names"]))[:5]} of {directory} are not in it')
    print(sum(counts['names'].values()))


# -- Packets -------------------------------------------------------------------------------------------

HEAD, HEAD_OF_CPU = struct.Struct('<I16sIQQQQQQQ'), struct.Struct('<I16sIQQQQQQQI')


def packets_of(path):
    """Yields where a packet begins, and its head, with None for a processor that it does not have."""
    with open(path, 'rb') as file:
        data = file.read()
    at, has_cpu = 0, not os.path.basename(path).startswith('stream_')
    while at < len(data):
        head = HEAD_OF_CPU.unpack_from(data, at) if has_cpu else HEAD.unpack_from(data, at) + (None,)
        yield at, head
        at += head[7] // 8
    if at != len(data):
        fail(f'{path}: {at} bytes in packets, {len(data)} in the file')


def streams_of(directory):
    for folder in ('ust', 'kernel'):
        path = os.path.join(directory, folder)
        if os.path.isdir(path):
            yield from sorted(os.path.join(path, name) for name in os.listdir(path) if name != 'metadata')


def discarded(directory):
    print(sum(list(packets_of(path))[-1][1][9] for path in streams_of(directory)))


def check_packets(directory):
    count = 0
    for path in streams_of(directory):
        end = lost = 0
        for number, (_, head) in enumerate(packets_of(path)):
            magic, _, _, _, begin, this_end, content, size, sequence, discards, cpu = head
            count += 1
            if cpu not in (None, int(path.rsplit('_', 1)[1])):
                fail(f'{path}: packet {number} is of processor {cpu}')
            if magic != 0xC1FC1FC1 or begin < end or this_end < begin or content > size or sequence != number:
                fail(f'{path}: packet {number}: {head}')
            if discards < lost or (number == 0 and discards):
                fail(f'{path}: packet {number} has {discards} discarded events')
            if size > (256 << 13) + (1 << 20) and discards == lost:
                fail(f'{path}: packet {number} has {size // 8} bytes')
            end, lost = this_end, discards
    print(count)


def windows(fxt, trace, directory):
    """Compares the windows of a trace of one process. Those that touch are one."""
    wanted, found, last = [], {}, 0
    told = [record for _, name, record, _ in expected(fxt, trace)
            if name == 'lost' and record['category'] == 'agent' and record['type'] == 'instant']
    for record in sorted(told, key=lambda r: r['time'] - r['args']['ns']):
        begin, end, lost = record['time'] - record['args']['ns'], record['time'], record['args']['records']
        if wanted and begin <= wanted[-1][1]:
            before = wanted.pop()
            begin, end, lost = before[0], max(before[1], end), before[2] + lost
        wanted.append((begin, end, lost))
    for _, head in packets_of(os.path.join(directory, 'ust', 'stream_1')):
        if head[9] != last:
            found[head[4], head[5]] = head[9] - last
        last = head[9]
    for begin, end, lost in wanted:
        if found.get((begin, end)) != lost:
            fail(f'{trace}: {lost} events lost from {begin} to {end}: {found}')
    print(len(wanted))


def cut(directory, seed):
    rnd, taken = random.Random(seed), 0
    for path in streams_of(directory):
        packets = list(packets_of(path))
        if len(packets) < 3:
            continue
        at, head = packets[rnd.randrange(1, len(packets) - 1)]
        with open(path, 'rb') as file:
            data = file.read()
        with open(path, 'wb') as file:
            file.write(data[:at] + data[at + head[7] // 8:])
        taken += 1
    print(taken)


# -- Metadata ------------------------------------------------------------------------------------------

VIEWS = {
    'lttng_ust_libc:malloc': 'size ptr', 'lttng_ust_libc:calloc': 'nmemb size ptr',
    'lttng_ust_libc:realloc': 'in_ptr size ptr', 'lttng_ust_libc:free': 'ptr',
    'lttng_ust_libc:memalign': 'alignment size ptr',
    'lttng_ust_libc:posix_memalign': 'out_ptr alignment size result',
    'lttng_ust_cyg_profile:func_entry': 'addr call_site', 'lttng_ust_cyg_profile:func_exit': 'addr call_site',
    'lttng_ust_statedump:start': '', 'lttng_ust_statedump:end': '',
    'lttng_ust_statedump:bin_info': 'baddr memsz path is_pic has_build_id has_debug_link',
    'lttng_ust_statedump:build_id': 'baddr build_id', 'lttng_ust_statedump:debug_link': 'baddr crc filename',
    'lttng_ust_lib:load': 'baddr memsz path has_build_id has_debug_link', 'lttng_ust_lib:unload': 'baddr',
    'lttng_ust_lib:build_id': 'baddr build_id', 'lttng_ust_lib:debug_link': 'baddr crc filename',
}
KERNEL_VIEWS = {
    'sched_switch': 'prev_comm prev_tid prev_prio prev_state next_comm next_tid next_prio',
    'sched_waking': 'comm tid prio target_cpu', 'sched_wakeup': 'comm tid prio target_cpu',
    'sched_process_fork': 'parent_tid child_comm child_tid child_pid', 'sched_process_exit': 'tid',
    'sched_process_free': 'tid', 'sched_process_exec': 'filename tid',
    'lttng_statedump_process_state': 'tid pid ppid name status',
}


def read_metadata(path):
    with open(path, 'rb') as file:
        text = file.read().decode()
    if not text.startswith('/* CTF 1.8 */'):
        fail(f'{path} does not begin as CTF 1.8 does')
    env = dict(re.findall(r'\t(\w+) = "?([^";]*)"?;', re.search(r'\nenv \{(.*?)\n\};', text, re.S).group(1)))
    classes = {}
    for stream, name, number, body in re.findall(
            r'\nevent \{\n\tstream_id = ([01]);\n\tname = "((?:[^"\\]|\\.)*)";\n\tid = (\d+);\n'
            r'(?:\tcontext := struct \{\n.*?\t\};\n)?\tfields := struct \{\n(.*?)\t\};\n\};', text, re.S):
        names = re.findall(r'\b_(\w+)(?:\[\w+\])?;', body)
        if int(number) != len(classes) and (stream, int(number)) != ('1', len(classes) - 1):
            fail(f'{path}: class {number} is not number {len(classes)}')
        if classes.setdefault(int(number), (name, names)) != (name, names):
            fail(f'{path}: class {number} is not the same in both kinds of streams')
    if '[0]' in text:
        fail(f'{path}: Trace Compass takes no array of length 0')
    return text, env, classes


def need_fields(path, classes, views):
    by_name = {name: names for name, names in classes.values()}
    for name, wanted in views.items():
        if name not in by_name:
            fail(f'{path}: no class {name}')
        lacks = set(wanted.split()) - set(by_name[name])
        if lacks:
            fail(f'{path}: {name} has no {lacks}')


def check_balance(directory):
    """Every end of a function has its begin, and what views show at an event is there."""
    depth, seen = collections.Counter(), collections.Counter()
    for _, name, vtid, text in events_of(directory)[0]:
        seen[name] += 1
        if name == 'lttng_ust_cyg_profile:func_entry':
            depth[vtid] += 1
        elif name == 'lttng_ust_cyg_profile:func_exit':
            depth[vtid] -= 1
            if depth[vtid] < 0:
                fail(f'{directory}: thread {vtid} leaves a function that it has not entered')
    return seen


def nesting(directory):
    """In each thread, the call that ends is the last one that has begun."""
    open_calls, deepest = collections.defaultdict(list), 0
    for at, name, vtid, text in events_of(directory)[0]:
        if vtid is None or not re.match(r'\{ fxt_kind = \( "(complete|begin|end)"', text or ''):
            continue
        calls = open_calls[vtid]
        if name.endswith('_entry'):
            calls.append(name[:-6])
            deepest = max(deepest, len(calls))
        elif not calls or calls.pop() != name[:-5]:
            fail(f'{directory}: {name} of thread {vtid} at {at} ends what has not begun last')
    print(deepest)


def addresses(directory):
    """The addresses at which events are lie in the files that are mapped, of a program that makes no code."""
    mapped, inside = collections.defaultdict(list), collections.Counter()
    events = events_of(directory)[0]
    for event in events:
        if event[1] in MAPPED:
            file = dict(fields(event[3]))
            mapped[event.vpid].append((file['baddr'], file['baddr'] + file['memsz'], file['path']))
    for event in events:
        path = [path for low, high, path in mapped[event.vpid] if low <= event.ip - 1 < high]
        if event.ip and not path:
            fail(f'{directory}: {event} is at {event.ip:#x}, and mapped is {mapped[event.vpid]}')
        inside.update(path)
    print(' '.join(f'{os.path.basename(path)}={count}' for path, count in sorted(inside.items())))


def hops(directory, size):
    """A thread that may run on one processor alone, and says on which by what it asks malloc for."""
    known = unknown = 0
    for event in events_of(directory)[0]:
        asked = dict(fields(event[3])).get('size', 0) if event[1] == 'malloc_entry' else 0
        if asked < int(size):
            continue
        if event.cpu is None:
            unknown += 1
        elif event.cpu != asked - int(size):
            fail(f'{directory}: {event} was on processor {asked - int(size)}, and not on {event.cpu}')
        else:
            known += 1
    print(known, unknown)


def hostname(directory):
    names = set()
    for folder in ('ust', 'kernel'):
        path = os.path.join(directory, folder, 'metadata')
        if os.path.exists(path):
            names.add(read_metadata(path)[1]['hostname'])
    print(' '.join(sorted(names)))


def metadata(directory):
    path = os.path.join(directory, 'ust', 'metadata')
    text, env, classes = read_metadata(path)
    for name, wanted in ('domain', 'ust'), ('tracer_name', 'lttng-ust'), ('tracer_major', '2'):
        if env.get(name) != wanted:
            fail(f'{path}: {name} is {env.get(name)}')
    if int(env['tracer_minor']) < 9 or not {'hostname', 'architecture_bit_width',
                                            'tracer_buffering_scheme'} <= set(env):
        fail(f'{path}: the environment is {env}')
    context = re.search(r'event.context := struct \{(.*?)\};', text, re.S).group(1).split('\n')
    if [line.strip() for line in context if line.strip()] != ['int32_t _vpid;', 'int32_t _vtid;',
                                                              'string _procname;', 'pointer_t _ip;']:
        fail(f'{path}: the context is {context}')
    contexts = re.findall(r'\n\tpacket.context := struct \{([^}]*)\};', text)
    if ['cpu_id' in context for context in contexts] != [False, True]:
        fail(f'{path}: the contexts of packets are {contexts}')
    need_fields(path, classes, VIEWS)
    kernel = os.path.join(directory, 'kernel', 'metadata')
    seen = check_balance(directory)
    if os.path.exists(kernel):
        other, env, classes = read_metadata(kernel)
        if env.get('domain') != 'kernel' or env.get('tracer_name') != 'lttng-modules' or \
                int(env['tracer_minor']) < 9:
            fail(f'{kernel}: the environment is {env}')
        need_fields(kernel, classes, KERNEL_VIEWS)
        clocks = [re.search(r'\nclock \{.*?\n\};', t, re.S).group() for t in (text, other)]
        uuids = [re.search(r'\ntrace \{.*?uuid = "(.*?)"', t, re.S).group(1) for t in (text, other)]
        if clocks[0] != clocks[1] or uuids[0] == uuids[1]:
            fail(f'{directory}: {clocks}, {uuids}')
        if not seen['lttng_statedump_process_state']:
            fail(f'{directory}: the kernel names no thread')
    print(' '.join(f'{name}={count}' for name, count in sorted(seen.items()) if ':' in name or '_' in name))


def main():
    command, *rest = sys.argv[1:]
    {'same': same, 'metadata': metadata, 'discarded': discarded, 'cut': cut, 'packets': check_packets,
     'nesting': nesting, 'windows': windows, 'hops': hops, 'oracle': oracle, 'addresses': addresses,
     'hostname': hostname}[command](*rest)


if __name__ == '__main__':
    main()
