/* The frames of a stack, from the registers of a sample and the copy of the stack in it. witness_stacks.c
 * goes from frame to frame; mapped_module.c knows the rules of each function. */
#ifndef FXT_TOOLS_UNWIND_STACK_H
#define FXT_TOOLS_UNWIND_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perf_events.h"
#include "tools/common/map.h"

/* The registers have the numbers that DWARF gives them on this processor. */
enum {
#if defined(__aarch64__)
	FXT_UNWIND_FRAME = 29,
	FXT_UNWIND_STACK = 31,
	FXT_UNWIND_PC = 32,
	FXT_UNWIND_REGISTERS = 33,
#else
	FXT_UNWIND_FRAME = 6,
	FXT_UNWIND_STACK = 7,
	FXT_UNWIND_PC = 16,
	FXT_UNWIND_REGISTERS = 17,
#endif
};

struct fxt_unwind {
	uint64_t registers[FXT_UNWIND_REGISTERS];
	const unsigned char *stack;     /* a copy of the memory from `begin` on */
	uint64_t begin;
	size_t bytes;
	uint32_t pid;                   /* whose process it is */
	struct fxt_map *words;          /* other memory that may be read, and was before; NULL: none may */
	bool was_signal;                /* the frame is of a signal's return: its caller was interrupted */
};

/* Takes the registers and the stack of a sample, which has registers. */
void fxt_unwind_begin(struct fxt_unwind *unwind, const struct fxt_perf_record *sample);

/* Reads a word of the stack, or other memory of the process if that may be read: it must be memory that does
 * not change. Returns false if the copy does not have the word and the process has no such memory any
 * more. */
bool fxt_unwind_read(const struct fxt_unwind *unwind, uint64_t address, uint64_t *word);

/* Leaves a function that keeps a frame pointer and has no other rule. Returns false if there is no frame
 * above. */
bool fxt_unwind_by_frame_pointer(struct fxt_unwind *unwind);

#endif
