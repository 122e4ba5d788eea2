/* See trigger.h. Read once at start; met in a commit, any context. */
#include "trigger.h"

#include <errno.h>
#include <string.h>

#include "control.h"
#include "function.h"
#include "log.h"
#include "sample.h"

/* -- Reading ----------------------------------------------------------------------------------- */

#define ACCEPTED "give CALL>DURATION (or >=, <, <=; ns, us, ms, s) or CALL=ERRNO (or !=), each with :snapshot or :stop, separated " \
	"by commas; the program runs untraced"

static bool refuse(const char *item, size_t bytes)
{
	char text[80];

	if (bytes > sizeof(text) - 1)
		bytes = sizeof(text) - 1;
	memcpy(text, item, bytes);
	text[bytes] = '\0';
	fxt_log("FXT_TRIGGER: '%s' is not accepted; " ACCEPTED, text);
	return false;
}

/* What begins at `text`, or NULL. */
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

static bool read_duration(const char *text, size_t bytes, uint64_t *ns)
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
	if (trigger->test < FXT_FAILED_WITH ? !read_duration(at, value, &trigger->value)
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
		if ((trigger->test == FXT_LONGER || trigger->test == FXT_AT_LEAST) && trigger->value < triggers->most_ns)
			triggers->most_ns = trigger->value;
		if ((trigger->test == FXT_SHORTER || trigger->test == FXT_AT_MOST) && trigger->value >= triggers->least_ns)
			triggers->least_ns = trigger->value + 1;
	}
	return true;
}

/* -- Meeting ----------------------------------------------------------------------------------- */

static bool is_slow(uint64_t duration_ns)
{
	return fxt_agent.config.explain_ns && duration_ns >= fxt_agent.config.explain_ns;
}

uint64_t *fxt_room_unusual(struct fxt_thread *thread, uint64_t start_ns, uint64_t end_ns, size_t words)
{
	if (end_ns - start_ns < thread->threshold_ns) {
		++*thread->filtered;
		return NULL;
	}
	if (is_slow(end_ns - start_ns)) {
		thread->commit |= FXT_COMMIT_WATCHED;
		words += FXT_EXPLAIN_WORDS;
	} else if (fxt_agent.config.triggers.count) {
		thread->commit |= FXT_COMMIT_WATCHED;
	}
	return fxt_reserve(thread, start_ns, words);
}

void fxt_watch_failure(struct fxt_thread *thread, int error)
{
	thread->commit |= FXT_COMMIT_WATCHED;
	thread->watched_errno = error;
}

static bool has_name(const struct fxt_trigger *trigger, const char *name, size_t bytes)
{
	size_t length = strlen(trigger->name);

	return (trigger->is_prefix ? bytes >= length : bytes == length) && !memcmp(trigger->name, name, length);
}

static bool is_met(const struct fxt_trigger *trigger, uint64_t ns, int error)
{
	switch (trigger->test) {
	case FXT_LONGER:
		return ns > trigger->value;
	case FXT_AT_LEAST:
		return ns >= trigger->value;
	case FXT_SHORTER:
		return ns < trigger->value;
	case FXT_AT_MOST:
		return ns <= trigger->value;
	case FXT_FAILED_WITH:
		return error && (uint64_t)error == trigger->value;
	case FXT_FAILED_OTHERWISE:
		return error && (uint64_t)error != trigger->value;
	}
	return false;
}

/* The name in an event's header: a call's, or an instrumented function's that has an index. */
static const char *event_name(uint64_t header, size_t *bytes)
{
	uint64_t index = fxt_get_event_name(header);

	if (fxt_get_string_ref_inline(index) || index < FXT_STR_CALLS)
		return NULL;
	if (index - FXT_STR_CALLS < fxt_agent.calls.count) {
		*bytes = strlen(fxt_agent.calls.list[index - FXT_STR_CALLS]);
		return fxt_agent.calls.list[index - FXT_STR_CALLS];
	}
	return fxt_function_name_of((uint32_t)index, bytes);
}

/* NOLINTNEXTLINE(misc-no-recursion): see fxt_commit(). */
void fxt_commit_watched(struct fxt_thread *thread, uint64_t *at, uint64_t header)
{
	struct fxt_lane *lane = thread->lane - 1;
	uint64_t start_ns = lane->at[1], end_ns = at[-1], ns = end_ns - start_ns;
	unsigned explained = 0;
	bool samples;
	int error = thread->watched_errno;
	const char *name;
	size_t bytes;
	unsigned i;

	/* What is watched for is a call's. */
	if (fxt_get_event_type(header) != FXT_EVENT_DURATION_COMPLETE) {
		fxt_commit_as_is(thread, at, header, thread->commit & FXT_COMMIT_ALIGNED);
		return;
	}
	samples = thread->commit & FXT_COMMIT_SAMPLES;
	thread->commit &= ~(unsigned)(FXT_COMMIT_WATCHED | FXT_COMMIT_SAMPLES);
	thread->watched_errno = 0;
	if (is_slow(ns)) {
		/* In front of the end, which is the last word. */
		at = fxt_explain_call(thread, at - 1, start_ns, end_ns, header, &explained);
		*at++ = end_ns;
	}
	/* The clock may have been renewed meanwhile, and what it wants is for the next record. */
	fxt_commit_as_is(thread, at, header + fxt_event_args(explained), thread->commit & FXT_COMMIT_ALIGNED);
	if (samples)
		fxt_sample(thread);
	/* It may be watched for something else, and to find a function's name takes a look at all of them. */
	if (!error && ns < fxt_agent.config.triggers.most_ns && ns >= fxt_agent.config.triggers.least_ns)
		return;
	name = event_name(header, &bytes);
	for (i = 0; name && i < fxt_agent.config.triggers.count; i++) {
		const struct fxt_trigger *trigger = &fxt_agent.config.triggers.list[i];

		if (has_name(trigger, name, bytes) && is_met(trigger, ns, error)) {
			fxt_control_trigger(thread, trigger, name, bytes, ns, error);
			return;
		}
	}
}
