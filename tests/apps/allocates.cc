// Gets large blocks by way of code that allocates for others: operators new, containers, functions of the C
// library, callbacks of those. Prints a line for each block, as tests/apps/owns.c does:
//
//	PID block kept|gone SIZE FUNCTION
//
// Sizes are drawn at random, and so is the order. FXT_SEED names them.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <malloc.h>
#include <unistd.h>

#define APART extern "C" __attribute__((noinline, noclone))

static const size_t LEAST = 65536;
static unsigned long long state;

static unsigned draw(unsigned below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return static_cast<unsigned>(state >> 33) % below;
}

// Says whether the block is there for good, and which function has asked for it.
static void tell(const char *how, const void *block, const char *function)
{
	printf("%d block %s %zu %s\n", getpid(), how, malloc_usable_size(const_cast<void *>(block)),
	       function);
}

static void kept(const void *block, const char *function)
{
	tell("kept", block, function);
}

static size_t a_size()
{
	return LEAST + draw(300000);
}

// -- Functions that ask for one block each ----------------------------------------------------------

APART void take_new()
{
	kept(new char[a_size()], __func__);
}

APART void take_new_nothrow()
{
	kept(new (std::nothrow) char[a_size()], __func__);
}

struct alignas(256) aligned {
	char bytes[LEAST * 2];
};

APART void take_new_aligned()
{
	kept(new aligned, __func__);
}

APART void take_vector()
{
	kept((new std::vector<char>(a_size()))->data(), __func__);
}

APART void take_vector_that_grows()
{
	auto *all = new std::vector<long>;

	all->reserve(a_size() / sizeof(long));
	kept(all->data(), __func__);
}

APART void take_string()
{
	kept((new std::string(a_size(), 'x'))->data(), __func__);
}

APART void take_cleared()
{
	kept(calloc(1, a_size()), __func__);
}

APART void take_strdup()
{
	std::string text(a_size(), 'y');

	tell("gone", text.data(), __func__);
	kept(strdup(text.c_str()), __func__);
}

APART void take_getline()
{
	static char text[80000];
	// The room is doubled once, to what is large enough for a lifetime and for the line.
	size_t room = 40000, bytes = 70000 + draw(9000);
	char *line = static_cast<char *>(malloc(room));
	FILE *file = tmpfile();

	memset(text, 'z', bytes);
	text[bytes] = '\n';
	fwrite(text, bytes + 1, 1, file);
	rewind(file);
	if (getline(&line, &room, file) > 0)
		kept(line, __func__);
	fclose(file);
}

APART int take_in_callback(const void *a, const void *b)
{
	static bool done;

	if (!done) {
		done = true;
		kept(malloc(a_size()), __func__);
	}
	return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

APART void sort_something()
{
	int numbers[] = {3, 1, 2};

	qsort(numbers, 3, sizeof(*numbers), take_in_callback);
}

APART void take_in_thread()
{
	kept(new char[a_size()], __func__);
}

APART void run_thread()
{
	std::thread(take_in_thread).join();
}

int main()
{
	static void (*const all[])() = {take_new, take_new_nothrow, take_new_aligned, take_vector,
		take_vector_that_grows, take_string, take_cleared, take_strdup, take_getline,
		sort_something, run_thread};
	const size_t count = sizeof(all) / sizeof(*all);
	const char *seed = getenv("FXT_SEED");

	state = seed ? strtoull(seed, nullptr, 10) : 1;
	// Each comes once, and some more come again.
	for (size_t i = 0; i < count; i++)
		all[i]();
	for (size_t i = 0; i < 40; i++)
		all[draw(count)]();
	return 0;
}
