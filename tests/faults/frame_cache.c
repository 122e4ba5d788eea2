/* Decodes frames and keeps the last one for whoever asks. The fault: the frame is dropped when it is old, and
 * the one who shows it still has it. */
#include "beside.h"

enum { BYTES = 400000 };

unsigned char *last, *shown;

unsigned char *decode(int number)
{
	unsigned char *frame = malloc(BYTES);

	must(frame != NULL, "malloc");
	memset(frame, number, BYTES);
	work(200);
	return frame;
}

void drop_frame(void)
{
	free(last);
	last = NULL;
}

unsigned show(const unsigned char *frame)
{
	unsigned sum = 0;

	for (int i = 0; i < BYTES; i += 64)
		sum += frame[i]; /* FAULT */
	return sum;
}

int main(void)
{
	unsigned sum = 0;

	for (int number = 0; number < 12; number++) {
		last = decode(number);
		if (number % 3 == 0)
			shown = last;
		sum += show(shown);
		drop_frame();
	}
	printf("%u\n", sum);
	return 0;
}
