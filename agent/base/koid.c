/* See koid.h. This file owns what is known of the two namespaces: that of `fxt record` and that of this
 * process. */
#include "koid.h"

#include <string.h>
#include <sys/auxv.h>

#include "agent.h"
#include "stack.h"
#include "writer/apart.h"
#include "writer/decimal.h"
#include "writer/run/process_stat.h"

#define VARIABLE "FXT_NAMESPACE="

enum {
	LINK_BYTES = 64,
	FIRST_MADE = 1 << 22,           /* Linux's largest process id is below this */
	STAT_BYTES = 512,               /* enough of /proc/self/stat to contain the time the process began */
	NS_PER_SECOND = 1000000000,
};

/* The namespace of `fxt record` and the device of its /proc. 0: not known. */
static struct {
	uint64_t namespace, proc_device;
} first;
static uint64_t namespace, start_ns;    /* the namespace and the begin of this process */

/* Returns the number that stands behind `before` in the target of a symbolic link, or 0. */
static uint64_t number_in_link(const char *path, const char *before)
{
	char target[LINK_BYTES];
	int bytes = fxt_sys_readlink(path, target, sizeof(target) - 1);
	const char *at;

	if (bytes <= 0)
		return 0;
	target[bytes] = '\0';
	at = strstr(target, before);
	if (!at)
		return 0;
	at += strlen(before);
	return fxt_decimal_at(&at);
}

/* Returns whether this process sees the /proc of `fxt record`. Each mount of /proc shows one namespace. */
static bool is_first_proc(void)
{
	struct stat status;

	return !fxt_sys_lstat("/proc", &status) && (uint64_t)status.st_dev == first.proc_device;
}

uint64_t fxt_process_start_ns(void)
{
	char text[STAT_BYTES];
	uint64_t ticks, per_second = getauxval(AT_CLKTCK);
	long bytes;

	/* This may run in a signal handler that forks, and that has a small stack of its own. */
	if (!per_second || fxt_stack_has_less(STAT_BYTES + FXT_SLOW_PATH_BYTES))
		return 0;
	bytes = fxt_read_file("/proc/self/stat", text, sizeof(text) - 1);
	if (bytes <= 0)
		return 0;
	text[bytes] = '\0';
	ticks = fxt_parse_process_stat(text).start_ticks;
	return ticks / per_second * NS_PER_SECOND + ticks % per_second * NS_PER_SECOND / per_second;
}

/* Makes one of 2^32 - 2^22 numbers by a hash. Two of a thousand processes and threads get the same number in
 * one of some ten thousand runs. */
static uint32_t make(uint32_t id)
{
	uint64_t x = (namespace << 32 | id) + start_ns * UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 29) * UINT64_C(0x94d049bb133111eb);
	return FIRST_MADE + (uint32_t)((x ^ x >> 32) % (UINT32_MAX - FIRST_MADE));
}

uint32_t fxt_koid_of_fiber(uint32_t fiber)
{
	return FIRST_MADE + (make(fxt_agent.koid) - FIRST_MADE + fiber) % (UINT32_MAX - FIRST_MADE);
}

/* Finds this process's number. */
static void look(void)
{
	uint64_t shown;

	fxt_agent.koid = fxt_agent.pid;
	fxt_agent.koid_kind = FXT_KOID_OWN;
	namespace = first.namespace ? number_in_link("/proc/self/ns/pid", "[") : 0;
	/* The process is in the namespace of `fxt record`, or nothing is known because there is no
	 * `fxt record` or no /proc. */
	if (!namespace || namespace == first.namespace)
		return;
	shown = is_first_proc() ? number_in_link("/proc/self", "") : 0;
	if (!shown)
		start_ns = fxt_process_start_ns();
	fxt_agent.koid_kind = shown ? FXT_KOID_SHOWN : FXT_KOID_MADE;
	fxt_agent.koid = shown ? (uint32_t)shown : make(fxt_agent.pid);
}

void fxt_koid_start(char **environment)
{
	const char *at;

	for (; *environment && strncmp(*environment, VARIABLE, strlen(VARIABLE)); environment++)
		;
	if (*environment) {
		at = *environment + strlen(VARIABLE);
		first.namespace = fxt_decimal_at(&at);
		at += *at == ':';
		first.proc_device = fxt_decimal_at(&at);
	}
	look();
}

/* The kernel gives 0 as the id of a parent in another namespace. Then the child may be in a new one. */
void fxt_koid_after_fork(void)
{
	if (fxt_agent.koid_kind == FXT_KOID_OWN && (!first.namespace || FXT_SYSCALL0(SYS_getppid) != 0))
		fxt_agent.koid = fxt_agent.pid;
	else
		look();
}

uint32_t fxt_koid_of_thread(uint32_t tid)
{
	uint64_t shown;

	if (fxt_agent.koid_kind == FXT_KOID_OWN)
		return tid;
	if (tid == fxt_agent.pid)
		return fxt_agent.koid;
	shown = fxt_agent.koid_kind == FXT_KOID_SHOWN ? number_in_link("/proc/thread-self", "/task/") : 0;
	return shown ? (uint32_t)shown : make(tid);
}

bool fxt_koid_differs(void)
{
	return fxt_agent.koid_kind != FXT_KOID_OWN;
}
