#!/bin/bash
# Compares what libfxtagent.so exports and needs with the tables, which list_calls prints. This test fails on
# a symbol that is missing on either side, and on a call of what a wrapper must not call.
set -u
export LC_ALL=C
agent=${FXT_AGENT:?} build=${abs_top_builddir:?} source=${abs_top_srcdir:?}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0

# expect_none WHAT FILE: fails unless FILE is empty; its lines are what is wrong.
expect_none() {
	if [ -s "$2" ]; then
		echo "FAIL: $1:" $(cat "$2")
		failed=1
	fi
}

# symbols OPTION... FILE...: prints the names of symbols with their versions, one a line, without the symbols
# of the versions themselves.
symbols() {
	nm -P "$@" | awk 'NF >= 2 && $2 != "A" { print $1 }'
}

unversioned() {
	sed 's/@.*//' | sort -u
}

# -- Exported ----------------------------------------------------------------------------------------

symbols -D --defined-only "$agent" > "$tmp/defined" || exit 1
unversioned < "$tmp/defined" > "$tmp/exported"
"$build/tests/list_calls" > "$tmp/listed" || exit 1
sort "$tmp/listed" | uniq -d > "$tmp/twice"
sort -u "$tmp/listed" > "$tmp/declared"
[ -s "$tmp/exported" ] && [ -s "$tmp/declared" ] || { echo "FAIL: nothing to compare"; exit 1; }
comm -13 "$tmp/exported" "$tmp/declared" > "$tmp/missing"
comm -23 "$tmp/exported" "$tmp/declared" > "$tmp/undeclared"
expect_none "declared twice in the tables" "$tmp/twice"
expect_none "in the tables, not exported" "$tmp/missing"
expect_none "exported, not in the tables" "$tmp/undeclared"

# -- Needed ------------------------------------------------------------------------------------------

readelf -dW "$agent" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' > "$tmp/needed"
grep -qx 'libc\.so\.6' "$tmp/needed" || { echo "FAIL: libc.so.6 is not needed"; failed=1; }
grep -vxE 'libc\.so\.6|ld-linux-[a-z0-9-]+\.so\.[0-9]' "$tmp/needed" > "$tmp/needed_wrong"
expect_none "libraries needed besides libc" "$tmp/needed_wrong"

# A weak reference (w, v) may stay unresolved.
nm -PD --undefined-only "$agent" | awk '$2 == "U" { print $1 }' | unversioned > "$tmp/undefined"
ldd "$agent" | grep -oE '/[^ ]*/(libc\.so\.6|ld-linux[^ ]*)' | sort -u > "$tmp/libraries"
while read -r library; do
	symbols -D --defined-only "$library" | unversioned
done < "$tmp/libraries" | sort -u > "$tmp/libc"
[ -s "$tmp/undefined" ] || { echo "FAIL: $agent: it needs no function of others, says nm"; exit 1; }
[ -s "$tmp/libc" ] || { echo "FAIL: $agent: no libc found by ldd"; exit 1; }
comm -23 "$tmp/undefined" "$tmp/libc" > "$tmp/foreign"
expect_none "undefined, and not libc's" "$tmp/foreign"

# -- The functions of the C library that the agent relies on ------------------------------------------

# Whoever adds a function has to decide: may it be called in any context, and while the agent starts within an
# allocator? Functions are bound to the C library itself, whoever else has them (agent/base/bind.c). Variables
# are those that the loader finds.
# Pure functions.
allowed='mem(chr|cmp|cpy|move|rchr|set)|stpcpy|str(chr|cmp|cspn|len|ncat|ncmp|nlen|rchr|spn)'
allowed+='|strtoul|strstr|strfrom[dl]|sig(empty|fill)set'
# Functions that look up what does not change.
allowed+='|getauxval|gnu_get_libc_version|str(errordesc|errorname)_np|sig(abbrev|descr)_np'
allowed+='|__libc_current_sigrt(min|max)'
# Functions that look at the thread or at the clock.
allowed+='|clock_gettime|sched_getcpu|pthread_(self|setspecific|testcancel)|__(h_)?errno_location'
# Functions that look at an object of the C library that is their argument.
allowed+='|pthread_attr_(init|getstack(size)?)|dirfd|(feof|ferror|fileno)_unlocked'
# This one takes the lock of syslog(), and is called only after that function.
allowed+='|setlogmask'
# Registrations. They lock and may allocate, so they are made by our constructor, or where the program has no
# allocator of its own.
allowed+='|__register_atfork|__cxa_at_quick_exit|on_exit'
# pthread_cleanup_push() is made of these.
allowed+='|__pthread_(un)?register_cancel|__sigsetjmp'
# Variables.
allowed+='|__environ|_r_debug|std(in|out|err)|_IO_2_1_std(in|out|err)_'
allowed+='|error_print_progname|__progname(_full)?'
allowed+='|program_invocation_(short_)?name'
grep -vxE "($allowed)" "$tmp/undefined" > "$tmp/unknown"
expect_none "needed of the C library, and not in the list of this check" "$tmp/unknown"

# -- Never called from inside a wrapper --------------------------------------------------------------

# These allocate, lock, or use what belongs to the program. The traced calls themselves are looked for below.
forbidden='v?f?printf|v?s?n?printf|v?as?printf|v?dprintf|__[a-z]*printf_chk|perror|syslog'
forbidden+='|fopen|fdopen|fwrite|fputs|puts|(secure_)?getenv|setenv|putenv|unsetenv|clearenv'
forbidden+='|strdup|strndup|strerror|strtok|setlocale|sigprocmask|sigaction|signal'
forbidden+='|pthread_(mutex|rwlock|spin|cond|once|getspecific|sigmask).*'
forbidden+='|atexit|dl_iterate_phdr|dlv?sym|dladdr1?|dlinfo|dlerror|inet_ntop|getpwuid|localtime|strftime'
forbidden+='|qsort|__tls_get_addr'
grep -xE "($forbidden)" "$tmp/undefined" > "$tmp/forbidden"
expect_none "called by the library, and must not be" "$tmp/forbidden"

# The agent and the writer would trace themselves by calling what the library stands in for.
find "$build/agent" "$build/writer" -path '*/.libs/*' -name 'libfxtagent_la-*.o' > "$tmp/objects"
[ -s "$tmp/objects" ] || { echo "FAIL: no objects of the agent under $build"; exit 1; }
while read -r object; do
	nm -P --undefined-only "$object" > "$tmp/nm" || { echo "FAIL: nm cannot read $object"; failed=1; }
	awk '$2 == "U" { print $1 }' "$tmp/nm" | sort -u > "$tmp/references"
	comm -12 "$tmp/references" "$tmp/declared" > "$tmp/own"
	expect_none "${object#"$build"/} calls what is traced" "$tmp/own"
	grep -xE "($forbidden)" "$tmp/references" > "$tmp/forbidden"
	expect_none "${object#"$build"/} calls" "$tmp/forbidden"
done < "$tmp/objects"

# -- Put to a program's seccomp filter -----------------------------------------------------------------

# The agent runs a program's filter on each system call that it may make later, before the filter is in force.
grep -rhoE 'SYS_[a-z0-9_]+' --include='*.[ch]' "$source/agent" "$source/writer" | sort -u > "$tmp/made_calls"
sed -n '/} calls\[\] = {/,/^};/s/^\t{\(SYS_[a-z0-9_]*\),.*/\1/p' "$source/agent/process/seccomp.c" |
	sort -u > "$tmp/put"
[ -s "$tmp/put" ] || { echo "FAIL: agent/process/seccomp.c has no list of calls"; failed=1; }
comm -23 "$tmp/made_calls" "$tmp/put" > "$tmp/not_put"
expect_none "system calls that are not put to the program's filter (agent/process/seccomp.c)" "$tmp/not_put"

# -- Other readers of the tables -----------------------------------------------------------------------

# The counting library of `make compare` is in assembler. It has an entry for each function that is stood in
# for, but for hooks and for functions without a row of their own.
if [ "$(uname -m)" = x86_64 ]; then
	if ${MAKE:-make} -s -C "$build" tests/compare/libcount.so > "$tmp/made" 2>&1; then
		symbols -D --defined-only "$build/tests/compare/libcount.so" | unversioned > "$tmp/counted"
		unversioned < "$tmp/declared" | comm -23 - "$tmp/counted" |
			grep -vxE '__cyg_profile_.*|_?mcount|__fentry__|prctl|__register_atfork' \
				> "$tmp/uncounted"
		expect_none "not counted by make compare" "$tmp/uncounted"
	else
		echo "FAIL: the counting library of make compare: $(head -n 3 "$tmp/made")"
		failed=1
	fi
fi

# -- Address space -----------------------------------------------------------------------------------

# Limits count what is mapped, whether it is touched or not. So the library may take no more than 4784 KiB,
# and what few programs need is mapped when it is needed.
mapped=0
while read -r address bytes; do
	mapped=$(((address + bytes) / 1024))
done < <(readelf -lW "$agent" | awk '$1 == "LOAD" { print $3, $6 }')
if [ "$mapped" -eq 0 ] || [ "$mapped" -gt 4784 ]; then
	echo "FAIL: the library takes $mapped KiB of address space: at most 4784 are allowed"
	failed=1
fi

# -- Large variables ---------------------------------------------------------------------------------

# The child of a fork writes to many small variables, so these lie together: writer/place.h.
section() {
	readelf -SW "$agent" | sed -n "s/^ *\[ *\([0-9]*\)\] \.$1 .*/\1/p"
}

small=$(section bss) large=$(section 'bss\.tables')
[ -n "$small" ] && [ -n "$large" ] || { echo "FAIL: no .bss and .bss.tables: agent/tables.ld"; exit 1; }
readelf -sW "$agent" | awk -v small="$small" '$4 == "OBJECT" && $7 == small && $3 >= 1000 { print $8 }' \
	> "$tmp/unmarked"
expect_none "large variables that are not marked (writer/place.h)" "$tmp/unmarked"
readelf -sW "$agent" | awk -v large="$large" '$7 == large && $8 == "fxt_gate" { print $2 }' > "$tmp/gate"
readelf -sW "$agent" | awk '$8 == "fxt_wiped_begin" { print $2 }' | cmp -s - "$tmp/gate" ||
	{ echo "FAIL: the gate is not at the begin of what is wiped in children"; failed=1; }

# -- Documentation -----------------------------------------------------------------------------------

"$build/tests/list_calls" --document > "$tmp/document"
if ! diff -u "$source/docs/interposed-calls.md" "$tmp/document"; then
	echo "FAIL: docs/interposed-calls.md is not what the tables say: make interposed-calls"
	failed=1
fi

[ "$failed" != 0 ] ||
	echo "$(wc -l < "$tmp/declared") symbols are exported as the tables say, and $(wc -l \
		< "$tmp/objects") objects call nothing forbidden"
exit "$failed"
