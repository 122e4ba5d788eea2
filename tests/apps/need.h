/* Programs to trace share this file. If a call of the program itself fails, its trace would prove nothing. */
#ifndef NEED_H
#define NEED_H

#include <stdbool.h>
#include <stdlib.h>

/* Ends the program with SIGABRT unless the condition holds. */
static void need(bool condition)
{
	if (!condition)
		abort();
}

#endif
