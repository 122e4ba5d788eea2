/* This declares encoders of every record of the Fuchsia trace format.
 *
 * Each fxt_encode_* writes one whole record at `out` and returns its size in words. It returns 0 if the
 * record cannot be written: it would be longer than `capacity` words or than the format allows, a string is
 * longer than FXT_STRING_MAX_BYTES, there are more than FXT_MAX_ARGS arguments, or a field is out of its
 * range. The words at `out` are undefined then, but nothing past out[capacity - 1] has been changed.
 *
 * No encoder allocates, locks, calls the system or keeps state, so any context may call them. The agent's
 * hot path does not use them: it stores its few fixed forms of records itself (agent/emit/emit.h). Section
 * titles in quotation marks are those of the format's specification.
 */
#ifndef FXT_ENCODE_H
#define FXT_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fxt_format.h"

/* This is a string in a record ("String references"). The text need not be terminated. Text that is not
 * UTF-8 is the caller's error: see fxt_utf8_clean(). */
struct fxt_string {
	/* 1..FXT_STRING_MAX_INDEX if the string is registered under this index; 0 if it is inline */
	uint16_t index;
	const char *text;       /* inline only; NULL with bytes == 0 is the empty string */
	size_t bytes;           /* inline only; 0..FXT_STRING_MAX_BYTES */
};

#define FXT_INDEXED(i) ((struct fxt_string){.index = (uint16_t)(i)})
#define FXT_INLINE(s, n) ((struct fxt_string){.text = (s), .bytes = (n)})

/* This is a thread in a record ("Thread references"). */
struct fxt_thread_ref {
	/* 1..FXT_THREAD_MAX_INDEX if the thread is registered; 0 if the two koids are written inline */
	uint8_t index;
	/* koids; below 2^32, because Perfetto cuts larger ones and Tracy stops at them */
	uint64_t process;
	uint64_t thread;
};

/* This is an argument ("Argument types"). Its value is the member of the union that `type` names;
 * FXT_ARG_NULL has none. */
struct fxt_arg {
	enum fxt_arg_type type;
	struct fxt_string name;
	union {
		int32_t i32;
		uint32_t u32;
		int64_t i64;
		uint64_t u64;           /* also FXT_ARG_POINTER and FXT_ARG_KOID */
		double f64;
		struct fxt_string string;
		bool boolean;
	};
};

struct fxt_args {
	size_t count;                   /* 0..FXT_MAX_ARGS */
	const struct fxt_arg *list;
};

/* These write the kinds of "Metadata record". A provider's `name` has at most FXT_PROVIDER_NAME_MAX_BYTES,
 * and `event` is the number of a provider event, such as FXT_PROVIDER_EVENT_BUFFER_FULL. */
size_t fxt_encode_magic(uint64_t *out, size_t capacity);
size_t fxt_encode_provider_info(uint64_t *out, size_t capacity, uint32_t id, const char *name,
				size_t name_bytes);
size_t fxt_encode_provider_section(uint64_t *out, size_t capacity, uint32_t id);
size_t fxt_encode_provider_event(uint64_t *out, size_t capacity, uint32_t id, unsigned event);
/* Writes a filler of exactly `words` words (1..4095). Only its header is stored; the words behind it stay
 * as they are. */
size_t fxt_encode_filler(uint64_t *out, size_t capacity, size_t words);

/* Writes an "Initialization record". `ticks_per_second` must not be 0. */
size_t fxt_encode_initialization(uint64_t *out, size_t capacity, uint64_t ticks_per_second);

/* Writes a "String record". `index` is 1..FXT_STRING_MAX_INDEX. */
size_t fxt_encode_string(uint64_t *out, size_t capacity, uint16_t index, const char *text, size_t bytes);

/* Writes a "Thread record". `index` is 1..FXT_THREAD_MAX_INDEX. */
size_t fxt_encode_thread(uint64_t *out, size_t capacity, uint8_t index, uint64_t process, uint64_t thread);

/* Writes an "Event record". `extra` is the word that only some event types have (counter id, end time or
 * correlation id); it is not written for the others. */
size_t fxt_encode_event(uint64_t *out, size_t capacity, enum fxt_event_type type, uint64_t ticks,
			struct fxt_thread_ref thread, struct fxt_string category, struct fxt_string name,
			struct fxt_args args, uint64_t extra);

/* Writes a "BLOB record". The data and an inline name have to fit in one record, so there are at most
 * FXT_BLOB_MAX_BYTES of data. */
size_t fxt_encode_blob(uint64_t *out, size_t capacity, enum fxt_blob_type type, struct fxt_string name,
		       const void *data, size_t bytes);

/* Writes a "Userspace object record". Only the process of `process` is used. */
size_t fxt_encode_userspace_object(uint64_t *out, size_t capacity, uint64_t pointer,
				   struct fxt_thread_ref process, struct fxt_string name,
				   struct fxt_args args);

/* Writes a "Kernel object record". The record of a thread must have a koid argument named `process`. */
size_t fxt_encode_kernel_object(uint64_t *out, size_t capacity, enum fxt_kernel_object_type type,
				uint64_t koid, struct fxt_string name, struct fxt_args args);

/* These are the fields of a "Context switch record", as the specification has it. The outgoing thread may
 * be in any state but running. */
struct fxt_legacy_switch {
	uint8_t cpu;
	enum fxt_thread_state outgoing_state;
	struct fxt_thread_ref outgoing, incoming;
	uint8_t outgoing_priority, incoming_priority;
};
size_t fxt_encode_legacy_switch(uint64_t *out, size_t capacity, uint64_t ticks,
				const struct fxt_legacy_switch *s);

/* These write the newer scheduling records, which the specification does not have but newer writers and
 * readers do: a context switch, and the wakeup of a thread. Thread ids are koids. The outgoing thread's state
 * is FXT_THREAD_RUNNING if it was preempted. */
size_t fxt_encode_context_switch(uint64_t *out, size_t capacity, uint64_t ticks, uint16_t cpu,
				 enum fxt_thread_state outgoing_state, uint64_t outgoing, uint64_t incoming,
				 struct fxt_args args);
size_t fxt_encode_thread_wakeup(uint64_t *out, size_t capacity, uint64_t ticks, uint16_t cpu, uint64_t woken,
				struct fxt_args args);

/* Writes a "Log record". The message has at most FXT_LOG_MAX_BYTES, and has to fit in a record of 4095
 * words. */
size_t fxt_encode_log(uint64_t *out, size_t capacity, uint64_t ticks, struct fxt_thread_ref thread,
		      const char *message, size_t bytes);

/* These write a "Large BLOB record" in its two formats. Such a record may be longer than 4095 words.
 * Perfetto and Tracy lose step at one that is, so the agent writes none. */
size_t fxt_encode_large_blob_event(uint64_t *out, size_t capacity, uint64_t ticks,
				   struct fxt_thread_ref thread, struct fxt_string category,
				   struct fxt_string name, struct fxt_args args, const void *data,
				   size_t bytes);
size_t fxt_encode_large_blob(uint64_t *out, size_t capacity, struct fxt_string category,
			     struct fxt_string name, const void *data, size_t bytes);

/* Copies text to `out`, cut to at most `max_bytes` at a character's boundary. Every byte that is not part
 * of valid UTF-8 is replaced by '?', because the format requires UTF-8 and file names are any bytes.
 * Returns how many bytes were written. `out` may be `text`. */
size_t fxt_utf8_clean(char *out, const char *text, size_t bytes, size_t max_bytes);

/* Returns whether the text is UTF-8 as the format requires it, without overlong forms, surrogates or code
 * points past U+10FFFF. */
bool fxt_utf8_valid(const char *text, size_t bytes);

/* Returns whether the byte goes on with a character of UTF-8 that another byte has begun. */
static inline bool fxt_utf8_continues(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

#endif
