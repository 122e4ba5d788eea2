/* Writes packets of a Perfetto trace into blob records, and makes those of samples and of the heap.
 * perfetto_blob.c uses it; both are built where there is protobuf-c. */
#ifndef FXT_TOOLS_PERFETTO_PACKETS_H
#define FXT_TOOLS_PERFETTO_PACKETS_H

#include "perfetto_blob.h"
#include "tools/perfetto/perfetto_trace.pb-c.h"

/* The most that a record holds behind its header and its name. It is less than FXT_BLOB_MAX_BYTES. */
enum {
	FXT_PACKET_NAME_WORDS = (sizeof(FXT_PERFETTO_BLOB) - 1 + FXT_WORD_BYTES - 1) / FXT_WORD_BYTES,
	FXT_PACKET_BYTES = (FXT_RECORD_MAX_WORDS - 1 - FXT_PACKET_NAME_WORDS) * FXT_WORD_BYTES,
};

/* Flags of packets: the sequence begins; the packet needs what those before it say. */
enum { FXT_PACKETS_BEGIN = 1, FXT_PACKETS_NEED = 2 };

/* All members but the first two are zero at first. */
struct fxt_packets {
	struct fxt_perfetto_blob *blob;
	uint64_t time_ns;               /* of packets without a time of their own */
	size_t used;
	uint64_t dumps;                 /* packets of the heap so far */
	uint8_t bytes[FXT_PACKET_BYTES];        /* of the record that is not full yet */
};

/* Writes a packet. Sets its sequence, and its time and flags if it has none. */
void fxt_packets_put(struct fxt_packets *k, Perfetto__TracePacket *packet);
/* Writes what is left. */
void fxt_packets_end(struct fxt_packets *k);

/* Write a packet for each sample, in the order of time, and those with the heap of each process: at its peak,
 * and in the end. */
void fxt_packets_samples(struct fxt_packets *k, struct fxt_profile *p);
void fxt_packets_heaps(struct fxt_packets *k, struct fxt_profile *p);

/* Writes the lines of source of the frames, at a time that is later than all that refers to them. `names` has
 * the debug information; NULL: there is none. */
void fxt_packets_symbols(struct fxt_packets *k, const struct fxt_profile *p, struct fxt_frame_names *names);

#endif
