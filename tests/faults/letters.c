/* Writes letters from a template. The fault: each letter opens and reads the template again. */
#include "beside.h"

#include <fcntl.h>

char text[4096];

void load_template(void)
{
	int fd = open("letter.template", O_RDONLY); /* FAULT */

	must(fd >= 0 && read(fd, text, sizeof text) > 0, "letter.template");
	close(fd);
}

void write_letter(FILE *out, int number)
{
	load_template();
	work(20);
	fprintf(out, "Dear customer %d,\n%.200s\n", number, text);
}

int main(void)
{
	FILE *template = fopen("letter.template", "w"), *out = fopen("letters.txt", "w");

	must(template && out, "letters");
	for (int line = 0; line < 60; line++)
		fprintf(template, "line %d of what we have to say\n", line);
	fclose(template);
	for (int number = 0; number < 3000; number++)
		write_letter(out, number);
	fclose(out);
	return 0;
}
