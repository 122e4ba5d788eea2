#!/bin/bash
# Programs have a budget for what recording may cost. A manager gives up categories of those that pass it, and
# the trace and the report say so; the programs do what they do all the same.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

# look FILE: prints what a trace says of its budget, for each process that has made long calls: what it gave
# up, whether short calls came after recording had started again, and whether the sums of the counter only
# grow.
look()
{
	fxt dump --json "$1" >records
	python3 - <<'END'
import json
processes, sums = {}, {}
for record in map(json.loads, open("records")):
    if "category" not in record or "pid" not in record:
        continue
    pid = record["pid"]
    one = processes.setdefault(pid, {"given_up": [], "started": 0, "short": [], "long": 0, "grows": True})
    if record["category"] == "agent" and record["name"] == "budget":
        one["given_up"].append(record["args"]["given_up"])
    elif record["category"] == "agent" and record["name"] == "recording started":
        one["started"] = max(one["started"], record["time"])
    elif record["category"] == "agent" and record["name"] == "tracing":
        now = (record["args"]["cost_ns"], record["args"]["used_ns"])
        before = sums.get(pid, (0, 0))
        one["grows"] &= now[0] >= before[0] and now[1] >= before[1] and now[0] < now[1]
        sums[pid] = now
    elif (record["category"], record["name"]) == ("malloc", "malloc"):
        one["short"].append(record["time"])
    # A sample in the same function has its name, and the category `sample`.
    one["long"] += (record["category"], record["name"]) == ("io", "access")
for pid, one in processes.items():
    if not one["long"]:
        continue
    # The call that found the start is recorded whatever it is, and one of each other thread.
    after = sum(time > one["started"] > 0 for time in one["short"])
    print(",".join(one["given_up"]) or "nothing", "short" if after > 8 else "-",
          "grows" if one["grows"] else "shrinks")
END
}

# -- What is given up ------------------------------------------------------------------------------------

pairs=$((4000000 + seed % 1000000))
for run in "1 $pairs fork" "3 $pairs"; do
	# A line for each process.
	expected="malloc - grows"
	test "${run##* }" != fork || expected=$expected$'\n'$expected
	# shellcheck disable=SC2086
	bare "$apps/spends" $run </dev/null >bare.out
	serve -o spent.fxt -b 2 --on-full=wait --budget=1%
	# shellcheck disable=SC2086
	managed "$apps/spends" $run </dev/null >found.out
	stop_serving
	same_some "$run: output" bare.out found.out
	valid spent.fxt
	is "$run: what is given up" "$expected" "$(look spent.fxt)"
	fxt report spent.fxt >report
	is "$run: the report" "$(wc -l <<<"$expected")" \
		"$(grep -c '^BUDGET: spends [0-9]* records no malloc after .*, and 1% are allowed$' report)"
	is "$run: as JSON" "malloc" "$(fxt report --json --all spent.fxt | python3 -c '
import json, sys
print(*{step["given_up"] for step in json.load(sys.stdin)["budget"]})')"
	is "$run: what was freed unseen" "" "$(grep '^NEVER FREED' report)"
	rm spent.fxt
done

# The program is recorded on without the category. The last record of a file that is still written may be cut
# short.
is_recorded_on()
{
	printf 'go on\n' >&6
	"$FXT" ctl --socket=socket save >/dev/null &&
		"$FXT" dump on.fxt 2>/dev/null | grep io:access.*/nowhere/line >/dev/null
}

serve -o on.fxt -b 2 --on-full=wait --budget=1%
mkfifo lines
managed "$apps/spends" 1 $pairs <lines >found.out &
program=$!
background="$background $program"
exec 6>lines
until_deadline is_recorded_on
exec 6>&-
wait $program
is "recorded on: exit status" 0 $?
stop_serving
valid on.fxt
is "recorded on: what is given up" "malloc - grows" "$(look on.fxt)"
rm on.fxt

# A program that keeps its budget is recorded whole.
serve -o kept.fxt -b 2 --on-full=wait --budget=1000%
managed "$apps/spends" 1 50000 </dev/null >found.out
stop_serving
valid kept.fxt
is "a budget that is kept" "nothing - grows" "$(look kept.fxt)"
is "its calls" "50000 50" "$(fxt dump kept.fxt |
	awk '/ malloc:malloc .* size=32 / { m++ } / io:access / { a++ } END { print m, a }')"
is "its report" 0 "$(fxt report kept.fxt | grep -c BUDGET)"

# -- fxt record --------------------------------------------------------------------------------------------

FXT_BUDGET=1% "$FXT" record -o record.fxt -- "$apps/spends" 2 4000000 </dev/null >found.out 2>err ||
	fail "fxt record: exit status $?"
valid record.fxt
is "fxt record: what is given up" "malloc - grows" "$(look record.fxt)"
is "fxt record: its last line" 1 "$(grep -c 'budget' err)"

# -- What is refused -----------------------------------------------------------------------------------------

for bad in 2 x% 0% -1% 2%% 1001% ''; do
	"$FXT" record --budget="$bad" true >said 2>&1
	is "--budget='$bad'" "125 1" \
		"$? $(grep -c 'is no budget: give what\|the value of --budget is empty' said)"
done
FXT_BUDGET=much "$FXT" serve 2>said
is "FXT_BUDGET=much" "2 1" "$? $(grep -c "FXT_BUDGET: 'much' is no budget" said)"
"$FXT" record --budget=2% -m circular true 2>said
is "no manager" "125 1" "$? $(grep -c -e '--budget does not go with --mode=circular' said)"
FXT_BUDGET=2% traced alone true 2>said
is "no manager for a program" 1 "$(grep -c 'FXT_BUDGET is kept by fxt record and fxt serve' said)"
FXT_BUDGET='' traced alone true 2>said
is "no budget" "" "$(cat said)"
