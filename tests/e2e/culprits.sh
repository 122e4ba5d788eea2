#!/bin/bash
# One plain `fxt record` answers who did it, on the first screen of its report, by function and line of
# source: of a leak through a helper that many call, of the phase in which the heap had its peak, and of a
# thread that locks itself by way of wrappers.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

SCREEN=40

# line FILE TEXT: prints the number of the only line of the program's source that has the text.
line()
{
	grep -nF "$2" "$abs_top_srcdir/tests/apps/$1" | cut -d: -f1
}

# says NAME PATTERN...: checks that each pattern, an extended regular expression, is in the first screen of
# the report of NAME.fxt.
says()
{
	local name=$1 pattern

	shift
	valid "$name.fxt"
	fxt report "$name.fxt" >report
	is "$name: lines over 100 columns" "" "$(awk 'length > 100' report)"
	for pattern; do
		count comparison
		head -n $SCREEN report | grep -qE "$pattern" || {
			fail "$name: not on the first screen: $pattern"
			head -n $SCREEN report >&2
		}
	done
}

"$FXT" record -q -o leaks.fxt -- "$apps/leaks" || fail "leaks: exit status $?"
# Functions have names always, and lines where fxt can read debug information.
has_lines=no
fxt report leaks.fxt | grep -q '(leaks\.cc:' && has_lines=yes

# at FILE TEXT: prints where that is, as the report has it: the line, or the program where lines are not
# known.
at()
{
	if [ $has_lines = yes ]; then
		echo "\\($1:$(line "$1" "$2")\\)"
	else
		echo "\\(${1%.cc}\\)"
	fi
}

says leaks "^C[0-9a-z]{4} dup_line $(at leaks.cc 'static_cast<char *>(malloc') +~[0-9.]+ MiB" \
	"^      < open_session $(at leaks.cc 'headers.push_back(dup_line')"
# left NAME BYTES: checks what the report of NAME.fxt says is left, of which one byte in so many was drawn.
# 40 000 lines of 309 bytes are never freed, nor are 2000 sessions of 24 with a vector of 256. A block of s
# bytes is a sample with the probability p = 1 - exp(-s / BYTES) and stands for s / p then, so the variance of
# what is said of it is s * s * (1 - p) / p. The limit is five deviations of the sum.
left()
{
	fxt report --json --all "$1.fxt" >report.json
	is "$1: what was left" "True True" "$(python3 - "$2" <<'END'
import json, math, sys
mean = int(sys.argv[1])
blocks = {309: 40000, 256: 2000, 24: 2000}
want = sum(size * count for size, count in blocks.items())
chance = {size: 1 - math.exp(-size / mean) for size in blocks}
deviation = math.sqrt(sum(count * size ** 2 * (1 - chance[size]) / chance[size]
                          for size, count in blocks.items()))
stacks = json.load(open("report.json"))["heap_stacks"]
left = sum(s["unfreed"]["bytes"] for s in stacks if any("open_session" in f["function"] for f in s["stack"]))
print(abs(left - want) < 5 * deviation or f"{left} is not {want}, within five times {deviation:.0f}",
      all(s["unfreed"]["bytes"] == 0 for s in stacks if any("stage" in f["function"] for f in s["stack"])))
END
)"
}
left leaks 65536
# More samples say it more precisely.
FXT_HEAP_SAMPLE_BYTES=1024 "$FXT" record -q -o fine.fxt -- "$apps/leaks" || fail "fine: exit status $?"
left fine 1024

# The names come later as well, where the program is not any more: by its debug information, and its build id.
if [ $has_lines = yes ] && command -v objcopy strip readelf >/dev/null; then
	cp "$apps/leaks" stripped
	id=$(readelf -n stripped | awk '/Build ID/ { print $3 }')
	mkdir -p "debug/.build-id/${id:0:2}"
	objcopy --only-keep-debug stripped "debug/.build-id/${id:0:2}/${id:2}.debug"
	strip stripped
	"$FXT" record -q -o stripped.fxt -- ./stripped || fail "stripped: exit status $?"
	rm stripped
	says stripped '^C[0-9a-z]{4} stripped\+0x[0-9a-f]+ +~[0-9.]+ MiB'
	fxt report --debug-dir=debug stripped.fxt >report
	grep -EA1 "^C[0-9a-z]{4} dup_line $(at leaks.cc 'static_cast<char *>(malloc') " report |
		grep -qE "^      < open_session $(at leaks.cc 'headers.push_back(dup_line') < main \(" ||
		fail "stripped: the debug information is not found: $(grep -A3 '^HEAP BY' report)"
	count comparison
fi

"$FXT" record -q -o peaks.fxt -- "$apps/peaks" >/dev/null || fail "peaks: exit status $?"
says peaks \
	"^heap at its peak: about [0-9.]+ MiB in [0-9 ]+ blocks, by build_index $(at peaks.cc 'push_back(i)')"

# Functions of a script that node has compiled are responsible for what node does for them. Versions differ in
# when they compile one, so these are called often before they ask for memory.
cat >buffers.js <<'SOURCE'
const kept = [];
function askForBuffer(bytes) { return Buffer.allocUnsafe(bytes); }
function keepBuffers(count, bytes) {
	for (let i = 0; i < count; i++)
		kept[i % 200] = askForBuffer(bytes);
}
for (let i = 0; i < 300; i++)
	keepBuffers(100, 8);
keepBuffers(200, 300000);
console.log(process.pid);
SOURCE
if "$apps/makes_code" none 1 >pid && command -v node >/dev/null 2>&1 &&
	node --v8-options 2>/dev/null | grep -q perf-basic-prof; then
	"$FXT" record -q -c malloc -o buffers.fxt -- node --perf-basic-prof buffers.js >pid ||
		fail "buffers.js: exit status $?"
	rm -f "/tmp/perf-$(cat pid).map"
	says buffers \
		'^heap at its peak: .*, by (askForBuffer|keepBuffers) \(buffers.js:[0-9]+:[0-9]+\)'
	fxt report --json --all buffers.fxt | grep '"function": "JS:.askForBuffer ' >whole ||
		fail "buffers: JSON has no whole names"
	fxt report --folded=peak:- buffers.fxt | grep 'JS:.askForBuffer .*/buffers.js:2:' >whole ||
		fail "buffers: stacks have no whole names"
fi

mkfifo said
"$FXT" record -q -o locks_itself.fxt -- "$apps/locks_itself" >said 2>/dev/null &
background=$!
read -r pid <said || fail "locks_itself ended before it was ready"
# It waits in the system call futex: 202 or, on aarch64, 98.
until_deadline grep -qE '^(202|98) ' "/proc/$pid/syscall"
kill -KILL "$pid"
wait $background
background=
evict=$(($(line locks_itself.cc 'APART void evict()') + 2))
says locks_itself '^DEADLOCK' 'has waited .* for cache,$' 'took in Cache::insert .* before the end$'
if [ $has_lines = yes ]; then
	says locks_itself "Cache::evict \\(locks_itself.cc:$evict\\)$" \
		"< Cache::insert $(at locks_itself.cc 'evict();')$" \
		"< handle_request $(at locks_itself.cc 'cache.insert(number)')$" \
		"< main $(at locks_itself.cc 'handle_request(i)')$"
else
	says locks_itself "in Cache::evict" "< Cache::insert" "< handle_request" "< main"
fi
