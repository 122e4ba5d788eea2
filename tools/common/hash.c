/* Hashes with a key that is drawn anew in each process. See hash.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "hash.h"

#include <string.h>
#include <sys/random.h>
#include <unistd.h>

uint64_t fxt_hash_key[3];

/* Draws the key before main(), because any table may be used first. If the kernel gives no random bytes,
 * the address of the stack has to do. */
static __attribute__((constructor)) void draw_key(void)
{
	if (getrandom(fxt_hash_key, sizeof(fxt_hash_key), GRND_NONBLOCK) != (ssize_t)sizeof(fxt_hash_key)) {
		fxt_hash_key[0] = (uintptr_t)fxt_hash_key;
		fxt_hash_key[1] = (uintptr_t)&fxt_hash_key[0] ^ (uintptr_t)__builtin_frame_address(0) << 16;
		fxt_hash_key[2] = (uint64_t)getpid() << 32;
	}
}

uint64_t fxt_hash_bytes(const void *bytes, size_t count)
{
	const unsigned char *at = bytes;
	uint64_t hash = fxt_hash_key[2] ^ count;

	for (size_t left = count; left; left -= left < 16 ? left : 16, at += 16) {
		uint64_t words[2] = {0};

		memcpy(words, at, left < 16 ? left : 16);
		hash = fxt_hash_fold(words[0] ^ fxt_hash_key[0] ^ hash, words[1] ^ fxt_hash_key[1]) ^
		       hash >> 1;
	}
	return fxt_hash_fold(hash ^ fxt_hash_key[0], fxt_hash_key[1]);
}
