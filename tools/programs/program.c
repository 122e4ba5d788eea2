/* Finds the file that a command name stands for, and whether the agent can be preloaded into it. Without
 * this check the loader would run such a program untraced without a message. See program.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "elf_facts.h"
#include "tools/common/message.h"

/* The kernel's own limit on interpreters of interpreters. */
enum { MAX_SCRIPTS = 5, SCRIPT_LINE_BYTES = 256 };

static bool is_executable(const char *path, int *error)
{
	struct stat st;

	if (stat(path, &st) != 0)
		*error = errno == ENOTDIR ? ENOENT : errno;
	else if (!S_ISREG(st.st_mode))
		*error = S_ISDIR(st.st_mode) ? EISDIR : EACCES;
	else if (access(path, X_OK) != 0)
		*error = errno;
	else
		return true;
	return false;
}

/* Finds the file as execvp does: along PATH unless the name has a slash. If a file was found but may not
 * be run, *error is EACCES. */
static char *find(const char *name, int *error)
{
	const char *path = getenv("PATH");
	bool denied = false;

	if (strchr(name, '/')) {
		if (is_executable(name, error))
			return fxt_strdup(name);
		return NULL;
	}
	if (!path)
		path = "/bin:/usr/bin";
	while (*name) {
		size_t bytes = strcspn(path, ":");
		char *file = fxt_format("%.*s/%s", bytes ? (int)bytes : 1, bytes ? path : ".", name);

		if (is_executable(file, error))
			return file;
		free(file);
		denied |= *error == EACCES;
		if (!path[bytes])
			break;
		path += bytes + 1;
	}
	*error = denied ? EACCES : ENOENT;
	return NULL;
}

static const char *privileges(const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && st.st_mode & S_ISUID)
		return "is set-user-ID: the loader ignores LD_PRELOAD for such programs";
	/* In a file that the group may not execute, this bit means mandatory locking. */
	if (stat(path, &st) == 0 && st.st_mode & S_ISGID && st.st_mode & S_IXGRP)
		return "is set-group-ID: the loader ignores LD_PRELOAD for such programs";
	if (getxattr(path, "security.capability", NULL, 0) > 0)
		return "has file capabilities: the loader ignores LD_PRELOAD for such programs";
	return NULL;
}

static const char *elf_refusal(const struct fxt_elf_facts *f)
{
	if (f->bits == 32)
		return "is a 32-bit program, and the agent is 64-bit";
	if (!f->our_machine)
		return "is a program for another processor";
	if (f->broken)
		return "is a damaged executable";
	if (!*f->interpreter && f->is_loader)
		return NULL;
	if (!*f->interpreter)
		return f->is_go
			       ? "is a statically linked Go program: nothing can be preloaded into it"
			       : "is statically linked: nothing can be preloaded into it";
	if (strstr(f->interpreter, "ld-musl"))
		return "is built for musl, and the agent for glibc";
	return NULL;
}

/* Returns the interpreter of the file's #! line, or NULL if there is none. */
static char *script_interpreter(int fd)
{
	char line[SCRIPT_LINE_BYTES + 1];
	ssize_t n = pread(fd, line, SCRIPT_LINE_BYTES, 0);
	char *from;

	if (n < 2 || memcmp(line, "#!", 2) != 0)
		return NULL;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	from = line + 2 + strspn(line + 2, " \t");
	from[strcspn(from, " \t\r")] = '\0';
	return *from ? fxt_strdup(from) : NULL;
}

/* Returns why the file cannot be traced, as a clause without a subject, or NULL. *interpreter becomes a
 * script's interpreter, which the caller frees, or NULL. */
static const char *refusal_of(const char *path, struct fxt_elf_facts *facts, char **interpreter)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *refusal = privileges(path);

	*facts = (struct fxt_elf_facts){0};
	*interpreter = NULL;
	/* A file may be executable and not readable. Nothing more can be known of it then. */
	if (fd < 0)
		return refusal;
	if (!refusal && fxt_elf_read(fd, facts))
		refusal = elf_refusal(facts);
	if (refusal && facts->bits == 64 && facts->our_machine && !*facts->interpreter &&
	    strstr(path, "/ld-musl-"))
		refusal = "is the loader of musl, and the agent is built for glibc";
	if (!refusal)
		*interpreter = script_interpreter(fd);
	close(fd);
	return refusal;
}

/* Returns the program that glibc's loader loads when it is run with these arguments, or NULL if it loads
 * none, or one that it looks for among the libraries. */
static const char *loaded_by(char *const *argv)
{
	static const char *const with_value[] = {"--library-path", "--glibc-hwcaps-prepend",
						 "--glibc-hwcaps-mask", "--inhibit-rpath",
						 "--audit", "--preload", "--argv0"};
	static const char *const alone[] = {"--list", "--verify", "--inhibit-cache"};

	while (*++argv && strncmp(*argv, "--", 2) == 0) {
		bool is_known = false;

		for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]); i++)
			is_known |= strcmp(*argv, alone[i]) == 0;
		for (size_t i = 0; i < sizeof(with_value) / sizeof(with_value[0]) && !is_known; i++)
			if (strcmp(*argv, with_value[i]) == 0 && argv[1]) {
				is_known = true;
				argv++;
			}
		if (!is_known)
			return NULL;
	}
	return *argv && strchr(*argv, '/') ? *argv : NULL;
}

/* Judges the program that the loader loads. The loader says itself what is wrong with a file that it cannot
 * load, and does not heed set-user-ID. */
static int judge_loaded(const char *path, char **sanitizer)
{
	struct fxt_elf_facts facts;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is_static;

	if (fd < 0)
		return 0;
	is_static = fxt_elf_read(fd, &facts) && facts.bits == 64 && facts.our_machine && !facts.broken &&
		    elf_refusal(&facts);
	close(fd);
	if (is_static) {
		fxt_error(path, "cannot be traced: it %s", elf_refusal(&facts));
		return FXT_STATUS_FAILED;
	}
	if (*facts.sanitizer)
		*sanitizer = fxt_strdup(facts.sanitizer);
	return 0;
}

/* NOLINTNEXTLINE(misc-no-recursion): it recurses for a script's interpreter, and `depth` bounds that. */
static int judge(const char *path, int depth, char *const *argv, char **sanitizer)
{
	struct fxt_elf_facts facts;
	char *interpreter;
	const char *refusal = refusal_of(path, &facts, &interpreter);
	int status = 0, error;

	if (refusal) {
		fxt_error(path, "cannot be traced: it %s", refusal);
		return FXT_STATUS_FAILED;
	}
	if (*facts.sanitizer)
		*sanitizer = fxt_strdup(facts.sanitizer);
	if (facts.is_loader && !*facts.interpreter && depth == 0 && loaded_by(argv))
		return judge_loaded(loaded_by(argv), sanitizer);
	if (!interpreter)
		return 0;
	if (!is_executable(interpreter, &error)) {
		fxt_error(path, "its interpreter %s: %s", interpreter, strerror(error));
		status = error == ENOENT ? FXT_STATUS_NOT_FOUND : FXT_STATUS_CANNOT_RUN;
	} else if (depth < MAX_SCRIPTS) {
		status = judge(interpreter, depth + 1, argv, sanitizer);
	}
	free(interpreter);
	return status;
}

char *fxt_program_refusal(const char *name)
{
	int error = ENOENT;
	char *path = find(name, &error), *interpreter, *why = NULL;
	struct fxt_elf_facts facts;

	for (int depth = 0; path && depth <= MAX_SCRIPTS; depth++) {
		const char *refusal = refusal_of(path, &facts, &interpreter);

		if (refusal)
			why = fxt_format("%s%s %s", depth ? "its interpreter " : "it", depth ? path : "",
					 refusal);
		free(path);
		path = interpreter;
	}
	free(path);
	return why;
}

int fxt_program_check(char *const *argv, char **sanitizer)
{
	const char *name = argv[0];
	int error = ENOENT, status;
	char *path = find(name, &error);

	*sanitizer = NULL;
	if (!path) {
		fxt_error(name, "%s",
			  error == ENOENT && !strchr(name, '/') ? "command not found" : strerror(error));
		return error == ENOENT ? FXT_STATUS_NOT_FOUND : FXT_STATUS_CANNOT_RUN;
	}
	status = judge(path, 0, argv, sanitizer);
	free(path);
	return status;
}

bool fxt_is_our_library(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct fxt_elf_facts facts;
	bool ok;

	if (fd < 0)
		return false;
	ok = fxt_elf_read(fd, &facts) && facts.our_machine && facts.bits == 64 && !facts.broken;
	close(fd);
	return ok;
}

bool fxt_program_mentions(const char *name, const char *text)
{
	int error, fd;
	char *path = name ? find(name, &error) : NULL;
	void *data = MAP_FAILED;
	bool found = false;
	struct stat st;

	fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0)
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data != MAP_FAILED) {
		found = memmem(data, (size_t)st.st_size, text, strlen(text)) != NULL;
		munmap(data, (size_t)st.st_size);
	}
	if (fd >= 0)
		close(fd);
	free(path);
	return found;
}
