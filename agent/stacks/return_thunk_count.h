/* The number and size of return thunks (return_thunk.h), and what they are told. Assembler includes this
 * too. */
#ifndef FXT_RETURN_THUNK_COUNT_H
#define FXT_RETURN_THUNK_COUNT_H

#define FXT_RETURN_THUNK_BITS 15
#define FXT_RETURN_THUNKS 0x8000
/* A thunk with the call in front of it, which pushes its address. */
#define FXT_RETURN_THUNK_BYTES 16
#define FXT_RETURN_THUNK_CALL_BYTES 5

/* Bits of the result of fxt_return_quick(): the slow way has to be taken; the function was entered by way of
 * the call in front of its thunk. */
#define FXT_RETURN_SLOW 1
#define FXT_RETURN_AFTER_CALL 2

#endif
