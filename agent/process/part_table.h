/* The table of the agent's parts: agent/base/parts.h. */
#ifndef FXT_PART_TABLE_H
#define FXT_PART_TABLE_H

/* Puts the table into use. Called once, at start. */
void fxt_part_table_use(void);

#endif
