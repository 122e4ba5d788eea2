/* See plt_call.h. This file owns the list, and the addresses that the stubs go on at. */
#include "plt_call.h"

#include <string.h>

#include "agent/base/agent.h"
#include "writer/sys.h"

#if defined(__x86_64__)

enum { SLOTS = FXT_PLT_CALLS * 2 };

/* The address that each stub goes on at, by the stub's number. Stubs read this (entries.S). */
uintptr_t *fxt_plt_targets __attribute__((visibility("hidden")));

static struct table {
	uintptr_t targets[FXT_PLT_CALLS];
	struct fxt_plt_call calls[FXT_PLT_CALLS];
	uint16_t by_target[SLOTS];      /* the number of a stub; 0: none */
} *table;
static unsigned count;

const struct fxt_plt_call *fxt_plt_call(uintptr_t address)
{
	return &table->calls[(address - (uintptr_t)fxt_plt_stubs) / FXT_PLT_STUB_BYTES];
}

unsigned fxt_plt_call_count(void)
{
	return count;
}

static uintptr_t stub(unsigned number)
{
	return (uintptr_t)fxt_plt_stubs + number * FXT_PLT_STUB_BYTES;
}

uintptr_t fxt_plt_call_make(const char *name, const char *file, uintptr_t target)
{
	unsigned slot = (unsigned)(target * UINT64_C(0x9e3779b97f4a7c15) >> 40) % SLOTS, number;

	if (!table) {
		table = fxt_sys_memory(sizeof(*table));
		if (!table)
			return 0;
		fxt_plt_targets = table->targets;
	}
	/* One function may have several names, such as memcpy and memmove. */
	for (; (number = table->by_target[slot]) != 0; slot = (slot + 1) % SLOTS)
		if (table->targets[number] == target && !strcmp(table->calls[number].name, name))
			return stub(number);
	/* The first place of the list is no stub's. */
	number = count + 1;
	if (number >= FXT_PLT_CALLS)
		return 0;
	table->targets[number] = target;
	table->calls[number] = (struct fxt_plt_call){name, strlen(name), file};
	table->by_target[slot] = (uint16_t)number;
	count = number;
	return stub(number);
}

#endif
