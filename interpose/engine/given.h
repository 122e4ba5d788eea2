/* The real function is given another number in the place of the trace's descriptor. That number is never
 * open, so the C library and the kernel answer as for any closed descriptor, each check in its order. The
 * event shows the number that the program gave. This is a part of interpose.h; nobody else includes it.
 *
 * A parameter is a descriptor if its name is one of the list below, in every table. Two kinds of number are
 * not in it: one that the call gives a new meaning (for newfd of dup2, unistd.c moves ours away), and one of
 * another process (targetfd).
 */
#ifndef FXT_GIVEN_H
#define FXT_GIVEN_H

#include "agent/process/descriptor.h"

#define FXT_DESCRIPTOR_fd , YES
#define FXT_DESCRIPTOR_oldfd , YES
#define FXT_DESCRIPTOR_dirfd , YES
#define FXT_DESCRIPTOR_olddirfd , YES
#define FXT_DESCRIPTOR_newdirfd , YES
#define FXT_DESCRIPTOR_mount_fd , YES
#define FXT_DESCRIPTOR_sockfd , YES
#define FXT_DESCRIPTOR_epfd , YES
#define FXT_DESCRIPTOR_pidfd , YES
#define FXT_DESCRIPTOR_mqdes , YES
#define FXT_DESCRIPTOR_in_fd , YES
#define FXT_DESCRIPTOR_out_fd , YES
#define FXT_DESCRIPTOR_fd_in , YES
#define FXT_DESCRIPTOR_fd_out , YES
#define FXT_DESCRIPTOR_fanotify_fd , YES
#define FXT_DESCRIPTOR_group_fd , YES
#define FXT_IS_DESCRIPTOR(name) FXT_SECOND(FXT_DESCRIPTOR_##name, NO, )

/* A parameter as the real function gets it. */
#define P_GIVE(type, name, kind) FXT_PASTE(GIVEN_, FXT_IS_DESCRIPTOR(name))(name)
#define GIVEN_YES(name) fxt_descriptor_given(name)
#define GIVEN_NO(name) name

/* Replaces the number among the arguments of a system call; `argument` points to it. */
#define P_GIVE_NUMBER(name, argument) FXT_PASTE(GIVEN_NUMBER_, FXT_IS_DESCRIPTOR(name))(argument)
#define GIVEN_NUMBER_YES(argument) fxt_descriptor_give(argument);
#define GIVEN_NUMBER_NO(argument)

static inline void fxt_descriptor_give(long *argument)
{
	int given = fxt_descriptor_given((int)*argument);

	/* An argument that is not replaced stays as the program gave it, to the last bit. */
	if (FXT_UNLIKELY(given != (int)*argument))
		*argument = given;
}

#endif
