/* Hashes with a key that is drawn anew in each process, so that nobody can make a trace whose keys
 * collide. The map uses them, and so do uthash's tables in files that include this header. */
#ifndef FXT_TOOLS_HASH_H
#define FXT_TOOLS_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t fxt_hash_pair(uint64_t a, uint64_t b);
uint64_t fxt_hash_bytes(const void *bytes, size_t count);

#undef HASH_FUNCTION
#define HASH_FUNCTION(key, bytes, value) ((value) = (unsigned)fxt_hash_bytes((key), (bytes)))

#endif
