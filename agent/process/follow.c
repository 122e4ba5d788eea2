/* See follow.h. This file owns the copy of LD_PRELOAD and FXT_* that children need. The copy is made once, at
 * start; afterwards wrappers only read it, in any context. */
#include "follow.h"

#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/agent.h"
#include "agent/base/loaded.h"
#include "agent/base/log.h"
#include "agent/base/reach.h"
#include "follow_glob.h"
#include "follow_program.h"

#define PRELOAD "LD_PRELOAD="
#define FOLLOW "FXT_FOLLOW="
#define SANITIZER "FXT_SANITIZER="      /* fxt record preloads this before us, for this process alone */
#define FORBIDDEN "FXT_FORBIDDEN="      /* what filters forbid, for programs that are executed */
#define ASAN "ASAN_OPTIONS="
#define ANY_ORDER "verify_asan_link_order=0"    /* the address sanitizer need not come before us */
#define CHILD "child:"          /* stands before the names in a descendant's FXT_FOLLOW */

enum {
	MAX_VARIABLES = 32,             /* the most variables FXT_*; there are a dozen */
};

static struct {
	bool on;                        /* environments are completed */
	bool forks;                     /* forked children are recorded, whatever their name */
	char library[FXT_PATH_BYTES];   /* the absolute path by which children find the library */
	const char *file_name;          /* its last part, by which an entry of LD_PRELOAD is known as ours */
	const char *names;              /* the list in FXT_FOLLOW; NULL: all programs */
	unsigned count;
	const char *variables[MAX_VARIABLES];
} follow = {.forks = true};

/* The number has always as many digits. All threads that write it write the same, or one that a filter has
 * just changed. */
enum { FORBIDDEN_DIGITS = 4 };
static char forbidden[] = FORBIDDEN "0000";

static_assert(FXT_FORBIDDEN_END <= 10000, "has four digits");

static bool tells_forbidden(void)
{
	unsigned value = atomic_load_explicit(&fxt_forbidden, memory_order_relaxed), rest = value, i;

	for (i = FORBIDDEN_DIGITS; i--; rest /= 10)
		forbidden[strlen(FORBIDDEN) + i] = (char)('0' + rest % 10);
	return value;
}

/* -- Variables --------------------------------------------------------------------------------- */

/* Returns whether `text` begins with `with`. */
static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Returns the length of a variable's name with the = behind it. */
static size_t name_bytes(const char *variable)
{
	return strcspn(variable, "=") + 1;
}

/* Returns the length of the first entry of LD_PRELOAD, which is a list separated by colons or blanks. */
static size_t entry_bytes(const char *list)
{
	return strcspn(list, ": ");
}

/* Returns whether an entry is a file of this name, in any directory. */
static bool is_file(const char *entry, size_t bytes, const char *name)
{
	size_t length = strlen(name);

	return bytes >= length && !memcmp(entry + bytes - length, name, length) &&
	       (bytes == length || entry[bytes - length - 1] == '/');
}

/* Returns whether a list like LD_PRELOAD has a file of this name. */
static bool names_file(const char *list, const char *name)
{
	size_t bytes;

	for (; *list; list += bytes + (list[bytes] != '\0')) {
		bytes = entry_bytes(list);
		if (is_file(list, bytes, name))
			return true;
	}
	return false;
}

static bool names_us(const char *list)
{
	return names_file(list, follow.file_name);
}

/* Returns whether every entry that is this library is a path that leads to it from everywhere. A name without
 * a slash would be looked for in other folders by a privileged program, whose loader complains if it does not
 * find it there, and which ignores paths without a word. */
static bool names_us_by_path(const char *list)
{
	size_t bytes;

	for (; *list; list += bytes + (list[bytes] != '\0')) {
		bytes = entry_bytes(list);
		if (is_file(list, bytes, follow.file_name) && *list != '/')
			return false;
	}
	return true;
}

/* Copies LD_PRELOAD to `out`, with `put` in the place of the first entry that is a file of this name, and
 * without the others. `put` may be NULL. Returns the copy's length, or 0 if no entry is left. */
static size_t replace(char *out, const char *variable, const char *name, const char *put)
{
	size_t used = strlen(PRELOAD), first = used, bytes;
	const char *entry = variable + used, *copied;

	memcpy(out, PRELOAD, used);
	for (; *entry; entry += bytes + (entry[bytes] != '\0')) {
		size_t copied_bytes = bytes = entry_bytes(entry);

		copied = entry;
		if (bytes && is_file(entry, bytes, name)) {
			copied = put;
			copied_bytes = put ? strlen(put) : 0;
			put = NULL;
		}
		if (!copied_bytes)
			continue;
		if (used > first)
			out[used++] = entry[-1];
		memcpy(out + used, copied, copied_bytes);
		used += copied_bytes;
	}
	out[used] = '\0';
	return used > first ? used : 0;
}

/* -- FXT_FOLLOW -------------------------------------------------------------------------------- */

bool fxt_follow_read(char **environment)
{
	const char *value;

	for (; *environment && !begins(*environment, FOLLOW); environment++)
		;
	value = *environment ? *environment + strlen(FOLLOW) : "";
	if (!*value || !strcmp(value, "all"))
		return true;
	if (!strcmp(value, "none")) {
		follow.forks = false;
		follow.names = "";
		return true;
	}
	follow.names = value;
	if (begins(value, CHILD))
		value += strlen(CHILD);
	if (fxt_globs_valid(value))
		return true;
	fxt_log("FXT_FOLLOW: '%s' is not accepted; give all, none, or names of programs, "
		"without directories, in which *, ? and [...] may stand for others, separated by commas; "
		"the program runs untraced",
		value);
	return false;
}

/* Returns whether FXT_FOLLOW names a program. */
static bool matches(const char *program)
{
	const char *names = follow.names;

	if (!names)
		return true;
	return fxt_globs_match(begins(names, CHILD) ? names + strlen(CHILD) : names, program);
}

bool fxt_follow_fork(const char *program)
{
	return follow.forks && matches(program);
}

/* -- At start ---------------------------------------------------------------------------------- */

/* Finds the absolute path of the library, by what the loader says: LD_PRELOAD may not name it, or by a path
 * relative to the directory that the program began in. Returns false if children cannot be given such a
 * path. */
static bool find_library(void)
{
	const struct link_map *own = fxt_loaded_own();
	size_t used = 0, bytes;
	const char *path;

	if (!own || !own->l_name)
		return false;
	path = own->l_name;
	bytes = strlen(path);
	if (*path != '/') {
		if (fxt_sys_getcwd(follow.library, sizeof(follow.library)) < 0)
			return false;
		used = strlen(follow.library);
		follow.library[used++] = '/';
	}
	if (used + bytes >= sizeof(follow.library))
		return false;
	memcpy(follow.library + used, path, bytes + 1);
	follow.file_name = strrchr(follow.library, '/') + 1;
	/* LD_PRELOAD cannot have a path with a colon or a blank. */
	return !follow.library[entry_bytes(follow.library)];
}

/* Puts `put` (NULL: nothing) into the place of the files of this name in LD_PRELOAD, in an environment of
 * which the array stays where it is. */
static void replace_in(char **environment, const char *name, const char *put)
{
	char **to = environment, *rest = NULL;
	size_t bytes, room;

	for (; *environment; environment++) {
		if (begins(*environment, PRELOAD) && names_file(*environment + strlen(PRELOAD), name)) {
			room = strlen(*environment) + 1 + (put ? strlen(put) : 0);
			rest = fxt_sys_memory(room);
			bytes = rest ? replace(rest, *environment, name, put) : 0;
			if (!bytes) {
				if (rest)
					fxt_sys_munmap(rest, room);
				continue;
			}
			*to++ = rest;
		} else {
			*to++ = *environment;
		}
	}
	*to = NULL;
}

/* Copies FXT_*, because the program may write over its own environment, as programs do that show their state
 * in ps. The list of names in FXT_FOLLOW is marked with CHILD in the copy, so that a program that gets it
 * knows that it is a descendant. The environment gets the marked list, too, for children that inherit it as
 * it is. */
static void remember(char **environment)
{
	size_t bytes = 0;
	char **variable, *at;

	for (variable = environment; *variable; variable++)
		if (begins(*variable, "FXT_"))
			bytes += strlen(*variable) + 1 + strlen(CHILD);
	at = bytes ? fxt_sys_memory(bytes) : NULL;
	for (variable = environment; at && *variable && follow.count < MAX_VARIABLES; variable++) {
		const char *value = *variable;

		if (!begins(value, "FXT_") || begins(value, FORBIDDEN))
			continue;
		follow.variables[follow.count++] = at;
		if (begins(value, FOLLOW) && follow.names == value + strlen(FOLLOW)) {
			*variable = at;
			follow.names = at + strlen(FOLLOW);
			memcpy(at, FOLLOW CHILD, strlen(FOLLOW CHILD));
			at += strlen(FOLLOW CHILD);
			value += begins(value, FOLLOW CHILD) ? strlen(FOLLOW CHILD) : strlen(FOLLOW);
		}
		bytes = strlen(value) + 1;
		memcpy(at, value, bytes);
		at += bytes;
	}
}

void fxt_follow_forbid(char *const *environment)
{
	unsigned found = 0;

	/* Each program in a row that has a filter adds a variable. */
	for (; *environment; environment++)
		if (begins(*environment, FORBIDDEN))
			found |= (unsigned)strtoul(*environment + strlen(FORBIDDEN), NULL, 10);
	if (!found)
		return;
	fxt_filter_begins();
	atomic_fetch_or_explicit(&fxt_forbidden, found & (FXT_FORBIDDEN_END - 1), memory_order_relaxed);
}

bool fxt_follow_begin(char **environment, const char *program)
{
	bool descendant = follow.names && begins(follow.names, CHILD), named = false;
	char **variable;

	if (!find_library())
		return !descendant || matches(program);
	for (variable = environment; *variable; variable++)
		if (begins(*variable, SANITIZER) && (*variable)[strlen(SANITIZER)]) {
			replace_in(environment, *variable + strlen(SANITIZER), NULL);
			break;
		}
	if (!follow.forks) {
		replace_in(environment, follow.file_name, NULL);
		return true;
	}
	for (variable = environment; *variable; variable++)
		named |= begins(*variable, PRELOAD) && names_us(*variable + strlen(PRELOAD));
	remember(environment);
	/* system() and popen() hand on this environment as it is, and the shell may be one that fails with
	 * the library. */
	for (variable = environment; named && *variable; variable++)
		if (begins(*variable, PRELOAD) && names_us(*variable + strlen(PRELOAD)) &&
		    (fxt_followed_shell() || !names_us_by_path(*variable + strlen(PRELOAD)))) {
			replace_in(environment, follow.file_name,
				   fxt_followed_shell() ? NULL : follow.library);
			break;
		}
	/* If the library was preloaded by other means (/etc/ld.so.preload, ld.so --preload), children get it
	 * in the same way, and their environments stay as they are. */
	follow.on = named;
	return !descendant || matches(program);
}

/* -- Memory for one more environment --------------------------------------------------------------- */

enum { ROOM_BYTES = 64 << 10 };

static _Atomic(void *) spare_room;

void fxt_follow_keep_room(void)
{
	void *none = NULL, *room = follow.on && !spare_room ? fxt_sys_memory(ROOM_BYTES) : NULL;

	if (room && !atomic_compare_exchange_strong(&spare_room, &none, room))
		fxt_sys_munmap(room, ROOM_BYTES);
}

void *fxt_follow_take_room(size_t bytes)
{
	return bytes <= ROOM_BYTES ? atomic_exchange(&spare_room, NULL) : NULL;
}

void fxt_follow_give_room_back(const void *memory)
{
	atomic_store(&spare_room, (void *)(uintptr_t)memory);
}

/* -- Completing an environment ----------------------------------------------------------------- */

/* The findings about an environment: what it has, and what it lacks. */
struct lack {
	size_t count;                   /* the number of its variables */
	size_t preload_index;           /* the place of the last LD_PRELOAD, which counts; `count`: none */
	size_t preload_bytes;           /* the length of the value of LD_PRELOAD */
	bool library;                   /* LD_PRELOAD names the library, in whichever way */
	bool by_path;                   /* wherever it does so, it is by an absolute path */
	size_t asan_index, asan_bytes;  /* the same of ASAN_OPTIONS */
	bool any_order;                 /* ASAN_OPTIONS has ANY_ORDER, or the program does not need it */
	uint32_t present;               /* a bit for each of variables[] that it has */
	bool forbidden;                 /* it does not tell what is forbidden */
	bool readable;                  /* all of it could be read */
};

static_assert(MAX_VARIABLES <= 32, "bits of `present`");

/* Returns whether `text` begins with `bytes` bytes of `name`. */
static bool has_name(struct fxt_reach *reach, const char *text, const char *name, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		if (!fxt_reaches(reach, text + i) || text[i] != name[i])
			return false;
	return true;
}

/* Notes in *lack which variable of ours `text` is, if any. */
static void look_at_variable(struct lack *lack, struct fxt_reach *reach, size_t index, const char *text)
{
	size_t bytes = strlen(PRELOAD);
	unsigned i;

	if (has_name(reach, text, PRELOAD, bytes)) {
		while (fxt_reaches(reach, text + bytes) && text[bytes])
			bytes++;
		lack->readable = fxt_reaches(reach, text + bytes);
		lack->preload_index = index;
		lack->preload_bytes = bytes - strlen(PRELOAD);
		lack->library = lack->readable && names_us(text + strlen(PRELOAD));
		lack->by_path = lack->readable && names_us_by_path(text + strlen(PRELOAD));
		return;
	}
	if (!lack->any_order && has_name(reach, text, ASAN, strlen(ASAN))) {
		for (bytes = strlen(ASAN); fxt_reaches(reach, text + bytes) && text[bytes]; bytes++)
			;
		lack->readable = fxt_reaches(reach, text + bytes);
		lack->asan_index = index;
		lack->asan_bytes = bytes - strlen(ASAN);
		lack->any_order = lack->readable && strstr(text, ANY_ORDER);
		return;
	}
	if (lack->forbidden && has_name(reach, text, forbidden, sizeof(forbidden)))
		lack->forbidden = false;
	for (i = 0; i < follow.count; i++)
		if (has_name(reach, text, follow.variables[i], name_bytes(follow.variables[i])))
			lack->present |= 1u << i;
}

/* Finds out what an environment lacks. Each address is tested before it is read (reach.h). */
static struct lack look_at(char *const *environment, bool is_sanitized)
{
	/* Where a filter forbids to ask the kernel, only the process's own environment can be completed. */
	const bool is_known = fxt_is_forbidden(FXT_NO_LOCKS) && environment == __environ;
	struct fxt_reach array = {.is_known = is_known}, texts = array;
	struct lack lack = {.preload_index = SIZE_MAX, .asan_index = SIZE_MAX, .any_order = !is_sanitized,
			    .forbidden = tells_forbidden(), .readable = true};

	for (; environment && lack.readable; lack.count++) {
		lack.readable = fxt_reaches_all(&array, environment + lack.count, sizeof(*environment));
		if (!lack.readable || !environment[lack.count])
			break;
		lack.readable = fxt_reaches(&texts, environment[lack.count]);
		if (lack.readable)
			look_at_variable(&lack, &texts, lack.count, environment[lack.count]);
	}
	if (lack.preload_index == SIZE_MAX)
		lack.preload_index = lack.count;
	return lack;
}

/* What is done to an environment. */
enum change { NONE, ADDS, REPLACES, REMOVES };

static enum change change_for(const struct lack *lack, bool is_refused)
{
	if (!lack->readable)
		return NONE;
	if (is_refused)
		return lack->library ? REMOVES : NONE;
	if (lack->library && !lack->by_path)
		return REPLACES;
	if (lack->library && !lack->forbidden && lack->any_order &&
	    lack->present == (uint32_t)((UINT64_C(1) << follow.count) - 1))
		return NONE;
	return ADDS;
}

static size_t preload_room(const struct lack *lack)
{
	return strlen(PRELOAD) + strlen(follow.library) + 1 + lack->preload_bytes + 1;
}

/* Returns the size of a changed environment: the pointers to its variables, to the added ones, to LD_PRELOAD
 * and ASAN_OPTIONS, the NULL at the end, and the texts of these two. */
static size_t room_bytes(const struct lack *lack)
{
	return (lack->count + follow.count + 4) * sizeof(char *) + preload_room(lack) +
	       (lack->any_order ? 0 : strlen(ASAN) + strlen(ANY_ORDER) + 1 + lack->asan_bytes + 1);
}

size_t fxt_follow_room(char *const *environment, const struct fxt_followed *program, const char **refusal,
		       bool *is_sanitized)
{
	struct lack lack;

	*refusal = NULL;
	*is_sanitized = false;
	if (!follow.on)
		return 0;
	*refusal = fxt_followed_refusal(program, is_sanitized);
	if (!*refusal)
		*refusal = fxt_followed_library(follow.library);
	*is_sanitized = *is_sanitized && !*refusal;
	lack = look_at(environment, *is_sanitized);
	return change_for(&lack, *refusal != NULL) == NONE ? 0 : room_bytes(&lack);
}

const char *fxt_follow_shell_refusal(void)
{
	const char *refusal = follow.on ? fxt_followed_library(follow.library) : NULL;
	struct lack lack;

	if (!follow.on || refusal)
		return refusal;
	lack = look_at(__environ, false);
	return lack.readable && !lack.library
		       ? "has no LD_PRELOAD with the agent's library in its environment"
		       : NULL;
}

/* Writes LD_PRELOAD to `text`, with this library in front. */
static void put_in_front(char *text, const char *list)
{
	memcpy(text, PRELOAD, strlen(PRELOAD));
	text += strlen(PRELOAD);
	memcpy(text, follow.library, strlen(follow.library) + 1);
	text += strlen(follow.library);
	if (*list) {
		*text++ = ':';
		memcpy(text, list, strlen(list) + 1);
	}
}

/* Changes LD_PRELOAD in a copy of an environment with n variables. Returns how many it has then. */
static size_t change_preload(const char **out, size_t n, const struct lack *lack, enum change change,
			     char *text)
{
	const char *old = lack->preload_index == n ? PRELOAD : out[lack->preload_index];

	if (change == ADDS && lack->library)
		return n;
	if (change == ADDS)
		put_in_front(text, old + strlen(PRELOAD));
	if (change == ADDS ||
	    replace(text, old, follow.file_name, change == REPLACES ? follow.library : NULL)) {
		out[lack->preload_index] = text;
		return n + (lack->preload_index == n);
	}
	memmove(out + lack->preload_index, out + lack->preload_index + 1,
		(n - lack->preload_index - 1) * sizeof(*out));
	return n - 1;
}

/* Writes ASAN_OPTIONS to `text`, with ANY_ORDER in front, and puts it into an environment with n variables.
 * Returns how many it has then. */
static size_t change_asan(const char **out, size_t n, const struct lack *lack, char *text)
{
	const bool is_new = lack->asan_index == SIZE_MAX;
	const char *old = is_new ? "" : out[lack->asan_index] + strlen(ASAN);

	out[is_new ? n : lack->asan_index] = text;
	memcpy(text, ASAN ANY_ORDER, strlen(ASAN ANY_ORDER) + 1);
	text += strlen(ASAN ANY_ORDER);
	if (*old) {
		*text++ = ':';
		memcpy(text, old, strlen(old) + 1);
	}
	return n + is_new;
}

char *const *fxt_follow_complete(char *const *environment, void *memory, size_t bytes, bool is_refused,
				 bool is_sanitized)
{
	enum change change;
	struct lack lack;
	const char **out = memory;
	char *text;
	size_t n;
	unsigned i;

	static atomic_bool told;

	if (!memory) {
		if (!atomic_exchange_explicit(&told, true, memory_order_relaxed))
			fxt_log("there is no memory to complete the environment of a program that is run; "
				"it may run untraced");
		return environment;
	}
	/* The environment is looked at again, because another thread may have changed it meanwhile. */
	lack = look_at(environment, is_sanitized);
	change = change_for(&lack, is_refused);
	if (change == NONE || room_bytes(&lack) > bytes)
		return environment;
	if (lack.count)
		memcpy(out, environment, lack.count * sizeof(*out));
	text = (char *)(out + lack.count + follow.count + 4);
	n = change_preload(out, lack.count, &lack, change, text);
	if (!lack.any_order)
		n = change_asan(out, n, &lack, text + preload_room(&lack));
	for (i = 0; i < follow.count && change != REMOVES; i++)
		if (!(lack.present & 1u << i))
			out[n++] = follow.variables[i];
	if (lack.forbidden && change != REMOVES)
		out[n++] = forbidden;
	out[n] = NULL;
	return (char *const *)out;
}
