/* See trigger.h. Reads FXT_TRIGGER, once, at start. */
#include "trigger.h"

#include <errno.h>
#include <string.h>

#include "log.h"

#define ACCEPTED "give CALL>DURATION (or >=, <, <=; ns, us, ms, s) or CALL=ERRNO (or !=), " \
	"each with :snapshot or :stop, separated by commas; the program runs untraced"

static bool refuse(const char *item, size_t bytes)
{
	/* A longer item would leave no room in the line for the explanation. */
	fxt_log("FXT_TRIGGER: '%.*s' is not accepted; " ACCEPTED, bytes < 79 ? (int)bytes : 79, item);
	return false;
}

/* Reads the comparison that begins at `text`, and returns its end; NULL if there is none. */
static const char *read_test(const char *text, enum fxt_trigger_test *test)
{
	static const struct {
		char text[3];
		enum fxt_trigger_test test;
	} tests[] = {
		{">=", FXT_AT_LEAST}, {">", FXT_LONGER}, {"<=", FXT_AT_MOST}, {"<", FXT_SHORTER},
		{"!=", FXT_FAILED_OTHERWISE}, {"==", FXT_FAILED_WITH}, {"=", FXT_FAILED_WITH},
	};
	unsigned i;

	for (i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		if (!strncmp(text, tests[i].text, strlen(tests[i].text))) {
			*test = tests[i].test;
			return text + strlen(tests[i].text);
		}
	}
	return NULL;
}

bool fxt_duration_read(const char *text, size_t bytes, uint64_t *ns)
{
	static const struct {
		char text[3];
		uint64_t ns;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
	uint64_t value = 0;
	size_t at = 0;
	unsigned i;

	for (; at < bytes && text[at] >= '0' && text[at] <= '9' && value < 1000000000; at++)
		value = value * 10 + (uint64_t)(text[at] - '0');
	for (i = 0; at && i < sizeof(units) / sizeof(*units); i++) {
		if (bytes - at == strlen(units[i].text) && !memcmp(text + at, units[i].text, bytes - at)) {
			*ns = value * units[i].ns;
			return true;
		}
	}
	return false;
}

static bool read_errno(const char *text, size_t bytes, uint64_t *error)
{
	enum { LAST_ERRNO = 133 };
	int i;

	for (i = 1; i <= LAST_ERRNO; i++) {
		const char *name = strerrorname_np(i);

		if (name && strlen(name) == bytes && !memcmp(name, text, bytes)) {
			*error = (uint64_t)i;
			return true;
		}
	}
	return false;
}

static bool read_one(struct fxt_trigger *trigger, const char *text, size_t bytes)
{
	size_t name = strcspn(text, "<>=!,:"), value;
	const char *at = read_test(text + name, &trigger->test);

	*trigger = (struct fxt_trigger){.test = trigger->test};
	if (!name || name >= FXT_TRIGGER_NAME_BYTES || !at)
		return false;
	trigger->is_prefix = text[name - 1] == '*';
	memcpy(trigger->name, text, name - trigger->is_prefix);
	value = strcspn(at, ",:");
	if (trigger->test < FXT_FAILED_WITH ? !fxt_duration_read(at, value, &trigger->value)
					    : !read_errno(at, value, &trigger->value))
		return false;
	at += value;
	if (*at == ':') {
		size_t rest = bytes - (size_t)(at - text);

		trigger->stops = rest == 5 && !memcmp(at, ":stop", 5);
		return trigger->stops || (rest == 9 && !memcmp(at, ":snapshot", 9));
	}
	return true;
}

bool fxt_triggers_read(struct fxt_trigger_list *triggers, const char *text)
{
	struct fxt_trigger *trigger;
	size_t bytes;

	triggers->count = 0;
	triggers->least_ns = 0;
	triggers->most_ns = INT64_MAX;
	for (; text && *text; text += bytes + (text[bytes] == ',')) {
		bytes = strcspn(text, ",");
		if (!bytes)
			continue;
		trigger = &triggers->list[triggers->count];
		if (triggers->count == FXT_TRIGGERS_MAX || !read_one(trigger, text, bytes))
			return refuse(text, bytes);
		triggers->count++;
		triggers->any_errno |= trigger->test >= FXT_FAILED_WITH;
		if ((trigger->test == FXT_LONGER || trigger->test == FXT_AT_LEAST) &&
		    trigger->value < triggers->most_ns)
			triggers->most_ns = trigger->value;
		if ((trigger->test == FXT_SHORTER || trigger->test == FXT_AT_MOST) &&
		    trigger->value >= triggers->least_ns)
			triggers->least_ns = trigger->value + 1;
	}
	return true;
}
