// This program has three phases, of which the second needs most of the heap, and frees it all.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#define APART __attribute__((noinline))

APART static size_t read_input()
{
	std::vector<std::string> lines;

	for (int i = 0; i < 30000; i++)
		lines.push_back("line " + std::to_string(i) + std::string(40, ' '));
	return lines.size();
}

APART static size_t build_index()
{
	std::map<std::string, std::vector<int>> index;

	for (int i = 0; i < 120000; i++)
		index["key " + std::to_string(i) + std::string(60, '.')].push_back(i);
	return index.size();
}

APART static size_t write_output()
{
	std::string text;

	for (int i = 0; i < 50000; i++)
		text += "some output ";
	return text.size();
}

int main()
{
	size_t sum = read_input();

	sum += build_index();
	sum += write_output();
	printf("%zu\n", sum);
	return 0;
}
