/* Sorts rows by date. The fault: the comparison parses both dates each time. */
#include "beside.h"

struct row {
	char date[16];
} rows[60000];

long day_of(const char *date)
{
	int year, month, day;

	must(sscanf(date, "%d-%d-%d", &year, &month, &day) == 3, date);
	return year * 372L + month * 31 + day;
}

int by_date(const void *a, const void *b)
{
	const struct row *first = a, *second = b;
	long left = day_of(first->date), right = day_of(second->date); /* FAULT */

	return (left > right) - (left < right);
}

int main(void)
{
	for (int i = 0; i < 60000; i++)
		snprintf(rows[i].date, sizeof rows[i].date, "%d-%d-%d", 1900 + i * 37 % 120, 1 + i * 5 % 12,
			 1 + i * 11 % 28);
	work(20000);
	qsort(rows, 60000, sizeof rows[0], by_date);
	puts(rows[0].date);
	return 0;
}
