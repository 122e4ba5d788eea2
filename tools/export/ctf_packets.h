/* Writes the packets of one stream of a CTF trace into a file. The caller gives events in the order of time.
 */
#ifndef FXT_TOOLS_CTF_PACKETS_H
#define FXT_TOOLS_CTF_PACKETS_H

#include "ctf_bytes.h"

/* A packet ends when it has so many bytes. One that stands for a window of losses may be longer, so that the
 * window's events lie in one packet as a rule. */
enum { FXT_CTF_PACKET_BYTES = 256 << 10, FXT_CTF_LONG_PACKET_BYTES = 4 << 20 };

/* All members but these are zero before fxt_ctf_packets_open(): uuid. */
struct fxt_ctf_packets {
	unsigned char uuid[16];
	int fd;
	uint64_t instance; /* the stream's number */
	uint32_t cpu;
	bool is_wide; /* numbers of classes have 32 bits */
	struct fxt_ctf_bytes packet; /* its head has room only until it is closed */
	uint64_t begin_ns, last_ns; /* of the packet, if it has any byte; of the last event or packet */
	uint64_t count, discarded; /* of the stream */
	uint64_t file_bytes; /* of all files that this has written */
	int error; /* the errno of a write; nothing more is written then */
};

/* Opens the stream's file. Returns false if that fails (p->error). */
bool fxt_ctf_packets_open(struct fxt_ctf_packets *p, const char *path, uint64_t instance, uint32_t cpu);

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
	return p->packet.count != 0;
}

/* Closes the file. */
void fxt_ctf_packets_close(struct fxt_ctf_packets *p);

#endif
