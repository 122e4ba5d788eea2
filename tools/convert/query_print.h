/* Prints the rows that a statement of SQL gives: as a table for people, as comma-separated values, as
 * JSON. */
#ifndef FXT_TOOLS_QUERY_PRINT_H
#define FXT_TOOLS_QUERY_PRINT_H

#include <sqlite3.h>
#include <stdio.h>

enum fxt_query_format { FXT_QUERY_TABLE, FXT_QUERY_CSV, FXT_QUERY_JSON, FXT_QUERY_FORMATS };

/* The words for them. */
extern const char *const fxt_query_format_names[FXT_QUERY_FORMATS];

/* Runs the statement and prints its rows. Returns the last status of SQLite, which is SQLITE_DONE if all went
 * well. */
int fxt_query_print(sqlite3_stmt *s, enum fxt_query_format format, FILE *out);

#endif
