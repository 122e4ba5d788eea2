/* This tests the events of asynchronous requests (agent/objects/requests.h): what they say, and that each
 * ends once, with its own result. */
#include <stdio.h>
#include <string.h>

#include "agent/arrows/async.h"
#include "agent/objects/requests.h"
#include "part.h"
#include "suite.h"

enum { REQUESTS = 512 };

static void setup(void)
{
	part_setup();
	fxt_async_again();
	fxt_requests_again();
}

#define NAMES fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_io, FXT_STR_frame)

START_TEST(a_request_ends_with_its_result)
{
	const struct fxt_request range = {.fd = 4, .has_range = true, .bytes = 500, .offset = -1},
				 whole = {.fd = 5};

	fxt_request_begin(&part_thread, 0x4000, 2000, NAMES, &range);
	SAID("async-begin io:frame @2000 fd=4 nbytes=500u offset=-1 pid=70u #1\n");
	fxt_request_end(&part_thread, 0x4040, 2100, 5, 0);
	SAID("");
	fxt_request_end(&part_thread, 0x4000, 2100, 500, 0);
	SAID("async-end io:frame @2100 ret=500 #1\n");
	fxt_request_end(&part_thread, 0x4000, 2100, 500, 0);
	SAID("");
	fxt_request_begin(&part_thread, 0x4000, 2000, NAMES, &whole);
	SAID("async-begin io:frame @2000 fd=5 pid=70u #2\n");
	fxt_request_end(&part_thread, 0x4000, 2000, -1, 22);
	SAID("async-end io:frame @2001 ret=-1 errno=22 #2\n");
	/* The result of an earlier one was never taken. */
	fxt_request_begin(&part_thread, 0x4000, 2000, NAMES, &whole);
	fxt_request_begin(&part_thread, 0x4000, 2001, NAMES, &whole);
	SAID("async-begin io:frame @2000 fd=5 pid=70u #3\n"
	     "async-end io:frame @2001 #3\n"
	     "async-begin io:frame @2001 fd=5 pid=70u #4\n");
	fxt_requests_again();
	fxt_request_end(&part_thread, 0x4000, 2100, 5, 0);
	SAID("");
	/* Without room there is no begin, and so no end. */
	part_lane(3);
	fxt_request_begin(&part_thread, 0x4000, 2000, NAMES, &whole);
	part_lane(FXT_CHUNK_WORDS);
	fxt_request_end(&part_thread, 0x4000, 2100, 5, 0);
	SAID("");
	fxt_request_begin(&part_thread, 0x4000, 2000, NAMES, &whole);
	part_lane(3);
	fxt_request_end(&part_thread, 0x4000, 2100, 5, 0);
	part_lane(FXT_CHUNK_WORDS);
	fxt_request_end(&part_thread, 0x4000, 2100, 5, 0);
	SAID("");
	/* Large numbers have room. */
	fxt_request_begin(&part_thread, 0x4000, 2000, NAMES,
			  &(struct fxt_request){1, true, UINT64_MAX, INT64_MIN});
	fxt_request_end(&part_thread, 0x4000, 2100, INT64_MIN, 5);
	EXPECT(strstr(part_said(), " nbytes=18446744073709551615ul offset=-9223372036854775808l pid=70u #"));
}
END_TEST

START_TEST(many_requests_are_known)
{
	static uintptr_t known[2 * REQUESTS];
	const struct fxt_request whole = {.fd = 5};
	unsigned i, n, count = 0;
	uint64_t flow;

	for (i = 0; i < 2 * REQUESTS; i++) {
		part_lane(FXT_CHUNK_WORDS);
		flow = part.flow;
		fxt_request_begin(&part_thread, 0x10000 + i * 168, 2000, NAMES, &whole);
		if (part.flow != flow)
			known[count++] = 0x10000 + i * 168;
	}
	/* Nearly all places are used, and no more than there are. */
	EXPECT(count > REQUESTS * 9 / 10 && count <= REQUESTS);
	for (n = 0; n < count; n++) {
		part_lane(FXT_CHUNK_WORDS);
		fxt_request_end(&part_thread, known[n], 2100, (int)n, 0);
		EXPECT(*part_said());
	}
	/* All of them are free. */
	for (n = 0; n < count; n++) {
		part_lane(FXT_CHUNK_WORDS);
		fxt_request_begin(&part_thread, known[n], 2000, NAMES, &whole);
		EXPECT(*part_said());
	}
}
END_TEST

int main(void)
{
	TCase *requests = tcase_create("requests");

	tcase_add_checked_fixture(requests, setup, NULL);
	tcase_add_test(requests, a_request_ends_with_its_result);
	tcase_add_test(requests, many_requests_are_known);
	return RUN_SUITE("requests", requests);
}
