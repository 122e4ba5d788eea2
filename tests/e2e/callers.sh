#!/bin/bash
# Some functions behave by who calls them and when: the loader goes by the caller's search paths, and an
# allocator of the program may run while the agent looks for functions. A program that uses these does traced
# what it does bare.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3 "${CC%% *}"

# same_run NAME COMMAND...: compares output, standard error and exit status of a traced run with those of a
# bare one.
same_run()
{
	local name=$1 status bare_status
	shift

	bare "$@" >"$name.bare" 2>"$name.bare_err"
	bare_status=$?
	traced "$name" timeout 60 "$@" >"$name.out" 2>"$name.err"
	status=$?
	is "$name: exit status" $bare_status $status
	same "$name: stdout" "$name.bare" "$name.out"
	same "$name: stderr" "$name.bare_err" "$name.err"
}

# events NAME PROGRAM: prints the calls in the order of time, with their arguments.
events()
{
	trace calls "$1/$2".*.fxt
}

# -- The loader goes by who calls it: only `outer`'s own RUNPATH leads to `inner` ---------------------------

mkdir libraries hidden
echo 'int inner(void) { return 7; }' >inner.c
cat >outer.c <<'SOURCE'
#include <dlfcn.h>
int outer(void)
{
	void *handle = dlopen("libinner.so", RTLD_NOW);
	int (*inner)(void) = handle ? (int (*)(void))dlsym(handle, "inner") : 0;
	int result = inner ? inner() : -1;

	if (handle)
		dlclose(handle);
	return result;
}
SOURCE
cat >loads.c <<'SOURCE'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	const char *error = dlerror();
	void *handle = dlopen(argv[1], RTLD_NOW), *direct = dlopen("libinner.so", RTLD_NOW);
	int (*outer)(void) = handle ? (int (*)(void))dlsym(handle, "outer") : 0;

	if (error)
		printf("not our error: %s\n", error);
	printf("%d, %s\n", outer ? outer() : -2, direct ? "found directly" : dlerror());
	return argc != 2;
}
SOURCE
if $CC -shared -fPIC -o hidden/libinner.so inner.c &&
   $CC -shared -fPIC -o libraries/libouter.so outer.c \
	-Wl,--enable-new-dtags,-rpath,'$ORIGIN/../hidden' -ldl &&
   $CC -o loads loads.c -ldl; then
	same_run loading ./loads "$scratch/libraries/libouter.so"
	is "loads: outer" 7 "$(cut -d, -f1 loading.out)"
	valid loading/loads.*.fxt
	is "loads: calls" "dl:dlopen dl:dlopen dl:dlopen dl:dlclose" \
		"$(events loading loads | awk '$1 ~ /^dl:/ { print $1 }' | tr '\n' ' ' | sed 's/ $//')"
	fxt report --all loading/loads.*.fxt >loading.report
	grep -qE "^C[0-9a-z]{4} dlopen +- +3$" loading.report || fail "loads: report does not count dlopen"
	is "loads: arguments of dlopen" 2 \
		"$(events loading loads | grep -c "^dl:dlopen .* filename=libinner.so flags=2$")"
else
	fail "the compiler makes no library"
fi

# -- Another library that stands in for a function, behind ours ----------------------------------------------

# The agent's function calls the other library's, whatever kind of hash table that has.
echo 'int rename(const char *from, const char *to) { return from && to ? 77 : 78; }' >other.c
echo '#include <stdio.h>
int main(void) { printf("%d\n", rename("a", "b")); return 0; }' >renames.c
$CC -fno-builtin -o renames renames.c || fail "the compiler makes no program"
for style in gnu sysv both; do
	$CC -shared -fPIC -Wl,--hash-style=$style -o other.so other.c || fail "the compiler makes no library"
	FXT_AGENT="$FXT_AGENT $scratch/other.so" traced "other.$style" ./renames >other.out
	is "other library, $style: result" 77 "$(cat other.out)"
	is "other library, $style: event" 1 \
		"$(events "other.$style" renames | grep -c "^io:rename .* ret=77$")"
done

# -- The ends of a program ---------------------------------------------------------------------------------

cat >ends.c <<'SOURCE'
#include <err.h>
#include <errno.h>
#include <error.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void last(void) { puts("last"); }
static void quick(void) { puts("quick"); fflush(stdout); }
static int is(const char *a, const char *b) { return !strcmp(a, b); }
int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	atexit(last);
	at_quick_exit(quick);
	errno = ENOENT;
	if (is(how, "exit")) exit(3);
	if (is(how, "_exit")) _exit(4);
	if (is(how, "quick_exit")) quick_exit(5);
	if (is(how, "err")) err(6, "%s %g", how, 1.5);
	if (is(how, "errx")) errx(7, "%s %d", how, 2);
	if (is(how, "error")) error(8, ENOENT, "%s %g", how, 3.5);
	if (is(how, "pthread_exit")) pthread_exit(0);
	return 1;
}
SOURCE
$CC -o ends ends.c -pthread || fail "the compiler makes no program"
for end in exit:process _exit:process quick_exit:process err:log errx:log error:log pthread_exit:pthread; do
	IFS=: read -r how category <<<"$end"
	same_run "$how" ./ends "$how"
	valid "$how"/ends.*.fxt
	is "$how: event" 1 "$(events "$how" ends | grep -c "^$category:$how ")"
	is "$how: in progress" 0 "$(events "$how" ends | grep -c "^$category:$how [0-9]* [0-9]* open")"
done

# -- A heap of its own ---------------------------------------------------------------------------------------

same_run allocator "$apps/allocator"
valid allocator/allocator.*.fxt
is "allocator: what it printed" "own blocks" "$(cat allocator.out)"
events allocator allocator >allocator.events
grep -q "^malloc:mmap .* length=1048576 " allocator.events || fail "allocator: its pages are not in the trace"

# -- FXT_CALLERS: whose calls are recorded -----------------------------------------------------------

# Two libraries that are alike take each other's place in memory.
cat >lib.c <<'END'
#include <stdlib.h>
#include <unistd.h>
void work(int n);
void work(int n)
{
	while (n--) {
		void *volatile block = malloc(100);
		volatile int result = access("/nowhere", F_OK);

		(void)result;
		free(block);
	}
}
END
cat >calls.c <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		void *library = dlopen(argv[i], RTLD_NOW);
		void (*work)(int) = (void (*)(int))dlsym(library, "work");
		volatile int result;

		work(10);
		result = access("/", F_OK);
		(void)result;
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		dlclose(library);
	}
	return 0;
}
END
$CC -O1 -shared -fPIC -o libone.so lib.c && $CC -O1 -shared -fPIC -o libtwo.so lib.c &&
	$CC -O1 -o calls calls.c -pthread -ldl || fail "the programs for FXT_CALLERS cannot be built"

# recorded_for LIST WANTED: compares what is recorded of the calls that the program and the libraries make.
# How many counters come with them depends on how long the program takes.
recorded_for()
{
	local found

	FXT_CATEGORIES='#default,-counter' FXT_CALLERS=$1 \
		traced chosen ./calls ./libone.so ./libtwo.so ./libone.so ./libtwo.so ./libone.so \
		2>said || fail "FXT_CALLERS=$1: exit status $?: $(cat said)"
	valid "$(only chosen/*.fxt)"
	found=$(trace counts chosen/*.fxt | awk '$1 ~ /:(access|dlclose|pthread_mutex_(un)?lock)$/ {
		sum[$1] += $2 } END { print sum["io:access"] + 0, sum["dl:dlclose"] + 0,
		sum["pthread:pthread_mutex_lock"] + sum["pthread:pthread_mutex_unlock"] }')
	is "FXT_CALLERS=$1: access, dlclose, locks" "$2" "$found"
	fxt report --json --all chosen/*.fxt | python3 -c '
import json, sys
print(json.load(sys.stdin)["trace"]["attempted"])' >>attempted
	rm -rf chosen
}

recorded_for '' '55 5 10'
recorded_for main '5 5 10'
recorded_for 'libone.so' '30 0 0'
recorded_for 'lib[t]wo*' '20 0 0'
recorded_for 'main,libtwo.so' '25 5 10'
recorded_for 'nobody' '0 0 0'
is "FXT_CALLERS: what the program attempted, whoever is recorded" 1 "$(sort -u attempted | wc -l)"
