/* The numbers of the interposed calls: FXT_CALL_read. Their names are strings FXT_STR_CALLS + number of every trace. */
#ifndef FXT_CALLS_H
#define FXT_CALLS_H

enum fxt_call {
#define CALL(category, type, name, ...) FXT_CALL_##name,
#define BY_HAND(category, name, role) FXT_CALL_##name,
#define SYSTEM_CALL CALL
#define BY_NUMBER_ALONE CALL
#define EVENT(category, name, role) FXT_CALL_##name,
#include "rows.inc"
#include "interpose/tables/calls.def"
#include "unrows.inc"
	FXT_CALL_COUNT
};

#endif
