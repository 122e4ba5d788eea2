/* The facts about the shared memory on which `fxt record` and the processes that it traces have to agree.
 * `fxt record` makes the memory (tools/record/shared_memory.c), and agent/arrows/shared.h says what is in it.
 */
#ifndef FXT_RUN_MEMORY_H
#define FXT_RUN_MEMORY_H

/* The name of the memory file. It stands in links of /proc only, by which a process knows the file. */
#define FXT_SHARED_NAME "fxt"

enum { FXT_SHARED_BYTES = 1 << 20 };    /* pages that are not used take no memory */

#endif
