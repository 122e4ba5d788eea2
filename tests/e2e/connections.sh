#!/bin/bash
# Programs that take away the connection to their manager, share it with children, or look where their
# children sleep. Output and exit status are those of a bare run, and each call is in the trace once.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"

# calls_in FILE: how many of the numbered calls the trace has, how many twice, and how many records were
# dropped.
calls_in()
{
	fxt dump --json "$1" | python3 -c '
import json, sys
calls, lost = [], {}
for line in sys.stdin:
    if "calloc" in line or "dropped" in line:
        r = json.loads(line)
        if r["type"] == "complete" and r["name"] == "calloc" and r["args"].get("size") == 0:
            calls.append(r["args"]["nmemb"])
        elif r["type"] == "counter" and r["name"] == "dropped":
            lost[r["process"]["pid"] if isinstance(r.get("process"), dict) else 0, r["id"]] = \
                r["args"].get("records", 0)
print(len(set(calls)), len(calls) - len(set(calls)), sum(lost.values()))'
}

# told_unseen: checks that the report of lost.fxt, and the summary of another run, tell of children that share
# descriptors, which record nothing.
told_unseen()
{
	local children=", \([0-9]*\) times in process [0-9]*$" times

	times=$(fxt dump lost.fxt | grep -c "agent:unseen .*a child that shares its parent's descriptors")
	test "$times" -gt 1 || fail "$name: no children are told of"
	is "$name: what the report says of children" "$times" \
		"$(fxt report lost.fxt | sed -n "s/^NOT SEEN: a child that shares .*$children/\1/p")"
	is "$name: what the report counts" "$times" \
		"$(fxt report --json --all lost.fxt | python3 -c 'import json, sys
print(*(one["times"] for one in json.load(sys.stdin)["not_seen"]))')"
	"$FXT" record -o told.fxt -- "$apps/lost_connections" $what $count >found.out 2>said
	is "$name: what the summary says of children" \
		"$(fxt dump told.fxt | grep -c "agent:unseen .*a child that shares its parent's")" \
		"$(sed -n "s/^fxt: not seen: a child that shares .*$children/\1/p" said)"
}

# Where a process may not raise a limit of less than a thousand, it has no connection, and writes a file.
if test "$(random_below 2)" = 1; then
	ulimit -Sn $((100 + $(random_below 3000)))
else
	ulimit -n $((1100 + $(random_below 2000)))
fi
for what in duplicated closed shared apart asleep vforks; do
	count=$((1000 + $(random_below 60000)))
	bare "$apps/lost_connections" $what $count >bare.out 2>bare.err
	status=$?
	made=$(sed -n 's/ calls$//p' bare.out)
	for memory in "" --memory=256K; do
		name="$what $count $memory"
		# shellcheck disable=SC2086
		timeout 120 "$FXT" record -q $memory -o lost.fxt -- "$apps/lost_connections" $what $count \
			>found.out 2>found.err
		is "$name: exit status" $status $?
		same "$name: output" bare.out found.out
		same "$name: standard error" bare.err found.err
		valid lost.fxt
		is "$name: calls, those twice, dropped" "$made 0 0" "$(calls_in lost.fxt)"
		test $what != shared || told_unseen
		rm -f lost.fxt
	done
done
# Children by vfork are killed wherever they are. Their parent goes on, and its trace is valid.
timeout 120 "$FXT" record -q --memory=256K -o vforks.fxt -- "$apps/host_vforks" 300 >found.out 2>found.err
is "children killed at any moment: exit status" 0 $?
is "children killed at any moment: marks" "marks 600" "$(cat found.out)"
valid vforks.fxt
rm -f vforks.fxt
# The kernel kills them while they take a chunk. A ring loses no room by that: it keeps about as many calls of
# the parent as it keeps of a program without such children.
# kept PROGRAM...: runs the program, and sets kept to the number of its calls that are in the ring.
kept()
{
	serve -m circular -b 4 -o ring.fxt
	managed timeout 60 "$@" >found.out 2>found.err
	status=$?
	stop_serving
	cat <&5 >said
	valid ring.fxt
	kept=$(calls_in ring.fxt)
	kept=${kept%% *}
	rm -f ring.fxt beside.*
}
kept "$apps/sequence" 100000
usual=$kept
kept "$apps/lost_connections" killed 100000
if test $status = 77; then
	echo "skipped: children that are killed while they take a chunk, because there is no seccomp"
else
	is "children killed while they take a chunk: exit status" 0 $status
	grep -q '^[1-9][0-9]* children were killed' found.out || fail "no child was killed: $(cat found.out)"
	between "children killed while they take a chunk: calls in the ring" \
		$((usual * 4 / 5)) $((usual * 6 / 5)) "$kept"
fi
# A child reads nothing that the manager says to its parent, which would wait for it at its end.
for ((i = 0; i < 40; i++)); do
	follow=$(test $((i % 2)) = 0 && echo none || echo all)
	timeout -s KILL 60 "$FXT" record -q --follow="$follow" -o answers.fxt -- sh -c '/bin/true & exit 3'
	is "$i, --follow=$follow: exit status" 3 $?
	give_up_if_hopeless
done
valid answers.fxt
