#!/bin/bash
# Programs that know the names of their locks and streams find exactly these in their traces, wherever the
# objects are and whatever was at their addresses before.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3 strip

export FXT_CATEGORIES=pthread,io

# names WHAT CMD...: compares the names that CMD says, left in the file `told`, with those of its trace, left
# in `found`.
names()
{
	local what=$1

	shift
	rm -rf trace
	traced trace "$@" >told 2>err || fail "$what: exit status $?"
	file=$(only trace/*.fxt) || return
	valid "$file"
	trace objects "$file" >found
	same_some "$what" told found
}

names "executable" "$apps/objects" names
trace told "$file" >records
is "told once of the same, however often" 5 \
	"$(grep -cE '^mutex mutex (of pool_create|of cache_create|first used by worker)$' records)"
is "each variable once" 1 "$(grep -c ' app_lock$' records)"

# In a ring the records with names may stand in chunks.
FXT_BUFFERING_MODE=circular FXT_BUFFER_SIZE_MB=1 names "ring" "$apps/objects" names

strip -o objects "$apps/objects"
names "stripped" ./objects names stripped

names "libraries that come and go" "$apps/objects" library "$apps/libobjects_one.so" "$apps/libobjects_two.so"
FXT_CATEGORIES=pthread,dl,io names "libraries, and dlclose recorded" \
	"$apps/objects" library "$apps/libobjects_one.so" "$apps/libobjects_two.so"

# For heap blocks there are neither samples nor explanations: these could come between the end of a call and
# the begin of its block.
export FXT_EXPLAIN_NS=0
for mode in streaming oneshot circular; do
	FXT_BUFFERING_MODE=$mode FXT_BUFFER_SIZE_MB=2 FXT_CATEGORIES=malloc,pthread \
		names "blocks, $mode" "$apps/objects_blocks" large
	trace blocks "$file" | sort | uniq -c | sort -k1,1nr -k2 | sed 's/^ *//' >lives
	is "blocks, $mode: lifetimes of one kind" "506 block of make_table 100008 gone" "$(head -n 1 lives)"
	is "blocks, $mode: kept" "1 block of make_index 100008 kept" "$(grep kept lives)"
done
unset FXT_EXPLAIN_NS

# Where every block has a lifetime, those of the C library too, no lock is taken for one that was at its
# address before.
rm -rf trace
FXT_HEAP_TRACK_BYTES=1 FXT_CATEGORIES=malloc,pthread traced trace "$apps/objects_blocks" small >said
file=$(only trace/*.fxt) && valid "$file"
grep mutex said >told
trace objects "$file" | grep mutex >found
same_some "small blocks" told found

# The child of a fork has a trace of its own, which is told of the objects again.
rm -rf trace
traced trace "$apps/objects" fork >told 2>err || fail "fork: exit status $?"
for file in trace/*.fxt; do
	valid "$file"
	pid=${file%.fxt}
	pid=${pid##*.}
	trace objects "$file" | sed "s/^/$pid /"
done | sort >found
sort -o told told
same_some "fork" told found
is "processes" 2 "$(cut -d' ' -f1 told | sort -u | wc -l)"

# There are more objects at once than can have a name. The others are counted, and nothing else suffers.
rm -rf trace
traced trace "$apps/objects" many 20000
file=$(only trace/*.fxt) && valid "$file"
named=$(trace told "$file" | grep -c '^mutex mutex of make_many$')
unnamed=$(fxt dump --json "$file" | python3 -c '
import json, sys
print(max([r["args"]["records"] for r in map(json.loads, sys.stdin)
           if r.get("name") == "unnamed" and r["type"] == "counter"], default=0))')
test "$named" -gt 4000 || fail "many: only $named have a name"
is "many: named, and counted as without" 20000 $((named + unnamed))

# The report has the same names.
rm -rf trace
traced trace "$apps/causes" cond 100 >/dev/null
file=$(only trace/*.fxt) && fxt report --json --all "$file" >report.json
is "report" "cond cond, mutex mutex" "$(python3 -c '
import json
print(*sorted({w["kind"] + " " + w["label"] for w in json.load(open("report.json"))["waiting"]
               if w["kind"] in ("cond", "mutex")}), sep=", ")')"

# -- Names of threads ------------------------------------------------------------------------------------
# names_of FILE: prints "TID NAME" for each thread that was renamed, with the name that it had last.
names_of()
{
	fxt dump "$1" | awk '
		$2 == "thread-name" && $4 != "\"thread_names\"" { gsub("\"", "", $4); name[$3] = $4 }
		END { for (tid in name) print tid, name[tid] }' | sort -n
}

for mode in streaming oneshot circular; do
	FXT_BUFFERING_MODE=$mode traced names.$mode "$apps/thread_names" >names.said
	is "thread_names, $mode: exit status" 0 $?
	names_of names.$mode/*.fxt >names.found
	sort -n -o names.said names.said
	same_some "thread_names, $mode: the last name of each thread" names.said names.found
	valid names.$mode/*.fxt
done
test "$(fxt dump names.streaming/*.fxt | grep -c 'thread-name .*"first"')" = 1 ||
	fail "thread_names: the name before the last is missing"
