/* Makes blob records of a profile: type 3, which holds packets of a Perfetto trace. Join writes them at the
 * end of a trace.
 *
 * Each record has whole packets and is at most FXT_RECORD_MAX_WORDS long. Perfetto appends the records' bytes
 * to each other and reads these as one trace, so later packets refer to names and stacks of earlier ones.
 *
 * fxt may be built without protobuf-c. Then FXT_CAN_PERFETTO is false, and no blob has anything in it.
 */
#ifndef FXT_TOOLS_PERFETTO_BLOB_H
#define FXT_TOOLS_PERFETTO_BLOB_H

#include "profile.h"
#include "tools/programs/frame_names.h"

#ifdef HAVE_PROTOBUF_C
enum { FXT_CAN_PERFETTO = true };
#else
enum { FXT_CAN_PERFETTO = false };
#endif

/* The name of the records, by which a join knows those of an earlier one. */
#define FXT_PERFETTO_BLOB "fxtagent.perfetto"

/* Records, as words in the machine's byte order. All members are zero at first. */
struct fxt_perfetto_blob {
	uint64_t *words;
	size_t count, capacity;
};

/* Makes the records, and puts the profile's samples in the order of time. There are no records if the profile
 * has neither samples nor blocks. `names` has the lines of source; NULL: there are none. */
void fxt_perfetto_make(struct fxt_perfetto_blob *blob, struct fxt_profile *profile,
		       struct fxt_frame_names *names);

/* Returns whether a record is one that fxt_perfetto_make() has made. */
bool fxt_perfetto_is_own(const struct fxt_record *rec);

void fxt_perfetto_free(struct fxt_perfetto_blob *blob);

#endif
