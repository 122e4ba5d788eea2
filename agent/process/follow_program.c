/* See follow_program.h. Files are opened where no other thread sees that (writer/apart.h), and read with a
 * few system calls. A program for another C library, or for another machine, has a loader that cannot load
 * the library: it says so on standard error, or ends the program.
 *
 * What is not known is no reason to refuse. A static program is none either: it takes no notice of
 * LD_PRELOAD, and hands it on to programs that can be traced.
 */
#include "follow_program.h"

#include <alloca.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <string.h>

#include "agent/base/agent.h"
#include "agent/base/reach.h"
#include "agent/base/stack.h"
#include "writer/apart.h"
#include "writer/decimal.h"

#if defined(__x86_64__)
#define LOADER_FOLDER "/lib64/"
#define LOADER "ld-linux-x86-64.so.2"
enum { OUR_MACHINE = EM_X86_64 };
#else
#define LOADER_FOLDER "/lib/"
#define LOADER "ld-linux-aarch64.so.1"
enum { OUR_MACHINE = EM_AARCH64 };
#endif

#define SHELL "/bin/sh"

static const char other_class[] = "is a 32-bit program, and the agent is 64-bit";
static const char other_machine[] = "is a program for another processor";
static const char other_library[] = "is built for another C library, and the agent for glibc";

enum {
	PROC_BYTES = 32,                /* what the number of a thread makes a path of /proc longer */
	HEAD_BYTES = 256,               /* the kernel reads as much of a script */
	NAME_BYTES = 256,
	MAX_FILES = 8,                  /* five scripts, the shell, the program and its loader are followed */
	MAX_SEGMENTS = 128,
	MAX_ACTIONS = 1024,
};

struct look {
	int directory;
	const char *path;
	bool searches, by_shell;
	bool is_loader;                 /* the file is the loader of the one before */
	int maker;                      /* the thread that asks: the work is another */
	int opened;                     /* the directory that was opened; -1: none */
	const posix_spawn_file_actions_t *actions;
	const char *refusal;
	bool is_sanitized;
	size_t count;                   /* the bytes of `head` that are there */
	union {
		char bytes[HEAD_BYTES];
		Elf64_Ehdr wide;        /* both begin alike, up to e_version */
		Elf32_Ehdr narrow;
	} head;
	char name[NAME_BYTES];          /* the file to be opened next */
};

/* -- Reading a file -------------------------------------------------------------------------------- */

static bool read_at(const struct look *l, int fd, uint64_t at, void *out, size_t bytes)
{
	if (at + bytes >= at && at + bytes <= l->count) {
		memcpy(out, l->head.bytes + at, bytes);
		return true;
	}
	return FXT_SYSCALL4(SYS_pread64, fd, out, bytes, at) == (long)bytes;
}

/* The headers of a program, in the form of its own class. */
struct segments {
	bool wide;
	uint64_t at;
	unsigned count, bytes;
};

static struct segments segments_of(const struct look *l)
{
	struct segments s = {.wide = l->head.bytes[EI_CLASS] == ELFCLASS64};

	s.at = s.wide ? l->head.wide.e_phoff : l->head.narrow.e_phoff;
	s.count = s.wide ? l->head.wide.e_phnum : l->head.narrow.e_phnum;
	s.bytes = s.wide ? l->head.wide.e_phentsize : l->head.narrow.e_phentsize;
	if (s.count > MAX_SEGMENTS || s.bytes != (s.wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)))
		s.count = 0;
	return s;
}

/* Finds the first segment of a type that has the address `has` (0: any). */
static bool find_segment(const struct look *l, int fd, const struct segments *s, uint32_t type, uint64_t has,
			 Elf64_Phdr *found)
{
	Elf32_Phdr narrow;
	unsigned i;

	for (i = 0; i < s->count; i++) {
		if (!read_at(l, fd, s->at + (uint64_t)i * s->bytes, s->wide ? (void *)found : (void *)&narrow,
			     s->bytes))
			return false;
		if (!s->wide)
			*found = (Elf64_Phdr){.p_type = narrow.p_type,
					      .p_offset = narrow.p_offset,
					      .p_vaddr = narrow.p_vaddr,
					      .p_filesz = narrow.p_filesz};
		if (found->p_type == type &&
		    (!has || (has >= found->p_vaddr && has - found->p_vaddr < found->p_filesz)))
			return true;
	}
	return false;
}

/* This is what the dynamic section of a program or library says. */
enum { MAX_NEEDED = 16, NEEDED_BYTES = 16 };
struct dynamic {
	unsigned count;
	uint64_t needed[MAX_NEEDED];    /* the first libraries: a sanitizer's is one of them */
	bool is_program;                /* it was linked as a program */
	uint64_t strings, soname;       /* soname: 0: none */
};

static void take_entry(struct dynamic *dynamic, int64_t tag, uint64_t value)
{
	if (tag == DT_NEEDED && dynamic->count < MAX_NEEDED)
		dynamic->needed[dynamic->count++] = value;
	if (tag == DT_STRTAB)
		dynamic->strings = value;
	if (tag == DT_SONAME)
		dynamic->soname = value;
	if (tag == DT_FLAGS_1)
		dynamic->is_program = value & DF_1_PIE;
}

/* Reads the dynamic section, piece by piece into `name`, which nothing else is in. */
static bool read_dynamic(struct look *l, int fd, const struct segments *s, struct dynamic *dynamic)
{
	size_t entry = s->wide ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn), bytes, at;
	Elf64_Phdr segment;
	Elf64_Dyn wide;
	Elf32_Dyn narrow;

	*dynamic = (struct dynamic){0};
	if (!find_segment(l, fd, s, PT_DYNAMIC, 0, &segment))
		return false;
	for (; segment.p_filesz >= entry; segment.p_filesz -= bytes, segment.p_offset += bytes) {
		bytes = segment.p_filesz < NAME_BYTES ? segment.p_filesz : NAME_BYTES;
		bytes -= bytes % entry;
		if (!read_at(l, fd, segment.p_offset, l->name, bytes))
			return false;
		for (at = 0; at < bytes; at += entry) {
			if (s->wide) {
				memcpy(&wide, l->name + at, sizeof(wide));
			} else {
				memcpy(&narrow, l->name + at, sizeof(narrow));
				wide = (Elf64_Dyn){.d_tag = narrow.d_tag, .d_un.d_val = narrow.d_un.d_val};
			}
			if (wide.d_tag == DT_NULL)
				return true;
			take_entry(dynamic, wide.d_tag, wide.d_un.d_val);
		}
	}
	return true;
}

/* Returns whether a library is the loader that comes with glibc, by its own name. */
static bool is_our_loader(const struct look *l, int fd, const struct segments *s,
			  const struct dynamic *dynamic)
{
	char name[sizeof(LOADER)];
	Elf64_Phdr segment;

	return dynamic->soname && find_segment(l, fd, s, PT_LOAD, dynamic->strings, &segment) &&
	       read_at(l, fd, dynamic->strings - segment.p_vaddr + segment.p_offset + dynamic->soname, name,
		       sizeof(name)) &&
	       !memcmp(name, LOADER, sizeof(name));
}

/* Finds out whether a program needs the shared runtime of the address sanitizer. */
static void look_for_sanitizer(struct look *l, int fd, const struct segments *s)
{
	static const char *const runtimes[] = {"libasan.so", "libclang_rt.asan"};
	char name[NEEDED_BYTES];
	struct dynamic dynamic;
	Elf64_Phdr segment;
	unsigned i;

	if (!read_dynamic(l, fd, s, &dynamic) || !dynamic.count ||
	    !find_segment(l, fd, s, PT_LOAD, dynamic.strings, &segment))
		return;
	for (i = 0; i < dynamic.count; i++)
		if (read_at(l, fd, dynamic.strings - segment.p_vaddr + segment.p_offset + dynamic.needed[i],
			    name, sizeof(name)) &&
		    (!memcmp(name, runtimes[0], strlen(runtimes[0])) ||
		     !memcmp(name, runtimes[1], strlen(runtimes[1]))))
			l->is_sanitized = true;
}

/* -- Judging a file -------------------------------------------------------------------------------- */

static const char *foreign(const struct look *l, bool wide)
{
	if (wide)
		return other_machine;
	/* x32, too, has a loader of its own. */
	return l->head.narrow.e_machine == EM_386 || l->head.narrow.e_machine == OUR_MACHINE ||
			       l->head.narrow.e_machine == EM_ARM
		       ? other_class
		       : other_machine;
}

/* Takes the name of the loader that a program asks for. Returns whether that file has to be looked at. */
static bool take_loader(struct look *l, int fd, const Elf64_Phdr *segment)
{
	if (!segment->p_filesz || segment->p_filesz > NAME_BYTES ||
	    !read_at(l, fd, segment->p_offset, l->name, segment->p_filesz) ||
	    l->name[segment->p_filesz - 1])
		return false;
	l->is_loader = true;
	return strcmp(l->name, LOADER_FOLDER LOADER) != 0;
}

/* Judges an ELF file. Returns whether the file in `name` is next. */
static bool judge_elf(struct look *l, int fd)
{
	struct segments s = segments_of(l);
	bool ours = s.wide && l->head.bytes[EI_DATA] == ELFDATA2LSB && l->head.wide.e_machine == OUR_MACHINE;
	struct dynamic dynamic;
	Elf64_Phdr segment;

	if (l->count < sizeof(Elf64_Ehdr))
		return false;
	if (l->head.bytes[EI_DATA] != ELFDATA2LSB) {
		l->refusal = other_machine;
		return false;
	}
	if (!l->is_loader && find_segment(l, fd, &s, PT_INTERP, 0, &segment)) {
		if (ours) {
			look_for_sanitizer(l, fd, &s);
			return take_loader(l, fd, &segment);
		}
		l->refusal = foreign(l, s.wide);
		return false;
	}
	/* A loader that is run as a command loads a program, and honours LD_PRELOAD. A static program that
	 * can be loaded anywhere looks much the same, but says that it is a program. */
	if (l->head.wide.e_type != ET_DYN || !read_dynamic(l, fd, &s, &dynamic) ||
	    (dynamic.is_program && !l->is_loader))
		return false;
	if (!ours)
		l->refusal = foreign(l, s.wide);
	else if (!is_our_loader(l, fd, &s, &dynamic))
		l->refusal = other_library;
	return false;
}

/* Takes the interpreter of a script, as the kernel does. */
static bool take_interpreter(struct look *l)
{
	const char *end = l->head.bytes + l->count, *at = l->head.bytes + 2;
	size_t bytes;

	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	for (bytes = 0; at + bytes < end && !strchr(" \t\n", at[bytes]); bytes++)
		;
	if (!bytes || bytes >= NAME_BYTES)
		return false;
	memcpy(l->name, at, bytes);
	l->name[bytes] = '\0';
	return true;
}

/* Judges the file that is open as `fd`. Returns whether the file in `name` is next. */
static bool judge(struct look *l, int fd)
{
	long count = FXT_SYSCALL4(SYS_pread64, fd, l->head.bytes, HEAD_BYTES, 0);
	bool by_shell = l->by_shell;

	if (count < 0)
		return false;
	l->count = (size_t)count;
	l->by_shell = false;
	if (l->count >= EI_NIDENT && !memcmp(l->head.bytes, ELFMAG, SELFMAG))
		return judge_elf(l, fd);
	if (l->is_loader)
		return false;
	if (l->count >= 2 && !memcmp(l->head.bytes, "#!", 2))
		return take_interpreter(l);
	if (by_shell)
		memcpy(l->name, SHELL, sizeof(SHELL));
	return by_shell;
}

/* -- Opening a file -------------------------------------------------------------------------------- */

/* Opens a file for reading if it is a regular one. What else there is may wait, or notice. */
static int open_regular(int directory, const char *path)
{
	struct stat status;

	if (FXT_SYSCALL4(SYS_newfstatat, directory, path, &status, 0) || !S_ISREG(status.st_mode))
		return -1;
	return (int)FXT_SYSCALL4(SYS_openat, directory, path,
				 O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
}

/* Writes the name of a thread's directory in /proc, which is its own whoever looks there, and `rest` behind
 * it. Returns where that ends. */
static char *put_proc(char *out, int thread, const char *rest)
{
	static const char proc[] = "/proc/";

	memcpy(out, proc, sizeof(proc) - 1);
	out += sizeof(proc) - 1;
	out += fxt_decimal(out, (uint64_t)thread);
	memcpy(out, rest, strlen(rest) + 1);
	return out + strlen(rest);
}

/* Writes the path by which a thread's descriptor can be opened from another table of descriptors. */
static void put_descriptor(char *out, int thread, int fd)
{
	out = put_proc(out, thread, "/fd/");
	out[fxt_decimal(out, (uint64_t)fd)] = '\0';
}

/* Makes a path that is of whoever opens it be of the thread that executes it: the work may be done by a
 * process of its own. */
static void settle_path(struct look *l)
{
	static const char *const own[][2] = {
		{"/proc/self/", "/"}, {"/proc/thread-self/", "/"}, {"/dev/fd/", "/fd/"}};
	size_t i, bytes;

	for (i = 0; i < sizeof(own) / sizeof(*own); i++) {
		bytes = strlen(own[i][0]);
		if (strncmp(l->path, own[i][0], bytes) || strlen(l->path) + PROC_BYTES >= sizeof(l->name))
			continue;
		memcpy(put_proc(l->name, l->maker, own[i][1]), l->path + bytes, strlen(l->path + bytes) + 1);
		l->path = l->name;
		return;
	}
}

/* Makes `directory` a descriptor of the task that does the work, which may have a table of its own. */
static void reach_directory(struct look *l)
{
	char path[64];

	if (l->directory < 0 || FXT_SYSCALL2(SYS_fcntl, l->directory, F_GETFD) >= 0)
		return;
	put_descriptor(path, l->maker, l->directory);
	l->directory = fxt_sys_open(path, O_PATH | O_CLOEXEC, 0);
	l->opened = l->directory;
}

/* Opens `path`, or the first file of that name along PATH that may be executed, as execvp() does. */
static __attribute__((noinline)) int search(const struct look *l)
{
	const char *element = NULL, *end;
	size_t file_bytes = strlen(l->path) + 1, longest = 0;
	char **variable;
	char *path;

	for (variable = __environ; variable && *variable && !element; variable++)
		if (!strncmp(*variable, "PATH=", 5))
			element = *variable + 5;
	if (!element)
		element = "/bin:/usr/bin";
	for (end = element; *end; end += *end == ':') {
		size_t bytes = strcspn(end, ":");

		longest = bytes > longest ? bytes : longest;
		end += bytes;
	}
	if (file_bytes > NAME_MAX + 1 || longest >= PATH_MAX ||
	    fxt_stack_has_less(FXT_SLOW_PATH_BYTES + longest + file_bytes))
		return -1;
	path = alloca(longest + 1 + file_bytes);
	for (;; element = end + 1) {
		struct stat status;
		size_t bytes = 0;

		/* The variable may be changed meanwhile, by another thread. */
		for (end = element; *end && *end != ':' && bytes < longest; end++)
			path[bytes++] = *end;
		if (bytes)
			path[bytes++] = '/';
		memcpy(path + bytes, l->path, file_bytes);
		if (!FXT_SYSCALL4(SYS_newfstatat, l->directory, path, &status, 0) &&
		    S_ISREG(status.st_mode) &&
		    !FXT_SYSCALL3(SYS_faccessat, l->directory, path, 1 /* X_OK */))
			return open_regular(l->directory, path);
		if (*end != ':')
			return -1;
	}
}

/* -- What posix_spawn() does first ------------------------------------------------------------------- */

/* One action, as the C library keeps it. */
struct action {
	enum { DO_CLOSE, DO_DUP2, DO_OPEN, DO_CHDIR, DO_FCHDIR } kind;
	union {
		int fd;
		const char *path;
	} of;
	uint64_t rest[2];
};

/* Goes where the child will be when it executes the program. Returns false if that cannot be known. */
static bool do_actions(struct look *l)
{
	const struct action *actions;
	struct fxt_reach reach = {0};
	bool changed = false;
	int i, fd, before;

	if (!fxt_reaches_all(&reach, l->actions, sizeof(*l->actions)) || l->actions->__used < 0 ||
	    l->actions->__used > MAX_ACTIONS)
		return false;
	actions = (const struct action *)(const void *)l->actions->__actions;
	for (i = 0; i < l->actions->__used; i++) {
		if (!fxt_reaches_all(&reach, &actions[i], sizeof(actions[i])))
			return false;
		if (actions[i].kind == DO_DUP2 || actions[i].kind == DO_OPEN)
			changed = true;
		if (actions[i].kind != DO_CHDIR && actions[i].kind != DO_FCHDIR)
			continue;
		before = l->opened;
		if (actions[i].kind == DO_FCHDIR) {
			/* The number may be one that the child opens. */
			if (changed)
				return false;
			l->directory = actions[i].of.fd;
			l->opened = -1;
			reach_directory(l);
		} else {
			fd = (int)FXT_SYSCALL4(SYS_openat, l->directory, actions[i].of.path,
					       O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
			l->opened = fd;
			l->directory = fd;
		}
		if (before >= 0)
			fxt_sys_close(before);
		if (l->directory < 0)
			return false;
	}
	return true;
}

/* -- Looking --------------------------------------------------------------------------------------- */

/* Opens and judges files until one decides. */
static long look(void *argument)
{
	struct look *l = argument;
	bool is_next = true;
	int files, fd;

	if ((*l->path != '/' || l->searches) && l->actions)
		is_next = do_actions(l);
	else if (*l->path != '/')
		reach_directory(l);
	for (files = 0; is_next && files < MAX_FILES; files++) {
		fd = l->searches ? search(l) : open_regular(l->directory, l->path);
		if (fd < 0)
			break;
		is_next = judge(l, fd);
		fxt_sys_close(fd);
		l->searches = false;
		l->path = l->name;
		if (!files && l->opened >= 0) {
			fxt_sys_close(l->opened);
			l->opened = -1;
		}
		/* An interpreter and a loader are found from where the process is, or will be. */
		if (!l->actions)
			l->directory = AT_FDCWD;
		else if (*l->path != '/')
			is_next = false;
	}
	if (l->opened >= 0)
		fxt_sys_close(l->opened);
	return 0;
}

/* Judges the file of a descriptor. One that only names a file is opened anew. */
static void look_at_open(struct look *l)
{
	int fd = l->directory;

	l->directory = AT_FDCWD;
	l->path = l->name;
	if (FXT_SYSCALL4(SYS_pread64, fd, l->head.bytes, 1, 0) < 0)
		put_descriptor(l->name, l->maker, fd);
	else if (!judge(l, fd))
		return;
	fxt_apart(look, l);
}

/* Returns whether a text can be read, to its end. */
static bool is_text(const char *text)
{
	struct fxt_reach reach = {0};

	while (fxt_reaches(&reach, text))
		if (!*text++)
			return true;
	return false;
}

const char *fxt_followed_refusal(const struct fxt_followed *program, bool *is_sanitized)
{
	struct look l = {.directory = program->directory, .opened = -1};
	bool is_known = (uint32_t)fxt_sys_getpid() == fxt_agent.pid || (fxt_self && fxt_self->may_be_child);

	*is_sanitized = false;
	if (fxt_is_forbidden(FXT_NO_CALLS) || fxt_stack_is_short())
		return NULL;
	l.maker = fxt_sys_gettid();
	l.by_shell = program->by_shell;
	l.actions = program->actions;
	if (program->path && !is_text(program->path))
		return NULL;
	if (!program->path || !*program->path) {
		if (l.directory >= 0)
			look_at_open(&l);
		*is_sanitized = l.is_sanitized;
		return l.refusal;
	}
	/* These are the child's descriptors, and nobody knows yet what they will be. */
	if (l.actions && (!strncmp(program->path, "/proc/", 6) || !strncmp(program->path, "/dev/fd/", 8)))
		return NULL;
	l.path = program->path;
	l.searches = program->searches && !strchr(program->path, '/');
	settle_path(&l);
	/* A child that clone() has made may share its table of descriptors with another process. */
	if (is_known)
		fxt_apart(look, &l);
	else
		fxt_apart_always(look, &l);
	*is_sanitized = l.is_sanitized;
	return l.refusal;
}

const char *fxt_followed_shell(void)
{
	struct look l = {.directory = AT_FDCWD, .path = SHELL, .opened = -1};

	look(&l);
	return l.refusal;
}
