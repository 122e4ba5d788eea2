/* Hashes with a key that is drawn anew in each process. See hash.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "hash.h"

#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static uint64_t key[3];

/* Draws the key before main(), because any table may be used first. If the kernel gives no random bytes,
 * the address of the stack has to do. */
static __attribute__((constructor)) void draw_key(void)
{
	if (getrandom(key, sizeof(key), GRND_NONBLOCK) != (ssize_t)sizeof(key)) {
		key[0] = (uintptr_t)key;
		key[1] = (uintptr_t)&key[0] ^ (uintptr_t)__builtin_frame_address(0) << 16;
		key[2] = (uint64_t)getpid() << 32;
	}
}

/* Returns both halves of the product, folded. Each bit depends on all bits of both factors, of which the
 * key hides one. */
static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t fxt_hash_pair(uint64_t a, uint64_t b)
{
	return fold(fold(a ^ key[0], b ^ key[1]) ^ b, key[2] ^ a);
}

uint64_t fxt_hash_bytes(const void *bytes, size_t count)
{
	const unsigned char *at = bytes;
	uint64_t hash = key[2] ^ count;

	for (size_t left = count; left; left -= left < 16 ? left : 16, at += 16) {
		uint64_t words[2] = {0};

		memcpy(words, at, left < 16 ? left : 16);
		hash = fold(words[0] ^ key[0] ^ hash, words[1] ^ key[1]) ^ hash >> 1;
	}
	return fold(hash ^ key[0], key[1]);
}
