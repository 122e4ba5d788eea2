/* Makes calls before the agent's constructor has run and after its destructor: from .preinit_array, from the
 * constructors of a library that it is linked with (libhost_early.so), and from its own. */
#include <dlfcn.h>
#include <fcntl.h>

#include "host.h"

void early_join(void);

/* Here the C library has no environment yet; calls are not recorded, but have to work. */
static void before_everything(int argc, char **argv, char **environment)
{
	void *volatile block = malloc(1000);
	int fd = open("/dev/null", O_WRONLY);

	need(argc >= 1 && argv[0] && environment[0]);
	block = realloc(block, 2000);
	need(write(fd, block, 1) == 1 && !close(fd));
	free(block);
	block = calloc(10, 10);
	free(block);
	need(!dlsym(RTLD_DEFAULT, "no_such_symbol_at_all"));
	say("preinit\n");
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit)(int, char **,
									      char **) = before_everything;

__attribute__((constructor)) static void own(void)
{
	mark();
	allocate(10);
	say("constructor\n");
}

static void at_exit(void)
{
	mark();
	allocate(10);
	say("atexit\n");
}

int main(void)
{
	early_join();
	atexit(at_exit);
	mark_times(10);
	atomic_fetch_add(marks, 1);     /* the mark of at_exit() */
	print_marks();
	atomic_fetch_sub(marks, 1);
	return 3;
}
