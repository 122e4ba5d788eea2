/* This runs the fuzz target (tests/fuzz/fuzz_reader.c) on some damaged traces, so that it builds and works
 * whenever somebody wants to fuzz with it. `make fuzz` looks for faults in earnest. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "apps/random.h"
#include "suite.h"
#include "trace_maker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Puts a trace of two programs together that has records of most types, in a drawn order. */
static void make_trace(void)
{
	begin_trace();
	named(1, "mutex", 0x5000, "mutex of pool", 0);
	frame(1, 0, "main", "app", 0x100);
	for (unsigned i = 0, count = 5 + random_below(40); i < count; i++) {
		uint64_t at = 1000 * (i + 1);
		unsigned of = 1 + (unsigned)random_below(3);

		switch (random_below(8)) {
		case 0: call(of, "io", "read", at, at + random_below(5000)); break;
		case 1:
			woken(random_below(2), of, "pthread_mutex_lock", 0x5000, at, at + 3000, 1 + of % 3,
			      at + 2000, i);
			break;
		case 2:
			event(COMPLETE, of, "malloc", "malloc", at, at + 100,
			      ARGS({"size", UINT, random_below(1000)}, {"ret", POINTER, 0x10000 + at},
				   {"stack", UINT, 1}));
			break;
		case 3: event(BEGIN, of, "io", "write", at, 0, NO_ARGS); break;
		case 4: event(ASYNC_BEGIN, of, "io", "descriptor", at, i, ARGS({"fd", INT, i})); break;
		case 5: said(of, at, "a line of the log"); break;
		case 6:
			provider(8 + (unsigned)random_below(2));
			for (unsigned k = 1; k <= 3; k++)
				thread(k, 8, 9 + k);
			break;
		default: object_name(7, random_below(2) ? 8 : 0, "worker"); break;
		}
	}
	if (random_below(2)) {
		kernel();
		sample(7, 8, 5000, 1, "cpu");
		switched(6000, 3, 8, 9);
	}
}

/* Changes some bytes of it, and cuts it off. */
START_TEST(takes_damaged_traces)
{
	unsigned char *bytes;
	size_t size;

	random_seed((uint64_t)_i);
	/* What is damaged is told there, line after line. */
	ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr));
	make_trace();
	read_trace();
	size = reader.size;
	bytes = malloc(size);
	memcpy(bytes, reader.data, size);
	fxt_reader_free(&reader);
	for (unsigned changes = random_below(6); changes; changes--)
		bytes[random_below(size)] ^= (unsigned char)(1u << random_below(8));
	size -= random_below(2) ? random_below(size) : 0;
	ck_assert_int_eq(LLVMFuzzerTestOneInput(bytes, size), 0);
	free(bytes);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("fuzz target");

	tcase_add_loop_test(c, takes_damaged_traces, 0, 40);
	return RUN_SUITE("fuzz target", c);
}
