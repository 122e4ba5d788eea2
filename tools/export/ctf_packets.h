/* Writes the packets of one stream of a CTF trace into a file. The caller gives events in the order of time.
 */
#ifndef FXT_TOOLS_CTF_PACKETS_H
#define FXT_TOOLS_CTF_PACKETS_H

#include "ctf_bytes.h"

/* A packet ends when it has so many bytes. One that stands for a window of losses may be longer, so that the
 * window's events lie in one packet as a rule. Many files are written at a time, so each keeps no more than
 * FXT_CTF_KEPT_BYTES of its packet in memory, as far as no event is longer. */
enum {
	FXT_CTF_PACKET_BYTES = 256 << 10,
	FXT_CTF_LONG_PACKET_BYTES = 4 << 20,
	FXT_CTF_KEPT_BYTES = 32 << 10,
};

/* The processor of a stream that is not one's: its packets have no field for it. */
enum { FXT_CTF_NO_CPU = -1 };

/* All members but these are zero before fxt_ctf_packets_open(): uuid, is_wide. */
struct fxt_ctf_packets {
	unsigned char uuid[16];
	int fd;
	uint32_t class; /* of the stream */
	uint64_t instance; /* the stream's number */
	int cpu;
	bool is_wide; /* numbers of classes have 32 bits */
	/* What is not in the file yet. Its head has room only until it is closed. */
	struct fxt_ctf_bytes packet;
	uint64_t written; /* bytes of the packet that are in the file */
	bool is_begun; /* there is a packet */
	uint64_t begin_ns, last_ns; /* of the packet, if there is one; of the last event or packet */
	uint64_t count, discarded; /* of the stream */
	uint64_t file_bytes;
	int error; /* the errno of a write; nothing more is written then */
};

/* Opens the stream's file. Returns false if that fails (p->error). */
bool fxt_ctf_packets_open(struct fxt_ctf_packets *p, const char *path, uint32_t class, uint64_t instance,
			  int cpu);

/* Begins an event; its context and fields are put into p->packet next. */
void fxt_ctf_packets_event(struct fxt_ctf_packets *p, uint64_t at_ns, uint32_t class);

/* Begins a packet at this time, if there is none. */
void fxt_ctf_packets_begin(struct fxt_ctf_packets *p, uint64_t at_ns);

/* Ends the packet, if there is one, at this time or with its last event. Since the one before, or since the
 * stream's begin, so many events were discarded. */
void fxt_ctf_packets_end(struct fxt_ctf_packets *p, uint64_t at_ns, uint64_t discarded);

/* Returns whether there is a packet. */
static inline bool fxt_ctf_packets_is_open(const struct fxt_ctf_packets *p)
{
	return p->is_begun;
}

/* Returns how long the packet is. */
static inline uint64_t fxt_ctf_packets_bytes(const struct fxt_ctf_packets *p)
{
	return p->written + p->packet.count;
}

/* Closes the file. */
void fxt_ctf_packets_close(struct fxt_ctf_packets *p);

#endif
