# This suite is Redis's own tests, run against the installed server: types, expiry, append-only files and
# their rewriting, dumps (for which the server forks), replication, crashes, limits of memory. It leaves out
# integration/replication and unit/memefficiency, because these take as long as all others together.

redis_tests='unit/printver unit/dump unit/auth unit/protocol unit/keyspace unit/scan unit/info
	unit/info-command unit/type/string unit/type/incr unit/type/list unit/type/list-2 unit/type/set
	unit/type/zset unit/type/hash unit/type/stream unit/type/stream-cgroups unit/sort unit/expire
	unit/other unit/multi unit/quit unit/aofrw unit/acl unit/acl-v2 unit/latency-monitor
	integration/block-repl integration/replication-2 integration/replication-3
	integration/replication-4 integration/shutdown integration/aof integration/aof-multi-part
	integration/rdb integration/corrupt-dump integration/logging integration/failover
	integration/redis-cli integration/redis-benchmark integration/dismiss-mem unit/pubsub unit/slowlog
	unit/scripting unit/functions unit/maxmemory unit/introspection unit/introspection-2 unit/limits
	unit/obuf-limits unit/bitops unit/geo unit/hyperloglog unit/lazyfree unit/wait unit/pause
	unit/querybuf unit/pendingquerybuf unit/tracking unit/oom-score-adj unit/shutdown unit/networking
	unit/client-eviction unit/replybufsize'
size=8

run_redis()
{
	local source name singles=()

	need redis-server redis-cli redis-benchmark tclsh
	source=$(source_of redis) || absent 'source of redis in SUITES_SOURCES'
	cp -r "$source/tests" . && mkdir src || return
	for name in server cli benchmark sentinel check-aof check-rdb; do
		ln -s "$(command -v redis-$name)" src/redis-$name
	done
	for name in ${REDIS_TESTS:-$redis_tests}; do
		singles+=(--single "$name")
	done
	program timeout -k 10 ${REDIS_SECONDS:-1800} tclsh tests/test_helper.tcl --clients 2 --durable \
		"${singles[@]}" >log 2>&1
	printf 'test_helper\t%d\n' $?
	# The lines are sorted, because two clients run the tests in no fixed order. Long numbers in the names
	# are replaced, because they are times, addresses and ports.
	sed 's/\x1b\[[0-9;]*m//g' log | grep -aE '^\[(ok|err|exception|skip|ignore|TIMEOUT)\]' |
		sed -E 's/ \([0-9]+ ms\)$//; s/[0-9]{4,}/N/g; s/^\[([a-z]+)\]: (.*)$/\2\t\1/I' | sort
	cat log >&2
}
