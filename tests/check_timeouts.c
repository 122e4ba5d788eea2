/* This tests what is told of questions without an answer (tools/waits/timeouts.h). A thread's calls are drawn
 * at random, and the model keeps which question is open. FXT_SEED names the drawing. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apps/random.h"
#include "suite.h"
#include "tools/findings/rules.h"
#include "trace_maker.h"

enum { MS = 1000000, CALLS = 60, FD = 4, OTHER_FD = 5 };

static struct fxt_report report;
static struct fxt_findings findings;

/* Writes a call of the first thread that takes so long, and returns when it ends. */
static uint64_t put_call(const char *name, uint64_t at, uint64_t ns, const struct argument *args)
{
	event(COMPLETE, 1, "net", name, at, at + ns, args);
	return at + ns + 1000;
}

static uint64_t ask(uint64_t at)
{
	return put_call("send", at, 1000, ARGS({"sockfd", INT, FD}, {"ret", INT, 8}));
}

static uint64_t wait_in_poll(uint64_t at, uint64_t ns, unsigned count)
{
	return put_call("poll", at, ns,
			ARGS({"nfds", UINT, count}, {"timeout", INT, 50}, {"ret", INT, 0},
			     {"stack", POINTER, 1}));
}

static uint64_t give_up(uint64_t at, uint64_t ns, int fd)
{
	return put_call("recv", at, ns,
			ARGS({"sockfd", INT, (uint64_t)fd}, {"ret", INT, (uint64_t)-1},
			     {"errno", INT, EAGAIN}, {"stack", POINTER, 1}));
}

static uint64_t answer(uint64_t at)
{
	return put_call("recv", at, 1000, ARGS({"sockfd", INT, FD}, {"ret", INT, 8}));
}

START_TEST(questions)
{
	uint64_t at = 10 * MS, answered = 0, unanswered = 0, lost = 0;
	bool is_open = false;

	random_seed(7700 + (uint64_t)_i);
	begin_trace();
	for (unsigned i = 0; i < CALLS; i++) {
		/* Some are long enough to be a limit that ran out. */
		uint64_t ns = 1 * MS + random_below(20) * MS, before = at;
		bool gives_up = false;

		switch (random_below(6)) {
		case 0:
		case 1:
			at = ask(at);
			is_open = true;
			break;
		case 2:
			at = answer(at);
			answered += is_open;
			is_open = false;
			break;
		case 3:
			gives_up = random_below(2);
			at = wait_in_poll(at, ns, gives_up ? 1 : 2);
			break;
		case 4:
			gives_up = random_below(2);
			at = give_up(at, ns, gives_up ? FD : OTHER_FD);
			break;
		default: at = put_call("fsync", at, ns, NO_ARGS); break;
		}
		if (gives_up && is_open && ns >= FXT_TIMEOUT_LEAST_NS) {
			unanswered++;
			lost += at - before - 1000;
			is_open = false;
		}
	}
	make_report(&report, 10);
	ck_assert_uint_gt(report.timeouts.count, 0);
	for (size_t i = 0; i < report.timeouts.count; i++) {
		const struct fxt_asker *one = &report.timeouts.threads[i];

		if (report.r->threads[i].tid != 7)
			continue;
		ck_assert_uint_eq(one->answered, answered);
		ck_assert_uint_eq(one->unanswered, unanswered);
		ck_assert_uint_eq(one->lost_ns, lost);
		answered = unanswered = 0;
	}
	ck_assert_uint_eq(answered + unanswered, 0);
	end_report(&report);
}
END_TEST

static const struct fxt_finding *found(unsigned rule)
{
	for (size_t i = 0; i < findings.count; i++)
		if (findings.list[i].rule == &fxt_rules[rule])
			return &findings.list[i];
	return NULL;
}

/* A server that waits with a limit for the next request is no fault, nor is one limit that ran out. */
START_TEST(the_rule)
{
	for (unsigned asks = 0; asks < 2; asks++) {
		unsigned count = 10;
		uint64_t at = 10 * MS;

		begin_trace();
		frame(1, 0, "ask_price", "/bin/app", 0x10);
		for (unsigned i = 0; i < count; i++) {
			if (asks || i == 0)
				at = ask(at);
			at = wait_in_poll(at, 60 * MS, 1);
		}
		make_report(&report, 10);
		fxt_findings_make(&findings, &report, 0);
		ck_assert_int_eq(found(FXT_RULE_timeout) != NULL, asks);
		if (asks) {
			char *line = fxt_who_line(report.who, found(FXT_RULE_timeout)->purpose,
						  found(FXT_RULE_timeout)->innermost, 100);

			ck_assert_ptr_nonnull(strstr(line, "ask_price"));
			ck_assert_uint_eq(found(FXT_RULE_timeout)->cost_calls, count);
			free(line);
		}
		fxt_findings_free(&findings);
		end_report(&report);
	}
}
END_TEST

/* A loop of sleeps is where the time goes, and no fault. */
START_TEST(sleeps)
{
	begin_trace();
	frame(1, 0, "await_cache", "/bin/app", 0x10);
	for (unsigned i = 0; i < 20; i++)
		event(COMPLETE, 1, "time", "usleep", (10 + 10 * i) * (uint64_t)MS,
		      (19 + 10 * i) * (uint64_t)MS, ARGS({"usec", UINT, 9000}, {"stack", POINTER, 1}));
	make_report(&report, 10);
	fxt_findings_make(&findings, &report, 0);
	ck_assert_ptr_nonnull(found(FXT_RULE_sleep_loop));
	ck_assert(!fxt_findings_has_fault(&findings));
	fxt_findings_free(&findings);
	end_report(&report);
}
END_TEST

int main(void)
{
	TCase *all = tcase_create("all");

	tcase_add_loop_test(all, questions, 0, 100);
	tcase_add_test(all, the_rule);
	tcase_add_test(all, sleeps);
	return RUN_SUITE("timeouts", all);
}
