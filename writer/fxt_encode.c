/* Encodes the records of fxt_encode.h, one function for each kind, in the order of the specification.
 *
 * Each function states which fields its header has and what follows it, and encode_atoms.c stores these.
 * The agent calls them for all but its few hottest records, and so do the tools and the tests, in any
 * context.
 */
#include "encode_internal.h"

/* -- Metadata record --------------------------------------------------------------------------- */

static uint64_t metadata(enum fxt_metadata_type type)
{
	return fxt_record_type(FXT_RECORD_METADATA) | fxt_metadata_type(type);
}

size_t fxt_encode_magic(uint64_t *out, size_t capacity)
{
	struct fxt_cursor c = fxt_begin(out, capacity);

	return fxt_finish(&c, metadata(FXT_METADATA_TRACE_INFO) | fxt_trace_info_type(FXT_TRACE_INFO_MAGIC) |
				      fxt_magic(FXT_MAGIC_NUMBER));
}

size_t fxt_encode_provider_info(uint64_t *out, size_t capacity, uint32_t id, const char *name,
				size_t name_bytes)
{
	struct fxt_cursor c = fxt_begin(out, capacity);

	fxt_require(&c, name_bytes <= FXT_PROVIDER_NAME_MAX_BYTES);
	fxt_put_stream(&c, name, name_bytes);
	return fxt_finish(&c, metadata(FXT_METADATA_PROVIDER_INFO) | fxt_provider_id(id) |
				      fxt_provider_name_bytes(name_bytes));
}

size_t fxt_encode_provider_section(uint64_t *out, size_t capacity, uint32_t id)
{
	struct fxt_cursor c = fxt_begin(out, capacity);

	return fxt_finish(&c, metadata(FXT_METADATA_PROVIDER_SECTION) | fxt_provider_id(id));
}

size_t fxt_encode_provider_event(uint64_t *out, size_t capacity, uint32_t id, unsigned event)
{
	struct fxt_cursor c = fxt_begin(out, capacity);

	fxt_require(&c, fxt_get_provider_event(fxt_provider_event(event)) == event);
	return fxt_finish(&c, metadata(FXT_METADATA_PROVIDER_EVENT) | fxt_provider_id(id) |
				      fxt_provider_event(event));
}

size_t fxt_encode_filler(uint64_t *out, size_t capacity, size_t words)
{
	if (words == 0 || words > FXT_RECORD_MAX_WORDS || words > capacity)
		return 0;
	out[0] = fxt_filler(words);
	return words;
}

/* -- Initialization, string and thread records ------------------------------------------------- */

size_t fxt_encode_initialization(uint64_t *out, size_t capacity, uint64_t ticks_per_second)
{
	struct fxt_cursor c = fxt_begin(out, capacity);

	fxt_require(&c, ticks_per_second != 0);
	fxt_put_word(&c, ticks_per_second);
	return fxt_finish(&c, fxt_record_type(FXT_RECORD_INITIALIZATION));
}

size_t fxt_encode_string(uint64_t *out, size_t capacity, uint16_t index, const char *text, size_t bytes)
{
	struct fxt_cursor c = fxt_begin(out, capacity);

	fxt_require(&c, index != 0 && index <= FXT_STRING_MAX_INDEX && bytes <= FXT_STRING_MAX_BYTES);
	fxt_put_stream(&c, text, bytes);
	return fxt_finish(&c, fxt_record_type(FXT_RECORD_STRING) | fxt_string_index(index) |
				      fxt_string_bytes(bytes));
}

size_t fxt_encode_thread(uint64_t *out, size_t capacity, uint8_t index, uint64_t process, uint64_t thread)
{
	struct fxt_cursor c = fxt_begin(out, capacity);

	fxt_require(&c, index != 0);
	fxt_put_word(&c, process);
	fxt_put_word(&c, thread);
	return fxt_finish(&c, fxt_record_type(FXT_RECORD_THREAD) | fxt_thread_index(index));
}

/* -- Event record ------------------------------------------------------------------------------ */

size_t fxt_encode_event(uint64_t *out, size_t capacity, enum fxt_event_type type, uint64_t ticks,
			struct fxt_thread_ref thread, struct fxt_string category, struct fxt_string name,
			struct fxt_args args, uint64_t extra)
{
	struct fxt_cursor c = fxt_begin(out, capacity);

	fxt_require(&c, (unsigned)type <= FXT_EVENT_FLOW_END);
	fxt_put_word(&c, ticks);
	fxt_put_thread(&c, thread);
	fxt_put_string(&c, category);
	fxt_put_string(&c, name);
	fxt_put_args(&c, args);
	if (fxt_event_has_extra(type))
		fxt_put_word(&c, extra);
	return fxt_finish(&c, fxt_record_type(FXT_RECORD_EVENT) | fxt_event_type(type) |
				      fxt_event_args(args.count) | fxt_event_thread(thread.index) |
				      fxt_event_category(fxt_string_ref_of(category)) |
				      fxt_event_name(fxt_string_ref_of(name)));
}

/* -- Blob record ------------------------------------------------------------------------------- */

/* These make sure that the payloads of blob and log records need no test of their own: a length that the
 * field cannot count does not fit in a record. */
static_assert((FXT_RECORD_MAX_WORDS - 1) * FXT_WORD_BYTES <= FXT_BLOB_MAX_BYTES,
	      "a blob's bytes fit their field");
static_assert((FXT_RECORD_MAX_WORDS - 2) * FXT_WORD_BYTES <= FXT_LOG_MAX_BYTES,
	      "a log's bytes fit their field");

size_t fxt_encode_blob(uint64_t *out, size_t capacity, enum fxt_blob_type type, struct fxt_string name,
		       const void *data, size_t bytes)
{
	struct fxt_cursor c = fxt_begin(out, capacity);

	fxt_require(&c, fxt_get_blob_type(fxt_blob_type(type)) == type);
	fxt_put_string(&c, name);
	fxt_put_stream(&c, data, bytes);
	return fxt_finish(&c, fxt_record_type(FXT_RECORD_BLOB) | fxt_blob_type(type) |
				      fxt_blob_name(fxt_string_ref_of(name)) | fxt_blob_bytes(bytes));
}

/* -- Userspace and kernel object records ------------------------------------------------------- */

static uint64_t object(enum fxt_record_type type, struct fxt_string name, struct fxt_args args)
{
	return fxt_record_type(type) | fxt_object_name(fxt_string_ref_of(name)) | fxt_object_args(args.count);
}

size_t fxt_encode_userspace_object(uint64_t *out, size_t capacity, uint64_t pointer,
				   struct fxt_thread_ref process, struct fxt_string name,
				   struct fxt_args args)
{
	struct fxt_cursor c = fxt_begin(out, capacity);

	fxt_put_word(&c, pointer);
	if (process.index == 0)
		fxt_put_word(&c, process.process);
	fxt_put_string(&c, name);
	fxt_put_args(&c, args);
	return fxt_finish(&c, object(FXT_RECORD_USERSPACE_OBJECT, name, args) |
				      fxt_object_process(process.index));
}

size_t fxt_encode_kernel_object(uint64_t *out, size_t capacity, enum fxt_kernel_object_type type,
				uint64_t koid, struct fxt_string name, struct fxt_args args)
{
	struct fxt_cursor c = fxt_begin(out, capacity);

	/* Any type of 8 bits is accepted, because the list is Zircon's and longer than the one in
	 * fxt_format.h. */
	fxt_require(&c, fxt_get_object_type(fxt_object_type(type)) == type);
	fxt_put_word(&c, koid);
	fxt_put_string(&c, name);
	fxt_put_args(&c, args);
	return fxt_finish(&c, object(FXT_RECORD_KERNEL_OBJECT, name, args) | fxt_object_type(type));
}

/* -- Context switch record and the newer scheduling records ------------------------------------ */

/* Implements the specification's "any of the values below except running". */
static bool may_switch_out(enum fxt_thread_state state)
{
	return (unsigned)state <= FXT_THREAD_DEAD && state != FXT_THREAD_RUNNING;
}

size_t fxt_encode_legacy_switch(uint64_t *out, size_t capacity, uint64_t ticks,
				const struct fxt_legacy_switch *s)
{
	struct fxt_cursor c = fxt_begin(out, capacity);

	fxt_require(&c, may_switch_out(s->outgoing_state));
	fxt_put_word(&c, ticks);
	fxt_put_thread(&c, s->outgoing);
	fxt_put_thread(&c, s->incoming);
	return fxt_finish(&c, fxt_record_type(FXT_RECORD_SCHEDULING) |
				      fxt_scheduling_type(FXT_SCHEDULING_LEGACY_SWITCH) |
				      fxt_legacy_switch_cpu(s->cpu) |
				      fxt_legacy_switch_state(s->outgoing_state) |
				      fxt_legacy_switch_outgoing(s->outgoing.index) |
				      fxt_legacy_switch_incoming(s->incoming.index) |
				      fxt_legacy_switch_outgoing_priority(s->outgoing_priority) |
				      fxt_legacy_switch_incoming_priority(s->incoming_priority));
}

static uint64_t scheduling(enum fxt_scheduling_type type, uint16_t cpu, struct fxt_args args)
{
	return fxt_record_type(FXT_RECORD_SCHEDULING) | fxt_scheduling_type(type) | fxt_scheduling_cpu(cpu) |
	       fxt_scheduling_args(args.count);
}

size_t fxt_encode_context_switch(uint64_t *out, size_t capacity, uint64_t ticks, uint16_t cpu,
				 enum fxt_thread_state outgoing_state, uint64_t outgoing, uint64_t incoming,
				 struct fxt_args args)
{
	struct fxt_cursor c = fxt_begin(out, capacity);

	fxt_require(&c, (unsigned)outgoing_state <= FXT_THREAD_DEAD);
	fxt_put_word(&c, ticks);
	fxt_put_word(&c, outgoing);
	fxt_put_word(&c, incoming);
	fxt_put_args(&c, args);
	return fxt_finish(&c, scheduling(FXT_SCHEDULING_SWITCH, cpu, args) |
				      fxt_scheduling_state(outgoing_state));
}

size_t fxt_encode_thread_wakeup(uint64_t *out, size_t capacity, uint64_t ticks, uint16_t cpu, uint64_t woken,
				struct fxt_args args)
{
	struct fxt_cursor c = fxt_begin(out, capacity);

	fxt_put_word(&c, ticks);
	fxt_put_word(&c, woken);
	fxt_put_args(&c, args);
	return fxt_finish(&c, scheduling(FXT_SCHEDULING_WAKEUP, cpu, args));
}

/* -- Log record -------------------------------------------------------------------------------- */

size_t fxt_encode_log(uint64_t *out, size_t capacity, uint64_t ticks, struct fxt_thread_ref thread,
		      const char *message, size_t bytes)
{
	struct fxt_cursor c = fxt_begin(out, capacity);

	fxt_put_word(&c, ticks);
	fxt_put_thread(&c, thread);
	fxt_put_stream(&c, message, bytes);
	return fxt_finish(&c, fxt_record_type(FXT_RECORD_LOG) | fxt_log_bytes(bytes) |
				      fxt_log_thread(thread.index));
}

/* -- Large BLOB record ------------------------------------------------------------------------- */

static uint64_t large_blob_names(struct fxt_string category, struct fxt_string name)
{
	return fxt_large_blob_category(fxt_string_ref_of(category)) |
	       fxt_large_blob_name(fxt_string_ref_of(name));
}

size_t fxt_encode_large_blob_event(uint64_t *out, size_t capacity, uint64_t ticks,
				   struct fxt_thread_ref thread, struct fxt_string category,
				   struct fxt_string name, struct fxt_args args, const void *data,
				   size_t bytes)
{
	struct fxt_cursor c = fxt_begin_large(out, capacity);

	fxt_put_word(&c, large_blob_names(category, name) | fxt_large_blob_args(args.count) |
				 fxt_large_blob_thread(thread.index));
	fxt_put_string(&c, category);
	fxt_put_string(&c, name);
	fxt_put_word(&c, ticks); /* comes after the names here, and before them in an event */
	fxt_put_thread(&c, thread);
	fxt_put_args(&c, args);
	fxt_put_word(&c, bytes);
	fxt_put_stream(&c, data, bytes);
	return fxt_finish_large(&c, fxt_large_blob_format(FXT_LARGE_BLOB_EVENT));
}

size_t fxt_encode_large_blob(uint64_t *out, size_t capacity, struct fxt_string category,
			     struct fxt_string name, const void *data, size_t bytes)
{
	struct fxt_cursor c = fxt_begin_large(out, capacity);

	fxt_put_word(&c, large_blob_names(category, name));
	fxt_put_string(&c, category);
	fxt_put_string(&c, name);
	fxt_put_word(&c, bytes);
	fxt_put_stream(&c, data, bytes);
	return fxt_finish_large(&c, fxt_large_blob_format(FXT_LARGE_BLOB_BARE));
}
