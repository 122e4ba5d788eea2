/* Counts the lines that match a pattern. The fault: the pattern is compiled anew for each line. */
#include "beside.h"

#include <regex.h>

bool is_match(const char *line)
{
	regex_t pattern;
	bool is;

	regcomp(&pattern, "^(user|group)=[a-z_]{2,20}[0-9]*;$", REG_EXTENDED); /* FAULT */
	is = regexec(&pattern, line, 0, NULL, 0) == 0;
	regfree(&pattern);
	return is;
}

int main(void)
{
	char line[64];
	int matches = 0;

	work(2000);
	for (int i = 0; i < 2000; i++) {
		snprintf(line, sizeof line, "%s=name_%d;", i % 3 ? "user" : "host", i);
		matches += is_match(line);
	}
	printf("%d lines\n", matches);
	return 0;
}
