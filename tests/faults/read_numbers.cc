// Reads a table of numbers in which many fields are empty. The fault: an empty field is found out by an
// exception, thousands of times.
#include "beside.h"

#include <stdexcept>
#include <string>
#include <vector>

long to_number(const std::string &field)
{
	if (field.empty())
		throw std::invalid_argument("a field is empty"); // FAULT
	return std::strtol(field.c_str(), nullptr, 10);
}

long number_or_zero(const std::string &field)
{
	try {
		return to_number(field);
	} catch (const std::invalid_argument &) {
		return 0;
	}
}

int main()
{
	std::vector<std::string> fields;
	long sum = 0;

	for (int i = 0; i < 300000; i++)
		fields.push_back(i % 2 ? "" : std::to_string(i));
	work(5000);
	for (const std::string &field : fields)
		sum += number_or_zero(field);
	std::printf("%ld\n", sum);
	return 0;
}
