/* This header defines the Fuchsia trace format (FXT), bit by bit.
 *
 * It is the only place that knows where a field of the format lies. Everything that writes or reads a trace
 * uses the functions that FXT_FIELD makes: fxt_NAME(v) places a value, and fxt_get_NAME(w) takes it out
 * again. All of them are pure, and any context may call them.
 *
 * Section titles in comments are those of the specification, "Fuchsia trace format".
 */
#ifndef FXT_FORMAT_H
#define FXT_FORMAT_H

#include <assert.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#define FXT_FIELD_MASK(lo, hi) (UINT64_MAX >> (63 - ((hi) - (lo))))

/* Defines the functions for a field of bits lo..hi, both inclusive, of a 64-bit word. A value that is too
 * wide for it is cut to its low bits. */
#define FXT_FIELD(name, lo, hi)                                                                 \
	static_assert((lo) <= (hi) && (hi) <= 63, "field " #name);                              \
	static inline uint64_t fxt_##name(uint64_t value)                                       \
	{                                                                                       \
		return (value & FXT_FIELD_MASK(lo, hi)) << (lo);                                \
	}                                                                                       \
	static inline uint64_t fxt_get_##name(uint64_t word)                                    \
	{                                                                                       \
		return (word >> (lo)) & FXT_FIELD_MASK(lo, hi);                                 \
	}

/* -- Sizes and limits -------------------------------------------------------------------------- */

enum {
	FXT_WORD_BYTES = 8,
	FXT_RECORD_MAX_WORDS = 4095,      /* 12 bits of size; readers accept no more even for large records */
	FXT_STRING_MAX_BYTES = 32000,     /* "String references" */
	FXT_STRING_MAX_INDEX = 0x7fff,
	FXT_THREAD_MAX_INDEX = 0xff,
	FXT_MAX_ARGS = 15,
	FXT_PROVIDER_NAME_MAX_BYTES = 255,
	FXT_LOG_MAX_BYTES = 0x7fff,
	FXT_BLOB_MAX_BYTES = 0x7fff,
};

/* Returns how many words that many bytes take. */
static inline size_t fxt_words_of(size_t bytes)
{
	return bytes / FXT_WORD_BYTES + (bytes % FXT_WORD_BYTES != 0);
}

/* -- Record header ----------------------------------------------------------------------------- */

enum fxt_record_type {
	FXT_RECORD_METADATA = 0,
	FXT_RECORD_INITIALIZATION = 1,
	FXT_RECORD_STRING = 2,
	FXT_RECORD_THREAD = 3,
	FXT_RECORD_EVENT = 4,
	FXT_RECORD_BLOB = 5,
	FXT_RECORD_USERSPACE_OBJECT = 6,
	FXT_RECORD_KERNEL_OBJECT = 7,
	FXT_RECORD_SCHEDULING = 8,
	FXT_RECORD_LOG = 9,
	FXT_RECORD_LARGE = 15,
};

FXT_FIELD(record_type, 0, 3)
FXT_FIELD(record_words, 4, 15)

/* -- Metadata record (type 0) ------------------------------------------------------------------ */

enum fxt_metadata_type {
	FXT_METADATA_PROVIDER_INFO = 1,
	FXT_METADATA_PROVIDER_SECTION = 2,
	FXT_METADATA_PROVIDER_EVENT = 3,
	FXT_METADATA_TRACE_INFO = 4,
	/* our filler; the specification does not define this type, so every reader skips it by its size */
	FXT_METADATA_FILLER = 15,
};

enum { FXT_TRACE_INFO_MAGIC = 0, FXT_MAGIC_NUMBER = 0x16547846, FXT_PROVIDER_EVENT_BUFFER_FULL = 0 };

FXT_FIELD(metadata_type, 16, 19)
FXT_FIELD(provider_id, 20, 51)
FXT_FIELD(provider_name_bytes, 52, 59)
FXT_FIELD(provider_event, 52, 55)
FXT_FIELD(trace_info_type, 20, 23)
FXT_FIELD(magic, 24, 55)

/* This is the "Magic number record": one word, always the first of a file. */
static const uint64_t FXT_MAGIC_RECORD = UINT64_C(0x0016547846040010);

/* Returns the header of a filler of so many words (1..4095), which readers step over. Only this word needs
 * to be stored. */
static inline uint64_t fxt_filler(uint64_t words)
{
	return fxt_record_type(FXT_RECORD_METADATA) | fxt_record_words(words) |
	       fxt_metadata_type(FXT_METADATA_FILLER);
}

/* Returns the header of a filler of so many bytes. They must be a multiple of 8 and in bounds, which the
 * caller knows: without a mask this is one instruction. */
static inline uint64_t fxt_filler_of_bytes(uint64_t bytes)
{
	return fxt_filler(0) + bytes * (fxt_record_words(1) / FXT_WORD_BYTES);
}

/* Returns whether this is the header of a filler. */
static inline bool fxt_is_filler(uint64_t header)
{
	return fxt_get_record_type(header) == FXT_RECORD_METADATA &&
	       fxt_get_metadata_type(header) == FXT_METADATA_FILLER;
}

/* -- String record (type 2), thread record (type 3) ------------------------------------------- */

FXT_FIELD(string_index, 16, 30)
FXT_FIELD(string_bytes, 32, 46)
FXT_FIELD(thread_index, 16, 23)

/* "String references": 0 is the empty string, and the top bit marks an inline string of the length in the
 * other bits. */
FXT_FIELD(string_ref_inline, 15, 15)
FXT_FIELD(string_ref_value, 0, 14)

/* Returns the reference of an inline string of this length. */
static inline uint16_t fxt_inline_ref(size_t bytes)
{
	return (uint16_t)(fxt_string_ref_inline(1) | fxt_string_ref_value(bytes));
}

/* -- Event record (type 4) --------------------------------------------------------------------- */

enum fxt_event_type {
	FXT_EVENT_INSTANT = 0,
	FXT_EVENT_COUNTER = 1,
	FXT_EVENT_DURATION_BEGIN = 2,
	FXT_EVENT_DURATION_END = 3,
	FXT_EVENT_DURATION_COMPLETE = 4,
	FXT_EVENT_ASYNC_BEGIN = 5,
	FXT_EVENT_ASYNC_INSTANT = 6,
	FXT_EVENT_ASYNC_END = 7,
	FXT_EVENT_FLOW_BEGIN = 8,
	FXT_EVENT_FLOW_STEP = 9,
	FXT_EVENT_FLOW_END = 10,
};

FXT_FIELD(event_type, 16, 19)
FXT_FIELD(event_args, 20, 23)
FXT_FIELD(event_thread, 24, 31)
FXT_FIELD(event_category, 32, 47)
FXT_FIELD(event_name, 48, 63)

/* Returns whether an event of this type ends in a word of its own: counter id, end time or correlation id. */
static inline int fxt_event_has_extra(enum fxt_event_type type)
{
	return type == FXT_EVENT_COUNTER || type >= FXT_EVENT_DURATION_COMPLETE;
}

/* -- Blob record (type 5) ---------------------------------------------------------------------- */

enum fxt_blob_type { FXT_BLOB_DATA = 1, FXT_BLOB_LAST_BRANCH = 2, FXT_BLOB_PERFETTO = 3 };

FXT_FIELD(blob_name, 16, 31)
FXT_FIELD(blob_bytes, 32, 46)
FXT_FIELD(blob_type, 48, 55)

/* -- Userspace object record (type 6), kernel object record (type 7) --------------------------- */

enum fxt_kernel_object_type { FXT_OBJECT_PROCESS = 1, FXT_OBJECT_THREAD = 2, FXT_OBJECT_CLOCK = 30 };

/* The koid of the host's clock (agent/clock/wall_clock.h): far from those of processes and processors. */
enum { FXT_CLOCK_KOID = 0x7fff0000 };

FXT_FIELD(object_process, 16, 23)         /* userspace: a thread reference */
FXT_FIELD(object_type, 16, 23)            /* kernel: enum fxt_kernel_object_type */
FXT_FIELD(object_name, 24, 39)
FXT_FIELD(object_args, 40, 43)

/* -- Context switch record (type 8) ------------------------------------------------------------ */

enum fxt_thread_state {
	FXT_THREAD_NEW = 0,
	FXT_THREAD_RUNNING = 1,
	FXT_THREAD_SUSPENDED = 2,
	FXT_THREAD_BLOCKED = 3,
	FXT_THREAD_DYING = 4,
	FXT_THREAD_DEAD = 5,
};

/* Bits 60..63 are reserved in the specification's own record, where they are 0. Newer writers have a
 * subtype there. */
enum fxt_scheduling_type {
	FXT_SCHEDULING_LEGACY_SWITCH = 0,
	FXT_SCHEDULING_SWITCH = 1,
	FXT_SCHEDULING_WAKEUP = 2,
};

FXT_FIELD(scheduling_type, 60, 63)
FXT_FIELD(legacy_switch_cpu, 16, 23)
FXT_FIELD(legacy_switch_state, 24, 27)
FXT_FIELD(legacy_switch_outgoing, 28, 35)
FXT_FIELD(legacy_switch_incoming, 36, 43)
FXT_FIELD(legacy_switch_outgoing_priority, 44, 51)
FXT_FIELD(legacy_switch_incoming_priority, 52, 59)
FXT_FIELD(scheduling_args, 16, 19)
FXT_FIELD(scheduling_cpu, 20, 35)
FXT_FIELD(scheduling_state, 36, 39)

/* -- Log record (type 9) ----------------------------------------------------------------------- */

FXT_FIELD(log_bytes, 16, 30)
FXT_FIELD(log_thread, 32, 39)

/* -- Large record (type 15), large BLOB record (large type 0) ---------------------------------- */

enum fxt_large_blob_format { FXT_LARGE_BLOB_EVENT = 0, FXT_LARGE_BLOB_BARE = 1 };

FXT_FIELD(large_words, 4, 35)
FXT_FIELD(large_type, 36, 39)
FXT_FIELD(large_blob_format, 40, 43)
/* These are fields of the format header word of a large blob. */
FXT_FIELD(large_blob_category, 0, 15)
FXT_FIELD(large_blob_name, 16, 31)
FXT_FIELD(large_blob_args, 32, 35)
FXT_FIELD(large_blob_thread, 36, 43)

/* -- Arguments --------------------------------------------------------------------------------- */

enum fxt_arg_type {
	FXT_ARG_NULL = 0,
	FXT_ARG_INT32 = 1,
	FXT_ARG_UINT32 = 2,
	FXT_ARG_INT64 = 3,
	FXT_ARG_UINT64 = 4,
	FXT_ARG_DOUBLE = 5,
	FXT_ARG_STRING = 6,
	FXT_ARG_POINTER = 7,
	FXT_ARG_KOID = 8,
	FXT_ARG_BOOL = 9,
};

FXT_FIELD(arg_type, 0, 3)
FXT_FIELD(arg_words, 4, 15)
FXT_FIELD(arg_name, 16, 31)
FXT_FIELD(arg_value32, 32, 63)            /* int32, uint32 */
FXT_FIELD(arg_string, 32, 47)             /* string reference */
FXT_FIELD(arg_bool, 32, 32)

#endif
