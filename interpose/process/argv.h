/* The arguments of a program that is run, as one text with blanks between them: "ls -l /tmp". Called by the wrappers of what runs
 * one, before and after the real call, in any context. What cannot be read is left out. */
#ifndef FXT_ARGV_H
#define FXT_ARGV_H

#include <stddef.h>
#include <stdint.h>

enum { FXT_ARGV_MAX_BYTES = 1024 };

/* The bytes of the text, FXT_ARGV_MAX_BYTES at most. */
size_t fxt_argv_bytes(char *const *argv);

/* An argument `argv` of an event, of so many bytes: needs 1 + fxt_words_of(bytes) words, and returns where they end. */
uint64_t *fxt_put_argv(uint64_t *at, char *const *argv, size_t bytes);

/* As kind of a parameter in a table. */
#define COUNT_ARGV 1
#define WORDS_ARGV(name) (2 + fxt_words_of(name##_bytes))
#define MEASURE_ARGV(name) size_t name##_bytes = fxt_argv_bytes(name);
#define PUT_ARGV(name) at_ = fxt_put_argv(at_, name, name##_bytes);

#endif
