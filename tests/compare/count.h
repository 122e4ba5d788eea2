/* For count.c and stubs.S. */
#define COUNT_NUMBERS 512       /* of system calls: more than there are */
