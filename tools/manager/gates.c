/* See gates.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gates.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/common/message.h"

enum { PAGE = 4096 };

/* Linux 5.1 has this seal; older headers lack the name, and older kernels refuse it. */
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

bool fxt_gates_make(struct fxt_gates *gates)
{
	size_t bytes = (size_t)FXT_GATES_MOST * PAGE;

	gates->fd = memfd_create("fxt gates", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (gates->fd < 0)
		return false;
	/* This mapping stays writable, and has room for the pages that come later. */
	gates->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, gates->fd, 0);
	if (gates->memory == MAP_FAILED ||
	    fcntl(gates->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0) {
		close(gates->fd);
		return false;
	}
	gates->count = gates->free_count = 0;
	return true;
}

void fxt_gates_free(struct fxt_gates *gates)
{
	munmap(gates->memory, (size_t)FXT_GATES_MOST * PAGE);
	close(gates->fd);
}

bool fxt_gates_take(struct fxt_gates *gates, uint32_t *page)
{
	if (!gates->free_count && gates->count < FXT_GATES_MOST &&
	    ftruncate(gates->fd, (off_t)(gates->count + 1) * PAGE) == 0)
		gates->free[gates->free_count++] = gates->count++;
	if (!gates->free_count)
		return false;
	*page = gates->free[--gates->free_count];
	fxt_gates_set(gates, *page, false);
	return true;
}

void fxt_gates_give_back(struct fxt_gates *gates, uint32_t page)
{
	fxt_gates_set(gates, page, false);
	gates->free[gates->free_count++] = page;
}

void fxt_gates_set(struct fxt_gates *gates, uint32_t page, bool is_open)
{
	_Atomic uint32_t *word = (_Atomic uint32_t *)(void *)(gates->memory + (size_t)page * PAGE);

	atomic_store_explicit(word, is_open ? UINT32_MAX : 0, memory_order_release);
}
