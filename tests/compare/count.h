/* What count.c and stubs.S have to agree on. */
#define COUNT_NUMBERS 512       /* there are fewer numbers of system calls */
