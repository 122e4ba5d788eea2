/* Exports calls of which x86_64 has an older version too. A file that includes this has defined
 * DEFAULT_VERSION, and defines new_NAME() and, by IN_OLD(), old_NAME(). */
#ifndef FXT_VERSIONS_H
#define FXT_VERSIONS_H

#if defined(__x86_64__)
#define OLD_VERSION "GLIBC_2.2.5"
#define VERSIONED(name)                                                \
	__asm__(".symver new_" #name "," #name "@@" DEFAULT_VERSION);  \
	__asm__(".symver old_" #name "," #name "@" OLD_VERSION);
#define IN_OLD(define, ...) define(old, __VA_ARGS__)
/* The rows of both versions in a table of struct fxt_real. */
#define BOTH_REAL(name)                                                \
	{#name, DEFAULT_VERSION, (void **)&real_new_##name},           \
	{#name, OLD_VERSION, (void **)&real_old_##name},
#else
#define VERSIONED(name) __asm__(".symver new_" #name "," #name "@@");
#define IN_OLD(define, ...)
#define BOTH_REAL(name) {#name, NULL, (void **)&real_new_##name},
#endif

#endif
