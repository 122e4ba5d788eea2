#!/bin/bash
# What a program sees of itself, in its environment and in /proc, is bare and traced the same, but for what
# docs/hosts.md lists.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need env cat od awk

# The differences of each kind, as extended regular expressions for whole lines.
variables='(LD_PRELOAD|FXT_[A-Z_]*|_)=.*'
status='(Tgid|Pid|PPid|NStgid|NSpid|NSpgid|NSsid|FDSize|Vm[A-Za-z]*|Rss[A-Za-z]*|SigQ|SigCgt):.*'
status+='|[a-z]*_ctxt_switches:.*|(Mems|Cpus)_allowed.*'

# seen NAME PREFIX...: writes down what programs see that PREFIX runs.
seen()
{
	local name=$1
	shift

	"$@" env | grep -vxE "$variables" | sort >"$name.environment"
	"$@" cat /proc/self/status | grep -vxE "$status" >"$name.status"
	"$@" cat /proc/self/status | awk '/^Threads|^SigBlk|^SigIgn|^SigPnd/' >"$name.signals"
	"$@" cat /proc/self/limits >"$name.limits"
	"$@" cat /proc/self/cgroup /proc/self/oom_score_adj /proc/self/timerslack_ns \
		/proc/self/coredump_filter >"$name.more" 2>/dev/null
	"$@" ls /proc/self/fd | sort >"$name.descriptors"
	"$@" od -An -v -tx8 -w16 /proc/self/auxv | awk '{ print $1 }' >"$name.auxiliary"
	# No mapping of the program's own files is another one.
	"$@" cat /proc/self/maps | awk '$6 ~ /\/(cat|libc\.so\.6)$/ { print $2, $6 }' | sort -u >"$name.maps"
	# ASAN_OPTIONS is for programs that have the sanitizer.
	"$@" sh -c 'echo "${ASAN_OPTIONS-unset}"' >"$name.sanitizer"
}

unset ASAN_OPTIONS
seen bare bare
seen preloaded traced traces
seen recorded "$FXT" record -q -o recorded.fxt --
export ASAN_OPTIONS=abort_on_error=0
bare sh -c 'echo "$ASAN_OPTIONS"' >given
"$FXT" record -q -o recorded.fxt -- sh -c 'echo "$ASAN_OPTIONS"' >kept
unset ASAN_OPTIONS
for what in environment status signals limits more descriptors auxiliary maps sanitizer; do
	for run in preloaded recorded; do
		same_some "$run: $what" bare.$what $run.$what
	done
done
same_some "ASAN_OPTIONS that the user has set" given kept
valid traces/*.fxt recorded.fxt

# A program that has the sanitizer runs, whoever runs it and in whichever environment.
cat >instrumented.c <<'END'
#include <stdlib.h>
int main(void)
{
	free(malloc(100));
	return 7;
}
END
if ${CC:-gcc} -g -fsanitize=address -o instrumented instrumented.c 2>/dev/null && ! bare ./instrumented &&
	test "$(bare ./instrumented 2>&1; echo $?)" = 7; then
	# shellcheck disable=SC2016
	for by in './instrumented' 'ASAN_OPTIONS=verbosity=0 ./instrumented' 'env -i ./instrumented' \
		'exec ./instrumented' 'sh -c ./instrumented; exit $?' \
		"awk 'BEGIN { exit system(\"./instrumented\") }'"; do
		"$FXT" record -q -o child.fxt -- sh -c "$by" >said 2>&1
		is "a program with the sanitizer by $by" "7 " "$? $(cat said)"
	done
else
	echo "no program with the address sanitizer runs here: left out"
fi
