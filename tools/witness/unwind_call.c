/* See unwind_call.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "unwind_call.h"

#include <string.h>
#include <sys/uio.h>

#if defined(__x86_64__)

enum {
	FRAME_BYTES = 64 << 10,         /* frames are no larger, as a rule */
	WORD = 8,
	CALL_BYTES = 7,                 /* what is read in front of a return address */
	STUB_BYTES = 16,                /* of a linkage table */
	/* of a function that hands over to another, and of that one */
	FIRST_BYTES = 128, LATER_BYTES = 2048,
	CALL = 0xe8, JUMP = 0xe9, CALL_OR_JUMP = 0xff, BY_WORD_CALL = 0x15, BY_WORD_JUMP = 0x25, BND = 0xf2,
};

static bool read_memory(const struct fxt_unwind *unwind, uint64_t from, void *to, size_t bytes)
{
	struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)from, bytes};

	return process_vm_readv((pid_t)unwind->pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

/* Returns the address that is given relative to the end of an instruction, in the four bytes before that. */
static uint64_t relative(const unsigned char *distance, uint64_t end)
{
	int32_t value;

	memcpy(&value, distance, sizeof(value));
	return end + (uint64_t)(int64_t)value;
}

/* Returns whether the code at `from` jumps to the function as its last deed, or to code that does so: a
 * function that begins with the usual case may leave what is seldom to another one. */
static bool jumps_to(const struct fxt_unwind *unwind, uint64_t from, uint64_t function, unsigned steps)
{
	unsigned char code[LATER_BYTES];
	size_t bytes = steps ? FIRST_BYTES : LATER_BYTES;

	if (!read_memory(unwind, from, code, bytes))
		return false;
	for (size_t at = 0; at + 5 <= bytes; at++) {
		uint64_t target = code[at] == JUMP ? relative(code + at + 1, from + at + 5) : 0;

		if (target &&
		    (target == function || (steps && jumps_to(unwind, target, function, steps - 1))))
			return true;
	}
	return false;
}

/* Returns whether `target` is the function, code that jumps there, or a stub of a linkage table for one of
 * these. */
static bool leads_to(const struct fxt_unwind *unwind, uint64_t target, uint64_t function)
{
	static const unsigned char endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	unsigned char code[STUB_BYTES];
	uint64_t word;
	size_t at = 0;

	if (target == function || jumps_to(unwind, target, function, 1))
		return true;
	if (!read_memory(unwind, target, code, sizeof(code)))
		return false;
	if (memcmp(code, endbr64, sizeof(endbr64)) == 0)
		at += sizeof(endbr64);
	at += code[at] == BND;
	if (code[at] != CALL_OR_JUMP || code[at + 1] != BY_WORD_JUMP)
		return false;
	word = relative(code + at + 2, target + at + 6);
	return read_memory(unwind, word, &word, sizeof(word)) &&
	       (word == function || jumps_to(unwind, word, function, 1));
}

/* Returns whether the instruction in front of a return address calls the function. */
static bool calls(const struct fxt_unwind *unwind, uint64_t return_address, uint64_t function)
{
	unsigned char code[CALL_BYTES];
	const unsigned char *distance = code + CALL_BYTES - 4;
	uint64_t word;

	if (!read_memory(unwind, return_address - CALL_BYTES, code, sizeof(code)))
		return false;
	if (distance[-1] == CALL && leads_to(unwind, relative(distance, return_address), function))
		return true;
	if (distance[-2] != CALL_OR_JUMP || distance[-1] != BY_WORD_CALL)
		return false;
	word = relative(distance, return_address);
	return read_memory(unwind, word, &word, sizeof(word)) &&
	       (word == function || jumps_to(unwind, word, function, 1));
}

bool fxt_unwind_by_call(struct fxt_unwind *unwind, const struct fxt_space *space, uint64_t function)
{
	uint64_t begin = unwind->registers[FXT_UNWIND_STACK], at, frame, caller;

	if (begin % WORD)
		return false;
	for (at = begin; at - begin < FRAME_BYTES; at += WORD) {
		if (!fxt_unwind_read(unwind, at, &frame) || !fxt_unwind_read(unwind, at + WORD, &caller))
			return false;
		if (!fxt_space_find(space, caller) || !calls(unwind, caller, function))
			continue;
		unwind->registers[FXT_UNWIND_PC] = caller;
		unwind->registers[FXT_UNWIND_STACK] = at + 2 * WORD;
		unwind->registers[FXT_UNWIND_FRAME] = frame;
		return true;
	}
	return false;
}

#else

bool fxt_unwind_by_call(struct fxt_unwind *unwind, const struct fxt_space *space, uint64_t function)
{
	(void)unwind, (void)space, (void)function;
	return false;
}

#endif
