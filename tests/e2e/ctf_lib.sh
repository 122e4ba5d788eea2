# What ctf.sh and ctf_proof.sh share. They source lib.sh first.

# The programs' part of a trace, and of a directory, is compared by ctf.py; with FXT_ORACLE also with what a
# second reader counts.
ctf()
{
	python3 "$abs_top_srcdir/tests/e2e/ctf.py" "$@" || fail "ctf.py $*"
}

# dropped_by FILE: prints how many events the trace lacks, by its own ledger.
dropped_by()
{
	fxt report --json --all "$1" | python3 -c '
import json, sys
def find(value, key):
    if isinstance(value, dict):
        if key in value:
            return value[key]
        value = list(value.values())
    for item in value if isinstance(value, list) else []:
        found = find(item, key)
        if found is not None:
            return found
report = json.load(sys.stdin)
print(sum(find(report, key) for key in ("dropped", "overwritten", "kernel_lost")))'
}

# converted FILE [NAME]: converts a trace into NAME.ctf, and compares all.
converted()
{
	local file=$1 name=${2-same}
	local directory=$name.ctf

	rm -rf "$directory"
	"$FXT" convert --to=ctf -o "$directory" "$file" >out 2>said || fail "$file: $(cat said)"
	lost=$(dropped_by "$file")
	note=
	test "$lost" = 0 || note="; $lost events were lost while it was recorded, and readers say when"
	test "$lost" != 1 || note="; 1 event was lost while it was recorded, and readers say when"
	is "$file: what is said" "fxt: $file -> $directory$note" \
		"$(cat out said | sed ':a; s/\([0-9]\) \([0-9]\)/\1\2/; ta')"
	ctf same "$FXT" "$file" "$directory" "$seed" >sums
	read -r events arguments <sums
	test "${events:-0}" -gt 0 || fail "$file: no events"
	echo "$name: $events events, arguments of $arguments compared"
	if test -n "${FXT_ORACLE-}"; then
		# shellcheck disable=SC2086	# these are options
		ctf oracle "$FXT_ORACLE" "$file" "$directory" ${oracle_options-} >counted
	fi
	ctf packets "$directory" >packets
	is "$file: discarded events" "$lost" "$(ctf discarded "$directory")"
}

# without_packets DIRECTORY: takes a packet out of each stream. babeltrace2 reads the rest, and says what it
# misses.
without_packets()
{
	local before cut gone

	before=$(babeltrace2 "$1" 2>/dev/null | wc -l)
	gone=$(babeltrace2 "$1" 2>&1 >/dev/null | grep -c 'discarded [0-9]* packet')
	cut=$(ctf cut "$1" "$seed")
	between "$1: streams that a packet was taken out of" 1 1000 "$cut"
	babeltrace2 "$1" >after 2>said || fail "babeltrace2 does not read what is left of $1: $(cat said)"
	is "$1: packets that babeltrace2 misses" "$cut" \
		$(($(grep -c 'discarded [0-9]* packet' said) - gone))
	between "$1: events of what is left" 1 $((before - 1)) "$(wc -l <after)"
}

# refused WHAT COMMAND...: checks that the command fails with one line, and leaves nothing behind.
refused()
{
	local what=$1 before status
	shift

	before=$(ls -A)
	"$@" >refusal 2>&1
	status=$?
	is "$what: exit status" 1 $status
	is "$what: lines" 1 "$(wc -l <refusal)"
	is "$what: files" "$before" "$(ls -A)"
}

# fuzzed FILE SEED: damages a copy of the trace, which is converted to what can be read, or refused. Sets
# $status.
fuzzed()
{
	python3 - "$1" bad.fxt "$2" <<'END'
import random, sys
rnd, data = random.Random(int(sys.argv[3])), bytearray(open(sys.argv[1], "rb").read())
if rnd.randrange(4) == 0:
    del data[rnd.randrange(len(data)):]
else:
    for _ in range(rnd.randrange(1, 20)):
        data[rnd.randrange(16, len(data))] = rnd.randrange(256)
open(sys.argv[2], "wb").write(data)
END
	rm -rf bad.ctf
	timeout 60 "$FXT" convert -q --to=ctf bad.fxt >refusal 2>&1
	status=$?
	if test $status = 0; then
		babeltrace2 bad.ctf >/dev/null 2>said || fail "fuzz $2: $(cat said)"
		count comparison
	else
		is "fuzz $2: status and lines" "1 1" "$status $(wc -l <refusal)"
		test "$(compgen -G 'bad.ctf*')" = "" || fail "fuzz $2: a directory is left"
	fi
	rm -rf bad.ctf
}
