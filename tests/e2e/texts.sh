#!/bin/bash
# Programs wait for ever to open a FIFO, and are killed: the trace says which one it was, by its path.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3 mkfifo

# name_of BYTES: prints a name of so many bytes.
name_of()
{
	local digits

	digits=$(printf '%*s' "$1" '')
	echo "${digits// /$(random_below 10)}"
}

# paths_of FILE: prints the paths of the calls in progress that have a text.
paths_of()
{
	fxt dump --json "$1" | python3 -c '
import json, sys
for line in sys.stdin:
    record = json.loads(line)
    if record.get("type") == "begin":
        print(*(v for v in record.get("args", {}).values() if isinstance(v, str) and not v.startswith("0x")))'
}

for call in open write openat fopen creat; do
	path=$PWD/$(name_of $((1 + $(random_below 200))))
	for ((i = $(random_below 16); i > 0; i--)); do
		path=$path/$(name_of $((1 + $(random_below 200))))
	done
	mkdir -p "${path%/*}"
	mkfifo "$path"
	# The recorder reads the path while the call waits, some time after it has begun. A program that was
	# killed earlier tells nothing, so the next one waits longer.
	for wait in 0.5 1 2 4 8 16; do
		rm -f pid hangs.fxt
		"$FXT" record -q -o hangs.fxt -- sh -c 'echo $$ >pid; exec "$@"' sh \
			"$apps/waits_to_open" $call "$path" &
		background=$!
		until_deadline test -s pid
		sleep $wait
		kill -9 "$(cat pid)"
		wait $background
		is "$call: exit status" 137 $?
		background=
		valid hangs.fxt
		paths_of hangs.fxt >paths
		test -s paths && break
	done
	is "$call, ${#path} bytes" "$path" "$(cat paths)"
done
