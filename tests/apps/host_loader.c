/* This program loads and unloads libhost_plugin.so, whose path is the second argument (see main()). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "host.h"
#include "random.h"

static const char *path;
static atomic_bool stop;

/* Two of the library's functions. */
struct functions {
	void *(*work)(size_t);
	void (*give_back)(void *);
};

static struct functions functions_of(void *library)
{
	struct functions f = {(void *(*)(size_t))dlsym(library, "plugin_work"),
			      (void (*)(void *))dlsym(library, "plugin_free")};

	need(f.work && f.give_back);
	return f;
}

/* Large blocks have call stacks, for which the library's unwind tables are read. */
static void call(const struct functions *f, size_t bytes)
{
	void *block = f->work(bytes);

	need(block);
	f->give_back(block);
	mark();
}

static void use(void *library)
{
	struct functions f = functions_of(library);

	call(&f, 20001);
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

/* -- A library of which not all can be read ------------------------------------------------------------ */

/* Returns a segment of the library, by its flags and its number among those that have them; NULL: there is
 * none. */
static const ElfW(Phdr) *segment_of(const ElfW(Ehdr) *header, uint32_t flags, unsigned number)
{
	const ElfW(Phdr) *segments = (const ElfW(Phdr) *)((const char *)header + header->e_phoff);
	unsigned i;

	for (i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD && segments[i].p_flags == flags && !number--)
			return &segments[i];
	return NULL;
}

static const ElfW(Ehdr) *header_of(const struct functions *f)
{
	Dl_info info;

	need(dladdr((void *)f->work, &info));
	return info.dli_fbase;
}

/* Copies the library's file to one of its own, which is the program's to cut. */
static void copy(const char *to)
{
	static char bytes[1 << 20];
	int from = open(path, O_RDONLY), out = open(to, O_CREAT | O_TRUNC | O_WRONLY, 0700);
	ssize_t n = read(from, bytes, sizeof(bytes));

	need(n > 0 && n < (ssize_t)sizeof(bytes) && write(out, bytes, (size_t)n) == n);
	need(!close(from) && !close(out));
}

/* Gives the library variables that are in no file. */
static void take_out(const ElfW(Ehdr) *header)
{
	static char kept[1 << 16];
	const ElfW(Phdr) *data = segment_of(header, PF_R | PF_W, 0);
	char *low = (char *)header + data->p_vaddr / 4096 * 4096,
	     *high = (char *)header + (data->p_vaddr + data->p_memsz + 4095) / 4096 * 4096;
	size_t bytes = (size_t)(high - low);

	need(bytes <= sizeof(kept));
	memcpy(kept, low, bytes);
	need(mmap(low, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == low);
	memcpy(low, kept, bytes);
}

/* Somebody installs another version of a library over the one that runs, and the disk is full then: the file
 * ends somewhere behind the code, and the program needs no more of it. */
static void cut(void)
{
	char name[64];
	const ElfW(Phdr) *code;
	struct functions f;
	struct stat status;
	size_t least;
	void *library;

	snprintf(name, sizeof(name), "./cut.%d.so", (int)getpid());
	copy(name);
	library = dlopen(name, RTLD_NOW);
	need(library && !stat(name, &status));
	f = functions_of(library);
	if (random_below(2))
		call(&f, random_below(2) ? 10 : 300000);
	code = segment_of(header_of(&f), PF_R | PF_X, 0);
	need(code);
	take_out(header_of(&f));
	least = code->p_offset + code->p_filesz;
	need(!truncate(name, (off_t)(least + random_below((unsigned)((size_t)status.st_size - least)))));
	call(&f, random_below(2) ? 20001 : 300000);
	need(!unlink(name));
	need(!dlclose(library));
}

/* A program makes pages of a library unreadable that have neither code nor variables. */
static void hide(void *library)
{
	struct functions f = functions_of(library);
	char *base = (char *)header_of(&f), *low, *high;
	const ElfW(Phdr) *segment;
	unsigned i;

	/* The last of these that is looked at has the headers of all. */
	for (i = 2; i-- > 0;) {
		segment = segment_of((ElfW(Ehdr) *)base, PF_R, i);
		if (!segment)
			continue;
		low = base + segment->p_vaddr / 4096 * 4096;
		high = base + segment->p_vaddr + segment->p_memsz;
		for (char *page = low; page < high; page += 4096)
			if (random_below(2))
				need(!mprotect(page, 4096, PROT_NONE));
		call(&f, random_below(2) ? 20001 : 300000);
		need(!mprotect(low, (size_t)(high - low), PROT_READ));
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	void *library;
	int i;

	random_seed(0);
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
	} else if (!strcmp(what, "cut")) {
		for (i = 0; i < 10; i++)
			cut();
	} else if (!strcmp(what, "hide")) {
		library = dlopen(path, RTLD_NOW);
		need(library);
		for (i = 0; i < 10; i++)
			hide(library);
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
