/* The offset of local time from UTC, for the record that ties the clock of a trace to the time of day. The C
 * library's own functions take locks and allocate, so they may not be called. */
#ifndef FXT_ZONE_H
#define FXT_ZONE_H

#include <stdbool.h>
#include <stdint.h>

/* Finds by how many seconds local time is ahead of UTC at `utc_s`, as localtime() would: by TZ in the
 * environment, or else by /etc/localtime; UTC where neither says anything. Returns false if what they say is
 * not understood. Called at start. */
bool fxt_zone_find(char **environment, int64_t utc_s, int32_t *offset_s);

/* Does the same for the text of TZ, if that is a rule and no name: "CET-1CEST,M3.5.0,M10.5.0/3". */
bool fxt_zone_by_rule(const char *rule, int64_t utc_s, int32_t *offset_s);

/* Does the same for the `bytes` bytes of a file of time zones (RFC 8536), behind which is a NUL. */
bool fxt_zone_in_file(const char *file, uint32_t bytes, int64_t utc_s, int32_t *offset_s);

#endif
