/* Encoders of every record of the Fuchsia trace format.
 *
 * Each fxt_encode_* writes one whole record at `out` and returns its size in words, or 0 if it cannot be
 * written: it would be longer than `capacity` words or than the format allows, a string is longer than
 * FXT_STRING_MAX_BYTES, there are more than FXT_MAX_ARGS arguments, or a field is out of its range. What
 * lies at `out` after a 0 is undefined, but nothing past out[capacity - 1] has been touched.
 *
 * No encoder allocates, locks, calls the system or keeps state: any context may call them.
 * The agent's hot path does not go through here; it stores its few fixed shapes itself (agent/emit.h).
 */
#ifndef FXT_ENCODE_H
#define FXT_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fxt_format.h"

/* A string in a record ("String references"). Text need not be terminated. Text that is not UTF-8 is the
 * caller's error: see fxt_utf8_clean(). */
struct fxt_string {
	uint16_t index;         /* 1..FXT_STRING_MAX_INDEX: registered under this index; 0: inline */
	const char *text;       /* inline only; NULL with bytes == 0 is the empty string */
	size_t bytes;           /* inline only; 0..FXT_STRING_MAX_BYTES */
};

#define FXT_INDEXED(i) ((struct fxt_string){.index = (uint16_t)(i)})
#define FXT_INLINE(s, n) ((struct fxt_string){.text = (s), .bytes = (n)})

/* A thread in a record ("Thread references"). */
struct fxt_thread_ref {
	uint8_t index;          /* 1..FXT_THREAD_MAX_INDEX: registered; 0: the two koids go inline */
	uint64_t process;       /* koids; below 2^32 (readers.md: Perfetto truncates, Tracy asserts) */
	uint64_t thread;
};

/* "Argument types". The member of the union that `type` names is the value; FXT_ARG_NULL has none. */
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

/* "Metadata record" and its types. */
size_t fxt_encode_magic(uint64_t *out, size_t capacity);
size_t fxt_encode_provider_info(uint64_t *out, size_t capacity, uint32_t id, const char *name, size_t name_bytes);
size_t fxt_encode_provider_section(uint64_t *out, size_t capacity, uint32_t id);
size_t fxt_encode_provider_event(uint64_t *out, size_t capacity, uint32_t id, unsigned event);
/* A filler of exactly `words` words (1..4095). Only the header is stored; what it covers is left as it is. */
size_t fxt_encode_filler(uint64_t *out, size_t capacity, size_t words);

/* "Initialization record": ticks per second, not 0. */
size_t fxt_encode_initialization(uint64_t *out, size_t capacity, uint64_t ticks_per_second);

/* "String record": index 1..FXT_STRING_MAX_INDEX. */
size_t fxt_encode_string(uint64_t *out, size_t capacity, uint16_t index, const char *text, size_t bytes);

/* "Thread record": index 1..FXT_THREAD_MAX_INDEX. */
size_t fxt_encode_thread(uint64_t *out, size_t capacity, uint8_t index, uint64_t process, uint64_t thread);

/* "Event record". `extra` is the event type's own word (counter id, end time, correlation id); it is not
 * written for the types that have none. */
size_t fxt_encode_event(uint64_t *out, size_t capacity, enum fxt_event_type type, uint64_t ticks,
			struct fxt_thread_ref thread, struct fxt_string category, struct fxt_string name,
			struct fxt_args args, uint64_t extra);

/* "BLOB record": at most FXT_BLOB_MAX_BYTES, less what an inline name takes of the record. */
size_t fxt_encode_blob(uint64_t *out, size_t capacity, enum fxt_blob_type type, struct fxt_string name,
		       const void *data, size_t bytes);

/* "Userspace object record". Only the process of `process` counts. */
size_t fxt_encode_userspace_object(uint64_t *out, size_t capacity, uint64_t pointer, struct fxt_thread_ref process,
				   struct fxt_string name, struct fxt_args args);

/* "Kernel object record". A thread's must carry a koid argument named `process`. */
size_t fxt_encode_kernel_object(uint64_t *out, size_t capacity, enum fxt_kernel_object_type type, uint64_t koid,
				struct fxt_string name, struct fxt_args args);

/* "Context switch record" as the specification has it. */
struct fxt_legacy_switch {
	uint8_t cpu;
	enum fxt_thread_state outgoing_state;
	struct fxt_thread_ref outgoing, incoming;
	uint8_t outgoing_priority, incoming_priority;
};
size_t fxt_encode_legacy_switch(uint64_t *out, size_t capacity, uint64_t ticks, const struct fxt_legacy_switch *s);

/* The newer scheduling records (readers.md): a context switch, a thread's wakeup. Thread ids are koids. */
size_t fxt_encode_context_switch(uint64_t *out, size_t capacity, uint64_t ticks, uint16_t cpu,
				 enum fxt_thread_state outgoing_state, uint64_t outgoing, uint64_t incoming,
				 struct fxt_args args);
size_t fxt_encode_thread_wakeup(uint64_t *out, size_t capacity, uint64_t ticks, uint16_t cpu, uint64_t woken,
				struct fxt_args args);

/* "Log record": at most FXT_LOG_MAX_BYTES of message, less what fits no record of 4095 words. */
size_t fxt_encode_log(uint64_t *out, size_t capacity, uint64_t ticks, struct fxt_thread_ref thread,
		      const char *message, size_t bytes);

/* "Large BLOB record" in both formats. These may be longer than 4095 words; Perfetto and Tracy then lose
 * step, so the agent writes none. */
size_t fxt_encode_large_blob_event(uint64_t *out, size_t capacity, uint64_t ticks, struct fxt_thread_ref thread,
				   struct fxt_string category, struct fxt_string name, struct fxt_args args,
				   const void *data, size_t bytes);
size_t fxt_encode_large_blob(uint64_t *out, size_t capacity, struct fxt_string category, struct fxt_string name,
			     const void *data, size_t bytes);

/* Copies text to `out` with every byte that is no part of valid UTF-8 replaced by '?', cut to at most
 * `max_bytes` on a character's boundary. Returns the bytes written. The format requires UTF-8; file names
 * are any bytes. `out` may be `text`. */
size_t fxt_utf8_clean(char *out, const char *text, size_t bytes, size_t max_bytes);

#endif
