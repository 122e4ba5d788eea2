/* The kind of result of calls that map memory: MAPPED, a pointer; (void *)-1 is a failure, with errno. */
#ifndef FXT_MAPPED_H
#define FXT_MAPPED_H

#include "interpose.h"

typedef void *pointer;

#define FAILURE_MAPPED (result_ == (void *)-1 ? errno : 0)
#define RESULT_MAPPED RESULT_PTR

#endif
