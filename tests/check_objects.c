/* This tests which object a pointer in a trace stands for: tools/analysis/objects.h reads the records of
 * objects and the lifetimes of the heap blocks that have names. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>

#include "suite.h"
#include "tools/analysis/objects.h"
#include "trace_words.h"

/* Strings are 4 "mutex", 5 "type", 6 "since", 7 "ptr", 8 "first", 9 "second", 10 "malloc" and 11 "any".
 * Objects are those of the process of thread 1. */
#define OBJECT(name, words, args, pointer) (HEAD(6, words, 1) | AT(24, name) | AT(40, args)), pointer
#define OF_MUTEX ARG(6, 1, 5, 4)
#define SINCE(ticks) ARG(4, 2, 6, 0), ticks
#define POINTS(start, category, argument, pointer) \
	EVENT(5, 4, 1, 1, category, 2), start, ARG(7, 2, argument, 0), pointer, start + 10

/* The records of one address stand in any order of time, and have a type. Records of another writer may have
 * neither time nor type. */
START_TEST(names_objects_as_of_the_time)
{
	const uint64_t words[] = {
		PROLOGUE,
		STRING(4, 5), TEXT8('m', 'u', 't', 'e', 'x', 0, 0, 0),
		STRING(5, 4), TEXT8('t', 'y', 'p', 'e', 0, 0, 0, 0),
		STRING(6, 5), TEXT8('s', 'i', 'n', 'c', 'e', 0, 0, 0),
		STRING(7, 3), TEXT8('p', 't', 'r', 0, 0, 0, 0, 0),
		STRING(8, 5), TEXT8('f', 'i', 'r', 's', 't', 0, 0, 0),
		STRING(9, 6), TEXT8('s', 'e', 'c', 'o', 'n', 'd', 0, 0),
		STRING(10, 6), TEXT8('m', 'a', 'l', 'l', 'o', 'c', 0, 0),
		STRING(11, 3), TEXT8('a', 'n', 'y', 0, 0, 0, 0, 0),
		POINTS(20, 1, 4, 0x100), OBJECT(9, 5, 2, 0x100), OF_MUTEX, SINCE(50), POINTS(49, 1, 4, 0x100),
		POINTS(50, 1, 4, 0x100), OBJECT(8, 3, 1, 0x100), OF_MUTEX, POINTS(60, 10, 7, 0x100),
		POINTS(70, 1, 7, 0x100),
		POINTS(80, 1, 4, 0x200), POINTS(85, 10, 7, 0x300), OBJECT(11, 2, 0, 0x300),
		POINTS(90, 10, 7, 0x300), OBJECT(9, 2, 0, 0x300), POINTS(88, 10, 7, 0x300),
		OBJECT(8, 2, 0, 0x300), POINTS(95, 10, 7, 0x300),
	};
	/* Records without a time are about what comes behind them in the file. */
	static const char *const expected[] = {"first", "first", "second", NULL,     NULL,   NULL,
					       NULL,	"any",   "second", "first"};
	struct fxt_objects objects = {0};
	struct fxt_record rec;
	struct fxt_reader r;
	size_t events = 0;

	fxt_objects_read(&objects, words, sizeof(words));
	ck_assert_uint_eq(objects.count, 5);
	fxt_reader_init(&r, words, sizeof(words));
	while (fxt_reader_next(&r, &rec)) {
		const struct fxt_object *object = fxt_object_of(&objects, &r, &rec, &rec.args[0]);

		ck_assert(!rec.damaged);
		if (rec.type == FXT_RECORD_EVENT)
			ck_assert_pstr_eq(object ? object->label : NULL, expected[events++]);
	}
	ck_assert_uint_eq(events, sizeof(expected) / sizeof(expected[0]));
	fxt_objects_free(&objects);
	fxt_reader_free(&r);
}
END_TEST

/* A block has its name only while it lives. Before and after that its address is another block's. */
START_TEST(names_blocks_while_they_live)
{
	const uint64_t words[] = {
		PROLOGUE,
		STRING(4, 5), TEXT8('b', 'l', 'o', 'c', 'k', 0, 0, 0),
		STRING(5, 4), TEXT8('t', 'y', 'p', 'e', 0, 0, 0, 0),
		STRING(6, 5), TEXT8('s', 'i', 'n', 'c', 'e', 0, 0, 0),
		STRING(7, 3), TEXT8('p', 't', 'r', 0, 0, 0, 0, 0),
		STRING(8, 5), TEXT8('t', 'a', 'b', 'l', 'e', 0, 0, 0),
		STRING(10, 6), TEXT8('m', 'a', 'l', 'l', 'o', 'c', 0, 0),
		HEAD(2, 3, AT(0, 12) | AT(16, 10)), TEXT8('h', 'e', 'a', 'p', ' ', 'b', 'l', 'o'),
			TEXT8('c', 'k', 0, 0, 0, 0, 0, 0),
		OBJECT(8, 5, 2, 0x400), ARG(6, 1, 5, 4), SINCE(50),
		/* The second block's begin is there twice and has no end. The first one's end is behind
		 * both. */
		EVENT(5, 5, 1, 1, 10, 12), 50, ARG(7, 2, 7, 0), 0x400, 71,
		EVENT(5, 5, 1, 1, 10, 12), 110, ARG(7, 2, 7, 0), 0x400, 72,
		EVENT(5, 5, 1, 1, 10, 12), 110, ARG(7, 2, 7, 0), 0x400, 72,
		EVENT(3, 7, 0, 1, 10, 12), 90, 71,
		POINTS(49, 10, 7, 0x400), POINTS(50, 10, 7, 0x400), POINTS(89, 10, 7, 0x400),
		POINTS(90, 10, 7, 0x400), POINTS(109, 10, 7, 0x400), POINTS(200, 10, 7, 0x400),
		POINTS(60, 1, 7, 0x400),
	};
	static const uint64_t named[] = {50, 89, 200};
	struct fxt_objects objects = {0};
	struct fxt_record rec;
	struct fxt_reader r;
	size_t found = 0;

	fxt_objects_read(&objects, words, sizeof(words));
	fxt_reader_init(&r, words, sizeof(words));
	while (fxt_reader_next(&r, &rec)) {
		ck_assert(!rec.damaged);
		if (rec.type == FXT_RECORD_EVENT && rec.subtype == FXT_EVENT_DURATION_COMPLETE &&
		    fxt_object_of(&objects, &r, &rec, &rec.args[0])) {
			ck_assert_uint_lt(found, sizeof(named) / sizeof(named[0]));
			ck_assert_uint_eq(rec.ticks, named[found++]);
		}
	}
	ck_assert_uint_eq(found, sizeof(named) / sizeof(named[0]));
	fxt_objects_free(&objects);
	fxt_reader_free(&r);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("objects");

	tcase_add_test(c, names_objects_as_of_the_time);
	tcase_add_test(c, names_blocks_while_they_live);
	return RUN_SUITE("objects", c);
}
