/* See zone.h. */
#include "zone.h"

#include <stddef.h>
#include <string.h>

#include "writer/apart.h"
#include "writer/decimal.h"
#include "writer/sys.h"

enum {
	FILE_BYTES = 64 << 10,          /* the largest file of a time zone has a tenth of it */
	HEADER_BYTES = 44,
	TYPE_BYTES = 6,
	MINUTE = 60, HOUR = 3600, DAY = 86400,
	USUAL_CHANGE = 2 * HOUR,        /* when a rule changes that does not say when */
};

/* -- Rules ------------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads [+-]hh[:mm[:ss]] as seconds. */
static bool read_time(const char **at, int64_t *seconds)
{
	bool is_negative = **at == '-';
	int64_t unit = HOUR;

	*at += **at == '-' || **at == '+';
	if (!is_digit(**at))
		return false;
	*seconds = 0;
	do {
		*at += **at == ':';
		*seconds += (int64_t)fxt_decimal_at(at) * unit;
		unit /= MINUTE;
	} while (**at == ':' && unit);
	if (is_negative)
		*seconds = -*seconds;
	return true;
}

static bool skip_name(const char **at)
{
	const char *first = *at;
	bool is_quoted = **at == '<';

	for (; **at && (is_quoted ? **at != '>' : (**at | 0x20) >= 'a' && (**at | 0x20) <= 'z'); ++*at)
		;
	if (is_quoted && **at)
		++*at;
	return *at > first;
}

static bool is_leap(int64_t year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Returns the days from 1970 to the first of January of the year. */
static int64_t days_before(int64_t year)
{
	int64_t y = year - 1;

	return 365 * (year - 1970) + (y / 4 - y / 100 + y / 400) - (1969 / 4 - 1969 / 100 + 1969 / 400);
}

/* Reads one of the two dates of a rule, and returns in *at_s when that is in the year, in local time. */
static bool read_date(const char **at, int64_t year, int64_t *at_s)
{
	static const uint16_t before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
	int64_t day, weekday, week, month, change = USUAL_CHANGE;
	const int64_t first = days_before(year);
	int64_t length;

	if (**at == 'M') {
		++*at;
		month = (int64_t)fxt_decimal_at(at);
		*at += **at == '.';
		week = (int64_t)fxt_decimal_at(at);
		*at += **at == '.';
		weekday = (int64_t)fxt_decimal_at(at);
		if (month < 1 || month > 12 || week < 1 || week > 5 || weekday > 6)
			return false;
		length = before[month] - before[month - 1] + (month == 2 && is_leap(year));
		day = before[month - 1] + (month > 2 && is_leap(year));
		/* The first of January 1970 was a Thursday. */
		month = (weekday - (first + day + 4) % 7 + 7) % 7 + (week - 1) * 7;
		day += month < length ? month : month - 7;
	} else if (**at == 'J') {
		++*at;
		day = (int64_t)fxt_decimal_at(at) - 1;
		day += day >= before[2] && is_leap(year);
	} else if (is_digit(**at)) {
		day = (int64_t)fxt_decimal_at(at);
	} else {
		return false;
	}
	if (**at == '/') {
		++*at;
		if (!read_time(at, &change))
			return false;
	}
	*at_s = (first + day) * DAY + change;
	return true;
}

static int64_t year_of(int64_t local_s)
{
	int64_t year = 1970 + local_s / (365 * DAY + DAY / 4);

	for (; days_before(year) * DAY > local_s; year--)
		;
	for (; days_before(year + 1) * DAY <= local_s; year++)
		;
	return year;
}

bool fxt_zone_by_rule(const char *rule, int64_t utc_s, int32_t *offset_s)
{
	int64_t standard, summer, begin, end, year;
	bool is_summer;

	/* In a rule, what is west of Greenwich is positive. */
	if (!skip_name(&rule) || !read_time(&rule, &standard))
		return false;
	*offset_s = (int32_t)-standard;
	if (!*rule)
		return true;
	summer = standard - HOUR;
	if (!skip_name(&rule) || (*rule && *rule != ',' && !read_time(&rule, &summer)))
		return false;
	if (!*rule)
		rule = ",M3.2.0,M11.1.0";
	year = year_of(utc_s - standard);
	if (*rule++ != ',' || !read_date(&rule, year, &begin) || *rule++ != ',' ||
	    !read_date(&rule, year, &end) || *rule)
		return false;
	begin += standard;
	end += summer;
	/* On the southern half of the world summer lasts over the new year. */
	is_summer = begin < end ? utc_s >= begin && utc_s < end : utc_s >= begin || utc_s < end;
	*offset_s = (int32_t)-(is_summer ? summer : standard);
	return true;
}

/* -- Files ------------------------------------------------------------------------------------- */

/* Reads a number of `bytes` bytes, the highest first. */
static int64_t number_at(const char *at, unsigned bytes)
{
	uint64_t value = (unsigned char)*at & 0x80 ? UINT64_MAX : 0;

	for (; bytes; bytes--)
		value = value << 8 | (unsigned char)*at++;
	return (int64_t)value;
}

/* A block of the file: times of changes, the type of each, and the types. */
struct block {
	uint64_t utc_count, standard_count, leap_count, time_count, type_count, char_count;
	unsigned time_bytes;
	const char *times, *types_of, *types, *end;
};

static bool read_block(struct block *b, const char *at, const char *end, unsigned time_bytes)
{
	uint64_t *const counts[] = {&b->utc_count, &b->standard_count, &b->leap_count,
				    &b->time_count, &b->type_count, &b->char_count};
	size_t i;

	if (end - at < HEADER_BYTES || memcmp(at, "TZif", 4))
		return false;
	for (i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		*counts[i] = (uint64_t)number_at(at + 20 + i * 4, 4);
		if (*counts[i] > FILE_BYTES)
			return false;
	}
	b->time_bytes = time_bytes;
	b->times = at + HEADER_BYTES;
	b->types_of = b->times + b->time_count * time_bytes;
	b->types = b->types_of + b->time_count;
	b->end = b->types + b->type_count * TYPE_BYTES + b->char_count +
		 b->leap_count * (time_bytes + 4) + b->standard_count + b->utc_count;
	return b->end <= end && b->type_count;
}

bool fxt_zone_in_file(const char *file, uint32_t bytes, int64_t utc_s, int32_t *offset_s)
{
	const char *end = file + bytes, *line = NULL;
	unsigned char type = 0;
	struct block b;
	size_t i;

	if (!read_block(&b, file, end, 4))
		return false;
	/* From version 2 on a block with longer times follows, and a rule for the time behind these. */
	if (file[4] >= '2') {
		if (!read_block(&b, b.end, end, 8))
			return false;
		line = b.end < end && *b.end == '\n' ? b.end + 1 : NULL;
	}
	for (i = 0; i < b.time_count && number_at(b.times + i * b.time_bytes, b.time_bytes) <= utc_s; i++)
		type = (unsigned char)b.types_of[i];
	if (i == b.time_count && line && *line != '\n') {
		char rule[64];
		const char *last = memchr(line, '\n', (size_t)(end - line));

		if (!last || (size_t)(last - line) >= sizeof(rule))
			return false;
		memcpy(rule, line, (size_t)(last - line));
		rule[last - line] = '\0';
		return fxt_zone_by_rule(rule, utc_s, offset_s);
	}
	if (type >= b.type_count)
		return false;
	*offset_s = (int32_t)number_at(b.types + type * TYPE_BYTES, 4);
	return true;
}

/* -- The environment --------------------------------------------------------------------------- */

static const char *variable(char **environment, const char *name)
{
	size_t length = strlen(name);

	for (; *environment; environment++)
		if (!strncmp(*environment, name, length) && (*environment)[length] == '=')
			return *environment + length + 1;
	return NULL;
}

/* Writes the path of the file that TZ names, or of the usual one. Returns false if it is too long. */
static bool path_of(char *path, size_t room, char **environment, const char *zone)
{
	const char *folder = variable(environment, "TZDIR");
	size_t length, bytes;

	if (!zone)
		zone = "/etc/localtime";
	if (!folder || !*folder)
		folder = "/usr/share/zoneinfo";
	length = *zone == '/' ? 0 : strlen(folder);
	bytes = strlen(zone);
	if (length + bytes + 2 > room)
		return false;
	memcpy(path, folder, length);
	if (length)
		path[length++] = '/';
	memcpy(path + length, zone, bytes + 1);
	return true;
}

bool fxt_zone_find(char **environment, int64_t utc_s, int32_t *offset_s)
{
	const char *zone = variable(environment, "TZ");
	char *file, path[256];
	bool is_known;
	long bytes;

	*offset_s = 0;
	if (zone && *zone == ':')
		zone++;
	if (zone && !*zone)
		return true;
	if (!path_of(path, sizeof(path), environment, zone))
		return false;
	file = fxt_sys_memory(FILE_BYTES);
	if (!file)
		return false;
	bytes = fxt_read_file(path, file, FILE_BYTES - 1);
	is_known = bytes > 0 ? fxt_zone_in_file(file, (uint32_t)bytes, utc_s, offset_s)
			     : zone && fxt_zone_by_rule(zone, utc_s, offset_s);
	/* The C library takes UTC where it finds nothing. */
	if (!is_known && bytes <= 0)
		is_known = true;
	fxt_sys_munmap(file, FILE_BYTES);
	return is_known;
}
