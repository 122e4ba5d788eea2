// Calls instances of templates, virtual functions, lambdas, comparators, and functions that the C++ library
// calls. The program does not count the functions of that library, nor those that the compiler adds, which a
// tracer may see.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "counted.h"

template <class T> struct name_of;
template <> struct name_of<int> {
	static constexpr const char *twice = "_Z5twiceIiET_S0_", *push = "_ZN5StackIiLi8EE4pushEi",
				    *pop = "_ZN5StackIiLi8EE3popEv";
};
template <> struct name_of<double> {
	static constexpr const char *twice = "_Z5twiceIdET_S0_", *push = "_ZN5StackIdLi8EE4pushEd",
				    *pop = "_ZN5StackIdLi8EE3popEv";
};

template <class T> COUNTED T twice(T value)
{
	HERE_IS(name_of<T>::twice);
	return value + value;
}

template <class T, int size> struct Stack {
	T values[size];
	int used = 0;

	COUNTED void push(T value)
	{
		HERE_IS(name_of<T>::push);
		values[used++] = twice(value);
	}
	COUNTED T pop()
	{
		HERE_IS(name_of<T>::pop);
		return values[--used];
	}
};

COUNTED int sum()
{
	HERE_IS("_Z3sumv");
	return 0;
}

template <class... Rest> COUNTED int sum(int first, Rest... rest)
{
	HERE_IS(sizeof...(rest) == 0 ? "_Z3sumIJEEiiDpT_"
		: sizeof...(rest) == 1 ? "_Z3sumIJiEEiiDpT_" : "_Z3sumIJiiEEiiDpT_");
	return first + sum(rest...);
}

struct Named {
	COUNTED virtual const char *name() const
	{
		HERE_IS("_ZNK5Named4nameEv");
		return "none";
	}
	virtual ~Named() = default;
};

struct Shape {
	int side;

	COUNTED explicit Shape(int n) : side(n)
	{
		HERE_IS("_ZN5ShapeC2Ei");
	}
	COUNTED virtual ~Shape()
	{
		HERE_IS("_ZN5ShapeD2Ev");
	}
	virtual int area() const = 0;
};

// Calls of name() by way of Named go through a thunk.
struct Square : Shape, Named {
	using Shape::Shape;
	COUNTED int area() const override
	{
		HERE_IS("_ZNK6Square4areaEv");
		return side * side;
	}
	COUNTED const char *name() const override
	{
		HERE_IS("_ZNK6Square4nameEv");
		return "square";
	}
};

struct Line : Shape {
	using Shape::Shape;
	COUNTED int area() const override
	{
		HERE_IS("_ZNK4Line4areaEv");
		return 0;
	}
};

struct Less {
	COUNTED bool operator()(int a, int b) const
	{
		HERE_IS("_ZNK4LessclEii");
		return a < b;
	}
};

COUNTED static int compare(const void *a, const void *b)
{
	HERE_IS("_ZL7comparePKvS0_");
	return *static_cast<const int *>(b) - *static_cast<const int *>(a);
}

// Mangled, the name would have that of std::function, which differs between libraries.
COUNTED static int calls_it(const std::function<int(int)> &function, int n) __asm__("calls_it");

COUNTED static int calls_it(const std::function<int(int)> &function, int n)
{
	HERE_IS("calls_it");
	return function(n);
}

COUNTED static int triple(int n)
{
	HERE_IS("_ZL6triplei");
	return 3 * n;
}

COUNTED static std::vector<int> shuffled(int size)
{
	HERE_IS("_ZL8shuffledi");
	std::vector<int> values(size);
	unsigned state = 1;

	for (int &value : values)
		value = (state = state * 1103515245 + 12345) >> 16;
	return values;
}

// Compilers number the lambdas of a function in several ways, so no function has two. clang gives their types
// such names in inline functions only.
COUNTED inline int counts_down(int from)
{
	HERE_IS("_Z11counts_downi");
	int calls = 0;
	std::function<int(int)> recursive = [&](int n) COUNTED -> int {
		HERE_IS("_ZZ11counts_downiENKUliE_clEi");
		calls++;
		return n ? recursive(n - 1) + 1 : 0;
	};

	return calls_it(recursive, from) + calls;
}

COUNTED inline int adds_one(int n)
{
	HERE_IS("_Z8adds_onei");
	return calls_it([](auto value) COUNTED {
		HERE_IS("_ZZ8adds_oneiENKUlT_E_clIiEEDaS_");
		return value + 1;
	}, n);
}

COUNTED inline void sorts()
{
	HERE_IS("_Z5sortsv");
	std::vector<int> values = shuffled(300), again = values;
	std::map<int, int, Less> map;

	std::sort(values.begin(), values.end(), Less());
	need(std::is_sorted(values.begin(), values.end()));
	std::stable_sort(again.begin(), again.end(), [](int a, int b) COUNTED {
		HERE_IS("_ZZ5sortsvENKUliiE_clEii");
		return a < b;
	});
	need(values == again);
	qsort(values.data(), values.size(), sizeof(int), compare);
	need(values.front() == again.back());
	for (int value : values)
		map[value]++;
	need(map.size() <= values.size());
}

COUNTED static void uses_stacks()
{
	HERE_IS("_ZL11uses_stacksv");
	Stack<int, 8> ints;
	Stack<double, 8> doubles;

	for (int i = 0; i < 8; i++) {
		ints.push(i);
		doubles.push(i);
	}
	for (int i = 7; i >= 0; i--)
		need(ints.pop() == 2 * i && doubles.pop() == 2.0 * i);
}

COUNTED static void uses_shapes(int side)
{
	HERE_IS("_ZL11uses_shapesi");
	std::vector<std::unique_ptr<Shape>> shapes;

	shapes.emplace_back(new Square(side));
	shapes.emplace_back(new Line(side));
	need(shapes[0]->area() == side * side && shapes[1]->area() == 0);
	need(!strcmp(dynamic_cast<Named *>(shapes[0].get())->name(), "square"));
	need(!strcmp(Named().name(), "none"));
}

int main()
{
	HERE_IS("main");
	uses_stacks();
	need(sum(1, 2, 3) == 6);
	for (int i = 0; i < 50; i++)
		uses_shapes(i);
	sorts();
	need(counts_down(40) == 81);
	need(calls_it(triple, 5) == 15);
	need(adds_one(6) == 7);
	print_counts();
	return 0;
}
