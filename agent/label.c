/* See label.h. A small table that forgets: one that is forgotten is looked up again, and told again. */
#include "label.h"

#include <string.h>

#include "function.h"
#include "stack.h"
#include "writer/fxt_encode.h"

enum { LABELS = 256, LABEL_MAX_BYTES = 100 };

static struct label {
	_Atomic uintptr_t object;       /* 0: changing */
	const char *_Atomic name;       /* NULL: it has none */
	_Atomic size_t bytes;
} labels[LABELS];

static void tell(uintptr_t object, const char *name, size_t bytes)
{
	uint64_t record[3 + 2 + LABEL_MAX_BYTES / FXT_WORD_BYTES];
	size_t words = fxt_encode_userspace_object(record, sizeof(record) / sizeof(*record), object,
						   (struct fxt_thread_ref){0, fxt_agent.pid, 0}, FXT_INLINE(name, bytes),
						   (struct fxt_args){0});

	if (words)
		fxt_buffer_durable(&fxt_agent.buffer, record, words, 0);
}

size_t fxt_label(uintptr_t object, uintptr_t place, const char **name)
{
	struct label *label = &labels[(uint64_t)object * UINT64_C(0x9e3779b97f4a7c15) >> 56];
	size_t bytes = 0;

	if (atomic_load_explicit(&label->object, memory_order_acquire) == object) {
		*name = atomic_load_explicit(&label->name, memory_order_relaxed);
		bytes = atomic_load_explicit(&label->bytes, memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&label->object, memory_order_relaxed) == object)
			return bytes;
	}
	bytes = 0;
	if (fxt_stack_is_short())
		return 0;
	*name = place ? fxt_function_object_name(object, place - 1, &bytes) : NULL;
	if (!*name)
		bytes = 0;
	else if (bytes > LABEL_MAX_BYTES)
		bytes = LABEL_MAX_BYTES;
	atomic_store_explicit(&label->object, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&label->name, *name, memory_order_relaxed);
	atomic_store_explicit(&label->bytes, bytes, memory_order_relaxed);
	atomic_store_explicit(&label->object, object, memory_order_release);
	if (bytes)
		tell(object, *name, bytes);
	return bytes;
}

void fxt_labels_after_fork(void)
{
	unsigned i;

	for (i = 0; i < LABELS; i++)
		if (atomic_load(&labels[i].object))
			atomic_store(&labels[i].object, 0);
}
