/* Makes variadic functions of stdio: each does what the one that takes a list does, and has its own name in
 * the trace. */
#ifndef FXT_VARIADIC_H
#define FXT_VARIADIC_H

#include <stdarg.h>

#include "stdio_results.h"

/* Makes `symbol`, which collects what follows `format`, its last named parameter, and calls the real function
 * of v_symbol. Its own real function is looked for like any other, and never called. It is exported by an
 * assembler name, because a header may have given the C name another one. */
#define FXT_VARIADIC(type, symbol, event, v_symbol, blocks, result_kind, ...)				\
	static void *real_##symbol;									\
	FXT_TRACED(io, type, symbol, event, FXT_CALLEE(v_symbol, result_kind), blocks, result_kind,	\
		   __VA_ARGS__, (va_list, list, SKIP))							\
	FXT_EXPORT type variadic_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__), ...) __asm__(#symbol);	\
	FXT_EXPORT type variadic_##symbol(FXT_LIST(P_DECLARE, __VA_ARGS__), ...)			\
	{												\
		va_list list;										\
		type result;										\
													\
		va_start(list, format);									\
		result = traced_##symbol(FXT_LIST(P_NAME, __VA_ARGS__), list);				\
		va_end(list);										\
		return result;										\
	}

#endif
