/* This program loads and unloads libhost_plugin.so, whose path is the second argument (see main()). */
#include <dlfcn.h>
#include <link.h>

#include "host.h"

static const char *path;
static atomic_bool stop;

static void use(void *library)
{
	void *(*work)(size_t) = (void *(*)(size_t))dlsym(library, "plugin_work");
	void (*give_back)(void *) = (void (*)(void *))dlsym(library, "plugin_free");
	void *block;

	need(work && give_back);
	block = work(20001);
	need(block);
	give_back(block);
	mark();
}

static void *keep_allocating(void *argument)
{
	while (!atomic_load(&stop)) {
		allocate(100);
		/* The messages of these two are allocated under the loader's lock. */
		dlsym(RTLD_DEFAULT, "no_such_symbol");
		dlerror();
	}
	return argument;
}

static void churn(int times)
{
	pthread_t threads[2];
	void *library;
	int i;

	for (i = 0; i < 2; i++)
		need(!pthread_create(&threads[i], NULL, keep_allocating, NULL));
	while (times--) {
		library = dlopen(path, RTLD_NOW | (times % 2 ? RTLD_LOCAL : RTLD_GLOBAL));
		need(library);
		use(library);
		need(!dlclose(library));
		need(!dlopen("/no/such/library.so", RTLD_NOW));
	}
	atomic_store(&stop, true);
	for (i = 0; i < 2; i++)
		need(!pthread_join(threads[i], NULL));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	void *library;

	path = argc > 2 ? argv[2] : "";
	if (!strcmp(what, "churn")) {
		churn(argc > 3 ? atoi(argv[3]) : 1);
	} else if (!strcmp(what, "names")) {
		/* The names of its functions are still asked for when the library is gone. */
		library = dlopen(path, RTLD_NOW);
		need(library);
		use(library);
		need(!dlclose(library));
		need(!dlopen(path, RTLD_NOW | RTLD_NOLOAD));
		mark_times(20000);
		library = dlopen(path, RTLD_NOW);
		use(library);
	} else if (!strcmp(what, "deepbind")) {
		library = dlopen(path, RTLD_NOW | RTLD_DEEPBIND);
		need(library);
		use(library);
		need(!dlclose(library));
	} else if (!strcmp(what, "dlmopen")) {
		/* This loads a second C library, which has a heap of its own. */
		library = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
		need(library);
		use(library);
		need(!dlclose(library));
	} else {
		return 2;
	}
	print_marks();
	return 0;
}
