/* Prints what the interposition tables declare: with no argument every symbol the agent exports, one a line,
 * for check_exports.sh to compare with the library; with --document the page docs/interposed-calls.md.
 */
#include <stdio.h>
#include <string.h>

enum form { CALL, ALIAS, BY_HAND, BY_HAND_ALIAS };

struct line {
	enum form form;
	const char *category, *symbol;
	const char *event;              /* the name in the trace */
	const char *parameters;         /* as in the table; NULL where it does not say */
};

static const struct line lines[] = {
#define CALL(category, type, name, blocks, result, ...) {CALL, #category, #name, #name, #__VA_ARGS__},
#define ALIAS(category, type, symbol, name, ...) {ALIAS, #category, #symbol, #name, NULL},
#define BY_HAND(category, name) {BY_HAND, #category, #name, #name, NULL},
#define BY_HAND_ALIAS(category, symbol, name) {BY_HAND_ALIAS, #category, #symbol, #name, NULL},
#include "interpose/calls.def"
#undef CALL
#undef ALIAS
#undef BY_HAND
#undef BY_HAND_ALIAS
};

/* Exported without an event of their name: interpose/function.c, exit.c and clone.c. */
static const char *const others[] = {"__cyg_profile_func_enter", "__cyg_profile_func_exit", "_exit", "_Exit",
				     "syscall"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void list_symbols(void)
{
	size_t i;

	for (i = 0; i < COUNT(lines); i++)
		puts(lines[i].symbol);
	for (i = 0; i < COUNT(others); i++)
		puts(others[i]);
}

/* What a parameter of a kind is called in the trace: by its name, with these exceptions. */
static void put_argument(const char *name, size_t bytes, const char *kind)
{
	if (!strncmp(kind, "ADDR", 4))
		fputs("addr", stdout);
	else if (!strncmp(kind, "PAIR", 4))
		fputs("fd1, fd2", stdout);
	else
		printf("%.*s", (int)bytes, name);
}

/* The arguments out of "(int, fd, INT), (void *, buf, SKIP)". */
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
		if (strcmp(lines[i].symbol, lines[i].event) && !strcmp(lines[i].event, event)) {
			printf("%s`%s`", separator, lines[i].symbol);
			separator = " ";
		}
	}
}

static void document(void)
{
	const char *category = "";
	size_t i;

	puts("# The calls that are traced\n\n"
	     "Made from the tables in interpose/ by `make interposed-calls`; a test compares the two. A\n"
	     "call appears under the name in the first column, whichever of its symbols the program uses.\n"
	     "Where no arguments are given the wrapper is written by hand, and its file says what it\n"
	     "records. Every failing call has `errno` besides, and one that returns something has `ret`.");
	for (i = 0; i < COUNT(lines); i++) {
		if (lines[i].form == ALIAS || lines[i].form == BY_HAND_ALIAS)
			continue;
		if (strcmp(category, lines[i].category)) {
			category = lines[i].category;
			printf("\n## %s\n\n| call | arguments | other symbols |\n|---|---|---|\n", category);
		}
		printf("| `%s` | ", lines[i].symbol);
		if (lines[i].parameters)
			put_arguments(lines[i].parameters);
		fputs(" | ", stdout);
		put_aliases(lines[i].event);
		puts(" |");
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--document"))
		document();
	else
		list_symbols();
	return ferror(stdout) != 0;
}
