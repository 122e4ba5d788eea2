/* Counts the calls of functions, for the programs of this folder, which tests/e2e/entries.sh compiles and
 * traces. A function that is COUNTED begins with HERE, or with HERE_IS(NAME) where its symbol differs from
 * __func__. print_counts() prints "NAME CALLS" for each function that was called, sorted by name. No tracer
 * sees a function that is PLAIN, whatever the compiler's options are.
 *
 * A program checks its own results by need(). So one that a tracer confuses says in which line it noticed.
 */
#ifndef COUNTED_H
#define COUNTED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN __attribute__((no_instrument_function, patchable_function_entry(0)))

/* Compilers must neither inline nor copy a function, nor leave out one of its calls. */
#ifdef __clang__
#define COUNTED __attribute__((noinline, optnone))
#else
#define COUNTED __attribute__((noipa))
#endif

/* Keeps a compiler from making a loop of a function that calls itself. */
#define KEEP(value) __asm__ volatile("" : "+r"(value))

struct counter {
	const char *name;
	long calls;
	long inherited;                 /* frames of the function that a child had when it was forked */
	int is_listed;
	struct counter *next;
};

static struct counter *counters;

/* May be called by any thread and any signal handler. */
PLAIN static inline void count(struct counter *counter)
{
	if (!__atomic_load_n(&counter->is_listed, __ATOMIC_RELAXED) &&
	    !__atomic_exchange_n(&counter->is_listed, 1, __ATOMIC_RELAXED)) {
		counter->next = __atomic_load_n(&counters, __ATOMIC_RELAXED);
		while (!__atomic_compare_exchange_n(&counters, &counter->next, counter, 0, __ATOMIC_RELEASE,
						    __ATOMIC_RELAXED))
			;
	}
	__atomic_fetch_add(&counter->calls, 1, __ATOMIC_RELAXED);
}

#define HERE_IS(name)                                                         \
	do {                                                                  \
		static struct counter here = {name, 0, 0, 0, NULL};           \
		count(&here);                                                 \
	} while (0)
#define HERE HERE_IS(__func__)

PLAIN static inline void need_at(int condition, int line)
{
	if (condition)
		return;
	printf("FAIL: line %d\n", line);
	fflush(stdout);
	_Exit(1);
}

#define need(condition) need_at(!!(condition), __LINE__)

PLAIN static inline int compare_names(const void *a, const void *b)
{
	return strcmp((*(struct counter *const *)a)->name, (*(struct counter *const *)b)->name);
}

/* A count of inherited frames is a third word of its line. */
PLAIN static inline void print_counts_to(FILE *file)
{
	enum { MOST = 100 };
	struct counter *sorted[MOST], *counter;
	size_t used = 0, i;

	for (counter = counters; counter; counter = counter->next) {
		need(used < MOST);
		sorted[used++] = counter;
	}
	qsort(sorted, used, sizeof(*sorted), compare_names);
	for (i = 0; i < used; i++)
		if (sorted[i]->inherited)
			fprintf(file, "%s %ld %ld\n", sorted[i]->name, sorted[i]->calls,
				sorted[i]->inherited);
		else
			fprintf(file, "%s %ld\n", sorted[i]->name, sorted[i]->calls);
	fflush(file);
}

PLAIN static inline void print_counts(void)
{
	print_counts_to(stdout);
}

#endif
