/* How much memory this process may have, by the limits of its control groups and what is free on the machine.
 */
#ifndef FXT_TOOLS_MEMORY_LIMIT_H
#define FXT_TOOLS_MEMORY_LIMIT_H

#include <stdint.h>

/* Returns that many bytes; UINT64_MAX: nothing says so. What others in the control groups have is in it. */
uint64_t fxt_memory_there_is(void);

#endif
