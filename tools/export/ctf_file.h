/* One stream of a CTF trace, which is a file: its packets, and the windows in which events of it were lost.
 * A packet ends at 256 KiB, and at both ends of each window, so that the reader says exactly that window. The
 * first packet has lost nothing, because readers cannot say since when it would have.
 *
 * ctf_streams.c gives events in the order of time, to many files at a time.
 */
#ifndef FXT_TOOLS_CTF_FILE_H
#define FXT_TOOLS_CTF_FILE_H

#include "ctf.h"
#include "ctf_packets.h"

struct fxt_ctf_file {
	struct fxt_ctf_packets packets;
	struct fxt_ctf_losses losses;
	size_t window; /* the next one, or the present one if is_lossy */
	bool is_lossy;
	uint64_t owed; /* losses that no packet has counted yet */
};

/* Makes a file of the directory. What it lost is that of stream `number`; a file of a processor of programs
 * has lost nothing, because nobody knows where a process was when it lost events. Returns NULL if the file
 * cannot be made, and sets *error. */
struct fxt_ctf_file *fxt_ctf_file_open(struct fxt_ctf *c, enum fxt_ctf_stream_class class, uint32_t number,
				       int *error);

/* Begins an event; its context and at most `bytes` bytes are put into f->packets.packet next. */
void fxt_ctf_file_event(struct fxt_ctf_file *f, uint64_t at_ns, uint32_t class, size_t bytes);

/* Ends the last packet, says what was lost at the end, closes the file and frees *f. Returns what was
 * discarded in all. Sets *error if anything could not be written. */
uint64_t fxt_ctf_file_close(struct fxt_ctf_file *f, int *error);

#endif
