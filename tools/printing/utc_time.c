/* See utc_time.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "utc_time.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/printing/json.h"

/* An initialization record of this many words has, behind the ticks of a second, a number of ticks and the
 * nanoseconds since 1970 of the same moment. */
enum { TIMED_INITIALIZATION_WORDS = 4 };

static void take_initialization(struct fxt_wall_clock *w, const struct fxt_reader *r,
				const struct fxt_record *rec)
{
	uint64_t words[TIMED_INITIALIZATION_WORDS];

	if (rec->words != TIMED_INITIALIZATION_WORDS)
		return;
	memcpy(words, r->data + rec->offset, sizeof(words));
	w->is_known = true;
	w->real_ns = words[3] - fxt_ns(rec->provider, words[2]);
}

void fxt_wall_clock_take(struct fxt_wall_clock *w, const struct fxt_reader *r, const struct fxt_record *rec)
{
	const struct fxt_argument *zone;
	uint64_t boot_ns, utc_ns;

	if (w->is_known || !rec->known || rec->damaged)
		return;
	if (rec->type == FXT_RECORD_INITIALIZATION)
		take_initialization(w, r, rec);
	if (rec->type != FXT_RECORD_KERNEL_OBJECT || rec->subtype != FXT_OBJECT_CLOCK ||
	    !fxt_argument_u64(fxt_argument(rec, "boottime_ns"), &boot_ns) ||
	    !fxt_argument_u64(fxt_argument(rec, "utc_ns"), &utc_ns))
		return;
	zone = fxt_argument(rec, "zone_s");
	w->is_known = w->is_of_agent = true;
	w->real_ns = utc_ns - boot_ns;
	w->has_zone = zone && zone->type == FXT_ARG_INT32;
	w->zone_s = w->has_zone ? (int32_t)zone->i : 0;
}

void fxt_wall_clock_find(struct fxt_wall_clock *w, const struct fxt_reader *of)
{
	struct fxt_reader r;
	struct fxt_record rec;

	fxt_reader_init(&r, of->data, of->size);
	while (!w->is_known && fxt_reader_next(&r, &rec))
		fxt_wall_clock_take(w, &r, &rec);
	fxt_reader_free(&r);
}

struct fxt_short fxt_utc(const struct fxt_wall_clock *w, uint64_t ns)
{
	uint64_t utc_ns = ns + w->real_ns;
	time_t seconds = (time_t)(utc_ns / 1000000000);
	struct fxt_short s;
	struct tm parts;
	size_t length = 0;

	if (gmtime_r(&seconds, &parts))
		length = strftime(s.text, sizeof(s.text), "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(s.text + length, sizeof(s.text) - length, ".%09uZ", (unsigned)(utc_ns % 1000000000));
	return s;
}

struct fxt_short fxt_utc_zone(const struct fxt_wall_clock *w)
{
	unsigned minutes = (unsigned)abs(w->zone_s % 86400) / 60;
	struct fxt_short s;

	snprintf(s.text, sizeof(s.text), "%c%02u:%02u", w->zone_s < 0 ? '-' : '+', minutes / 60,
		 minutes % 60);
	return s;
}

void fxt_wall_clock_json(const struct fxt_wall_clock *w, struct fxt_json *j, uint64_t first_ns,
			 uint64_t last_ns)
{
	if (!w->is_known)
		return;
	fxt_json_object(j, "utc");
	fxt_json_string(j, "first", fxt_utc(w, first_ns).text);
	fxt_json_string(j, "last", fxt_utc(w, last_ns).text);
	fxt_json_u64(j, "first_ns", first_ns + w->real_ns);
	fxt_json_u64(j, "last_ns", last_ns + w->real_ns);
	if (w->has_zone)
		fxt_json_string(j, "zone", fxt_utc_zone(w).text);
	fxt_json_end(j);
}
