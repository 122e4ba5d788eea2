/* The two halves of the program steps share this: steps.c leads, steps_calls.c makes the calls. */
#ifndef STEPS_H
#define STEPS_H

#include <stdbool.h>
#include <sys/types.h>

/* Who makes a call. Its arguments say so, and so does its record. */
enum who {
	BEFORE = 1,     /* the program, before the call that is interrupted */
	STEPPED,        /* the call that is interrupted */
	HANDLER,        /* the handler that interrupts it */
	AFTER,          /* the program, afterwards */
	FORKED,         /* a child that the handler has forked, in the handler */
	OTHER,          /* a coroutine */
	WHO_END
};

/* What a handler does. */
enum action {
	EMIT,           /* makes calls, and returns */
	JUMP,           /* leaves by longjmp */
	EMIT_JUMP,      /* makes calls, and leaves by longjmp */
	FORK_ON,        /* forks, and returns in both processes */
	FORK_EXIT,      /* forks, and returns; the child makes a call, and ends in the handler */
	SWITCH_BACK,    /* switches to a coroutine that makes calls and switches back, and returns */
	SWITCH_LATER,   /* switches to a coroutine that is interrupted in a call, and so switches back */
	SWITCH_AWAY,    /* switches to a coroutine that goes on for the program, which never comes back */
	ACTIONS
};

/* What both processes know. A call is counted here before it is made. */
struct steps_shared {
	volatile bool in_call;
	volatile int forked;                    /* the process id of the child that the handler has forked */
	volatile bool has_got;                  /* the interrupted call has got its lock, and has it still */
	volatile bool has_failed;               /* that child was killed, or has found something wrong */
	volatile long made[WHO_END], forked_made[WHO_END];
};

extern struct steps_shared *steps_shared;
extern const char *const steps_actions[ACTIONS];

/* Tells whether there is a call of this name, and prints by what the trace knows it. */
bool steps_introduce(const char *name);
/* Makes calls of this name, one of which stops before it begins and is interrupted by SIGUSR1. Ends the
 * process. */
_Noreturn void steps_make_calls(const char *name, enum action action);

#endif
