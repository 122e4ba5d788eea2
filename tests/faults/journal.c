/* Writes a journal. The fault: each record is brought to the disk alone. */
#include "beside.h"

#include <fcntl.h>

int journal;

void append_record(int number)
{
	char record[128];

	memset(record, '.', sizeof record);
	snprintf(record, sizeof record, "%d", number);
	must(write(journal, record, sizeof record) == sizeof record, "write");
	fsync(journal); /* FAULT */
}

int main(void)
{
	journal = open("journal.log", O_CREAT | O_TRUNC | O_WRONLY, 0600);
	must(journal >= 0, "journal.log");
	for (int number = 0; number < 300; number++) {
		work(20);
		append_record(number);
	}
	return 0;
}
