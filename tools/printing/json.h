/* Writes JSON to a stream value by value, and keeps nothing of what is written, because a trace may have any
 * number of threads, names and calls in progress. Jansson, which would keep a whole document in memory,
 * writes only the values; the structure is written here. Every --json uses this.
 *
 *	struct fxt_json j = {.out = out};
 *
 *	fxt_json_object(&j, NULL);
 *	fxt_json_u64(&j, "events", 7);
 *	fxt_json_array(&j, "threads");
 *	fxt_json_u64(&j, NULL, 1234);
 *	fxt_json_end(&j);
 *	fxt_json_end(&j);
 *
 * writes {"events": 7, "threads": [1234]}. Members of objects have a key; for elements of arrays and for the
 * outermost value the key is NULL. Text that is not UTF-8 gets '?' for each byte that is wrong, because JSON
 * has no other text.
 */
#ifndef FXT_TOOLS_JSON_H
#define FXT_TOOLS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/reading/reader.h"

/* No command nests its values deeper than eight. */
enum { FXT_JSON_DEPTH = 16 };

/* The version of what all commands print (docs/json.md). A member that is added leaves it as it is. */
enum { FXT_JSON_SCHEMA = 1 };

/* How many elements of arrays were left out. */
struct fxt_json_cut {
	char *path;                     /* the keys of the arrays, as "threads" or "heap_stacks.stack" */
	uint64_t elements;
};

/* At the beginning, all members but `out`, `one_line` and `most` are zero. */
struct fxt_json {
	FILE *out;
	unsigned most;                  /* elements of each array that are written; 0: all */
	const char *keys[FXT_JSON_DEPTH];       /* of the open values; keys of arguments are not here */
	uint64_t elements[FXT_JSON_DEPTH];      /* begun so far in each open array */
	unsigned muted;                 /* depth of the array whose further elements are left out; or 0 */
	FILE *kept;                     /* the stream, while `out` takes what is left out */
	struct fxt_json_cut *cuts;
	size_t cut_count, cut_capacity;
	bool one_line;                  /* otherwise each value has a line, indented by two columns a level */
	bool has_value;                 /* the innermost object or array is not empty */
	unsigned depth;
	char closers[FXT_JSON_DEPTH];   /* the closing brackets of the open values, the outermost first */
};

/* Begins an object or an array. */
void fxt_json_object(struct fxt_json *j, const char *key);
void fxt_json_array(struct fxt_json *j, const char *key);
/* Ends the innermost object or array. The end of the outermost one also ends the line. */
void fxt_json_end(struct fxt_json *j);

/* Writes what was left out as the object "cut", and forgets it. */
void fxt_json_cuts(struct fxt_json *j);

void fxt_json_null(struct fxt_json *j, const char *key);
void fxt_json_bool(struct fxt_json *j, const char *key, bool value);
void fxt_json_i64(struct fxt_json *j, const char *key, int64_t value);
/* Many readers' integers are signed, so a value beyond INT64_MAX is written as a real. */
void fxt_json_u64(struct fxt_json *j, const char *key, uint64_t value);
/* A value that is infinite or none is written as null. */
void fxt_json_real(struct fxt_json *j, const char *key, double value);
void fxt_json_text(struct fxt_json *j, const char *key, const struct fxt_text *t);
/* Writes null where the text is NULL. */
void fxt_json_string(struct fxt_json *j, const char *key, const char *text);
/* Writes a name of the trace, and null where there is none (0). */
void fxt_json_symbol(struct fxt_json *j, const char *key, const struct fxt_reader *r, uint32_t symbol);

/* Returns whether argument `i` of a record is the first of its name, and sets *last to the last of that name:
 * an object has a key once, and the last value holds. */
bool fxt_json_is_first(const struct fxt_record *rec, unsigned i, unsigned *last);

/* Writes the value of one argument. */
void fxt_json_argument(struct fxt_json *j, const char *key, const struct fxt_argument *a);

/* Writes a record's arguments as {"name": value, ...}. Pointers become strings ("0x..."), because nobody
 * counts with them. */
void fxt_json_arguments(struct fxt_json *j, const char *key, const struct fxt_record *rec);

#endif
