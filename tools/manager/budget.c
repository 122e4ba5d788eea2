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
#include "tools/common/host_clock.h"
#include "tools/common/kernel_clock.h"
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

static inline uint64_t counter(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#else
	return fxt_clock_ns(CLOCK_MONOTONIC);
#endif
}

/* Measures the least that an event can cost: it reads the clock twice and stores six words. */
static double least_ns(void)
{
	enum { EVENT = 6, EVENTS = FXT_CHUNK_WORDS / EVENT, ROUNDS = 20 };
	static volatile uint64_t words[FXT_CHUNK_WORDS];
	uint64_t least = UINT64_MAX, begin, took;

	for (unsigned round = 0; round < ROUNDS; round++) {
		begin = fxt_clock_ns(CLOCK_MONOTONIC);
		for (size_t i = 0; i < EVENTS; i++) {
			volatile uint64_t *at = words + i * EVENT;

			at[1] = counter();
			at[2] = i;
			at[3] = round;
			at[4] = begin;
			at[5] = counter();
			at[0] = EVENT;
		}
		took = fxt_clock_ns(CLOCK_MONOTONIC) - begin;
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

	return clock_getcpuclockid(p->pid, &clock) == 0 ? fxt_clock_ns(clock) : 0;
}

void fxt_budget_begin(struct fxt_client *p)
{
	memset(p->budget.events, 0, sizeof(p->budget.events));
	p->budget.cpu_ns = cpu_of(p);
}

/* -- Giving up ------------------------------------------------------------------------------------- */

/* Copies the text of a string record to `name` if it may be the name of a category that may be given up: not
 * of those that say what became of the program, or of its trace. The provider may change the text meanwhile.
 * Returns false otherwise. */
static bool copy_name(const uint64_t *record, uint64_t header, char name[FXT_CATEGORY_NAME_BYTES])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
	size_t bytes = fxt_get_string_bytes(header);

	if (!bytes || bytes >= FXT_CATEGORY_NAME_BYTES || fxt_words_of(bytes) >= fxt_get_record_words(header))
		return false;
	memcpy(name, record + 1, bytes);
	name[bytes] = '\0';
	return strspn(name, letters) == bytes && strcmp(name, "process") != 0 && strcmp(name, "agent") != 0 &&
	       strcmp(name, "counter") != 0;
}

/* Chooses the category with the most events, by the strings in the durable area. Returns false if there is
 * none to give up. */
static bool choose(const struct fxt_client *p, char name[FXT_CATEGORY_NAME_BYTES])
{
	const uint64_t *words = (const uint64_t *)(p->memory + p->durable_offset);
	size_t count = p->durable_saved / FXT_WORD_BYTES, at, size;
	uint64_t most = 0;
	char one[FXT_CATEGORY_NAME_BYTES];

	for (at = 0; at < count; at += size) {
		uint64_t header = *(const volatile uint64_t *)&words[at];
		uint64_t index = fxt_get_string_index(header);

		size = fxt_get_record_words(header);
		if (!size || size > count - at)
			break;
		if (fxt_get_record_type(header) != FXT_RECORD_STRING || index >= FXT_BUDGET_CATEGORIES ||
		    p->budget.events[index] <= most || !copy_name(words + at, header, one))
			continue;
		most = p->budget.events[index];
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
	size_t words = fxt_encode_event(record, 64, type, fxt_host_now_ns(),
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
