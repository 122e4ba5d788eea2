# This suite is PostgreSQL's regression tests, run against the installed server. They make a data directory
# and start the server themselves; initdb, server and clients are all traced.

size=4

run_postgres()
{
	local server tests

	need cc runuser
	server=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1) && test -x "$server/pg_config" ||
		absent 'PostgreSQL server'
	tests=$(source_of postgresql-15)/src/test/regress ||
		absent 'source of postgresql-15 in SUITES_SOURCES'
	runuser -u postgres -- test -r "$tests/parallel_schedule" ||
		absent "source of postgresql-15 that the user postgres can read"
	runner=$("$server/pg_config" --pgxs | sed 's,makefiles/pgxs\.mk$,test/regress/pg_regress,')
	test -x "$runner" || absent 'pg_regress (postgresql-server-dev-15)'
	cc -shared -fPIC -O2 -w -I"$("$server/pg_config" --includedir-server)" -o regress.so \
		"$tests/regress.c" ||
		absent 'headers of the PostgreSQL server'
	mkdir output && chown -R postgres . && chmod 755 .
	# The schedule is kept, because some tests need others before them. At most four run at a time,
	# because tests that run at the same time find each other's objects, and so differ from run to run.
	program runuser -u postgres -- timeout -k 10 1800 "$runner" --temp-instance="$PWD/instance" \
		--inputdir="$tests" --outputdir="$PWD/output" --dlpath="$PWD" --bindir="$server" --no-locale \
		--encoding=UTF8 --port=60432 --schedule="$tests/${POSTGRES_SCHEDULE:-parallel_schedule}" \
		--max-connections=4 >log 2>&1
	printf 'pg_regress\t%d\n' $?
	# A line reads "test boolean   ... ok   65 ms", and is indented in a parallel group. For a test that
	# failed the result has a hash of its output, so that another way to fail is a difference.
	sed -nE 's/^(test)? +([a-z0-9_.]+) +\.\.\. (.*[^ ]) +[0-9]+ ms$/\2 \3/p' log |
		while read -r name said; do
			printf '%s\t%s' "$name" "$said"
			test "$said" = ok || printf '\t%s' "$(sha1sum <"output/results/$name.out")"
			echo
		done
	cat log output/regression.diffs output/log/* >&2
}
