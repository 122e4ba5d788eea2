/* See seccomp.h. Runs the program's filter on the calls that the agent makes, as the kernel would. */
#include "seccomp.h"

#include <linux/audit.h>
#include <linux/falloc.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "agent/base/agent.h"
#include "agent/emit/thread.h"
#include "follow.h"
#include "lifecycle.h"
#include "writer/sys.h"

#if defined(__x86_64__)
#define ARCH_VALUE AUDIT_ARCH_X86_64
#else
#define ARCH_VALUE AUDIT_ARCH_AARCH64
#endif

/* An address that looks like one of ours, and a number that looks like our descriptor. */
#define SOMEWHERE ((uint64_t)(uintptr_t)&fxt_forbidden)
enum { OUR_FD = 1024, OUR_MEMORY = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE };

/* The calls that we make, with arguments of the sort that we pass, because a filter may look at those.
 * tests/check_exports.sh fails if one is missing. */
static const struct call {
	int number;
	uint64_t args[6];
} calls[] = {
	{SYS_rt_sigprocmask, {SIG_SETMASK, 1 << 16, 1 << 16, 8}},
	{SYS_rt_sigprocmask, {SIG_SETMASK, 1 << 16, 0, 8}},
	{SYS_rt_sigprocmask, {SIG_BLOCK, 0, 1 << 16, 8}},
	{SYS_futex, {1 << 16, FUTEX_WAIT_PRIVATE, 2}},
	{SYS_futex, {1 << 16, FUTEX_WAIT_PRIVATE, 2, 1 << 16}},
	{SYS_futex, {1 << 16, FUTEX_WAKE_PRIVATE, 1}},
	{SYS_getpid, {0}},
	{SYS_gettid, {0}},
	{SYS_tgkill, {1000, 1000, 0}},
	{SYS_rt_tgsigqueueinfo, {1000, 1000, SIGBUS, 1 << 16}},
	{SYS_write, {2, 1 << 16, 100}},
	{SYS_mmap, {0, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, OUR_FD, 1 << 20}},
	{SYS_mmap, {0, 1 << 16, PROT_READ | PROT_WRITE, OUR_MEMORY, UINT64_MAX, 0}},
	{SYS_mmap,
	 {1 << 20, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, OUR_FD, 1 << 20}},
	{SYS_mmap,
	 {1 << 20, 1 << 16, PROT_READ | PROT_WRITE, OUR_MEMORY | MAP_FIXED_NOREPLACE, UINT64_MAX, 0}},
	{SYS_mmap, {1 << 20, 1 << 16, PROT_NONE, OUR_MEMORY | MAP_FIXED, UINT64_MAX, 0}},
	{SYS_munmap, {1 << 20, 1 << 20}},
	{SYS_madvise, {1 << 20, 1 << 20, MADV_DONTDUMP}},
	{SYS_madvise, {1 << 20, 1 << 20, MADV_DONTNEED}},
	{SYS_madvise, {1 << 20, 1 << 20, MADV_NOHUGEPAGE}},
	{SYS_madvise, {1 << 20, 1 << 20, MADV_RANDOM}},
	{SYS_madvise, {1 << 20, 1 << 20, MADV_WIPEONFORK}},
	{SYS_madvise, {1 << 20, 1 << 20, MADV_POPULATE_WRITE}},
	{SYS_pwritev, {OUR_FD, 1 << 16, 4, 1 << 20}},
	{SYS_ftruncate, {OUR_FD, 1 << 20}},
	{SYS_newfstatat, {OUR_FD, 1 << 16, 1 << 16, AT_EMPTY_PATH}},
	{SYS_prlimit64, {0, RLIMIT_FSIZE, 0, 1 << 16}},
	{SYS_openat, {(uint64_t)AT_FDCWD, 1 << 16, O_RDONLY | O_CLOEXEC}},
	{SYS_openat, {(uint64_t)AT_FDCWD, 1 << 16, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600}},
	{SYS_openat, {(uint64_t)AT_FDCWD, 1 << 16, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600}},
	{SYS_close, {OUR_FD}},
	{SYS_read, {OUR_FD, 1 << 16, 4096}},
	{SYS_fcntl, {3, F_DUPFD_CLOEXEC, OUR_FD}},
	{SYS_prlimit64, {0, RLIMIT_NOFILE, 1 << 16, 0}},
	{SYS_prctl, {16 /* PR_GET_NAME */, 1 << 16}},
	{SYS_prctl, {15 /* PR_SET_NAME */, 1 << 16}},
	{SYS_fallocate, {OUR_FD, 0, 0, 1 << 18}},
	{SYS_fallocate, {OUR_FD, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 1 << 20, 1 << 20}},
	{SYS_linkat, {(uint64_t)AT_FDCWD, 1 << 16, (uint64_t)AT_FDCWD, 1 << 16, AT_SYMLINK_FOLLOW}},
	{SYS_renameat2, {(uint64_t)AT_FDCWD, 1 << 16, (uint64_t)AT_FDCWD, 1 << 16, 0}},
	{SYS_unlinkat, {(uint64_t)AT_FDCWD, 1 << 16, 0}},
	{SYS_uname, {1 << 16}},
	{SYS_getcwd, {1 << 16, 4096}},
	{SYS_readlinkat, {(uint64_t)AT_FDCWD, 1 << 16, 1 << 16, 4096}},
	{SYS_faccessat, {(uint64_t)AT_FDCWD, 1 << 16, 4}},
	{SYS_membarrier, {8 /* MEMBARRIER_CMD_PRIVATE_EXPEDITED */}},
	{SYS_nanosleep, {1 << 16}},
	{SYS_sendto, {OUR_FD, 1 << 16, 16, MSG_DONTWAIT | MSG_NOSIGNAL}},
	{SYS_recvfrom, {OUR_FD, 1 << 16, 16, MSG_DONTWAIT}},
	{SYS_ppoll, {1 << 16, 1, 1 << 16}},
	{SYS_socket, {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK}},
	{SYS_connect, {OUR_FD, 1 << 16, 110}},
	{SYS_sendmsg, {OUR_FD, 1 << 16, MSG_NOSIGNAL | MSG_DONTWAIT}},
	{SYS_recvmsg, {OUR_FD, 1 << 16, MSG_DONTWAIT | MSG_CMSG_CLOEXEC}},
	{SYS_memfd_create, {1 << 16, MFD_CLOEXEC | MFD_ALLOW_SEALING}},
	{SYS_fcntl, {OUR_FD, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW}},
	{SYS_clone, {CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_VFORK | CLONE_UNTRACED}},
	{SYS_clone3, {1 << 16, 80 /* the size of what is asked for */}},
	{SYS_wait4, {1000, 0, 0x80000000 /* __WCLONE */}},
	{SYS_close_range, {0, UINT32_MAX, 2 /* CLOSE_RANGE_UNSHARE */}},
	{SYS_unshare, {CLONE_FILES}},
	{SYS_exit, {0}},
	{SYS_clock_gettime, {CLOCK_THREAD_CPUTIME_ID, 1 << 16}},
	{SYS_fcntl, {OUR_FD, F_GET_SEALS}},
	{SYS_fstatfs, {OUR_FD, 1 << 16}},
	{SYS_getdents64, {OUR_FD, 1 << 16, 4096}},
	{SYS_getpeername, {3, 1 << 16, 1 << 16}},
	{SYS_getsockname, {3, 1 << 16, 1 << 16}},
	{SYS_getsockopt, {3, SOL_SOCKET, SO_TYPE, 1 << 16, 1 << 16}},
	{SYS_faccessat2, {(uint64_t)AT_FDCWD, 1 << 16, 3, AT_EACCESS}},
	{SYS_getegid, {0}},
	{SYS_geteuid, {0}},
	{SYS_getgid, {0}},
	{SYS_getpgid, {0}},
	{SYS_getppid, {0}},
	{SYS_getuid, {0}},
	{SYS_statfs, {1 << 16, 1 << 16}},
	{SYS_kcmp, {1000, 999, 2 /* KCMP_FILES */}},
	{SYS_getrusage, {RUSAGE_THREAD, 1 << 16}},
	{SYS_ioctl, {3, FIONREAD, 1 << 16}},
	{SYS_mprotect, {1 << 20, FXT_PAGE_BYTES, PROT_READ | PROT_WRITE}},
	{SYS_mremap, {1 << 20, 0, FXT_PAGE_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, 1 << 20}},
	{SYS_mincore, {1 << 20, FXT_PAGE_BYTES, 1 << 16}},
	{SYS_munlock, {1 << 20, 1 << 20}},
	{SYS_mlock, {1 << 20, 1 << 20}},
	{SYS_mlock2, {1 << 20, 1 << 20, MLOCK_ONFAULT}},
	{SYS_mlockall, {MCL_CURRENT}},
	{SYS_munlockall, {0}},
	{SYS_sched_getscheduler, {0}},
	{SYS_pread64, {OUR_FD, 1 << 16, 4096, 1 << 20}},
	{SYS_rt_sigaction, {SIGUSR1, 0, 1 << 16, 8}},
	{SYS_rt_sigreturn, {0}},
	{SYS_rt_sigtimedwait, {1 << 16, 0, 1 << 16, 8}},
	{SYS_sched_yield, {0}},
	{SYS_setpgid, {0, 0}},
	{SYS_sigaltstack, {0, 1 << 16}},
};

/* -- The filter's machine: classic BPF, as far as seccomp accepts it --------------------------------- */

static uint32_t compute(unsigned operation, uint32_t a, uint32_t b)
{
	switch (operation) {
	case BPF_ADD: return a + b;
	case BPF_SUB: return a - b;
	case BPF_MUL: return a * b;
	case BPF_DIV: return b ? a / b : 0;
	case BPF_OR: return a | b;
	case BPF_AND: return a & b;
	case BPF_LSH: return b < 32 ? a << b : 0;
	case BPF_RSH: return b < 32 ? a >> b : 0;
	case BPF_XOR: return a ^ b;
	default: return -a;             /* BPF_NEG */
	}
}

static bool holds(unsigned operation, uint32_t a, uint32_t b)
{
	switch (operation) {
	case BPF_JEQ: return a == b;
	case BPF_JGT: return a > b;
	case BPF_JGE: return a >= b;
	case BPF_JSET: return a & b;
	default: return true;           /* BPF_JA: both ways lead on */
	}
}

/* Returns the filter's action for a call. A filter that the kernel would refuse need not be right here. */
static uint32_t run(const struct sock_fprog *filter, const struct seccomp_data *data)
{
	uint32_t a = 0, x = 0, memory[BPF_MEMWORDS] = {0}, word;
	unsigned at = 0;

	while (at < filter->len) {
		const struct sock_filter *code = &filter->filter[at++];
		uint32_t operand = BPF_SRC(code->code) == BPF_X ? x : code->k;

		switch (BPF_CLASS(code->code)) {
		case BPF_LD:
		case BPF_LDX:
			word = code->k;
			if (BPF_MODE(code->code) == BPF_LEN)
				word = sizeof(*data);
			else if (BPF_MODE(code->code) == BPF_MEM)
				word = memory[code->k % BPF_MEMWORDS];
			else if (BPF_MODE(code->code) == BPF_ABS && code->k <= sizeof(*data) - sizeof(word))
				memcpy(&word, (const char *)data + code->k, sizeof(word));
			*(BPF_CLASS(code->code) == BPF_LD ? &a : &x) = word;
			break;
		case BPF_ST:
			memory[code->k % BPF_MEMWORDS] = a;
			break;
		case BPF_STX:
			memory[code->k % BPF_MEMWORDS] = x;
			break;
		case BPF_ALU:
			a = compute(BPF_OP(code->code), a, operand);
			break;
		case BPF_JMP:
			if (BPF_OP(code->code) == BPF_JA)
				at += code->k;
			else
				at += holds(BPF_OP(code->code), a, operand) ? code->jt : code->jf;
			break;
		case BPF_RET:
			return BPF_RVAL(code->code) == BPF_A ? a : code->k;
		default:
			if (BPF_MISCOP(code->code) == BPF_TAX)
				x = a;
			else
				a = x;
		}
	}
	return SECCOMP_RET_ALLOW;
}

static bool allows(const struct sock_fprog *filter, const struct call *call)
{
	struct seccomp_data data = {.nr = call->number, .arch = ARCH_VALUE, .instruction_pointer = SOMEWHERE};
	uint32_t action;

	memcpy(data.args, call->args, sizeof(data.args));
	action = run(filter, &data) & SECCOMP_RET_ACTION_FULL;
	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}

static atomic_uint expected;            /* how many filters were expected */

struct fxt_before_filter fxt_seccomp_expect(const struct sock_fprog *filter)
{
	struct fxt_before_filter before = {.number = atomic_fetch_add(&expected, 1) + 1};
	unsigned forbidden = 0, i;

	fxt_filter_begins();
	fxt_follow_keep_room();
	for (i = 0; filter && i < sizeof(calls) / sizeof(*calls); i++) {
		unsigned kind = fxt_call_kind(calls[i].number, (long)calls[i].args[3]);

		if (!kind)
			kind = FXT_NO_APART;
		/* What may not be mapped at our place may be where the kernel chooses. */
		if (kind & FXT_NO_PLACE)
			kind = FXT_NO_PLACE;
		if (!(forbidden & kind) && !allows(filter, &calls[i]))
			forbidden |= kind;
	}
	if (!filter &&
	    fxt_agent_suspend(FXT_SUSPENDED_STRICT, "what the program does in strict seccomp mode"))
		before.suspended = FXT_SUSPENDED_STRICT;
	if (!filter || forbidden & FXT_NO_LOCKS)
		forbidden = FXT_FORBIDDEN_END - 1;
	if (forbidden & FXT_NO_TALK)
		fxt_buffer_mute(&fxt_agent.buffer);
	/* A process that waits for a manager could not begin to record any more. */
	if (forbidden && fxt_gate_suspend(FXT_SUSPENDED_LENDING))
		before.suspended |= FXT_SUSPENDED_LENDING;
	/* This is the last moment at which a fixed buffer can get what it may need later. If no descriptor
	 * is kept, that takes further calls as well. */
	if (filter && (forbidden & FXT_NO_GROWTH || (forbidden && fxt_agent.buffer.fd < 0)))
		fxt_agent_reserve();
	if (filter && forbidden & FXT_NO_MEMORY)
		fxt_threads_reserve();
	before.forbidden = atomic_fetch_or_explicit(&fxt_forbidden, forbidden, memory_order_relaxed);
	return before;
}

void fxt_seccomp_restore(struct fxt_before_filter before)
{
	unsigned forbidden = atomic_load_explicit(&fxt_forbidden, memory_order_relaxed);

	do
		if (atomic_load(&expected) != before.number)
			return;
	while (!atomic_compare_exchange_weak(&fxt_forbidden, &forbidden, before.forbidden));
	if (before.suspended)
		fxt_gate_resume(before.suspended);
}
