/* Makes the wrappers of posix_spawn() and posix_spawnp(), which run programs in new processes: spawn.def. The
 * C library makes the child without fork, and calls nothing of ours in it. */
#include <fcntl.h>
#include <spawn.h>
#include <string.h>

#include "agent/arrows/parent_links.h"
#include "argv.h"
#include "complete.h"
#include "interpose/engine/interpose.h"

typedef const posix_spawn_file_actions_t *spawn_actions;
typedef const posix_spawnattr_t *spawn_attributes;

/* PID: the new process's id, which is known after the call, and only if there is a process. */
#define COUNT_PID 0
#define WORDS_PID(name) 1
#define MEASURE_PID(name)
#define PUT_PID(name)                                                   \
	if (!failure_ && (name)) {                                      \
		at_ = fxt_put_int(at_, FXT_STR_##name, *(name));        \
		arguments_++;                                           \
	}

/* Records that the child's program is not traced, and why. */
static void tell_untraced(struct fxt_thread *thread, const char *program, const char *refusal)
{
	size_t program_bytes = fxt_text_bytes_checked(thread, program), refusal_bytes = strlen(refusal);
	uint64_t *at;

	if (!fxt_is_on(FXT_CAT_agent))
		return;
	at = fxt_reserve_extra(thread, fxt_now(thread),
			       4 + fxt_words_of(program_bytes) + fxt_words_of(refusal_bytes));
	if (!at)
		return;
	at = fxt_put_text(at, FXT_STR_path, program, program_bytes);
	at = fxt_put_text(at, FXT_STR_reason, refusal, refusal_bytes);
	fxt_instant(thread, at,
		    fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_agent, FXT_STR_untraced), 2);
}

/* The older version runs a file of no known format by the shell. */
#define DEFAULT_VERSION "GLIBC_2.15"
#include "interpose/engine/versions.h"

#define IS_OLD_new false
#define IS_OLD_old true

#define SPAWN(age, name, what, along_path)								\
	FXT_REAL(int, age##_##name,									\
		 (pid_t * pid, const char *what, spawn_actions file_actions, spawn_attributes attributes, \
		  strings argv, strings envp),								\
		 (pid, what, file_actions, attributes, argv, envp))					\
	static __attribute__((noinline)) int complete_##age##_##name(					\
		pid_t *pid, const char *what, spawn_actions file_actions, spawn_attributes attributes,	\
		strings argv, strings envp)								\
	{												\
		struct fxt_thread *thread = fxt_enter(FXT_CAT_process);					\
		struct fxt_birth birth;									\
		pid_t child;										\
		int error;										\
													\
		COMPLETE(envp, AT_FDCWD, what, along_path, IS_OLD_##age, file_actions);			\
		if (!thread) {										\
			error = real_##age##_##name(pid, what, file_actions, attributes, argv, envp);	\
			COMPLETED();									\
			return error;									\
		}											\
		fxt_birth_begin(thread, &birth, FXT_BIRTH_EXECUTES);					\
		error = real_##age##_##name(&child, what, file_actions, attributes, argv, envp);	\
		COMPLETED();										\
		if (!error && pid)									\
			*pid = child;									\
		fxt_birth_end(thread, &birth, error ? -1 : child);					\
		if (!error && refusal)									\
			tell_untraced(thread, what, refusal);						\
		return error;										\
	}												\
	FXT_WRAP_AROUND(process, int, age##_##name, name, complete_##age##_##name, BLOCKS(what), ERROR,	\
			(pid_t *, pid, PID), (const char *, what, LATER),				\
			(spawn_actions, file_actions, PTR), (spawn_attributes, attributes, SKIP),	\
			(strings, argv, ARGV), (strings, envp, SKIP))

/* A child that the attributes kill has not looked at the path. */
#define BOTH(name, what, along_path)          \
	SPAWN(new, name, what, along_path)    \
	IN_OLD(SPAWN, name, what, along_path) \
	VERSIONED(name)

BOTH(posix_spawn, path, false)
BOTH(posix_spawnp, file, true)

#define BY_HAND(category, name, role) BOTH_REAL(name)
const struct fxt_real fxt_reals_spawn[] = {
#include "interpose/engine/rows.inc"
#include "interpose/tables/spawn.def"
	{NULL, NULL, NULL},
};
#include "interpose/engine/unrows.inc"
