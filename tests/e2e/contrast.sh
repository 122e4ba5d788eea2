#!/bin/bash
# Blame by contrast: what one of many callers of a helper does wrong is told of that caller, and not of the
# helper. A leak, with 2, 20 and 200 callers, and through two helpers; a failure; a wait. The caller is
# drawn at random. Where all callers do the same, the helper is told.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

# build NAME: compiles the program that stands on standard input.
build()
{
	{
		printf '#include "%s/tests/faults/beside.h"\n' "$abs_top_srcdir"
		cat
	} >"$1.c"
	${CC:-cc} -std=gnu11 -D_GNU_SOURCE -g -O1 -o "$1" "$1.c" || exit 99
}

# told NAME RULE: prints the culprit of the first finding of a rule, and what it says of the helper.
told()
{
	"$FXT" report --json "$1.fxt" >"$1.json" && python3 - "$1.json" "$2" <<'END'
import json, sys
for f in json.load(open(sys.argv[1]))["findings"]:
    if f["rule"] == sys.argv[2]:
        through = [e.split(":")[0] for e in f["evidence"] if e.startswith("through ")]
        print(f["culprit"].split(" (")[0], *through)
        break
END
}

# callers COUNT WRONG RIGHT_BODY WRONG_BODY: prints functions caller_0, caller_1, ..., of which one is wrong,
# and a table of them.
callers()
{
	local i

	for ((i = 0; i < $1; i++)); do
		echo "void caller_$i(int turn) { $(test "$i" = "$2" && echo "$4" || echo "$3") }"
	done
	echo "void (*const callers[])(int) = {"
	for ((i = 0; i < $1; i++)); do
		echo "caller_$i,"
	done
	echo "};"
}

# leak NAME COUNT HELPER LEAKED...: callers of a helper, which calls another one; LEAKED is the number of the
# caller that leaks, or `all`.
leak()
{
	local name=$1 count=$2 helper=$3 wrong=$4 keep right
	# shellcheck disable=SC2016
	keep="volatile char *p = $helper(4000); p[1] = (char)turn;" right="$keep free((void *)p);"
	test "$wrong" != all || right=$keep
	{
		cat <<'END'
char *get_bytes(size_t bytes)
{
	char *block = malloc(bytes);

	must(block != NULL, "malloc");
	block[0] = 1;
	return block;
}
char *copy_text(size_t bytes)
{
	char *copy = get_bytes(bytes + 10);

	copy[2] = 2;
	return copy;
}
END
		callers "$count" "$wrong" "$right" "$keep"
		echo "int main(void) { for (int turn = 0; turn < $count * 500; turn++) {"
		echo "callers[turn % $count](turn); work(100000 / ($count * 500)); } return 0; }"
	} | build "$name"
	"$FXT" record -q -o "$name.fxt" -- "./$name" || fail "$name: ended with status $?"
	valid "$name.fxt"
}

for count in 2 20 200; do
	wrong=$(random_below $count)
	leak "leak_$count" $count get_bytes "$wrong"
	is "a leak behind a helper with $count callers" "caller_$wrong through get_bytes" \
		"$(told leak_$count leak)"
done
wrong=$(random_below 20)
leak two_levels 20 copy_text "$wrong"
is "a leak behind two helpers" "caller_$wrong through get_bytes" "$(told two_levels leak)"
# One caller of many cannot be told from others that do the same.
leak all_leak 3 get_bytes all
told all_leak leak | grep -q through && fail "a caller is told where all leak: $(told all_leak leak)"

# A failure: one of the callers writes to a descriptor that is closed. Calls that are quick have stacks only
# where that is asked for.
wrong=$(random_below 20)
{
	cat <<'END'
#include <fcntl.h>
int sink;
void put_line(int fd, int turn)
{
	if (pwrite(fd, "line\n", 5, turn) < 0)
		work(1);
	work(1);
}
END
	callers 20 "$wrong" 'put_line(sink, turn);' 'put_line(-1, turn);'
	echo 'int main(void) { sink = open("/dev/null", O_WRONLY); for (int turn = 0; turn < 4000; turn++)'
	echo 'callers[turn % 20](turn); return 0; }'
} | build failure
FXT_STACKS=io "$FXT" record -q -o failure.fxt -- ./failure || fail "failure: ended with status $?"
valid failure.fxt
is "a failure behind a helper" "caller_$wrong through put_line" "$(told failure failing-call)"

# A wait: one of the callers runs a slow program.
wrong=$(random_below 6)
{
	cat <<'END'
#include <sys/wait.h>
void run_tool(int seconds_100)
{
	char number[16], *command[] = { "sleep", number, NULL };
	pid_t child;

	snprintf(number, sizeof number, "0.%02d", seconds_100);
	child = vfork();
	if (child == 0)
		_exit(execvp(command[0], command));
	must(waitpid(child, NULL, 0) == child, "waitpid");
}
END
	callers 6 "$wrong" 'run_tool(turn & 0);' 'for (int i = 0; i < 6; i++) run_tool(10 + (turn & 0));'
	echo 'int main(void) { for (int turn = 0; turn < 6; turn++) callers[turn](turn); return 0; }'
} | build wait_for
"$FXT" record -q -o wait_for.fxt -- ./wait_for || fail "wait_for: ended with status $?"
valid wait_for.fxt
is "a wait behind a helper" "caller_$wrong through run_tool" "$(told wait_for slow-child)"
