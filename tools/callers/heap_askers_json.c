/* Prints the heap by call stacks as JSON. See heap_askers.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "heap_askers.h"
#include "tools/printing/json.h"

static void put_sum(struct fxt_json *j, const char *key, const struct fxt_heap_sum *sum)
{
	fxt_json_object(j, key);
	fxt_json_u64(j, "bytes", sum->bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)sum->bytes);
	fxt_json_u64(j, "blocks", sum->blocks);
	fxt_json_end(j);
}

void fxt_heap_askers_json(const struct fxt_heap_stacks *h, struct fxt_who *who, struct fxt_json *j)
{
	enum { MOST = 1000 };           /* a stack takes many lines, and others are worth little */
	struct fxt_heap_askers a;

	fxt_heap_askers_make(&a, h, who, false, FXT_SORT_SELF);
	fxt_json_array(j, "heap_stacks");
	for (size_t i = 0; i < a.count && i < MOST; i++) {
		const struct fxt_heap_asker *one = &a.list[i];
		const struct fxt_heap_process *p = &h->processes[one->process];

		struct fxt_handle handle = fxt_who_handle(who, FXT_FOR_HEAP, one->innermost);

		fxt_json_object(j, NULL);
		fxt_json_string(j, "handle", *handle.text ? handle.text : NULL);
		fxt_json_u64(j, "pid", fxt_number(who->r, p->pid));
		fxt_json_text(j, "program", &p->provider->name);
		fxt_json_string(j, "kind", one->is_mapping ? "mapping" : "block");
		fxt_json_bool(j, "estimate", one->is_estimate);
		fxt_json_u64(j, "bytes_a_sample", p->bytes_a_sample);
		fxt_json_bool(j, "library", one->is_of_library);
		put_sum(j, "unfreed", &one->left);
		put_sum(j, "at_peak", &one->at_peak);
		fxt_json_u64(j, "peak_ns", p->peak_ns);
		put_sum(j, "in_all", &one->all);
		fxt_who_json(who, j, "stack", FXT_FOR_HEAP, one->innermost);
		fxt_json_end(j);
	}
	fxt_json_end(j);
	fxt_heap_askers_free(&a);
}
