#!/bin/bash
# Who calls often is known by samples: of a program whose callers make numbers of short calls that are drawn
# at random, the samples tell each caller's share, within five deviations; in threads and in a forked child;
# and not where there are to be no stacks.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

one=$((seed % 100000 + 50000)) two=$((seed / 7 % 100000 + 50000))
run()
{
	local name=$1 how=$2

	"$FXT" record -q -o "$name.fxt" -- "$apps/often" "$one" "$two" "$how" || fail "$name: exit status $?"
	valid "$name.fxt"
	fxt dump --json "$name.fxt" >"$name.json"
}

# estimate NAME TIMES: compares what the samples of each process say of its calls with the numbers that were
# made. Functions are told apart by the length that they read.
estimate()
{
	count comparison
	python3 - "$1.json" $((one * $2)) $((two * $2)) <<-'END' || fail "$1: see above"
		import collections, json, math, sys
		right = {1: int(sys.argv[2]), 2: int(sys.argv[3])}
		calls, said, square, stacks, samples = (collections.Counter() for _ in range(5))
		places = collections.defaultdict(set)
		for line in open(sys.argv[1]):
		    event = json.loads(line)
		    if event.get('name') != 'pread' or event.get('type') != 'complete':
		        continue
		    args = event['args']
		    kind = args['count']
		    calls[kind] += 1
		    weight = args.get('stands_for', 1 if 'stack' in args else 0)
		    if 'stands_for' in args:
		        samples[kind] += 1
		        places[kind].add(args['stack'])
		    said[kind] += weight
		    square[kind] += weight * (weight - 1)
		bad = [] if dict(calls) == right else [f'calls: {dict(calls)} and not {right}']
		for kind, n in right.items():
		    if samples[kind] < 10:
		        bad.append(f'{kind}: {samples[kind]} samples of {n} calls')
		        continue
		    # The deviation that few samples tell of themselves is too small as a rule.
		    most = 5 * math.sqrt(square[kind] * (1 + 5 / math.sqrt(samples[kind])))
		    if abs(said[kind] - n) > most:
		        bad.append(f'{kind}: {said[kind]:.0f} +- {math.sqrt(square[kind]):.0f} and not {n}')
		if places[1] & places[2]:
		    bad.append(f'both callers have the stacks {places[1] & places[2]}')
		print(*bad, sep='\n', end='\n' if bad else '')
		sys.exit(bool(bad))
	END
}

run here here
estimate here 1
run threads threads
estimate threads 2
run fork fork
estimate fork 2

# The report names who they were. Whoever had a call that was preempted for long may come first.
fxt report here.fxt >report
count comparison
for row in '^C[0-9a-z]+ pread ' '^D[0-9a-z]+ /dev/zero '; do
	grep -EA1 "$row" report | grep -qE '^      ~?[0-9]+%( \+-[0-9]+)? by (one_byte|two_bytes) ' ||
		fail "nobody is named: $(grep -EA1 "$row" report)"
done

# Samples are of calls that would have a stack if they were slow, and of no others.
FXT_STACKS=none "$FXT" record -q -o none.fxt -- "$apps/often" "$one" "$two" here
valid none.fxt
is "samples without stacks" 0 "$(fxt dump none.fxt | grep -c stands_for=)"
FXT_STACKS=io "$FXT" record -q -o all.fxt -- "$apps/often" 2000 2000 here
valid all.fxt
is "samples where all calls have a stack" 0 "$(fxt dump all.fxt | grep 'io:pread' | grep -c stands_for=)"
is "stacks of all calls" 4000 "$(fxt dump all.fxt | grep 'io:pread' | grep -c stack=)"
