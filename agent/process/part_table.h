/* The table of the agent's parts: agent/base/parts.h. */
#ifndef FXT_PART_TABLE_H
#define FXT_PART_TABLE_H

/* Once, at start: the table is in use from here on. */
void fxt_part_table_use(void);

#endif
