/* Calls the functions of two libraries that come and go, so that one may lie where the other did. The
 * libraries are in the files PROGRAM.one.so and PROGRAM.two.so, and dlopen_lib.c has their source. */
#include <dlfcn.h>
#include <unistd.h>

#include "counted.h"

enum { ROUNDS = 12 };

struct library {
	void *handle;
	int (*outer)(int, int (*)(int));
};

void count_name(const char *name);

/* Counts a function of a library. The counter stays when the library's memory goes. */
PLAIN void count_name(const char *name)
{
	struct counter *counter;

	for (counter = counters; counter; counter = counter->next)
		if (!strcmp(counter->name, name)) {
			counter->calls++;
			return;
		}
	counter = calloc(1, sizeof(*counter));
	need(counter);
	counter->name = strdup(name);
	count(counter);
}

COUNTED static int callback(int n)
{
	HERE;
	return n + 1;
}

COUNTED static struct library open_library(const char *name)
{
	static char path[4000];
	struct library library;
	ssize_t bytes = readlink("/proc/self/exe", path, sizeof(path) - 100);
	char symbol[40];

	HERE;
	need(bytes > 0);
	snprintf(path + bytes, 100, ".%s.so", name);
	snprintf(symbol, sizeof(symbol), "%s_outer", name);
	library.handle = dlopen(path, RTLD_NOW);
	if (!library.handle)
		puts(dlerror());
	need(library.handle);
	library.outer = (int (*)(int, int (*)(int)))dlsym(library.handle, symbol);
	need(library.outer);
	return library;
}

COUNTED static void use(struct library library)
{
	int i;

	HERE;
	for (i = 0; i < 20; i++)
		need(library.outer(i, callback) == 4 * i + 6);
}

COUNTED static void close_library(struct library library)
{
	HERE;
	need(!dlclose(library.handle));
}

int main(void)
{
	struct library one, two;
	int i;

	HERE;
	for (i = 0; i < ROUNDS; i++) {
		one = open_library(i % 3 ? "one" : "two");
		use(one);
		close_library(one);
		one = open_library("one");
		two = open_library("two");
		use(one);
		close_library(one);
		use(two);
		one = open_library("one");
		use(one);
		close_library(two);
		close_library(one);
	}
	print_counts();
	return 0;
}
