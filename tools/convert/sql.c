/* Writes a trace as a database of SQLite: what begins and ends it. See sql.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "convert.h"

#ifdef HAVE_SQLITE

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sql.h"
#include "tools/export/visit.h"
#include "tools/printing/handle.h"
#include "writer/fxt_encode.h"

/* -- Values ---------------------------------------------------------------------------------------- */

void fxt_sql_bind_i64(sqlite3_stmt *s, int *at, int64_t value)
{
	sqlite3_bind_int64(s, ++*at, value);
}

void fxt_sql_bind_u64(sqlite3_stmt *s, int *at, uint64_t value)
{
	char digits[24];

	if (value <= INT64_MAX) {
		sqlite3_bind_int64(s, ++*at, (int64_t)value);
		return;
	}
	snprintf(digits, sizeof(digits), "%" PRIu64, value);
	sqlite3_bind_text(s, ++*at, digits, -1, SQLITE_TRANSIENT);
}

void fxt_sql_bind_null(sqlite3_stmt *s, int *at)
{
	sqlite3_bind_null(s, ++*at);
}

void fxt_sql_bind_hex(sqlite3_stmt *s, int *at, uint64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "0x%" PRIx64, value);
	sqlite3_bind_text(s, ++*at, digits, -1, SQLITE_TRANSIENT);
}

void fxt_sql_bind_text(sqlite3_stmt *s, int *at, const struct fxt_text *text)
{
	char *clean;

	if (!text || !text->bytes) {
		fxt_sql_bind_null(s, at);
		return;
	}
	clean = fxt_alloc((size_t)text->bytes + 1, 1);
	sqlite3_bind_text(s, ++*at, clean,
			  (int)fxt_utf8_clean(clean, text->text, text->bytes, text->bytes), free);
}

void fxt_sql_bind_string(sqlite3_stmt *s, int *at, const char *text)
{
	struct fxt_text counted = fxt_text_of(text ? text : "");

	fxt_sql_bind_text(s, at, &counted);
}

void fxt_sql_bind_symbol(sqlite3_stmt *s, int *at, const struct fxt_reader *r, uint32_t symbol)
{
	struct fxt_text text = {0};

	if (symbol)
		text = fxt_symbol_text(r, symbol);
	fxt_sql_bind_text(s, at, &text);
}

/* -- Rows ------------------------------------------------------------------------------------------ */

sqlite3_stmt *fxt_sql_begin(struct fxt_sql *q, enum fxt_sql_insert insert)
{
	return q->inserts[insert];
}

static void note(struct fxt_sql *q, int error)
{
	if (error != SQLITE_OK && !q->error)
		q->error = error;
}

void fxt_sql_insert(struct fxt_sql *q, enum fxt_sql_insert insert)
{
	sqlite3_stmt *s = q->inserts[insert];
	int status;

	if (q->error)
		return;
	status = sqlite3_step(s);
	if (status != SQLITE_DONE)
		note(q, status);
	sqlite3_reset(s);
}

static void run(struct fxt_sql *q, const char *sql)
{
	if (!q->error)
		note(q, sqlite3_exec(q->db, sql, NULL, NULL, NULL));
}

static void put_fact(struct fxt_sql *q, const char *key, const char *text, uint64_t number)
{
	sqlite3_stmt *s = fxt_sql_begin(q, FXT_SQL_TRACE);
	int at = 0;

	fxt_sql_bind_string(s, &at, key);
	if (text)
		fxt_sql_bind_string(s, &at, text);
	else
		fxt_sql_bind_u64(s, &at, number);
	fxt_sql_insert(q, FXT_SQL_TRACE);
}

/* -- Begin and end --------------------------------------------------------------------------------- */

/* The file is new and nobody else has it: it needs no journal, and is thrown away if anything fails. */
static void begin(struct fxt_sql *q)
{
	char pragmas[200];

	snprintf(pragmas, sizeof(pragmas),
		 "PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
		 "PRAGMA locking_mode = EXCLUSIVE; PRAGMA application_id = %d; PRAGMA user_version = %d;",
		 FXT_SQL_APPLICATION, FXT_SQL_VERSION);
	note(q, sqlite3_open_v2(q->export->path, &q->db,
				SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL));
	run(q, pragmas);
	run(q, "BEGIN");
	run(q, fxt_sql_tables);
	for (int i = 0; i < FXT_SQL_INSERTS && !q->error; i++)
		note(q, sqlite3_prepare_v3(q->db, fxt_sql_inserts[i], -1, SQLITE_PREPARE_PERSISTENT,
					   &q->inserts[i], NULL));
}

static void put_threads(struct fxt_sql *q)
{
	static const struct fxt_sql_thread none;

	for (size_t i = 0; i < q->reader->thread_count; i++) {
		const struct fxt_trace_thread *thread = &q->reader->threads[i];
		const struct fxt_sql_thread *seen = i < q->thread_count ? &q->threads[i] : &none;
		struct fxt_text name = fxt_thread_name(q->reader, (uint32_t)i);
		sqlite3_stmt *s = fxt_sql_begin(q, FXT_SQL_THREAD);
		int at = 0;

		fxt_sql_bind_i64(s, &at, (int64_t)i);
		fxt_sql_bind_string(s, &at, fxt_handle_of_thread(q->reader, (uint32_t)i).text);
		fxt_sql_bind_u64(s, &at, thread->pid);
		fxt_sql_bind_u64(s, &at, thread->tid);
		fxt_sql_bind_u64(s, &at, fxt_number(q->reader, thread->tid));
		fxt_sql_bind_text(s, &at, &name);
		if (seen->events) {
			fxt_sql_bind_u64(s, &at, seen->first_ns);
			fxt_sql_bind_u64(s, &at, seen->last_ns);
		} else {
			fxt_sql_bind_null(s, &at);
			fxt_sql_bind_null(s, &at);
		}
		fxt_sql_bind_u64(s, &at, seen->events);
		fxt_sql_insert(q, FXT_SQL_THREAD);
	}
}

/* The size and the time of the trace's file tell whether the database is still about it. */
static void put_facts(struct fxt_sql *q)
{
	struct stat st;

	put_fact(q, "schema", NULL, FXT_SQL_VERSION);
	put_fact(q, "fxt", PACKAGE_VERSION, 0);
	put_fact(q, "file", q->export->trace, 0);
	put_fact(q, "bytes", NULL, q->reader->size);
	put_fact(q, "events", NULL, (uint64_t)q->event_count);
	if (q->has_times) {
		put_fact(q, "first_ns", NULL, q->first_ns);
		put_fact(q, "last_ns", NULL, q->last_ns);
	}
	if (stat(q->export->trace, &st) == 0) {
		put_fact(q, "file_bytes", NULL, (uint64_t)st.st_size);
		put_fact(q, "file_mtime_ns", NULL,
			 (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec);
	}
}

static void finish(struct fxt_sql *q)
{
	fxt_sql_finish_takes(q);
	put_threads(q);
	put_facts(q);
	run(q, fxt_sql_indices);
	run(q, "COMMIT");
}

static void show(void *context, uint64_t at, uint64_t size)
{
	const struct fxt_sql *q = context;

	fxt_export_progress(q->export, at, size);
}

char *fxt_form_sqlite(struct fxt_export *export)
{
	struct fxt_sql q = {.export = export, .reader = export->reader};
	struct fxt_visitor visitor;
	char *wrong = NULL;

	begin(&q);
	fxt_sql_visitor(&q, &visitor);
	visitor.progress = show;
	if (!q.error)
		fxt_sql_report(&q);
	if (!q.error && !fxt_visit(q.reader, &visitor))
		wrong = fxt_strdup("damaged");
	if (!q.error && !wrong)
		finish(&q);
	for (int i = 0; i < FXT_SQL_INSERTS; i++)
		sqlite3_finalize(q.inserts[i]);
	if (q.error && !wrong)
		wrong = fxt_strdup(sqlite3_errstr(q.error));
	if (sqlite3_close(q.db) != SQLITE_OK && !wrong)
		wrong = fxt_strdup("the database could not be closed");
	fxt_sql_free_takes(&q);
	return wrong;
}

#else

char *fxt_form_sqlite(struct fxt_export *export)
{
	(void)export;
	return fxt_strdup("this fxt was built without SQLite (Debian: libsqlite3-dev)");
}

#endif
