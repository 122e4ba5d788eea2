#!/bin/bash
# The trace counts by cause the records that it lacks. With each cause that there is, attempted = written +
# overwritten + dropped + filtered, and attempted is the number of calls that the program made.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

# judge NAME MADE CAUSE FILE: checks that MADE calls were made, and that the trace lacks some for this cause
# and for no other; with an empty CAUSE it lacks none. An empty MADE is not compared, and "perhaps CAUSE" may
# have had no effect. judge prints how many calls were attempted.
judge()
{
	local name=$1 file=$4

	valid --ring "$file"
	fxt report --json --all "$file" >report.json && fxt report "$file" >report.txt ||
		fail "$name: fxt report"
	python3 - "$2" "$3" <<-'EOT' || fail "$name: $2 calls; $(cat found)"
		import json, re, sys
		made, cause = sys.argv[1:]
		trace = json.load(open("report.json"))["trace"]
		lost = {c["cause"]: c["records"] for c in trace["dropped_by_cause"]}
		lost.update(filtered=trace["filtered"], overwritten=trace["overwritten"])
		print(trace["attempted"], "attempted", trace["written"], "written", lost,
		      file=open("found", "w"))
		ok = trace["attempted"] == trace["written"] + sum(lost.values())
		ok &= not made or trace["attempted"] == int(made)
		found = [k for k, v in lost.items() if v]
		ok &= found == ([cause] if cause else []) or \
		    cause.startswith("perhaps ") and set(found) <= {cause[8:]}
		# The report's text says the same: attempted N = written N + overwritten N + dropped N (cause
		# N, ...) + filtered N.
		if found:
		    line = next(l for l in open("report.txt") if l.startswith("attempted"))
		    line = re.sub(r"\(.*?\)", "", re.sub(r"(?<=\d)\s(?=\d)", "", line))
		    numbers = list(map(int, re.findall(r"\d+", line)))
		    ok &= numbers[0] == trace["attempted"] == sum(numbers[1:]) and len(numbers) == 3
		print(trace["attempted"])
		sys.exit(not ok)
	EOT
}

# adds_up NAME MADE CAUSE CMD...: runs CMD, and judges its trace. MADE may be `told`: then CMD prints the
# number.
adds_up()
{
	local name=$1 made=$2 cause=$3
	shift 3

	traced "$name" "$@" >out 2>err || fail "$name: exit status $?"
	test "$made" != told || made=$(cat out)
	judge "$name" "$made" "$cause" "$(only "$name"/*.fxt)" >attempted
}

export FXT_CATEGORIES=function
adds_up shallow told "" "$apps/losses" depth 400
adds_up depth told "functions nest too deep" "$apps/losses" depth 2000
for mode in streaming oneshot; do
	FXT_BUFFERING_MODE=$mode FXT_BUFFER_SIZE_MB=1 FXT_MAX_SIZE_MB=1 \
		adds_up "many-$mode" told "no room" "$apps/losses" many $((100000 + $(random_below 100000)))
done

# The report says which processes lost records and why, the worst first. The second of two processes makes
# more calls than the first.
least=$((100000 + $(random_below 50000)))
FXT_MAX_SIZE_MB=1 "$FXT" record -o two.fxt -- \
	sh -c "'$apps/losses' many $least; '$apps/losses' many $((2 * least)); true" >out 2>err ||
	fail "two: exit status $?: $(cat err)"
valid two.fxt && fxt report two.fxt >report.txt && fxt report --json --all two.fxt >report.json
python3 - <<'END' || fail "two: $(grep -A3 LOST report.txt), $(grep LOST err)"
import json, re
trace = json.load(open("report.json"))["trace"]
worst, least = trace["dropped_by_process"]
assert worst["records"] > least["records"] > 0 and worst["records"] + least["records"] == trace["dropped"]
for one in worst, least:
    assert one["program"] == "losses" and one["reason"] and \
        trace["first_ns"] <= one["first_ns"] <= one["last_ns"], one
lines = open("report.txt").read().split("\n")
at = next(i for i, line in enumerate(lines) if line.startswith("LOST: "))
assert lines[at].endswith(" records in 2 processes:")
for one, line in zip((worst, least), lines[at + 1:]):
    assert re.fullmatch(r"  [0-9 ]+ in losses %d \(no room; dropped: the run .*\), from .* to .*" %
                        one["pid"], line), line
assert "LOST in 2 processes, most in losses %d (" % worst["pid"] in open("err").read()
END
FXT_MAX_SIZE_MB=1 "$FXT" record -o one.fxt "$apps/losses" many "$least" >out 2>err ||
	fail "one: exit status $?"
fxt report one.fxt >report.txt
grep -qE '^LOST: [0-9 ]+ records in losses [0-9]+ \(no room; dropped: the run .*\), from .* to ' report.txt ||
	fail "one: $(grep LOST report.txt)"

# stepped NAME CAUSE DEPTH: signal handlers interrupt the agent at every instruction, many of them at once.
# Single steps make each call slow, and explaining slow calls would take a hundred times as long, so that is
# off.
stepped()
{
	local pid calls

	FXT_EXPLAIN_NS=0 traced "$1" "$apps/stepped" "$3" >out || fail "$1: exit status $?"
	read -r pid calls <out
	judge "$1" "$calls" "$2" "$1/stepped.$pid.fxt" >attempted
}

export FXT_CATEGORIES=io
stepped few-signals "" 3
# It is up to the clock, which the agent renews now and then, whether all handlers are within a record at
# once.
stepped signals "perhaps signal handlers too deep, cut off or short of stack" 9
export FXT_CATEGORIES=malloc
FXT_BUFFERING_MODE=oneshot FXT_BUFFER_SIZE_MB=1 adds_up room 200000 "no room" "$apps/sequence" 100000
FXT_MAX_SIZE_MB=1 adds_up bound 200000 "no room" "$apps/sequence" 100000
FXT_THRESHOLD_NS=3600000000000 adds_up threshold 200000 filtered "$apps/sequence" 100000
FXT_BUFFERING_MODE=circular FXT_BUFFER_SIZE_MB=1 adds_up ring 200000 overwritten "$apps/sequence" 100000

# Dropping a record takes no system call and waits for nothing: there are hundreds of system calls in all, for
# tens of thousands of records that are dropped.
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
	FXT_MAX_SIZE_MB=1 FXT_OUTPUT=$scratch/cheap.fxt \
		strace -f -qq -o calls -E LD_PRELOAD="$FXT_AGENT" "$apps/sequence" 50000 2>err
	judge cheap 100000 "no room" cheap.fxt >attempted
	test "$(wc -l <calls)" -lt 1000 || fail "cheap: $(wc -l <calls) system calls"
	FXT_CATEGORIES=function FXT_MAX_SIZE_MB=1 FXT_OUTPUT=$scratch/cheap-functions.fxt \
		strace -f -qq -o calls -E LD_PRELOAD="$FXT_AGENT" "$apps/losses" many 100000 >out 2>err
	judge cheap-functions 100000 "no room" cheap-functions.fxt >attempted
	test "$(wc -l <calls)" -lt 1000 || fail "cheap functions: $(wc -l <calls) system calls"
fi

# There are more threads than the ring has chunks. Their last events are given up one by one, and nothing is
# dropped.
adds_up threads "" "" "$apps/losses" threads 100
all=$(cat attempted)
FXT_BUFFERING_MODE=circular FXT_BUFFER_SIZE_MB=2 \
	adds_up many-threads "$all" overwritten "$apps/losses" threads 100

# -- A ring that a manager saves while it is overwritten ---------------------------------------------------

# What the manager has saved of a chunk is not overwritten. It saves at moments that nobody chooses: as often
# as it can, or now and then, until the program has ended.
saved_ring()
{
	local calls=$((1 + $(random_below 1500000))) megabytes=$((1 + $(random_below 3)))
	local rests config alerts=0

	rests=$(random_below 4)
	serve --wait
	mkfifo asks
	true >said
	"$FXT" ctl --socket=socket -o saved.fxt <asks >said 2>err &
	background="$background $!"
	exec 6>asks
	config='"categories":["malloc"],"buffering_mode":"circular"'
	printf '{"method":"%s","params":%s}\n' initialize_tracing \
		"{$config,\"buffer_size_megabytes_hint\":$megabytes}" start_tracing '{}' >&6
	until_deadline has_answers 2
	managed "$apps/sequence" "$calls" &
	while kill -0 $! 2>kill.err; do
		printf '{"method":"raise_alert","params":{"alert_name":"now"}}\n' >&6
		alerts=$((alerts + 1))
		until_deadline has_answers $((2 + alerts))
		test "$rests" != 0 || sleep "0.0$(random_below 10)"
	done
	wait $!
	printf '{"method":"%s","params":{}}\n' stop_tracing terminate_tracing >&6
	exec 6>&-
	until_deadline has_answers $((4 + alerts))
	stop_serving
	judge "saved ring of $megabytes MiB, $alerts alerts" $((2 * calls)) "perhaps overwritten" saved.fxt \
		>attempted
	rm -f asks said saved.fxt
}

has_answers()
{
	test "$(grep -c '^{"id"' said)" -ge "$1"
}

for _ in 1 2 3 4; do
	saved_ring
done

# -- Names -----------------------------------------------------------------------------------------------

# There are more names of functions than there is room for; those beyond it are written where they are used.
functions=4000
name=a_function_whose_name_is_long_enough_to_be_about_as_long_as_those_of_templates
{
	for ((i = 0; i < functions; i++)); do
		echo "void ${name}_$i(void) {}"
	done
	echo "__attribute__((no_instrument_function)) int main(void) {"
	for ((i = 0; i < functions; i++)); do
		echo "${name}_$i();"
	done
	echo "return 0; }"
} >named.c
${CC:-cc} -O0 -finstrument-functions -rdynamic -o named named.c || fail "named.c"
for ((i = 0; i < functions; i++)); do
	echo "function:${name}_$i 1"
done | sort >expected
for mode in streaming oneshot circular; do
	FXT_CATEGORIES=function FXT_BUFFERING_MODE=$mode FXT_BUFFER_SIZE_MB=4 \
		adds_up "names-$mode" $functions "" ./named
	trace counts "names-$mode"/*.fxt | sort >found
	same "names, $mode" expected found
done

# -- A buffer in memory ----------------------------------------------------------------------------------

export FXT_STORAGE=memory FXT_CATEGORIES=malloc
calls=$((50000 + $(random_below 50000)))
adds_up memory $((2 * calls)) "" "$apps/sequence" $calls
FXT_MAX_SIZE_MB=1 adds_up memory-bound $((2 * calls)) "no room" "$apps/sequence" $calls
FXT_BUFFERING_MODE=oneshot FXT_BUFFER_SIZE_MB=1 \
	adds_up memory-oneshot $((2 * calls)) "no room" "$apps/sequence" $calls
FXT_BUFFERING_MODE=circular FXT_BUFFER_SIZE_MB=1 \
	adds_up memory-ring $((2 * calls)) overwritten "$apps/sequence" $calls

# On a full file system that copies on write there is no room for writing again, as is done with the counts,
# so the agent keeps some room. A ring is written again as a whole, for which that may be too little; the
# agent says so.
truncate -s 120M image
if test "$(id -u)" = 0 && mkdir full && mkfs.btrfs -q image >mkfs.log 2>&1 &&
	mount -o loop image full 2>/dev/null; then
	trap 'umount -l "$scratch/full"; finish' EXIT
	for mode in streaming oneshot circular; do
		rm -f full/*
		made=$((1000000 + $(random_below 200000)))
		FXT_BUFFERING_MODE=$mode FXT_BUFFER_SIZE_MB=64 FXT_OUTPUT=$scratch/full/t.fxt \
			LD_PRELOAD=$FXT_AGENT "$apps/sequence" $made 2>err ||
			fail "full $mode: exit status $?"
		is "full $mode: lines" 1 "$(grep -c ' cannot grow: ' err)"
		if test $mode = circular; then
			valid --ring full/t.fxt
			fxt report full/t.fxt >report.txt
			grep -q 'overwritten by the ring' report.txt ||
				fail "full $mode: nothing is overwritten"
		else
			judge "full $mode" $((2 * made)) "no room" full/t.fxt >attempted
		fi
	done
	umount full
	trap finish EXIT
else
	echo "full btrfs is left out: it takes root, mkfs.btrfs and mount"
fi

# The trace of a killed program lacks only what each thread had in its last chunk.
FXT_OUTPUT=$scratch/killed.fxt LD_PRELOAD=$FXT_AGENT "$apps/sequence" $calls kill 2>/dev/null
valid killed.fxt
kept=$(fxt dump --json killed.fxt | grep -c '"complete".*"malloc"')
test "$kept" -gt $((2 * calls - 2000)) || fail "killed: $kept of $((2 * calls))"

# Somebody empties the file meanwhile, and the program notices nothing of that.
FXT_OUTPUT=$scratch/emptied.fxt LD_PRELOAD=$FXT_AGENT "$apps/sequence" 2000000 2>err &
background=$!
until test -e emptied.fxt; do kill -0 $background 2>/dev/null || break; done
: >emptied.fxt
wait $background
is "emptied: exit status" 0 $?
background=
unset FXT_STORAGE

# -- What is known after a loss ------------------------------------------------------------------------

# A program that frees and closes all that it has is said to have left nothing, whatever part of that was
# lost: what was freed while nothing could be written is not known.
cat >frees_all.c <<'END'
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **args)
{
	enum { FILES = 20 };
	int blocks = count > 1 ? atoi(args[1]) : 0, fds[FILES];
	void **list = calloc((size_t)blocks, sizeof(*list));

	for (int i = 0; i < FILES; i++)
		fds[i] = open("/dev/null", O_RDONLY);
	for (int i = 0; i < blocks; i++)
		list[i] = malloc(1000 + (size_t)i % 100000);
	for (int i = 0; i < blocks; i++)
		free(list[i]);
	for (int i = 0; i < FILES; i++)
		close(fds[i]);
	free(list);
	return 0;
}
END
$CC -O1 -o frees_all frees_all.c || fail "the compiler does not make frees_all"
for how in record preload; do
	blocks=$((30000 + $(random_below 20000)))
	if test $how = record; then
		"$FXT" record -q --max-size=1 -c malloc,io -o freed.fxt -- ./frees_all $blocks ||
			fail "frees_all: $?"
	else
		rm -f freed.fxt
		env LD_PRELOAD="$FXT_AGENT" FXT_OUTPUT="$scratch/freed.fxt" FXT_MAX_SIZE_MB=1 \
			FXT_CATEGORIES=malloc,io ./frees_all $blocks 2>/dev/null || fail "frees_all: $?"
	fi
	valid freed.fxt
	fxt report --json --all freed.fxt >freed.json
	is "$how: what a program left that frees all" "0 0 [] [] True" "$(python3 -c '
import json
r = json.load(open("freed.json"))
h = r["heap"][0]
print(h["in_use_bytes"], h["in_use_blocks"], r["leaks"], r["descriptors_open"],
      h["forgotten_blocks"] > 1000)')"
	fxt report freed.fxt >report
	is "$how: what its report says" "0 1" "$(grep -c 'never freed\|NEVER FREED' report) $(
		grep -c 'in use when records were lost, and not known any more: ' report)"
done

# -- A file system that is full --------------------------------------------------------------------------

if test "$(id -u)" = 0 && mkdir small && mount -t tmpfs -o size=8m none small 2>/dev/null; then
	env LD_PRELOAD="$FXT_AGENT" FXT_OUTPUT="$scratch/small/drop.fxt" "$apps/sequence" 100000 2>err
	is "full: exit status" 0 $?
	is "full: lines" 1 "$(grep -c '^fxtagent.*No space left.*dropped and counted' err)"
	judge full 200000 "no room" small/drop.fxt >attempted
	rm small/drop.fxt

	# If no trace can be made of the parts, the summary says what is lost all the same.
	"$FXT" record -o small/none.fxt -- "$apps/sequence" 300000 2>none.err
	is "no room for the join: what is said" "1 0" \
		"$(grep -c ' records LOST (.*), at least$' none.err) $(grep -c 'nothing lost' none.err)"
	rm -rf small/.fxt-parts.*
	"$FXT" record -q -j -o small/none.fxt -- "$apps/sequence" 300000 2>none.err
	is "no room for the join: JSON" "True True" "$(tail -n 1 none.err | python3 -c '
import json, sys
said = json.load(sys.stdin)
print(said["file"] is None and ".fxt-parts." in said["parts"], said["dropped_at_least"] > 0)')"
	rm -rf small/.fxt-parts.*

	# The agent waits for room, which there is as soon as it has said so.
	fallocate -l 5m small/filler
	mkfifo said
	env LD_PRELOAD="$FXT_AGENT" FXT_OUTPUT="$scratch/small/wait.fxt" FXT_ON_FULL=wait \
		"$apps/sequence" 40000 2>said &
	background=$!
	read -r line <said
	rm small/filler
	wait $background
	is "waiting: exit status" 0 $?
	background=
	case $line in
	fxtagent*"No space left"*waits*) ;;
	*) fail "waiting: $line" ;;
	esac
	judge waiting 80000 "" small/wait.fxt >attempted
	fxt dump small/wait.fxt | grep -c 'agent.*waiting for room' >waits
	test "$(cat waits)" -gt 0 || fail "waiting: no slice says so"
	rm small/wait.fxt

	# The trace of fxt serve says itself what is lost, and a snapshot that has no room leaves nothing.
	serve -o small/serve.fxt
	managed FXT_ON_FULL=wait "$apps/sequence" $((150000 + seed % 1000)) || fail "serve: exit status $?"
	"$FXT" ctl --socket=socket -o small/saved.fxt save=all >said.ctl 2>&1
	is "no room for a snapshot" "1 1 serve.fxt" "$? $(grep -c 'No space left' said.ctl) $(ls small)"
	stop_serving 1
	judge serve $((2 * (150000 + seed % 1000))) "no room" small/serve.fxt >attempted
	rm small/serve.fxt

	# If there is room again it goes on in the same file, and its last program is there whole.
	few=$((5000 + $(random_below 3000)))
	many=$((100000 + $(random_below 50000)))
	serve -o small/serve.fxt
	managed FXT_ON_FULL=wait "$apps/sequence" $few || fail "served, before: exit status $?"
	cat /dev/zero >small/filler 2>/dev/null
	managed FXT_ON_FULL=wait "$apps/sequence" $many || fail "served, while full: exit status $?"
	rm small/filler
	while read -r line <&5; do
		case $line in
		*"there is room again: "*) break ;;
		esac
	done
	managed FXT_ON_FULL=wait "$apps/sequence" $few || fail "served, afterwards: exit status $?"
	stop_serving
	judge "served again" $((2 * (few + many + few))) "no room" small/serve.fxt >attempted
	is "served again: programs of which all is there" 2 "$(fxt dump small/serve.fxt |
		awk '/ malloc:calloc / { calls[$4]++ }
			END { for (pid in calls) whole += calls[pid] >= '$few'; print whole + 0 }')"
	rm small/serve.fxt

	# While fxt record runs the file system gets full, and has room again, or not. The program is as ever,
	# and all of its calls are there or counted.
	mkfifo first second third
	for rest in filled freed; do
		few=$((3000 + $(random_below 2000)))
		many=$((100000 + $(random_below 50000)))
		"$FXT" record --max-size=4 -c io -o small/run.fxt -- sh -c "
			'$apps/outlives' 0 first $few 0; '$apps/outlives' 0 second $many 0
			'$apps/outlives' 0 third $few 0; exit 3" 2>record.err &
		background=$!
		echo >first
		exec 6>second
		cat /dev/zero >small/filler 2>/dev/null
		echo >&6
		exec 6>&-
		exec 6>third
		is "$rest: what is said" 1 \
			"$(grep -c 'nothing is saved until there is room again' record.err)"
		if test $rest = freed; then
			rm small/filler
			until_deadline grep -q 'there is room again: ' record.err
		else
			cat /dev/zero >small/more 2>/dev/null
		fi
		echo >&6
		exec 6>&-
		wait $background
		is "$rest: exit status" 3 $?
		background=
		judge $rest "" "no room" small/run.fxt >attempted
		between "$rest: calls" $((few + many + few)) $((few + many + few + 20)) "$(cat attempted)"
		is "$rest: the summary" 1 "$(grep -c 'records LOST .*the file system was full' record.err)"
		is "$rest: programs of which all is there" $(test $rest = freed && echo 2 || echo 1) \
			"$(fxt dump small/run.fxt | awk '/ io:access / { calls[$4]++ }
				END { for (pid in calls) whole += calls[pid] == '$few'; print whole }')"
		rm -f small/filler small/more small/run.fxt
	done
	umount small
else
	echo "no file system can be mounted here: FXT_ON_FULL is not tried"
fi
