/* What a program is run with, for the wrappers of what runs one. */
#ifndef FXT_COMPLETE_H
#define FXT_COMPLETE_H

#include <alloca.h>

#include "agent/follow.h"

typedef char *const *strings;           /* argv, envp */

/* `envp` completed, for as long as the function runs that says this. */
#define COMPLETE(envp)                                                                                  \
	do {                                                                                            \
		size_t room = fxt_follow_room(envp);                                                    \
													\
		if (room)                                                                               \
			(envp) = fxt_follow_complete(envp, alloca(room), room);                         \
	} while (0)

#endif
