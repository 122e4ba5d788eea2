/* Hashes with a key that is drawn anew in each process, so that nobody can make a trace whose keys
 * collide. The map uses them, and so do uthash's tables in files that include this header. */
#ifndef FXT_TOOLS_HASH_H
#define FXT_TOOLS_HASH_H

#include <stddef.h>
#include <stdint.h>

extern uint64_t fxt_hash_key[3];

/* Returns both halves of the product, folded. Each bit depends on all bits of both factors, of which the
 * key hides one. */
static inline uint64_t fxt_hash_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t fxt_hash_pair(uint64_t a, uint64_t b)
{
	return fxt_hash_fold(fxt_hash_fold(a ^ fxt_hash_key[0], b ^ fxt_hash_key[1]) ^ b,
			     fxt_hash_key[2] ^ a);
}

uint64_t fxt_hash_bytes(const void *bytes, size_t count);

#undef HASH_FUNCTION
#define HASH_FUNCTION(key, bytes, value) ((value) = (unsigned)fxt_hash_bytes((key), (bytes)))

#endif
