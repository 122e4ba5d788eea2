/* Finds the agent's library. See agent_path.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "agent_path.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "program.h"
#include "tools/common/message.h"

#ifndef FXT_LIBDIR
#define FXT_LIBDIR "/usr/local/lib"
#endif

#if defined(__x86_64__)
#define MULTIARCH "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#endif

/* Paths from the directory of the program: in the build tree, then in a tree that was moved after `make
 * install`. */
static const char *const beside[] = {
	"libfxtagent.so", ".libs/libfxtagent.so", ("../lib/" MULTIARCH "/libfxtagent.so"),
	"../lib64/libfxtagent.so", "../lib/libfxtagent.so",
};

/* Without /proc, the kernel tells by which path this program was executed. */
static char *own_directory(void)
{
	char *path = realpath("/proc/self/exe", NULL);

	if (!path)
		path = realpath((const char *)getauxval(AT_EXECFN), NULL);
	if (path)
		*strrchr(path, '/') = '\0';
	return path;
}

static char *search(void)
{
	char *directory = own_directory();
	char *found = NULL;

	for (size_t i = 0; directory && !found && i < sizeof(beside) / sizeof(beside[0]); i++) {
		char *file = fxt_format("%s/%s", directory, beside[i]);

		if (fxt_is_our_library(file))
			found = realpath(file, NULL);
		free(file);
	}
	if (!found && fxt_is_our_library(FXT_LIBDIR "/libfxtagent.so"))
		found = realpath(FXT_LIBDIR "/libfxtagent.so", NULL);
	if (!found)
		fxt_error(NULL, "libfxtagent.so is neither beside fxt (%s) nor in %s: name it with --agent",
			  directory ? directory : "?", FXT_LIBDIR);
	free(directory);
	return found;
}

char *fxt_agent_path(const char *given)
{
	struct statvfs files;
	char *path;

	if (!given || !*given)
		given = getenv("FXT_AGENT");
	if (!given || !*given) {
		path = search();
	} else {
		path = realpath(given, NULL);
		if (!path) {
			fxt_error(given, "%s", strerror(errno));
		} else if (!fxt_is_our_library(path)) {
			fxt_error(given, "is no library for this machine");
			free(path);
			return NULL;
		}
	}
	/* The loader cannot map it then, and says so in each program instead. */
	if (path && statvfs(path, &files) == 0 && files.f_flag & ST_NOEXEC) {
		fxt_error(path, "is on a file system that is mounted noexec, so no program can load it: "
				"name a copy elsewhere with --agent");
		free(path);
		return NULL;
	}
	/* LD_PRELOAD has no way to quote these characters. */
	if (path && strpbrk(path, " :\t\n")) {
		fxt_error(path, "LD_PRELOAD cannot name a path with a space or colon in it");
		free(path);
		return NULL;
	}
	return path;
}
