/* See budget.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "budget.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "client.h"
#include "tools/common/message.h"
#include "writer/buffer.h"
#include "writer/fxt_encode.h"

/* A look at less of a program's time than this says little. */
static const uint64_t LEAST_CPU_NS = 20 * 1000 * 1000;

char *fxt_budget_read(const char *text, unsigned *budget)
{
	char *unit;
	double percent = strtod(text, &unit);

	if (unit == text || strcmp(unit, "%") != 0 || !isfinite(percent) || percent < 0.01 || percent > 1000)
		return fxt_format("'%s' is no budget: give what recording may cost, from 0.01%% to 1000%% of "
				  "a program's own time, such as 2%%",
				  text);
	*budget = (unsigned)(percent * 100 + 0.5);
	return NULL;
}

char *fxt_budget_of_environment(unsigned *budget)
{
	const char *text = getenv("FXT_BUDGET");
	char *bad = text && *text ? fxt_budget_read(text, budget) : NULL, *named;

	if (!bad)
		return NULL;
	named = fxt_format("FXT_BUDGET: %s", bad);
	free(bad);
	return named;
}

/* -- The price ----------------------------------------------------------------------------------- */

static uint64_t time_by(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline uint64_t counter(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#else
	return time_by(CLOCK_MONOTONIC);
#endif
}

/* Measures the least that an event can cost: it reads the clock twice and stores six words. */
static double least_ns(void)
{
	enum { EVENT = 6, EVENTS = FXT_CHUNK_WORDS / EVENT, ROUNDS = 20 };
	static volatile uint64_t words[FXT_CHUNK_WORDS];
	uint64_t least = UINT64_MAX, begin, took;

	for (unsigned round = 0; round < ROUNDS; round++) {
		begin = time_by(CLOCK_MONOTONIC);
		for (size_t i = 0; i < EVENTS; i++) {
			volatile uint64_t *at = words + i * EVENT;

			at[1] = counter();
			at[2] = i;
			at[3] = round;
			at[4] = begin;
			at[5] = counter();
			at[0] = EVENT;
		}
		took = time_by(CLOCK_MONOTONIC) - begin;
		least = took < least ? took : least;
	}
	return (double)least / EVENTS;
}

/* Returns what an event costs a program. The wrapper adds a third to the least that it can cost, as make
 * bench has it (docs/manager.md). */
static double price_ns(void)
{
	static double price;

	if (price == 0)
		price = least_ns() * 4 / 3;
	return price;
}

/* -- Counting -------------------------------------------------------------------------------------- */

void fxt_budget_count(struct fxt_budget *budget, const uint64_t *words, size_t count)
{
	size_t at, size;

	for (at = 0; at < count; at += size) {
		uint64_t category = fxt_get_event_category(words[at]);

		size = fxt_get_record_words(words[at]);
		if (!size)
			return;
		if (fxt_get_record_type(words[at]) == FXT_RECORD_EVENT && category < FXT_BUDGET_CATEGORIES)
			budget->events[category]++;
	}
}

/* Returns the processor time that the process has used; 0 if that is not known. */
static uint64_t cpu_of(const struct fxt_client *p)
{
	clockid_t clock;

	return clock_getcpuclockid(p->pid, &clock) == 0 ? time_by(clock) : 0;
}

void fxt_budget_begin(struct fxt_client *p)
{
	memset(p->budget.events, 0, sizeof(p->budget.events));
	p->budget.cpu_ns = cpu_of(p);
}

/* -- Giving up ------------------------------------------------------------------------------------- */

/* Finds the string with this index in the durable area, and copies it to `name` if it may be that of a
 * category. Returns false otherwise. */
static bool find_name(const struct fxt_client *p, uint64_t index, char name[FXT_CATEGORY_NAME_BYTES])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
	const uint64_t *words = (const uint64_t *)(p->memory + p->durable_offset);
	size_t count = p->durable_saved / FXT_WORD_BYTES, at, size;

	for (at = 0; at < count; at += size) {
		uint64_t header = *(const volatile uint64_t *)&words[at];
		size_t bytes = fxt_get_string_bytes(header);

		size = fxt_get_record_words(header);
		if (!size || size > count - at)
			return false;
		if (fxt_get_record_type(header) != FXT_RECORD_STRING || fxt_get_string_index(header) != index)
			continue;
		if (!bytes || bytes >= FXT_CATEGORY_NAME_BYTES || fxt_words_of(bytes) >= size)
			return false;
		memcpy(name, words + at + 1, bytes);
		name[bytes] = '\0';
		return strspn(name, letters) == bytes;
	}
	return false;
}

/* Returns whether a category may be given up: not those that say what became of the program, or of its
 * trace. */
static bool may_be_given_up(const char *name)
{
	return strcmp(name, "process") != 0 && strcmp(name, "agent") != 0 && strcmp(name, "counter") != 0;
}

/* Chooses the category with the most events. Returns false if there is none to give up. */
static bool choose(const struct fxt_client *p, char name[FXT_CATEGORY_NAME_BYTES])
{
	const uint64_t *events = p->budget.events;
	uint64_t most = 0;
	char one[FXT_CATEGORY_NAME_BYTES];

	for (size_t i = 0; i < FXT_BUDGET_CATEGORIES; i++) {
		if (events[i] <= most || !find_name(p, i, one) || !may_be_given_up(one))
			continue;
		most = events[i];
		memcpy(name, one, sizeof(one));
	}
	return most;
}

static struct fxt_arg text_argument(const char *name, const char *text)
{
	return (struct fxt_arg){FXT_ARG_STRING, FXT_INLINE(name, strlen(name)),
				.string = FXT_INLINE(text, strlen(text))};
}

static void put(struct fxt_client *p, struct fxt_session *session, enum fxt_event_type type, const char *name,
		const struct fxt_args *args)
{
	uint64_t record[64];
	size_t words = fxt_encode_event(record, 64, type, time_by(CLOCK_BOOTTIME),
					(struct fxt_thread_ref){0, p->koid, p->koid}, FXT_INLINE("agent", 5),
					FXT_INLINE(name, strlen(name)), *args, 0);

	fxt_archive_append(&session->archive, p->id, record, words, true);
}

/* Writes the sums as a counter. */
static void put_sums(struct fxt_client *p, struct fxt_session *session)
{
	const struct fxt_arg args[] = {
		{FXT_ARG_UINT64, FXT_INLINE("cost_ns", 7), .u64 = p->budget.cost_ns},
		{FXT_ARG_UINT64, FXT_INLINE("used_ns", 7), .u64 = p->budget.used_ns},
	};

	put(p, session, FXT_EVENT_COUNTER, "tracing", &(struct fxt_args){2, args});
}

/* Writes what is given up, and why. `share` is in hundredths of a percent. */
static void put_step(struct fxt_client *p, struct fxt_session *session, const char *category, double share)
{
	char *reason = fxt_format(
		"recording took %.4g%% of the rest of its processor time, and %.4g%% are allowed",
		share / 100, session->config.budget / 100.0);
	const struct fxt_arg args[] = {text_argument("given_up", category), text_argument("reason", reason)};

	put(p, session, FXT_EVENT_INSTANT, "budget", &(struct fxt_args){2, args});
	free(reason);
}

static bool give_up(struct fxt_budget *budget, const char *category)
{
	size_t used = strlen(budget->given_up), bytes = strlen(category);

	if (used + 1 + bytes >= sizeof(budget->given_up))
		return false;
	budget->given_up[used] = used ? ',' : '-';
	memcpy(budget->given_up + used + 1, category, bytes + 1);
	return true;
}

bool fxt_budget_is_passed(struct fxt_client *p, struct fxt_session *session)
{
	struct fxt_budget *budget = &p->budget;
	uint64_t now_ns = cpu_of(p), used_ns, events = 0;
	char category[FXT_CATEGORY_NAME_BYTES];
	double cost_ns, share;

	if (p->state != FXT_CLIENT_STARTED || !budget->cpu_ns || now_ns < budget->cpu_ns + LEAST_CPU_NS)
		return false;
	for (size_t i = 0; i < FXT_BUDGET_CATEGORIES; i++)
		events += budget->events[i];
	used_ns = now_ns - budget->cpu_ns;
	cost_ns = (double)events * price_ns();
	/* The price is an estimate, so the cost may come out as more than all of the time. */
	if (cost_ns > (double)used_ns * 0.99)
		cost_ns = (double)used_ns * 0.99;
	budget->cost_ns += (uint64_t)cost_ns;
	budget->used_ns += used_ns;
	put_sums(p, session);
	share = 10000 * cost_ns / ((double)used_ns - cost_ns);
	budget->steps = share > session->config.budget && choose(p, category) && give_up(budget, category);
	if (budget->steps)
		put_step(p, session, category, share);
	session->given_up += budget->steps;
	fxt_budget_begin(p);
	return budget->steps;
}
