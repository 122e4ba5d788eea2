/* Owns the page of the gate, the word that says whose gate it is, and the view of the manager's page that is
 * mapped in the gate's place while the gate is lent. gate.h says who calls this, and when. */
#include "gate.h"

#include <errno.h>

#include "writer/lock.h"
#include "writer/provider.h"
#include "writer/storage.h"

enum { MADVISE_WIPE_ON_FORK = 18 };

FXT_WIPED_PAGE struct fxt_gate fxt_gate;
atomic_bool fxt_gate_lent;

/* Where the pages that the kernel wipes begin and end: agent/tables.ld. */
extern char fxt_wiped_begin[] __attribute__((visibility("hidden"))),
	fxt_wiped_end[] __attribute__((visibility("hidden")));

/* The process whose gate it is; 0 in a child that has not been through our handler. */
static FXT_WIPED _Atomic uint32_t owner;

static_assert(sizeof(fxt_gate) == FXT_PAGE_BYTES, "nothing else may be in its place when it is lent");

static void *view;                      /* the page that the gate is lent to; NULL: there is none */
static void *manager_page;              /* FXT_MANAGER_PAGE; NULL: there is none */
/* The members below, and with them which page is in the gate's place, change under this lock. Threads begin,
 * end and suspend recording at the same time; the gate is always what all of them together say. */
static struct fxt_lock gate_lock;
static uint32_t wanted;                 /* the categories that are on, unless something is suspended */
static unsigned suspended;              /* enum fxt_suspension */
static unsigned counterless;            /* so many threads may not read the processor's counter */
static bool is_ready;                   /* if the gate is lent, that may be done now */
/* The manager's page may be in the gate's place. A fork may come at any instruction, so this is set before
 * the page comes, and cleared after it has gone. */
static bool is_mapped;
static bool is_advised;                 /* the kernel knows which pages to wipe */

/* True if this thread is one of those. */
static __thread bool is_counterless __attribute__((tls_model("initial-exec")));

/* Takes gate_lock, where a lock may be taken. Returns whether it was. */
static bool lock_gate(uint64_t *mask)
{
	if (fxt_may_not_lock())
		return false;
	*mask = fxt_lock(&gate_lock);
	return true;
}

static void unlock_gate(bool is_locked, uint64_t mask)
{
	if (is_locked)
		fxt_unlock(&gate_lock, mask);
}

/* Puts the process's own page in the gate's place, if it is not there. Returns false if the kernel
 * refuses. */
static bool take_back(void)
{
	int error = 0;

	if (!is_mapped)
		return true;
	/* The kernel changes the mapping at once: other threads find one page or the other. */
	fxt_sys_mmap(&fxt_gate, FXT_PAGE_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0, &error);
	if (error)
		return false;
	fxt_sys_madvise(&fxt_gate, sizeof(fxt_gate), MADVISE_WIPE_ON_FORK);
	is_mapped = false;
	return true;
}

/* Puts the manager's page in the gate's place. If the kernel refuses, the gate stays closed. */
static void lend(void)
{
	if (is_mapped)
		return;
	is_mapped = true;
	atomic_signal_fence(memory_order_seq_cst);
	/* With an old size of 0 this makes a second mapping of the page. */
	if (FXT_SYSCALL5(SYS_mremap, view, 0, FXT_PAGE_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, &fxt_gate) !=
	    (long)(uintptr_t)&fxt_gate)
		is_mapped = false;
}

/* Makes the gate what was asked for; `lends` says whether that is to be lent. The caller holds gate_lock. If
 * it may take no lock, it is the only thread that may do this, or the child of a vfork: that leaves a gate
 * which is lent to its parent. */
static void settle(bool lends, bool is_locked)
{
	if (!is_locked && fxt_gate_is_lent())
		return;
	if (lends && is_ready && !suspended) {
		lend();
		return;
	}
	/* A page that stays lent can only be read. */
	if (!take_back())
		return;
	/* The page that has come is closed. A thread that finds it open finds that it is not lent. */
	atomic_store(&fxt_gate_lent, lends);
	atomic_store_explicit(&fxt_gate.mask, lends || suspended & FXT_SUSPENDED_ALL ? 0 : wanted,
			      memory_order_release);
}

void fxt_gate_own(uint32_t pid)
{
	const size_t bytes = (size_t)(fxt_wiped_end - fxt_wiped_begin);

	fxt_lock_reset(&gate_lock);
	/* In the child of a fork this is the only thread. */
	counterless = is_counterless;
	if (!is_counterless)
		suspended &= ~(unsigned)FXT_SUSPENDED_TSC;
	/* If the kernel lacks this advice, only the fork handler keeps children out of this buffer, and wipes
	 * the tables. */
	if (!is_advised)
		fxt_sys_madvise(fxt_wiped_begin, bytes, MADVISE_WIPE_ON_FORK);
	else if (!fxt_gate_is_inherited())
		fxt_sys_madvise(fxt_wiped_begin, bytes, MADV_DONTNEED);
	fxt_gate_set(0);
	is_advised = true;
	atomic_store_explicit(&owner, pid, memory_order_relaxed);
}

bool fxt_gate_is_owned(uint32_t pid)
{
	/* A forked child stores there next. If it only read here, the kernel would map the page twice. */
	return atomic_fetch_add_explicit(&owner, 0, memory_order_relaxed) == pid;
}

bool fxt_gate_is_inherited(void)
{
	return !atomic_load_explicit(&owner, memory_order_relaxed);
}

void fxt_gate_set(uint32_t categories)
{
	uint64_t mask;
	bool is_locked = lock_gate(&mask);

	wanted = categories;
	settle(false, is_locked);
	unlock_gate(is_locked, mask);
}

bool fxt_gate_suspend(enum fxt_suspension what)
{
	uint64_t mask;
	bool is_locked = lock_gate(&mask), is_new = !(suspended & what);

	if (what == FXT_SUSPENDED_TSC) {
		is_new = !is_counterless;
		counterless += is_new;
		is_counterless = true;
	}
	suspended |= what;
	settle(fxt_gate_is_lent(), is_locked);
	unlock_gate(is_locked, mask);
	return is_new;
}

void fxt_gate_resume(unsigned what)
{
	uint64_t mask;
	bool is_locked = lock_gate(&mask);

	if (what & FXT_SUSPENDED_TSC) {
		counterless -= is_counterless;
		is_counterless = false;
		if (counterless)
			what &= ~(unsigned)FXT_SUSPENDED_TSC;
	}
	suspended &= ~what;
	settle(fxt_gate_is_lent(), is_locked);
	unlock_gate(is_locked, mask);
}

bool fxt_gate_hands_on(void)
{
	uint64_t mask;
	bool is_locked;

	if (!is_counterless)
		return false;
	is_locked = lock_gate(&mask);
	counterless++;
	unlock_gate(is_locked, mask);
	return true;
}

void fxt_gate_inherits(void)
{
	is_counterless = true;
}

bool fxt_gate_is_counterless(void)
{
	return is_counterless;
}

static void *map_page(int fd, uint32_t page, int *error)
{
	return fxt_sys_mmap(NULL, FXT_PAGE_BYTES, PROT_READ, MAP_SHARED, fd, (off_t)page * FXT_PAGE_BYTES,
			    error);
}

int fxt_gate_keep_page(int fd, uint32_t page)
{
	struct stat status;
	int error = fxt_sys_fstat(fd, &status);
	long seals = FXT_SYSCALL2(SYS_fcntl, fd, F_GET_SEALS);

	if (error)
		return error;
	if (seals < 0 || !(seals & F_SEAL_SHRINK) || (off_t)(page + 1) * FXT_PAGE_BYTES > status.st_size)
		return -EPERM;
	fxt_gate_forget_page();
	view = map_page(fd, page, &error);
	if (view)
		manager_page = map_page(fd, FXT_MANAGER_PAGE, &error);
	return error;
}

void fxt_gate_forget_page(void)
{
	if (view)
		fxt_sys_munmap(view, FXT_PAGE_BYTES);
	if (manager_page)
		fxt_sys_munmap(manager_page, FXT_PAGE_BYTES);
	view = manager_page = NULL;
}

const _Atomic uint32_t *fxt_gate_manager_word(void)
{
	return manager_page;
}

int64_t fxt_gate_host_real_ns(void)
{
	return manager_page ? *(const int64_t *)(const void *)((const char *)manager_page + FXT_MANAGER_REAL)
			    : 0;
}

bool fxt_gate_prepare(void)
{
	uint64_t mask;
	bool is_locked = lock_gate(&mask);

	is_ready = false;
	if (view)
		settle(true, is_locked);
	unlock_gate(is_locked, mask);
	return view;
}

void fxt_gate_lend(void)
{
	uint64_t mask;
	bool is_locked = lock_gate(&mask);

	is_ready = true;
	settle(fxt_gate_is_lent(), is_locked);
	unlock_gate(is_locked, mask);
}
