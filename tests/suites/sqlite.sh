# SQLite's speed test, which verifies what it reads, and the shell on a database of many tables.

run_sqlite()
{
	local source

	need sqlite3 cc
	source=$(source_of sqlite3) || absent 'source of sqlite3 in SUITES_SOURCES'
	cc -O2 -w -o speedtest1 "$source/test/speedtest1.c" -lsqlite3 || absent 'libsqlite3 to link with'
	for options in '' '--journal wal' '--multithread' '--nosync --multithread'; do
		# Times go, what was done and the hash of all results stay.
		program ./speedtest1 --size 10 --verify $options test.db >log 2>&1
		printf 'speedtest1 %s\t%d\n' "$options" $?
		sed -E 's/\.{3,} *[0-9.]+s/\t/; s/^ *TOTAL.*$//' log | sed "s/^/$options: /"
		program sqlite3 test.db 'PRAGMA integrity_check' .sha3sum
		rm -f test.db*
	done
}
