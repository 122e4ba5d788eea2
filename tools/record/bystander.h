/* A process beside fxt record that does nothing: it is in the same process group, session and control group,
 * and so gets each signal that is sent to one of these as a whole. The program of the run is in them too,
 * and has got such a signal already; one that the bystander has not got was sent to fxt record alone
 * (signals.h).
 */
#ifndef FXT_TOOLS_BYSTANDER_H
#define FXT_TOOLS_BYSTANDER_H

#include <stdbool.h>
#include <sys/types.h>

enum { FXT_BYSTANDER_MOST = 64 };

struct fxt_bystander {
	pid_t pid;                      /* 0: there is none */
	int connection;
};

/* A signal that the bystander has got, and who sent it. */
struct fxt_seen_signal {
	int number;
	pid_t sender;
};

/* Makes it. All signals are blocked, and nobody waits for it meanwhile. Returns false if that cannot be. */
bool fxt_bystander_begin(struct fxt_bystander *b);

/* Fills in the signals that it has got since the last time, FXT_BYSTANDER_MOST at most, and returns how many
 * those are. It can be called if there is none. */
size_t fxt_bystander_ask(const struct fxt_bystander *b, struct fxt_seen_signal *seen);

/* Ends it. It can be called if there is none. */
void fxt_bystander_end(struct fxt_bystander *b);

#endif
