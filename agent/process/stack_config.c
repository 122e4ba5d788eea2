/* See stack_config.h. */
#include "stack_config.h"

#include <string.h>

#include "agent/base/category_list.h"
#include "agent/base/log.h"
#include "agent/stacks/stack_walk.h"

static bool refuse(const char *text, size_t bytes)
{
	fxt_log("FXT_STACKS: '%.*s' is not accepted; give none, or a list of categories, each perhaps with a "
		"duration and a number of frames up to %d, as in malloc,pthread>100us:16; the program runs "
		"untraced",
		bytes < 63 ? (int)bytes : 63, text, FXT_WALK_MOST);
	return false;
}

static bool has_unknown;

static void note_unknown(const char *name, size_t bytes)
{
	(void)name;
	(void)bytes;
	has_unknown = true;
}

/* Reads a name into a set of categories. Returns 0 if there is none of that name. */
static uint32_t categories_of(const char *text, size_t bytes)
{
	char name[32];
	uint32_t found;

	if (!bytes || bytes >= sizeof(name) || *text == '-' || memchr(text, ' ', bytes))
		return 0;
	memcpy(name, text, bytes);
	name[bytes] = '\0';
	has_unknown = false;
	found = fxt_category_list(name, note_unknown);
	return has_unknown ? 0 : found;
}

static bool read_frames(const char *text, size_t bytes, uint8_t *frames)
{
	unsigned value = 0;
	size_t i;

	for (i = 0; i < bytes && text[i] >= '0' && text[i] <= '9' && value <= FXT_WALK_MOST; i++)
		value = value * 10 + (unsigned)(text[i] - '0');
	*frames = (uint8_t)value;
	return bytes && i == bytes && value && value <= FXT_WALK_MOST;
}

/* Reads one element of the list. */
static bool read_one(struct fxt_config *config, const char *text, size_t bytes)
{
	size_t name = strcspn(text, ">:,"), end = strcspn(text, ":,");
	uint32_t categories = categories_of(text, name);
	uint8_t frames = FXT_WALK_MOST;
	uint64_t ns = 0;
	unsigned i;

	if (!categories ||
	    (text[name] == '>' && !fxt_duration_read(text + name + 1, end - name - 1, &ns)) ||
	    (text[end] == ':' && end < bytes && !read_frames(text + end + 1, bytes - end - 1, &frames)))
		return false;
	for (i = 0; i < FXT_CATEGORY_COUNT; i++) {
		if (!(categories >> i & 1))
			continue;
		config->stack_ns[i] = ns;
		config->stack_frames[i] = frames;
		if (ns < config->least_stack_ns)
			config->least_stack_ns = ns;
	}
	return true;
}

bool fxt_stack_config_read(struct fxt_config *config, const char *text)
{
	uint64_t usual_ns = config->explain_ns ? config->explain_ns : UINT64_MAX;
	size_t bytes;
	unsigned i;

	config->stacks = !text || strcmp(text, "none");
	config->least_stack_ns = config->stacks ? usual_ns : UINT64_MAX;
	for (i = 0; i < FXT_CATEGORY_COUNT; i++) {
		/* The calls around an instrumented function are in the trace. */
		config->stack_ns[i] = config->stacks && i != FXT_BIT_function && i != FXT_BIT_plt
					      ? usual_ns : UINT64_MAX;
		config->stack_frames[i] = FXT_WALK_MOST;
	}
	if (!config->stacks)
		return true;
	for (; text && *text; text += bytes + (text[bytes] == ',')) {
		bytes = strcspn(text, ",");
		if (bytes && !read_one(config, text, bytes))
			return refuse(text, bytes);
	}
	return true;
}
