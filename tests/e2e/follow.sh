#!/bin/bash
# Tracing follows a process into its children, in whichever way they are made and whatever environment they
# are given. The program notices nothing of that: its output and exit status are those of the bare run.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

exec_app=$apps/follow_exec
fork_app=$apps/follow_fork

# followed NAME CMD...: compares a bare run with a traced one, of which the traces are in the folder NAME.
followed()
{
	local name=$1 status
	shift

	bare "$@" >"$name.bare" 2>"$name.bare.err"
	status=$?
	traced "$name" "$@" >"$name.out" 2>"$name.err"
	is "$name: exit status" $status $?
	same "$name: output" "$name.bare" "$name.out"
	grep -v '^fxtagent' "$name.err" >"$name.own.err"
	same "$name: stderr" "$name.bare.err" "$name.own.err"
	valid "$name"/*.fxt
}

# calls FILE...: prints what `trace.py calls` does. Each file is read only once.
calls()
{
	local file known

	mkdir -p known
	for file; do
		known=known/${file//\//:}
		test -e "$known" || trace calls "$file" >"$known"
		cat "$known"
	done
}

# open_in FILE...: prints the calls that are in progress at the end.
open_in()
{
	calls "$@" | awk '$4 == "open" { print $1 }'
}

# sized SIZE FILE...: prints how many blocks of this size were allocated.
sized()
{
	local size=$1
	shift
	calls "$@" | grep -c "^malloc:malloc .* size=$size "
}

# blocks SIZE DIRECTORY: prints how many blocks of this size each file has that has any.
blocks()
{
	local file count

	for file in "$2"/*.fxt; do
		count=$(sized "$1" "$file")
		test "$count" = 0 || printf '%s ' "$count"
	done
}

# silent NAME: checks that the agent said nothing.
silent()
{
	is "$1: lines of the agent" "" "$(grep '^fxtagent' "$1.err")"
}

# -- Environments that lack ours ------------------------------------------------------------------------

for form in execve execve-null execvpe execle fexecve execveat syscall syscall-at \
	execv execvp execl execlp posix_spawn posix_spawnp; do
	followed $form "$exec_app" $form A=1 'B=two words'
	silent $form
	is "$form: blocks of what was run" "7 " "$(blocks 20001 $form)"
	case $form in
	syscall) event=execve ;;
	syscall-at) event=execveat ;;
	*) event=${form%-null} ;;
	esac
	calls=$(calls $form/*.fxt | grep "^process:$event ")
	is "$form: times it is there, with its arguments" 1 \
		"$(grep -cE ' argv=follow_exec leaf and more( |$)' <<<"$calls")"
	# The file of the program before ends with the call, which has no result.
	is "$form: in progress in the end" "" "$(open_in $form/*.fxt)"
done
calls posix_spawn/*.fxt | grep -q '^process:posix_spawn .* pid=[0-9]* path=/' ||
	fail "posix_spawn: no pid and path"
calls posix_spawn/*.fxt | grep -q '^process:waitpid .* wstatus=1024 ' || fail "waitpid: no status"

# The environment is large, or the stack has no room for a copy of it.
followed large "$exec_app" large
silent large
is "large: blocks of what was run" "7 " "$(blocks 20001 large)"
followed small "$exec_app" small
silent small
is "small stack: blocks of what was run" "7 7 7 " "$(blocks 20001 small)"

followed refused "$exec_app" refused
silent refused
is "refused: calls" "5 1" "$(calls refused/*.fxt |
	awk '/^process:exec/ { n++ } /^process:posix_spawn / { m++ } END { print n, m }')"

# -- Others' entries in LD_PRELOAD -----------------------------------------------------------------------

if command -v "${CC%% *}" >/dev/null; then
	cat >other.c <<-'END'
		#include <stdlib.h>
		#include <string.h>
		#include <unistd.h>

		__attribute__((constructor)) static void say(void)
		{
			const char *list = getenv("LD_PRELOAD");

			if (!list)
				list = "none";
			if (write(1, "other: ", 7) != 7 || write(1, list, strlen(list)) < 0 ||
			    write(1, "\n", 1) != 1)
				abort();
		}
	END
	$CC -shared -fPIC -o other.so other.c || fail "other.so cannot be built"
	other=$scratch/other.so

	# The agent is put in front of the LD_PRELOAD that the program gives its child.
	mkdir -p others none
	env LD_PRELOAD="$FXT_AGENT" FXT_OUTPUT="$scratch/others/%e.%p.fxt" "$exec_app" execve \
		"LD_PRELOAD=$other" >out
	is "LD_PRELOAD of a child" "other: $FXT_AGENT:$other" "$(grep '^other' out)"
	is "LD_PRELOAD of a child: blocks" "7 " "$(blocks 20001 others)"

	# A list that has the agent is left alone.
	env LD_PRELOAD="$FXT_AGENT" FXT_OUTPUT="$scratch/others/%e.%p.fxt" "$exec_app" execve \
		"LD_PRELOAD=$other $FXT_AGENT" >out
	is "LD_PRELOAD that has ours" "other: $other $FXT_AGENT" "$(grep '^other' out)"

	# When the agent is taken out of the list, the order of the others and their separators remain.
	for list in "$FXT_AGENT:$other" "$other $FXT_AGENT" "$other:$FXT_AGENT:$other" \
		"$FXT_AGENT $other $other"; do
		rest=${list/#$FXT_AGENT?}
		rest=${rest/?$FXT_AGENT}
		env LD_PRELOAD="$list" FXT_FOLLOW=none FXT_OUTPUT="$scratch/none/%e.%p.fxt" \
			sh -c '"$@"; exit 0' sh "$exec_app" leaf >out
		# The first line is of the shell itself, before or after the agent has changed the list.
		is "FXT_FOLLOW=none with '$list'" "other: $rest" "$(grep '^other' out | tail -n 1)"
		is "FXT_FOLLOW=none with '$list': traces" 1 "$(ls none | wc -l)"
		rm -f none/*
	done
fi

# -- FXT_FOLLOW ----------------------------------------------------------------------------------------

# programs DIRECTORY: prints the programs of which there are traces, each with the number of its files.
programs()
{
	find "$1" -name '*.fxt' -printf '%f\n' | sed 's/\(\.[0-9]*\)*\.fxt$//' | sort | uniq -c |
		awk '{ print $2 ":" $1 }' | tr '\n' ' '
}

run_both="'$exec_app' execve; '$fork_app' leaf; true"

# A shell may fork for each of its commands or become the last: files appear only for those that allocate as
# themselves.
FXT_FOLLOW=none followed follow.none sh -c "$run_both"
is "FXT_FOLLOW=none: programs" "sh:1 " "$(programs follow.none)"
traced follow.env env FXT_FOLLOW=none "$exec_app" leaf >/dev/null
is "FXT_FOLLOW=none: where tracing begins is traced" "7 " "$(blocks 20001 follow.env)"
FXT_FOLLOW=none traced follow.unset sh -c 'env' >out
is "FXT_FOLLOW=none: LD_PRELOAD of children" "" "$(grep ^LD_PRELOAD out)"
for how in fork _Fork clone; do
	FXT_FOLLOW=none followed none.$how "$fork_app" $how
	is "FXT_FOLLOW=none, $how: blocks of children" "" "$(blocks 20001 none.$how)"
	is "FXT_FOLLOW=none, $how: blocks of the parent" "30 " "$(blocks 20000 none.$how)"
done

# Tracing begins with the shell. follow_exec executes follow_exec, with an empty environment.
FXT_FOLLOW='follow_e*' followed follow.glob sh -c "$run_both"
is "FXT_FOLLOW='follow_e*'" "follow_exec:2 sh:1 " "$(programs follow.glob)"
FXT_FOLLOW='nothing,follow_[a-f]or?' followed follow.several sh -c "$run_both"
is "FXT_FOLLOW='nothing,follow_[a-f]or?'" "follow_fork:1 sh:1 " "$(programs follow.several)"
FXT_FOLLOW='follow_[!f]*,*_fork' followed follow.sets sh -c "$run_both"
is "FXT_FOLLOW='follow_[!f]*,*_fork'" "follow_exec:2 follow_fork:1 sh:1 " "$(programs follow.sets)"
# A process in between that matches nothing passes tracing on, also to programs that it gives an environment
# of their own.
FXT_FOLLOW='follow_fork' followed follow.between sh -c "env -i '$fork_app' leaf; exit 2"
is "FXT_FOLLOW='follow_fork' behind env -i" "follow_fork:1 sh:1 " "$(programs follow.between)"
FXT_FOLLOW=all followed follow.all sh -c "env -i '$fork_app' leaf; exit 2"
case $(programs follow.all) in
*follow_fork:1*) ;;
*) fail "FXT_FOLLOW=all: $(programs follow.all)" ;;
esac
FXT_FOLLOW=follow_exec traced follow.mark env >out
is "what a descendant finds" "FXT_FOLLOW=child:follow_exec" "$(grep ^FXT_FOLLOW out)"

"$FXT" record -q --follow=none -o none.fxt -- sh -c "$run_both" >/dev/null 2>&1
is "fxt record --follow=none: blocks" 0 "$(sized 20001 none.fxt)"
"$FXT" record -q --follow=follow_exec -o glob.fxt -- sh -c "$run_both" >/dev/null 2>&1
is "fxt record --follow=follow_exec: blocks" 7 "$(sized 20001 glob.fxt)"
valid none.fxt glob.fxt

# -- Forks ---------------------------------------------------------------------------------------------

for how in fork _Fork SYS_fork SYS_clone SYS_clone3 clone; do
	followed $how "$fork_app" $how
	# The program does not end with 5 on a kernel without clone3, or on an architecture without fork.
	test "$(bare "$fork_app" $how >/dev/null 2>&1; echo $?)" = 5 || continue
	silent $how
	is "$how: files" 3 "$(ls $how | wc -l)"
	is "$how: blocks of the parent" "30 " "$(blocks 20000 $how)"
	is "$how: blocks of the children" "10 10 " "$(blocks 20001 $how)"
	case $how in SYS_*) continue ;; esac
	# The call is recorded once, by the parent, with the child's process id.
	calls $how/*.fxt | grep "^process:$how " >found
	is "$how: times it is there" 2 "$(grep -c . found)"
	sed -n 's/.* ret=\([0-9]*\).*/\1/p' found | sort >made
	for file in $how/*.fxt; do
		test "$(sized 20001 "$file")" = 0 || basename "$file" .fxt | sed 's/.*\.//'
	done | sort >children
	same_some "$how: process ids" made children
done
# A clone is not in the calls that its parent was in.
is "clone: in progress in the end" "" "$(open_in clone/*.fxt)"

for how in double daemon; do
	followed $how "$fork_app" $how
	silent $how
	is "$how: files" 3 "$(ls $how | wc -l)"
	for size in 20000 20001 20002; do
		is "$how: blocks of $size" "10 " "$(blocks $size $how)"
	done
done

# -- In the same memory --------------------------------------------------------------------------------

# parent NAME: checks the parent's file.
parent()
{
	local file

	file=$(for file in "$1"/*.fxt; do test "$(sized 20000 "$file")" = 0 || echo "$file"; done)
	is "$1: the parent's blocks" 60 "$(sized 20000 "$file")"
	is "$1: open in the end" "" "$(open_in "$file")"
	is "$1: waits" 5 "$(calls "$file" | grep -c '^process:waitpid ')"
	is "$1: execs" 5 "$(calls "$file" | grep -c '^process:execve ')"
	is "$1: threads in the parent's file" 1 "$(calls "$file" | awk '{ print $2 }' | sort -u | wc -l)"
	# No call of the parent is within an execve that the child has made.
	calls "$file" | awk '$1 == "process:execve" { end = $4 }
		$1 == "process:waitpid" && $3 <= end { print "a wait within an exec" }' >wrong
	is "$1: nesting" "" "$(cat wrong)"
}

for how in vfork clone-vfork; do
	followed $how "$fork_app" $how
	silent $how
	is "$how: files" 6 "$(ls $how | wc -l)"
	is "$how: blocks of the children" "10 10 10 10 10 " "$(blocks 20001 $how)"
	parent $how
done
# The first call of a thread may be made by a vfork's child, which makes no thread state of its own for it.
FXT_CATEGORIES=process followed vfork.process "$fork_app" vfork
is "vfork, processes alone: open in the end" "" "$(open_in vfork.process/*.fxt)"
followed vfork-fails "$fork_app" vfork-fails
silent vfork-fails
is "vfork-fails: files" 1 "$(ls vfork-fails | wc -l)"
parent vfork-fails
is "vfork-fails: errors" 5 \
	"$(calls vfork-fails/*.fxt | grep -c '^process:execve .*pathname=/nonexistent ret=-1 errno=2')"

# Two tasks that share a thread's storage do not record, and the agent says so.
followed shares "$fork_app" shares
is "shares: lines of the agent" 1 "$(grep -c '^fxtagent.*CLONE_SETTLS' shares.err)"
is "shares: blocks before" "20 " "$(blocks 20000 shares)"
is "shares: blocks of the child of a fork" "10 " "$(blocks 20001 shares)"
is "shares: calls of both" "" "$(calls shares/*.fxt | grep '^io:close ')"
grep -lq 'CLONE_SETTLS' shares/*.fxt || fail "shares: the trace does not say why"
followed shares-refused "$fork_app" shares-refused
silent shares-refused
is "shares-refused: blocks" "20 " "$(blocks 20000 shares-refused)"

# The calls of a program that executed another are over; those of the other, which is killed, are not.
"$FXT" record -q -o exec.fxt -- sh -c 'exec sh -c "kill -9 \$\$"' >/dev/null 2>&1
is "after an exec: in progress" kill \
	"$(trace open exec.fxt | sed 's/.*://' | sort -u | tr '\n' ' ' | sed 's/ $//')"
