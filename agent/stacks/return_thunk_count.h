/* The number and size of return thunks: see return_thunk.h. Assembler includes this too. */
#ifndef FXT_RETURN_THUNK_COUNT_H
#define FXT_RETURN_THUNK_COUNT_H

#define FXT_RETURN_THUNK_BITS 15
#define FXT_RETURN_THUNKS 0x8000
#define FXT_RETURN_THUNK_BYTES 8
/* Thunks of a group share the jump at its end, which takes the place of the last one. */
#define FXT_RETURN_THUNK_GROUP 16

#endif
