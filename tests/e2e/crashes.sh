#!/bin/bash
# A program that dies by a signal dies as it would without the agent: status, core file, siginfo, output. The
# trace says where. The program is tests/apps/crashes.c. Which ways to die and which places for it are
# combined, and by which functions the way leads there, is drawn.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

app=$apps/crashes
source=$abs_top_srcdir/tests/apps/crashes.c
gdb=$(command -v gdb)
set -o pipefail

# Ways to die, and which signal that is.
declare -A ways=([read]=11 [write]=11 [ill]=4 [trap]=5 [fpe]=8 [sys]=31 [step]=5 [bus]=7 [protection]=11
	[pipe]=13 [call]=11 [library]=11 [abort]=6 [assert]=6 [frees]=6)
for signum in 4 5 6 7 8 11 13 31; do
	ways[raise-$signum]=$signum ways[kill-$signum]=$signum ways[queue-$signum]=$signum
done
mapfile -t names < <(printf '%s\n' "${!ways[@]}" | sort)

# draw_path: sets $path to the way there, by functions of the program (a, b, c) and of its library (l).
draw_path()
{
	local letters=abcl i

	path=
	for ((i = $(random_below 12); i >= 0; i--)); do
		path+=${letters:$(random_below 4):1}
	done
}

# run NAME [SIGNAL] CMD...: runs CMD in the folder NAME. How it ended is in NAME/ended.
run()
{
	local name=$1
	shift

	mkdir -p "$name"
	python3 "$abs_top_srcdir/tests/e2e/crashes.py" run "$scratch/$name" "$@" >"$name/ended"
	# Messages of the agent, and of a runtime for a core file that it could not write, are no program's.
	grep -av '^fxtagent\|^fxt' "$name/err" >"$name/said"
}

# $within is the command by which both programs are run, if any.
within=()

# dies WAY PLACE: dies bare and traced, in a mode that is drawn, with nothing different.
dies()
{
	local way=$1 place=$2 name=$1.$2 mode modes=(streaming oneshot circular) signum=
	shift 2

	draw_path
	mode=${modes[$(random_below 3)]}
	test "$place" = killed && signum=${way#*-}
	run bare.$name $signum "${within[@]}" "$app" "$way" "$place" "$path"
	run "$name" $signum "${within[@]}" env FXT_BUFFERING_MODE=$mode LD_PRELOAD="$FXT_AGENT" \
		FXT_OUTPUT="$scratch/$name/%p.fxt" "$app" "$way" "$place" "$path"
	for file in ended out said; do
		same "$name, $mode, $path: $file" bare.$name/$file "$name/$file"
	done
	valid $(test $mode = circular && echo --ring) "$name"/*.fxt
}

# crashes_are WAY PLACE COUNT: the traces of the last run have so many instants.
crashes_are()
{
	is "$1.$2: instants in the trace" "$3" \
		"$(for file in "$1.$2"/*.fxt; do fxt dump "$file"; done | grep -c ' agent:crash ')"
}

# -- Half of the ways, in the thread that began, with its core file ---------------------------------------

draw_path
for way in "${names[@]}"; do
	test "$(random_below 2)" = 0 || continue
	dies "$way" main
	crashes_are "$way" main 1
	test -n "$gdb" && ls bare.$way.main/core* >/dev/null 2>&1 || continue
	# gdb takes its time: some are drawn.
	test "$(random_below 4)" = 0 || continue
	for run in bare.$way.main $way.main; do
		python3 "$abs_top_srcdir/tests/e2e/crashes.py" core "$app" "$run/core*" >$run.core
	done
	same_some "$way: core file" bare.$way.main.core $way.main.core
done
give_up_if_hopeless

# -- Under fxt record, which saves what it shares with the program that has died -------------------------

# The tool ends with the status that a shell would tell of the program.
for mode in streaming oneshot circular; do
	way=${names[$(random_below ${#names[@]})]}
	draw_path
	name=recorded.$mode
	run bare.$name "$app" "$way" main "$path"
	run $name env FXT_BUFFERING_MODE=$mode "$FXT" record -q -o "$scratch/$name/all.fxt" -- \
		"$app" "$way" main "$path"
	read -r _ signum <bare.$name/ended
	is "$name, $way, $path: status" "exited $((128 + signum))" "$(cat $name/ended)"
	for file in out said; do
		same "$name, $way, $path: $file" bare.$name/$file $name/$file
	done
	valid $(test $mode = circular && echo --ring) $name/all.fxt
	is "$name, $way, $path: instants in the trace" 1 "$(fxt dump $name/all.fxt | grep -c ' agent:crash ')"
done

# -- Other places, and other actions --------------------------------------------------------------------

# draw_way: sets $way.
draw_way()
{
	way=${names[$(random_below ${#names[@]})]}
}

# Threads, handlers, stacks and children: the agent records it.
for place in thread handler stack-65536 stack-262144 beside-65536 coroutine explicit secret fork; do
	draw_way
	dies "$way" $place
	# A signal that is sent to the process comes to any thread, so also where nothing can be seen wrong.
	crashes_are "$way" $place 1
done

# Handlers of the program that set the default action, and raise the signal again or return.
for place in raises raises-65536; do
	draw_way
	dies "$way" $place
	crashes_are "$way" $place 1
done
way=$(printf '%s\n' read write ill fpe protection call library | shuf -n 1 --random-source=<(yes "$seed"))
dies "$way" returns
crashes_are "$way" returns 1

# Where the agent has no handler, or one would find no room.
for place in own own-once blocked ignored vfork; do
	draw_way
	dies "$way" $place
	case $place.$way in
	# abort() lets the signal through first.
	blocked.abort | blocked.assert | blocked.frees) crashes_are "$way" $place 1 ;;
	*)
		# The agent keeps SIGBUS for the file's sake, and does what SA_RESETHAND asks for itself.
		test $place = own-once && test "${ways[$way]}" = 7 || crashes_are "$way" $place 0
		;;
	esac
done
for place in stack-8192 raises-8192 beside-4096; do
	draw_way
	dies "$way" $place
done

# A signal from another process, to one that waits.
for signum in 4 5 6 7 8 11 13 31; do
	test "$(random_below 2)" = 0 || continue
	dies kill-$signum killed
	crashes_are kill-$signum killed 1
done

# A stack that is used up: with an alternate stack there is an instant, and without one there is no room.
dies write overflow-65536
crashes_are write overflow-65536 1
dies write overflow
crashes_are write overflow 0

# A thread that sends itself a signal with little room left dies by that. All symbols are bound at the start:
# to bind one takes much of the stack.
for way in abort raise-4 kill-6 queue-8; do
	LD_BIND_NOW=1 dies $way left-$((600 + $(random_below 4000)))
done

# The first process of a container survives what is sent to it, and dies by its faults.
within=(unshare -r -p -f --kill-child)
if "${within[@]}" true 2>/dev/null; then
	draw_way
	dies raise-6 first
	crashes_are raise-6 first 0
	dies kill-$((ways[$way])) first
	crashes_are kill-$((ways[$way])) first 0
	dies abort first
	crashes_are abort first 1
	dies read first
	crashes_are read first 1
fi
within=()
