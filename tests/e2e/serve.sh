#!/bin/bash
# fxt serve saves the traces of programs that connect to it. Programs are killed under it, and it is killed
# itself. A manager that knows the specification alone takes its place. managed.sh has the providers that do,
# and those that lie. FXT_KILLS is how many programs are killed, and FXT_MANAGER_KILLS how often fxt serve is;
# kills.sh kills both, with threads and children.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

helper()
{
	local script=$1

	shift
	count comparison
	python3 "$abs_top_srcdir/tests/e2e/$script" "$@" || fail "$script $*"
}

# -- A manager from the specification, and programs that are killed ---------------------------------

helper progress.py packets 100
helper progress.py manage "${FXT_KILLS:-20}"

# -- Programs --------------------------------------------------------------------------------------

spawns='import subprocess; print(subprocess.run(["ls", "/"], capture_output=True))'
serve -o tree.fxt
for shell in 'ls /proc/self/fd; exec ls /proc/self/fd/' "exec python3 -c '$spawns'"; do
	bare sh -c "$shell" >expected
	managed sh -c "$shell" >found
	same_some "$shell" expected found
done
stop_serving
cat <&5 >said
valid tree.fxt
is "what is said of losses" 1 "$(grep -c 'nothing lost -> tree.fxt' said)"
is "sockets that are left" "" "$(ls | grep '^socket$')"
is "traces beside the archive" "" "$(ls | grep '^beside')"
fxt dump --json tree.fxt >records
is "programs in the archive" "ls python3 sh" "$(python3 -c '
import json
names = {r["name"] for r in map(json.loads, open("records")) if r["type"] == "provider"}
print(*sorted(names & {"ls", "python3", "sh"}))')"

# A function of C++ gets the name of its source. fxt may have been built without libiberty.
cat >mangled.c <<'END'
__attribute__((noinline)) int _ZN2ns5Stack4pushEi(int value) { return value + 1; }
int main(void) { return _ZN2ns5Stack4pushEi(1) != 2; }
END
${CC:-cc} -O0 -finstrument-functions -rdynamic -o mangled mangled.c || fail "mangled.c"
serve -o mangled.fxt
managed ./mangled
stop_serving
valid mangled.fxt
name=$(grep -q '^#define HAVE_LIBIBERTY' "$abs_top_builddir/config.h" && echo 'ns::Stack::push(int)' ||
	echo _ZN2ns5Stack4pushEi)
is "the name of a function of C++" "$name" \
	"$(fxt dump --json mangled.fxt | python3 -c '
import json, sys
print(*{r["name"] for r in map(json.loads, sys.stdin) if r["type"] == "string" and "push" in r["name"]})')"

# Without a manager the program has a file of its own, and says so.
managed true 2>said
is "nobody serves" 1 "$(grep -c 'FXT_MANAGER: no answer at .*: No such file or directory' said)"
valid beside.*.fxt
rm beside.*
managed env FXT_MANAGER="-$scratch/socket" "$apps/sequence" 10 2>said
# env itself says so, because it was not told that this is no fault.
is "nobody serves, which is no fault" 1 "$(grep -c 'no answer' said)"
valid beside.*.fxt
rm beside.*
FXT_MANAGER=socket traced beside true 2>said
is "a relative path" "1 " "$(grep -c "FXT_MANAGER: 'socket' is not accepted" said) $(ls beside)"

# fxt takes the variable as relative to where it runs, and prints what programs accept.
mkfifo said.relative
FXT_MANAGER=-socket "$FXT" serve -o relative.fxt 2>said.relative &
server=$!
background="$background $server"
exec 5<said.relative
read -r _ <&5 && read -r line <&5 || fail "fxt serve does not say that it is ready"
is "where programs connect" "FXT_MANAGER=$scratch/socket" "${line%% *}"
managed true
FXT_MANAGER=socket fxt ctl state >found
is "the same, by fxt ctl" 1 "$(grep -c STARTED found)"
stop_serving
valid relative.fxt

# -- A trace that is read while it is written -----------------------------------------------------

# ctl COMMAND...: calls methods of fxt serve.
ctl()
{
	"$FXT" ctl --socket=socket "$@"
}

# is_obeyed COUNT: returns whether the program has answered so many commands.
is_obeyed()
{
	test "$(wc -l <obeyed)" -ge "$1"
}

# saves_beyond_limit: prints how many different sizes 12 calls of save_trace told, less those that ten saves a
# second allow for the time that they took.
saves_beyond_limit()
{
	local begin=$EPOCHREALTIME sizes elapsed_ms most

	# shellcheck disable=SC2046
	ctl $(yes save | head -n 12) | sed -n 's/.*"bytes":\([0-9]*\).*/\1/p' | sort -un >sizes
	elapsed_ms=$(((${EPOCHREALTIME/./} - ${begin/./}) / 1000))
	# The program itself has a part of its memory saved whenever two chunks or more are full.
	most=$((elapsed_ms / 100 + 2 + ($(tail -n 1 sizes) - $(head -n 1 sizes)) / 32768))
	sizes=$(wc -l <sizes)
	echo $((sizes > most ? sizes - most : 0))
}

serve -o now.fxt
rm -f commands
mkfifo commands
managed "$apps/obeys" 2 <commands >obeyed &
program=$!
background="$background $program"
exec 6>commands
printf 'call now 5\n' >&6
until_deadline grep -qs . obeyed
ctl save >said
is "save_trace: path" "$scratch/now.fxt" "$(sed 's/.*"path":"\([^"]*\)".*/\1/' said)"
is "save_trace: bytes" "$(stat -c %s now.fxt)" "$(sed 's/.*"bytes":\([0-9]*\).*/\1/' said)"
is "save_trace: state" 1 "$(grep -c '"records_dropped":0,"state":"STARTED"' said)"
is "what was recorded until then" 10 "$(fxt dump now.fxt | grep -c 'access .*/nowhere/now/')"
# A save that comes soon after another one is answered when it is done.
for number in 1 2 3; do
	ctl save >said
	printf 'call soon%s 5\n' $number >&6
	until_deadline is_obeyed $((number + 1))
	ctl save >said
	is "save_trace soon after another one" 10 \
		"$(fxt dump now.fxt | grep -c "access .*/nowhere/soon$number/")"
done
(while printf 'poke\n' >&6; do :; done 2>/dev/null) &
pokes=$!
is "how often it really saves" 0 "$(saves_beyond_limit)"
kill $pokes
wait $pokes 2>/dev/null
exec 6>&-
wait $program
stop_serving
valid now.fxt
is "each call once" 10 "$(fxt dump now.fxt | grep -c 'access .*/nowhere/now/')"

# refused WHY OPTION...: fxt serve with these options refuses save_trace, and says why.
refused()
{
	local why=$1

	shift
	serve -o refused.fxt "$@"
	ctl save >said
	is "save_trace, $*" "30 1" "$? $(grep -c "\"NOT_SUPPORTED\",\"message\":\"[^\"]*$why" said)"
	stop_serving
	rm -f refused*
}

refused "not in streaming mode" -m circular
refused "not in streaming mode" -m oneshot
refused rotated --rotate=1,2
if grep -q '^#define HAVE_ZSTD' "$abs_top_builddir/config.h"; then
	refused compressed --compress
fi

# -- Usage -----------------------------------------------------------------------------------------

serve -o first.fxt
"$FXT" serve --socket=socket -o second.fxt 2>said
is "a second one" "1 1 " "$? $(grep -c 'another fxt serve is there already' said) $(ls | grep second)"
stop_serving
"$FXT" serve --socket=socket -o first.fxt 2>said
is "a file that exists" "1 1" "$? $(grep -c 'first.fxt: File exists' said)"
for wrong in "-m round" "-b 0" "-b 5000" "--duration=soon" "-c nothing" "an argument"; do
	# shellcheck disable=SC2086
	"$FXT" serve --socket=socket -o wrong.fxt $wrong 2>said
	is "fxt serve $wrong" "2 " "$? $(ls | grep wrong)"
done
"$FXT" serve -q --socket=socket -o short.fxt --duration=10ms
is "after a time" 0 $?

# -- Compressed ------------------------------------------------------------------------------------

# fxt may be built without zstd; then it says so.
"$FXT" serve -q --socket=socket -o zstd.fxt.zst --compress --duration=1ms 2>said
zstd=$?
if test $zstd = 0; then
	serve -o packed.fxt.zst --compress -b 1
	FXT_ON_FULL=wait managed "$apps/sequence" 100000
	stop_serving
	valid packed.fxt.zst
	fxt dump --json packed.fxt.zst >records
	is "numbered calls" 100000 "$(grep '"type":"complete"' records | grep -c '"name":"calloc"')"
	# What is left of a file that was cut, or damaged, is read as far as it goes; it is never trusted.
	bytes=$(stat -c %s packed.fxt.zst)
	for _ in 1 2 3 4 5 6 7 8; do
		head -c "$(random_below "$bytes")" packed.fxt.zst >cut.zst
		"$FXT" dump cut.zst >cut 2>said
		status=$?
		test $status -le 1 || fail "a compressed file that was cut: exit status $status"
		cp packed.fxt.zst cut.zst
		head -c 20 /dev/urandom |
			dd of=cut.zst bs=1 seek="$(random_below "$bytes")" conv=notrunc 2>/dev/null
		"$FXT" check cut.zst >cut 2>said
		status=$?
		test $status -le 1 || fail "a compressed file that was damaged: exit status $status"
		count comparison
	done
else
	is "no zstd" "2 1" "$zstd $(grep -c 'fxt was built without it' said)"
fi

# -- Rotated ---------------------------------------------------------------------------------------

serve -o turning.fxt --rotate=1,3 -b 1
FXT_ON_FULL=wait managed "$apps/sequence" 200000
stop_serving
is "files" "turning.1.fxt turning.2.fxt turning.3.fxt turning.fxt" "$(echo turning*)"
# A lifetime may have begun in an earlier file.
valid --ring turning.3.fxt turning.2.fxt turning.1.fxt turning.fxt
for file in turning.3.fxt turning.2.fxt turning.1.fxt turning.fxt; do
	fxt dump --json "$file"
done | python3 -c '
import json, sys
calls = [json.loads(line)["args"]["nmemb"] for line in sys.stdin
         if "calloc" in line and "complete" in line and "nmemb" in line]
print(len(calls) > 30000 and calls == list(range(200001 - len(calls), 200001)))' >found
is "the newest calls, in order" True "$(cat found)"
for wrong in 1 0,1 1, x,1 1,x 1,2,3; do
	"$FXT" serve --socket=socket -o wrong.fxt --rotate=$wrong 2>said
	is "fxt serve --rotate=$wrong" 2 $?
done

# -- What is not saved as fast as it is recorded ----------------------------------------------------

# calls_of FILE...: prints how many calls of tests/apps/sequence the files have, and how many records were
# dropped.
calls_of()
{
	for file in "$@"; do
		"$FXT" dump --json "$file"
	done | python3 -c '
import json, sys
calls, dropped = 0, {}
for line in sys.stdin:
    if "calloc" in line or "free" in line or "dropped" in line:
        r = json.loads(line)
        calls += r["type"] == "complete" and (r["args"].get("size") == 0 or r["name"] == "free")
        if r["type"] == "counter":
            dropped[r["id"]] = r["args"]["records"]
print(calls, sum(dropped.values()))'
}

serve -o waits.fxt -b 1 --on-full=wait
managed "$apps/sequence" 300000 2>log
is "waiting for fxt serve: exit status, and what is said" "0 " "$? $(cat log)"
stop_serving
valid waits.fxt
is "calls of a program that waits, and what is dropped" "600000 0" "$(calls_of waits.fxt)"

most=$((1 + $(random_below 6)))
serve -o most.fxt -b 1 --max-size=$most --on-full=wait
managed "$apps/sequence" 300000 2>log
is "$most MB: exit status" 0 $?
stop_serving
valid most.fxt
is "$most MB: what is said" 1 "$(grep -c "is full at $most MiB; .* --max-size allows more" log)"
calls_of most.fxt >found
read -r calls dropped <found
is "$most MB: calls and dropped records" 600000 $((calls + dropped))
bytes=$(stat -c %s most.fxt)
test "$bytes" -gt $(((most - 1) * 1000000)) && test "$bytes" -le $(((most << 20) + 65536)) ||
	fail "$most MB: the archive has $bytes bytes"
for wrong in --on-full=lose --max-size=0 '--max-size=1 -m circular' '--on-full=wait -m oneshot'; do
	# shellcheck disable=SC2086
	"$FXT" serve --socket=socket -o wrong.fxt $wrong 2>said
	is "fxt serve $wrong" 2 $?
done

# -- The manager is killed -------------------------------------------------------------------------

# The program goes on in a file of its own. What neither that nor the archive has is counted; what the manager
# was saving when it was killed, half a buffer at most, may be in both.
for round in $(seq "${FXT_MANAGER_KILLS:-8}"); do
	# A large buffer is turned before a half of it is full.
	mb=$((round % 2 ? 1 : 16))
	serve -o archive.fxt -b $mb
	FXT_ON_FULL=wait managed "$apps/sequence" 300000 2>log &
	program=$!
	sleep "0.0$(random_below 100)"
	kill -9 "$server"
	wait "$server" 2>/dev/null
	wait $program
	is "the status of a program whose manager was killed" 0 $?
	# Its last record may be cut short.
	"$FXT" check archive.fxt >checked 2>/dev/null
	is "an archive whose manager was killed" 0 \
		"$(grep ' x ' checked | grep -vc 'record past the end of file')"
	ls beside.*.fxt >own 2>/dev/null
	# It may have ended before.
	test ! -s own || valid beside.*.fxt
	for file in archive.fxt $(cat own); do
		"$FXT" dump --json "$file" 2>/dev/null
	done | python3 -c '
import json, sys
calls, dropped = [], {}
for line in sys.stdin:
    if "calloc" in line or "dropped" in line:
        r = json.loads(line)
        if r["type"] == "complete" and r["args"].get("size") == 0:
            calls.append(r["args"]["nmemb"])
        elif r["type"] == "counter":
            dropped[r["id"]] = r["args"]["records"]
missing = 300000 - len(set(calls))
twice = len(calls) - len(set(calls))
half = 16384 * int(sys.argv[1])
print("missing" if missing > sum(dropped.values()) else "all", "twice" if twice > half else "once")
' $mb >found
	is "calls of a program whose manager was killed" "all once" "$(cat found)"
	rm -f archive.fxt beside.*
done
