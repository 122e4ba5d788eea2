/* This tests agent/clock/zone.c: local time is as far ahead of UTC as localtime() says, at random times, in
 * zones that have files and by rules. The seed is printed; FXT_SEED=N gives the same times again.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "agent/clock/zone.h"
#include "writer/apart.h"

#include "suite.h"

static unsigned seed;

/* These stand in for writer/. */
long fxt_read_file(const char *path, void *out, size_t bytes)
{
	FILE *f = fopen(path, "re");
	size_t n;

	if (!f)
		return -1;
	n = fread(out, 1, bytes, f);
	fclose(f);
	return (long)n;
}

void *fxt_sys_memory(size_t bytes);
void *fxt_sys_memory(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int fxt_place_unmap(void *at, size_t bytes);
int fxt_place_unmap(void *at, size_t bytes)
{
	return munmap(at, bytes);
}

/* Compares the zone at 200 times from 1970 to 2096. */
static void compare(const char *zone)
{
	int32_t found = 0;
	struct tm local;
	time_t at;
	int i;

	if (zone)
		setenv("TZ", zone, 1);
	else
		unsetenv("TZ");
	tzset();
	for (i = 0; i < 200; i++) {
		at = (time_t)(rand_r(&seed) / (double)RAND_MAX * 4e9);
		localtime_r(&at, &local);
		ck_assert_msg(fxt_zone_find(environ, at, &found), "%s at %lld: not known", zone,
			      (long long)at);
		ck_assert_msg(found == local.tm_gmtoff, "%s at %lld: %d, but localtime() has %ld", zone,
			      (long long)at, found, local.tm_gmtoff);
	}
}

START_TEST(rules)
{
	static const char *const zones[] = {
		"UTC0", "AAA-5:45", "<-03>3", ":BBB12:30:15", "CET-1CEST,M3.5.0,M10.5.0/3", "EST5EDT",
		"NZST-12NZDT,M9.5.0,M4.1.0/3", "CCC3DDD,J60/1,J300", "CCC3DDD4:30,59/1,299/-2",
		"EEE-2FFF-4,M2.5.5/24,M2.1.1", "", "no such zone", NULL};
	size_t i;

	for (i = 0; i < sizeof(zones) / sizeof(*zones); i++)
		compare(zones[i]);
}
END_TEST

/* Where the names are not installed, localtime() takes them for UTC, and so does the agent. */
START_TEST(files)
{
	static const char *const zones[] = {
		"Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Asia/Tokyo", "Asia/Kolkata",
		"Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia", "Pacific/Auckland",
		"America/St_Johns", "Antarctica/Troll", "Europe/Dublin", ":Europe/Moscow", "Etc/GMT+5"};
	size_t i;

	for (i = 0; i < sizeof(zones) / sizeof(*zones); i++)
		compare(zones[i]);
}
END_TEST

/* A file that is damaged, or cut at any byte, is not understood, or gives any offset; no byte behind it is
 * read. */
START_TEST(damaged)
{
	static char file[8192];
	long bytes = fxt_read_file("/usr/share/zoneinfo/Europe/Berlin", file, sizeof(file) / 2), room = 8192;
	long page = sysconf(_SC_PAGESIZE), length;
	char *memory = mmap(NULL, (size_t)(room + page), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int32_t found;
	int i;

	ck_assert_ptr_ne(memory, MAP_FAILED);
	ck_assert_int_eq(mprotect(memory + room, (size_t)page, PROT_NONE), 0);
	for (i = 0; i < 20000; i++) {
		length = bytes > 0 ? 1 + rand_r(&seed) % bytes : 44 + rand_r(&seed) % 200;
		if (bytes <= 0)
			memcpy(file, "TZif2", 5);
		memcpy(memory + room - length, file, (size_t)length);
		if (length > 44)
			memory[room - length + rand_r(&seed) % 44] = (char)rand_r(&seed);
		fxt_zone_in_file(memory + room - length, (uint32_t)length, rand_r(&seed), &found);
	}
}
END_TEST

int main(void)
{
	TCase *zones = tcase_create("zones");
	const char *text = getenv("FXT_SEED");

	seed = text ? (unsigned)strtoul(text, NULL, 0) : (unsigned)time(NULL);
	printf("FXT_SEED=%u\n", seed);
	tcase_add_test(zones, rules);
	tcase_add_test(zones, files);
	tcase_add_test(zones, damaged);
	return RUN_SUITE("zone", zones);
}
