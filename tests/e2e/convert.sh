#!/bin/bash
# fxt convert to SQLite, Chrome's JSON, CSV, ndjson, folded stacks and speedscope: readers that are not ours
# find in each what the trace has (convert.py), and nothing half-written is left. sql.sh is about the tables
# of a database and fxt query, ctf.sh about CTF.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3
"$FXT" convert --help >help
sqlite=sqlite
"$FXT" query none 2>&1 | grep -q "without SQLite" && sqlite=

# py ARGUMENT...: what the readers say.
py()
{
	python3 "$abs_top_srcdir/tests/e2e/convert.py" "$@" >told 2>&1 ||
		fail "convert.py $*: $(head -c 2000 told)"
	count comparison
}

# converted TRACE NAME: makes all forms of events, and compares each.
converted()
{
	local form

	for form in $sqlite json csv ndjson; do
		"$FXT" convert -q --to=$form --force -o "$2.$form" "$1" 2>said ||
			fail "$1, $form: $(cat said)"
		is "$1, $form: what it says" "" "$(cat said)"
		is "$1, $form: who may read it" 600 "$(stat -c %a "$2.$form")"
	done
	py forms "$1" "$2"
	if command -v jq >/dev/null; then
		is "$1: lines that jq reads" "$(wc -l <"$2.ndjson")" "$(jq -c . "$2.ndjson" | wc -l)"
		is "$1: events that jq reads" "$(grep -c '^{' "$2.json")" \
			"$(($(jq '.traceEvents | length' "$2.json") + 1))"
	fi
}

# -- Odd traces, programs of this tree -----------------------------------------------------------------

for i in 1 2 3; do
	python3 "$abs_top_srcdir/tests/e2e/odd.py" $((seed + i)) >odd.fxt || fail "odd.py"
	converted odd.fxt odd
done
python3 "$abs_top_srcdir/tests/e2e/odd.py" "$seed" halves >halves.fxt || fail "odd.py"
converted halves.fxt halves
programs=(count_calls count_io count_net count_signals count_threads chain workers parents)
for i in 1 2; do
	program=${programs[$(random_below ${#programs[@]})]}
	"$FXT" record -q -o app.fxt -- "$apps/$program" >/dev/null 2>&1 </dev/null ||
		fail "$program: exit status $?"
	converted app.fxt "$program"
done
"$FXT" record -q -o run.fxt -- sh -c 'ls / | sort >list; exec 2>said; kill -9 $$' >/dev/null 2>&1
valid run.fxt
converted run.fxt run
mkdir parts
traced parts sh -c 'true; ls >/dev/null'
"$FXT" convert -q --to=csv -o parts.csv parts || fail "a directory of parts: exit status $?"
between "lines of the parts" 10 100000 "$(wc -l <parts.csv)"

# Memory does not grow with the number of events: of these limits each would have 21 bytes, or 280 where lines
# of source are looked up, which takes 40 MiB.
"$FXT" record -q -o many.fxt -- "$apps/count_calls" locks 2 $((60000 + $(random_below 20000))) >out 2>&1
for form in $sqlite json csv ndjson; do
	mebibytes=5
	test $form = sqlite && mebibytes=64
	(ulimit -d $((mebibytes * 1024)) && exec "$FXT" convert -q --to=$form -o many.$form many.fxt) \
		2>said ||
		fail "$form of many events in $mebibytes MiB: $(cat said)"
	count comparison
done

# -- Stacks --------------------------------------------------------------------------------------------

FXT_HEAP_SAMPLE_BYTES=16 "$FXT" record -q -c '#default,malloc' -o stacks.fxt -- "$apps/chain" 20 >out 2>&1
"$FXT" convert -q --to=speedscope stacks.fxt || fail "speedscope: exit status $?"
py stacks stacks.fxt stacks
between "stacks that were compared" 2 100000 "$(cat told)"
"$FXT" convert -q --to=folded --weight=waits -o - run.fxt >out 2>said
is "no stacks: status and lines" "1 1 0" "$? $(wc -l <said) $(wc -c <out)"

# -- The names that conversions get --------------------------------------------------------------------

mkdir names
cp run.fxt 'names/a b.fxt'
gzip -c run.fxt >'names/a b.fxt.gz'
for form in $sqlite csv; do
	"$FXT" convert -q --to=$form 'names/a b.fxt' || fail "$form beside the trace: exit status $?"
	test -f "names/a b.$form" || fail "there is no a b.$form"
done
cmp -s 'names/a b.csv' run.csv || fail "the conversion beside the trace is another one"
"$FXT" convert -q --to=csv --force 'names/a b.fxt.gz' || fail "a packed trace: exit status $?"
cmp -s 'names/a b.csv' run.csv || fail "the conversion of a packed trace is another one"
"$FXT" convert -q --to=ndjson -o - run.fxt >out || fail "standard output: exit status $?"
same_some "standard output" run.ndjson out

# -- What is refused -----------------------------------------------------------------------------------

# refused WHAT OUTPUT CMD...: ends with 1 after one line, and leaves OUTPUT and its folder as they were.
refused()
{
	local what=$1 output=$2 before
	shift 2

	before=$(cksum "$output" 2>/dev/null; ls -A "$(dirname "$output")" 2>/dev/null)
	"$@" >out 2>refusal
	is "$what: exit status" 1 $?
	is "$what: lines" "1 0" "$(wc -l <refusal) $(wc -c <out)"
	is "$what: what there is" "$before" \
		"$(cksum "$output" 2>/dev/null; ls -A "$(dirname "$output")" 2>/dev/null)"
}

"$FXT" record -q -o large.fxt -- "$apps/count_calls" locks 2 2000 >/dev/null 2>&1
"$FXT" convert --to=ndjson -o - large.fxt 2>said | head -n 3 >out
is "a reader that has enough: statuses, lines and what is said" "141 0 3 0" \
	"${PIPESTATUS[*]} $(wc -l <out) $(wc -c <said)"
mkdir at
size=$(stat -c %s run.fxt)
: >refusal
for form in $sqlite json csv ndjson speedscope folded; do
	head -c $((size / 8 * 8 - 8 * (1 + $(random_below 1000)) - 1 - $(random_below 6))) run.fxt >cut.fxt
	refused "$form of a trace that is cut" at/x "$FXT" convert --to=$form -o at/x cut.fxt
	cp run.fxt bad.fxt
	at=$((size / 32 + $(random_below 100)))
	dd if=/dev/zero of=bad.fxt bs=8 count=200 seek=$at conv=notrunc 2>/dev/null
	refused "$form of a trace with zeros in it" at/x "$FXT" convert --to=$form -o at/x bad.fxt
	refused "$form to no folder" at/x "$FXT" convert --to=$form -o none/x stacks.fxt
	refused "$form in place of its trace" stacks.fxt \
		"$FXT" convert --force --to=$form -o stacks.fxt stacks.fxt
	refused "$form in place of another trace" odd.fxt \
		"$FXT" convert --force --to=$form -o odd.fxt stacks.fxt
	refused "$form in place of a folder" at "$FXT" convert --force --to=$form -o at stacks.fxt
	echo something >at/there
	refused "$form where there is a file" at/there "$FXT" convert --to=$form -o at/there stacks.fxt
	ln -s ../stacks.fxt at/link
	refused "$form where there is a link to the trace" stacks.fxt \
		"$FXT" convert --force --to=$form -o at/link stacks.fxt
	rm -f at/there at/link
done
for form in $sqlite json csv ndjson; do
	refused "$form and a limit of files" at/x bash -c 'ulimit -f 8; exec "$@"' bash \
		"$FXT" convert --to=$form -o at/x large.fxt
done
if test -c /dev/full; then
	"$FXT" convert --to=csv -o - run.fxt >/dev/full 2>refusal
	is "standard output that is full: status and lines" "1 1" "$? $(wc -l <refusal)"
fi
mkdir small
if test "$(id -u)" = 0 && mount -t tmpfs -o size=64k none small 2>/dev/null; then
	for form in $sqlite json csv ndjson; do
		"$FXT" convert --to=$form -o small/full large.fxt >refusal 2>&1
		is "$form on a full file system: status, lines and files" "1 1 " \
			"$? $(wc -l <refusal) $(ls -A small)"
	done
	umount small
fi
for wrong in "--to=nothing run.fxt" "--to= run.fxt" "run.fxt" "--to=folded --weight=nothing run.fxt" \
	"--to=csv --weight=heap run.fxt" "--to=sqlite -o - run.fxt" "--to=csv -o  run.fxt"; do
	# shellcheck disable=SC2086
	"$FXT" convert $wrong >out 2>said
	is "convert $wrong: status and output" "2 0" "$? $(wc -c <out)"
done
for form in ctf sqlite json ndjson csv folded speedscope; do
	grep -q "^  $form " help || fail "--help does not list $form"
done
