/* The numbers of the interposed calls: FXT_CALL_read. Their names are strings FXT_STR_CALLS + number of every trace. */
#ifndef FXT_CALLS_H
#define FXT_CALLS_H

enum fxt_call {
#define CALL(category, type, name, ...) FXT_CALL_##name,
#define ALIAS(...)
#define BY_HAND(category, name) FXT_CALL_##name,
#define BY_HAND_ALIAS(category, symbol, name)
#define SYSTEM_CALL CALL
#define BY_NUMBER(...)
#define BY_NUMBER_ALONE(category, type, name, ...) FXT_CALL_##name,
#define BY_HAND_NUMBER(...)
#define EVENT(category, name) FXT_CALL_##name,
#include "calls.def"
#include "unrows.inc"
	FXT_CALL_COUNT
};

#endif
