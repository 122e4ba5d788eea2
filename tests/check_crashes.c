/* This tests what fxt report says of a program that died by a signal (crashes.h, crash_words.h): what a
 * random heap had at a random address is compared with a model of that heap; a stack that overflowed is told
 * from the crash or from the kernel's last sample; and each signal has its words. FXT_SEED=N draws the same
 * heaps again. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/random.h"
#include "suite.h"
#include "tools/common/message.h"
#include "tools/findings/rules.h"
#include "trace_maker.h"

enum { MS = 1000000, OWN = 7, SI_KERNEL_CODE = 128 };

static struct fxt_report report;
static struct fxt_findings findings;

/* Makes the report and returns its first finding, which is about the end. */
static const struct fxt_finding *find(void)
{
	char *rule;

	make_report(&report, 10);
	fxt_findings_make(&findings, &report, 0);
	ck_assert_uint_ge(findings.count, 1);
	rule = fxt_rule_label(findings.list[0].rule);
	ck_assert_str_eq(rule, "ends");
	free(rule);
	return &findings.list[0];
}

static void end(void)
{
	fxt_findings_free(&findings);
	end_report(&report);
}

static void expect_part(const char *text, const char *part)
{
	ck_assert_msg(text && strstr(text, part), "there is no '%s' in '%s'", part, text ? text : "(null)");
}

/* Fails unless a line of evidence has this part. */
static void expect_evidence(const struct fxt_finding *x, const char *part)
{
	for (unsigned i = 0; i < x->evidence_count; i++)
		if (strstr(x->evidence[i], part))
			return;
	ck_abort_msg("no evidence has '%s'; the first is '%s'", part,
		     x->evidence_count ? x->evidence[0] : "(none)");
}

static void expect_no_evidence(const struct fxt_finding *x, const char *part)
{
	for (unsigned i = 0; i < x->evidence_count; i++)
		ck_assert_msg(!strstr(x->evidence[i], part), "the evidence is '%s'", x->evidence[i]);
}

static void expect_culprit(const struct fxt_finding *x, const char *function)
{
	char *line = fxt_who_line(report.who, x->purpose, x->innermost, 100);

	expect_part(line, function);
	free(line);
}

/* A fault of memory at this address, in the function of node 3. */
static void fault(int signal, int code, uint64_t address, uint64_t sp, const char *access, uint64_t at)
{
	event(INSTANT, 1, "agent", "crash", at, 0,
	      ARGS({"signal", INT, (uint64_t)signal}, {"code", INT, (uint64_t)code},
		   {"ip", POINTER, 0x401000}, {"sp", POINTER, sp}, {"address", POINTER, address},
		   {"access", TEXT, TEXT_OF(access)}, {"stack", POINTER, 3}));
}

static void begin(void)
{
	begin_trace();
	frame(1, 0, "main", "/bin/app", 0x10);
	frame(2, 1, "free_it", "/bin/app", 0x20);
	frame(3, 1, "use_it", "/bin/app", 0x30);
	frame(4, 1, "make_it", "/bin/app", 0x40);
}

/* -- What was at the address ------------------------------------------------------------------------- */

enum { PLACES = 6, PLACE_BYTES = 0x10000, BASE = 0x7000000 };

/* The model: the last block that was at each place, which are far from each other. */
static struct block {
	uint64_t bytes, freed_ns, id;
	bool is_there, has_life;
} blocks[PLACES];

static uint64_t at_of(unsigned place)
{
	return BASE + (uint64_t)place * PLACE_BYTES;
}

static void free_block(struct block *b, unsigned place, uint64_t at)
{
	event(COMPLETE, 1, "malloc", "free", at, at + 10, ARGS({"ptr", POINTER, at_of(place)}));
	if (b->has_life)
		event(ASYNC_END, 1, "malloc", "heap block", at + 20, b->id, ARGS({"stack", POINTER, 2}));
	b->is_there = false;
	b->freed_ns = at;
}

static void make_block(struct block *b, unsigned place, uint64_t at, uint64_t id)
{
	*b = (struct block){.bytes = 8 + random_below(4000), .id = id, .is_there = true,
			    .has_life = random_below(2)};
	event(COMPLETE, 1, "malloc", "malloc", at, at + 10,
	      ARGS({"size", UINT, b->bytes}, {"ret", POINTER, at_of(place)}));
	if (b->has_life)
		event(ASYNC_BEGIN, 1, "malloc", "heap block", at + 20, id,
		      ARGS({"ptr", POINTER, at_of(place)}, {"size", UINT, b->bytes}, {"stack", POINTER, 4}));
}

/* Makes and frees blocks until `*ns`. Returns the last one that had this offset at this place, or, if none
 * had it, the last one that ended less than a page before it; with 0 bytes, there was none. */
static struct block random_heap(unsigned place, int64_t offset, uint64_t *ns)
{
	struct block had = {0}, near = {0};

	memset(blocks, 0, sizeof(blocks));
	for (unsigned i = 0; i < 40; i++, *ns += 1000) {
		unsigned at = (unsigned)random_below(PLACES - 1);
		struct block *b = &blocks[at];

		if (!b->is_there)
			make_block(b, at, *ns, i + 1);
		else
			free_block(b, at, *ns);
		if (at == place && offset < (int64_t)b->bytes)
			had = *b;
		if (at == place && offset < (int64_t)b->bytes + 4096)
			near = *b;
	}
	return had.bytes ? had : near;
}

static char *words_for(const struct block *b, int64_t offset)
{
	return offset < 0 ? fxt_format("the address is %d bytes before a block of %" PRIu64, -(int)offset,
				       b->bytes)
	       : offset < (int64_t)b->bytes
		       ? fxt_format("the address is in a block of %" PRIu64 " bytes", b->bytes)
		       : fxt_format("the address is %" PRIu64 " bytes behind a block of %" PRIu64,
				    (uint64_t)offset - b->bytes, b->bytes);
}

START_TEST(the_block_at_an_address_is_that_of_a_model)
{
	for (unsigned round = 0; round < 100; round++) {
		/* The last place never has a block. */
		unsigned place = (unsigned)random_below(PLACES);
		int64_t offset = (int64_t)random_below(6000) - 16;
		uint64_t ns = 1000;
		const struct fxt_finding *x;
		struct block b;
		char *words;

		begin();
		b = random_heap(place, offset, &ns);
		fault(SIGSEGV, 1, at_of(place) + (uint64_t)offset, 0x7fff00000000,
		      random_below(2) ? "read" : "write", ns + MS);
		/* What comes afterwards, from other threads, is nothing to the crash. */
		event(COMPLETE, 2, "malloc", "malloc", ns + 2 * MS, ns + 2 * MS + 10,
		      ARGS({"size", UINT, 1000000}, {"ret", POINTER, BASE}));
		x = find();
		expect_culprit(x, "use_it");
		if (b.bytes) {
			words = words_for(&b, offset);
			expect_evidence(x, words);
			free(words);
			if (b.is_there)
				expect_no_evidence(x, "freed");
			else
				expect_evidence(x, b.has_life ? "that free_it (app) freed"
							      : "that was freed");
			if (b.has_life)
				expect_evidence(x, "make_it (app) asked for that block");
		} else {
			expect_evidence(x, "there is no memory");
			expect_no_evidence(x, "a block");
		}
		end();
	}
}
END_TEST

/* -- Stacks that overflow ------------------------------------------------------------------------------- */

/* Writes the nodes of `depth` frames of descend() and answer() in turn, as deep as main(). Returns the
 * innermost, and how many of them are descend()'s. */
static uint64_t write_recursion(unsigned depth, unsigned every, unsigned *times)
{
	uint64_t node = 100;

	*times = 0;
	for (unsigned i = 0; i < depth; i++, node++) {
		bool is_other = every && i % every == 1;

		frame(node, i ? node - 1 : 1, is_other ? "answer" : "descend", "/bin/app", 0x100 + i);
		*times += !is_other;
	}
	return node - 1;
}

START_TEST(an_overflow_is_told_by_the_address)
{
	for (unsigned round = 0; round < 20; round++) {
		uint64_t sp = 0x7ffe00000000 + random_below(4096) * 16, below = random_below(60000);
		uint64_t innermost;
		const struct fxt_finding *x;
		unsigned times, depth = 5 + (unsigned)random_below(50);
		bool is_overflow = random_below(3) != 0;
		char *part;

		begin();
		innermost = write_recursion(depth, (unsigned)random_below(4) + 2, &times);
		event(INSTANT, 1, "agent", "crash", 10 * MS, 0,
		      ARGS({"signal", INT, SIGSEGV}, {"code", INT, 1}, {"sp", POINTER, sp},
			   {"address", POINTER, is_overflow ? sp - below : sp + 8192 + below},
			   {"stack", POINTER, innermost}));
		x = find();
		part = fxt_format("%u of the %u innermost frames are ", times, depth + 1);
		if (is_overflow) {
			expect_part(x->what, "(Segmentation fault): its stack overflowed");
			expect_culprit(x, "descend");
			expect_evidence(x, part);
		} else {
			expect_part(x->what, ": it used address 0x7ff");
			expect_no_evidence(x, part);
		}
		ck_assert_ptr_null(x->sure);
		free(part);
		end();
	}
}
END_TEST

/* A process that the kernel has seen in a recursion, and that has left no crash. */
static const struct fxt_finding *sampled(int signal, unsigned depth, unsigned *times)
{
	uint64_t innermost;

	begin();
	call(1, "io", "fsync", 1 * MS, 2 * MS);
	event(INSTANT, 1, "process", "exit", 30 * MS, 0, ARGS({"signal", INT, (uint64_t)signal}));
	kernel();
	frame(50, 0, "main", "/bin/app", 0x10);
	sample(OWN, OWN, 5 * MS, 50, "main");
	innermost = write_recursion(depth, 0, times);
	sample(OWN, OWN, 20 * MS, innermost, "descend");
	return find();
}

START_TEST(an_overflow_is_told_by_the_last_sample)
{
	const struct fxt_finding *x;
	unsigned times;
	char *part;

	for (unsigned depth = 2; depth < 60; depth += 1 + (unsigned)random_below(9)) {
		x = sampled(SIGSEGV, depth, &times);
		if (times >= 4) {
			expect_part(x->what, ": its stack overflowed");
			ck_assert_str_eq(x->sure, "likely");
			expect_culprit(x, "descend");
			part = fxt_format("%u of %u frames were descend", times, depth);
			expect_evidence(x, part);
			free(part);
		} else {
			ck_assert_ptr_null(strstr(x->what, "overflowed"));
			ck_assert_ptr_null(x->sure);
		}
		end();
	}
	/* Other signals do not come from that. */
	x = sampled(SIGBUS, 40, &times);
	ck_assert_ptr_null(strstr(x->what, "overflowed"));
	end();
}
END_TEST

/* -- Words ------------------------------------------------------------------------------------------ */

START_TEST(each_signal_has_its_words)
{
	static const struct {
		int signal, code;
		const char *access, *words, *evidence;
		uint64_t address;
	} faults[] = {
		{SIGSEGV, 1, "read", "it read address 0x10", "a null pointer and 16 bytes", 0x10},
		{SIGSEGV, 1, "write", "it wrote to address 0x1", "a null pointer and 1 byte", 1},
		{SIGSEGV, 1, "execute", "it executed code at address 0x0", "a null pointer and 0 bytes", 0},
		{SIGSEGV, 2, "write", "it wrote to address 0x5000", "no right to do so there", 0x5000},
		{SIGSEGV, 1, "read", "it read address 0x5000", "there is no memory", 0x5000},
		{SIGBUS, 2, "write", "it wrote to address 0x5000", "behind the end of a file", 0x5000},
		{SIGFPE, 1, "", "it divided by zero", NULL, 0x401000},
		{SIGILL, 2, "", "there is no such instruction, at 0x401000", NULL, 0x401000},
		{SIGTRAP, SI_KERNEL_CODE, "", "it came to a breakpoint", NULL, 0},
		{SIGSYS, 1, "", "it made a system call that its filter forbids", NULL, 0},
	};
	static const struct {
		int signal;
		uint64_t sender;
		const char *words;
	} sent[] = {{SIGABRT, OWN, "it aborted"}, {SIGSEGV, OWN, "it sent this to itself"},
		    {SIGFPE, 4711, "process 4711 sent this"},
		    {SIGPIPE, OWN, "it wrote where nobody reads any more"}};
	const struct fxt_finding *x;

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		begin();
		fault(faults[i].signal, faults[i].code, faults[i].address, 0x7fff00000000, faults[i].access,
		      MS);
		x = find();
		expect_part(x->what, faults[i].words);
		expect_culprit(x, "use_it");
		if (faults[i].evidence)
			expect_evidence(x, faults[i].evidence);
		end();
	}
	for (size_t i = 0; i < sizeof(sent) / sizeof(*sent); i++) {
		begin();
		event(INSTANT, 1, "agent", "crash", MS, 0,
		      ARGS({"signal", INT, (uint64_t)sent[i].signal}, {"code", INT, 0},
			   {"pid", INT, sent[i].sender}, {"stack", POINTER, 3}));
		x = find();
		expect_part(x->what, sent[i].words);
		end();
	}
	/* The kernel tells no address of what no memory can have. */
	begin();
	event(INSTANT, 1, "agent", "crash", MS, 0,
	      ARGS({"signal", INT, SIGSEGV}, {"code", INT, SI_KERNEL_CODE}, {"stack", POINTER, 3}));
	expect_part(find()->what, "it used an invalid address");
	end();
}
END_TEST

/* The last crash of a process counts, if it was by the signal that ended it. */
START_TEST(a_crash_of_another_signal_is_not_told)
{
	begin();
	fault(SIGFPE, 1, 0, 0x7fff00000000, "", MS);
	event(INSTANT, 1, "process", "exit", 2 * MS, 0, ARGS({"signal", INT, SIGSEGV}));
	ck_assert_ptr_null(strstr(find()->what, "divided"));
	end();
}
END_TEST

START_TEST(who_reads_no_more_is_told)
{
	const struct fxt_finding *x;

	begin();
	call(1, "io", "fsync", 1 * MS, 2 * MS);
	event(INSTANT, 1, "agent", "crash", 20 * MS, 0,
	      ARGS({"signal", INT, SIGPIPE}, {"code", INT, 0}, {"pid", INT, OWN}, {"stack", POINTER, 3}));
	provider(8);
	thread(1, 8, 8);
	object_name(8, 0, "pager");
	event(INSTANT, 1, "process", "exit", 15 * MS, 0, ARGS({"status", INT, 3}));
	x = find();
	expect_evidence(x, "pager 8 had ended 5.00 ms before, with status 3");
	end();
}
END_TEST

int main(void)
{
	TCase *memory = tcase_create("memory"), *stacks = tcase_create("stacks");
	TCase *words = tcase_create("words");

	random_seed(0);
	tcase_add_test(memory, the_block_at_an_address_is_that_of_a_model);
	tcase_add_test(stacks, an_overflow_is_told_by_the_address);
	tcase_add_test(stacks, an_overflow_is_told_by_the_last_sample);
	tcase_add_test(words, each_signal_has_its_words);
	tcase_add_test(words, a_crash_of_another_signal_is_not_told);
	tcase_add_test(words, who_reads_no_more_is_told);
	return RUN_SUITE("crashes", memory, stacks, words);
}
