#!/bin/bash
# Programs have more instrumented functions than there are string indices, or than the agent's table has
# places. All calls are in the trace, and those of the functions in the table have their names. Where
# functions are filtered, each call is recorded or counted.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

places=131072

# called NAME FILE: writes how often each function was called, to NAME.found as the trace says and to
# NAME.reported as the report does.
called()
{
	valid "$2"
	trace counts "$2" | grep ^function: | LC_ALL=C sort >"$1.found"
	fxt report --json --all "$2" | python3 -c '
import json, sys
for call in json.load(sys.stdin)["calls"]:
    if call["category"] == "function":
        print("function:%s %d" % (call["name"], call["count"]))' | LC_ALL=C sort >"$1.reported"
}

# run NAME FUNCTIONS CALLS: traces a program with so many functions and calls; NAME.said has what it did.
run()
{
	FXT_CATEGORIES=function traced "$1" "$apps/many_functions" "$2" "$3" >"$1.said" 2>err ||
		fail "$1: exit status $?"
	file=$(only "$1"/*.fxt) && called "$1" "$file"
	LC_ALL=C sort -o "$1.said" "$1.said"
}

functions=$((33000 + $(random_below 20000)))
calls=$((20000 + $(random_below 20000)))
echo "functions: $functions, calls: $calls"
FXT_BUFFERING_MODE=streaming run indices $functions $calls
same_some "more than indices: counts of each" indices.said indices.found
same_some "more than indices: the report's" indices.said indices.reported

# In a ring each chunk has the names for its own indices.
FXT_BUFFERING_MODE=circular FXT_BUFFER_SIZE_MB=1 run ring $functions $calls
is "ring: names that no function has" "" \
	"$(cut -d' ' -f1 ring.found | grep -vxF -f <(cut -d' ' -f1 ring.said))"
test "$(wc -l <ring.found)" -gt 1000 || fail "ring: only $(wc -l <ring.found) functions are left in 1 MiB"

# A function without a place is called `function`, and none has another's name.
functions=$((places + 1 + $(random_below 8000)))
FXT_BUFFERING_MODE=streaming run places $functions 1000
sort -V places.said | head -n $places | LC_ALL=C sort >places.named
rest=$(sort -V places.said | tail -n +$((places + 1)) | awk '{ sum += $2 } END { print sum }')
grep -v '^function:function ' places.found | cmp -s places.named - ||
	fail "more than places: counts of those that have one"
is "more than places: calls of the others" "function:function $rest" \
	"$(grep '^function:function ' places.found)"

# Where address space is limited, the table is smaller or missing, and the symbols cannot be read: a function
# is called by its file and address then. The program still does the same, no call is missing, and none has
# another's name.
functions=$((5000 + $(random_below 30000)))
compared=0
for ((limit = 12000 + $(random_below 300); limit < 30000;
	limit += (limit < 17000 ? 300 : 2000) + $(random_below 300))); do
	(
		ulimit -v $limit
		FXT_CATEGORIES=function FXT_BUFFERING_MODE=oneshot FXT_BUFFER_SIZE_MB=1 \
			FXT_OUTPUT=$scratch/limited.fxt LD_PRELOAD=$FXT_AGENT \
			exec "$apps/many_functions" $functions 2000
	) >limited.said 2>err || fail "$limit KiB of address space: exit status $?: $(cat err)"
	test -s limited.fxt || continue
	compared=$((compared + 1))
	called limited limited.fxt
	is "$limit KiB: calls" "$(awk '{ sum += $2 } END { print sum }' limited.said)" \
		"$(fxt report --json --all limited.fxt |
			python3 -c 'import json, sys; print(json.load(sys.stdin)["trace"]["attempted"])')"
	is "$limit KiB: names that no function has" "" "$(cut -d' ' -f1 limited.found |
		grep -v '^function:many_functions+0x' |
		grep -vxF -e function:function -e 'function:?' -f <(cut -d' ' -f1 limited.said))"
	rm -f limited.fxt
done
# With the largest limits there is room for the agent and its file.
test $compared -gt 0 || fail "no program with little address space has left a trace"

# filtered NAME FILTER DEPTH [ARGUMENT...]: traces a random program with this filter, and compares each count.
filtered()
{
	local name=$1 filter=$2 depth=$3

	shift 3
	FXT_CATEGORIES=function FXT_FILTER=$filter FXT_DEPTH=$depth FXT_BUFFERING_MODE=streaming \
		traced "$name" "$apps/call_trees" $((500 + $(random_below 3000))) "$@" >"$name.said" 2>err ||
		fail "$name: exit status $?: $(cat err)"
	for file in "$name"/*.fxt; do
		valid "$file"
	done
	is "FXT_FILTER='$filter' FXT_DEPTH=$depth $*" "" \
		"$(FXT=$FXT python3 "$abs_top_srcdir/tests/e2e/filters.py" "$name.said" "$filter" "$depth" \
			"$name"/*.fxt 2>&1 | head -n 5)"
	rm -rf "$name"
}

# A rule that leaves out a function alone, or keeps it, is exact whatever way functions are left in.
for filter in '' 'alpha' '!alpha' 'alpha,beta,*eta' '!*eta,beta' '?lpha@call_tr*' '@lib*' '!@call_trees' \
	'@call_trees,![a-d]*'; do
	filtered plain "$filter" ''
	filtered jumps "$filter" '' jumps
done
for filter in 'alpha/' '!alpha/' 'alpha/,!beta/,gamma' '!*eta,zeta/,!delta/' 'epsilon/,!epsilon' \
	"$(printf '%s,' alpha beta/ '!gamma/' zeta/ | sed 's/,$//')"; do
	filtered trees "$filter" ''
	filtered nested "$filter" $((1 + $(random_below 6)))
done
for depth in 1 2 3 7 20; do
	filtered depth '' $depth
	filtered both '!eta,!alpha/' $depth
done

# A library with two versions of a function has the version in the name of each. The trace has the name alone.
calls=$((1 + $(random_below 50)))
echo 'V_1 { global: work; local: *; }; V_2 { global: work; } V_1;' >map
printf '%s\n' 'void first(void) { }' 'void second(void) { }' \
	'__asm__(".symver first, work@V_1");' '__asm__(".symver second, work@@V_2");' >library.c
printf '%s\n' 'void work(void);' \
	"int main(void) { for (int i = 0; i < $calls; i++) work(); return 0; }" >user.c
$CC -w -g -O0 -finstrument-functions -shared -fPIC -Wl,--version-script=map -o libwork.so library.c &&
	strip -x libwork.so && $CC -w -O0 -o uses_work user.c -L. -lwork -Wl,-rpath,"$scratch" ||
	fail "the compiler does not make a library with versions"
is "names with versions in it" 2 "$(readelf -sW libwork.so | sed '1,/symtab/d' | grep -c work@)"
FXT_CATEGORIES=function traced versions ./uses_work || fail "a library with versions: exit status $?"
called versions versions/*.fxt
is "a function with a version" "function:work $calls" "$(cat versions.found)"

# Functions of a library whose file is cut off while it is in use have no names any more, and are counted. Its
# section headers, which are its end, say where the names are.
if command -v "${CC%% *}" >/dev/null 2>&1 && command -v readelf >/dev/null 2>&1; then
	functions=$((3 + $(random_below 40)))
	{
		echo '#include <stdlib.h>'
		for ((i = 0; i < functions; i++)); do
			echo "int cut_$i(int n);"
			echo "static __attribute__((noinline, no_instrument_function)) void *inner_$i(int n)"
			echo "{ void *volatile p = malloc(n); return p; }"
			echo "int cut_$i(int n) { free(inner_$i(n)); return n + $i; }"
		done
	} >cut.c
	{
		echo '#include <stdlib.h>'
		echo '#include <unistd.h>'
		for ((i = 0; i < functions; i++)); do echo "int cut_$i(int n);"; done
		echo 'int main(int argc, char **argv) { volatile int sum = 0;'
		echo 'if (truncate("./libcut.so", atol(argv[1]))) return 1;'
		# Each is called twice, and has no name once.
		for ((i = 0; i < 2 * functions; i++)); do echo "sum += cut_$((i / 2))(argc);"; done
		echo 'return 0; }'
	} >cut_main.c
	$CC -O1 -w -shared -fPIC -finstrument-functions -o libcut.so cut.c &&
		$CC -O1 -w -o cut_main cut_main.c ./libcut.so || fail "the library does not build"
	end=$(readelf -h libcut.so | sed -n 's/.*Start of section headers: *\([0-9]*\) .*/\1/p')
	cp libcut.so whole.so
	for size in "$(stat -c %s libcut.so)" $((end + $(random_below 64))) $((end - $(random_below 64))); do
		cp whole.so libcut.so
		rm -rf cut
		FXT_CATEGORIES=function traced cut ./cut_main "$size" || fail "cut: exit status $?"
		file=$(only cut/*.fxt)
		valid "$file"
		fxt dump "$file" >dumped
		is "$size bytes: calls" $((2 * functions)) "$(grep -c ' complete .* function:' dumped)"
		test "$size" -ge "$(stat -c %s whole.so)" && unnamed=0 || unnamed=$functions
		is "$size bytes: without a name" $((2 * unnamed)) \
			"$(grep -c ' complete .* function:libcut.so+0x' dumped)"
		is "$size bytes: they are counted" "$unnamed" \
			"$(sed -n 's/.* agent:unnamed .*records=\([0-9]*\).*/\1/p' dumped |
				sort -n | tail -n 1 | grep . || echo 0)"
		"$FXT" report --json --all "$file" >report.json || fail "fxt report: exit status $?"
		is "$size bytes: the report says it" "$unnamed" \
			"$(sed -n 's/^ *"unnamed": \([0-9]*\),$/\1/p' report.json)"
		# Static functions in call stacks: their names stand in the part that is cut off.
		rm -rf cut
		cp whole.so libcut.so
		FXT_CATEGORIES=malloc FXT_STACKS=malloc traced cut ./cut_main "$size" ||
			fail "cut: exit status $?"
		"$FXT" report --json --all "$(only cut/*.fxt)" >report.json ||
			fail "fxt report: exit status $?"
		is "$size bytes: the file in call stacks" "$((unnamed != 0)) $unnamed" \
			"$(grep -c '"path": ".*libcut.so"' report.json) $(
				grep -A 1 '"path": ".*libcut.so"' report.json |
				sed -n 's/.*"functions": \([0-9]*\).*/\1/p' | grep . || echo 0)"
	done
fi
