/* Counts the cells of a table. The fault: it reads the file by one byte at a time. */
#include "beside.h"

#include <fcntl.h>

int table;

int next_byte(void)
{
	unsigned char byte;

	return read(table, &byte, 1) == 1 ? byte : -1; /* FAULT */
}

long count_cells(void)
{
	long cells = 0;

	for (int byte; (byte = next_byte()) >= 0;)
		cells += byte == ',';
	return cells;
}

int main(void)
{
	FILE *out = fopen("cells.csv", "w");

	must(out != NULL, "cells.csv");
	for (int row = 0; row < 5000; row++)
		fprintf(out, "%d,%d,%d\n", row, row * 7, row * 11);
	fclose(out);
	table = open("cells.csv", O_RDONLY);
	work(10000);
	printf("%ld cells\n", count_cells());
	return 0;
}
