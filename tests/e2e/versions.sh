#!/bin/bash
# Libraries behind the agent have functions that the agent stands in for, in versions of their own. The
# program gets those that it would get without the agent.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
command -v "${CC%% *}" >/dev/null || skip "there is no compiler here"
need python3 readelf

libc=$(ldd "$FXT_AGENT" | awk '/libc\.so/ { print $3 }')
version=$(readelf -sW --dyn-syms "$libc" | sed -n 's/.* getppid@@\([A-Z_0-9.]*\).*/\1/p' | head -n 1)
test -n "$version" || fail "the version of getppid is not known"

cat >program.c <<'END'
#include <stdio.h>
#include <unistd.h>
#include <sys/syscall.h>
int main(void)
{
	if (getppid() == syscall(SYS_getppid))
		puts("getppid is the C library's");
	else
		printf("getppid is that of another library: %d\n", getppid());
	return 0;
}
END
$CC -O1 -w -o program program.c || fail "the program cannot be built"

# library NAME SYMVER VERSION...: makes a library with a getppid() of its own. SYMVER is the version with its
# @ signs; nothing: it has none. The library has these versions.
library()
{
	local name=$1 symver=$2
	shift 2

	{
		echo "int other(void) { return 7; }"
		if test -n "$symver"; then
			echo "__asm__(\".symver other,getppid$symver\");"
		else
			echo "int getppid(void) { return 7; }"
		fi
	} >$name.c
	for version; do
		echo "$version { };"
	done >$name.map
	test -n "$symver" || echo "{ global: getppid; };" >$name.map
	$CC -shared -fPIC -w -o $name.so $name.c -Wl,--version-script=$name.map ||
		fail "$name cannot be built"
}

own=$version
library none ''
library hidden "@$own" "$own"
library default "@@$own" "$own"
library foreign "@@OTHER_1" OTHER_1
library hidden_foreign "@OTHER_1" OTHER_1
library both "@$own" OTHER_1 "$own"

# Each library, or two of them, in front of the agent and behind it.
for behind in none hidden default foreign hidden_foreign both 'foreign hidden' 'hidden_foreign none'; do
	list=
	for library in $behind; do
		list+=" $scratch/$library.so"
	done
	LD_PRELOAD=$list ./program >bare
	mkdir -p traces
	for order in "$FXT_AGENT$list" "$list $FXT_AGENT"; do
		for categories in process malloc; do
			LD_PRELOAD=$order FXT_CATEGORIES=$categories \
				FXT_OUTPUT=$scratch/traces/%p.fxt ./program >found 2>&1
			same_some "$order with $categories" bare found
		done
	done
done
LD_PRELOAD=$scratch/hidden.so ./program >hidden
LD_PRELOAD=$scratch/foreign.so ./program >foreign
grep -q 'another library: 7' hidden || fail "a hidden version is not what a program gets: $(cat hidden)"
grep -q "the C library's" foreign || fail "a foreign version is what a program gets: $(cat foreign)"

# -- libc_malloc_debug ----------------------------------------------------------------------------------

debug=$(dirname "$libc")/libc_malloc_debug.so.0
test -e "$debug" || exit 0
cat >damages.c <<'END'
#include <malloc.h>
#include <mcheck.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void noticed(enum mcheck_status status)
{
	printf("noticed: %d\n", status);
	fflush(stdout);
	_Exit(5);
}
int main(int argc, char **argv)
{
	char *volatile block;
	int i;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (!strcmp(argv[1], "mtrace"))
		mtrace();
	if (!strcmp(argv[1], "mcheck"))
		mcheck(noticed);
	block = malloc(50);
	if (!strcmp(argv[1], "perturb"))
		return printf("%d\n", block[7]), 0;
	if (strcmp(argv[1], "mtrace"))
		block[50] ^= 0x55; /* whatever the guard there is, this is not it */
	free(block);
	for (i = 0; i < 100; i++) {
		block = realloc(calloc(i + 1, 3), i * 30 + 1);
		if (i % 7)
			free(block);
	}
	free(aligned_alloc(64, 640));
	puts("not noticed");
	return 0;
}
END
$CC -O0 -w -o damages damages.c || fail "damages cannot be built"

# checked NAME VARIABLE=VALUE CMD...: compares the program behind libc_malloc_debug with the bare run.
checked()
{
	local name=$1 status order
	shift

	env "$1" LD_PRELOAD="$debug" "${@:2}" >"$name.bare" 2>&1
	status=$?
	mkdir -p "$name"
	for order in "$FXT_AGENT:libc_malloc_debug.so.0" "libc_malloc_debug.so.0:$FXT_AGENT"; do
		env "$1" LD_PRELOAD="$order" FXT_OUTPUT="$scratch/$name/%p.fxt" "${@:2}" >"$name.out" 2>&1
		is "$name: exit status with $order" $status $?
		same_some "$name: output with $order" "$name.bare" "$name.out"
	done
	valid "$name"/*.fxt
}

checked check MALLOC_CHECK_=3 ./damages check
checked tunable GLIBC_TUNABLES=glibc.malloc.check=3 ./damages check
checked mcheck A=1 ./damages mcheck
checked perturb MALLOC_PERTURB_=85 ./damages perturb
checked mtrace MALLOC_TRACE=mtrace.log ./damages mtrace
MALLOC_TRACE=bare.log LD_PRELOAD=$debug ./damages mtrace >/dev/null
env MALLOC_TRACE=traced.log LD_PRELOAD="$FXT_AGENT:$debug" FXT_OUTPUT=x.fxt ./damages mtrace >/dev/null
is "mtrace: lines" "$(grep -c '^@' bare.log)" "$(grep -c '^@' traced.log)"
