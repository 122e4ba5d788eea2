/* The tables and views of a trace as a database. See sql.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_SQLITE

#include "sql.h"

const char fxt_sql_tables[] =
	"CREATE TABLE trace(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
	"CREATE TABLE processes(pid INTEGER PRIMARY KEY, handle TEXT, number INTEGER, name TEXT,"
	" parent INTEGER, first_ns INTEGER, last_ns INTEGER, status INTEGER, signal INTEGER);"
	"CREATE TABLE threads(id INTEGER PRIMARY KEY, handle TEXT, pid INTEGER, tid INTEGER,"
	" number INTEGER, name TEXT, first_ns INTEGER, last_ns INTEGER, events INTEGER);"
	"CREATE TABLE names(id INTEGER PRIMARY KEY, kind TEXT, category TEXT, name TEXT, standing TEXT,"
	" waits_for TEXT, object_argument TEXT);"
	"CREATE TABLE event_rows(id INTEGER PRIMARY KEY, name INTEGER, thread INTEGER, begin_ns INTEGER,"
	" end_ns INTEGER, ref, cpu INTEGER, stack INTEGER, args TEXT);"
	"CREATE TABLE stacks(id INTEGER PRIMARY KEY, parent INTEGER, function TEXT, file TEXT, line INTEGER,"
	" module TEXT, offset INTEGER, culprit TEXT);"
	"CREATE TABLE lifetimes(begin_event INTEGER, end_event INTEGER);"
	"CREATE TABLE arrow_rows(begin_event INTEGER, end_event INTEGER);"
	"CREATE TABLE wait_rows(event INTEGER PRIMARY KEY, waited_ns INTEGER, by_thread INTEGER,"
	" let_go_ns INTEGER, because INTEGER);"
	"CREATE TABLE locks(handle TEXT, kind TEXT, pid INTEGER, address TEXT, name TEXT, waits INTEGER,"
	" total_ns INTEGER, longest_ns INTEGER, threads INTEGER);"
	"CREATE TABLE switches(at_ns INTEGER, cpu INTEGER, state INTEGER, out_tid INTEGER, in_tid INTEGER);"
	"CREATE TABLE wakeups(at_ns INTEGER, cpu INTEGER, tid INTEGER, waker_tid INTEGER);"
	"CREATE TABLE objects(pid INTEGER, id TEXT, name TEXT, type TEXT, args TEXT);"
	"CREATE TABLE contended(handle TEXT, kind TEXT, pid INTEGER, address TEXT, lock TEXT,"
	" wanted_in TEXT, held_in TEXT, waits INTEGER, total_ns INTEGER, longest_ns INTEGER, held_ns INTEGER,"
	" stack INTEGER, holder_stack INTEGER);"
	"CREATE TABLE heaps(pid INTEGER, program TEXT, allocations INTEGER, failed INTEGER,"
	" allocated_bytes INTEGER, frees INTEGER, peak_bytes INTEGER, peak_ns INTEGER,"
	" in_use_bytes INTEGER, in_use_blocks INTEGER);"
	"CREATE TABLE files(file TEXT, calls INTEGER, read_bytes INTEGER, written_bytes INTEGER,"
	" total_ns INTEGER);"
	"CREATE TABLE lost(cause TEXT, records INTEGER, last_ns INTEGER);"
	"CREATE TABLE findings(handle TEXT PRIMARY KEY, about TEXT, rule TEXT, gravity TEXT, what TEXT,"
	" culprit TEXT, cost_ns INTEGER, cost_bytes INTEGER, cost_calls INTEGER, share REAL, sure TEXT,"
	" evidence TEXT, stack INTEGER);"

	"CREATE VIEW events AS SELECT e.id, n.kind, n.category, n.name, t.pid, t.tid, t.name AS thread,"
	" e.begin_ns, e.end_ns, e.end_ns - e.begin_ns AS duration_ns, e.ref, e.cpu, e.stack,"
	" e.args ->> 'ret' AS ret, e.args ->> 'errno' AS errno, e.args"
	" FROM event_rows e JOIN names n ON n.id = e.name JOIN threads t ON t.id = e.thread;"
	"CREATE VIEW calls AS SELECT id, category, name, pid, tid, thread, begin_ns, end_ns, duration_ns,"
	" ret, errno, stack, args FROM events WHERE kind = 'call';"
	"CREATE VIEW arguments AS SELECT e.id AS event, j.key AS name, j.value, j.type"
	" FROM event_rows e, json_each(e.args) j;"
	"CREATE VIEW counters AS SELECT e.id, e.begin_ns AS at_ns, t.pid, n.name, j.key AS argument, j.value"
	" FROM event_rows e JOIN names n ON n.id = e.name JOIN threads t ON t.id = e.thread,"
	" json_each(e.args) j WHERE n.kind = 'counter';"
	"CREATE VIEW log AS SELECT e.id, e.begin_ns AS at_ns, t.pid, t.tid, t.name AS thread,"
	" e.args ->> 'message' AS message FROM event_rows e JOIN names n ON n.id = e.name"
	" JOIN threads t ON t.id = e.thread WHERE n.kind = 'log';"
	"CREATE VIEW samples AS SELECT e.id, e.begin_ns AS at_ns, e.cpu, n.name AS function,"
	" e.args ->> 'process' AS pid, e.args ->> 'thread' AS tid, e.stack"
	" FROM event_rows e JOIN names n ON n.id = e.name WHERE n.category = 'sample';"
	"CREATE VIEW arrows AS SELECT n.name, a.begin_event, b.begin_ns AS from_ns, bt.pid AS from_pid,"
	" bt.tid AS from_tid, bt.name AS from_thread, a.end_event, e.begin_ns AS to_ns, et.pid AS to_pid,"
	" et.tid AS to_tid, et.name AS to_thread"
	" FROM arrow_rows a JOIN event_rows b ON b.id = a.begin_event JOIN threads bt ON bt.id = b.thread"
	" JOIN names n ON n.id = b.name JOIN event_rows e ON e.id = a.end_event"
	" JOIN threads et ON et.id = e.thread;"
	"CREATE VIEW waits AS SELECT w.event, t.pid, t.tid, t.name AS thread, n.standing,"
	" n.waits_for AS kind, n.category, n.name AS call,"
	" e.args ->> n.object_argument AS object,"
	" e.begin_ns, e.end_ns, w.waited_ns, bt.pid AS by_pid, bt.tid AS by_tid, bt.name AS by_thread,"
	" w.let_go_ns, w.because, e.stack"
	" FROM wait_rows w JOIN event_rows e ON e.id = w.event JOIN names n ON n.id = e.name"
	" JOIN threads t ON t.id = e.thread LEFT JOIN threads bt ON bt.id = w.by_thread;"
	"CREATE VIEW lives AS SELECT n.category, n.name, t.pid, t.tid, t.name AS thread, b.ref, b.begin_ns,"
	" e.begin_ns AS end_ns, e.begin_ns - b.begin_ns AS duration_ns, b.stack, b.args,"
	" e.args AS end_args FROM lifetimes l JOIN event_rows b ON b.id = l.begin_event"
	" JOIN names n ON n.id = b.name JOIN threads t ON t.id = b.thread"
	" LEFT JOIN event_rows e ON e.id = l.end_event;"
	"CREATE VIEW descriptors AS SELECT pid, args ->> 'fd' AS fd, name AS kind, args ->> 'call' AS call,"
	" coalesce(args ->> 'pathname', args ->> 'peer', args ->> 'address') AS what, begin_ns,"
	" end_ns, end_args ->> 'read_bytes' AS read_bytes, end_args ->> 'written_bytes' AS written_bytes,"
	" stack FROM lives WHERE args ->> 'fd' IS NOT NULL;";

const char fxt_sql_indices[] =
	"CREATE INDEX threads_tid ON threads(tid);"
	"CREATE INDEX threads_pid ON threads(pid);"
	"CREATE INDEX stacks_parent ON stacks(parent);"
	"CREATE INDEX objects_id ON objects(id);"
	"UPDATE processes SET first_ns = (SELECT min(first_ns) FROM threads t WHERE t.pid = processes.pid),"
	" last_ns = (SELECT max(last_ns) FROM threads t WHERE t.pid = processes.pid),"
	" parent = (SELECT l.pid FROM lives l WHERE l.category = 'process'"
	" AND l.name = 'child' AND l.args ->> 'pid' = processes.pid ORDER BY l.begin_ns DESC LIMIT 1);"
	"ANALYZE threads; ANALYZE names;";

const char *const fxt_sql_inserts[FXT_SQL_INSERTS] = {
	[FXT_SQL_EVENT] = "INSERT INTO event_rows VALUES(?,?,?,?,?,?,?,?,?)",
	[FXT_SQL_NAME] = "INSERT INTO names VALUES(?,?,?,?,?,?,?)",
	[FXT_SQL_LIFETIME] = "INSERT INTO lifetimes VALUES(?,?)",
	[FXT_SQL_ARROW] = "INSERT INTO arrow_rows VALUES(?,?)",
	[FXT_SQL_WAITED] = "INSERT INTO wait_rows(event, waited_ns) VALUES(?,?)"
		" ON CONFLICT(event) DO UPDATE SET waited_ns = waited_ns + excluded.waited_ns",
	/* The time is that of a call that the section on threads has not counted. */
	[FXT_SQL_LET_GO] = "INSERT INTO wait_rows VALUES(?,?,?,?,?)"
		" ON CONFLICT(event) DO UPDATE SET by_thread = excluded.by_thread,"
		" let_go_ns = excluded.let_go_ns, because = excluded.because",
	[FXT_SQL_LOCK] = "INSERT INTO locks VALUES(?,?,?,?,?,?,?,?,?)",
	[FXT_SQL_SWITCH] = "INSERT INTO switches VALUES(?,?,?,?,?)",
	[FXT_SQL_WAKEUP] = "INSERT INTO wakeups VALUES(?,?,?,?)",
	[FXT_SQL_OBJECT] = "INSERT INTO objects VALUES(?,?,?,?,?)",
	[FXT_SQL_PROCESS] = "INSERT INTO processes VALUES(?,?,?,?,NULL,NULL,NULL,?,?)",
	[FXT_SQL_THREAD] = "INSERT INTO threads VALUES(?,?,?,?,?,?,?,?,?)",
	[FXT_SQL_STACK] = "INSERT INTO stacks VALUES(?,?,?,?,?,?,?,?)",
	[FXT_SQL_CONTENDED] = "INSERT INTO contended VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[FXT_SQL_HEAP] = "INSERT INTO heaps VALUES(?,?,?,?,?,?,?,?,?,?)",
	[FXT_SQL_FILE] = "INSERT INTO files VALUES(?,?,?,?,?)",
	[FXT_SQL_FINDING] = "INSERT INTO findings VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[FXT_SQL_LOST] = "INSERT INTO lost VALUES(?,?,?)",
	[FXT_SQL_TRACE] = "INSERT INTO trace VALUES(?,?)",
};

#endif
