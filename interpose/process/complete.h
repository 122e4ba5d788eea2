/* Completes the environment of a program that is run. The wrappers of what runs programs use this. */
#ifndef FXT_COMPLETE_H
#define FXT_COMPLETE_H

#include "agent/process/follow.h"

typedef char *const *strings;           /* argv, envp */

/* Keeps the memory of a completed environment. It is not on the stack, because nobody knows how much of that
 * a thread has left. */
struct fxt_complete {
	void *memory;                   /* NULL: there is none to give back */
	size_t bytes;
};

/* Returns zeroed memory, or NULL. In the child of a vfork it stays in the parent when the program has been
 * executed; so each thread keeps one piece for its children, of which there is one at a time. */
void *fxt_complete_take(struct fxt_complete *complete, size_t bytes);
void fxt_complete_give_back(const struct fxt_complete *complete);

/* Completes `envp` for a program, from here to the COMPLETED() of the same function, which comes after the
 * real call. The arguments behind it say how the program is found: a struct fxt_followed. Declares `refusal`:
 * why the program is not traced, or NULL. */
#define COMPLETE(envp, ...)                                                                             \
	const struct fxt_followed followed_ = {__VA_ARGS__};                                            \
	struct fxt_complete complete_ = {0};                                                            \
	const char *refusal;                                                                            \
	bool is_sanitized_;                                                                             \
	size_t room_ = fxt_follow_room(envp, &followed_, &refusal, &is_sanitized_);                     \
													\
	if (room_)                                                                                      \
		(envp) = fxt_follow_complete(envp, fxt_complete_take(&complete_, room_), room_,         \
					     refusal != NULL, is_sanitized_)
#define COMPLETED() fxt_complete_give_back(&complete_)

#endif
