/* Makes previews by way of scratch files. The fault: the scratch files are closed and stay. */
#include "beside.h"

int open_scratch(void)
{
	char path[] = "preview.XXXXXX";

	return mkstemp(path); /* FAULT */
}

int main(void)
{
	char bytes[8192] = "";

	for (int preview = 0; preview < 60; preview++) {
		int scratch = open_scratch();

		must(scratch >= 0 && write(scratch, bytes, sizeof bytes) == sizeof bytes, "scratch");
		work(300);
		close(scratch);
	}
	return 0;
}
