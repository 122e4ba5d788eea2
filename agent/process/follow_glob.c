/* See follow_glob.h. These functions are called at start and in the child of a fork. They read nothing but
 * their arguments. */
#include "follow_glob.h"

#include <string.h>

/* Returns the address behind the ] of the set that begins at `at`, or NULL if there is no ]. A ] that comes
 * first is a character of the set. */
static const char *set_end(const char *at, const char *end)
{
	at++;
	if (at < end && (*at == '!' || *at == '^'))
		at++;
	if (at < end)
		at++;
	while (at < end && *at != ']')
		at++;
	return at < end ? at + 1 : NULL;
}

/* Returns whether `c` is in the set [...] between `at` and `end`. */
static bool in_set(const char *at, const char *end, unsigned char c)
{
	bool negated = at[1] == '!' || at[1] == '^', found = false;
	unsigned char from, to;

	for (at += 1 + negated, end--; at < end; at++) {
		from = to = (unsigned char)*at;
		if (end - at > 2 && at[1] == '-') {
			to = (unsigned char)at[2];
			at += 2;
		}
		found |= c >= from && c <= to;
	}
	return found != negated;
}

/* Returns the rest of the pattern behind its next element, which is no *, if that matches `c`; otherwise
 * NULL. */
static const char *step(const char *at, const char *end, char c)
{
	const char *next;

	if (at == end)
		return NULL;
	if (*at == '[') {
		next = set_end(at, end);
		return in_set(at, next, (unsigned char)c) ? next : NULL;
	}
	return *at == '?' || *at == c ? at + 1 : NULL;
}

/* Returns whether the pattern between `at` and `end` matches a name. Whenever the rest of the pattern does
 * not match, the last * takes one character more. */
static bool match(const char *at, const char *end, const char *name)
{
	const char *after_star = NULL, *from = NULL, *next;

	while (*name) {
		if (at < end && *at == '*') {
			after_star = ++at;
			from = name;
			continue;
		}
		next = step(at, end, *name);
		if (next) {
			at = next;
			name++;
		} else if (after_star) {
			at = after_star;
			name = ++from;
		} else {
			return false;
		}
	}
	while (at < end && *at == '*')
		at++;
	return at == end;
}

/* Returns whether one name of a list can match a program: see fxt_globs_valid(). */
static bool is_valid(const char *at, const char *end)
{
	size_t bytes = (size_t)(end - at);

	if (!bytes || memchr(at, '/', bytes) || (bytes == 3 && !memcmp(at, "all", 3)) ||
	    (bytes == 4 && !memcmp(at, "none", 4)))
		return false;
	while (at && at < end)
		at = *at == '[' ? set_end(at, end) : at + 1;
	return at;
}

bool fxt_globs_valid(const char *list)
{
	const char *end;

	for (;; list = end + 1) {
		end = list + strcspn(list, ",");
		if (!is_valid(list, end))
			return false;
		if (!*end)
			return true;
	}
}

bool fxt_globs_match(const char *list, const char *name)
{
	const char *end;

	for (;; list = end + 1) {
		end = list + strcspn(list, ",");
		if (match(list, end, name))
			return true;
		if (!*end)
			return false;
	}
}
