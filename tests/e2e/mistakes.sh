#!/bin/bash
# Mistakes on the command line and in the environment are refused before anything runs and before a file is
# made, with one line that says what was wrong and what is accepted.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"

mkdir work && cd work || exit 99

# refused STATUS TEXT COMMAND...: runs the command, which is to end with STATUS and one line that matches
# TEXT, besides the line that argp has about --help. Nothing else may be in the directory afterwards.
refused()
{
	local status=$1 text=$2
	shift 2

	timeout 30 "$@" >out 2>err </dev/null
	is "$*: exit status" "$status" $?
	is "$*: output" "" "$(cat out)"
	is "$*: lines" 1 "$(grep -vc '^Try ' err)"
	grep -q -e "$text" err || fail "$*: said '$(cat err)', and not '$text'"
	is "$*: files" "err out${kept:+ $kept}" "$(echo * .[!.]* | sed 's/ \.\[!\.\]\*$//')"
	rm -rf ran.* .fxt-parts.*
}

# record TEXT OPTION...: fxt record refuses these options, and does not run the command.
record()
{
	local text=$1
	shift

	refused 125 "$text" "$FXT" record "$@" -- sh -c ': >ran.mark'
}

kept=

# -- fxt record ----------------------------------------------------------------------------------------

# An option with a value: nothing, and what it never takes. The line names the option.
for option in output categories mode buffer-size max-size rotate keep memory threshold filter patch plt \
	callers depth explain stacks follow on-full signal duration start-delay toggle budget pid sample \
	keep-pid trigger trigger-keep agent debug-dir; do
	record "--$option.*empty" "--$option="
done
values=(-1 "$(random_below 1000)x" 99999999999999999999999 '1 s' none)
for option in mode buffer-size max-size rotate keep memory threshold depth explain on-full duration \
	start-delay toggle budget sample; do
	value=${values[$(random_below 5)]}
	record "^fxt: --$option.*'$value'" "--$option=$value"
done
for option in stacks signal; do
	record "^fxt: --$option: '-1'.*give" "--$option=-1"
done
for value in -1 abc 'read>' 'read>10' '>1us' 'read>1us:go' 'read=ENOTHING'; do
	record "^fxt: --trigger: '$value'.*give" "--trigger=$value" -m circular
done
record "^fxt: --trigger-keep: '0'.*1 to 64" --trigger-keep=0 --trigger='read>1us' -m circular

# Times have units.
for option in threshold explain duration start-delay; do
	record "^fxt: --$option: '10' has no unit: give.* such as .*[0-9]s" "--$option=10"
done
record "'0' is too short" --duration=0
record "'2h' is too long" --threshold=2h

# Names that are nearly right.
record "'pthred': did you mean pthread?" -c pthred
record "'circlar' is not accepted: did you mean circular?" -m circlar
record "'wiat' is not accepted: did you mean wait?" --on-full=wiat
record "'raed': did you mean read?" -m circular --trigger='raed>1us'
record "'mallco': did you mean malloc?" --trigger='open=ENOENT:stop,mallco=ENOMEM:stop'
record "'--catgories': did you mean --categories?" --catgories=io
record "'--jsn': did you mean --json?" -q --jsn

# Two that contradict each other, or have no effect beside each other.
record "--trigger.*give -m circular" --trigger='read>1us'
record "--trigger-keep.*--trigger" --trigger-keep=3
record "--toggle and --start-delay" --toggle=USR1 --start-delay=1s
record "--rotate and --max-size" --rotate=1,1 --max-size=1
record "--no-kernel.*--sample" --no-kernel --sample=99
record "--buffer-size.*circular" -b 8
record "--max-size.*--buffer-size" -m circular --max-size=8
record "--dormant needs a signal" --dormant --signal=none
for other in '-m oneshot' '-m circular' --dormant --on-full=wait '--trigger=read>1s:stop'; do
	# shellcheck disable=SC2086
	for option in --duration=1s --start-delay=1s --keep=10s --rotate=1,1 --memory=1M --sample=99 \
		--budget=2%; do
		record "${option%%=*} does not go with " $other $option
	done
done
for option in -cio -mcircular -t1ms --stacks=io --follow=all --no-kernel; do
	refused 125 "is about what fxt record runs, and --pid" "$FXT" record -p $$ $option
done
record "^fxt: .*--pid watches.*and a command was given" -p $$
refused 125 "which command?" "$FXT" record

# Where the trace is to go.
mkdir there
kept=there
record "there is a directory" -o there
record "there/ is a directory" -o there/
record "nowhere/x.fxt: nowhere/: No such file" -o nowhere/x.fxt
record "debug-dir=nowhere: No such file" --debug-dir=nowhere
rmdir there
kept=

# The environment has the same mistakes, and the agent judges them.
export FXT_CATEGORY=io
record "no variable FXT_CATEGORY: did you mean FXT_CATEGORIES?"
unset FXT_CATEGORY
for setting in FXT_STACKS=-1 FXT_START=5 FXT_CATEGORIES=nothing FXT_EXPLAIN_NS=1us FXT_STORAGE=disk \
	FXT_FOLLOW=a/b FXT_HEAP_TRACK_BYTES=64K FXT_THRESHOLD_NS=1ms FXT_TRIGGER=abc \
	FXT_BUFFERING_MODE=ring FXT_DEPTH=0; do
	for quiet in 0 1; do
		export FXT_QUIET=$quiet "${setting?}"
		record "^fxt: ${setting%%=*}.*'${setting#*=}'"
		unset "${setting%%=*}" FXT_QUIET
	done
done

# What fxt record refuses is what the agent refuses, for texts that are drawn from the pieces of right ones.
pieces=(io malloc pthread '>' 1us 10 : 16 , none '*' '!' @ / main lib read = ENOENT :stop '[a'
	SIGUSR2 RTMIN + 3)
for ((i = 0; i < 24; i++)); do
	text=
	for ((k = $(random_below 5); k >= 0; k--)); do
		text+=${pieces[$(random_below ${#pieces[@]})]}
	done
	set -- FXT_STACKS stacks FXT_SIGNAL signal FXT_FILTER filter FXT_PATCH patch FXT_CALLERS callers \
		FXT_FOLLOW follow FXT_TRIGGER trigger
	shift $((2 * $(random_below 7)))
	mode=streaming
	test "$2" != trigger || mode=circular
	env LD_PRELOAD="$FXT_AGENT" FXT_OUTPUT=/dev/null/x FXT_BUFFERING_MODE=$mode "$1=$text" true 2>said
	agent=$(grep -c "^fxtagent.*$1: '.*is not accepted" said)
	rm -f said
	"$FXT" record -q -o drawn.fxt -m $mode "--$2=$text" -- true 2>err
	tool=$?
	is "$2=$text: fxt record refuses it, as the agent does ($(cat err))" "$agent" $((tool == 125))
	is "$2=$text: a trace" $((1 - agent)) "$(find . -name drawn.fxt | wc -l)"
	rm -rf drawn.fxt .fxt-parts.*
done

# A function of the program may be called nearly as a call is.
printf 'int work(void) { return 0; }\nint main(void) { return work(); }\n' >work.c
if cc -o work work.c 2>err; then
	"$FXT" record -q -o work.fxt --trigger='work>1s:stop' -- ./work 2>err
	is "a function that the program has: $(cat err)" 0 $?
fi
rm -f work work.c work.fxt

# -- The commands that read traces ---------------------------------------------------------------------

"$FXT" record -q -c malloc,io -o t.fxt -- "$apps/sequence" 100 >out 2>err
kept=t.fxt
refused 2 "there is no command 'reprot': did you mean report?" "$FXT" reprot t.fxt
refused 2 "there is no command 'nonsense': fxt --help" "$FXT" nonsense
for command in report dump check categories merge convert; do
	refused 2 "there is no option '--jsno'\(: did you mean --json?\|: --help lists all\)" \
		"$FXT" $command --jsno t.fxt
done
for command in report dump check; do
	refused 2 "no FILE was given" "$FXT" $command
	refused 1 "nowhere.fxt: No such file" "$FXT" $command nowhere.fxt
done
refused 1 "t.fxt: the trace has nothing of category 'maloc': did you mean malloc? it has " \
	"$FXT" report -c maloc t.fxt
refused 1 "nothing of category 'net': it has .*malloc" "$FXT" report -c net t.fxt
refused 1 "nothing of category 'pthred'" "$FXT" report -j -c malloc,pthred t.fxt
refused 2 "the value of --category is empty" "$FXT" report --category= t.fxt
refused 2 "the value of --category is empty" "$FXT" report -c '' t.fxt
for value in 0 -1 x 99999999999999999999; do
	refused 2 "^fxt report: --top: '$value'" "$FXT" report "--top=$value" t.fxt
done
refused 2 "'slef' is not accepted: did you mean self?" "$FXT" report -s slef t.fxt
refused 2 "'peek' is not accepted: did you mean peak?" "$FXT" report --flame=peek:x.svg t.fxt
refused 2 "debug-dir=nowhere: No such file" "$FXT" report --debug-dir=nowhere t.fxt
for value in 1 10ms x -1 2h; do
	refused 2 "^fxt top: --interval: '$value'" "$FXT" top "--interval=$value"
done
for command in saev=10s wait=10 save=10s 'initialize={' alert= strat; do
	refused 30 "${command%%=*}" "$FXT" ctl --socket="$PWD/no" state "$command"
done
for option in -bx -b5000 --duration=10 --rotate=0,0 --memory=1K --on-full=x -mx -cpthred --budget=2; do
	refused 2 "^fxt serve: --" "$FXT" serve --socket="$PWD/no" "$option"
done

# Both together are right: a category that the trace has, and one that exists.
"$FXT" report -c malloc,net t.fxt >out 2>err
is "a category that the trace has, and one that it has not" 0 $?

# -- A file that was cut off ---------------------------------------------------------------------------

size=$(stat -c %s t.fxt)
kept='cut.fxt t.fxt'
for at in 8 16 $((17 + $(random_below 1000))) $((1017 + $(random_below $((size - 1017))))); do
	head -c "$at" t.fxt >cut.fxt
	"$FXT" report cut.fxt >out 2>err
	grep -q 'nothing lost' out && fail "a file of $at of $size bytes: nothing lost"
	grep -q '^CUT SHORT\|^there are no events' out || test $((at % 8)) = 0 ||
		fail "a file of $at of $size bytes: nobody says that it was cut off"
	"$FXT" report --json cut.fxt >out 2>err
	grep -q '"unread"' out || fail "a file of $at of $size bytes: JSON has no \"unread\""
	count comparison
done
"$FXT" report t.fxt | grep -q 'nothing lost' || fail "the whole file: something lost"
