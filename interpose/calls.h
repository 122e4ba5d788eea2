/* The numbers of the interposed calls: FXT_CALL_read. Their names are strings FXT_STR_CALLS + number of every trace. */
#ifndef FXT_CALLS_H
#define FXT_CALLS_H

enum fxt_call {
#define CALL(category, type, name, ...) FXT_CALL_##name,
#define ALIAS(...)
#define BY_HAND(category, name) FXT_CALL_##name,
#define BY_HAND_ALIAS(category, symbol, name)
#include "calls.def"
#undef CALL
#undef ALIAS
#undef BY_HAND
#undef BY_HAND_ALIAS
	FXT_CALL_COUNT
};

#endif
