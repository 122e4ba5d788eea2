"""Compares what fxt says of a CTF trace with the model of ctf_maker.py.

    ctf_compare.py MODEL REPORT DUMP        REPORT and DUMP are what --json prints
    ctf_compare.py same REPORT REPORT       compares two reports, of a trace and of the CTF that it became

Prints a line for each difference, and then how much was compared.
"""
import json
import math
import sys


def load(path):
    with open(path, encoding='utf-8') as file:
        return json.load(file)


differences = compared = 0


def same(what, expected, found):
    global differences, compared
    compared += 1
    if expected != found:
        differences += 1
        print('%s: expected %s, found %s' % (what, str(expected)[:300], str(found)[:300]))


def compare_calls(model, report):
    found = {'%s:%s' % (c['category'], c['name']): [c['count'], c['total_ns']] for c in report['calls']}
    for key in sorted(set(found) | set(model['calls'])):
        same(key, model['calls'].get(key), found.get(key))


def compare_heap(model, report):
    keys = ('pid', 'program', 'allocations', 'failed', 'allocated_bytes', 'frees', 'unknown_frees',
            'peak_bytes', 'in_use_bytes', 'in_use_blocks')
    found = [{key: heap[key] for key in keys} for heap in report['heap']]

    def order(heap):
        return sorted(heap.items())

    # The last program of a process names all of them.
    for heap in found + model['heap']:
        heap.pop('program')
    same('heap', sorted(model['heap'], key=order), sorted(found, key=order))


def compare_locks(model, report):
    found = {}
    for c in report['contended']:
        key = '%d %s' % (c['pid'], c['lock'])
        found[key] = found.get(key, 0) + c['count']
    same('contended locks', model['contended'], found)


def compare_losses(model, report):
    trace = report['trace']
    same('lost', model['lost'], trace['dropped'])
    same('losses that are not counted', model['unknown_losses'], trace['buffer_full'])
    same('windows of losses', model['lost'],
         sum(w['records'] for p in trace['dropped_by_process'] for w in p['windows']))
    pids = {p['pid'] for p in trace['dropped_by_process']}
    if model['losers']:
        same('losers', set(), pids - set(model['losers']))
    elif pids:
        same('losers', {2147483646}, pids)


def close(a, b):
    if isinstance(a, float):
        return math.isclose(a, b, rel_tol=1e-12)
    return a == b


def compare_logged(model, dump):
    base = None
    found = [r for r in dump if r['type'] == 'instant' and r['category'] in ('app', 'ctf')]
    same('instants', len(model['logged']), len(found))
    for expected, record in zip(model['logged'], found):
        base = record['time'] - expected['time'] if base is None else base
        same('time', expected['time'] + base, record['time'])
        for key in ('pid', 'tid', 'category', 'name'):
            same(key, expected[key], record[key])
        args = record.get('args', {})
        same('fields of ' + record['name'], sorted(expected['args']), sorted(args))
        for key, value in expected['args'].items():
            if not close(value, args.get(key)):
                same('field ' + key, value, args.get(key))


def plain(value):
    """Returns a value without what depends on the file, and with lists in an order of their own: what is of
    equal weight may come in any."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return sorted((plain(inner) for inner in value), key=lambda inner: json.dumps(inner, sort_keys=True))
    return value


def compare_reports(one, other):
    for report in one, other:
        for key in 'bytes', 'categories':
            del report['trace'][key]
        report.pop('agent')
        # What a waker did in the meantime is looked up in the order of the file.
        for chain in report['chains']:
            chain.pop('longest')
    for section in sorted(one):
        expected, found = plain(one[section]), plain(other.get(section))
        if isinstance(expected, dict):
            for key in sorted(set(expected) | set(found)):
                same('%s.%s' % (section, key), expected.get(key), found.get(key))
        else:
            same(section, expected, found)


def main():
    if sys.argv[1] == 'same':
        compare_reports(load(sys.argv[2]), load(sys.argv[3]))
        print('%d compared, %d differences' % (compared, differences))
        sys.exit(differences != 0)
    model, report = load(sys.argv[1]), load(sys.argv[2])
    with open(sys.argv[3], encoding='utf-8') as file:
        dump = [json.loads(line) for line in file]
    compare_calls(model, report)
    compare_losses(model, report)
    # What a process has after a loss is not known, and so the report forgets it.
    if not model['lost'] and not model['unknown_losses']:
        compare_heap(model, report)
        compare_locks(model, report)
    compare_logged(model, dump)
    begins = sum({'begin': 1, 'end': -1}.get(r['type'], 0) for r in dump)
    same('still open', model['open'], begins)
    print('%d compared, %d differences' % (compared, differences))
    sys.exit(differences != 0)


main()
