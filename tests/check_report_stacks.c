/* This tests what the report says of who did something, by call stacks: who asked for memory, who waits and
 * who holds, who is stuck, whose calls were slow or failed, and who opened a descriptor. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "tools/printing/json.h"
#include "tools/stacks/stacks.h"
#include "trace_maker.h"

enum { TOP = 10, MS = 1000000 };
#define NODE(number) (UINT64_C(0x7fe0000000000000) + (number))
#define STACK(number) {"stack", POINTER, NODE(number)}

static char *text;

static void print_with(struct fxt_report_options options, bool as_json)
{
	struct fxt_report report;
	size_t bytes;
	FILE *out;

	make_report_with(&report, &options);
	free(text);
	out = open_memstream(&text, &bytes);
	if (as_json)
		print_report_json(&report, out);
	else
		print_report(&report, out);
	fclose(out);
	end_report(&report);
}

static void print(void)
{
	print_with((struct fxt_report_options){.top = TOP}, false);
}

static void expect(const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "there is no '%s' in:\n%.6000s", part, text);
}

static void expect_none(const char *part)
{
	ck_assert_msg(strstr(text, part) == NULL, "there is a '%s' in:\n%.6000s", part, text);
}

/* Fails if no line with `part` is among the first `lines` of the report. The lines of findings do not count,
 * nor is the part one of them. */
static void expect_early(const char *part, size_t lines)
{
	const char *tables = strstr(text, "\nThe tables are below"), *end = text, *found;
	const char *findings = strstr(text, "\n\n");

	ck_assert_ptr_nonnull(tables);
	tables = strchr(tables + 1, '\n') + 1;
	found = strstr(tables, part);
	for (; lines && *end; lines--)
		end = end == findings + 1 ? strchr(tables, '\n') + 1 : strchr(end, '\n') + 1;
	ck_assert_msg(found && found < end, "'%s' is not among the first lines of:\n%.6000s", part, text);
}

/* Writes the nodes of a stack, from `first` on, the innermost first: "name@module" or "name". */
static void stack_of(unsigned first, const char *const *functions)
{
	static char copies[512][2][128];
	static unsigned used;

	for (unsigned i = 0; functions[i]; i++) {
		const char *at = strchr(functions[i], '@');
		char *name = copies[used % 512][0], *module = copies[used++ % 512][1];

		snprintf(name, 128, "%.*s", at ? (int)(at - functions[i]) : 127, functions[i]);
		snprintf(module, 128, "%s", at ? at + 1 : "/opt/app/bank");
		frame(NODE(first + i), functions[i + 1] ? NODE(first + i + 1) : 0, *name ? name : NULL,
		      module, 0x1000 + 16 * (first + i));
	}
}
#define STACK_OF(first, ...) stack_of(first, (const char *const[]){__VA_ARGS__, NULL})

static void block(const char *name, uint64_t at, uint64_t id, uint64_t size, uint64_t stands_for,
		  unsigned node)
{
	event(ASYNC_BEGIN, 1, "malloc", name, at, id,
	      ARGS({"ptr", POINTER, 16 * id}, {"size", UINT, size}, {"stands_for", UINT, stands_for},
		   STACK(node)));
}

/* Writes one of the agent's counters, which are the process's. */
static void counted(const char *name, uint64_t at, uint64_t records)
{
	enum { COUNTER = 1 };

	event(COUNTER, 1, "agent", name, at, 0, ARGS({"records", UINT, records}));
}

static void freed(const char *name, uint64_t at, uint64_t id)
{
	event(ASYNC_END, 1, "malloc", name, at, id, NO_ARGS);
}

#define LIBC "@/lib/x86_64-linux-gnu/libc.so.6"
#define AGENT "@/usr/lib/libfxtagent.so.0"

/* -- The heap ------------------------------------------------------------------------------------------ */

START_TEST(names_who_asked)
{
	begin_trace();
	STACK_OF(1, "malloc" AGENT, "operator new(unsigned long)@/lib/libstdc++.so.6",
		 "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>(int const&)",
		 "load_config(char const*)", "read_all()", "main", "__libc_start_call_main" LIBC);
	STACK_OF(20, "malloc" AGENT, "xmalloc", "xstrdup", "read_line", "load_config(char const*)", "main",
		 "_start");
	block("heap block", 10, 1, 3 << 20, 0, 1);
	for (unsigned i = 0; i < 30; i++)
		block("heap sample", 20 + i, 2 + i, 64, 65568, 20);
	block("heap block", 100, 100, 1 << 20, 0, 1);
	freed("heap block", 200, 100);
	call(1, "time", "nanosleep", 0, 50 * MS);
	print();
	/* Blocks that pile up make the section the first one. */
	expect_early(
		"HEAP BY WHO ASKED FOR IT                   unfreed   blocks   at peak   blocks    in all",
		12);
	expect_early(
		"  load_config (bank)                      3.00 MiB        1  4.00 MiB        2  4.00 MiB",
		12);
	expect("      < read_all (bank) < main (bank)\n");
	expect("  read_line (bank)                       ~1.88 MiB  ~30 750 ~1.88 MiB  ~30 750 ~1.88 MiB");
	expect("      < load_config (bank) < main (bank)\n");
	expect("  ~ means about: of small blocks, 30 were drawn, and stand for all: one in 64.0 KiB\n");
	/* Nothing is said twice, and nobody sees addresses. */
	expect_none("NEVER FREED");
	expect_none("0x");
	for (const char *line = text; *line; line = strchr(line, '\n') + 1)
		ck_assert_msg(strcspn(line, "\n") <= 100, "%.120s", line);
}
END_TEST

/* What the agent counts as without a place is said where sums lack it. Sums that follow from calls lack no
 * block. The largest value of a counter counts. */
START_TEST(tells_what_is_missing)
{
	begin_trace();
	STACK_OF(1, "malloc" AGENT, "load", "main");
	block("heap block", 10, 1, 3 << 20, 0, 1);
	counted("blocks_not_kept", 30, 1234567);
	counted("blocks_not_kept", 20, 1000);
	counted("stacks_not_kept", 30, 89);
	print();
	expect("LOST: 1 234 567 heap blocks and samples, which found no place in the agent's table or the "
	       "trace\n");
	expect("LOST: 89 call stacks, which found no room in the agent's table of frames\n");
	expect("  too low: 1 234 567 blocks and samples found no place in the agent's table or the trace\n");
	expect("  callers are missing: 89 stacks found no room (FXT_STACKS=malloc:16 needs less)\n");
	expect_none("nothing lost");
	/* No call is missing. */
	expect_none("attempted");
	expect_none("calls are missing");
	for (const char *line = text; *line; line = strchr(line, '\n') + 1)
		ck_assert_msg(strcspn(line, "\n") <= 100, "%.120s", line);
	print_with((struct fxt_report_options){.top = TOP}, true);
	expect("\"blocks_not_kept\": 1234567,");
	expect("\"stacks_not_kept\": 89,");
	expect("\"blocks\": 1234567,");

	begin_trace();
	STACK_OF(1, "malloc" AGENT, "load", "main");
	for (unsigned i = 0; i < 8; i++)
		event(COMPLETE, 1, "malloc", "malloc", 10 + i, 10 + i,
		      ARGS({"size", UINT, 1 << 20}, {"ret", POINTER, 16 + 16 * i}, STACK(1)));
	for (unsigned i = 0; i < 8; i++)
		event(COMPLETE, 1, "malloc", "malloc", 20 + i, 20 + i,
		      ARGS({"size", UINT, 1 << 20}, {"ret", POINTER, 16 + 16 * (8 + i)}));
	counted("blocks_not_kept", 30, 5);
	counted("stacks_not_kept", 30, 8);
	print();
	expect("  load (bank)                             8.00 MiB        8  8.00 MiB        8  8.00 MiB");
	expect("  (caller not recorded)                   8.00 MiB        8  8.00 MiB        8  8.00 MiB");
	expect("  callers are missing: 8 stacks found no room ");
	expect("LOST: 5 heap blocks and samples, ");
	expect_none("too low");
}
END_TEST

/* A leak that is no large part of the heap is named in the first lines, and is the first of its section. */
START_TEST(names_small_leak)
{
	begin_trace();
	STACK_OF(1, "malloc" AGENT, "make_table", "main");
	STACK_OF(10, "malloc" AGENT, "session_open", "serve", "main");
	block("heap block", 10, 1, 100 << 20, 0, 1);
	for (unsigned i = 0; i < 3; i++)
		block("heap block", 20 + i, 10 + i, 70000, 0, 10);
	freed("heap block", 50, 1);
	call(1, "time", "nanosleep", 0, 50 * MS);
	print();
	expect_early("not freed: 205 KiB in 3 blocks, asked for by session_open (bank) < serve (bank)", 8);
	expect_early("heap at its peak: 100 MiB in 1 block, by make_table (bank) < main (bank)", 8);
	ck_assert(strstr(text, "  session_open (bank) ") < strstr(text, "  make_table (bank) "));
}
END_TEST

/* A helper that many call is told apart by its callers, and functions that call themselves are there
 * once. */
START_TEST(shared_helper)
{
	begin_trace();
	STACK_OF(1, "malloc" AGENT, "dup", "parse_a", "walk", "walk", "walk", "main");
	STACK_OF(10, "malloc" AGENT, "dup", "parse_a", "walk", "main");
	STACK_OF(20, "malloc" AGENT, "dup", "parse_b", "walk", "main");
	block("heap block", 10, 1, 100000, 0, 1);
	block("heap block", 20, 2, 100000, 0, 10);
	block("heap block", 30, 3, 70000, 0, 20);
	print();
	expect("  dup (bank)                               195 KiB        2   195 KiB        2");
	expect("      < parse_a (bank) < walk (bank) < main (bank)\n");
	expect("  dup (bank)                              68.4 KiB        1");
	expect("      < parse_b (bank) < walk (bank) < main (bank)\n");
	/* If the user says that it is a wrapper, its callers are asked. */
	print_with((struct fxt_report_options){.top = TOP, .wrappers = "nobody,du?"}, false);
	expect_none("  dup (bank)");
	expect("  parse_a (bank)                           195 KiB        2");
	print_with((struct fxt_report_options){.top = TOP, .wrappers = "bank"}, false);
	expect("  (a library, for itself)                  264 KiB        3");
}
END_TEST

/* What libstdc++ keeps for exceptions is nobody's leak. */
START_TEST(library_keeps)
{
	begin_trace();
	STACK_OF(1, "malloc" AGENT, "@/lib/libstdc++.so.6", "call_init@/lib64/ld-linux-x86-64.so.2",
		 "_dl_start_user@/lib64/ld-linux-x86-64.so.2");
	block("heap block", 10, 1, 72704, 0, 1);
	call(1, "time", "nanosleep", 0, 50 * MS);
	print();
	expect_none("HEAP BY WHO");
	expect_none("not freed");
}
END_TEST

START_TEST(sorts)
{
	begin_trace();
	STACK_OF(1, "malloc" AGENT, "leaker");
	STACK_OF(10, "malloc" AGENT, "churner");
	STACK_OF(20, "malloc" AGENT, "counter");
	block("heap block", 10, 1, 100000, 0, 1);
	for (unsigned i = 0; i < 8; i++) {
		block("heap block", 20 + 2 * i, 10 + i, 90000, 0, 10);
		freed("heap block", 21 + 2 * i, 10 + i);
	}
	for (unsigned i = 0; i < 20; i++) {
		block("heap block", 50 + 2 * i, 30 + i, 66000 / 4, 0, 20);
		freed("heap block", 51 + 2 * i, 30 + i);
	}
	print_with((struct fxt_report_options){.top = 2, .sort = (enum fxt_sort)_i}, false);
	expect(_i == FXT_SORT_SELF ? "  leaker " : _i == FXT_SORT_TOTAL ? "  churner " : "  counter ");
	expect("  and 2 more\n");
}
END_TEST

/* -- Waits --------------------------------------------------------------------------------------------- */

/* The first thread takes its own lock again, through three layers that only hand on. */
START_TEST(self_deadlock)
{
	const char *tables;

	begin_trace();
	STACK_OF(1, "pthread_mutex_lock" AGENT, "Mutex::lock()", "std::lock_guard<Mutex>::lock_guard(Mutex&)",
		 "account_lock", "withdraw(Account&, int)", "transfer", "std::thread::run()", "main",
		 "__libc_start_call_main" LIBC);
	named(1, "mutex", 0x50, "accounts", 0);
	event(BEGIN, 1, "pthread", "pthread_mutex_lock", 10 * MS, 0, ARGS({"mutex", POINTER, 0x50}));
	event(INSTANT, 1, "agent", "contended", 10 * MS + 20, 0,
	      ARGS({"mutex", POINTER, 0x50}, STACK(1), {"at", TEXT, TEXT_OF("Mutex::lock()")},
		   {"holder", KOID, 7}, {"held_at", TEXT, TEXT_OF("Mutex::lock()")},
		   {"held_ns", UINT, 5 * MS}));
	call(2, "time", "nanosleep", 0, 100 * MS);
	print();
	expect_early("DEADLOCK\n  7 has waited 90.0 ms for accounts,\n", 8);
	expect_early("      in withdraw (bank)\n      < transfer (bank)\n      < main (bank)\n", 12);
	/* The call that is still open need not say it again, and an instant is no call. */
	tables = strstr(text, "The tables are below");
	ck_assert_ptr_null(strstr(strstr(tables, "in withdraw") + 1, "in withdraw"));
	expect_none("\n  blocked ");
}
END_TEST

/* A thread that waits in something that is no lock has a stack as well. One that has said where it was before
 * the call began has none. */
START_TEST(hangs_in_a_call)
{
	begin_trace();
	STACK_OF(1, "sem_wait" AGENT, "uv_sem_wait@/lib/libuv.so.1", "wait_for_work", "main");
	event(INSTANT, 1, "pthread", "blocked", 5, 0, ARGS(STACK(1)));
	event(BEGIN, 1, "pthread", "sem_wait", _i ? 4 : 6, 0, ARGS({"sem", POINTER, 0x50}));
	call(2, "time", "nanosleep", 0, 100 * MS);
	print();
	if (_i)
		expect("      in wait_for_work (bank)\n      < main (bank)\n");
	else
		expect_none("wait_for_work");
}
END_TEST

static void contended(unsigned who, uint64_t from, uint64_t to, unsigned node)
{
	event(COMPLETE, who, "pthread", "pthread_mutex_lock", from, to,
	      ARGS({"mutex", POINTER, 0x50}, {"at", TEXT, TEXT_OF("my_lock")},
		   {"held_at", TEXT, TEXT_OF("my_lock")}, {"held_ns", UINT, 2 * MS}, STACK(node)));
}

/* The agent says it with the call in which the other thread waited. */
static void contended_with(unsigned who, uint64_t from, uint64_t to, unsigned node, unsigned holder)
{
	event(COMPLETE, who, "pthread", "pthread_mutex_lock", from, to,
	      ARGS({"mutex", POINTER, 0x50}, {"at", TEXT, TEXT_OF("my_lock")},
		   {"held_stack", POINTER, NODE(holder)}, STACK(node)));
}

static void unlocked(unsigned who, uint64_t at, unsigned node)
{
	event(INSTANT, who, "pthread", "unlocked", at, 0, ARGS({"mutex", POINTER, 0x50}, STACK(node)));
}

/* All take the lock by one wrapper. Who waits and who holds is told nevertheless. */
START_TEST(waiters_and_holders)
{
	begin_trace();
	STACK_OF(1, "pthread_mutex_lock" AGENT, "my_lock", "withdraw", "teller", "start_thread" LIBC);
	STACK_OF(10, "pthread_mutex_lock" AGENT, "my_lock", "deposit", "teller", "start_thread" LIBC);
	STACK_OF(20, "pthread_mutex_unlock" AGENT, "my_unlock", "audit", "nightly", "main");
	STACK_OF(30, "pthread_mutex_lock" AGENT, "my_lock", "report", "main");
	named(1, "mutex", 0x50, "accounts", 0);
	unlocked(1, 12 * MS, 20);
	contended(2, 10 * MS, 12 * MS + 1000, 1);
	unlocked(1, 22 * MS, 20);
	contended(2, 20 * MS, 22 * MS + 1000, 1);
	contended(3, 30 * MS, 31 * MS, 10);
	contended_with(3, 40 * MS, 40 * MS + 500000, 30, 20);
	print();
	expect("  mutex accounts                       500 us            1    500 us\n"
	       "      wanted by report (bank) < main (bank)\n"
	       "      held by audit (bank) < nightly (bank) < main (bank)\n");
	expect("CONTENDED LOCKS ");
	expect("  mutex accounts                      4.00 ms            2   2.00 ms\n"
	       "      wanted by withdraw (bank) < teller (bank)\n"
	       "      held by audit (bank) < nightly (bank) < main (bank), for 2.00 ms\n");
	expect("  mutex accounts                      1.00 ms            1   1.00 ms\n"
	       "      wanted by deposit (bank) < teller (bank)\n"
	       "      held in my_lock for 2.00 ms\n");
	expect_none("unlocked");
}
END_TEST

/* -- Other calls --------------------------------------------------------------------------------------- */

START_TEST(slow_calls)
{
	begin_trace();
	STACK_OF(1, "fsync" AGENT, "save", "main");
	for (unsigned i = 0; i < 10; i++)
		call(1, "process", "fork", i * 100, i * 100 + 50);
	event(COMPLETE, 1, "process", "fork", 10 * MS, 15 * MS, ARGS(STACK(1)));
	event(COMPLETE, 1, "process", "kill", 20 * MS, 20 * MS + 10, ARGS(STACK(1)));
	print();
	expect("      100% by save (bank) < main (bank)\n");
	ck_assert_ptr_null(strstr(strstr(text, "% by") + 1, "% by"));
}
END_TEST

/* Descriptors of different files that one function has opened are one line. */
START_TEST(descriptors_by_opener)
{
	static char paths[120][24];

	begin_trace();
	STACK_OF(1, "open" AGENT, "fopen" LIBC, "open_log", "serve", "main");
	for (unsigned i = 0; i < 120; i++) {
		snprintf(paths[i], sizeof(paths[i]), "/var/log/%u", i);
		event(ASYNC_BEGIN, 1, "io", "file", 100 * (i + 1), i + 1,
		      ARGS({"fd", INT, 5 + i}, {"call", TEXT, TEXT_OF("open")},
			   {"path", TEXT, TEXT_OF(paths[i])}, STACK(1)));
	}
	print();
	expect_early("DESCRIPTORS STILL OPEN AT THE END", 8);
	expect("  /var/log/0 and others                   120");
	expect("      by open_log (bank) < serve (bank) < main (bank)\n");
}
END_TEST

START_TEST(failed_calls)
{
	begin_trace();
	STACK_OF(1, "open" AGENT, "load_config", "main");
	STACK_OF(10, "open" AGENT, "find_plugin", "main");
	for (unsigned i = 0; i < 12; i++)
		event(COMPLETE, 1, "io", "open", i * MS, i * MS + 10,
		      ARGS({"ret", INT, UINT64_MAX}, {"errno", INT, 2},
			   {i < 2 ? "stack" : NULL, POINTER, NODE(i ? 10 : 1)}));
	event(COMPLETE, 2, "io", "open", 20 * MS, 20 * MS + 10,
	      ARGS({"ret", INT, UINT64_MAX}, {"errno", INT, 13}));
	event(INSTANT, 2, "agent", "failed", 20 * MS + 20, 0, ARGS(STACK(10), {"errno", INT, 13}));
	event(INSTANT, 2, "agent", "failed", 20 * MS + 20, 0, ARGS(STACK(1), {"errno", INT, 14}));
	print();
	expect("Permission denied\n      find_plugin (bank) < main (bank)\n");
	ck_assert_ptr_null(strstr(strstr(text, "Permission denied"), "load_config"));
	expect("FAILED CALLS ");
	expect("  open                                     12       0 ns  No such file or directory\n"
	       "      load_config (bank) < main (bank)\n"
	       "      find_plugin (bank) < main (bank)\n");
}
END_TEST

/* -- Lines of source ------------------------------------------------------------------------------------ */

static int base_of(struct dl_phdr_info *info, size_t bytes, void *base)
{
	(void)bytes;
	*(uint64_t *)base = info->dlpi_addr;
	return 1;
}

__attribute__((noinline)) static int here(void)
{
	return __LINE__;
}

START_TEST(has_lines)
{
	struct fxt_frame_names *source = fxt_frame_names_open(INT32_MAX);
	char path[PATH_MAX], expected[64];
	uint64_t base = 0;

	if (!source || !realpath("/proc/self/exe", path))
		return;
	dl_iterate_phdr(base_of, &base);
	begin_trace();
	frame(NODE(2), 0, "here", path, (uint64_t)(uintptr_t)here - base + 4);
	frame(NODE(1), NODE(2), "malloc", "/usr/lib/libfxtagent.so.0", 0x10);
	block("heap block", 10, 1, 100000, 0, 1);
	print_with((struct fxt_report_options){.top = TOP, .source = source}, false);
	/* Compilers differ in which line of a short function an instruction is of. */
	for (int i = -2; i <= 1; i++) {
		snprintf(expected, sizeof(expected), "  here (check_report_stacks.c:%d) ", here() + i);
		if (strstr(text, expected))
			break;
	}
	expect(expected);
	fxt_frame_names_close(source);
}
END_TEST

/* -- Stacks for other tools ----------------------------------------------------------------------------- */

START_TEST(folds)
{
	struct fxt_stacks stacks;
	struct fxt_report report;
	size_t bytes;
	FILE *out;

	begin_trace();
	STACK_OF(1, "malloc" AGENT, "load", "main");
	STACK_OF(10, "malloc" AGENT, "load", "main");
	object_name(7, 0, "bank");
	block("heap block", 10, 1, 1000, 0, 1);
	block("heap block", 20, 2, 500, 0, 10);
	block("heap block", 30, 3, 70, 0, 999);
	make_report(&report, TOP);
	fxt_stacks_begin(&stacks, FXT_STACKS_BYTES);
	for (size_t i = 0; i < report.heap_stacks.count; i++)
		fxt_stacks_add(&stacks, &report.who->stacks, &reader, 7, report.heap_stacks.list[i].innermost,
			       (uint64_t)report.heap_stacks.list[i].left.bytes);
	fxt_stacks_finish(&stacks);
	free(text);
	out = open_memstream(&text, &bytes);
	fxt_stacks_print_folded(&stacks, out);
	fxt_stacks_print_flame(&stacks, "title", 0, out);
	fclose(out);
	expect("bank;main;load;malloc 1500\n");
	expect("bank 70\n");
	expect("<title>load (1.46 KiB, 95.54%)</title>");
	fxt_stacks_free(&stacks);
	end_report(&report);
}
END_TEST

/* -- Traces from anywhere ------------------------------------------------------------------------------- */

/* Stacks that are not there, circles, code without names, events without ends, and sizes that add up beyond
 * 64 bits. */
START_TEST(survives)
{
	begin_trace();
	frame(NODE(1), NODE(2), NULL, NULL, 0);
	frame(NODE(2), NODE(1), NULL, "", 5);
	frame(NODE(3), NODE(3), NULL, NULL, 0x55);
	frame(NODE(4), NODE(77), NULL, "/lib/libnone.so", 0x48ea);
	frame(NODE(5), NODE(4), "\x1b[31m", "/", UINT64_MAX);
	for (unsigned i = 0; i < 8; i++) {
		block(i % 2 ? "heap sample" : "heap block", 10 + i, 1 + i, UINT64_MAX - i, UINT64_MAX, i);
		block("heap sample", 30 + i, 20 + i, i, i % 2 ? UINT64_MAX : 0, i);
		block("mapping", 50 + i, 40 + i, UINT64_MAX - i, 0, i);
		freed("heap sample", 70 + i, 90 + i);
		event(INSTANT, 1, "pthread", "blocked", 80 + i, 0, ARGS(STACK(i)));
		event(INSTANT, 1, "pthread", "unlocked", 80 + i, 0, ARGS(STACK(i)));
		contended(1 + i % 3, MS * (1 + i), MS * (2 + i), i);
		event(COMPLETE, 2, "io", "open", i * MS, UINT64_MAX / 4,
		      ARGS({"errno", INT, i * UINT64_C(0x7fffffff)}, STACK(i)));
		event(COMPLETE, 2, "malloc", "calloc", i * MS, i * MS + 1,
		      ARGS({"size", UINT, UINT64_MAX}, {"nmemb", UINT, i}, {"ret", POINTER, 16}, STACK(i)));
	}
	event(INSTANT, 1, "pthread", "blocked", 5, 0, ARGS({"stack", UINT, NODE(1)}));
	event(BEGIN, 1, "pthread", "sem_wait", 6, 0, ARGS(STACK(1)));
	print();
	expect("HEAP BY WHO ASKED FOR IT ");
	expect("libnone.so+0x48ea");
	expect_none("\x1b");
	print_with((struct fxt_report_options){.top = FXT_TOP_ALL, .wrappers = ",[,*\\,"}, false);
	print_with((struct fxt_report_options){.top = TOP}, true);
	expect("\"heap_stacks\": [");
}
END_TEST

/* A chain that is as long as a trace can make it takes no longer for each of its nodes. */
START_TEST(survives_depth)
{
	enum { DEEP = 30000 };

	begin_trace();
	for (unsigned i = 0; i < DEEP; i++) {
		frame(NODE(i), NODE(i + 1), i % 2 ? "even" : "odd", "/bin/app", i);
		block("heap block", 10 + i, 1 + i, 100, 0, i);
	}
	print();
	expect("HEAP BY WHO ASKED FOR IT ");
}
END_TEST

START_TEST(json_has_stacks)
{
	begin_trace();
	STACK_OF(1, "malloc" AGENT, "load", "main");
	block("heap sample", 10, 1, 100, 65586, 1);
	event(ASYNC_BEGIN, 2, "pthread", "thread", 20, 2, ARGS({"thread", POINTER, 0x10}, STACK(1)));
	print_with((struct fxt_report_options){.top = TOP}, true);
	expect("\"heap_stacks\": [");
	expect("\"estimate\": true");
	expect("\"bytes_a_sample\": 65536");
	expect("\"function\": \"load\"");
	expect("\"wrapper\": false");
	expect("\"failures\": []");
	expect("\"made_by\": [");
}
END_TEST

int main(void)
{
	TCase *heap = tcase_create("heap"), *waits = tcase_create("waits"), *others = tcase_create("others"),
	      *anything = tcase_create("anything");

	tcase_add_test(heap, names_who_asked);
	tcase_add_test(heap, tells_what_is_missing);
	tcase_add_test(heap, names_small_leak);
	tcase_add_test(heap, shared_helper);
	tcase_add_test(heap, library_keeps);
	tcase_add_loop_test(heap, sorts, FXT_SORT_SELF, FXT_SORT_COUNT + 1);
	tcase_add_test(waits, self_deadlock);
	tcase_add_loop_test(waits, hangs_in_a_call, 0, 2);
	tcase_add_test(waits, waiters_and_holders);
	tcase_add_test(others, slow_calls);
	tcase_add_test(others, descriptors_by_opener);
	tcase_add_test(others, failed_calls);
	tcase_add_test(others, has_lines);
	tcase_add_test(others, folds);
	tcase_add_test(anything, survives);
	tcase_add_test(anything, survives_depth);
	tcase_add_test(anything, json_has_stacks);
	tcase_set_timeout(anything, 60);
	return RUN_SUITE("report: who, by call stacks", heap, waits, others, anything);
}
