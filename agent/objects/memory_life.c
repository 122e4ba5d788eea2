/* See memory_life.h. Called by blocks.c and mappings.c, with none of their locks. */
#include "memory_life.h"

#include "agent/arrows/wait.h"
#include "agent/arrows/async.h"
#include "agent/emit/call_stack.h"
#include "agent/emit/emit.h"
#include "agent/emit/function.h"

/* Together with the label, a begin has no more words than async.c can move. */
enum { FUNCTION_MAX_BYTES = 168 };

static uint64_t names_of(uint64_t name)
{
	return fxt_names_of(FXT_STR_CATEGORIES + FXT_BIT_malloc, name);
}

bool fxt_memory_life_begin(struct fxt_thread *thread, struct fxt_memory_life *life,
			   const struct fxt_memory *memory)
{
	const char *function;
	unsigned arguments = 3;
	size_t text;
	uint64_t *at;

	function = fxt_label_place(thread, memory->stands_for ? 0 : memory->place, &text);
	if (text > FUNCTION_MAX_BYTES)
		text = FUNCTION_MAX_BYTES;
	life->id = fxt_flow_id();
	at = fxt_reserve_extra(thread, life->begin_ns,
			       2 + 2 + 2 + fxt_words_of(text) + fxt_label_words(&memory->label) +
			       FXT_ASYNC_OWNER_WORDS + FXT_STACK_WORDS + 2 + 1);
	if (!at)
		return false;
	at = fxt_put_pointer(at, FXT_STR_ptr, (const void *)memory->address);
	at = fxt_put_uint(at, FXT_STR_size, memory->bytes);
	if (text) {
		at = fxt_put_text(at, FXT_STR_function, function, text);
		arguments++;
	}
	if (memory->label.text) {
		at = fxt_put_label(at, &memory->label);
		arguments++;
	}
	if (memory->stands_for) {
		at = fxt_put_uint(at, FXT_STR_stands_for, memory->stands_for);
		arguments++;
	}
	at = fxt_put_stack(at, FXT_STR_stack, memory->stack);
	arguments += memory->stack != 0;
	at = fxt_async_put_owner(thread, at);
	fxt_async_commit_begin(thread, at, life->id, names_of(memory->name), arguments);
	fxt_call_stack_tell(thread, memory->stack);
	return true;
}

void fxt_memory_life_end(struct fxt_thread *thread, struct fxt_memory_life life, uint64_t name,
			 const struct fxt_label *label, uint32_t stack, uint64_t end_ns)
{
	uint64_t *at;

	if (!fxt_flow_id_is_own(life.id))
		return;
	if (end_ns <= life.begin_ns)
		end_ns = life.begin_ns + 1;
	at = fxt_async_reserve_end(thread, end_ns, fxt_label_words(label) + FXT_STACK_WORDS, life.id);
	if (!at)
		return;
	if (label->text)
		at = fxt_put_label(at, label);
	at = fxt_put_stack(at, FXT_STR_stack, stack);
	fxt_async_commit_end(thread, at, life.id, names_of(name), (label->text != NULL) + (stack != 0));
	fxt_call_stack_tell(thread, stack);
}
