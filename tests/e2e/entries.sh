#!/bin/bash
# Functions are recorded however they were compiled: with hooks at their entry and exit, with a call of
# mcount() or __fentry__() for a profile, or with room for a call that the agent puts there. The programs of
# tests/functions/ count the calls of their functions, and do with these what makes it hard to notice their
# ends: exceptions, jumps, signals, forks, coroutines, tail calls, arguments in all registers. They are
# compiled here, and do the same bare and traced.
#
# Each run tries some ways to compile a program, optimisations and buffering modes, which follow from
# FXT_SEED. FXT_ALL=1 tries all of them.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3 nm "${CC%% *}"
unset FXT_PATCH

sources=$abs_top_srcdir/tests/functions

declare -A flags=(
	[hooks]="-finstrument-functions"
	[pg]="-pg"
	[pg-fixed]="-pg -no-pie -fno-pie"
	[fentry]="-pg -mfentry"
	[fentry-fixed]="-pg -mfentry -no-pie -fno-pie"
	[nops]="-fpatchable-function-entry=5"
	[nops-around]="-fpatchable-function-entry=16,4"
	[nops-attribute]="-DBY_ATTRIBUTE"
)
c_programs="args coroutines dlopen fork longjmp realigned recursion registers signals tailcalls threads"
cxx_programs="exceptions templates"

entries()
{
	FXT=$FXT python3 "$abs_top_srcdir/tests/e2e/entries.py" "$@" 2>&1 | head -n 10
}

# compiled FOLDER PROGRAM VARIANT LEVEL: compiles the program as FOLDER/PROGRAM.
compiled()
{
	local target=$1/$2 compiler=$CC source=$sources/$2.c options="-$4 -D_GNU_SOURCE ${flags[$3]}" shared

	mkdir -p "$1"
	case $2 in
	call_trees)
		source=$abs_top_srcdir/tests/apps/call_trees.c
		options="$options -I$abs_top_srcdir/tests/apps"
		;;
	dlopen)
		# shellcheck disable=SC2086	# these are several options
		for shared in "one" "two -DIS_SECOND"; do
			$CC ${options//-no-pie -fno-pie/} -fPIC -shared -DLIBRARY=$shared \
				-o "$target.${shared%% *}.so" "$sources/dlopen_lib.c" || does_not_build "$@"
		done
		options="$options -rdynamic"
		;;
	exceptions | templates | uncaught) compiler=$CXX source=$sources/$2.cc ;;
	esac
	# shellcheck disable=SC2086	# these are several options
	$compiler $options -o "$target" "$source" -pthread -ldl || does_not_build "$@"
}

does_not_build()
{
	fail "$2, compiled with ${flags[$3]}, $4: it does not build"
	exit 1
}

# traced_functions DIRECTORY VARIANT CMD...: runs CMD like traced, and records functions.
traced_functions()
{
	local directory=$1 patch=

	case $2 in
	nops*) patch='*' ;;
	esac
	shift 2
	FXT_CATEGORIES=function FXT_PATCH=${FXT_PATCH-$patch} traced "$directory" "$@"
}

# -- What can be tried here --------------------------------------------------------------------------------

# The compilers may not know an option, or lack what it links with.
variants=
attribute=none
echo 'int main(void) { return 0; }' >none.c
for variant in hooks pg pg-fixed fentry fentry-fixed nops nops-around nops-attribute; do
	test "$variant" = hooks || test "$(uname -m)" = x86_64 || continue
	# shellcheck disable=SC2086	# these are several options
	$CC ${flags[$variant]} -Werror -o none none.c 2>/dev/null || continue
	./none || continue
	case $variant in
	nops-attribute)
		echo '__attribute__((patchable_function_entry(5))) int main(void) { return 0; }' >one.c
		$CC -Werror -o none one.c 2>/dev/null && attribute=$variant
		;;
	*) variants="$variants $variant" ;;
	esac
done
variants=${variants# }
test -n "$variants" || skip "the compiler has no option for hooks"
programs=$c_programs
has_cxx=no
if command -v "${CXX%% *}" >/dev/null 2>&1; then
	has_cxx=yes
	programs="$programs $cxx_programs"
fi
echo "compiled with: $variants, $attribute"

# -- Each call is recorded, and programs do the same -------------------------------------------------------

# plain_lines PROGRAM FILE: prints what the program has said. Counts are left out where they differ between
# runs.
plain_lines()
{
	case $1 in
	args | signals) grep -vE '^[^ ]+ [0-9]+( [0-9]+)?$' "$2" ;;
	*) cat "$2" ;;
	esac
}

# in_folder NAME VARIANT MODE PROGRAM: runs the program like traced_functions, in the folder NAME, which then
# has its trace, its output and its profiles.
in_folder()
{
	mkdir -p "$1"
	(cd "$1" && GMON_OUT_PREFIX=gmon FXT_BUFFERING_MODE=$3 FXT_BUFFER_SIZE_MB=64 \
		traced_functions "$1" "$2" "$4" >out 2>err)
}

# other_profiles NAME VARIANT MODE PROGRAM HOW: prints how the profiles of the traced program differ from
# those of the bare one. While a thread is preempted in mcount(), the calls of all others are lost, which may
# be most of a run's. Then the program is run again.
other_profiles()
{
	local folder=$1 found

	for _ in 1 2 3 4 5 6 7 8; do
		found=$(entries profiles "$4" "$5" "$1.bare" "$folder")
		case $found in
		*' calls traced, '*) ;;
		*) break ;;
		esac
		folder=$1.again
		rm -rf "$folder"
		in_folder "$folder" "$2" "$3" "$4"
	done
	rm -rf "$1.again"
	printf '%s' "$found"
}

# try PROGRAM VARIANT LEVEL MODE
try()
{
	local name=$1.$2.$3.$4 how=exactly without=none build=$scratch/build.$1.$2.$3 status

	test -d "$build" || compiled "$build" "$1" "$2" "$3"
	mkdir -p "$name.bare"
	(cd "$name.bare" && GMON_OUT_PREFIX=gmon bare "$build/$1" >out 2>err)
	status=$?
	is "$name: exit status bare: $(tail -n 1 "$name.bare/out")" 0 $status
	in_folder "$name" "$2" "$4" "$build/$1"
	is "$name: exit status" $status $?
	same "$name: standard error" "$name.bare/err" "$name/err"
	plain_lines "$1" "$name.bare/out" >said.bare
	plain_lines "$1" "$name/out" >said
	same "$name: what it says" said.bare said
	valid "$name"/*.fxt
	# Libraries that are opened later are not patched.
	case $1.$2 in
	dlopen.nops*) without='[ot][nw][eo]_*' ;;
	esac
	is "$name: calls" "" "$(entries calls "$build/$1" "$without" "$name")"
	case $2 in
	pg* | fentry*)
		is "$name: profiles" "$(find "$name.bare" -name 'gmon.*' | wc -l)" \
			"$(find "$name" -name 'gmon.*' | wc -l)"
		test -n "$(find "$name.bare" -name 'gmon.*')" || fail "$name: no profile bare"
		case $1 in
		args | signals | threads) how=about ;;
		esac
		test $has_gprof = no ||
			is "$name: profiles" "" "$(other_profiles "$name" "$2" "$4" "$build/$1" $how)"
		;;
	*) is "$name: profiles" "" "$(find "$name.bare" "$name" -name 'gmon.*')" ;;
	esac
	rm -rf "$name" "$name.bare"
	give_up_if_hopeless
}

has_gprof=no
! command -v gprof >/dev/null || has_gprof=yes
# shellcheck disable=SC2086	# these are several programs
entries_cases=$(python3 "$abs_top_srcdir/tests/e2e/entries.py" cases "$seed" "$variants" $attribute $programs)
while read -r program variant level mode <&3; do
	try "$program" "$variant" "$level" "$mode"
done 3<<<"$entries_cases"

# -- Filters leave out the same calls as of functions with hooks -------------------------------------------

is_tried()
{
	case " $variants " in
	*" $1 "*) ;;
	*) return 1 ;;
	esac
}

# draw N WORD...: sets the array `drawn` to N of the words, or to all if FXT_ALL=1. It must not run in a
# subshell, where RANDOM does not follow from FXT_SEED.
RANDOM=$((seed % 32768))
draw()
{
	local wanted=$1 at

	shift
	drawn=("$@")
	test "${FXT_ALL-}" != 1 || return
	drawn=()
	while test ${#drawn[@]} -lt "$wanted" && test $# != 0; do
		at=$((1 + RANDOM % $#))
		drawn+=("${!at}")
		set -- "${@:1:at-1}" "${@:at+1}"
	done
}

any_level()
{
	level=O$((RANDOM % 2 * 2))
}

# filtered PROGRAM VARIANT WHICH RULES DEPTH: traces builds with hooks and of the variant by these rules.
filtered()
{
	local kind build name="$1 with $2, FXT_FILTER='$4' FXT_DEPTH=$5"

	for kind in hooks "$2"; do
		build=$scratch/build.$1.$kind.O0
		test -d "$build" || compiled "$build" "$1" "$kind" O0
		rm -rf "$kind"
		mkdir "$kind"
		cp "$build/$1" "$kind"
		FXT_FILTER=$4 FXT_DEPTH=$5 FXT_BUFFERING_MODE=streaming \
			traced_functions "$kind" "$kind" "$kind/$1" >"$kind/out" 2>"$kind/err" ||
			fail "$name: exit status $?: $(cat "$kind/err")"
		valid "$kind"/*.fxt
	done
	# What a tree or a depth leaves out depends on when it is noticed that exceptions have left functions.
	case $1/$4$5 in
	exceptions/*/* | exceptions/*[0-9]) is "$name: calls" "" "$(entries filtered "$2/$1" "$3" "$2")" ;;
	*) is "$name: calls" "" "$(entries filtered "$2/$1" "$3" "$2" hooks)" ;;
	esac
	is "$name: calls with hooks" "" "$(entries filtered "hooks/$1" "$3" hooks)"
	give_up_if_hopeless
}

# trees VARIANT RULES DEPTH [jumps]: compares a program that calls functions at random with a model.
trees()
{
	local variant=$1 rules=$2 depth=$3 level build

	shift 3
	any_level
	build=$scratch/build.call_trees.$variant.$level
	test -d "$build" || compiled "$build" call_trees "$variant" "$level"
	rm -rf trees
	FXT_PATCH='alpha,beta,gamma,delta,epsilon,zeta,eta' FXT_FILTER=$rules FXT_DEPTH=$depth \
		FXT_BUFFERING_MODE=streaming traced_functions trees "$variant" "$build/call_trees" 2000 "$@" \
		>trees.said 2>trees.err || fail "trees: exit status $?: $(cat trees.err)"
	valid trees/*.fxt
	is "trees of $variant, $level, FXT_FILTER='$rules' FXT_DEPTH=$depth $*" "" \
		"$(FXT=$FXT python3 "$abs_top_srcdir/tests/e2e/filters.py" trees.said "$rules" "$depth" \
			trees/*.fxt 2>&1 | head -n 5)"
}

# shellcheck disable=SC2086	# these are several variants
draw 1 ${variants#hooks}
chosen=("${drawn[@]}")
echo "filters: of functions compiled with ${chosen[*]-no other option}"
for variant in "${chosen[@]}"; do
	draw 3 'fibonacci' '!is_*' 'female/' '!ackermann/,!hanoi' '@recursion,!m*' 'main/,!is_even/'
	for rules in "${drawn[@]}"; do
		filtered recursion "$variant" both "$rules" ''
	done
	filtered recursion "$variant" both '' $((1 + RANDOM % 60))
	filtered recursion "$variant" any 'is_*/,hanoi,!fibonacci' $((1 + RANDOM % 12))

	draw 2 '' '?lpha@call_tr*' '!*eta,beta' 'alpha/,!beta/,gamma' '!*eta,zeta/,!delta/'
	for rules in "${drawn[@]}"; do
		trees "$variant" "$rules" ''
		trees "$variant" "$rules" $((1 + RANDOM % 6))
	done
	# A rule about a function alone is exact whatever way the function is left in.
	trees "$variant" '' '' jumps
	trees "$variant" '!*eta,beta' '' jumps

	test $has_cxx = yes || continue
	draw 2 '_ZN5Stack*' '!_ZNK4LessclEii' 'calls_it/' '!sorts/' 'Shape::*,*Square*,*twice*'
	for rules in "${drawn[@]}"; do
		filtered templates "$variant" both "$rules" ''
	done
	draw 3 '_Z7descend*' '!descend,!leaf' 'rethrows/' '!catches/' '!twice/,!raise' 'Guard::*,*nested*'
	for rules in "${drawn[@]}"; do
		filtered exceptions "$variant" both "$rules" ''
	done
	filtered exceptions "$variant" any "${drawn[0]}" $((2 + RANDOM % 20))
done

# -- Call stacks go through functions that return to the agent ---------------------------------------------

for variant in $variants; do
	any_level
	compiled sleeps sleeps "$variant" $level
	"$FXT" record -q --patch='*' -o sleeps.fxt -- sleeps/sleeps 120 >sleeps.out 2>sleeps.err ||
		fail "sleeps of $variant: exit status $?: $(cat sleeps.err)"
	valid sleeps.fxt
	# No other program is needed for that.
	# shellcheck disable=SC2094	# the report reads sleeps.fxt and no other file
	PATH=/nowhere "$FXT" report sleeps.fxt >report 2>&1 || fail "fxt report: exit status $?"
	where=' \([^)]*\)'
	count comparison
	grep -qE "100% by leaf$where < mid$where < top$where < main$where$" report ||
		fail "sleeps of $variant, $level: the callers are not in the report: $(cat report)"
done

# -- FXT_PATCH says which functions are patched ------------------------------------------------------------

# no_functions WHAT FOLDER: checks that no trace in the folder has a function.
no_functions()
{
	local file

	for file in "$2"/*.fxt; do
		test ! -f "$file" || is "$1: functions" "" "$(trace counts "$file" | grep ^function:)"
	done
}

# patched LIST FUNCTION...: these functions are recorded, and no others.
patched()
{
	local list=$1

	shift
	rm -rf patched
	FXT_PATCH=$list traced_functions patched nops nops/recursion >patched.out 2>patched.err ||
		fail "FXT_PATCH='$list': exit status $?"
	is "FXT_PATCH='$list': standard error" "" "$(cat patched.err)"
	valid patched/*.fxt
	for function; do
		grep "^$function " patched.out
	done | sort >patched.said
	trace counts patched/*.fxt | sed -n 's/^function://p' | sort >patched.found
	same_some "FXT_PATCH='$list'" patched.said patched.found
}

# says_of_patch LIST MESSAGE: the library says this in one line, and the program does the same.
says_of_patch()
{
	rm -rf patched
	FXT_PATCH=$1 traced_functions patched nops nops/recursion >patched.out 2>patched.err
	is "FXT_PATCH='$1': exit status" 0 $?
	same "FXT_PATCH='$1': what the program says" recursion.out patched.out
	is "FXT_PATCH='$1': what the library says" "fxtagent[PID]: FXT_PATCH: $2" \
		"$(sed 's/^fxtagent\[[0-9]*\]/fxtagent[PID]/' patched.err)"
	no_functions "FXT_PATCH='$1'" patched
}

if is_tried nops; then
	any_level
	compiled nops recursion nops $level
	bare nops/recursion >recursion.out
	all=$(cut -d' ' -f1 recursion.out)
	# shellcheck disable=SC2086	# these are several functions
	patched '*' $all
	patched fibonacci fibonacci
	patched 'is_*,ma?n,main' is_even is_odd main
	patched '[a-f]*,!f*,female' ackermann female
	# shellcheck disable=SC2046	# these are several functions
	patched '!hanoi,!is_*' $(grep -vE '^(hanoi|is_)' <<<"$all")
	# shellcheck disable=SC2086	# these are several functions
	patched '@recursion,!hanoi@*.so*' $all
	for list in '@lib*' 'recursion'; do
		says_of_patch "$list" "no function with room for a hook matches;\
 compile with -fpatchable-function-entry=5"
	done
	says_of_patch 'main/' "'main/' is not accepted; a slash, for all that a function calls,\
 is for FXT_FILTER; the program runs untraced"
	says_of_patch 'main,,hanoi' "'' is not accepted; give names of functions with * ? [...]: work, \
!log_* (not these), work@lib.so*, @lib.so*; the program runs untraced"
	# Without FXT_PATCH such a program is left as it is.
	rm -rf patched
	FXT_PATCH='' traced_functions patched nops nops/recursion >patched.out 2>patched.err
	same "no FXT_PATCH: what the program says" recursion.out patched.out
	is "no FXT_PATCH: what the library says" "" "$(cat patched.err)"
	no_functions "no FXT_PATCH" patched
fi

# -- Exceptions that nobody catches end the program as they do bare ----------------------------------------

# shellcheck disable=SC2086	# these are several variants
draw 3 $variants
test $has_cxx = no || for variant in "${drawn[@]}"; do
	any_level
	compiled uncaught uncaught "$variant" $level
	for how in nobody noexcept cleanup nothing; do
		rm -rf ends
		mkdir ends
		(ulimit -c 0 && bare uncaught/uncaught $how) >ends.bare 2>ends.bare.err
		is "uncaught $how, $variant: exit status bare" 134 $?
		(ulimit -c 0 && traced_functions ends "$variant" uncaught/uncaught $how) >ends/out 2>ends.err
		is "uncaught $how, $variant: exit status" 134 $?
		same_some "uncaught $how, $variant: what it says" ends.bare ends/out
		# bash also reports an abort there.
		sed -i '/\.sh: line/d' ends.bare.err ends.err
		same_some "uncaught $how, $variant: standard error" ends.bare.err ends.err
		valid ends/*.fxt
		is "uncaught $how, $variant: calls" "" "$(entries calls uncaught/uncaught none ends)"
	done
	give_up_if_hopeless
done
