/* Gives each interposed call a number: that of read is FXT_CALL_read. Every trace has the name of a call as
 * its string FXT_STR_CALLS + number. */
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
