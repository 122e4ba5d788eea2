"""Compares an archive of fxt serve with the models of the providers that model_provider.py played.

    compare_archive.py [--cut | --full] ARCHIVE MODEL...

Every record of a model has to be in the archive once, in the section of its provider, the records of a chunk
in their order, and nothing else may be there from that provider. With --cut fxt serve was killed: the end of
the archive may be missing, and of each chunk the last records. With --full its file system was full: the same
may be missing, and the archive tells of each provider how many events that are.

The manager writes one record itself, the time of day, behind the name of the first provider, and again behind
that of another one if there was no room meanwhile.
"""
import collections
import pickle
import struct
import sys

MAGIC = struct.pack("<Q", 0x0016547846040010)
INFO, SECTION, EVENT = 1, 2, 3


def is_clock(record):
    """Returns whether a record is the kernel object of type 30 that tells the time of day."""
    return record[0] & 0xf == 7 and record[2] == 30 and b"utc_ns" in record


def sections(path, is_cut, has_gaps=False):
    """Returns the name of each provider, its records, and its "buffer full" events."""
    data, at, now = open(path, "rb").read(), 8, None
    names, records, full = {}, collections.defaultdict(list), collections.Counter()
    clocks, is_named = [], False
    if data[:8] != MAGIC:
        sys.exit("the archive does not begin with the magic number")
    while at < len(data):
        header = int.from_bytes(data[at:at + 8], "little")
        size = 8 * (header >> 4 & (0xffffffff if header & 0xf == 15 else 0xfff))
        if not size or at + size > len(data):
            if is_cut:
                break
            sys.exit(f"no record is at {at} of {len(data)}: {header:#x}")
        record = data[at:at + size]
        at += size
        if header & 0xf:
            if not now:
                sys.exit(f"nobody's record is at {at - size}")
            if is_clock(record):
                clocks.append(is_named)
                continue
            is_named = False
            records[now].append(record)
            continue
        kind, provider = header >> 16 & 0xf, header >> 20 & 0xffffffff
        if kind == INFO:
            if provider in names:
                sys.exit(f"provider {provider} is named twice")
            names[provider] = record[8:8 + (header >> 52 & 0xff)].decode()
            now, is_named = provider, True
        elif kind == SECTION:
            if provider not in names or provider == now:
                sys.exit(f"a section of {provider} begins at {at - size}, in that of {now}")
            now = provider
        elif kind == EVENT:
            full[provider] += 1
        else:
            sys.exit(f"a metadata record of kind {kind} is at {at - size}")
    if not all(clocks) or len(clocks) != 1 and not (has_gaps or is_cut and not names):
        sys.exit(f"the time of day stands {len(clocks)} times in the archive")
    return names, records, full


def told_events(record):
    """Returns how many events a record says to be lost, 0 if it tells that otherwise; None if it does not.

    The manager writes these records, with all names in them: category agent, with a counter at the end. They
    have a track of their own, which a kernel object names.
    """
    header, = struct.unpack_from("<Q", record)
    if header & 0xf == 7 and header >> 16 & 0xff == 2 and header >> 24 & 0xffff == 0x8009:
        return 0 if record[16:25] == b"recording" else None
    if header & 0xf != 4 or header >> 32 & 0xffff != 0x8005 or not header >> 48 & 0x8000:
        return None
    text = record[16:]                              # behind the header and the time
    if not header >> 24 & 0xff:                     # so the thread stands here
        text = text[16:]
    if text[:5] != b"agent":
        return None
    return struct.unpack_from("<Q", record, len(record) - 16)[0] if header >> 16 & 0xf == 1 else 0


def compare(model, found, may_lack, tells):
    """Returns how many records are the same."""
    name, durable, missing = model["name"], 0, 0
    place = {record: (number, i) for number, unit in enumerate(model["units"])
             for i, record in enumerate(unit)}
    slots, counters, at = collections.Counter(model["slots"]), 0, [0] * len(model["units"])
    told = [told_events(record) for record in found]
    if tells:
        found = [record for record, events in zip(found, told) if events is None]
    for record in found:
        if record in place:
            number, i = place[record]
            if at[number] != i:
                sys.exit(f"{name}: record {i} of unit {number} comes where {at[number]} is the next")
            at[number] += 1
        elif slots[record]:
            slots[record] -= 1
        elif record == model["counter"]:
            counters += 1
        elif durable < len(model["durable"]) and record == model["durable"][durable]:
            durable += 1
        else:
            sys.exit(f"{name}: nobody wrote {record[:40].hex()} of {len(record)} bytes")
    for unit, i in zip(model["units"], at):
        missing += len(unit) - i
    if tells:
        lost = sum(record[0] & 0xf == 4 for unit, i in zip(model["units"], at) for record in unit[i:])
        if lost != sum(filter(None, told)):
            sys.exit(f"{name}: {lost} events are missing, and {sum(filter(None, told))} are told to be lost")
    missing += sum(slots.values()) + (counters != 1) + len(model["durable"]) - durable
    if missing and not may_lack:
        sys.exit(f"{name}: {missing} records are missing: of units "
                 f"{[(i, len(u)) for u, i in zip(model['units'], at) if i < len(u)]},"
                 f" {sum(slots.values())} slots, {counters} counters, durable {durable}")
    return len(found)


def main(arguments):
    is_cut, is_full = arguments[0] == "--cut", arguments[0] == "--full"
    may_lack = is_cut or is_full
    archive, *models = arguments[may_lack:]
    names, records, _ = sections(archive, is_cut, is_full)
    count = 0
    for path in models:
        for model in pickle.load(open(path, "rb")):
            ids = [i for i, name in names.items() if name == model["name"]]
            if len(ids) > 1 or not ids and not may_lack:
                sys.exit(f"{model['name']} is {ids} of {names}")
            count += compare(model, records[ids[0]] if ids else [], may_lack, is_full)
    print(count)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1:])
