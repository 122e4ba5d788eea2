/* Owns the names of the categories, and which of them are the default. config.c calls this at start, and
 * connection.c when a manager has sent a list: category_list.h. */
#include "category_list.h"

#include <string.h>

#include "agent.h"

static const char *const category_names[FXT_CATEGORY_COUNT] = {
#define CATEGORY(name, on, what) #name,
#include "writer/categories.def"
#undef CATEGORY
};

static const uint32_t default_categories =
#define CATEGORY(name, on, what) ((on) ? FXT_CAT_##name : 0) |
#include "writer/categories.def"
#undef CATEGORY
	0;

/* Returns the categories that a name stands for; 0: none. */
static uint32_t matching(const char *name, size_t length)
{
	uint32_t found = 0;
	int i;

	if (length == 8 && !strncmp(name, "#default", 8))
		return default_categories;
	for (i = 0; i < FXT_CATEGORY_COUNT; i++) {
		bool prefix = length && name[length - 1] == '*';

		if (prefix ? !strncmp(category_names[i], name, length - 1)
			   : strlen(category_names[i]) == length && !memcmp(category_names[i], name, length))
			found |= 1u << i;
	}
	return found;
}

uint32_t fxt_category_list(const char *text, void (*unknown)(const char *name, size_t bytes))
{
	uint32_t categories = 0, bits;
	bool any = false, all_known = true;

	while (*text) {
		size_t length = strcspn(text, ", ");
		const char *name = text;
		size_t bytes = length;
		bool minus = length && *name == '-';

		text += length;
		text += strspn(text, ", ");
		if (!length)
			continue;
		if (minus) {
			name++;
			bytes--;
		}
		bits = matching(name, bytes);
		if (!bits) {
			unknown(name, bytes);
			all_known = false;
			continue;
		}
		if (minus && !any)
			categories = default_categories;
		any = true;
		categories = minus ? categories & ~bits : categories | bits;
	}
	return any || !all_known ? categories : default_categories;
}
