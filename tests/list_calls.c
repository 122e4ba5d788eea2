/* Prints what the interposition tables declare:
 *
 *	(no argument)           every symbol that the agent exports, one a line, which check_exports.sh
 *	                        compares with the library
 *	--events                the calls' names in the trace
 *	--symbols               the symbols of the tables, each with its event and how it is written, for
 *	                        tests/compare
 *	--roles                 the calls that have a line about their role, for check_coverage.sh
 *	--numbers               the system calls that are recorded where they are made by syscall()
 *	--by-number             the same, each with its number and its event
 *	--excluded --excluded-numbers   what is deliberately not interposed
 *	--document              the page docs/interposed-calls.md
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "interpose/engine/syscall_numbers.h"

enum form { CALL, ALIAS, BY_HAND, BY_HAND_ALIAS, NUMBER, NUMBER_ALONE, NUMBER_BY_HAND, EVENT };

struct line {
	enum form form;
	const char *category, *symbol;
	const char *event;              /* the name in the trace */
	const char *parameters;         /* as the table has them; NULL where it has none */
	long number;                    /* the number of a system call that is not by hand; otherwise -1 */
};

static const struct line lines[] = {
#define CALL(category, type, name, blocks, result, ...) {CALL, #category, #name, #name, #__VA_ARGS__, -1},
#define ALIAS(category, type, symbol, name, ...) {ALIAS, #category, #symbol, #name, NULL, -1},
#define BY_HAND(category, name, role) {BY_HAND, #category, #name, #name, NULL, -1},
#define BY_HAND_ALIAS(category, symbol, name) {BY_HAND_ALIAS, #category, #symbol, #name, NULL, -1},
#define SYSTEM_CALL(category, type, name, blocks, result, ...)                 \
	{CALL, #category, #name, #name, #__VA_ARGS__, -1},                     \
	{NUMBER, #category, #name, #name, NULL, SYS_##name},
#define BY_NUMBER(category, type, number, name, ...) {NUMBER, #category, #number, #name, NULL, SYS_##number},
#define BY_NUMBER_ALONE(category, type, number, blocks, result, ...) \
	{NUMBER_ALONE, #category, #number, #number, #__VA_ARGS__, SYS_##number},
#define BY_HAND_NUMBER(number) {NUMBER_BY_HAND, "", #number, #number, NULL, -1},
#define EVENT(category, name, role) {EVENT, #category, #name, #name, NULL, -1},
#include "interpose/engine/rows.inc"
#include "interpose/tables/calls.def"
#include "interpose/engine/unrows.inc"
};

/* The calls whose role a line of its own says: interpose/engine/roles.h. */
static const char *const roles[] = {
#define ROLE(name, role) #name,
#include "interpose/engine/rows.inc"
#include "interpose/tables/calls.def"
#include "interpose/engine/unrows.inc"
};

/* Symbols that are exported and have no event of their name. They are in interpose/threads/cyg_profile.c,
 * interpose/functions/entries.S,
 * prctl.c, start.c and clone.c. */
static const char *const others[] = {"__cyg_profile_func_enter", "__cyg_profile_func_exit", "prctl",
#if defined(__x86_64__)
				     "mcount", "_mcount", "__fentry__",
#endif
				     "__register_atfork", "syscall"};

/* A row of excluded.def: a reason, or names of calls that are excluded for the last reason. */
struct exclusion {
	const char *reason, *names;
	bool are_numbers;               /* `names` are of system calls made by syscall() */
};

static const struct exclusion exclusions[] = {
#define REASON(id, why) {why, NULL, false},
#define EXCLUDED(names) {NULL, names, false},
#define EXCLUDED_NUMBERS(names) {NULL, names, true},
#include "interpose/tables/excluded.def"
#undef REASON
#undef EXCLUDED
#undef EXCLUDED_NUMBERS
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Returns whether the line is about a function of the C library. The others are about system calls that are
 * made by syscall(). */
static bool is_symbol(const struct line *line)
{
	return line->form <= BY_HAND_ALIAS;
}

static bool is_number(const struct line *line)
{
	return line->form == NUMBER || line->form == NUMBER_ALONE || line->form == NUMBER_BY_HAND;
}

/* Returns whether the name in the trace is the line's own, and not that of another line. */
static bool is_event(const struct line *line)
{
	return line->form == CALL || line->form == BY_HAND || line->form == NUMBER_ALONE ||
	       line->form == EVENT;
}

static void list_numbers(void)
{
	size_t i;

	for (i = 0; i < COUNT(lines); i++)
		if (is_number(&lines[i]))
			puts(lines[i].symbol);
}

/* Leaves out calls by hand, whose events do not follow from the table, and numbers that the headers here do
 * not have. */
static void list_by_number(void)
{
	size_t i;

	for (i = 0; i < COUNT(lines); i++)
		if (is_number(&lines[i]) && lines[i].number >= 0 && lines[i].number < FXT_NUMBERS)
			printf("%ld %s %s:%s\n", lines[i].number, lines[i].symbol, lines[i].category,
			       lines[i].event);
}

static void list_symbols(void)
{
	size_t i;

	for (i = 0; i < COUNT(lines); i++)
		if (is_symbol(&lines[i]))
			puts(lines[i].symbol);
	for (i = 0; i < COUNT(others); i++)
		puts(others[i]);
}

/* Prints what a parameter of this kind is called in the trace: its name, with these exceptions. */
static void put_argument(const char *name, size_t bytes, const char *kind)
{
	if (!strncmp(kind, "ADDR_BOUND", 10))
		fputs("addr, bound", stdout);
	else if (!strncmp(kind, "BOUND", 5))
		printf("%.*s, bound", (int)bytes, name);
	else if (!strncmp(kind, "ADDR", 4))
		fputs("addr", stdout);
	else if (!strncmp(kind, "PAIR", 4))
		fputs("fd1, fd2", stdout);
	else
		printf("%.*s", (int)bytes, name);
}

/* Prints the arguments out of a text such as "(int, fd, INT), (void *, buf, SKIP)". */
static void put_arguments(const char *parameters)
{
	const char *name, *kind, *close, *separator = "";

	while ((close = strchr(parameters, ')')) != NULL) {
		for (kind = close; kind[-1] != ' '; kind--)
			;
		for (name = kind - 2; name[-1] != ' '; name--)
			;
		if (strncmp(kind, "SKIP", 4) && strncmp(kind, "NONE", 4)) {
			fputs(separator, stdout);
			put_argument(name, (size_t)(kind - 2 - name), kind);
			separator = ", ";
		}
		parameters = close + 1;
	}
}

static void put_aliases(const char *event)
{
	const char *separator = "";
	size_t i;

	for (i = 0; i < COUNT(lines); i++) {
		if (is_symbol(&lines[i]) && strcmp(lines[i].symbol, lines[i].event) &&
		    !strcmp(lines[i].event, event)) {
			printf("%s`%s`", separator, lines[i].symbol);
			separator = " ";
		}
	}
}

static void list_events(void)
{
	size_t i;

	for (i = 0; i < COUNT(lines); i++)
		if (is_event(&lines[i]))
			printf("%s:%s\n", lines[i].category, lines[i].event);
}

static void list_roles(void)
{
	size_t i;

	for (i = 0; i < COUNT(roles); i++)
		puts(roles[i]);
}

static void list_lines(void)
{
	size_t i;

	for (i = 0; i < COUNT(lines); i++)
		if (is_symbol(&lines[i]))
			printf("%s %s:%s %s\n", lines[i].symbol, lines[i].category, lines[i].event,
			       lines[i].form == CALL || lines[i].form == ALIAS ? "table" : "hand");
}

/* Returns whether a row of a table is of this call; `name` has `bytes` bytes and no end. */
static bool has_row(const char *name, size_t bytes, bool is_of_number)
{
	const struct line *line;

	for (line = lines; line < lines + COUNT(lines); line++)
		if ((is_of_number ? is_number(line) : is_symbol(line)) && strlen(line->symbol) == bytes &&
		    !memcmp(line->symbol, name, bytes))
			return true;
	return false;
}

/* Puts the names of an exclusion, each between `before` and `after`. A call that has got a row since it was
 * excluded is not excluded any more. */
static void put_excluded(const struct exclusion *exclusion, const char *before, const char *after)
{
	const char *name = exclusion->names;
	size_t bytes;

	for (; *name; name += bytes + (name[bytes] == ' ')) {
		bytes = strcspn(name, " ");
		if (!has_row(name, bytes, exclusion->are_numbers))
			printf("%s%.*s%s", before, (int)bytes, name, after);
	}
}

static void list_excluded(bool numbers)
{
	size_t i;

	for (i = 0; i < COUNT(exclusions); i++)
		if (exclusions[i].names && exclusions[i].are_numbers == numbers)
			put_excluded(&exclusions[i], "", "\n");
}

static void document_numbers(void)
{
	size_t i;

	puts("\n# System calls made by `syscall()`\n\n"
	     "They are recorded as the function of the C library that does the same, with its arguments:\n");
	for (i = 0; i < COUNT(lines); i++)
		if (is_number(&lines[i]))
			printf(strcmp(lines[i].symbol, lines[i].event) ? " `%s` (as `%s`)" : " `%s`",
			       lines[i].symbol, lines[i].event);
	puts("");
}

static void document_excluded(void)
{
	const char *after = "";
	size_t i;

	puts("\n# The calls that are deliberately not traced\n\n"
	     "Made from interpose/tables/excluded.def. A test compares both lists with what the headers of "
	     "the C library\n"
	     "declare: each is in one of the two.");
	for (i = 0; i < COUNT(exclusions); i++) {
		if (exclusions[i].reason) {
			printf("%s\n%s\n\n", after, exclusions[i].reason);
			after = "";
		} else {
			put_excluded(&exclusions[i], " `", "`");
			after = "\n";
		}
	}
	puts("\n\n# What cannot be seen\n\n"
	     "* Calls that the C library makes within itself: `fprintf` is seen, the `write` inside it is "
	     "not; `getaddrinfo`, and\n"
	     "  not its sockets; `system`, and not its fork.\n"
	     "* System calls made by instruction, and what io_uring does.\n"
	     "* What the vDSO answers without a call of anybody: the clocks.\n"
	     "* What the compiler or a header puts into the program itself: `getc_unlocked` while its buffer "
	     "lasts (`__uflow` is\n"
	     "  seen), atomic operations, `__builtin` functions.\n"
	     "* Static programs, programs for another C library, set-user-ID programs, Go.\n"
	     "* Libraries that were opened with RTLD_DEEPBIND or into another namespace (`dlmopen`): they "
	     "bind past the agent.\n"
	     "* How `dlopen`, `dlmopen`, `vfork`, `error` and `error_at_line` ended: they are recorded as "
	     "instants, when they are\n"
	     "  called. The loader goes by who called it, the child of a vfork returns first, and the others "
	     "are variadic without a\n"
	     "  form that takes a list; so they are handed on with registers and stack as they came.");
}

static void document_call(const struct line *line)
{
	printf("| `%s` | ", line->symbol);
	if (line->parameters)
		put_arguments(line->parameters);
	fputs(" | ", stdout);
	put_aliases(line->event);
	puts(" |");
}

static void document(void)
{
	static const char *const categories[] = {
#define CATEGORY(name, on, what) #name,
#include "writer/categories.def"
#undef CATEGORY
	};
	size_t i, k;
	bool begun;

	puts("# The calls that are traced\n\n"
	     "Made from the tables in interpose/ by `make interposed-calls`; a test compares the two. A\n"
	     "call appears under the name in the first column, whichever of its symbols the program uses.\n"
	     "Where no arguments are given the wrapper is written by hand, and its file says what it\n"
	     "records. Every failing call has `errno` besides, and one that returns something has `ret`.\n"
	     "`bound` is the address that a socket has: after `listen`, and after a `bind` that leaves the "
	     "port\n"
	     "of it, or the name of a Unix socket, to the kernel. It is written as `addr` is.");
	for (k = 0; k < COUNT(categories); k++) {
		begun = false;
		for (i = 0; i < COUNT(lines); i++) {
			if (!is_event(&lines[i]) || strcmp(lines[i].category, categories[k]) != 0)
				continue;
			if (!begun)
				printf("\n## %s\n\n| call | arguments | other symbols |\n|---|---|---|\n",
				       categories[k]);
			begun = true;
			document_call(&lines[i]);
		}
	}
	document_numbers();
	document_excluded();
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--document"))
		document();
	else if (argc == 2 && !strcmp(argv[1], "--events"))
		list_events();
	else if (argc == 2 && !strcmp(argv[1], "--symbols"))
		list_lines();
	else if (argc == 2 && !strcmp(argv[1], "--excluded"))
		list_excluded(false);
	else if (argc == 2 && !strcmp(argv[1], "--excluded-numbers"))
		list_excluded(true);
	else if (argc == 2 && !strcmp(argv[1], "--numbers"))
		list_numbers();
	else if (argc == 2 && !strcmp(argv[1], "--by-number"))
		list_by_number();
	else if (argc == 2 && !strcmp(argv[1], "--roles"))
		list_roles();
	else
		list_symbols();
	return ferror(stdout) != 0;
}
