#!/bin/bash
# The queries of docs/sql.md answer what fxt report says, on traces of programs that are drawn (sql.py). fxt
# query prints rows for people and programs, keeps its database, and knows when that is of no use any more.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3
"$FXT" query none 2>said && fail "a trace that is not there was asked"
grep -q 'without SQLite' said && skip "fxt was built without SQLite"

page=$abs_top_srcdir/docs/sql.md

# py ARGUMENT...: what sql.py says is in `told`.
py()
{
	python3 "$abs_top_srcdir/tests/e2e/sql.py" "$@" >told 2>&1 || fail "sql.py $1: $(head -c 2000 told)"
	count comparison
}

# -- What the page says --------------------------------------------------------------------------------

# Threads that want two locks in turn, one of them across a wait; blocks, files, failures, lines on standard
# error, a call that never returns, a descriptor that is left, children with drawn statuses.
cat >drawn.c <<'END'
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static unsigned draw;
static unsigned below(unsigned n) { return (draw = draw * 1103515245 + 12345) / 65536 % n; }
static void *hold(void *n)
{
	for (long i = 0; i < (long)n; i++) {
		pthread_mutex_lock(&locks[i % 3 == 0]);
		if (i % 2)
			pthread_mutex_lock(&locks[i % 3 != 0]), pthread_mutex_unlock(&locks[i % 3 != 0]);
		usleep(500);
		pthread_mutex_unlock(&locks[i % 3 == 0]);
	}
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t threads[4];
	char text[300];
	int fd = -1;
	(void)argc;
	draw = (unsigned)atoi(argv[1]);
	/* One order of two locks at a time, so that nobody waits for ever. */
	pthread_create(&threads[0], NULL, hold, (void *)(long)1);
	pthread_join(threads[0], NULL);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, hold, (void *)(long)(i ? 1 : 10 + below(20)));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0, n = 50 + below(100); i < n; i++)
		free(i % 7 ? malloc(1 + below(100000)) : calloc(1 + below(9), 1 + below(9)));
	for (unsigned i = 0, n = 1 + below(5); i < n; i++)
		open("/nowhere/at/all", O_RDONLY);
	for (unsigned i = 0, n = 1 + below(5); i < n; i++)
		fd = open("/etc/passwd", O_RDONLY);
	for (unsigned i = 0, n = 1 + below(9); i < n; i++)
		if (read(fd, text, 1 + below(sizeof(text))) < 0)
			return 1;
	for (unsigned i = 0, n = 1 + below(5); i < n; i++)
		fprintf(stderr, "line %u of %u\n", i, n);
	for (unsigned i = 0, n = 1 + below(3); i < n; i++) {
		unsigned status = below(100);
		pid_t child = fork();
		if (child == 0)
			_exit((int)status);
		printf("%d %u\n", (int)child, status);
		fflush(stdout);
		waitpid(child, NULL, 0);
	}
	malloc(12345);
	printf("ready\n");
	fflush(stdout);
	pause();
	return 0;
}
END
need "${CC:-cc}"
# shellcheck disable=SC2086
${CC:-cc} -g -O1 -w -pthread -o drawn drawn.c || fail "drawn.c does not compile"
mkfifo ready
"$FXT" record -q -c '#default,malloc' -o drawn.fxt -- ./drawn $((seed % 1000000)) >ready 2>err &
background=$!
while read -r line; do
	test "$line" = ready && break
	echo "$line"
done <ready >children
kill -9 "$(pgrep -P $background drawn)"
wait $background
background=
valid drawn.fxt
FXT_HEAP_SAMPLE_BYTES=16 "$FXT" record -q -c '#default,malloc' -o shell.fxt -- bash -c 'for i in 1 2 3
	do cat /etc/passwd /none.$i; done; exec 7</etc/hosts; ls -l / | sort; echo said >&2; exit 3' >out 2>&1
FXT_BUFFERING_MODE=oneshot FXT_BUFFER_SIZE_MB=1 traced lossy "$apps/count_calls" locks 4 $((20000 +
	$(random_below 20000))) >out 2>&1
lossy=$(only lossy/*.fxt)
test "$(trace lost "$lossy" | sed -n "s/^dropped //p")" -gt 0 || fail "nothing was lost"
"$FXT" record -q -o chain.fxt -- "$apps/chain" 20 >out 2>&1 || fail "chain: exit status $?"
py queries "$page" drawn.fxt shell.fxt "$lossy" chain.fxt
# Samples and switches need a kernel that counts for us.
answered=$(cat told)
if test "$(fxt dump --json drawn.fxt | grep -c '"type":"switch"')" = 0; then
	answered="$answered 16"
fi
if test "$(fxt report --json --all shell.fxt | python3 -c 'import json, sys
print(json.load(sys.stdin)["processor"]["samples"])')" = 0; then
	answered="$answered 17"
fi
is "questions that were answered" "$(seq 20 | xargs)" "$(tr ' ' '\n' <<<"$answered" | sort -nu | xargs)"
is "queries of the page" 20 "$(grep -c '^```sql' "$page")"
py schema "$page" drawn.fxt

# What the program knows of itself.
"$FXT" query --format=csv drawn.fxt "SELECT c.number || ' ' || c.status FROM processes c JOIN processes p
	ON p.pid = c.parent WHERE p.name = 'drawn' ORDER BY 1" 2>/dev/null | tr -d '\r' | tail -n +2 >found
sort children >expected
same_some "children and their statuses" expected found
"$FXT" query --format=csv drawn.fxt "SELECT message FROM log ORDER BY at_ns" | tr -d '\r' | tail -n +2 >found
same_some "what it said" err found
is "the call that it was in" pause "$("$FXT" query --format=csv drawn.fxt \
	"SELECT name FROM calls WHERE end_ns IS NULL" | tr -d '\r' | tail -n 1)"
is "waits for a lock that name nobody" 0 "$("$FXT" query --format=csv drawn.fxt \
	"SELECT count(*) FROM waits WHERE kind = 'mutex' AND waited_ns > 100000 AND by_tid IS NULL" |
	tr -d '\r' | tail -n 1)"

# -- What is printed -----------------------------------------------------------------------------------

python3 - "$FXT" drawn.fxt <<'END' >told 2>&1 || fail "formats: $(cat told)"
import csv, io, json, random, sqlite3, subprocess, sys, os

fxt, trace = sys.argv[1:]
draw = random.Random(os.environ["FXT_SEED"])
db = sqlite3.connect(trace.replace(".fxt", ".sqlite"))


def ask(sql, *options, **how):
    made = subprocess.run([fxt, "query", *options, trace, sql], stdout=subprocess.PIPE, check=True, **how)
    return made.stdout.decode()


texts = ["plain", "", "a,b", 'say "so"', "two\nlines", "cr\r", "caf\u00e9", "\u4e16\u754c", "\t", "'", "\x01"]
for _ in range(30):
    values = [draw.choice([None, draw.randrange(-1 << 63, 1 << 63), draw.randrange(100), draw.random(),
                           draw.choice(texts)]) for _ in range(draw.randrange(1, 6))]
    literals = ["NULL" if v is None else "'" + v.replace("'", "''") + "'" if isinstance(v, str) else
                "(-9223372036854775807 - 1)" if v == -1 << 63 else repr(v) for v in values]
    count = draw.choice([0, 1, 2, 1001])
    sql = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1001) SELECT " + \
        ", ".join(f"{one} AS c{i}" for i, one in enumerate(literals)) + f" FROM n LIMIT {count}"
    rows = [list(row) for row in db.execute(sql)]
    found = [list(row.values()) for row in json.loads(ask(sql, "--json"))]
    wanted = [[str(v) if isinstance(v, int) and abs(v) > 1 << 53 else v for v in row] for row in rows]
    assert found == wanted, sql
    lines = list(csv.reader(io.StringIO(ask(sql, "--format=csv"), newline="")))
    assert lines[0] == [f"c{i}" for i in range(len(values))], lines[0]
    flat = [["" if v is None else v if isinstance(v, str) else str(v) for v in row] for row in rows]
    assert len(lines) - 1 == len(flat), (sql, len(lines))
    for one, other in zip(lines[1:], flat):
        for a, b, v in zip(one, other, values):
            assert float(a) == v if isinstance(v, float) else a == b, (sql, a, b)
    table = ask(sql).splitlines()
    assert len(table) == count + 1 and "c0" in table[0], (sql, len(table))
# Columns stand below their headings, numbers at their end.
table = ask("SELECT 'x' AS name, 5 AS long_number UNION ALL SELECT 'long name', 12345678901234")
assert table == "name          long_number\nx                       5\nlong name  12345678901234\n", table
assert ask("SELECT 1; SELECT 2; -- end") == "1\n1\n2\n2\n"
assert ask("-", input=b"SELECT 7 AS x") == "x\n7\n"
listed = subprocess.run([fxt, "query", trace], stdout=subprocess.PIPE, check=True).stdout.decode()
assert "waits" in listed and "waited_ns" in listed
END
count comparison
if command -v jq >/dev/null; then
	is "rows that jq reads" 1 "$("$FXT" query --json drawn.fxt 'SELECT 1 AS x' | jq '.[0].x')"
fi

# -- The database that is kept -------------------------------------------------------------------------

# asked WANTED TRACE: a question to the trace has this answer; what is said besides is in `said`.
asked()
{
	is "the answer of $2" "$1" "$("$FXT" query --format=csv "$2" 'SELECT count(*) FROM events' 2>said |
		tr -d '\r' | tail -n 1)"
}

answer()
{
	python3 "$abs_top_srcdir/tests/e2e/convert.py" rows "$1"
}

mkdir at
cp drawn.fxt at/x.fxt
first=$(answer drawn.fxt) second=$(answer chain.fxt)
asked "$first" at/x.fxt
is "lines about a first question" 1 "$(wc -l <said)"
is "who may read the database" 600 "$(stat -c %a at/x.sqlite)"
inode=$(stat -c %i at/x.sqlite)
asked "$first" at/x.fxt
is "lines about a second question" 0 "$(wc -l <said)"
is "the database is the same" "$inode" "$(stat -c %i at/x.sqlite)"
cp chain.fxt at/x.fxt
asked "$second" at/x.fxt
grep -q 'another state' said || fail "nothing is said of a database that is out of date: $(cat said)"
touch -d '2001-01-01 00:00:01' at/x.fxt
asked "$second" at/x.fxt
grep -q 'another state' said || fail "the time of the trace does not count: $(cat said)"
inode=$(stat -c %i at/x.sqlite)
is "--again" "$second" "$("$FXT" query --again --format=csv at/x.fxt 'SELECT count(*) FROM events' 2>said |
	tr -d '\r' | tail -n 1)"
test "$inode" != "$(stat -c %i at/x.sqlite)" || fail "--again did not make the database again"
asked "$second" at/x.sqlite
sum=$(cksum <at/x.sqlite)
for wrong in 'DELETE FROM event_rows' 'CREATE TABLE x(y)' 'SELECT' 'SELECT * FROM nothing'; do
	"$FXT" query at/x.fxt "$wrong" >out 2>said
	is "$wrong: status and lines" "1 1" "$? $(wc -l <said)"
done
is "the database is as it was" "$sum" "$(cksum <at/x.sqlite)"

# What is none of ours is not replaced, and a trace that is no trace leaves nothing.
cp drawn.fxt at/y.fxt
echo something >at/y.sqlite
"$FXT" query at/y.fxt 'SELECT 1' >out 2>said
is "a file of the name: status, lines and what is in it" "1 1 something" \
	"$? $(wc -l <said) $(cat at/y.sqlite)"
rm at/y.sqlite
python3 -c 'import sqlite3
sqlite3.connect("at/y.sqlite").execute("CREATE TABLE mine(x)").connection.commit()'
"$FXT" query at/y.fxt 'SELECT 1' >out 2>said
is "a database of others: status and lines" "1 1" "$? $(wc -l <said)"
"$FXT" query at/y.sqlite 'SELECT 1' >out 2>said
is "a database of others that is asked: status and lines" "1 1" "$? $(wc -l <said)"
echo none >at/z.fxt
"$FXT" query at/z.fxt 'SELECT 1' >out 2>said
is "no trace: status, lines and files" "1 1 " "$? $(wc -l <said) $(ls at | grep z.sqlite)"

# A directory of parts changes without a new time of its own, and not every folder can be written.
mkdir tmp parts
traced parts ls / >out
TMPDIR=$PWD/tmp asked "$("$FXT" merge -q -o parts.fxt parts && answer parts.fxt)" parts
is "what is left of a question to a directory" "" "$(ls -A tmp; ls -d parts.sqlite 2>/dev/null)"
mkdir still
if test "$(id -u)" = 0; then
	if mount -t tmpfs none still 2>/dev/null; then
		cp chain.fxt still/ && mount -o remount,ro still
	fi
else
	cp chain.fxt still/ && chmod 555 still
fi
if test -f still/chain.fxt; then
	TMPDIR=$PWD/tmp asked "$second" still/chain.fxt
	is "what is left where nothing can be written" "chain.fxt" "$(ls -A tmp still/ | grep -v : | xargs)"
	if test "$(id -u)" = 0; then umount still; else chmod 755 still; fi
fi
for wrong in "" "--format=nothing chain.fxt" "chain.fxt SELECT 1" "--nothing chain.fxt"; do
	# shellcheck disable=SC2086
	"$FXT" query $wrong >out 2>said
	is "query $wrong: status and output" "2 0" "$? $(wc -c <out)"
done
