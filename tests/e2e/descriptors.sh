#!/bin/bash
# In a ring that was turned over many times the report names every descriptor that is in use, however long ago
# it was opened. The program opens, duplicates and closes files, pipes, sockets and the rest at random; then
# it ends by itself, is killed, or asks for a snapshot.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

# This program compares the uses of each descriptor in the report on its standard input with those listed in
# the file `said`.
cat >named.py <<'END'
import json, sys

# If only the kind of a descriptor is known, as for the duplicate of a closed one, the report has one of these
# names.
KINDS = {"pipe": ["pipe", "(pipe)"], "socketpair": ["socketpair", "(socket)"], "eventfd": ["(eventfd)"],
         "epoll": ["(epoll_create1)", "(epoll)"], "timerfd": ["(timerfd_create)", "(timerfd)"],
         "socket": ["socket (IPv4)", "(socket)"]}


def is_of(label, kind, name):
    if kind in KINDS:
        return label in KINDS[kind]
    if kind.endswith("-accepted"):
        return label == "accepted from " + name
    # The report cuts the beginning of a long path.
    return label == name or (kind == "file" and len(label) > 60 and label.startswith("..") and
                             name.endswith(label[2:]))


said = [line.split() for line in open("said")]
left = {f["file"]: f["calls"] for f in json.load(sys.stdin)["files"]}
uses, found = {}, {}
for number, kind, name, count in said:
    # If a duplicate of a closed one is left, either kind is called (socket).
    key = "socketpair or socket" if kind in ("socketpair", "socket") else \
        name if name != "-" and "accepted" not in kind else f"{kind} {name}"
    uses[key] = uses.get(key, 0) + int(count)
    for label in [each for each in left if is_of(each, kind, name)]:
        found[key] = found.get(key, 0) + left.pop(label)
if any(each.startswith("descriptor ") for each in left):
    sys.exit(f"without a name: {left}")
for key in uses:
    if uses[key] != found.get(key, 0):
        sys.exit(f"{key}: used {uses[key]} times, in the report {found.get(key, 0)}; it has {left} besides")
END

export FXT_BUFFERING_MODE=circular FXT_BUFFER_SIZE_MB=1
for ((i = 0; i < ${FXT_ROUNDS:-3}; i++)); do
	for end in exit kill snapshot; do
		export FXT_SEED=$((seed + i))
		rm -rf work trace && mkdir work
		# If the program is killed, the shell says so on standard error.
		(cd work && traced trace "$apps/descriptors" $((50 + FXT_SEED % 400)) 60000 $end \
			>"$scratch/said") 2>err
		status=$?
		is "$end: exit status: $(cat err)" "$(test $end = kill && echo 137 || echo 0)" "$status"
		file=$(ls trace/*.fxt)
		test $end = snapshot && file=$(ls trace/*.snapshot*.fxt)
		valid --ring "$file"
		fxt report --json --all "$file" | python3 named.py >wrong 2>&1 ||
			fail "$end, FXT_SEED=$FXT_SEED: $(cat wrong)"
		is "$end: calls of the opening that are left" 0 \
			"$(fxt dump "$file" | grep -c 'complete.* io:openat\? ')"
		give_up_if_hopeless
	done
done

# A descriptor has its lifetime even if the call that made it was shorter than the threshold.
FXT_BUFFERING_MODE=streaming FXT_THRESHOLD_NS=10000000 \
	traced threshold "$apps/descriptors" 0 0 timer >/dev/null 2>err
is "threshold: exit status: $(cat err)" 0 $?
fxt report "$(only threshold/*.fxt)" >report
grep -qE '^D[0-9a-z]{4} \(timerfd_create\) +read ' report || fail "threshold: the timer has no name"

# What is read by a number that has come back unseen is not charged to the file that had the number before,
# however that was closed.
head -c $((2000 + FXT_SEED % 5000)) /dev/zero >sent.file
echo old >old.file
for way in close fclose fdopen-fclose dup dup2 close_range closedir pclose; do
	rm -f back.fxt
	FXT_BUFFERING_MODE=streaming "$FXT" record -q -o back.fxt -- \
		"$apps/comes_back" $way old.file sent.file >said ||
		fail "comes back after $way: exit status $?"
	valid back.fxt
	is "comes back after $way: bytes read" "$(stat -c %s sent.file)" "$(cat said)"
	is "comes back after $way: bytes of the old file, and of what came" "True True" "$(
		fxt report --json --all back.fxt | python3 -c '
import json, sys
files = json.load(sys.stdin)["files"]
old = sum(f["read_bytes"] for f in files if f["file"] == "old.file")
came = sum(f["read_bytes"] for f in files if f["file"].startswith("descriptor "))
print(old <= 8, came == int(sys.argv[1]))' "$(cat said)")"
done

# Threads race for the same numbers. It is not known which lifetime is whose, but each has one name and at
# most one begin and end.
export FXT_SEED=$seed
for mode in streaming oneshot circular; do
	FXT_BUFFERING_MODE=$mode FXT_BUFFER_SIZE_MB=8 \
		traced "races-$mode" "$apps/descriptor_races" 4 $((2000 + FXT_SEED % 2000)) ||
		fail "races, $mode: exit status $?"
	valid --ring "$(only "races-$mode"/*.fxt)"
done
