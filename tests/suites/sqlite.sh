# This suite runs SQLite's speed test, which verifies what it reads, its test of several processes, some of
# which crash, and the shell on the speed test's database.

modes='streaming circular'

run_sqlite()
{
	local source options name

	need sqlite3 cc
	source=$(source_of sqlite3) || absent 'source of sqlite3 in SUITES_SOURCES'
	cc -O2 -w -o speedtest1 "$source/test/speedtest1.c" -lsqlite3 || absent 'libsqlite3 to link with'
	for options in '' '--journal wal' '--multithread' '--nosync --multithread'; do
		# The results have what was done and a hash of all that was read, but not the times.
		program ./speedtest1 --size 10 --verify $options test.db >log 2>&1
		printf 'speedtest1 %s\t%d\n' "$options" $?
		sed -E 's/\.{3,} *[0-9.]+s/\t/; s/^ *TOTAL.*$//' log | sed "s/^/$options: /"
		program sqlite3 test.db 'PRAGMA integrity_check' .sha3sum
		rm -f test.db*
	done

	cc -O2 -w -o mptester "$source/mptest/mptest.c" -lsqlite3 || absent 'way to compile mptest.c'
	# mptester's tests of configuration are left out, because they fail bare on a slow machine.
	for name in crash01 multiwrite01; do
		for options in delete wal; do
			rm -f mp.db*
			program timeout -k 10 300 ./mptester mp.db "$source/mptest/$name.test" \
				--journalmode $options >log 2>&1
			printf 'mptester %s %s\t%d\t' $name $options $?
			sed -nE 's/^Summary: ([0-9]+ errors) out of .*/\1/p' log
			cat log >&2
		done
	done
}
