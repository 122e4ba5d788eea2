/* See late.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "late.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "message.h"

/* Names are looked up by a thread while the run goes on, and files by others. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool fxt_late_open(struct fxt_late_library *library)
{
	void *handle;

	pthread_mutex_lock(&lock);
	if (!library->was_tried) {
		library->was_tried = true;
		library->handle = dlopen(library->name, RTLD_LAZY | RTLD_LOCAL);
	}
	handle = library->handle;
	pthread_mutex_unlock(&lock);
	return handle;
}

void *fxt_late_find(const struct fxt_late_library *library, const char *function)
{
	void *address = library->handle ? dlsym(library->handle, function) : NULL;

	if (address)
		return address;
	fxt_error(library->name, "there is no %s in it", function);
	exit(1);
}
