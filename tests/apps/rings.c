/* Puts random numbers of operations that do nothing through rings of io_uring, by syscall(). Of three rings
 * one is closed by close(), one by close_range(), and one is left open. With `exec` it executes another
 * program in the end; with `forks` a child uses a ring of its own. Prints "rings calls operations" of the
 * process. With `unseen` it makes one ring by an instruction of its own instead, which a thread of the kernel
 * polls; with `library FILE` it loads FILE. Then it prints nothing. Exits with 77 where there is no io_uring.
 */
#include <dlfcn.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random.h"

enum { ENTRIES = 8 };

struct ring {
	int fd;
	struct io_uring_params p;
	char *sq;
	struct io_uring_sqe *entries;
};

static unsigned calls, operations;

static void make(struct ring *r)
{
	memset(&r->p, 0, sizeof(r->p));
	r->fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &r->p);
	if (r->fd < 0) {
		perror("io_uring_setup");
		exit(77);
	}
	r->sq = mmap(NULL, r->p.sq_off.array + r->p.sq_entries * sizeof(unsigned), PROT_READ | PROT_WRITE,
		     MAP_SHARED, r->fd, IORING_OFF_SQ_RING);
	r->entries = mmap(NULL, r->p.sq_entries * sizeof(*r->entries), PROT_READ | PROT_WRITE, MAP_SHARED,
			  r->fd, IORING_OFF_SQES);
	if (r->sq == MAP_FAILED || r->entries == MAP_FAILED)
		exit(1);
}

static unsigned *at(const struct ring *r, unsigned offset)
{
	return (unsigned *)(void *)(r->sq + offset);
}

/* Submits `count` operations by one call, and waits for them. */
static void submit(struct ring *r, unsigned count)
{
	unsigned tail = *at(r, r->p.sq_off.tail), mask = *at(r, r->p.sq_off.ring_mask), i;

	for (i = 0; i < count; i++, tail++) {
		memset(&r->entries[tail & mask], 0, sizeof(*r->entries));
		r->entries[tail & mask].opcode = IORING_OP_NOP;
		at(r, r->p.sq_off.array)[tail & mask] = tail & mask;
	}
	__atomic_store_n(at(r, r->p.sq_off.tail), tail, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, r->fd, count, count, IORING_ENTER_GETEVENTS, NULL, 0) != (long)count)
		exit(1);
	calls++;
	operations += count;
}

static void use(struct ring *r)
{
	unsigned times = 1 + random_below(5);

	make(r);
	/* Nobody takes completions out, so no more than fit are made. */
	while (times--)
		submit(r, 1 + random_below(3));
}

int main(int argc, char **argv)
{
	struct ring closed, ranged, left;
	const char *how = argc > 1 ? argv[1] : "";

	random_seed(1);
	if (!strcmp(how, "unseen")) {
		memset(&closed.p, 0, sizeof(closed.p));
		closed.p.flags = IORING_SETUP_SQPOLL;
		return unseen(SYS_io_uring_setup, ENTRIES, &closed.p) < 0 ? 77 : 0;
	}
	if (!strcmp(how, "library"))
		return !dlopen(argv[2], RTLD_NOW);
	use(&closed);
	close(closed.fd);
	use(&ranged);
	use(&left);
	if (syscall(SYS_close_range, (unsigned)ranged.fd, (unsigned)ranged.fd, 0))
		close(ranged.fd);
	if (!strcmp(how, "forks") && !fork()) {
		calls = operations = 0;
		use(&closed);
		printf("1 %u %u\n", calls, operations);
		fflush(stdout);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	printf("3 %u %u\n", calls, operations);
	fflush(stdout);
	if (!strcmp(how, "exec"))
		execl("/bin/true", "true", (char *)NULL);
	return 0;
}
