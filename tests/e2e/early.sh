#!/bin/bash
# Functions may be called while the loader binds the program's functions, by resolvers of indirect functions:
# before the agent is relocated, before there are thread-local variables, and before the C library begins. The
# calls pass through, whichever they are, and the program is traced afterwards as usual.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
command -v "${CC%% *}" >/dev/null || skip "there is no compiler here"
need nm python3

sources=$abs_top_srcdir/tests/apps
libc=$(ldd "$FXT_AGENT" | awk '/libc\.so/ { print $3 }')

# What the agent stands in for, and the C library has for new programs. These cannot be tried with zeros:
# those that make processes, those whose wrappers look at their argument before the C library finds that there
# is none, and sync(), which takes as long as what all others have written.
untried='daemon|_?_?v?fork|_Fork|closedir|(__)?endmntent|aio_fsync(64)?|getdents64|getdirentries(64)?'
untried+='|v?(err|warn)x?|sync'
nm -D --defined-only "$FXT_AGENT" | awk '{ sub("@.*", "", $3); print $3 }' | sort -u >ours
nm -D --defined-only "$libc" |
	awk '$2 ~ /[TtWi]/ && $3 ~ /@@/ { sub("@.*", "", $3); print $3 }' | sort -u >theirs
comm -12 ours theirs | grep -vxE "$untried" >both
sed 's/.*/FUNCTION(&)/' both >early.inc
test "$(wc -l <both)" -gt 500 || fail "only $(wc -l <both) functions are tried"

# built NAME FLAG...: compiles.
built()
{
	local name=$1
	shift

	$CC -O1 -w -fno-builtin -fno-stack-protector -I. -o "$name" "$@" 2>"$name.log" ||
		fail "$name cannot be built: $(cat "$name.log")"
}

echo 'int early_nothing;' >nothing.c
built libearly.so -shared -fPIC -DLIBRARY -Wl,-z,now "$sources/early.c"
built liblazy.so -shared -fPIC -DLIBRARY -Wl,-z,lazy "$sources/early.c"
built library "$sources/early_main.c" -Wl,-z,now ./libearly.so
built lazy "$sources/early_main.c" -Wl,-z,lazy ./liblazy.so
built program -fPIE -pie "$sources/early.c" -Wl,-z,now
built fixed -fno-pie -no-pie "$sources/early.c" -Wl,-z,now

# early NAME CMD...: compares how the calls ended with the bare run, and looks for the program's own calls.
early()
{
	local name=$1
	shift

	bare "$@" >"$name.bare" 2>"$name.bare.err" </dev/null || fail "$name: the bare program fails"
	traced "$name" "$@" >"$name.out" 2>"$name.err" </dev/null
	is "$name: exit status" 0 $?
	same_some "$name: complaints" "$name.bare.err" "$name.err"
	is "$name: calls" "$(wc -l <both)" "$(wc -l <"$name.out")"
	same "$name: how the calls ended" "$name.bare" "$name.out"
	valid "$name"/*.fxt
	trace calls "$name"/*.fxt >calls
	grep -q ':printf ' calls || fail "$name: the program is not traced"
}

early in_library ./library
LD_BIND_NOW=1 early bind_now ./lazy
early in_program ./program
early in_fixed_program ./fixed

# The library is preloaded, behind the agent and in front of it.
for order in "$FXT_AGENT:$scratch/libearly.so" "$scratch/libearly.so:$FXT_AGENT"; do
	FXT_OUTPUT="$scratch/preloaded.%p.fxt" LD_PRELOAD=$order \
		./lazy >preloaded.out 2>preloaded.err </dev/null
	is "preloaded: exit status" 0 $?
	same "preloaded: how the calls ended" in_library.bare preloaded.out
done

# By the loader as a command, the loader is found in another way.
loader=$(readelf -lW program | sed -n 's/.*interpreter: \(.*\)]/\1/p')
if test -x "$loader"; then
	early by_loader "$loader" ./library
fi
