/* This tests who made what (makers.h), and how many there were over time (trend.h): random lifetimes, whose
 * begins and ends stand in the trace in a random order, are compared with a model that has all of them.
 * FXT_SEED=N draws the same ones again. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/random.h"
#include "suite.h"
#include "trace_maker.h"

enum { ROUNDS = 200, MOST = 300, CHANGES = 400 };

static unsigned random_up_to(unsigned most)
{
	return (unsigned)random_below((uint64_t)most + 1);
}

/* -- Trends ---------------------------------------------------------------------------------------- */

static struct change {
	uint64_t at;
	int64_t by;
} changes[CHANGES];

static void expect_trend(const struct fxt_trend *t, unsigned count, uint64_t span)
{
	for (unsigned i = 0; i < 50; i++) {
		uint64_t at = (uint64_t)random_up_to(1000) * (span / 1000);
		uint64_t stretch_ns = t->change ? t->stretch_ns : 1;
		uint64_t end = at - at % stretch_ns + stretch_ns;
		int64_t expected = 0;

		for (unsigned c = 0; c < count; c++)
			expected += changes[c].at < end ? changes[c].by : 0;
		ck_assert_int_eq(fxt_trend_at(t, at), expected);
	}
}

START_TEST(trends)
{
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct fxt_trend whole = {.few_count = 0}, parts[2] = {{.few_count = 0}};
		int64_t sum = 0;
		uint64_t span = UINT64_C(1) << (10 + random_up_to(40));
		unsigned count = 1 + random_up_to(random_up_to(1) ? CHANGES - 1 : 8);

		for (unsigned c = 0; c < count; c++) {
			changes[c].at = (uint64_t)random_up_to(1000000) * span / 1000000;
			changes[c].by = (int64_t)random_up_to(100) - 40;
			fxt_trend_add(&whole, changes[c].at, changes[c].by);
			fxt_trend_add(&parts[random_up_to(1)], changes[c].at, changes[c].by);
		}
		expect_trend(&whole, count, span);
		/* What was told in two parts is the same; its stretches may be longer. */
		fxt_trend_merge(&parts[0], &parts[1]);
		for (unsigned c = 0; c < count; c++)
			sum += changes[c].by;
		ck_assert_int_eq(fxt_trend_at(&parts[0], 2 * span), sum);
		fxt_trend_free(&whole);
		fxt_trend_free(&parts[0]);
		fxt_trend_free(&parts[1]);
	}
}
END_TEST

START_TEST(grows)
{
	struct fxt_trend steady = {0}, early = {0}, wave = {0};
	struct fxt_growth growth;
	unsigned step = 1000 + random_up_to(100000), count = 200 + random_up_to(800);
	uint64_t end = (uint64_t)step * count;

	for (unsigned i = 0; i < count; i++) {
		fxt_trend_add(&steady, (uint64_t)step * i, 3);
		fxt_trend_add(&early, (uint64_t)step * i / 4, 3);
		fxt_trend_add(&wave, (uint64_t)step * i, i % 2 ? -3 : 3);
	}
	ck_assert(fxt_trend_grows(&steady, 0, end, &growth));
	ck_assert_int_eq(growth.most, 3 * count);
	ck_assert_int_eq(growth.part[0] + growth.part[1] + growth.part[2] + growth.part[3], growth.most);
	ck_assert(!fxt_trend_grows(&early, 0, end, &growth));
	ck_assert(!fxt_trend_grows(&wave, 0, end, &growth));
	/* It may stand still for one quarter, but not for two. */
	for (unsigned still = 1; still <= 2; still++) {
		struct fxt_trend t = {0};

		for (unsigned i = 0; i < count; i++)
			if (i * 4 / count != 1 && (still == 1 || i * 4 / count != 2))
				fxt_trend_add(&t, (uint64_t)step * i, 3);
		ck_assert_int_eq(fxt_trend_grows(&t, 0, end, &growth), still == 1);
		fxt_trend_free(&t);
	}
	/* All of it is given back in the last moment: it has grown all the same. */
	fxt_trend_add(&steady, end, -3 * (int64_t)count);
	ck_assert(fxt_trend_grows(&steady, 0, end + step, &growth));
	ck_assert(!fxt_trend_grows(&(struct fxt_trend){0}, 0, end, &growth));
	fxt_trend_free(&steady);
	fxt_trend_free(&early);
	fxt_trend_free(&wave);
}
END_TEST

/* -- Makers ---------------------------------------------------------------------------------------- */

static const char *const functions[] = {"open_log", "connect_peer", "start_job"};
static const struct kind {
	const char *category, *name, *call;
} kinds[] = {{"io", "file", "open"}, {"net", "connection", "connect"}, {"process", "child", NULL}};
enum { FUNCTIONS = 3, KINDS = 3, LABELS = 2 };
#define NODE(number) (UINT64_C(0x7fe0000000000000) + (number))

static struct life {
	unsigned function, kind, label, status;
	uint64_t from, to;              /* to: 0: it does not end */
} lives[MOST];

static void write_begin(unsigned number, const struct life *l)
{
	const struct kind *k = &kinds[l->kind];
	uint64_t stack = NODE(2 + 2 * l->function + number % 2);

	if (!k->call)
		event(ASYNC_BEGIN, 1, k->category, k->name, l->from, 100 + number,
		      ARGS({"pid", KOID, 1000 + number}, {"stack", POINTER, stack}));
	else
		event(ASYNC_BEGIN, 1, k->category, k->name, l->from, 100 + number,
		      ARGS({"fd", INT, 3}, {"call", TEXT, TEXT_OF(k->call)},
			   {"pathname", TEXT, TEXT_OF(l->label ? "/b" : "/a")}, {"stack", POINTER, stack}));
}

static void write_end(unsigned number, const struct life *l)
{
	const struct kind *k = &kinds[l->kind];

	if (!k->call)
		event(ASYNC_END, 1, k->category, k->name, l->to, 100 + number,
		      ARGS({"pid", KOID, 1000 + number}, {"status", INT, l->status}));
	else
		event(ASYNC_END, 1, k->category, k->name, l->to, 100 + number,
		      ARGS({"read_bytes", UINT, number}, {"written_bytes", UINT, 1}));
}

/* Writes all of them: each begin and end in a random place of the file. */
static void write_lives(unsigned count)
{
	unsigned order[2 * MOST];

	for (unsigned i = 0; i < 2 * count; i++) {
		unsigned other = random_up_to(i);

		order[i] = order[other];
		order[other] = i;
	}
	for (unsigned i = 0; i < 2 * count; i++) {
		const struct life *l = &lives[order[i] / 2];

		if (order[i] % 2 == 0)
			write_begin(order[i] / 2, l);
		else if (l->to)
			write_end(order[i] / 2, l);
	}
}

static const struct fxt_maker *maker_of(const struct fxt_report *report, unsigned function, unsigned kind)
{
	const struct fxt_maker *found = NULL;

	for (size_t i = 0; i < report->made.count; i++) {
		const struct fxt_maker *m = &report->made.list[i];
		uint32_t culprit = fxt_culprit_of(&report->who->culprits, FXT_FOR_CALL, m->innermost);
		struct fxt_text name = fxt_symbol_text(report->r, report->who->stacks.frames[culprit].name);

		if (!fxt_text_is(&name, functions[function]) ||
		    !fxt_maker_is(m, report->r, kinds[kind].category, kinds[kind].name))
			continue;
		ck_assert(!found);
		found = m;
	}
	return found;
}

static void expect_maker(const struct fxt_report *report, unsigned count, unsigned function, unsigned kind)
{
	const struct fxt_maker *m = maker_of(report, function, kind);
	uint64_t made = 0, ended = 0, lives_ns = 0, failed = 0, moved = 0, labels = 0, alive = 0, left = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct life *l = &lives[i];

		if (l->function != function || l->kind != kind)
			continue;
		made++;
		ended += l->to != 0;
		lives_ns += l->to ? l->to - l->from : 0;
		failed += l->to && kind == 2 && l->status;
		moved += l->to && kind != 2 ? i + 1 : 0;
		labels |= kind == 2 ? 0 : 1u << l->label;
	}
	ck_assert(made ? m != NULL : m == NULL);
	if (!m)
		return;
	ck_assert_uint_eq(m->count, made);
	ck_assert_uint_eq(m->ended, ended);
	ck_assert_uint_eq(m->lives_ns, lives_ns);
	ck_assert_uint_eq(m->failed, failed);
	ck_assert_uint_eq(m->moved_bytes, moved);
	ck_assert_int_eq(m->label != 0, labels == 1 || labels == 2);
	ck_assert_int_eq(m->has_labels, labels == 3);
	ck_assert_int_eq(fxt_trend_at(&m->alive, UINT64_C(1) << 60), (int64_t)(made - ended));
	for (size_t i = 0; i < report->made.alive_count; i++)
		alive += report->made.alive[i].maker == (uint32_t)(m - report->made.list);
	left = made - ended;
	ck_assert_uint_eq(alive, left);
}

START_TEST(makers)
{
	for (unsigned round = 0; round < ROUNDS / 4; round++) {
		struct fxt_report report;
		unsigned count = 1 + random_up_to(MOST - 1);

		begin_trace();
		frame(NODE(1), 0, "main", "/app", 1);
		/* Two calls of each function, which are alike. */
		for (unsigned i = 0; i < 2 * FUNCTIONS; i++)
			frame(NODE(2 + i), NODE(1), functions[i / 2], "/app", 100 + i);
		for (unsigned i = 0; i < count; i++) {
			lives[i] = (struct life){.function = random_up_to(FUNCTIONS - 1),
						 .kind = random_up_to(KINDS - 1),
						 .label = random_up_to(LABELS - 1),
						 .status = random_up_to(2),
						 .from = 1000 + random_up_to(1000000)};
			if (random_up_to(3))
				lives[i].to = lives[i].from + random_up_to(1000000);
		}
		write_lives(count);
		make_report(&report, 10);
		for (unsigned function = 0; function < FUNCTIONS; function++)
			for (unsigned kind = 0; kind < KINDS; kind++)
				expect_maker(&report, count, function, kind);
		end_report(&report);
	}
}
END_TEST

int main(void)
{
	TCase *all = tcase_create("makers");

	random_seed(0);
	tcase_set_timeout(all, 60);

	tcase_add_test(all, trends);
	tcase_add_test(all, grows);
	tcase_add_test(all, makers);
	return RUN_SUITE("makers", all);
}
