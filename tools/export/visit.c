/* Reads a trace once and tells a visitor of each thing in it. See visit.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "visit.h"

#include "tools/reading/mapped_trace.h"

enum { STEP_BYTES = 4 << 20 };

static fxt_visit_function *of_event(const struct fxt_visitor *visitor, unsigned subtype)
{
	switch (subtype) {
	case FXT_EVENT_DURATION_COMPLETE:
		return visitor->call;
	case FXT_EVENT_DURATION_BEGIN:
		return visitor->call_begin;
	case FXT_EVENT_DURATION_END:
		return visitor->call_end;
	default:
		return visitor->moment;
	}
}

static fxt_visit_function *of_kernel_object(const struct fxt_visitor *visitor, unsigned subtype)
{
	return subtype == FXT_OBJECT_PROCESS  ? visitor->process
	       : subtype == FXT_OBJECT_THREAD ? visitor->thread
					      : visitor->other_object;
}

static fxt_visit_function *of_metadata(const struct fxt_visitor *visitor, unsigned subtype)
{
	return subtype == FXT_METADATA_PROVIDER_INFO	? visitor->provider
	       : subtype == FXT_METADATA_PROVIDER_EVENT ? visitor->provider_event
							: NULL;
}

/* Returns the function for the record; NULL: nobody is told of it. */
static fxt_visit_function *function_of(const struct fxt_visitor *visitor, const struct fxt_record *rec)
{
	switch (rec->type) {
	case FXT_RECORD_EVENT:
		return of_event(visitor, rec->subtype);
	case FXT_RECORD_SCHEDULING:
		return rec->subtype == FXT_SCHEDULING_WAKEUP ? visitor->wakeup : visitor->context_switch;
	case FXT_RECORD_LOG:
		return visitor->log;
	case FXT_RECORD_BLOB:
	case FXT_RECORD_LARGE:
		return visitor->blob;
	case FXT_RECORD_USERSPACE_OBJECT:
		return visitor->object;
	case FXT_RECORD_KERNEL_OBJECT:
		return of_kernel_object(visitor, rec->subtype);
	case FXT_RECORD_INITIALIZATION:
		return visitor->initialization;
	case FXT_RECORD_METADATA:
		return of_metadata(visitor, rec->subtype);
	default:
		return NULL;
	}
}

/* Sets what the kernel's part has: the threads of its process are the processors, counted downwards. */
static void set_processor(struct fxt_visit *v)
{
	uint64_t processor = v->reader->threads[v->rec->thread].tid;

	v->is_kernels = true;
	v->cpu = processor < FXT_KERNEL_PROVIDER_ID ? (unsigned)(FXT_KERNEL_PROVIDER_ID - 1 - processor) : 0;
}

static void tell(const struct fxt_visitor *visitor, struct fxt_reader *r, const struct fxt_record *rec)
{
	fxt_visit_function *function = function_of(visitor, rec);
	struct fxt_visit v = {.reader = r, .rec = rec};

	if (!function)
		return;
	if (rec->timed) {
		v.at_ns = fxt_ns(rec->provider, rec->ticks);
		v.end_ns = fxt_ns(rec->provider, fxt_commit_ticks(rec));
	}
	if (rec->type == FXT_RECORD_EVENT && fxt_provider_is_kernel(rec->provider))
		set_processor(&v);
	if (rec->type == FXT_RECORD_SCHEDULING) {
		v.is_kernels = true;
		v.cpu = rec->cpu;
	}
	function(visitor->context, &v);
}

bool fxt_visit(struct fxt_reader *r, const struct fxt_visitor *visitor)
{
	struct fxt_record rec;
	uint64_t told = 0;

	while (fxt_reader_next(r, &rec)) {
		if (rec.damaged)
			return false;
		if (rec.known)
			tell(visitor, r, &rec);
		if (r->at - told < STEP_BYTES)
			continue;
		/* So that memory does not grow with what was read. */
		fxt_trace_drop(r->data + told, r->data + r->at);
		told = r->at;
		if (visitor->progress)
			visitor->progress(visitor->context, r->at, r->size);
	}
	return r->stop == FXT_STOP_END;
}
