/* Writes the arguments of a program that is run, as one text with blanks between them: "ls -l /tmp". The
 * wrappers of what runs programs call this before and after the real call, in any context. What cannot be
 * read is left out. */
#ifndef FXT_ARGV_H
#define FXT_ARGV_H

#include <stddef.h>
#include <stdint.h>

enum { FXT_ARGV_MAX_BYTES = 1024 };

/* Returns how many bytes the text has, FXT_ARGV_MAX_BYTES at most. */
size_t fxt_argv_bytes(char *const *argv);

/* Writes the argument `argv` of an event, with a text of `bytes` bytes. It takes 1 + fxt_words_of(bytes)
 * words. Returns where they end. */
uint64_t *fxt_put_argv(uint64_t *at, char *const *argv, size_t bytes);

/* ARGV: a kind of parameter in the tables. */
#define COUNT_ARGV 1
#define WORDS_ARGV(name) (2 + fxt_words_of(name##_bytes))
#define MEASURE_ARGV(name) size_t name##_bytes = fxt_argv_bytes(name);
#define PUT_ARGV(name) at_ = fxt_put_argv(at_, name, name##_bytes);

#endif
