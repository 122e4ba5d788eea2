/* Declares what the two files of the program `lifetimes` share: lifetimes.c, which says what the program
 * does, and lifetimes_uses.c. */
#ifndef LIFETIMES_H
#define LIFETIMES_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern char data[1000];

static inline _Noreturn void needed(const char *what)
{
	perror(what);
	abort();
}

#define need(condition) ((condition) ? (void)0 : needed(#condition))

#define SAY(format, ...) printf("%d " format "\n", (int)getpid(), __VA_ARGS__)
#define SAY_TEXT(text) SAY("%s", text)

static inline int opened(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	need(fd >= 0);
	return fd;
}

static inline void closed(int fd)
{
	need(close(fd) == 0);
}

/* Gets, uses and gives back every kind of descriptor in every way, and leaves some open. */
void use_all(void);

#endif
