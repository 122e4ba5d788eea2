/* The facts about the shared memory on which `fxt record` and the processes that it traces have to agree.
 * `fxt record` makes the memory (tools/record/shared_memory.c), and agent/arrows/shared.h says what is in it.
 */
#ifndef FXT_RUN_MEMORY_H
#define FXT_RUN_MEMORY_H

#include <stdatomic.h>
#include <stdint.h>

/* The name of the memory file. It stands in links of /proc only, by which a process knows the file. */
#define FXT_SHARED_NAME "fxt"

enum { FXT_SHARED_BYTES = 1 << 20 };    /* pages that are not used take no memory */

/* Whose children orphans of the run are: `fxt record` adopts them, to follow them to their end. An orphan
 * that asks for its parent is told what it would be without. This stands at FXT_ADOPTER_OFFSET. */
enum { FXT_ADOPTER_OFFSET = 64 };

struct fxt_adopter {
	_Atomic uint32_t pid;           /* that of `fxt record`; 0: it adopts nobody */
	_Atomic uint32_t command;       /* that of the command, which is its child in any case */
	_Atomic uint32_t reaper;        /* who would adopt orphans */
};

#endif
