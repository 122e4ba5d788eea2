/* Host programs are linked with this library, or load it. It is compiled in two ways:
 *
 *	libhost_early.so	-DHOST_EARLY: its constructor runs before the agent's, allocates, locks, has
 *				a dlsym() fail, and starts a thread; its destructor allocates, locks and
 *				writes after the agent's
 *	libhost_plugin.so	-finstrument-functions: plugin_work() is to be loaded, called and unloaded
 */
#include <dlfcn.h>

#include "host.h"

#ifdef HOST_EARLY

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_t thread;

void early_join(void);

static void *run(void *argument)
{
	int i;

	for (i = 0; i < 100; i++) {
		allocate(100);
	}
	return argument;
}

__attribute__((constructor(102))) static void early(void)
{
	void *block = calloc(3, 100);

	/* A failing search allocates its message. */
	need(!dlsym(RTLD_DEFAULT, "no_such_symbol_anywhere") && dlerror());
	need(!dlsym(RTLD_NEXT, "no_such_symbol_either"));
	pthread_mutex_lock(&mutex);
	block = realloc(block, 10000);
	pthread_mutex_unlock(&mutex);
	free(block);
	say("constructor of a library\n");
	need(!pthread_create(&thread, NULL, run, NULL));
}

void early_join(void)
{
	need(!pthread_join(thread, NULL));
}

__attribute__((destructor)) static void late(void)
{
	char *block = malloc(5000);

	pthread_mutex_lock(&mutex);
	memset(block, 1, 5000);
	pthread_mutex_unlock(&mutex);
	free(block);
	say("destructor of a library\n");
}

#else

void *plugin_work(size_t size);
void plugin_free(void *block);
int plugin_jump_in(int depth);

__attribute__((noinline, noipa)) int plugin_jump_in(int depth)
{
	return depth ? plugin_jump_in(depth - 1) + 1 : 0;
}

void *plugin_work(size_t size)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	void *block;

	pthread_mutex_lock(&mutex);
	block = malloc(size + (size_t)plugin_jump_in(3));
	pthread_mutex_unlock(&mutex);
	return block;
}

void plugin_free(void *block)
{
	free(block);
}

#endif
