#!/bin/bash
# Critical sections belong to the program: in none of them does the agent renew its clock, take a sample,
# explain a call or look for names. The test looks at system calls and not at the time, as all slow work makes
# some.
#
# A thread that turns to another chunk blocks signals if, and only if, the program may interrupt it there.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3 strace
strace -o /dev/null true 2>/dev/null || skip "ptrace is forbidden here"

for mode in streaming circular; do
	env FXT_BUFFERING_MODE=$mode FXT_BUFFER_SIZE_MB=4 FXT_OUTPUT="$scratch/$mode.fxt" \
		strace -f -qq -o calls -E LD_PRELOAD="$FXT_AGENT" "$apps/quiet" >sections ||
		fail "$mode: exit status $?"
	valid "$mode.fxt"
	fxt dump --json "$mode.fxt" >records || fail "$mode: fxt dump"
	python3 - <<-'EOT' || fail "$mode: see above"
		import collections, json, re, sys
		ok = True
		def wrong(*what):
		    global ok
		    ok = False
		    print(*what)

		# This collects the system calls between two marks, of the thread that makes them.
		own = {int(line.split()[0]): set(line.split()[1:]) for line in open("sections")}
		made, within = collections.defaultdict(list), {}
		for line in open("calls"):
		    tid, call = line.split(None, 1)
		    mark = re.match(r"close\(-([12])00(\d)\b", call)
		    if mark:
		        within[tid] = int(mark[2]) if mark[1] == "1" else None
		        made[int(mark[2])].append("mark")
		    elif within.get(tid) and not call.startswith(("<", "---", "+++")):
		        made[within[tid]].append(call.split("(")[0])
		if set(made) != set(own) or len(own) != 6:
		    wrong("sections", sorted(made), sorted(own))
		for number, calls in sorted(made.items()):
		    others = [c for c in calls if c != "mark" and c not in own[number]]
		    if calls.count("mark") != 2 or others:
		        wrong("section", number, "has", *others or calls)

		# The agent does this work later: names are there from the first use on, and so are samples.
		records = [json.loads(line) for line in open("records")]
		calls = [r for r in records if r.get("category") == "pthread" and
		         "mutex" in r.get("args", {}) and r["type"] == "complete"]
		names = collections.Counter(r.get("objects", {}).get("mutex") for r in calls)
		for name, count in (("outer_lock", 2), ("other_lock", 8), ("new_lock", 6), ("kept", 6),
		                    ("mutex of use_new", 4)):
		    if names[name] < count:
		        wrong(name, names)
		if None in names:
		    wrong("without a name", [r for r in calls if not r.get("objects")])
		contended = [r["args"] for r in records if r.get("name") == "contended" and "args" in r]
		places = {(a.get("at"), a.get("held_at")) for a in contended
		          if a.get("object") == "other_lock"}
		if places != {("wait_for_other", "hold_other")}:
		    wrong("contended", contended)
		held = sorted(r["time"] for r in calls if r["objects"]["mutex"] == "life_lock")
		samples = [r["time"] for r in records
		           if r.get("category") == "counter" and r["name"] == "rss"]
		if len(held) != 2 or sum(held[0] < s < held[1] for s in samples) < 2:
		    wrong("samples", samples, "held", held)
		sys.exit(not ok)
	EOT
done

# The child of a fork that makes a call and ends empties no table, because the kernel does, and does not ask
# how many threads it has. Counters, which are due after some time, would open a file.
children=$((3 + $(random_below 8)))
# shellcheck disable=SC2016
strace -f -qq -e trace=execve,clone,clone3,fork,vfork,madvise,newfstatat,lstat,stat -o calls \
	"$FXT" record -q -c io,process -o children.fxt -- \
	sh -c 'i=0; while [ $i -lt "$0" ]; do (echo); i=$((i + 1)); done' "$children" >lines ||
	fail "children: exit status $?"
valid children.fxt
awk '
	/execve\("[^"]*\/sh", \["sh", "-c"/ { parent = $1 }
	$1 == parent && $2 $3 ~ /^(<...)?(clone3?|fork)/ && $NF ~ /^[0-9]+$/ {
		children[$NF] = 1
	}
	{ calls[NR] = $0 }
	END {
		for (i = 1; i <= NR; i++) {
			split(calls[i], part)
			if (part[1] in children)
				print calls[i]
		}
		for (child in children)
			print child, "child"
	}' calls >of_children
is "children: lines" "$children" "$(wc -l <lines)"
is "children" "$children" "$(grep -c 'child$' of_children)"
is "children: tables that they empty" 0 "$(grep -c MADV_DONTNEED of_children)"
is "children: how often they count their threads" 0 "$(grep -c '"/proc/self/task"' of_children)"

# blocked WAY...: runs tests/apps/handlers, and prints how often signals are blocked or restored between its
# two marks, for each chunk of 4096 words that the calls fill, in tenths. A ring grows, and the clock is
# renewed, with signals blocked as well, but not for each chunk.
blocked()
{
	FXT_BUFFERING_MODE=circular FXT_BUFFER_SIZE_MB=2 FXT_CATEGORIES=pthread \
		FXT_OUTPUT="$scratch/turns.fxt" \
		strace -f -qq -e trace=close,rt_sigprocmask -o calls -E LD_PRELOAD="$FXT_AGENT" \
		"$apps/handlers" "$@" >told || fail "handlers $*: exit status $?"
	valid --ring turns.fxt
	awk -v events="$(cat told)" '
		/close\(-1001/ { marked = 1 }
		/close\(-2001/ { marked = 0 }
		marked && /rt_sigprocmask/ { n++ }
		END { print int(10 * n / (events * 5 / 4096)) }' calls
}

for way in none "sigaction ignore" "signal ignore" "sigset ignore"; do
	# shellcheck disable=SC2086
	tenths=$(blocked $way)
	[ "$tenths" -lt 15 ] ||
		fail "handlers $way: signals are blocked or restored $tenths times for ten chunks"
	count comparison
done
for way in sigaction __sigaction signal ssignal bsd_signal sysv_signal __sysv_signal sigset number \
	pthread_cancel; do
	tenths=$(blocked $way)
	[ "$tenths" -ge 19 ] ||
		fail "handlers $way: signals are blocked or restored only $tenths times for ten chunks"
	count comparison
done
