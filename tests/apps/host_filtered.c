/* Forbids itself some of the system calls that the agent makes, at random, and executes a program that needs
 * none of them: host_filtered CMD [ARGUMENT...]. Whoever makes such a call is killed. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "host.h"
#include "random.h"

static const int calls[] = {
	SYS_getpid, SYS_gettid, SYS_getcwd, SYS_madvise, SYS_rt_sigprocmask, SYS_linkat, SYS_renameat2,
	SYS_pwritev, SYS_ftruncate, SYS_fallocate, SYS_tgkill, SYS_uname, SYS_clone, SYS_close_range,
	SYS_socket, SYS_membarrier, SYS_memfd_create, SYS_readlinkat, SYS_faccessat, SYS_setpgid,
};

enum { CALLS = sizeof(calls) / sizeof(*calls) };

int main(int argc, char **argv)
{
	struct sock_filter filter[2 * CALLS + 2];
	struct sock_fprog program = {0, filter};
	uint64_t chosen;
	unsigned i;

	need(argc > 1);
	random_seed(0);
	/* In every other run only a few are forbidden. */
	chosen = random_below(2) ? random_below((uint64_t)1 << CALLS)
				 : (uint64_t)1 << random_below(CALLS) | (uint64_t)1 << random_below(CALLS);
	filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
							     offsetof(struct seccomp_data, nr));
	for (i = 0; i < CALLS; i++) {
		if (!(chosen >> i & 1))
			continue;
		filter[program.len++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1);
		filter[program.len++] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	}
	filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	need(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	need(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0));
	execvp(argv[1], argv + 1);
	return 1;
}
