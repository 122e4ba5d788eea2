/* Keeps durations of calls by their stacks. See stack_durations.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "stack_durations.h"

#include <stdlib.h>

#include "tools/common/message.h"

void fxt_stack_durations_add(struct fxt_stack_durations *s, uint32_t category, uint32_t name,
			     uint32_t innermost, uint64_t ns)
{
	bool fresh;
	struct fxt_slot *slot = fxt_map_put(&s->places, (uint64_t)category << 32 | name, innermost, &fresh);
	struct fxt_stack_duration *one;

	if (fresh) {
		slot->value[0] = s->count;
		s->list = fxt_grow(s->list, &s->capacity, s->count + 1, sizeof(*s->list));
		s->list[s->count++] = (struct fxt_stack_duration){
			.category = category, .name = name, .innermost = innermost};
	}
	one = &s->list[slot->value[0]];
	one->total_ns += ns;
	one->max_ns = ns > one->max_ns ? ns : one->max_ns;
	fxt_histogram_add(&one->durations, ns);
}

void fxt_stack_durations_free(struct fxt_stack_durations *s)
{
	for (size_t i = 0; i < s->count; i++)
		fxt_histogram_free(&s->list[i].durations);
	free(s->list);
	fxt_map_free(&s->places);
	*s = (struct fxt_stack_durations){0};
}
