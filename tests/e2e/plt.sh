#!/bin/bash
# The category plt has every call that modules make by way of their linkage tables, and no other: of programs
# that are linked in every way, by threads and forked children, and where functions are left by longjmp or an
# exception. What is traced does what it does bare.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3 "${CC%% *}"
test "$(uname -m)" = x86_64 || skip "calls of library functions are recorded on x86_64 only"

sources=$abs_top_srcdir/tests/apps
# Calls are what the source says: without optimisation, nothing is inlined or has another name.
flags=(-D_GNU_SOURCE= -iquote "$abs_top_srcdir" -std=gnu11 -fno-builtin)
printf 'PLT_1 { global: plt_*; };\nPLT_2 { } PLT_1;\n' >versions

# build_library FOLDER OPTION...: makes the library of plt_calls.
build_library()
{
	local folder=$1
	shift

	mkdir -p "$folder"
	$CC "${flags[@]}" -O2 -U_FORTIFY_SOURCE -fsemantic-interposition -shared -fPIC \
		-Wl,--version-script=versions "$@" -o "$folder/libplt.so" "$sources/plt_lib.c" ||
		fail "the compiler makes no library"
}

# build PROGRAM OPTION...: makes plt_calls, linked with the library in its folder.
build()
{
	local program=$1
	shift

	$CC "${flags[@]}" -O0 "$@" -o "$program" "$sources/plt_calls.c" -pthread \
		-L"$(dirname "$program")" -lplt -lm -Wl,-rpath,"\$ORIGIN" ||
		fail "the compiler makes no program"
}

build_library lazy -Wl,-z,lazy
# Not every library begins at the first of its own addresses.
build_library now -Wl,-z,now,-z,relro,-Ttext-segment=0x10000000
build_library none -fno-plt -Wl,-z,now
build lazy/pie -fPIE -pie -Wl,-z,lazy -fexceptions
build lazy/fixed -fno-pie -no-pie -Wl,-z,lazy,-z,norelro
build now/pie -fPIE -pie -Wl,-z,now,-z,relro
build now/fixed -fno-pie -no-pie -Wl,-z,now,-z,relro -fexceptions
build none/pie -fPIE -pie -fno-plt
test "$(tallied failure)" = 0 || exit 1

# run PROGRAM ARGUMENT...: runs it bare and traced, to the files `bare` and `said` and the folder `found`, and
# compares both runs.
run()
{
	local status=0 bare_status=0

	rm -rf found
	bare "$@" >bare 2>bare_err || bare_status=$?
	traced found "$@" >said 2>said_err || status=$?
	is "$what: exit status" $bare_status $status
	same_some "$what: stdout" bare said
	valid found/*.fxt
}

# expected WHO PATTERN: prints names and counts of the calls that these callers make, and whose names match,
# of what a process said.
expected()
{
	awk -v who="$1" -v pattern="$2" '$1 ~ who && $2 ~ pattern { sum[$2] += $3 }
		END { for (name in sum) print name, sum[name] }' | sort
}

# compare PROCESSES [WHO [PATTERN]]: compares the traces in `found` with `said`, or with the calls of these
# callers whose names match. Of other calls, the program says nothing.
compare()
{
	local file process files=0

	awk 'NF == 1 { process = $1 } NF == 3 { print > (process ".said") }' said
	for file in found/*.fxt; do
		files=$((files + 1))
		trace own "$file" >own
		process=parent
		! grep -q '^plt:plt_in_child ' own || process=child
		expected "${2:-.}" "${3:-.}" <$process.said >$process.expected
		awk 'NR == FNR { said[$2] = 1; next } $1 ~ /^plt:plt_/ || $1 in said' $process.said own |
			sort >$process.found
		same_some "$what: calls of the $process" $process.expected $process.found
		is "$what: calls that are recorded twice" "" \
			"$(grep -E '^plt:(malloc|free|read|open|printf|puts|fork|waitpid|pthread_.*) ' own)"
	done
	is "$what: processes" "$1" $files
}

# -- Every call, however the program is linked and functions are left ------------------------------

export FXT_CATEGORIES='#default,plt'
for program in lazy/pie lazy/fixed now/pie now/fixed; do
	# With -fexceptions the unwinder is one of the program's libraries, which calls functions, too.
	case $program in
	lazy/pie | now/fixed) export FXT_CALLERS=main,libplt.so ;;
	*) unset FXT_CALLERS ;;
	esac
	for mode in calls threads fork jumps; do
		what="$program $mode"
		run "./$program" $mode
		case $mode in
		fork) compare 2 ;;
		*) compare 1 ;;
		esac
		is "$what: stderr" "" "$(cat said_err)"
	done
done
unset FXT_CALLERS
give_up_if_hopeless

# -- Some calls ------------------------------------------------------------------------------------

# chosen RULES CALLERS WHO PATTERN: traces with these rules and callers. The calls of plt that are recorded
# are those of WHO that match.
chosen()
{
	what="FXT_PLT=$1 FXT_CALLERS=$2"
	FXT_PLT=$1 FXT_CALLERS=$2 run lazy/fixed calls
	compare 1 "$3" "$4"
}

export FXT_CATEGORIES=plt
chosen '' '' . ^plt:
chosen 'str*' '' . ^plt:str
chosen '@libplt.so' '' . ^plt:plt_
chosen '@libm.so*,plt_i*' '' . '^plt:(sinl?|pow|atan2f|frexp|plt_i.*)$'
chosen '!plt_*,plt_int,!strlen' '' . '^plt:(plt_int$|[^ps]|pow|s[^t]|str[^l])'
chosen '' main main ^plt:
chosen 'plt_*,strlen' 'lib*' library ^plt:
chosen 'str*,plt_int' main main '^plt:(str.*|plt_int)$'
unset FXT_CATEGORIES
give_up_if_hopeless

# fxt record has options for all of that.
what="fxt record --plt"
rm -rf found
mkdir found
"$FXT" record -o found/plt.fxt --plt='str*,plt_int' --callers=main -- lazy/pie calls >said 2>said_err
is "$what: exit status" 3 $?
valid found/plt.fxt
compare 1 main '^(plt:(str.*|plt_int)$|malloc:|io:)'

# -- No call ---------------------------------------------------------------------------------------

what="without the category"
run now/pie calls
is "$what: calls of plt" "" "$(trace own "$(only found/*.fxt)" | grep '^plt:')"
is "$what: stderr" "" "$(cat said_err)"

what="-fno-plt"
FXT_CATEGORIES='#default,plt' run none/pie calls
is "$what: calls of plt" "" "$(trace own "$(only found/*.fxt)" | grep '^plt:')"
is "$what: what the agent says" "1 fxtagent plt: no call of a library function is chosen" \
	"$(sed -E 's/^(fxtagent)\[[0-9]+\]: /\1 /; s/;.*//' said_err | sort | uniq -c | sed 's/^ *//')"

# -- The function is the one that the loader would find --------------------------------------------

# loader NAME EXPECTED PROGRAM...: a program that prints EXPECTED does so traced.
loader()
{
	what=$1
	local expected=$2
	shift 2

	FXT_CATEGORIES='#default,plt' run "$@"
	is "$what: result" "$expected" "$(cat said)"
}

# link NAME SOURCE OPTION...: makes a program or, with -shared, a library.
link()
{
	local name=$1 source=$2
	shift 2

	printf '%s\n' "$source" >source.c
	$CC -w -O1 -fno-builtin -fno-inline -fPIC -Wl,-z,lazy -o "$name" source.c "$@" ||
		fail "the compiler does not make $name"
}

# Two libraries have a function of the same name, each in a version of its own, and call it.
for which in 1 2; do
	echo "V_$which { global: *; };" >version
	link libv$which.so "int same(void) { return $which; } int call$which(void) { return same(); }" \
		-shared -Wl,--version-script=version
done
link same '#include <stdio.h>
int main(void) { printf("%d %d\n", call1(), call2()); return 0; }' -L. -lv1 -lv2 -Wl,-rpath,"$scratch"
loader "own versions" "1 2" ./same

# When the program was linked, the library had no versions: it still gets the oldest.
program='#include <stdio.h>
int main(void) { printf("%d\n", version()); return 0; }'
link libold.so 'int version(void) { return 0; }' -shared
link older "$program" -L. -lold -Wl,-rpath,"$scratch"
echo 'V_1 { global: version; }; V_2 { } V_1;' >version
link libold.so 'int one(void) { return 1; } int two(void) { return 2; }
__asm__(".symver one, version@V_1"); __asm__(".symver two, version@@V_2");' \
	-shared -Wl,--version-script=version
loader "no version" 1 ./older

# A library that is linked with no other names no versions. The kernel has a function of that name, too, which
# fails in another way.
link libalone.so '#include <time.h>
int version(void) { struct timespec now; return clock_gettime(9999, &now); }' -shared -nostdlib
link alone "$program" -L. -lalone -Wl,-rpath,"$scratch"
loader "no library" -1 ./alone

# A constructor loads libraries that do not find each other's functions.
for which in 1 2; do
	link libl$which.so "int local(void) { return $which; } int call(void) { return local(); }" -shared
done
link libloads.so '#include <dlfcn.h>
int (*calls[2])(void);
__attribute__((constructor)) static void load(void)
{
	calls[0] = dlsym(dlopen("./libl1.so", RTLD_LAZY), "call");
	calls[1] = dlsym(dlopen("./libl2.so", RTLD_LAZY), "call");
}' -shared -ldl
link loads '#include <stdio.h>
extern int (*calls[2])(void);
int main(void) { printf("%d %d\n", calls[0](), calls[1]()); return 0; }' -L. -lloads -Wl,-rpath,"$scratch"
loader "loaded by a constructor" "1 2" ./loads

# -- Call stacks that a handler walks, wherever it interrupts --------------------------------------

link walks '#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
static volatile int walks, shorter;
static void walk(int number)
{
	void *frames[50];

	/* handler, the frame of the signal, main, and two or more that called main */
	shorter += backtrace(frames, 50) < 5;
	walks++;
}
int main(void)
{
	struct itimerval timer = {{0, 41}, {0, 41}};
	char *volatile text = "text";
	void *frames[1];
	size_t sum = 0;

	backtrace(frames, 1);
	signal(SIGALRM, walk);
	setitimer(ITIMER_REAL, &timer, NULL);
	while (walks < 3000)
		sum += strlen(text) + abs(-1);
	memset(&timer, 0, sizeof(timer));
	setitimer(ITIMER_REAL, &timer, NULL);
	printf("%d %d\n", shorter, (int)(sum % 5));
	return 0;
}'
export FXT_MAX_SIZE_MB=10
loader "stacks from handlers" "0 0" ./walks
unset FXT_MAX_SIZE_MB

# A handler walks the stack before each instruction of two calls: in the stub, in the agent, in the call in
# front of the return thunk, in the function and in the thunk. Where the agent calls the system, it may have
# blocked signals, and a trap would end the program then.
link steps '#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
enum { TRAP_FLAG = 0x100, CALLS = 20 };
static volatile int steps, most, lost;
static void *caller;
static void trap(int number, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	void *frames[50];
	int count = backtrace(frames, 50), i;

	for (i = 0; i < count && frames[i] != caller; i++)
		;
	lost += i == count;
	steps++;
	if (!memcmp((void *)registers[REG_RIP], "\017\005", 2))
		registers[REG_EFL] &= ~TRAP_FLAG;
}
static int call(const char *text)
{
	int sum;

	caller = __builtin_return_address(0);
	steps = 0;
	__asm__ volatile("pushfq\n\torq %0, (%%rsp)\n\tpopfq" : : "i"(TRAP_FLAG) : "memory", "cc");
	sum = labs(strtol(text, NULL, 10));
	__asm__ volatile("pushfq\n\tandq %0, (%%rsp)\n\tpopfq" : : "i"(~TRAP_FLAG) : "memory", "cc");
	most = steps > most ? steps : most;
	return sum;
}
int main(void)
{
	struct sigaction action = {.sa_sigaction = trap, .sa_flags = SA_SIGINFO};
	void *frames[1];
	int i, sum = 0;

	backtrace(frames, 1);
	labs(strtol("0", NULL, 10));
	sigaction(SIGTRAP, &action, NULL);
	for (i = 0; i < CALLS; i++)
		sum += call("-7");
	fprintf(stderr, "%d\n", most);
	printf("%d %d\n", lost, sum);
	return 0;
}' -D_GNU_SOURCE -fno-omit-frame-pointer
loader "stacks at each instruction" "0 140" ./steps
bare_steps=$(cat bare_err)
test "$(grep -E '^[0-9]+$' said_err)" -gt $((bare_steps + 400)) ||
	fail "stacks at each instruction: $(cat said_err) steps, and $bare_steps bare"

# -- Exceptions through frames of the library ------------------------------------------------------

cat >throws.cc <<'SOURCE'
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
extern "C" {
int plt_calls_back(int (*function)(int), int times);
int plt_int(int a);
}
static int destroyed, inner, calls_back;
struct counted {
	~counted() { destroyed++; }
};
static int fall(int a)
{
	counted one;

	inner++;
	if (plt_int(a) == 1)
		throw std::runtime_error("fell");
	return a;
}
static int fall_from_above(int a)
{
	counted one;

	calls_back++;
	return plt_calls_back(fall, a + 3);
}
int main(int argc, char **argv)
{
	int times = argc > 1 ? std::atoi(argv[1]) : 0, caught = 0;

	for (int i = 0; i < times; i++) {
		try {
			calls_back++;
			plt_calls_back(i % 2 ? fall : fall_from_above, i % 4 + 1);
		} catch (const std::runtime_error &error) {
			caught += std::string(error.what()) == "fell";
		}
		inner++;
		plt_int(i);
	}
	std::printf("parent\nmain plt:plt_calls_back %d\nmain plt:plt_int %d\nmain plt:__cxa_throw %d\n"
		    "destroyed %d\n", calls_back, inner, caught, destroyed);
	return 3;
}
SOURCE
if test -n "${CXX-}" &&
   $CXX -o throws throws.cc -fno-builtin -Llazy -lplt -Wl,-rpath,"\$ORIGIN/lazy" 2>cxx.log; then
	what=exceptions
	FXT_CATEGORIES='#default,plt' run ./throws $((100 + $(random_below 100)))
	compare 1
else
	echo "no C++ compiler: exceptions are not tested"
fi
