#!/bin/bash
# The trace says in which calls a process was when it executed another program, forked in a handler, or ended,
# and how it ended. The programs are tests/apps/ends.c and tests/apps/cut.c.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

app=$apps/ends

# with TEXT DIRECTORY: finds the one file of `ends` there whose calls have this text. Its name is in $file,
# and its calls are in the file `calls`.
with()
{
	local each

	file=
	for each in "$2"/ends.*.fxt; do
		trace calls "$each" >calls.of
		grep -q "$1" calls.of || continue
		test -z "$file" || fail "$2: both $file and $each have '$1'"
		file=$each
		mv calls.of calls
	done
	test -n "$file" || { fail "$2: no file has '$1'"; : >calls; }
}

# -- Another program -----------------------------------------------------------------------------------

# The functions end with the call that executes, so nothing is open. That call has its arguments, and the one
# before, which failed, is there once.
for categories in '#default' '#default,-process'; do
	FXT_CATEGORIES=$categories ended 4 exec "$app" exec /bin/sh -c 'exit 4'
	trace calls exec/ends.*.fxt >calls
	is "exec, $categories: open in the end" 0 "$(grep -c ' open ' calls)"
	is "exec, $categories: functions that it ended" "become leave main " \
		"$(sed -n 's/^function:\([a-z]*\) .* ended_by=execve$/\1/p' calls | sort | tr '\n' ' ')"
	rm -rf exec.all && mv exec exec.all
	test "$categories" = '#default' || continue
	is "exec: calls" \
		"pathname=/nonexistent/program ret=-1 errno=2,pathname=/bin/sh argv=/bin/sh -c exit 4" \
		"$(sed -n 's/^process:execve [^ ]* [^ ]* [^ ]* //p' calls |
			sed 's/ \(stack\|cpu_ns\|voluntary\|involuntary\)=.*//' | paste -sd,)"
done

# Arguments are cut at 1 KiB, and their bytes need not be text.
ended 0 long "$app" exec /bin/true "$(printf 'a\377b')" "$(head -c 5000 /dev/zero | tr '\0' x)"
is "exec: bytes of long arguments" 1024 \
	"$(trace calls long/ends.*.fxt | sed -n 's/.* argv=//p' | tr -d '\n' | wc -c)"
is "exec: what is no text" "/bin/true a?b x" \
	"$(trace calls long/ends.*.fxt | sed -n 's/.* argv=\(.*b x\).*/\1/p')"

# In a joined trace nothing of the next program lies within the calls of the one before.
"$FXT" record -q -o all.fxt -- "$app" exec /bin/sh -c 'exit 4' >/dev/null 2>&1
is "fxt record: exit status" 4 $?
valid all.fxt
trace calls all.fxt |
	awk '$1 == "function:main" { end = $4 }
		end && $3 > end { after++ }
		END { print (end && after > 0) }' >found
is "fxt record: the next program comes behind" 1 "$(cat found)"

# When the child of a vfork executes, its own calls end, and those that its parent makes next are not within
# them.
# A call that took longer than FXT_EXPLAIN_NS says its stack besides, in such a child too.
for explain in 1000000000 1; do
	FXT_EXPLAIN_NS=$explain ended 0 vfork.$explain "$app" vfork
	with 'size=20000 ' vfork.$explain
	is "vfork, $explain: calls of the child" 1 \
		"$(grep -cE '^process:execl .* argv=sh -c exit 3( stack=[^ ]*)?$' calls)"
	awk '$1 == "process:execl" || $1 == "function:run_true" { if ($4 > end) end = $4 }
		/ size=20000 / && $3 <= end { print "within" }' calls >wrong
	is "vfork, $explain: blocks of the parent within calls of the child" "" "$(cat wrong)"
done
is "vfork, 1: stacks of the child" 1 "$(grep -c '^process:execl .* stack=' calls)"

# -- Forks in handlers ---------------------------------------------------------------------------------

ended 0 handler "$app" handler
with 'size=20001 ' handler
is "a handler that forks: what its child is in" "" "$(grep '^net:pselect' calls)"
with ' errno=4' handler
is "a handler that forks: calls of the parent" 1 "$(grep -c '^net:pselect .* nfds=0 .* ret=-1 errno=4' calls)"

# A child that returns from the handler was in the call from the fork on.
for explain in 100000 0; do
	FXT_EXPLAIN_NS=$explain ended 0 returns.$explain "$app" returns
	with 'size=20002 ' returns.$explain
	is "a child that returns: its call" 1 "$(grep -c '^net:pselect .* nfds=0 .* ret=-1 errno=4' calls)"
	awk '$1 == "function:forks_in_handler" { from = $3 }
		$1 == "net:pselect" && $3 <= from { print $3 - from }' calls >wrong
	is "a child that returns: nanoseconds before its birth" "" "$(cat wrong)"
done

# -- Ends ----------------------------------------------------------------------------------------------

# ends_of FILE: prints how its process ended, and how many nanoseconds after the last other record that was.
ends_of()
{
	fxt dump --json "$1" | python3 -c '
import json, sys
records = [json.loads(line) for line in sys.stdin]
ends = [r for r in records if r["type"] == "instant" and r["category"] == "process" and r["name"] == "exit"]
last = max((r["time"] for r in records if r["type"] in ("complete", "instant") and r not in ends), default=0)
print(*(r["args"]["status"] for r in ends), *(r["time"] - last for r in ends))'
}

# The end is the last record: it comes after the exit handlers, and after what the process computes without a
# call.
FXT_CATEGORIES='#default,-function' ended 3 computes "$app" computes 3
read -r status after <<<"$(ends_of computes/ends.*.fxt)"
is "returning from main: status" 3 "$status"
test "$after" -ge 50000000 || fail "returning from main: 50 ms of computing are $after ns"
for ending in _exit:6 quick_exit:6; do
	ended ${ending#*:} ${ending%:*} "$apps/process" ${ending%:*}
	read -r status _ <<<"$(ends_of ${ending%:*}/process.*.fxt)"
	is "${ending%:*}: status" ${ending#*:} "$status"
done
with 'size=20001 ' handler
is "_exit: what the thread is in" "forks_in_handler main on_signal " \
	"$(sed -n 's/^function:\([a-z_]*\) .* ended_by=_exit$/\1/p' calls | sort | tr '\n' ' ')"

# A child that records nothing has no file. Its parent knows when and how it ended, and who it was.
ended 4 silent "$app" silent
file=$(only silent/*.fxt) && {
	is "silent: its life" "process:child 1 1 0 status=7*1" \
		"$(trace lives "$file" | grep '^process:child')"
	is "silent: its end" "thread -> waitpid 1" "$(trace arrows "$file")"
	is "silent: processes of this name" 2 "$(fxt dump --json "$file" |
		grep -c '"type":"process","id":[0-9]*,"name":"ends"')"
}

# The parent of a killed child knows the signal.
ended 0 killed "$app" killed
with ' size=20000 ' killed
is "killed: its life" "process:child 1 1 0 signal=9*1" "$(trace lives "$file" | grep '^process:child')"

# -- What is left open ---------------------------------------------------------------------------------

# left whole|ring OPTION...: records `ends left` with these options, and checks that each lifetime ends where
# its program did.
count=$((1 + FXT_SEED % 5))
mkfifo hold
left()
{
	local ring=
	test "$1" = ring && ring=--ring
	shift

	rm -f left.fxt
	exec 3<>hold
	"$FXT" record -q --detach -o left.fxt "$@" -- "$app" left $count hold >left.out 2>left.err ||
		fail "left $*: exit status $?: $(cat left.err)"
	# The child that still runs waits for this byte, and ends when it gets the byte.
	trace left left.fxt >found
	echo >&3
	exec 3>&-
	for role in exits:exit killed:signal executes:exec; do
		local how=${role#*:}
		for of in io:file:$count malloc:'heap block':$count pthread:thread:$count io:pipe:1; do
			echo "${role%:*} ${of%:*} $how ${of##*:}"
		done
		# A child remains the child of a process that executes another program. How it ended is known
		# if fxt record has reaped it, or the kernel was asked; that is a matter of who comes first.
		echo "${role%:*} process:child ${how/exec/over} 1"
	done >expected
	# The FIFO is a pipe too.
	for of in io:file:$count malloc:'heap block':$count pthread:thread:$count io:pipe:2 \
		process:child:1; do
		echo "runs ${of%:*} open ${of##*:}"
	done >>expected
	sort expected >told
	# Which smaller blocks are drawn as samples is chance.
	grep -v ' itself \|:heap sample ' found |
		sed -E 's/^(executes process:child) (end|exit) /\1 over /' | sort >found.sorted
	same "left, $count of each, $*" told found.sorted
	valid $ring left.fxt
	# A report and a check of the trace say the same as without the ends that fxt record has added.
	trace unended left.fxt >unended.fxt
	for file in left unended; do
		fxt report $file.fxt | sed '1,/ of trace/d' >$file.report
		fxt report --json --all $file.fxt | python3 -c '
import json, sys
report = json.load(sys.stdin)
print(json.dumps([report["leaks"], report["descriptors_open"], report["threads"]], indent=1))' >$file.json
		"$FXT" check $ring $file.fxt | grep -o '[0-9]* asyncs still open.*' >$file.check
	done
	same_some "left: report" unended.report left.report
	same_some "left: leaks and descriptors" unended.json left.json
	same_some "left: check" unended.check left.check
}
left whole
left whole --follow=ends
left ring -m circular -b 4

# -- What is in progress -------------------------------------------------------------------------------

# cut STATUS whole|ring COUNT TIMES exec|exit|signal OPTION...: records `cut` with these options, and checks
# that each call ends where its program did.
cut()
{
	local expected=$1 kind=$2 count=$3 times=$4 how=$5 ring=
	local what="cut $count $times $how"
	test "$kind" = ring && ring=--ring
	shift 5

	rm -f cut.fxt again.fxt
	"$FXT" record -q -o cut.fxt "$@" -- "$apps/cut" "$count" "$times" "$how" >cut.out 2>cut.err
	is "$what: exit status" "$expected" $?
	is "$what: stderr" "" "$(cat cut.err)"
	valid $ring cut.fxt
	sort cut.out >told
	trace cut cut.fxt >found || fail "$what: $*"
	sort -o found found
	same_some "$what $*: what was in progress" told found
	"$FXT" merge -q -o again.fxt cut.fxt || fail "$what: the trace cannot be joined again"
	valid $ring again.fxt
	is "$what: ends after another join" "$(trace cut cut.fxt | sort)" "$(trace cut again.fxt | sort)"
	# Only the calls of a program that executed another are over. The report shows the others as in
	# progress at the end.
	trace open cut.fxt | sed 's/^[0-9]* //; /^function:/d' | sort >open
	sed -n 's/^\(exit\|signal\) //p' told >expected
	same "$what: the report's calls in progress" expected open
	# A call that a program left in progress still counts as that, although fxt record has given it an
	# end.
	trace uncut cut.fxt >uncut.fxt
	"$FXT" check $ring uncut.fxt | grep -o '[0-9]* *calls still open.*' >uncut.check
	"$FXT" check $ring cut.fxt | grep -o '[0-9]* *calls still open.*' >cut.check
	same_some "$what: check" uncut.check cut.check
	test "$times" = 0 && test "$how" != exec || return
	for file in cut uncut again; do
		fxt report $file.fxt | sed '1,/ of trace/d' >$file.report
	done
	same_some "$what: report" uncut.report cut.report
	same_some "$what: report after another join" cut.report again.report
}
# Two threads at most are busy, and in no call.
count=$((4 + FXT_SEED % 9))
for times in 0 2; do
	cut 0 whole $count $times exec
	cut 0 whole $count $times exit
	cut 137 whole $count $times signal
done
cut 0 ring $count 1 exec -m circular -b 4
cut 137 ring $count 1 signal -m circular -b 4
# Here the calls that execute are not in the trace, so it is only known when the next program began.
cut 0 whole $count 2 exit -c '#default,-process'

# Children of a vfork that search for their program and execute it end no call of their parent, and none
# counts as untraced.
cat >vforks.py <<-'EOF'
	import os, subprocess, threading
	ends = os.pipe()
	threading.Thread(target=lambda: os.read(ends[0], 1), daemon=True).start()
	for command in ["true"], ["/bin/sh", "-c", "exit 3"]:
	    subprocess.run(command, close_fds=False)
	    os.waitpid(os.posix_spawnp(command[0], command, os.environ), 0)
	os.kill(os.getpid(), 9)
EOF
PATH=/nonexistent:$PATH "$FXT" record -o vforks.fxt -- python3 vforks.py >vforks.out 2>vforks.err
is "vforks: exit status" 137 $?
is "vforks: what ran untraced" "" "$(grep untraced vforks.err)"
valid vforks.fxt
fxt dump --json vforks.fxt >dump
is "vforks: what ended the calls of the parent" "io:read signal process:kill signal" \
	"$(grep '"type":"end"' dump | grep -v '"exec"\|"exit"' |
		sed 's/.*"category":"\([a-z]*\)","name":"\([a-z]*\)".*"ended_by":"\([a-z]*\)".*/\1:\2 \3/' |
		sort | paste -sd' ')"

# A program that was executed has its report, also if its part is the largest of the run and so comes first in
# the file.
mkfifo ready
cat >execute.sh <<-'EOF'
	echo $$ >pid
	exec "$1" >ready
EOF
"$FXT" record -q -o executed.fxt -- sh execute.sh "$apps/deadlock" 2>executed.err &
read -r _ <ready
kill -9 "$(cat pid)"
wait $!
is "a deadlock after an exec: exit status" 137 $?
valid executed.fxt
is "a deadlock after an exec: in progress" \
	"process:pause pthread:pthread_mutex_lock pthread:pthread_mutex_lock" \
	"$(trace open executed.fxt | sed 's/^[0-9]* //' | sort | paste -sd' ')"
fxt report executed.fxt >report
grep -q ^DEADLOCK report || fail "a deadlock after an exec: the report does not say so"

# -- Namespaces of process ids -------------------------------------------------------------------------

# Several processes are process 1, each in a namespace of its own. In the trace each has a number of its own:
# the one that it has outside, or one that no process has. There are so many namespaces that the kernel reuses
# the number of some.
if unshare -r -p -f --mount-proc true 2>/dev/null; then
	spaces=12
	for proc in '' --mount-proc; do
		"$FXT" record -q -o spaces.fxt -- sh -c 'i=0
			while [ $i != '$spaces' ]; do
				unshare -r -p -f '"$proc"' "$1" killed || exit 1
				i=$((i + 1))
			done' \
			sh "$app" >spaces.out 2>spaces.err
		is "namespaces, '$proc': exit status" 0 $?
		is "namespaces, '$proc': stderr" "" "$(cat spaces.err)"
		valid spaces.fxt
		fxt dump --json spaces.fxt >dump
		# Each namespace has a parent and a child; the parent is its process 1.
		is "namespaces, '$proc': processes" $((2 * spaces)) \
			"$(grep '"type":"process"' dump | grep '"name":"ends"' |
			sed 's/.*"id":\([0-9]*\).*/\1/' | sort -u | wc -l)"
		is "namespaces, '$proc': processes 1" $spaces \
			"$(grep '"type":"process"' dump | grep '"name":"ends"' | grep -c '"pid":1[,}]')"
		is "namespaces, '$proc': threads in which they called" $((2 * spaces)) \
			"$(trace calls spaces.fxt |
				awk '$1 == "function:allocate" || / size=20001 / { print $2 }' |
				sort -u | wc -l)"
	done
	# A program that is executed there is traced, under another number than its parent knows.
	"$FXT" record -o spaces.fxt -- unshare -r -p -f --mount-proc "$app" vfork >/dev/null 2>spaces.err
	is "namespaces: what ran untraced" 0 "$(grep -c untraced spaces.err)"
	is "namespaces: programs" "ends sh unshare" "$(fxt dump --json spaces.fxt |
		sed -n 's/.*"type":"process",.*"name":"\([a-z]*\)".*/\1/p' |
		grep -vx kernel | sort -u | paste -sd' ')"
	# glibc stores thread ids of the namespace in its locks; the agent still sees whether a lock is the
	# thread's own.
	for proc in '' 'unshare -r -p -f'; do
		"$FXT" record -q -o locks.fxt -- $proc \
			"$abs_top_builddir/tests/apps/host_locks" >/dev/null ||
			fail "host_locks, '$proc': exit status $?"
		fxt dump locks.fxt | grep -c ' agent:contended' >>contended
	done
	is "namespaces: how often a lock was contended" 1 "$(uniq contended | wc -l)"
	test "$(head -n 1 contended)" -gt 0 ||
		fail "namespaces: no lock was contended, so nothing is compared"
else
	echo "namespaces are left out: they are not allowed here"
fi

# -- One number for several processes --------------------------------------------------------------------

# Where the program may choose process numbers. The trace tells apart who had the number, whoever tells of it:
# the process itself, its parent, or the kernel.
one_number=$((2 + $(random_below 12)))
alone="unshare --pid --fork --mount-proc"
$alone true 2>/dev/null || alone=false

# in_one_number COMMAND...: runs it in a namespace, and again while the recorder has got the number (75).
# Returns its exit status.
in_one_number() {
	for _ in 1 2 3 4 5; do
		timeout 60 $alone "$@"
		status=$?
		test $status = 75 || break
	done
	return $status
}

# processes_counted: prints how many processes a JSON says there are, and how many recorded nothing.
processes_counted()
{
	python3 -c 'import json, sys
told = json.load(sys.stdin)
told = told.get("trace", told)
print(told["processes"], told["recorded_nothing"])'
}

for witness in "" --no-kernel; do
	in_one_number "$FXT" record --json $witness -o numbers.fxt -- "$apps/same_number" $one_number >model \
		2>summary
	status=$?
	if test $status = 77 || test "$alone" = false; then
		echo "numbers of processes are left out: they may not be chosen here"
		break
	fi
	is "one number$witness: exit status" 0 $status
	valid numbers.fxt
	is "one number$witness: $(tr '\n' ' ' <model)" "$one_number bearers" \
		"$(python3 "$abs_top_srcdir/tests/e2e/numbers.py" numbers.fxt model 2>&1)"
	is "one number$witness: how many the summary and the report count" \
		"$(tail -n 1 summary | processes_counted)" \
		"$(fxt report --json --all numbers.fxt | processes_counted)"
	is "one number$witness: who was killed" "$(grep -c killed model)" \
		"$(fxt report --json --all numbers.fxt | python3 -c 'import json, sys
print(sum(f["what"].startswith("same_number %s was killed by signal 9" % sys.argv[1])
          for f in json.load(sys.stdin)["findings"]))' "$(head -n 1 model)")"
done

# The archive of fxt serve has the kernel's numbers. The report tells them apart all the same, and so does
# fxt merge.
cat >serves <<'END'
"$FXT" serve --socket=socket -o served.fxt 2>serve.err &
server=$!
until test -S socket; do
	sleep 0.01
done
LD_PRELOAD=$FXT_AGENT FXT_MANAGER=$PWD/socket "$1" "$2" >model
status=$?
kill -INT $server
wait $server
exit $status
END
if test $status != 77 && test "$alone" != false; then
	in_one_number bash serves "$apps/same_number" "$one_number"
	is "one number, served: exit status" 0 $?
	"$FXT" merge -q -o merged.fxt served.fxt || fail "one number: fxt merge"
	valid served.fxt merged.fxt
	is "one number, merged: $(tr '\n' ' ' <model)" "$one_number bearers" \
		"$(python3 "$abs_top_srcdir/tests/e2e/numbers.py" merged.fxt model 2>&1)"
	# A number that only a thread has again needs no telling apart there: its process is another one.
	for trace in merged served; do
		fxt report --json --all $trace.fxt | python3 -c 'import json, sys
for thread in json.load(sys.stdin)["threads"]:
    print(thread["process_koid"], thread["tid"], thread["running_ns"])' | sort >$trace.threads
	done
	same_some "one number: the reports" merged.threads served.threads
	is "one number: what the report cannot tell" 0 \
		"$(fxt report served.fxt | grep -c 'SEVERAL PROCESSES')"
fi
