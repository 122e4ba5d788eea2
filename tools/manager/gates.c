/* See gates.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "gates.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/common/host_clock.h"
#include "tools/common/message.h"
#include "writer/provider.h"

enum { PAGE = 4096 };

static_assert(sizeof(pthread_mutex_t) <= FXT_MANAGER_REAL, "the lock is in front of what else the page has");

/* Linux 5.1 has this seal; older headers lack the name, and older kernels refuse it. */
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

/* Takes the lock whose first word says that the manager lives. When the process is gone, however it ended,
 * the kernel says so there. */
static bool show_life(struct fxt_gates *gates)
{
	pthread_mutex_t *life = (void *)(gates->memory + (size_t)FXT_MANAGER_PAGE * PAGE);
	pthread_mutexattr_t attributes;
	bool done;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	done = pthread_mutex_init(life, &attributes) == 0 && pthread_mutex_lock(life) == 0;
	pthread_mutexattr_destroy(&attributes);
	return done;
}

bool fxt_gates_make(struct fxt_gates *gates)
{
	size_t bytes = (size_t)FXT_GATES_MOST * PAGE;

	gates->fd = memfd_create("fxt gates", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (gates->fd < 0)
		return false;
	/* This mapping stays writable, and has room for the pages that come later. */
	gates->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, gates->fd, 0);
	if (gates->memory == MAP_FAILED || ftruncate(gates->fd, PAGE) != 0 || !show_life(gates) ||
	    fcntl(gates->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0) {
		close(gates->fd);
		return false;
	}
	*(int64_t *)(void *)(gates->memory + (size_t)FXT_MANAGER_PAGE * PAGE + FXT_MANAGER_REAL) =
		fxt_host_real_ns();
	gates->count = FXT_MANAGER_PAGE + 1;
	gates->free_count = 0;
	return true;
}

void fxt_gates_free(struct fxt_gates *gates)
{
	pthread_mutex_unlock((void *)(gates->memory + (size_t)FXT_MANAGER_PAGE * PAGE));
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
	gates->pages[*page] = (struct fxt_gate_page){.owners = 1};
	return true;
}

bool fxt_gates_share(struct fxt_gates *gates, uint32_t page)
{
	if (page >= gates->count || !gates->pages[page].owners)
		return false;
	gates->pages[page].owners++;
	return true;
}

void fxt_gates_give_back(struct fxt_gates *gates, uint32_t page)
{
	if (!--gates->pages[page].owners)
		gates->free[gates->free_count++] = page;
}

void fxt_gates_wake(struct fxt_gates *gates, uint32_t page, int by)
{
	_Atomic uint32_t *word = (_Atomic uint32_t *)(void *)(gates->memory + (size_t)page * PAGE);

	gates->pages[page].woken += (uint32_t)by;
	atomic_store_explicit(word, gates->pages[page].woken ? UINT32_MAX : 0, memory_order_release);
}
