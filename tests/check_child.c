/* This tests what the child of a fork knows of its parent: tests/child.table says of every variable of the
 * agent and the writer what becomes of it. A variable that the table does not name fails the test, and so
 * does a row without a variable. What a child has to forget is filled before the fork, and has to be empty
 * in the child; what it keeps has to be as it was. Each is tried in a fork that runs the C library's
 * handlers and in one that does not, where the kernel empties tables in the child and where it does not
 * know how to. */
#include <check.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/arrows/task_life.h"
#include "agent/arrows/wait.h"
#include "agent/base/parts.h"
#include "agent/emit/clock.h"
#include "agent/emit/thread.h"
#include "agent/emit/trace_file.h"
#include "agent/names/plt_call.h"
#include "agent/objects/block_table.h"
#include "agent/objects/label_owed.h"
#include "agent/process/fork.h"
#include "agent/process/lifecycle.h"
#include "agent/stacks/return_thunk.h"
#include "suite.h"
#include "writer/forbidden.h"

#undef fork

enum { MOST = 400, PATTERN = 0x01, TABLE_BYTES = 4096 };

/* What becomes of a variable in the child, as the table writes it. */
enum fate {
	WIPED,                          /* the kernel empties it */
	ZERO,                           /* the agent empties it */
	USED,                           /* so it does, and what is there has to be true: start() uses it */
	REFILLED,                       /* it is emptied, and gets what the child has */
	TABLE,                          /* it points to memory that is emptied */
	TABLES,                         /* so do the addresses that it consists of, of which some are NULL */
	KEPT,                           /* it is as in the parent */
	OTHER,                          /* it is not as in the parent */
	OWN,                            /* it may be as in the parent: the table says who tests it */
	FATES
};
static const char *const fate_names[FATES] = {"wiped",  "zero", "used",  "refilled", "table",
						    "tables", "kept", "other", "own"};

struct variable {
	char name[80];                  /* its file and its name; the name alone if that is global */
	char *at;
	size_t bytes;
	int fate;                       /* -1: the table does not have it */
	char *before;                   /* what it was in the parent */
};

static struct variable variables[MOST];
static unsigned variable_count;

static const struct {
	FXT_STRING_RECORD(first, "first")
} call_record = {FXT_STRING_RECORD_VALUE(FXT_STR_CALLS, "first")};
static const char *const call_list[] = {"first"};
static const struct fxt_call_names calls = {
	call_list, 1, {(const uint64_t *)&call_record, sizeof(call_record) / FXT_WORD_BYTES}};

/* The library has the code of these in assembler. Nothing runs it here. */
const char fxt_return_thunks[FXT_RETURN_THUNKS * FXT_RETURN_THUNK_BYTES] __attribute__((aligned(128)));
const char fxt_plt_stubs[FXT_PLT_CALLS * FXT_PLT_STUB_BYTES] __attribute__((aligned(128)));

/* -- The variables, from the symbols of this program ------------------------------------------------- */

static const char *map_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat info;
	const char *at;

	ck_assert(fd >= 0 && !fstat(fd, &info));
	at = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	ck_assert(at != MAP_FAILED);
	close(fd);
	return at;
}

/* Notes by how much this program's addresses differ from those in its file, and where the first thread-local
 * variable of this thread is. */
static int note_base(struct dl_phdr_info *info, size_t bytes, void *base)
{
	uintptr_t *found = base;
	unsigned i;

	(void)bytes;
	found[0] = info->dlpi_addr;
	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS)
			found[1] = (uintptr_t)info->dlpi_tls_data;
	return 1;
}

static void add(const char *file, const char *name, uintptr_t at, size_t bytes)
{
	struct variable *variable = &variables[variable_count];
	bool is_global = !strncmp(name, "fxt_", 4);

	ck_assert(variable_count < MOST);
	snprintf(variable->name, sizeof(variable->name), "%s%s%.*s", is_global ? "" : file,
		 is_global ? "" : ":", (int)strcspn(name, "."), name);
	variable->at = (char *)at;
	variable->bytes = bytes;
	variable->fate = -1;
	variable_count++;
}

/* Returns whether a file is one of the agent or the writer. The library of the tests was compiled from
 * several files at once, and says so by a name that ends in .o. */
static bool is_ours(const char *file)
{
	size_t length = strlen(file);

	return length > 2 && !strcmp(file + length - 2, ".c") && strcmp(file, "crtstuff.c") &&
	       strcmp(file, "check_child.c");
}

static void find_variables(void)
{
	const char *self = map_self(), *file = "", *strings;
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)self;
	const Elf64_Shdr *section = (const Elf64_Shdr *)(self + header->e_shoff), *table = section, *in;
	const char *names = self + section[header->e_shstrndx].sh_offset;
	const Elf64_Sym *symbol, *end;
	uintptr_t base[2] = {0};

	dl_iterate_phdr(note_base, base);
	while (table->sh_type != SHT_SYMTAB)
		ck_assert(++table < section + header->e_shnum);
	strings = self + section[table->sh_link].sh_offset;
	symbol = (const Elf64_Sym *)(self + table->sh_offset);
	for (end = symbol + table->sh_size / sizeof(*symbol); symbol < end; symbol++) {
		const char *name = strings + symbol->st_name;
		int type = ELF64_ST_TYPE(symbol->st_info);

		if (type == STT_FILE)
			file = name;
		if ((type != STT_OBJECT && type != STT_TLS) || symbol->st_shndx >= header->e_shnum)
			continue;
		in = &section[symbol->st_shndx];
		/* What the loader relocates is constant afterwards. */
		if (!(in->sh_flags & SHF_WRITE) || !strcmp(names + in->sh_name, ".data.rel.ro") ||
		    (strncmp(name, "fxt_", 4) &&
		     (!is_ours(file) || ELF64_ST_BIND(symbol->st_info) != STB_LOCAL)))
			continue;
		add(file, name, base[type == STT_TLS] + symbol->st_value, symbol->st_size);
	}
}

/* Reads the table. Each row has a name, a fate and a reason. */
static void read_table(void)
{
	const char *source = getenv("abs_top_srcdir");
	char path[4096], line[256], name[80], fate[16];
	unsigned rows = 0, i, f, found;
	FILE *table;
	int reason;

	snprintf(path, sizeof(path), "%s/tests/child.table", source ? source : "..");
	table = fopen(path, "r");
	ck_assert_msg(table, "%s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), table)) {
		if (*line == '#' || *line == '\n')
			continue;
		reason = 0;
		ck_assert_msg(sscanf(line, "%79s %15s %n", name, fate, &reason) == 2 && line[reason],
			      "what is %s", line);
		for (f = 0; f < FATES && strcmp(fate, fate_names[f]); f++)
			;
		ck_assert_msg(f < FATES, "%s: what is the fate %s?", name, fate);
		found = 0;
		for (i = 0; i < variable_count; i++)
			if (!strcmp(variables[i].name, name)) {
				ck_assert_msg(variables[i].fate < 0, "%s stands there twice", name);
				variables[i].fate = (int)f;
				found++;
			}
		ck_assert_msg(found, "child.table has %s, and there is no such variable", name);
		rows++;
	}
	fclose(table);
	for (found = 0, i = 0; i < variable_count; i++)
		if (variables[i].fate < 0) {
			fprintf(stderr, "FAIL: what becomes of %s in the child of a fork?\n",
				variables[i].name);
			found++;
		}
	ck_assert_msg(!found, "%u variables are not in tests/child.table", found);
	ck_assert_uint_gt(rows, 100);
}

START_TEST(every_variable_has_a_fate)
{
	find_variables();
	read_table();
}
END_TEST

/* -- Forks ------------------------------------------------------------------------------------------ */

/* Has the kernel refuse the advice to empty memory in children, as kernels before 4.14 do. */
static void refuse_to_wipe(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_WIPEONFORK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};

	ck_assert(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	ck_assert(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

/* Starts the agent, and uses each table that is made when it is needed. */
static void start(void)
{
	struct fxt_thread *thread;

	setenv("FXT_OUTPUT", "/dev/shm/fxt-check-child.%p.fxt", 1);
	setenv("FXT_QUIET", "1", 1);
	ck_assert(fxt_agent_start(&calls) && fxt_agent_file());
	unlink(fxt_agent.buffer.path);
	fxt_fork_start();
	thread = fxt_thread_attach();
	ck_assert(thread);
	fxt_parts_prepare();
	fxt_task_child_begins(thread, fxt_now(thread), 77);
	ck_assert(fxt_block_bucket(0x7f0000100000, true));
	ck_assert(fxt_owed_put(&(const struct fxt_owed){.object = 0x1000, .tid = thread->tid}));
}

static bool is_zero(const char *at, size_t bytes)
{
	return !bytes || (!*at && !memcmp(at, at + 1, bytes - 1));
}

/* Returns whether a word of the memory is as it was filled. */
static bool is_filled(const char *at, size_t bytes)
{
	uint64_t filled;

	memset(&filled, PATTERN, sizeof(filled));
	for (; bytes >= sizeof(filled); at += sizeof(filled), bytes -= sizeof(filled))
		if (!memcmp(at, &filled, sizeof(filled)))
			return true;
	return false;
}

static void fill_all(void)
{
	struct variable *it;
	size_t i;

	for (it = variables; it < variables + variable_count; it++) {
		char *const *tables = (char *const *)it->at;
		unsigned some = 0;

		if (it->fate == TABLE || it->fate == TABLES) {
			for (i = 0; i < it->bytes / sizeof(*tables); i++)
				if (tables[i]) {
					memset(tables[i], PATTERN, TABLE_BYTES);
					some++;
				}
			ck_assert_msg(some, "%s was not made", it->name);
		}
		ck_assert_msg(it->fate != USED || !is_zero(it->at, it->bytes), "%s was not used", it->name);
		it->before = malloc(it->bytes ? it->bytes : 1);
		memcpy(it->before, it->at, it->bytes);
	}
	for (it = variables; it < variables + variable_count; it++)
		if (it->fate == WIPED || it->fate == ZERO || it->fate == REFILLED)
			memset(it->at, PATTERN, it->bytes);
}

static bool is_forgotten(const struct variable *it)
{
	char *const *tables = (char *const *)it->at;
	size_t i;

	for (i = 0; i < it->bytes / sizeof(*tables); i++)
		if (tables[i] && !is_zero(tables[i], TABLE_BYTES))
			return false;
	return true;
}

static bool is_right(const struct variable *it)
{
	switch (it->fate) {
	case WIPED:
	case ZERO:
	case USED:
		return is_zero(it->at, it->bytes);
	case REFILLED:
		return !is_filled(it->at, it->bytes);
	case TABLE:
	case TABLES:
		return is_forgotten(it);
	case KEPT:
		return !memcmp(it->at, it->before, it->bytes);
	case OTHER:
		return memcmp(it->at, it->before, it->bytes) != 0;
	default:
		return true;
	}
}

/* Says in the child what is wrong. Returns how much is. */
static int look(void)
{
	const struct variable *it;
	int wrong = 0;

	for (it = variables; it < variables + variable_count; it++) {

		if (is_right(it))
			continue;
		wrong++;
		fprintf(stderr, "FAIL: %s is not %s in the child\n", it->name, fate_names[it->fate]);
	}
	return wrong;
}

START_TEST(child_forgets)
{
	bool runs_handlers = _i & 1, wipes = _i & 2;
	int status = 0;
	pid_t child;

	if (!wipes)
		refuse_to_wipe();
	find_variables();
	read_table();
	start();
	fill_all();
	child = runs_handlers ? fork() : (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (!child) {
		if (!runs_handlers)
			fxt_fork_in_child(false, false);
		_exit(look() ? 1 : 0);
	}
	ck_assert(child > 0 && waitpid(child, &status, 0) == child);
	ck_assert_msg(status == 0, "a child that %s, of a kernel that %s: status %x",
		      runs_handlers ? "runs the handlers" : "runs no handlers",
		      wipes ? "empties tables" : "does not empty tables", (unsigned)status);
}
END_TEST

int main(void)
{
	TCase *forks = tcase_create("forks");

	tcase_add_test(forks, every_variable_has_a_fate);
	tcase_add_loop_test(forks, child_forgets, 0, 4);
	return RUN_SUITE("child", forks);
}
