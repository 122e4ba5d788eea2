/* See unwind_stack.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "unwind_stack.h"

#include <string.h>
#include <sys/uio.h>

void fxt_unwind_begin(struct fxt_unwind *unwind, const struct fxt_perf_record *sample)
{
	const uint64_t *from = sample->registers;

	*unwind = (struct fxt_unwind){.stack = sample->stack, .bytes = sample->stack_bytes};
#if defined(__x86_64__)
	/* The kernel's order is that of <asm/perf_regs.h>: ax bx cx dx si di bp sp ip r8 to r15. */
	static const unsigned char dwarf[FXT_PERF_REGISTER_COUNT] = {0, 3, 2,  1,  4,  5,  6,  7, 16,
								     8, 9, 10, 11, 12, 13, 14, 15};

	for (size_t i = 0; i < FXT_PERF_REGISTER_COUNT; i++)
		unwind->registers[dwarf[i]] = from[i];
#else
	memcpy(unwind->registers, from,
	       (size_t)FXT_PERF_REGISTER_COUNT < (size_t)FXT_UNWIND_REGISTERS
		       ? FXT_PERF_REGISTER_COUNT * sizeof(*from)
		       : FXT_UNWIND_REGISTERS * sizeof(*from));
#endif
	unwind->begin = unwind->registers[FXT_UNWIND_STACK];
}

/* Reads a word of the process, unless it is known: the process may be gone. */
static bool read_process(const struct fxt_unwind *unwind, uint64_t address, uint64_t *word)
{
	struct iovec here = {word, sizeof(*word)}, there = {(void *)(uintptr_t)address, sizeof(*word)};
	bool fresh;
	struct fxt_slot *known = fxt_map_put(unwind->words, address, 0, &fresh);

	if (!fresh) {
		*word = known->value[0];
		return true;
	}
	if (process_vm_readv((pid_t)unwind->pid, &here, 1, &there, 1, 0) != (ssize_t)sizeof(*word)) {
		fxt_map_remove(unwind->words, known);
		return false;
	}
	known->value[0] = *word;
	return true;
}

bool fxt_unwind_read(const struct fxt_unwind *unwind, uint64_t address, uint64_t *word)
{
	uint64_t at = address - unwind->begin;

	if (address < unwind->begin || at >= unwind->bytes || unwind->bytes - at < sizeof(*word))
		return unwind->words && read_process(unwind, address, word);
	memcpy(word, unwind->stack + at, sizeof(*word));
	return true;
}

bool fxt_unwind_by_frame_pointer(struct fxt_unwind *unwind)
{
	uint64_t frame = unwind->registers[FXT_UNWIND_FRAME], caller, pc;

	if (frame % 8 || frame < unwind->registers[FXT_UNWIND_STACK] ||
	    !fxt_unwind_read(unwind, frame, &caller) || !fxt_unwind_read(unwind, frame + 8, &pc))
		return false;
	unwind->registers[FXT_UNWIND_PC] = pc;
	unwind->registers[FXT_UNWIND_STACK] = frame + 16;
	unwind->registers[FXT_UNWIND_FRAME] = caller;
	return true;
}
