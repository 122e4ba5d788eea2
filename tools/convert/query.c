/* fxt query: a question about a trace, in SQL.
 *
 * The trace becomes a database beside it (sql.h), which the next question finds. The database has the size
 * and the time of the trace's file, so one of another state of the trace is made again. A directory of parts
 * has no time that tells of its files, and where nothing can be written beside the trace there is no place.
 * So the database of these is in TMPDIR, and has no name any more when the question is asked. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "convert.h"

#include "tools/common/command.h"
#include "tools/common/message.h"

#ifdef HAVE_SQLITE

#include <errno.h>
#include <libgen.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "query_print.h"
#include "sql.h"
#include "tools/programs/option_values.h"

enum { KEY_FORMAT = 0x100, KEY_AGAIN };

struct query {
	const char *path, *sql;
	enum fxt_query_format format;
	bool is_again;                  /* the database is made again in any case */
	char *database;                 /* its name */
	bool is_temporary;              /* it is for this question alone */
};

/* -- The database ---------------------------------------------------------------------------------- */

/* Returns whether the file is a database of SQLite. */
static bool is_database(const char *path)
{
	static const char magic[16] = "SQLite format 3";
	char head[sizeof(magic)];
	FILE *file = fopen(path, "re");
	bool is = file && fread(head, 1, sizeof(head), file) == sizeof(head) &&
		  memcmp(head, magic, sizeof(magic)) == 0;

	if (file)
		fclose(file);
	return is;
}

/* Returns the only number that a statement gives, or -1. */
static int64_t number_of(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *s = NULL;
	int64_t number = -1;

	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
		number = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return number;
}

/* Returns whether the database was made of the trace's file as it is now. */
static bool is_about(sqlite3 *db, const char *trace)
{
	struct stat st;

	return stat(trace, &st) == 0 && S_ISREG(st.st_mode) &&
	       number_of(db, "SELECT value FROM trace WHERE key = 'file_bytes'") == st.st_size &&
	       number_of(db, "SELECT value FROM trace WHERE key = 'file_mtime_ns'") ==
		       (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

enum state { IS_ABSENT, IS_FOREIGN, IS_STALE, IS_GOOD };

/* Returns what there is of the name. `trace` is what it should be about, or NULL: that does not matter. */
static enum state state_of(const char *database, const char *trace)
{
	enum state state = IS_FOREIGN;
	sqlite3 *db = NULL;
	struct stat st;

	if (lstat(database, &st) != 0)
		return IS_ABSENT;
	if (!is_database(database))
		return IS_FOREIGN;
	if (sqlite3_open_v2(database, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
	    number_of(db, "PRAGMA application_id") == FXT_SQL_APPLICATION) {
		state = number_of(db, "PRAGMA user_version") == FXT_SQL_VERSION ? IS_GOOD : IS_STALE;
		if (trace && !is_about(db, trace))
			state = IS_STALE;
	}
	sqlite3_close(db);
	return state;
}

/* Returns whether the database can be kept beside the trace. */
static bool can_be_kept(const char *trace, const char *database)
{
	char *copy = fxt_strdup(database);
	struct stat st;
	bool can = access(dirname(copy), W_OK) == 0 && (stat(trace, &st) != 0 || S_ISREG(st.st_mode));

	free(copy);
	return can;
}

static void go_elsewhere(struct query *q)
{
	const char *tmp = getenv("TMPDIR");

	q->is_temporary = true;
	free(q->database);
	q->database =
		fxt_format("%s/fxt-query.%jd.sqlite", tmp && *tmp ? tmp : "/tmp", (intmax_t)getpid());
}

/* Makes the database, unless a good one is there. Returns the exit status. */
static int make_database(struct query *q)
{
	const struct fxt_export_form *form = fxt_export_form("sqlite");
	struct fxt_conversion how = {.is_forced = true};
	enum state state;

	if (is_database(q->path)) {
		q->database = fxt_strdup(q->path);
		if (state_of(q->path, NULL) == IS_GOOD)
			return EXIT_SUCCESS;
		fxt_error(q->path, "is a database, but none that this fxt convert has written");
		return EXIT_FAILURE;
	}
	q->database = fxt_export_name(q->path, form);
	state = state_of(q->database, q->path);
	if (state == IS_GOOD && !q->is_again)
		return EXIT_SUCCESS;
	if (!can_be_kept(q->path, q->database)) {
		go_elsewhere(q);
	} else if (state == IS_FOREIGN) {
		fxt_error(q->database, "is no database of fxt convert, and is not replaced: name another "
				       "with fxt convert --to=sqlite -o, and ask that");
		return EXIT_FAILURE;
	} else if (state == IS_STALE) {
		fxt_error(q->database, "is of another state of the trace, or of another fxt, and is made "
				       "again");
	}
	how.is_quiet = q->is_temporary;
	how.out = q->database;
	/* A trace that cannot be read is told by the conversion. */
	return fxt_convert(q->path, form, &how);
}

/* -- The question ----------------------------------------------------------------------------------- */

/* Prints each table and view with its columns. */
static const char list_tables[] =
	"SELECT m.name AS \"table\", m.type, (SELECT group_concat(c.name, ', ')"
	" FROM pragma_table_info(m.name) c) AS columns FROM sqlite_schema m"
	" WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite_%' ORDER BY m.type DESC, m.name";

/* Returns standard input as text. The caller frees it. */
static char *read_input(void)
{
	char *text = NULL;
	size_t bytes = 0, capacity = 0, n;

	do {
		text = fxt_grow(text, &capacity, bytes + BUFSIZ + 1, 1);
		n = fread(text + bytes, 1, BUFSIZ, stdin);
		bytes += n;
	} while (n);
	text[bytes] = '\0';
	return text;
}

/* Runs all statements of the text. Returns the exit status, after a message if it is not 0. */
static int run(const struct query *q, sqlite3 *db, const char *sql)
{
	while (*sql) {
		sqlite3_stmt *s = NULL;
		int status = sqlite3_prepare_v2(db, sql, -1, &s, &sql);

		/* A comment or an empty statement gives no statement. */
		if (status == SQLITE_OK && s) {
			status = fxt_query_print(s, q->format, stdout);
			if (status == SQLITE_DONE)
				status = SQLITE_OK;
		}
		if (status != SQLITE_OK)
			fxt_error(q->database, "%s", sqlite3_errmsg(db));
		sqlite3_finalize(s);
		if (status != SQLITE_OK)
			return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

static int ask(const struct query *q)
{
	char *input = q->sql && strcmp(q->sql, "-") == 0 ? read_input() : NULL;
	sqlite3 *db = NULL;
	int status = EXIT_FAILURE;

	if (sqlite3_open_v2(q->database, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK)
		status = EXIT_SUCCESS;
	else
		fxt_error(q->database, "%s", sqlite3_errmsg(db));
	/* It is open, and goes when this process ends, however that is. */
	if (q->is_temporary)
		unlink(q->database);
	if (!status)
		status = run(q, db, input ? input : q->sql ? q->sql : list_tables);
	sqlite3_close(db);
	free(input);
	return status;
}

/* -- The command ------------------------------------------------------------------------------------ */

static void parse_format(struct query *q, const char *arg, struct argp_state *state)
{
	char *bad = fxt_option_bad_word(arg, fxt_query_format_names, FXT_QUERY_FORMATS);

	if (bad)
		argp_error(state, "--format: %s", bad);
	free(bad);
	for (int i = 0; i < FXT_QUERY_FORMATS; i++) {
		if (strcmp(arg, fxt_query_format_names[i]) == 0)
			q->format = (enum fxt_query_format)i;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct query *q = state->input;

	switch (key) {
	case KEY_FORMAT: parse_format(q, arg, state); return 0;
	case 'j': q->format = FXT_QUERY_JSON; return 0;
	case KEY_AGAIN: q->is_again = true; return 0;
	case ARGP_KEY_ARG:
		if (!q->path)
			q->path = arg;
		else if (!q->sql)
			q->sql = arg;
		else
			argp_error(state, "more than FILE and SQL was given: put the SQL into quotes");
		return 0;
	case ARGP_KEY_NO_ARGS: argp_error(state, "no FILE was given: name a trace"); return EINVAL;
	default: return ARGP_ERR_UNKNOWN;
	}
}

int fxt_command_query(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"format", KEY_FORMAT, "FORMAT", 0, "How rows are printed: table, csv or json", 0},
		FXT_JSON_OPTION,
		{"again", KEY_AGAIN, 0, 0, "Make the database again, also if there is one", 0},
		{0},
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "FILE [SQL]",
		.doc = "Answers a question about a trace, in SQL. Without SQL, lists the tables; with - it "
		       "reads SQL from standard input.\vThe database is kept beside the trace, as FILE with "
		       ".sqlite in place of .fxt, and made again when the trace has changed.",
	};
	struct query q = {0};
	int status;

	fxt_parse(&argp, argc, argv, 0, &q);
	status = make_database(&q);
	if (!status)
		status = ask(&q);
	free(q.database);
	return status;
}

#else

int fxt_command_query(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	fxt_error(NULL, "this fxt was built without SQLite (Debian: libsqlite3-dev)");
	return 1;
}

#endif
