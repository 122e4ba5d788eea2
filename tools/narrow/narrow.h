/* Narrowing: which part of a trace a command is about. fxt cut writes that part, and report, dump and check
 * read it as if it were the whole.
 *
 * The options choose by process, thread and time, and by call, category, object, path, stack and how long
 * something took. An event is chosen if it fits each option that was given; an option that takes a list fits
 * if one of the list does. selection.h says what comes along with it.
 */
#ifndef FXT_TOOLS_NARROW_H
#define FXT_TOOLS_NARROW_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* By what is chosen. Each takes a list of patterns in which *, ? and [...] stand for other characters; a
 * process and a thread are their numbers as well. */
enum fxt_narrow_by {
	FXT_BY_PROCESS,
	FXT_BY_THREAD,
	FXT_BY_CALL,
	FXT_BY_CATEGORY,
	FXT_BY_OBJECT,
	FXT_BY_PATH,
	FXT_BY_STACK,
	FXT_NARROW_BY
};

/* One of the list, and whether anything in the trace fits it. */
struct fxt_pattern {
	char *text;
	bool fits;
};

struct fxt_patterns {
	struct fxt_pattern *list;
	size_t count, capacity;
};

/* What the options say. All members are zero at first. */
struct fxt_narrow {
	struct fxt_patterns by[FXT_NARROW_BY];
	/* times since the first event of the trace */
	uint64_t from_ns, to_ns;
	bool has_from, has_to;
	uint64_t around_ns, span_ns;
	bool has_around;
	/* The handle of --around, until fxt_narrow_settle() has made a time of it; NULL: none was given. */
	char *around_handle;
	uint64_t least_ns;              /* --min; 0: not given */
};

/* The keys of the options, which have no letters. */
enum {
	FXT_KEY_PID = 0x4000,
	FXT_KEY_THREAD,
	FXT_KEY_CALL,
	FXT_KEY_CATEGORY,
	FXT_KEY_OBJECT,
	FXT_KEY_PATH,
	FXT_KEY_STACK,
	FXT_KEY_FROM,
	FXT_KEY_TO,
	FXT_KEY_AROUND,
	FXT_KEY_MIN,
};

enum { FXT_NARROW_GROUP = 10 };         /* where --help lists them */

/* The options, for the list of a command that has an option --category of its own, and for any other. */
#define FXT_NARROW_OPTIONS_BUT_CATEGORY \
	{NULL, 0, NULL, 0, "Only a part of the trace:", FXT_NARROW_GROUP}, \
		{"pid", FXT_KEY_PID, "LIST", 0, "Processes, by number or name", FXT_NARROW_GROUP}, \
		{"thread", FXT_KEY_THREAD, "LIST", 0, "Threads, by number or name", FXT_NARROW_GROUP}, \
		{"from", FXT_KEY_FROM, "TIME", 0, "What is not over at TIME (1.5s, 200ms) since the first " \
		 "event", FXT_NARROW_GROUP}, \
		{"to", FXT_KEY_TO, "TIME", 0, "What has begun by TIME", FXT_NARROW_GROUP}, \
		{"around", FXT_KEY_AROUND, "TIME[,SPAN]", 0, \
		 "What is going on within SPAN (10ms) of TIME, or of a handle of fxt report (F1)", \
		 FXT_NARROW_GROUP}, \
		{"call", FXT_KEY_CALL, "LIST", 0, "Calls, functions and other events, by name", \
		 FXT_NARROW_GROUP}, \
		{"object", FXT_KEY_OBJECT, "LIST", 0, "What is about an object, by address (0x...) or name", \
		 FXT_NARROW_GROUP}, \
		{"path", FXT_KEY_PATH, "LIST", 0, "What is about a file or address, by its path or text", \
		 FXT_NARROW_GROUP}, \
		{"stack", FXT_KEY_STACK, "LIST", 0, "What has one of these functions in its call stack", \
		 FXT_NARROW_GROUP}, \
		{"min", FXT_KEY_MIN, "TIME", 0, "What took TIME at least", FXT_NARROW_GROUP}
#define FXT_NARROW_OPTIONS \
	FXT_NARROW_OPTIONS_BUT_CATEGORY, \
		{"category", FXT_KEY_CATEGORY, "LIST", 0, "Events of these categories", FXT_NARROW_GROUP}

/* Takes one of the options, or the end of them. A command's parser calls it for each key that is none of its
 * own, and returns what it returns. Returns ARGP_ERR_UNKNOWN for any other key; a value that is wrong ends
 * the program. */
error_t fxt_narrow_parse(struct fxt_narrow *n, int key, char *arg, struct argp_state *state);

/* Returns whether any of the options was given. */
bool fxt_narrow_is_any(const struct fxt_narrow *n);

/* Returns whether one of the options was given that choose events, and not only processes and times. */
bool fxt_narrow_is_by_event(const struct fxt_narrow *n);

/* Adds a text that is to fit as it is, whatever characters it has. */
void fxt_narrow_add(struct fxt_narrow *n, enum fxt_narrow_by by, const char *text);

/* Finds the moment of a handle, as time since the first event, in the trace of this path, which is in these
 * bytes. Returns NULL, or
 * what is wrong, for the caller to free. fxt's main function sets it, because handles are those of reports,
 * which are made of more than this folder knows. */
extern char *(*fxt_narrow_moment_of)(const char *handle, const char *path, const void *data, uint64_t size,
				     uint64_t *ns);
/* Looks up the handle of --around, if one was given. Returns NULL, or what is wrong. */
char *fxt_narrow_settle(struct fxt_narrow *n, const char *path, const void *data, uint64_t size);

/* Returns whether one of the patterns fits a text, or there are none. All that do are marked. */
bool fxt_patterns_fit(struct fxt_patterns *p, const char *text);

void fxt_narrow_free(struct fxt_narrow *n);

#endif
