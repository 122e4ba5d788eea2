/* Everything that can be wrong with a trace, and the words for it.
 *
 * The reader finds the faults of format, `fxt check` (check_*.c) those of meaning. A record with a STRUCTURAL
 * fault cannot be trusted: dump marks it and report leaves it out. Only check looks for COSMETIC ones. What
 * is a PROFILE fault is right by the format, and some viewer draws it wrongly: fxt itself never writes it,
 * others may.
 */
#ifndef FXT_TOOLS_FAULTS_H
#define FXT_TOOLS_FAULTS_H

#define FXT_FAULTS(X)                                                                           \
	/* the file */                                                                          \
	X(NO_MAGIC, STRUCTURAL, "no magic number")                                              \
	X(SIZE_ZERO, STRUCTURAL, "record of size 0")                                            \
	X(PAST_END, STRUCTURAL, "record past the end of file")                                  \
	/* records */                                                                           \
	X(RECORD_SIZE, STRUCTURAL, "record size does not add up")                               \
	X(APPENDED, PROFILE, "words appended to a record")                                      \
	X(STREAM_PAST_RECORD, STRUCTURAL, "stream runs past its record")                        \
	X(THREAD_PAST_RECORD, STRUCTURAL, "inline thread runs past its record")                 \
	X(ARG_PAST_RECORD, STRUCTURAL, "argument runs past its record")                         \
	X(ARG_SIZE, STRUCTURAL, "argument size")                                                \
	X(ARG_NO_VALUE, STRUCTURAL, "argument has no value word")                               \
	X(NO_TRAILING_WORD, STRUCTURAL, "event has no trailing word")                           \
	X(STRING_UNREGISTERED, STRUCTURAL, "string reference never registered")                 \
	X(THREAD_UNREGISTERED, STRUCTURAL, "thread reference never registered")                 \
	X(BAD_MAGIC_RECORD, STRUCTURAL, "bad magic number record")                              \
	X(SECTION_WITHOUT_INFO, PROFILE, "provider section without provider info")             \
	X(ZERO_TICKS, STRUCTURAL, "zero ticks per second")                                      \
	X(STRING_INDEX_0, PROFILE, "string index 0")                                           \
	X(THREAD_INDEX_0, PROFILE, "thread index 0")                                           \
	X(STRING_TOO_LONG, COSMETIC, "string over 32000 bytes")                                 \
	X(PADDING, COSMETIC, "non-zero padding")                                                \
	X(UTF8, COSMETIC, "invalid UTF-8")                                                      \
	X(RESERVED_BITS, COSMETIC, "reserved bits set")                                         \
	X(THREAD_STATE, COSMETIC, "thread leaves a processor in a state that does not exist there") \
	X(BOOL_VALUE, COSMETIC, "bool other than 0 or 1")                                       \
	X(ARG_TWICE, PROFILE, "two arguments of one name")                                     \
	X(COUNTER_NOT_NUMBER, COSMETIC, "counter value is no number")                           \
	X(COMPLETE_BACKWARDS, COSMETIC, "complete event ends before it starts")                 \
	/* slices */                                                                            \
	X(SAME_TICK, PROFILE, "two slices of a thread begin at the same tick")                 \
	X(OVERLAP, COSMETIC, "slices overlap without nesting")                                  \
	X(TOO_DEEP, COSMETIC, "slices nest deeper than 512")                                    \
	X(END_WITHOUT_BEGIN, COSMETIC, "duration end without begin")                            \
	X(END_NAMES_ANOTHER, COSMETIC, "duration end names another begin")                      \
	/* asyncs and flows */                                                                  \
	X(ASYNC_TWO_NAMES, PROFILE, "async id used under two names")                           \
	X(ASYNC_INSTANT_ORPHAN, COSMETIC, "async_instant without begin")                        \
	X(ASYNC_END_ORPHAN, COSMETIC, "async_end without begin")                                \
	X(FLOW_STEP_ORPHAN, COSMETIC, "flow_step without begin")                                \
	X(FLOW_END_ORPHAN, COSMETIC, "flow_end without begin")                                  \
	X(FLOW_TWICE, COSMETIC, "flow begun twice")                                             \
	X(FLOW_TWO_PROCESSES, COSMETIC, "flow id begun by two processes")                       \
	X(FLOW_OUTSIDE, COSMETIC, "flow event outside any slice")                               \
	X(FLOW_ENDED_SLICE, COSMETIC, "flow event binds to a slice that has ended")             \
	X(FLOW_BACKWARDS, COSMETIC, "flow goes to a slice that started before the one it left")

enum fxt_fault {
#define FXT_FAULT_ENUM(name, severity, text) FXT_FAULT_##name,
	FXT_FAULTS(FXT_FAULT_ENUM)
#undef FXT_FAULT_ENUM
	FXT_FAULT_COUNT
};

enum fxt_severity { FXT_STRUCTURAL, FXT_COSMETIC, FXT_PROFILE };

extern const char *const fxt_fault_text[FXT_FAULT_COUNT];
extern const enum fxt_severity fxt_fault_severity[FXT_FAULT_COUNT];

#endif
