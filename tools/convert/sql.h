/* The trace as a database of SQLite: parts of fxt convert --to=sqlite that the files of it share. What tables
 * there are, docs/sql.md says.
 *
 *   fxt report's analysis  --sql_report.c-->  findings, contended, heaps, files, stacks
 *   records, one pass      --sql_take.c---->  event_rows, names, lifetimes, arrow_rows, switches, wakeups,
 *                                             objects
 *   the reader's tables    --sql.c--------->  processes, threads, trace
 *
 * The report comes first: it knows the stacks, and an event has the number that its stack has there.
 */
#ifndef FXT_TOOLS_SQL_H
#define FXT_TOOLS_SQL_H

#include <sqlite3.h>

#include "convert.h"
#include "form_text.h"
#include "tools/waits/call_roles.h"

/* Which of a database's statements inserts into which table. */
enum fxt_sql_insert {
	FXT_SQL_EVENT,
	FXT_SQL_NAME,
	FXT_SQL_LIFETIME,
	FXT_SQL_ARROW,
	FXT_SQL_WAITED,
	FXT_SQL_LET_GO,
	FXT_SQL_LOCK,
	FXT_SQL_SWITCH,
	FXT_SQL_WAKEUP,
	FXT_SQL_OBJECT,
	FXT_SQL_PROCESS,
	FXT_SQL_THREAD,
	FXT_SQL_STACK,
	FXT_SQL_CONTENDED,
	FXT_SQL_HEAP,
	FXT_SQL_FILE,
	FXT_SQL_FINDING,
	FXT_SQL_LOST,
	FXT_SQL_TRACE,
	FXT_SQL_INSERTS
};

/* A call in progress that has begun: it becomes a row when it ends, or at the end. */
struct fxt_sql_open {
	int64_t event, name;
	uint64_t begin_ns;
	int64_t stack;
	char *arguments;                /* members of an object, without its braces */
	size_t argument_bytes;
};

struct fxt_sql_thread {
	uint64_t first_ns, last_ns, events;
	struct fxt_sql_open *open;
	size_t open_count, open_capacity;
};

struct fxt_sql {
	struct fxt_export *export;
	struct fxt_reader *reader;
	sqlite3 *db;
	sqlite3_stmt *inserts[FXT_SQL_INSERTS];
	int error;                      /* the first of SQLite; nothing is written after it */
	struct fxt_roles roles;
	int64_t event_count, name_count;
	struct fxt_map names;           /* symbols of category and name, and the kind -> row of `names` */
	struct fxt_map stacks;          /* index of a provider and number of a node -> row of `stacks` */
	struct fxt_map lifetimes, arrows;       /* id -> the half that was seen */
	struct fxt_sql_thread *threads; /* by place in the reader */
	size_t thread_count, thread_capacity;
	struct fxt_form_text arguments;
	uint64_t first_ns, last_ns;     /* of the trace; has_times: they are known */
	bool has_times;
};

/* Returns the number of an event, by the place of its record. Records are of whole words. */
static inline int64_t fxt_sql_event(uint64_t offset)
{
	return (int64_t)(offset / sizeof(uint64_t));
}

/* -- sql.c ------------------------------------------------------------------------------------------ */

/* Bind the next value of an insert to a statement: `at` counts them, from 0 at first. An integer that SQLite
 * has no room for becomes text. */
void fxt_sql_bind_i64(sqlite3_stmt *s, int *at, int64_t value);
void fxt_sql_bind_u64(sqlite3_stmt *s, int *at, uint64_t value);
void fxt_sql_bind_null(sqlite3_stmt *s, int *at);
void fxt_sql_bind_hex(sqlite3_stmt *s, int *at, uint64_t value);
/* Text is clean, or is cleaned here: SQLite wants UTF-8. NULL or an empty text is NULL. */
void fxt_sql_bind_text(sqlite3_stmt *s, int *at, const struct fxt_text *text);
void fxt_sql_bind_string(sqlite3_stmt *s, int *at, const char *text);
void fxt_sql_bind_symbol(sqlite3_stmt *s, int *at, const struct fxt_reader *r, uint32_t symbol);

/* Returns the statement for the next row of a table, and inserts the row once all its values are bound. */
sqlite3_stmt *fxt_sql_begin(struct fxt_sql *q, enum fxt_sql_insert insert);
void fxt_sql_insert(struct fxt_sql *q, enum fxt_sql_insert insert);

/* -- sql_take.c ------------------------------------------------------------------------------------- */

struct fxt_visitor;
/* Sets the functions of the visitor but `progress`. */
void fxt_sql_visitor(struct fxt_sql *q, struct fxt_visitor *visitor);
/* Writes calls and lifetimes that have not ended. */
void fxt_sql_finish_takes(struct fxt_sql *q);
void fxt_sql_free_takes(struct fxt_sql *q);

/* -- sql_report.c ----------------------------------------------------------------------------------- */

/* Makes the report of the trace and writes what the database has of it. */
void fxt_sql_report(struct fxt_sql *q);

/* -- sql_schema.c ----------------------------------------------------------------------------------- */

/* The number in the header of the file by which a database of ours is known, and the version of the schema:
 * one that is removed, renamed or changed in its meaning raises it. */
enum { FXT_SQL_APPLICATION = 0x46585431, FXT_SQL_VERSION = 1 };

extern const char fxt_sql_tables[], fxt_sql_indices[];
extern const char *const fxt_sql_inserts[FXT_SQL_INSERTS];

#endif
