#!/bin/bash
# The report finds no fault in programs that work: those of the system that are there, each with ordinary
# work. HEALTHY_ROUNDS runs each of them more often than once; HEALTHY names some of them.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

rounds=${HEALTHY_ROUNDS:-1}

# What the programs work on.
mkdir work
seq 1 $((20000 + $(random_below 20000))) >work/numbers
printf 'int main(void)\n{\n\treturn 0;\n}\n' >work/empty.c
printf 'all: empty\nempty: empty.c\n\tgcc -o empty empty.c\n' >work/Makefile
printf 'class Sum {\n\tpublic static void main(String[] a) {\n\t\tlong s = 0;\n%s\n\t}\n}\n' \
	'		for (int i = 0; i < 1000; i++) s += i; System.out.println(s);' >work/Sum.java
git -C work init -q 2>/dev/null

# healthy NAME COMMAND...: fails if a fault is found in one of the runs.
healthy()
{
	local name=$1 i status faults
	shift
	command -v "$1" >/dev/null || return 0
	case " ${HEALTHY:-$name} " in *" $name "*) ;; *) return 0 ;; esac
	for ((i = 0; i < rounds; i++)); do
		(cd work && "$FXT" record -q -o ../healthy.fxt -- "$@") >out 2>&1 </dev/null
		status=$?
		# A program that does not work here is not healthy.
		test $status = 0 || { echo "$name ended with status $status and is left out"; return 0; }
		"$FXT" report --json healthy.fxt >report.json || fail "$name: there is no report"
		faults=$(python3 -c 'import json
print("\n".join("%s: %s, by %s" % (f["rule"], f["what"], f["culprit"])
                for f in json.load(open("report.json"))["findings"] if f["gravity"] != "note"))')
		is "$name: faults" "" "$faults"
		"$FXT" report healthy.fxt >text
		is "$name: the line that says so" 1 "$(grep -c '^no fault found by' text)"
		count trace
	done
}

healthy ls ls -lR /usr/include/linux
healthy gcc gcc -O1 -o empty empty.c
healthy make make -B
healthy git git status
healthy sqlite3 sqlite3 base.db 'drop table if exists t; create table t(a, b); begin;
	with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000)
	insert into t select x, x * x from c; commit; select sum(b) from t;'
healthy python3 python3 -c 'import json, re; print(len(json.dumps([str(i) for i in range(20000)])))'
healthy xz xz -kf numbers
healthy bash bash -c 'for i in 1 2 3 4 5; do wc -l <numbers | sort; done; sleep 0.1'
healthy find find /usr/include/linux -name '*.h' -size +8k
healthy tar tar czf tarred.tar.gz numbers empty.c
healthy perl perl -ne '$s += $_; END { print "$s\n" }' numbers
healthy node node -e 'let s = 0; for (let i = 0; i < 1e6; i++) s += i; console.log(s)'
healthy java java Sum.java
healthy curl curl -s -o copied "file://$PWD/work/numbers"
