#!/bin/bash
# Programs that are loaded by the loader as a command, with the loader's options, are traced like others.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3 readelf
command -v "${CC%% *}" >/dev/null || skip "there is no compiler here"

cat >says.c <<'END'
#include <stdio.h>
#include <stdlib.h>
void *deep(int bytes) { return malloc(bytes); }
int main(int argc, char **argv)
{
	int i;

	for (i = 0; i < 11; i++)
		if (!deep(2000001))
			return 1;
	for (i = 0; i < argc; i++)
		puts(argv[i]);
	return 6;
}
END
$CC -g -O0 -w -fno-omit-frame-pointer -o says says.c || fail "the program cannot be built"
$CC -static -O0 -w -o still says.c || fail "no static program can be built"
echo 'int nothing;' >nothing.c
$CC -shared -fPIC -o nothing.so nothing.c || fail "nothing.so cannot be built"
loader=$(readelf -lW says | sed -n 's/.*interpreter: \(.*\)]/\1/p')
test -x "$loader" || skip "there is no loader $loader here"
says=$scratch/says

# loaded NAME CMD...: compares the run by fxt record with the bare one, and looks for the program's calls.
loaded()
{
	local name=$1 status
	shift

	bare "$@" >"$name.bare"
	status=$?
	"$FXT" record -q -o "$name.fxt" -- "$@" >"$name.out" 2>"$name.err"
	is "$name: exit status" $status $?
	same_some "$name: output" "$name.bare" "$name.out"
	is "$name: what fxt says" "" "$(cat "$name.err")"
	valid "$name.fxt"
	trace calls "$name.fxt" >calls
	is "$name: blocks" 11 "$(grep -c '^malloc:malloc .* size=2000001 ' calls)"
}

for options in '' "--argv0 another" "--library-path $scratch" "--preload $scratch/nothing.so" \
	"--inhibit-cache --inhibit-rpath $says --argv0 two --library-path /nowhere"; do
	# shellcheck disable=SC2086
	loaded "by${options//[ \/]/_}" "$loader" $options "$says" a 'b c'
done
(cd / && exec "$FXT" record -q -o "$scratch/relative.fxt" -- "$loader" ".$says" >/dev/null)
is "relative: exit status" 6 $?
printf '#!%s %s\n' "$loader" "$says" >script
chmod 755 script
loaded script ./script
executed="$loader $says; exec $loader --argv0 x $says"
bare sh -c "$executed" >executed.bare
"$FXT" record -q -o executed.fxt -- sh -c "$executed" >executed.out
is "executed: exit status" 6 $?
same_some "executed: output" executed.bare executed.out
trace calls executed.fxt >calls
is "executed: blocks" 22 "$(grep -c "^malloc:malloc .* size=2000001 " calls)"

# The names of functions are those of the program, and not of the loader.
for name in by relative; do
	"$FXT" dump $name.fxt >dump
	grep -q '"deep' dump || fail "$name: the function has no name"
	grep 'type="module"' dump | grep -q "\"$says\"" || fail "$name: the program's path is not there"
	grep -q '"ld-linux.*type="frame"' dump && fail "$name: a function is said to be the loader's"
done

# What it cannot load it says itself; what cannot be traced is refused as elsewhere.
"$FXT" record -q -o x.fxt -- "$loader" "$scratch/still" >out 2>&1
is "static: exit status" 125 $?
grep -q "still: cannot be traced: it is statically linked" out || fail "static: $(cat out)"
for arguments in "" --version nothing_of_this_name "$scratch/says.c" "--unknown $says" --argv0; do
	# shellcheck disable=SC2086
	bare "$loader" $arguments >bare.out 2>bare.err
	status=$?
	# shellcheck disable=SC2086
	"$FXT" record -q -o x.fxt -- "$loader" $arguments >x.out 2>x.err
	is "loader $arguments: exit status" $status $?
	same "loader $arguments: output" bare.out x.out
	grep -v '^fxt: ' x.err >own.err
	same "loader $arguments: complaints" bare.err own.err
done
