#!/bin/bash
# Programs are traced of which it is known why they waited, and fxt report says so in the right section.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

# -- A chain of three threads --------------------------------------------------------------------------------

traced trace "$apps/chain" || fail "chain: exit status $?"
file=$(only trace/*.fxt) && valid "$file" && fxt report "$file" >report &&
	fxt report --json --all "$file" >report.json

# The report has these lines in this order and without others in between. Those of the thread that waits for
# all of them may come before.
sed -n '/^LONGEST CAUSAL CHAINS/,/^$/p' report | sed -nE \
	's/^ *(customer|cook) [0-9]+ (had )?waited .* in ([a-z_]+)\(([^)]*)\)(, in ([a-z_]+))?$/\1 \3 \4 \6/p
	s/^ *until (cook|farmer) [0-9]+ called (\w+)(, having held it since (\w+) .*)?$/until \1 \2 \4/p
	s/^ *meanwhile: [0-9.]+ ms in (usleep)(,.*)?/meanwhile \1/p' >found
cat >expected <<'END'
customer pthread_mutex_lock pantry_lock take_supper
until cook pthread_mutex_unlock fill_pantry
cook sem_wait delivered 
until farmer sem_post 
meanwhile usleep
END
grep -A4 '^customer pthread_mutex_lock' found | head -5 >first
same "chain" expected first

python3 - >found <<'END' || fail "chain, JSON: what it says does not fit together"
import json
r = json.load(open("report.json"))
for chain in r["chains"]:
    waits = [w for w in chain["longest"] if w["name"] in ("customer", "cook")]
    if len(waits) == 2:
        print(*[(w["name"], w["call"], w["by"]["name"], w["by_call"]) for w in waits])
        assert all(w["let_go_ns"] >= w["from_ns"] for w in waits)
        assert all(sum(d["ns"] for d in w["by_meanwhile"]["in"]) + w["by_meanwhile"]["outside_ns"] ==
                   w["let_go_ns"] - w["by_meanwhile"]["from_ns"] for w in waits)
        break
threads = {t["name"]: t for t in r["threads"]}
for t in r["threads"]:
    assert t["running_ns"] + t["blocked_ns"] + t["waiting_ns"] == t["last_ns"] - t["first_ns"], t
# They slept nearly all the time, except in their first steps.
for name, call in ("customer", "pthread_mutex_lock"), ("cook", "sem_wait"):
    assert threads[name]["blocked_ns"] > 0 and \
        call in [c["call"] for c in threads[name]["not_running_in"]], threads[name]
assert not any(c["category"] == "agent" for c in r["calls"])
END
is "chain, JSON" "('customer', 'pthread_mutex_lock', 'cook', 'pthread_mutex_unlock') \
('cook', 'sem_wait', 'farmer', 'sem_post')" "$(cat found)"

# -- The order of sections, and how wide they are ------------------------------------------------------------

sections()
{
	local names='DEADLOCK|STILL OPEN AT THE END|THREADS|LONGEST CAUSAL CHAINS|CONTENDED LOCKS|WAITING FOR'

	names+='|LOCKS TAKEN IN BOTH ORDERS|FILES AND SOCKETS|CALLS|HEAP BY WHO ASKED FOR IT|HEAP|NEVER FREED'
	names+='|FAILED CALLS|DESCRIPTORS|SAID'
	# Whether one of a few small blocks is drawn as a sample is chance.
	sed -nE "s/^($names).*/\1/p" "$1" | grep -v '^HEAP BY WHO' | tr '\n' ';'
}
is "chain: sections" \
	"THREADS;LONGEST CAUSAL CHAINS;CONTENDED LOCKS;WAITING FOR;CALLS;FILES AND SOCKETS;HEAP;" \
	"$(sections report)"
is "chain: lines over 100 columns" "" "$(awk 'length > 100' report)"

rm -rf trace
start_traced trace "$apps/deadlock"
kill_background
file=$(only trace/*.fxt) && fxt report "$file" >report
case $(sections report) in
"DEADLOCK;STILL OPEN AT THE END;THREADS;"*"HEAP;") ;;
*) fail "deadlock: sections $(sections report)" ;;
esac
is "deadlock: before the first section" "nothing lost" "$(sed -n '3{p;q}' report)"

# -- Locks that were taken in both orders --------------------------------------------------------------------

# lock_orders FILE: prints each order as the program does.
lock_orders()
{
	fxt report --json --all "$1" | python3 -c 'import json, sys
for circle in json.load(sys.stdin)["lock_orders"]:
    for order in circle:
        print(order["first"], order["then"], order["name"], order["count"])' | sed 's/ 0x[0-9a-f]*//g'
}

"$FXT" record -q -o orders.fxt "$apps/lock_order" >has_said 2>err ||
	fail "lock_order: exit status $?: $(cat err)"
sort has_said >told
test -s told && valid orders.fxt && lock_orders orders.fxt | sort >found
same_some "lock_order" told found
fxt report orders.fxt >report
grep -qE '^L.{4} accounts_lock, then audit_lock: .*payer, first [0-9.]+ [mu]?s after the start, 1 time$' \
	report ||
	fail "lock_order: $(grep -A3 '^LOCKS TAKEN' report)"

# Without all calls nobody knows who held what.
"$FXT" record -q --threshold=1us -o short.fxt "$apps/lock_order" >/dev/null 2>err ||
	fail "lock_order --threshold: exit status $?: $(cat err)"
fxt report --json --all short.fxt | python3 -c 'import json, sys
report = json.load(sys.stdin)
print("filtered" if report["trace"]["filtered"] else "whole", len(report["lock_orders"]))' >found
is "lock_order --threshold" "filtered 0" "$(cat found)"

# -- Files: how many calls, of what size, how long -----------------------------------------------------------

rm -rf trace
head -c 100000 /dev/zero >source
FXT_CATEGORIES=io traced trace dd if=source of=target bs=1000 2>/dev/null || fail "dd: exit status $?"
file=$(only trace/*.fxt) && fxt report "$file" >report && fxt report --json --all "$file" >report.json
is "dd" "source read 101 100000 target write 100 100000" "$(python3 -c '
import json
for f in sorted(json.load(open("report.json"))["files"], key=lambda f: f["file"]):
    for use in ("read", "write"):
        u = f.get(use)
        if u and f["file"] in ("source", "target"):
            assert 0 < u["p50_ns"] <= u["p99_ns"] <= u["max_ns"] <= u["total_ns"] \
                <= u["calls"] * u["max_ns"], u
            print(f["file"], use, u["calls"], u["bytes"], end=" ")' | sed 's/ $//')"
grep -qE '^D.{4} source +read +[0-9.]+ [mu]?s +101 97\.7 KiB +990 B ' report ||
	fail "dd: $(grep source report)"

# -- Files that a child has from its parent ------------------------------------------------------------------

# reads FILE: prints "NAME READS" for each file that was read, except those that the C library and the shell
# have read and those without a name.
reads()
{
	fxt report --json --all "$1" | python3 -c 'import json, sys
for f in json.load(sys.stdin)["files"]:
    if "/" not in f["file"] and " " not in f["file"] and f.get("read"):
        print(f["file"], f["read"]["calls"])' | sort
}

"$FXT" record -q -o inherited.fxt "$apps/inherits" >has_read 2>err ||
	fail "inherits: exit status $?: $(cat err)"
sort has_read >told
test -s told && valid inherited.fxt && reads inherited.fxt >found
same_some "inherited" told found

# -- Calls that cannot wait, by the mode of their descriptors ------------------------------------------------

# Slow calls are not explained here. In the report a thread that waits has to wait for 10 of its 20 ms at
# least, as time limits are rounded.
"$FXT" record -q --explain=0 -o modes.fxt "$apps/modes" 60 >told 2>err ||
	fail "modes: exit status $?: $(cat err)"
test -s told && valid modes.fxt && fxt report --json --all modes.fxt | python3 -c 'import json, sys
threads = {t["name"]: t for t in json.load(sys.stdin)["threads"]}
wrong = 0
for line in open("told"):
    name, does = line.strip().split(" ", 1)
    t = threads[name]
    least, most = {"prompt": (0, 0), "waits": (10**7, 10**12), "waits briefly": (1, 10**12)}[does]
    if not least <= t["waiting_ns"] <= most or t["blocked_ns"]:
        wrong += 1
        print(name, does, "waiting", t["waiting_ns"], "blocked", t["blocked_ns"])
sys.exit(wrong)' >found || fail "modes: $(cat found)"

# -- Addresses that the kernel has chosen --------------------------------------------------------------------

rm -rf trace
traced trace "$apps/listens" >has_read 2>err || fail "listens: exit status $?: $(cat err)"
sort has_read >told
file=$(only trace/*.fxt) && valid "$file" && fxt report --json --all "$file" | python3 -c 'import json, sys
for f in json.load(sys.stdin)["files"]:
    if f.get("read") and ":" in f["file"]:
        print(f["file"], f["read"]["calls"])' | sort >found
same_some "bound" told found

# -- One thread, and what it left ----------------------------------------------------------------------------

rm -rf trace
FXT_CATEGORIES=time,io traced trace "$apps/slow" sleeps >/dev/null || fail "slow: exit status $?"
file=$(only trace/*.fxt) && fxt report "$file" >report
is "one thread: sections" "CALLS;" "$(sections report | grep -o '^[A-Z]*;')"
grep -qE '^ran .*waited .*, of which .* in nanosleep$' report || fail "one thread: $(head -n 5 report)"

# -- A hot loop two templates deep, which the compiler has put into main() -----------------------------------

cat >hot.cc <<'END'
#include <cstdio>
#include <vector>
template <typename T> struct Adder {
	T sum = 0;
	void add(const std::vector<T> &v)
	{
		for (auto x : v)
			sum += x * x / 3; // here
	}
};
template <typename T> struct Holder {
	Adder<T> adder;
	void run(const std::vector<T> &v) { adder.add(v); }
};
int main()
{
	std::vector<unsigned long> v(100000, 7);
	Holder<unsigned long> h;
	for (int i = 0; i < 5000; i++)
		h.run(v);
	std::printf("%lu\n", h.adder.sum);
}
END
# It is not said whether the kernel lets anybody take samples here.
if ${CXX:-c++} -O2 -g -o hot hot.cc 2>/dev/null &&
	"$FXT" record -q --sample=999 -o hot.fxt ./hot >/dev/null && valid hot.fxt &&
	fxt report --json --all hot.fxt >report.json &&
	python3 -c 'import json, sys
p = json.load(open("report.json"))["processor"]
sys.exit(not p or p["samples"] < 50)'; then
	python3 - $(($(steal_ms) - stolen)) >found <<'END' || fail "hot: the figures do not fit together"
import json, sys
p = json.load(open("report.json"))["processor"]
first = p["functions"][0]
place = first["place"] or {"file": "", "line": 0, "inlined": ""}
print(first["name"], place["file"], place["inlined"])
assert sum(f["self_samples"] for f in p["functions"]) == p["samples"]
assert sum(t["samples"] for t in p["threads"]) == p["samples"]
assert sum(t["samples"] for t in p["processes"]) == p["samples"]
assert all(f["self_samples"] <= f["total_samples"] <= p["samples"] for f in p["functions"])
# A sample stands for its time, and the switches say the same of it, within five deviations: as if each were
# taken by chance. While a host had the processor none was taken.
running = sum(t["running_ns"] for t in p["threads"])
deviation = p["sampled_ns"] / p["samples"] ** 0.5
assert -5 * deviation < running - p["sampled_ns"] < 5 * deviation + int(sys.argv[1]) * 10**6, \
    (p["sampled_ns"], running, deviation)
END
	if grep -q 'define HAVE_LIBDW 1' "${abs_top_builddir:?}/config.h"; then
		is "hot: the first function" "main hot.cc Adder<unsigned long>::add" "$(cat found)"
	fi
	fxt report hot.fxt >report
	# The first finding says it before any table, and the table follows.
	head -n 7 report | grep -qE '^    by Adder<unsigned long>::add \(hot\.cc:8\)' ||
		fail "hot: its function is not in the first lines: $(head -20 report)"
	first=$(grep -nE '^PROCESSOR TIME BY FUNCTION' report | cut -d: -f1)
	[ "${first:-99}" -lt 16 ] || fail "hot: its functions are not on the first screen: $(head -20 report)"
	is "hot: lines over 100 columns" "" "$(awk 'length > 100' report)"
	fxt report --folded - hot.fxt >folded
	samples=$(python3 -c 'import json; print(json.load(open("report.json"))["processor"]["samples"])')
	is "hot: samples in folded stacks" "$samples" "$(awk '{ sum += $NF } END { print sum }' folded)"
	grep -qE '^hot;.*;main [0-9]+$' folded || fail "hot: no stack ends in main(): $(head -3 folded)"
	fxt report --flame=hot.svg hot.fxt >/dev/null
	python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("hot.svg")' ||
		fail "hot: the flame graph is no XML"
	grep -q '<title>main (' hot.svg || fail "hot: main() is not in the flame graph"
else
	echo "no samples here"
fi

# -- Who it was, by call stacks ------------------------------------------------------------------------------

python3 "${abs_top_srcdir:?}/tests/e2e/stacked.py" >stacked.fxt && valid stacked.fxt
fxt report stacked.fxt >report
is "stacks: lines over 100 columns" "" "$(awk 'length > 100' report)"
head -n 27 report >first
grep -oE 'asked for by load \(bank\) < main' first >found
grep -oE 'in withdraw \(bank\)|^C.{4} load \(bank\) +~1.25 MiB' first |
	sed 's/^C.\{4\} /      /' | sort -u >>found
printf '%s\n' "asked for by load (bank) < main" "      load (bank)                        ~1.25 MiB" \
	"in withdraw (bank)" >expected
same "stacks: on the first screen" expected found
grep -qE '^      held by audit \(bank\)$' report || fail "stacks: $(grep -A4 '^CONTENDED' report)"
grep -A2 '^FAILED CALLS' report | grep -qE '^C[0-9a-z]{4} open +1 .*No such file or directory$' ||
	fail "stacks: $(grep -A3 '^FAILED' report)"
fxt report --folded=heap stacked.fxt >found
is "stacks: never freed" "process 7;_start;main;load(char const*);xstrdup;xmalloc;malloc 1311720" \
	"$(cat found)"
fxt report --folded=peak:peak --flame=allocated:all.svg stacked.fxt >report
is "stacks: at the peak" "1311720 300000" "$(awk '{ print $NF }' peak | paste -sd' ')"
grep -q '<title>parse (293 KiB, 18.61%)' all.svg || fail "stacks: $(grep -o '<title>parse.*</title>' all.svg)"
grep -q '^HEAP BY WHO' report || fail "stacks: there is no report beside files"
is "stacks: waits" "1000100" "$(fxt report --folded=waits stacked.fxt | awk '{ print $NF }')"
grep -q '^C[0-9a-z]* main (bank) ' <<<"$(fxt report --wrappers='lo?d,parse*' stacked.fxt)" ||
	fail "stacks: --wrappers"
grep -q '^C[0-9a-z]* main (bank) ' <<<"$(FXT_WRAPPERS=load fxt report stacked.fxt)" ||
	fail "stacks: FXT_WRAPPERS"
fxt report --json --all stacked.fxt | python3 -c 'import json, sys
r = json.load(sys.stdin)
heap = r["heap_stacks"][0]
print(heap["unfreed"]["bytes"], heap["bytes_a_sample"],
      [f["function"] for f in heap["stack"] if not f["wrapper"]])
print(r["contended"][0]["holder_stack"][2]["function"], r["blocked"][0]["stack"][3]["function"],
      r["failures"][0]["errno"])' >found
printf '%s\n' "1311720 65536 ['load', 'main']" "audit withdraw 2" >expected
same "stacks, JSON" expected found

# What cannot be written, or is not there, is told in one line.
for wrong in "--folded=/nonexistent/x" "--flame=/nonexistent/x" "--flame=modes.fxt" \
	"--sort=name" "--folded=" "--folded=- --flame=-" "--json --folded=-" "--folded=heap:"; do
	# shellcheck disable=SC2086
	"$FXT" report $wrong modes.fxt >/dev/null 2>err && fail "report $wrong: exit status 0"
	is "report $wrong: lines of the message" 1 "$(grep -c '^fxt' err)"
done
