/* See glob.h. */
#include "glob.h"

#include <stddef.h>

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

bool fxt_glob_is_whole(const char *at, const char *end)
{
	while (at && at < end)
		at = *at == '[' ? set_end(at, end) : at + 1;
	return at;
}

/* Whenever the rest of the pattern does not match, the last * takes one character more. */
bool fxt_glob_match(const char *at, const char *end, const char *text, const char *text_end)
{
	const char *after_star = NULL, *from = NULL, *next;

	while (text < text_end) {
		if (at < end && *at == '*') {
			after_star = ++at;
			from = text;
			continue;
		}
		next = step(at, end, *text);
		if (next) {
			at = next;
			text++;
		} else if (after_star) {
			at = after_star;
			text = ++from;
		} else {
			return false;
		}
	}
	while (at < end && *at == '*')
		at++;
	return at == end;
}
