// Throws exceptions that nobody catches: the program ends by std::terminate(), which ends it by SIGABRT. How:
//
//	uncaught nobody		no function has a handler, and the C++ library says so
//	uncaught noexcept	a function that is noexcept stands between the throw and the handler
//	uncaught cleanup	a destructor throws while another exception is on its way
//	uncaught nothing	an exception is thrown again, where there is none
//
// Counts are printed when std::terminate() is called.
#include <exception>
#include <stdexcept>

#include "counted.h"

static std::terminate_handler library_handler;
static const char *how;

COUNTED static bool is(const char *what)
{
	HERE_IS("_ZL2isPKc");
	return !strcmp(how, what);
}

COUNTED static void ends()
{
	HERE_IS("_ZL4endsv");
	print_counts();
	library_handler();
}

struct Guard {
	COUNTED ~Guard() noexcept(false)
	{
		HERE_IS("_ZN5GuardD2Ev");
		if (is("cleanup"))
			throw std::runtime_error("from the destructor");
	}
};

COUNTED static void leaf(int n)
{
	HERE_IS("_ZL4leafi");
	if (is("nothing"))
		throw;
	if (n >= 0)
		throw std::runtime_error("from the leaf");
}

COUNTED static int descend(int depth)
{
	HERE_IS("_ZL7descendi");
	Guard guard;
	int below = 0;

	if (depth)
		below = descend(depth - 1);
	else
		leaf(depth);
	KEEP(below);
	return below;
}

COUNTED static int quiet(int depth) noexcept
{
	HERE_IS("_ZL5quieti");
	return descend(depth);
}

COUNTED static int catches(int depth)
{
	HERE_IS("_ZL7catchesi");
	try {
		return is("noexcept") ? quiet(depth) : descend(depth);
	} catch (const std::exception &) {
		return 1;
	}
}

int main(int argc, char **argv)
{
	HERE_IS("main");
	need(argc == 2);
	how = argv[1];
	library_handler = std::set_terminate(ends);
	return is("nobody") ? descend(30) : catches(30);
}
