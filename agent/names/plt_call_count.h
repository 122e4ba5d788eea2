/* The number and size of the stubs of calls through procedure linkage tables: see plt_call.h. Assembler
 * includes this too. */
#ifndef FXT_PLT_CALL_COUNT_H
#define FXT_PLT_CALL_COUNT_H

#define FXT_PLT_CALLS 0x4000
#define FXT_PLT_STUB_BYTES 16

#endif
