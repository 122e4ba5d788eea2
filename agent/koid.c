/* See koid.h. Called at start, after a fork, and by threads that attach themselves: any context. */
#include "koid.h"

#include <string.h>

#include "agent.h"

#define VARIABLE "FXT_NAMESPACE="

enum {
	LINK_BYTES = 64,
	PID_BITS = 22,                  /* Linux's largest process id is below 2^22 */
	NAMESPACES = 1000,              /* namespaces are numbered as they are made: so many in succession are told apart */
};

/* Of `fxt record`: its namespace and the device of its /proc. 0: nothing is known of it. */
static struct {
	uint64_t namespace, proc_device;
} first;
static uint64_t namespace;

static uint64_t number_at(const char **at)
{
	uint64_t number = 0;

	for (; **at >= '0' && **at <= '9'; ++*at)
		number = number * 10 + (uint64_t)(**at - '0');
	return number;
}

/* The number in what a link leads to, behind `before`; 0: it is not there. */
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
	return number_at(&at);
}

/* Each mount of /proc is of one namespace. */
static bool is_first_proc(void)
{
	struct stat status;

	return !fxt_sys_lstat("/proc", &status) && (uint64_t)status.st_dev == first.proc_device;
}

static uint32_t make(uint32_t id)
{
	return (uint32_t)(1 + namespace % NAMESPACES) << PID_BITS | id;
}

static void look(void)
{
	uint64_t shown;

	fxt_agent.koid = fxt_agent.pid;
	fxt_agent.koid_kind = FXT_KOID_OWN;
	namespace = first.namespace ? number_in_link("/proc/self/ns/pid", "[") : 0;
	/* Without a /proc nothing is known. */
	if (!namespace || namespace == first.namespace)
		return;
	shown = is_first_proc() ? number_in_link("/proc/self", "") : 0;
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
		first.namespace = number_at(&at);
		at += *at == ':';
		first.proc_device = number_at(&at);
	}
	look();
}

/* A parent in another namespace is not seen: its number is 0. */
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

uint32_t fxt_koid_of_other(uint32_t tid)
{
	const struct fxt_thread *thread = fxt_koid_differs() ? fxt_threads_find(tid) : NULL;

	return thread ? thread->tid : tid;
}

bool fxt_koid_differs(void)
{
	return fxt_agent.koid_kind != FXT_KOID_OWN;
}
