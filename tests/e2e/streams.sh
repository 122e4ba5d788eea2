#!/bin/bash
# An arrow leads from a write to the read that got its bytes. Programs that know their arrows find exactly
# these in their traces, between threads and between processes that are forked or executed. There is no arrow
# where it is not known who wrote.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

app=$apps/streams
export FXT_CATEGORIES=io,net

# recorded WHAT ARGUMENTS...: records a run by fxt record, which joins the traces of its processes, and
# compares its arrows with those that the program told.
recorded()
{
	rm -f all.fxt streams.*
	"$FXT" record -q -c "$FXT_CATEGORIES" -o all.fxt -- "$app" "${@:2}" >told 2>err ||
		fail "$1: exit status $?"
	valid all.fxt
	trace arrows all.fxt | sort >found
	sort -o told told
	same_some "$1" told found
	is "$1: lost" "dropped 0 filtered 0 overwritten 0" \
		"$(trace lost all.fxt | tr '\n' ' ' | sed 's/ $//')"
}

for kind in pipe fifo pair tcp event datagram seqpacket; do
	recorded "$kind, threads" $kind 50 threads
	recorded "$kind, forked" $kind 50 fork
	recorded "$kind, executed" $kind 50 exec
done

# The agent asks the kernel by netlink to whom a Unix socket is connected, unless a filter of system calls is
# in force. This prints whether that works here.
knows_peers=$(python3 - <<'END'
import os, socket, struct
if any(line.split() == ["Seccomp:", "0"] for line in open("/proc/self/status")):
    one, other = socket.socketpair()
    try:
        netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4)         # NETLINK_SOCK_DIAG
        netlink.settimeout(5)
        inode = os.fstat(one.fileno()).st_ino
        # All states, UDIAG_SHOW_PEER, any cookie; below, SOCK_DIAG_BY_FAMILY and NLM_F_REQUEST.
        every = 0xffffffff
        question = struct.pack("=BBHIIIII", socket.AF_UNIX, 0, 0, every, inode, 4, every, every)
        netlink.send(struct.pack("=IHHII", 16 + len(question), 20, 1, 0, 0) + question)
        answer = netlink.recv(4096)
        if struct.pack("=HHI", 8, 2, os.fstat(other.fileno()).st_ino) in answer:        # UNIX_DIAG_PEER
            print("yes")
    except OSError:
        pass
END
)
test "$knows_peers" = yes || echo "this kernel does not tell to whom a Unix socket is connected"

# Where it does not work there are no arrows at all.
for with in threads fork exec; do
	for kind in unix connection; do
		rm -f streams.*
		"$FXT" record -q -c "$FXT_CATEGORIES" -o all.fxt -- "$app" $kind 50 $with >told ||
			fail "$kind, $with: exit status $?"
		valid all.fxt
		trace arrows all.fxt >found
		if test "$knows_peers" = yes; then
			same_some "$kind, $with" told found
		else
			same "$kind, $with" /dev/null found
		fi
	done
done

# Each arrow leads to the read of the bytes that the write wrote. Here both move the same number of bytes,
# which is one of 100 lengths.
recorded "pipe, lengths" pipe 50 fork
python3 - all.fxt >wrong <<'END' || fail "lengths: exit status $?"
import collections, json, os, subprocess, sys
calls, flows = collections.defaultdict(list), collections.defaultdict(dict)
for line in subprocess.run([os.environ["FXT"], "dump", "--json", sys.argv[1]],
                           stdout=subprocess.PIPE, check=True).stdout.splitlines():
    r = json.loads(line)
    if r["type"] == "complete" and r["name"] in ("read", "write"):
        calls[r["tid"]].append((r["time"], r["time"] + r["duration"], r["name"], r["args"]["ret"]))
    elif r["type"].startswith("flow-"):
        flows[r["id"]][r["type"]] = r
def call(r, name):
    return [ret for start, end, called, ret in calls[r["tid"]]
            if start <= r["time"] <= end and called == name]
for ends in flows.values():
    written, read = call(ends["flow-begin"], "write"), call(ends["flow-end"], "read")
    if len(written) != 1 or written != read:
        print("an arrow leads from a write of", written, "to a read of", read)
END
same "lengths" /dev/null wrong

# These have reads amid writes, calls that overlap, and bytes that the C library moves by itself.
for kind in amid order writers readers received; do
	recorded $kind $kind 10
done
app=$apps/streams_odd
for kind in library messages unseen; do
	recorded $kind $kind 10
done
app=$apps/streams

# With the category `sched` the trace also says who woke whom in the records that schedulers' views read, and
# only where somebody slept.
FXT_CATEGORIES=io,net,sched recorded slept slept 50
trace wakers all.fxt >wakers
trace wakeups all.fxt >wakeups
same_some "who woke whom" wakers wakeups
FXT_CATEGORIES=io,net,sched recorded "order, sched" order 10
trace wakeups all.fxt >wakeups
same "nobody slept" /dev/null wakeups

# In whatever environment a program is executed, it finds the memory that the run shares.
"$FXT" record -q -c "$FXT_CATEGORIES" -o all.fxt -- env -i "$app" tcp 20 exec >told ||
	fail "env -i: exit status $?"
trace arrows all.fxt >found
same_some "env -i" told found

# Without fxt record, forked processes share what is known.
for with in threads fork; do
	rm -rf trace
	traced trace "$app" pipe 50 $with >told || fail "$with alone: exit status $?"
	for file in trace/*.fxt; do
		valid "$file"
	done
done

# If the program is given another file than the memory of its run, or none, it knows nothing of other
# processes, and nothing else is different.
for shared in /proc/1/fd/0 /proc/self/fd/0 /dev/null "$PWD/nothing" ''; do
	FXT_SHARED=$shared traced trace.other "$app" pair 5 fork >out ||
		fail "FXT_SHARED=$shared: exit status $?"
	is "FXT_SHARED=$shared" "writev -> readv 10" "$(cat out)"
done

# One category is not enough, because calls of both move bytes.
"$FXT" record -q -c io -o all.fxt -- "$app" pipe 5 fork >told || fail "io alone: exit status $?"
trace arrows all.fxt >found
same "io alone" /dev/null found

# -- Killed in the middle of it: no arrow has only one end, and none is wrong --------------------------------

for ((i = 0; i < ${FXT_KILLS:-10}; i++)); do
	rm -rf trace streams.*
	mkdir trace
	env LD_PRELOAD="$FXT_AGENT" FXT_OUTPUT="$scratch/trace/%e.%p.fxt" \
		"$app" pair 100000000 threads >/dev/null 2>&1 &
	background=$!
	sleep "0.0$(printf %02d "$(random_below 30)")"
	kill_background
	for file in trace/*.fxt; do
		test ! -f "$file" || valid "$file"
	done
	give_up_if_hopeless
done
