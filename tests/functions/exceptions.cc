// Leaves functions by exceptions, which are caught, thrown again, kept, and nested.
#include <exception>
#include <stdexcept>
#include <string>

#include "counted.h"

namespace {
int destroyed;
}

struct Error {
	int depth;
};

struct Guard {
	int number;

	COUNTED explicit Guard(int n) : number(n)
	{
		HERE_IS("_ZN5GuardC2Ei");
	}
	COUNTED ~Guard();
};

COUNTED int leaf(int n)
{
	HERE_IS("_Z4leafi");
	return n + 1;
}

COUNTED Guard::~Guard()
{
	HERE_IS("_ZN5GuardD2Ev");
	destroyed += leaf(number) - number;
}

COUNTED void raise(int depth)
{
	HERE_IS("_Z5raisei");
	leaf(depth);
	throw Error{depth};
}

COUNTED int descend(int depth, int from)
{
	HERE_IS("_Z7descendii");
	Guard guard(depth);

	int below = 0;

	if (depth)
		below = descend(depth - 1, from);
	else
		raise(from);
	KEEP(below);
	return below + 1;
}

COUNTED int catches(int depth)
{
	HERE_IS("_Z7catchesi");
	try {
		descend(depth, depth);
	} catch (const Error &error) {
		leaf(1);
		return error.depth;
	}
	return -1;
}

// Catches at each level, and throws again.
COUNTED int rethrows(int depth)
{
	HERE_IS("_Z8rethrowsi");
	int below = 0;

	try {
		if (depth)
			below = rethrows(depth - 1);
		else
			raise(0);
	} catch (Error &error) {
		error.depth += leaf(depth) - depth;
		throw;
	}
	KEEP(below);
	return below;
}

// Catches an exception within a handler, and throws another out of it.
COUNTED int nested(int depth)
{
	HERE_IS("_Z6nestedi");
	Guard guard(depth);

	try {
		try {
			raise(depth);
		} catch (const Error &error) {
			Guard inner(1);

			if (catches(3) == 3)
				throw std::runtime_error(std::to_string(error.depth));
		}
	} catch (const std::exception &error) {
		leaf(2);
		return std::stoi(error.what());
	}
	return -1;
}

struct CatchesAtEnd {
	COUNTED ~CatchesAtEnd()
	{
		HERE_IS("_ZN12CatchesAtEndD2Ev");
		catches(4);
	}
};

// While one exception is on its way, a destructor throws and catches another.
COUNTED void twice(int depth)
{
	HERE_IS("_Z5twicei");
	CatchesAtEnd end;

	raise(depth);
}

COUNTED std::exception_ptr keeps(int depth)
{
	HERE_IS("_Z5keepsi");
	try {
		descend(depth, 9);
	} catch (...) {
		return std::current_exception();
	}
	return nullptr;
}

COUNTED int no_throw(int depth) noexcept
{
	HERE_IS("_Z8no_throwi");
	return catches(depth) + catches(depth / 2);
}

int main()
{
	HERE_IS("main");
	for (int i = 0; i < 20; i++) {
		need(catches(50) == 50);
		try {
			rethrows(20);
		} catch (const Error &error) {
			need(error.depth == 21);
			leaf(0);
		}
		need(nested(i) == i);
		try {
			twice(i);
		} catch (const Error &error) {
			need(error.depth == i);
		}
		try {
			std::rethrow_exception(keeps(10));
		} catch (const Error &error) {
			need(error.depth == 9);
		}
		need(no_throw(8) == 12);
	}
	need(destroyed == 20 * (51 + 4 + 2 + 5 + 11 + 9 + 5));
	print_counts();
	return 0;
}
