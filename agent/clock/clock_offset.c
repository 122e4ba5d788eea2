/* See clock_offset.h. The child of a fork and setns() come here in any context that forks; nothing is asked
 * of the kernel by a system call unless the two clocks say that something has changed. */
#include "clock_offset.h"

#include <string.h>

#include "agent/base/agent.h"
#include "agent/base/gate.h"
#include "agent/base/stack.h"
#include "writer/apart.h"
#include "writer/decimal.h"

#define VARIABLE "FXT_CLOCK="

enum {
	TRIES = 4,                      /* the closest of so many comparisons counts */
	CLOSE_NS = 500,                 /* a comparison so close is good enough */
	SAME_NS = 20 * 1000,            /* two comparisons that differ by less have found the same */
	OFFSETS_BYTES = 256,
};

_Atomic int64_t fxt_clock_offset_ns;

/* By what CLOCK_REALTIME was ahead of this process's CLOCK_BOOTTIME when it was looked at last. */
static int64_t own_real_ns;
static bool is_known;                   /* the offset was found in /proc */

bool fxt_clock_read(clockid_t clock, int64_t *ns)
{
	struct timespec now;

	if (!fxt_gate_is_counterless())
		clock_gettime(clock, &now);
	/* The program never made this call, so a filter may kill it for that. */
	else if (fxt_is_filtered() || FXT_SYSCALL2(SYS_clock_gettime, clock, &now))
		return false;
	*ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	return true;
}

/* Returns by what CLOCK_REALTIME is ahead of CLOCK_BOOTTIME: what it was before, if nobody may be asked. */
static int64_t compare(void)
{
	int64_t before_ns, real_ns, after_ns, found_ns = own_real_ns, least_ns = INT64_MAX;
	int i;

	for (i = 0; i < TRIES && least_ns > CLOSE_NS; i++) {
		if (!fxt_clock_read(CLOCK_BOOTTIME, &before_ns) ||
		    !fxt_clock_read(CLOCK_REALTIME, &real_ns) ||
		    !fxt_clock_read(CLOCK_BOOTTIME, &after_ns))
			break;
		if (after_ns - before_ns < least_ns) {
			least_ns = after_ns - before_ns;
			found_ns = real_ns - before_ns - least_ns / 2;
		}
	}
	return found_ns;
}

static bool differ(int64_t a, int64_t b)
{
	return a - b > SAME_NS || b - a > SAME_NS;
}

/* Finds in the text of /proc/self/timens_offsets by how much CLOCK_BOOTTIME is ahead: a line for each clock
 * has seconds and nanoseconds. Returns false if it does not say. */
static bool parse(const char *text, int64_t *ns)
{
	static const char name[] = "boottime";
	const char *at = strstr(text, name);
	bool is_behind;
	int64_t seconds;

	if (!at)
		return false;
	for (at += sizeof(name) - 1; *at == ' '; at++)
		;
	is_behind = *at == '-';
	at += is_behind;
	if (*at < '0' || *at > '9')
		return false;
	seconds = (int64_t)fxt_decimal_at(&at);
	for (; *at == ' '; at++)
		;
	if (*at < '0' || *at > '9')
		return false;
	/* The kernel adds the nanoseconds, which are not negative, to the seconds. */
	*ns = (is_behind ? -seconds : seconds) * 1000000000 + (int64_t)fxt_decimal_at(&at);
	return true;
}

/* Reads the offset of this process's own namespace. The file tells of the namespace that its children will
 * be in, which is another one after unshare(). */
static bool read_offset(int64_t *offset_ns)
{
	/* The first namespace has this number on every machine (PROC_TIME_INIT_INO), and no offsets. */
	static const char first[] = "time:[4026531834]";
	char text[OFFSETS_BYTES], own[32], of_children[32];
	int bytes, same;
	long length;

	if (fxt_is_filtered() || fxt_stack_has_less(2 * OFFSETS_BYTES + FXT_SLOW_PATH_BYTES))
		return false;
	bytes = fxt_sys_readlink("/proc/self/ns/time", own, sizeof(own));
	if (bytes == sizeof(first) - 1 && !memcmp(own, first, sizeof(first) - 1)) {
		*offset_ns = 0;
		return true;
	}
	same = fxt_sys_readlink("/proc/self/ns/time_for_children", of_children, sizeof(of_children));
	if (bytes <= 0 || same != bytes || memcmp(own, of_children, (size_t)bytes))
		return false;
	length = fxt_read_file("/proc/self/timens_offsets", text, sizeof(text) - 1);
	if (length <= 0)
		return false;
	text[length] = '\0';
	return parse(text, offset_ns);
}

static void set_offset(int64_t offset_ns)
{
	atomic_store_explicit(&fxt_clock_offset_ns, offset_ns, memory_order_relaxed);
}

void fxt_clock_offset_start(char **environment)
{
	int64_t offset_ns = 0;
	const char *said;

	own_real_ns = compare();
	is_known = read_offset(&offset_ns);
	set_offset(offset_ns);
	for (; *environment && strncmp(*environment, VARIABLE, strlen(VARIABLE)); environment++)
		;
	if (!*environment)
		return;
	said = *environment + strlen(VARIABLE);
	fxt_clock_offset_compare((int64_t)fxt_decimal_at(&said));
}

void fxt_clock_offset_compare(int64_t host_real_ns)
{
	if (!is_known && host_real_ns && differ(host_real_ns, own_real_ns))
		set_offset(host_real_ns - own_real_ns);
}

int64_t fxt_clock_real_ns(void)
{
	return compare() + fxt_clock_offset_ns;
}

bool fxt_clock_offset_may_differ(void)
{
	return differ(compare(), own_real_ns);
}

void fxt_clock_offset_again(bool is_as_before)
{
	int64_t offset_ns = fxt_clock_offset_ns, real_ns = compare();

	is_known = read_offset(&offset_ns);
	if (!is_known && !is_as_before)
		offset_ns += own_real_ns - real_ns;
	own_real_ns = real_ns;
	set_offset(offset_ns);
}
