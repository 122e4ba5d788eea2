"""Writes traces in the Common Trace Format 1.8 by hand, with the classes of events of LTTng-UST's helpers,
and metadata as LTTng writes it. ctf_maker.py decides what is in them.
"""
import os
import struct
import uuid

OFFSET_NS = 1700000000123456789

TYPES = {
    'x64': ('integer { size = 64; align = 8; signed = 0; encoding = none; base = 16; }', 'Q'),
    'u64': ('integer { size = 64; align = 8; signed = 0; encoding = none; base = 10; }', 'Q'),
    'u32': ('integer { size = 32; align = 8; signed = 0; encoding = none; base = 10; }', 'I'),
    's32': ('integer { size = 32; align = 8; signed = 1; encoding = none; base = 10; }', 'i'),
    's64': ('integer { size = 64; align = 8; signed = 1; encoding = none; base = 10; }', 'q'),
    'u8': ('integer { size = 8; align = 8; signed = 0; encoding = none; base = 10; }', 'B'),
    's16': ('integer { size = 16; align = 8; signed = 1; encoding = none; base = 10; }', 'h'),
    'double': ('floating_point { exp_dig = 11; mant_dig = 53; align = 8; }', 'd'),
    'string': ('string', None),
    'comm': ('integer { size = 8; align = 8; signed = 1; encoding = UTF8; base = 10; }', '17s'),
}

HEAP = 'lttng_ust_libc:'
LOCK = 'lttng_ust_pthread:pthread_mutex_'
STATE = 'lttng_ust_statedump:'
CLASSES = [
    (HEAP + 'malloc', 'u64 size, x64 ptr'),
    (HEAP + 'calloc', 'u64 nmemb, u64 size, x64 ptr'),
    (HEAP + 'realloc', 'x64 in_ptr, u64 size, x64 ptr'),
    (HEAP + 'free', 'x64 ptr'),
    (HEAP + 'memalign', 'u64 alignment, u64 size, x64 ptr'),
    (HEAP + 'posix_memalign', 'x64 out_ptr, u64 alignment, u64 size, s32 result'),
    (LOCK + 'lock_req', 'x64 mutex'),
    (LOCK + 'lock_acq', 'x64 mutex, s32 status'),
    (LOCK + 'trylock', 'x64 mutex, s32 status'),
    (LOCK + 'unlock', 'x64 mutex, s32 status'),
    ('lttng_ust_cyg_profile:func_entry', 'x64 addr, x64 call_site'),
    ('lttng_ust_cyg_profile:func_exit', 'x64 addr, x64 call_site'),
    ('lttng_ust_cyg_profile_fast:func_entry', 'x64 addr, x64 call_site'),
    ('lttng_ust_cyg_profile_fast:func_exit', ''),
    (STATE + 'start', ''),
    (STATE + 'procname', 'comm procname'),
    (STATE + 'bin_info', 'x64 baddr, u64 memsz, string path, u8 is_pic, u8 has_build_id, u8 has_debug_link'),
    (STATE + 'end', ''),
    ('app:numbers', 's32 low, u32 high, s64 far, u64 count, x64 at, double part, s16 short, string text'),
    ('app:many', ', '.join('u32 f%d' % i for i in range(20))),
    ('plain', 'string text'),
]
IDS = {name: number for number, (name, fields) in enumerate(CLASSES)}
# Extended headers have ids beyond those of the compact ones.
FIELDS = {name: [field.split() for field in fields.split(', ') if field] for name, fields in CLASSES}


class Trace:
    """One directory: a stream for each processor."""

    def __init__(self, rng, path, env, form):
        self.rng, self.path, self.env, self.form = rng, path, env, form
        self.uuid = uuid.UUID(int=rng.getrandbits(128))
        self.order = '>' if form['big'] else '<'
        self.streams = {}
        self.parts = [path]
        if form['packets'] and (form['rotated'] or rng.randrange(2)):
            self.parts = ['%s/part-%d' % (path, i) for i in range(rng.randrange(2, 4))]
        for part in self.parts:
            os.makedirs(part)

    def metadata(self):
        text = ['/* CTF 1.8 */\n']
        for bits in (5, 8, 16, 27, 32, 64):
            text.append('typealias integer { size = %d; align = %d; signed = false; } := uint%d_t;\n' %
                        (bits, 1 if bits in (5, 27) else 8, bits))
        text.append('typealias integer { size = 64; align = 8; signed = false; } := unsigned long;\n')
        text.append('''trace { major = 1; minor = 8; uuid = "%s"; byte_order = %s; packet.header := struct {
            uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; uint64_t stream_instance_id; }; };
        env { %s };
        clock { name = "monotonic"; uuid = "%s"; description = "Monotonic Clock"; freq = 1000000000;
            offset = %d; };\n''' % (self.uuid, 'be' if self.form['big'] else 'le', self.env,
                                    uuid.UUID(int=1), OFFSET_NS))
        for bits in (27, 32, 64):
            text.append('''typealias integer { size = %d; align = %d; signed = false;
                map = clock.monotonic.value; } := uint%d_clock_monotonic_t;\n''' %
                        (bits, 1 if bits == 27 else 8, bits))
        text.append('''struct packet_context { uint64_clock_monotonic_t timestamp_begin;
            uint64_clock_monotonic_t timestamp_end; uint64_t content_size; uint64_t packet_size;
            uint64_t packet_seq_num; unsigned long events_discarded; uint32_t cpu_id; };
        struct event_header_compact {
            enum : uint5_t { compact = 0 ... 30, extended = 31 } id;
            variant <id> { struct { uint27_clock_monotonic_t timestamp; } compact;
                struct { uint32_t id; uint64_clock_monotonic_t timestamp; } extended; } v; } align(8);
        struct event_header_large {
            enum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;
            variant <id> { struct { uint32_clock_monotonic_t timestamp; } compact;
                struct { uint32_t id; uint64_clock_monotonic_t timestamp; } extended; } v; } align(8);
        stream { id = 0; event.header := struct event_header_%s; packet.context := struct packet_context;
            event.context := struct {\n%s}; };\n''' %
                    ('large' if self.form['large'] else 'compact', self.members(self.form['context'])))
        for name, _ in CLASSES:
            text.append('event { name = "%s"; id = %d; stream_id = 0; loglevel = 13;\n'
                        'fields := struct {\n%s}; };\n' % (name, IDS[name], self.members(FIELDS[name])))
        text = ''.join(text).encode()
        if not self.form['packets']:
            return text
        out = b''
        while text:
            bytes_ = self.rng.randrange(1000, 4000)
            out, text = out + self.metadata_packet(text[:bytes_]), text[bytes_:]
        return out

    def metadata_packet(self, part):
        return struct.pack(self.order + 'I16sIIIBBBBB', 0x75d11d57, self.uuid.bytes, 0,
                           (37 + len(part)) * 8, (37 + len(part)) * 8, 0, 0, 0, 1, 8) + part

    @staticmethod
    def members(fields):
        return ''.join('%s _%s%s;\n' % (TYPES[kind][0], name, '[17]' if kind == 'comm' else '')
                       for kind, name in fields)

    def encode(self, fields, values):
        out = b''
        for (kind, name), value in zip(fields, values):
            if kind == 'string':
                out += value.encode() + b'\0'
            elif kind == 'comm':
                out += value.encode().ljust(17, b'\0')
            else:
                out += struct.pack(self.order + TYPES[kind][1], value)
        return out

    def header(self, number, ns, last_ns):
        order = self.order
        if self.form['large']:
            if ns - last_ns < 1 << 32 and self.rng.randrange(8):
                return struct.pack(order + 'HI', number, ns & (1 << 32) - 1)
            return struct.pack(order + 'HIQ', 65535, number, ns)
        if number < 31 and ns - last_ns < 1 << 27 and self.rng.randrange(8):
            low = ns & (1 << 27) - 1
            return struct.pack(order + 'I', number << 27 | low if self.form['big'] else low << 5 | number)
        return struct.pack('B', 31 << 3 if self.form['big'] else 31) + struct.pack(order + 'IQ', number, ns)

    def event(self, cpu, ns, name, context, values):
        s = self.streams.setdefault(cpu, {'packets': [], 'events': b'', 'first': ns, 'last': ns, 'lost': 0})
        if not s['events']:
            s['first'] = s['last'] = ns if not s['packets'] else s['packets'][-1]['end']
        s['events'] += (self.header(IDS[name], ns, s['last']) + self.encode(self.form['context'], context) +
                        self.encode(FIELDS[name], values))
        s['last'] = ns
        if len(s['events']) > self.form['packet_bytes']:
            self.close(cpu)

    def lose(self, cpu, count):
        """Counts events that were not written."""
        self.streams[cpu]['lost'] += count

    def losses(self):
        """Returns how many events were lost, and in how many streams before the first packet ended: then
        nobody knows how many these are."""
        lasts = [(s['packets'][0]['lost'], s['packets'][-1]['lost']) for s in self.streams.values()]
        return sum(last - first for first, last in lasts), sum(first > 0 for first, last in lasts)

    def close(self, cpu):
        s = self.streams[cpu]
        s['packets'].append({'events': s['events'], 'begin': s['first'], 'end': s['last'], 'lost': s['lost']})
        s['events'] = b''

    def write(self):
        for cpu, s in self.streams.items():
            if s['events'] or not s['packets']:
                self.close(cpu)
            # What was lost behind the last event is told by a packet without events.
            if s['lost'] > s['packets'][-1]['lost']:
                s['first'] = s['last']
                s['last'] += 1000
                self.close(cpu)
            self.write_stream(cpu, s['packets'])
        metadata = self.metadata()
        for part in self.parts:
            with open(part + '/metadata', 'wb') as out:
                out.write(metadata)

    def write_stream(self, cpu, packets):
        """A session that was rotated has several directories, each with the packets of its time."""
        ends = sorted(self.rng.randrange(len(packets) + 1) for _ in self.parts[1:]) + [len(packets)]
        number = 0
        for part, end in zip(self.parts, ends):
            if number == end:
                continue
            with open('%s/ch_%d' % (part, cpu), 'wb') as out:
                for number in range(number, end):
                    out.write(self.packet(cpu, number, packets[number]))
            number = end

    def packet(self, cpu, number, p):
        content = 84 + len(p['events'])
        size = content + self.rng.randrange(0, 64)
        return (struct.pack(self.order + 'I16sIQ', 0xc1fc1fc1, self.uuid.bytes, 0, cpu) +
                struct.pack(self.order + 'QQQQQQI', p['begin'], p['end'], content * 8, size * 8, number,
                            p['lost'], cpu) + p['events']).ljust(size, b'\0')
