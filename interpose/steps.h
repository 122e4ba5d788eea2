/* STEPS in the place of BLOCKS(): a call without arguments that may wait, as for the next line of a file. Its slot has the thread's number. */
#ifndef FXT_STEPS_H
#define FXT_STEPS_H

#include "interpose.h"

#define STEPS                                                                                                           \
	(start_ns_ = fxt_explain_start(thread_, start_ns_, names_),                                                     \
	 fxt_open_push(thread_, (uintptr_t)__builtin_frame_address(0), 0, 0, start_ns_, names_,                         \
		       fxt_arg_header(FXT_ARG_INT64, 2, FXT_STR_tid), (uint64_t)thread_->tid))

#endif
