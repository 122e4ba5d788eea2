/* See function_filter.h. */
#include "function_filter.h"

#include <string.h>

#include "agent/base/glob.h"
#include "writer/place.h"

FXT_LARGE struct fxt_function_filter fxt_function_filter, fxt_patch_rules, fxt_plt_rules;

/* One rule: [!]FUNCTION[@MODULE][/]. An empty pattern matches everything. */
struct rule {
	bool leaves, is_tree;
	const char *function, *function_end, *module, *module_end;
};

static bool has_slash(const char *at, const char *end)
{
	return at < end && memchr(at, '/', (size_t)(end - at));
}

/* Reads the rule between `at` and `end`. Returns false if it is not accepted. */
static bool read_rule(struct rule *rule, const char *at, const char *end)
{
	const char *module;

	rule->leaves = at < end && *at == '!';
	at += rule->leaves;
	rule->is_tree = at < end && end[-1] == '/';
	end -= rule->is_tree;
	module = at < end ? memchr(at, '@', (size_t)(end - at)) : NULL;
	rule->function = at;
	rule->function_end = module ? module : end;
	rule->module = module ? module + 1 : end;
	rule->module_end = end;
	return at < end && (!module || module + 1 < end) && !has_slash(at, end) &&
	       fxt_glob_is_whole(rule->function, rule->function_end) &&
	       fxt_glob_is_whole(rule->module, rule->module_end);
}

const char *fxt_filter_read(struct fxt_function_filter *filter, const char *list, size_t *bytes)
{
	const char *at = list, *end;
	struct rule rule;

	filter->is_set = filter->has_trees = filter->keeps_trees = false;
	*bytes = strlen(list);
	if (!*bytes)
		return NULL;
	if (*bytes >= FXT_FILTER_BYTES)
		return list;
	for (;; at = end + 1) {
		end = at + strcspn(at, ",");
		if (!read_rule(&rule, at, end)) {
			*bytes = (size_t)(end - at);
			return at;
		}
		filter->has_trees |= rule.is_tree;
		filter->keeps_trees |= rule.is_tree && !rule.leaves;
		if (!*end)
			break;
	}
	memcpy(filter->list, list, *bytes + 1);
	filter->is_set = true;
	return NULL;
}

/* -- Names of C++ ------------------------------------------------------------------------------- */

/* A qualified name that is being written. */
struct plain {
	char *out;
	size_t used, capacity;
};

static bool put(struct plain *plain, const char *text, size_t bytes)
{
	size_t before = plain->used ? 2 : 0;

	if (plain->capacity - plain->used < bytes + before)
		return false;
	memcpy(plain->out + plain->used, "::", before);
	memcpy(plain->out + plain->used + before, text, bytes);
	plain->used += before + bytes;
	return true;
}

/* Reads "<length><identifier>". Returns what is behind it, or NULL if there is none. */
static const char *identifier(struct plain *plain, const char *at, const char *end, const char **last,
			      size_t *last_bytes)
{
	size_t length = 0;

	if (at == end || *at < '1' || *at > '9')
		return NULL;
	for (; at < end && *at >= '0' && *at <= '9' && length < FXT_FILTER_BYTES; at++)
		length = length * 10 + (size_t)(*at - '0');
	if (length > (size_t)(end - at) || !put(plain, at, length))
		return NULL;
	*last = at;
	*last_bytes = length;
	return at + length;
}

/* Reads the C or D, and the digit, of a constructor or destructor, whose name is that of its class. */
static const char *structor(struct plain *plain, const char *at, const char *end, const char *class,
			    size_t class_bytes)
{
	char name[256];
	bool is_destructor;

	if (end - at < 2 || !class || class_bytes >= sizeof(name) || (*at != 'C' && *at != 'D') ||
	    at[1] < '0' || at[1] > '5')
		return NULL;
	is_destructor = *at == 'D';
	name[0] = '~';
	memcpy(name + is_destructor, class, class_bytes);
	return put(plain, name, class_bytes + is_destructor) ? at + 2 : NULL;
}

size_t fxt_filter_plain_name(const char *mangled, size_t bytes, char *out, size_t capacity)
{
	struct plain plain = {.out = out, .capacity = capacity};
	const char *at = mangled + 2, *end = mangled + bytes, *last = NULL, *next;
	size_t last_bytes = 0;
	bool is_nested;

	if (bytes < 4 || mangled[0] != '_' || mangled[1] != 'Z')
		return 0;
	is_nested = *at == 'N';
	at += is_nested;
	/* A member function may be const or volatile, or for lvalues or rvalues only. A function of its file
	 * alone has an L before its name. */
	while (is_nested && at < end && strchr("rVKRO", *at))
		at++;
	if (end - at > 2 && at[0] == 'S' && at[1] == 't') {
		if (!put(&plain, "std", 3))
			return 0;
		at += 2;
	}
	do {
		at += at < end && *at == 'L';
		next = identifier(&plain, at, end, &last, &last_bytes);
		at = next ? next : structor(&plain, at, end, last, last_bytes);
		if (!at)
			return 0;
	} while (is_nested && at < end && *at != 'E');
	/* Template arguments follow a name that is not nested. */
	if (is_nested ? at == end : at < end && *at == 'I')
		return 0;
	return plain.used;
}

/* -- The decision -------------------------------------------------------------------------------- */

enum fxt_filter_verdict fxt_filter_decide(const struct fxt_function_filter *filter, const char *name,
					  size_t bytes, const char *module)
{
	static const enum fxt_filter_verdict verdicts[2][2] = {
		{FXT_FILTER_KEEP, FXT_FILTER_KEEP_TREE}, {FXT_FILTER_LEAVE, FXT_FILTER_LEAVE_TREE}};
	char plain[512];
	size_t plain_bytes;
	enum fxt_filter_verdict verdict = FXT_FILTER_KEEP;
	const char *at, *end;
	struct rule rule;

	if (!filter->is_set)
		return verdict;
	plain_bytes = fxt_filter_plain_name(name, bytes, plain, sizeof(plain));
	/* A list that begins by leaving out begins with all functions, and another one with none. */
	if (filter->list[0] != '!')
		verdict = filter->keeps_trees ? FXT_FILTER_IN_TREE : FXT_FILTER_LEAVE;
	for (at = filter->list;; at = end + 1) {
		end = at + strcspn(at, ",");
		read_rule(&rule, at, end);
		if ((rule.module == rule.module_end ||
		     fxt_glob_match(rule.module, rule.module_end, module, module + strlen(module))) &&
		    (rule.function == rule.function_end ||
		     fxt_glob_match(rule.function, rule.function_end, name, name + bytes) ||
		     (plain_bytes &&
		      fxt_glob_match(rule.function, rule.function_end, plain, plain + plain_bytes))))
			verdict = verdicts[rule.leaves][rule.is_tree];
		if (!*end)
			return verdict;
	}
}
