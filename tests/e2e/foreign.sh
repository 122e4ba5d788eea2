#!/bin/bash
# Programs that the agent cannot be preloaded into run as they do without it: those of another C library, or
# of another machine, have a loader that would complain, or end the program. The agent is left out of their
# LD_PRELOAD, and the trace says so.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3
command -v "${CC%% *}" >/dev/null || skip "there is no compiler here"

runs=$apps/runs
chmod 755 .
export PATH=$scratch/bin:$PATH
mkdir bin

# -- The programs ---------------------------------------------------------------------------------------

# foreign NAME FLAG...: compiles foreign.c; returns whether the result runs.
foreign()
{
	local name=$1
	shift

	$CC -O1 -nostdlib -ffreestanding -fno-stack-protector -w "$@" -o "$name" \
		"$abs_top_srcdir/tests/apps/foreign.c" 2>/dev/null || return
	env -i "./$name" >/dev/null 2>&1
	test $? = 3
}

echo 'int main(void) { return 0; }' >main.c
foreign bin/loader -shared -fPIC -Wl,-e,_start,-Bsymbolic || fail "no loader can be built"
foreign bin/static -static -fno-pie -no-pie || fail "no static program can be built"
$CC -o bin/other main.c -Wl,--dynamic-linker="$scratch/bin/loader" || fail "no program can be built"
$CC -o bin/lost main.c -Wl,--dynamic-linker="$scratch/bin/nowhere" || fail "no program can be built"
is "the other program's status" 3 "$(bin/other >/dev/null; echo $?)"
printf '#!%s with arguments\n' "$scratch/bin/other" >bin/script
printf '#! %s\t\n' "$scratch/bin/script" >bin/script2
printf '#!%s\n' "$scratch/bin/nowhere" >bin/lostscript
printf 'exec "%s" by the shell\n' "$scratch/bin/other" >bin/text
chmod 755 bin/script bin/script2 bin/lostscript bin/text
cut_short=$(stat -c %s bin/other)
head -c $((cut_short / 2)) bin/other >bin/cut
head -c 70 bin/other >bin/shorter
# The machine is another one. Which one it is stands in the bytes 18 and 19.
{ head -c 18 bin/other; printf '\xf3\x00'; tail -c +21 bin/other; } >bin/riscv
chmod 755 bin/cut bin/shorter bin/riscv
cp bin/other bin/unreadable
chmod 111 bin/unreadable
programs='other script script2 text static lost lostscript cut shorter riscv unreadable loader'
foreign bin/loader32 -m32 -shared -fPIC -Wl,-e,_start,-Bsymbolic &&
	$CC -m32 -nostdlib -fPIE -pie -w -o bin/other32 -Wl,--dynamic-linker="$scratch/bin/loader32" \
		"$abs_top_srcdir/tests/apps/foreign.c" &&
	programs+=' other32 loader32'
echo "programs: $programs"

# same_run NAME CMD...: compares output, complaints and status with those of the bare run.
same_run()
{
	local name=$1 status
	shift

	bare "$@" >"$name.bare" 2>"$name.bare.err"
	status=$?
	traced "$name" "$@" >"$name.out" 2>"$name.err"
	is "$name: exit status" $status $?
	# A static program is shown LD_PRELOAD as it is, to hand it on.
	test "${name##*.}" = static || same "$name: output" "$name.bare" "$name.out"
	# The shell's own word about a signal has the line of this script in it.
	sed -i '/^[^ ]*: line [0-9]*: /d' "$name.bare.err" "$name.err"
	same "$name: stderr" "$name.bare.err" "$name.err"
}

# told NAME WHAT: checks that the trace says why the program is not traced.
told()
{
	trace calls "$1"/*.fxt | grep -q "untraced=$2" || fail "$1: the trace does not say that it $2"
}

# -- Every way to run them ------------------------------------------------------------------------------

forms='execve execve-bare execvpe execvp execlp execv execl fexecve fexecve-path execveat execveat-path
	syscall syscall-bare relative relative-path posix_spawn posix_spawn-bare posix_spawnp
	spawn_elsewhere system'
places='itself fork vfork thread small handler'

for form in $forms; do
	name=itself.$form.other
	same_run "$name" "$runs" itself "$form" "$scratch/bin/other" x
	grep -qx 'LD_PRELOAD: none' "$name.out" || fail "$name: $(cat "$name.out")"
	valid "$name"/*.fxt
done
for form in execve execveat-path execl syscall; do
	told "itself.$form.other" "is built for another C library"
done
trace calls itself.posix_spawn.other/*.fxt >calls
"$FXT" dump itself.posix_spawn.other/*.fxt | grep -q 'agent:untraced.*is built for another C library' ||
	fail "posix_spawn: the trace does not say that the program is not traced"

# Every program is run in some place by some form that is drawn, and in each place.
pick()
{
	# shellcheck disable=SC2086
	set -- $(random_below $#) "$@"
	shift "$(($1 + 1))"
	echo "$1"
}
for program in $programs; do
	for place in $places; do
		# shellcheck disable=SC2086
		form=$(pick $forms)
		name=$place.$form.$program
		rm -rf "$name"
		case $form in
		*spawn*|system) path=$scratch/bin/$program ;;
		*p|*pe) path=$(pick "$scratch/bin/$program" "$program") ;;
		*) path=$scratch/bin/$program ;;
		esac
		same_run "$name" "$runs" "$place" "$form" "$path" x
		grep -q "LD_PRELOAD:.*$FXT_AGENT" "$name.out" && test "$program" != static &&
			fail "$name: $(cat "$name.out")"
	done
done

# A static program hands LD_PRELOAD on to programs that can be traced.
traced static "$runs" itself execve "$scratch/bin/static" x >out
is "LD_PRELOAD of a static program" "LD_PRELOAD: $FXT_AGENT" "$(tail -n 1 out)"
traced static "$runs" itself execve-bare "$scratch/bin/static" x >out
is "LD_PRELOAD of a static program that was given none" "LD_PRELOAD: $FXT_AGENT" "$(tail -n 1 out)"

# -- What else is in LD_PRELOAD -------------------------------------------------------------------------

echo 'int nothing;' >nothing.c
$CC -shared -fPIC -o nothing.so nothing.c || fail "nothing.so cannot be built"
other=$scratch/nothing.so
mkdir -p others
for list in "$other:$FXT_AGENT" "$FXT_AGENT:$other" "$FXT_AGENT $other" "$other:$FXT_AGENT:$other"; do
	rest=${list/#$FXT_AGENT?}
	rest=${rest/?$FXT_AGENT}
	for form in execve posix_spawn; do
		env LD_PRELOAD="$list" FXT_OUTPUT="$scratch/others/%e.%p.fxt" "$runs" itself $form \
			"$scratch/bin/other" x >out
		is "$form: LD_PRELOAD with others" "LD_PRELOAD: $rest" "$(tail -n 1 out)"
	done
done

# A library that was named without a folder, or from where the program began, is found by its path.
mkdir -p named
env LD_PRELOAD=libfxtagent.so LD_LIBRARY_PATH="$(dirname "$FXT_AGENT")" \
	FXT_OUTPUT="$scratch/named/%e.%p.fxt" sh -c 'cd /; env' >out
is "named without a folder" "LD_PRELOAD=$FXT_AGENT" "$(grep ^LD_PRELOAD out)"
cp -L "$FXT_AGENT" libfxtagent.so
env LD_PRELOAD=./libfxtagent.so FXT_OUTPUT="$scratch/named/%e.%p.fxt" sh -c 'cd /; env' >out 2>err
is "named from where it began" "LD_PRELOAD=$scratch/./libfxtagent.so" "$(grep ^LD_PRELOAD out)"
is "named from where it began: complaints" "" "$(cat err)"

# The loader of a privileged program says that it ignores what it was told to preload by name.
if test "$(id -u)" = 0 && command -v setpriv >/dev/null && cp "$(type -P true)" privileged &&
	chown 1:1 privileged && chmod 6755 privileged; then
	chmod 777 named
	cp -L "$FXT_AGENT" named/libfxtagent.so
	for form in execve-bare execvp posix_spawn system; do
		env LD_PRELOAD=libfxtagent.so LD_LIBRARY_PATH="$scratch/named" \
			FXT_OUTPUT="$scratch/named/%e.%p.fxt" \
			setpriv --reuid=65534 --regid=65534 --clear-groups "$runs" itself $form \
			"$scratch/privileged" x >out 2>&1
		is "set-user-ID by $form" "" "$(cat out)"
	done
fi

# -- Where the library cannot be found ------------------------------------------------------------------

if test "$(id -u)" = 0 && command -v chroot >/dev/null && cp -L "$(type -P env)" bin/env; then
	mkdir -p root/bin
	cp -L "$(type -P env)" root/bin/env
	ldd root/bin/env | grep -o '/[^ ]*' | while read -r library; do
		mkdir -p "root/$(dirname "$library")"
		cp -L "$library" "root/$library"
	done
	if chroot root /bin/env >/dev/null 2>&1; then
		same_run chroot chroot root /bin/env -i A=1 /bin/env
		told chroot "cannot read the agent's library"
	fi
fi

# -- Descriptors ------------------------------------------------------------------------------------------

same_run numbers "$runs" numbers "$scratch/bin/lost"

# -- The programs of other C libraries ----------------------------------------------------------------------

cat >hello.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(void) { return printf("hello %d\n", getenv("LD_PRELOAD") && *getenv("LD_PRELOAD")) != 8; }
END
for compiler in musl-gcc "$CC -m32"; do
	$compiler -o hello hello.c 2>/dev/null && ./hello >/dev/null 2>&1 || continue
	# shellcheck disable=SC2016
	same_run "hello.${compiler##* }" \
		sh -c './hello; echo "$?"; a=$(./hello 2>&1); echo "[$a]"; exec ./hello'
	"$FXT" record -o hello.fxt -- sh -c './hello; true' >out 2>err || fail "fxt record: $(cat out err)"
	is "$compiler: output" "hello 0" "$(cat out)"
	grep -q 'hello.*untraced: it is' err || fail "fxt record: $(cat err)"
done
