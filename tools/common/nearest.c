/* See nearest.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "nearest.h"

#include <string.h>

#include "message.h"

/* Longer names than this are not compared: the longest of an option or a call has some 30 characters. */
enum { MOST_BYTES = 47 };

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Returns the number of slips between two texts. Rows are prefixes of `a`, columns are prefixes of `b`. */
static unsigned slips(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
	unsigned rows[3][MOST_BYTES + 1];

	for (size_t i = 0; i <= a_bytes; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];

		row[0] = (unsigned)i;
		for (size_t k = 1; k <= b_bytes; k++) {
			row[k] = row[k - 1] + 1;
			if (!i)
				continue;
			row[k] = least(row[k], above[k] + 1);
			row[k] = least(row[k], above[k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				row[k] = least(row[k], second[k - 2] + 1);
		}
	}
	return rows[a_bytes % 3][b_bytes];
}

const char *fxt_nearest(const char *word, const char *const *names, size_t count)
{
	size_t bytes = strlen(word);
	unsigned most = (unsigned)((bytes + 1) / 3 > 3 ? 3 : (bytes + 1) / 3);
	const char *best = NULL;

	for (size_t i = 0; i < count && bytes <= MOST_BYTES; i++) {
		size_t length = names[i] ? strlen(names[i]) : 0;
		unsigned found;

		if (!length || length > MOST_BYTES)
			continue;
		found = slips(word, bytes, names[i], length);
		if (found < most + !best) {
			most = found;
			best = names[i];
		}
	}
	return best;
}

char *fxt_did_you_mean(const char *word, const char *const *names, size_t count)
{
	const char *name = fxt_nearest(word, names, count);

	return name ? fxt_format(": did you mean %s?", name) : fxt_strdup("");
}
