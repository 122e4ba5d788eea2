// Finds the route of each request by patterns. The fault: the patterns are made anew for each request.
#include "beside.h"

#include <regex>
#include <string>

bool is_route(const std::string &path, int route)
{
	std::regex pattern("/v" + std::to_string(route) + "/(users|groups)/[a-z_]+(/[0-9]+)?"); // FAULT

	return std::regex_match(path, pattern);
}

int main()
{
	int found = 0;

	work(2000);
	for (int i = 0; i < 400; i++) {
		std::string path = "/v" + std::to_string(i % 5) + "/users/name/" + std::to_string(i);

		for (int route = 0; route < 3 && !is_route(path, route); route++)
			found++;
	}
	printf("%d\n", found);
}
