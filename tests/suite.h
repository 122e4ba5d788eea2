/* This header runs the suite of a unit test: the main() of each ends with RUN_SUITE(). */
#ifndef FXT_TESTS_SUITE_H
#define FXT_TESTS_SUITE_H

#include <check.h>
#include <stdlib.h>

/* Runs the suite of that name with these cases, the last of which is NULL. Returns the status to exit with; a
 * main() that forgot to return it would pass whatever its cases found. CK_VERBOSITY in the environment says
 * how much is told. */
static inline __attribute__((warn_unused_result)) int run_suite(const char *name, TCase *const *cases)
{
	Suite *suite = suite_create(name);
	SRunner *runner = srunner_create(suite);
	int failed;

	for (; *cases; cases++)
		suite_add_tcase(suite, *cases);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#define RUN_SUITE(name, ...) run_suite(name, (TCase *const[]){__VA_ARGS__, NULL})

#endif
