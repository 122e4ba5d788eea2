/* Decodes each type of record, field by field in the order of the specification. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>

#include "reader_internal.h"

static void reserved(struct fxt_decoder *d, uint64_t bits)
{
	if (bits && d->r->strict)
		fxt_fault(d, FXT_FAULT_RESERVED_BITS, d->rec->offset, "record type %d", (int)d->rec->type);
}

/* Examines the size of a record whose last member was read. Words may follow that member: the specification
 * allows "appending new information to existing record types", which readers skip. */
static void add_up(struct fxt_decoder *d)
{
	if (d->at > d->end)
		fxt_fault(d, FXT_FAULT_RECORD_SIZE, d->rec->offset,
			  "type %d: %" PRIu64 " bytes, and its members have %" PRIu64, (int)d->rec->type,
			  d->end - d->rec->offset, d->at - d->rec->offset);
	else if (d->at < d->end && d->r->strict)
		fxt_fault(d, FXT_FAULT_APPENDED, d->rec->offset, "type %d: %" PRIu64 " bytes over",
			  (int)d->rec->type, d->end - d->at);
}

static void read_metadata(struct fxt_decoder *d)
{
	struct fxt_record *rec = d->rec;
	struct fxt_reader *r = d->r;
	struct fxt_provider *p;

	rec->subtype = (unsigned)fxt_get_metadata_type(rec->header);
	rec->id = fxt_get_provider_id(rec->header);
	switch (rec->subtype) {
	case FXT_METADATA_PROVIDER_INFO:
		reserved(d, rec->header >> 60);
		rec->name = fxt_read_stream(d, fxt_get_provider_name_bytes(rec->header), true);
		add_up(d);
		p = fxt_provider_of(r, (uint32_t)rec->id);
		p->name = fxt_lasting_text(r, &rec->name);
		p->announced = true;
		r->provider = rec->provider = p;
		break;
	case FXT_METADATA_PROVIDER_SECTION:
		reserved(d, rec->header >> 52);
		p = fxt_provider_of(r, (uint32_t)rec->id);
		if (!p->announced)
			fxt_fault(d, FXT_FAULT_SECTION_WITHOUT_INFO, rec->offset, "provider %" PRIu64,
				  rec->id);
		p->announced = true;    /* so that the fault is reported once */
		r->provider = rec->provider = p;
		break;
	case FXT_METADATA_PROVIDER_EVENT:
		reserved(d, rec->header >> 56);
		rec->extra = fxt_get_provider_event(rec->header);
		break;
	case FXT_METADATA_TRACE_INFO:
		if (fxt_get_trace_info_type(rec->header) == FXT_TRACE_INFO_MAGIC &&
		    rec->header != FXT_MAGIC_RECORD)
			fxt_fault(d, FXT_FAULT_BAD_MAGIC_RECORD, rec->offset, "%#" PRIx64, rec->header);
		break;
	default:
		rec->known = false;
	}
}

static void read_initialization(struct fxt_decoder *d)
{
	reserved(d, d->rec->header >> 16);
	d->rec->id = fxt_next_word(d);
	add_up(d);
	if (d->rec->id == 0)
		fxt_fault(d, FXT_FAULT_ZERO_TICKS, d->rec->offset, "%s", "");
	else
		d->r->provider->ticks_per_second = d->rec->id;
}

static void read_string_record(struct fxt_decoder *d)
{
	struct fxt_record *rec = d->rec;

	reserved(d, rec->header >> 31 & 1);
	reserved(d, rec->header >> 47);
	if (fxt_get_string_bytes(rec->header) > FXT_STRING_MAX_BYTES)
		fxt_fault(d, FXT_FAULT_STRING_TOO_LONG, rec->offset, "%" PRIu64,
			  fxt_get_string_bytes(rec->header));
	rec->id = fxt_get_string_index(rec->header);
	rec->name = fxt_read_stream(d, fxt_get_string_bytes(rec->header), true);
	add_up(d);
	if (rec->id == 0)
		fxt_fault(d, FXT_FAULT_STRING_INDEX_0, rec->offset, "%s", "");
	else
		fxt_register_string(d->r, d->r->provider, (unsigned)rec->id, rec->name, rec->offset);
}

static void read_thread_record(struct fxt_decoder *d)
{
	struct fxt_record *rec = d->rec;
	uint64_t pid, tid;

	reserved(d, rec->header >> 24);
	rec->id = fxt_get_thread_index(rec->header);
	pid = fxt_next_word(d);
	tid = fxt_next_word(d);
	add_up(d);
	rec->thread = fxt_thread_of(d->r, pid, tid);
	if (rec->id == 0)
		fxt_fault(d, FXT_FAULT_THREAD_INDEX_0, rec->offset, "%s", "");
	else
		fxt_register_thread(d->r->provider, (unsigned)rec->id, rec->thread, rec->offset);
}

static void check_counter(struct fxt_decoder *d)
{
	for (unsigned i = 0; i < d->rec->arg_count; i++) {
		const struct fxt_argument *a = &d->rec->args[i];

		if (a->type == FXT_ARG_NULL || a->type > FXT_ARG_DOUBLE)
			fxt_fault(d, FXT_FAULT_COUNTER_NOT_NUMBER, d->rec->offset, "%.*s", (int)a->name.bytes,
				  a->name.text);
	}
}

/* Returns whether only zeros are left. */
static bool only_zeros_left(const struct fxt_decoder *d)
{
	for (uint64_t at = d->at; at < d->end; at += FXT_WORD_BYTES) {
		if (fxt_word(d->r, at))
			return false;
	}
	return d->at < d->end;
}

void fxt_read_event(struct fxt_decoder *d)
{
	struct fxt_record *rec = d->rec;

	rec->subtype = (unsigned)fxt_get_event_type(rec->header);
	if (rec->subtype > FXT_EVENT_FLOW_END) {
		rec->known = false;
		return;
	}
	rec->timed = true;
	rec->ticks = fxt_next_word(d);
	rec->thread = fxt_read_thread(d, fxt_get_event_thread(rec->header));
	rec->category = fxt_read_string(d, fxt_get_event_category(rec->header));
	rec->name = fxt_read_string(d, fxt_get_event_name(rec->header));
	fxt_read_arguments(d, (unsigned)fxt_get_event_args(rec->header));
	if (fxt_event_has_extra((enum fxt_event_type)rec->subtype)) {
		if (d->at > d->end || d->end - d->at < FXT_WORD_BYTES) {
			fxt_fault(d, FXT_FAULT_NO_TRAILING_WORD, rec->offset, "event type %u", rec->subtype);
		} else {
			rec->extra = fxt_next_word(d);
			rec->has_extra = true;
		}
	}
	rec->appended_zeros = only_zeros_left(d);
	if (!rec->appended_zeros)
		add_up(d);
	if (rec->subtype == FXT_EVENT_COUNTER && d->r->strict)
		check_counter(d);
	if (rec->subtype == FXT_EVENT_DURATION_COMPLETE && rec->has_extra && rec->extra < rec->ticks)
		fxt_fault(d, FXT_FAULT_COMPLETE_BACKWARDS, rec->offset, "%.*s", (int)rec->name.bytes,
			  rec->name.text);
}

static void read_blob(struct fxt_decoder *d)
{
	struct fxt_record *rec = d->rec;

	reserved(d, (rec->header >> 47 & 1) | rec->header >> 56);
	rec->subtype = (unsigned)fxt_get_blob_type(rec->header);
	rec->blob_bytes = fxt_get_blob_bytes(rec->header);
	rec->name = fxt_read_string(d, fxt_get_blob_name(rec->header));
	rec->blob = (const unsigned char *)fxt_read_stream(d, rec->blob_bytes, false).text;
	add_up(d);
}

static void read_userspace_object(struct fxt_decoder *d)
{
	struct fxt_record *rec = d->rec;
	uint64_t process = fxt_get_object_process(rec->header);

	reserved(d, rec->header >> 44);
	rec->id = fxt_next_word(d);
	/* Unlike in other records, an inline reference has only the process's id here. */
	rec->thread = process ? fxt_read_thread(d, process) : fxt_thread_of(d->r, fxt_next_word(d), 0);
	rec->name = fxt_read_string(d, fxt_get_object_name(rec->header));
	fxt_read_arguments(d, (unsigned)fxt_get_object_args(rec->header));
	add_up(d);
}

static void read_kernel_object(struct fxt_decoder *d)
{
	struct fxt_record *rec = d->rec;
	uint64_t pid, tid;

	reserved(d, rec->header >> 44);
	rec->subtype = (unsigned)fxt_get_object_type(rec->header);
	rec->id = fxt_next_word(d);
	rec->name = fxt_read_string(d, fxt_get_object_name(rec->header));
	fxt_read_arguments(d, (unsigned)fxt_get_object_args(rec->header));
	add_up(d);
	if (rec->damaged)
		return;
	if (rec->subtype == FXT_OBJECT_PROCESS || rec->subtype == FXT_OBJECT_THREAD)
		fxt_note_again(d->r, rec);
	if (rec->subtype == FXT_OBJECT_PROCESS) {
		fxt_name_process(d->r, rec->id, rec->name);
	} else if (rec->subtype == FXT_OBJECT_THREAD &&
		   !fxt_argument_u64(fxt_argument(rec, "process"), &pid)) {
		fxt_name_thread(d->r, rec->id, rec->name);
	} else if (rec->subtype == FXT_OBJECT_THREAD) {
		rec->thread = fxt_thread_of(d->r, pid, rec->id);
		d->r->threads[rec->thread].name = fxt_lasting_text(d->r, &rec->name);
		d->r->threads[rec->thread].is_track = fxt_argument_u64(fxt_argument(rec, "thread"), &tid);
	}
}

/* Examines the state in which a thread leaves a processor. Only the switches that others have added to the
 * format, subtype 1, use `running`, for a thread that was preempted. */
static void may_leave(struct fxt_decoder *d, unsigned state, bool may_run)
{
	if (state > FXT_THREAD_DEAD || (state == FXT_THREAD_RUNNING && !may_run))
		fxt_fault(d, FXT_FAULT_THREAD_STATE, d->rec->offset, "%u", state);
}

static void read_scheduling(struct fxt_decoder *d)
{
	struct fxt_record *rec = d->rec;

	rec->subtype = (unsigned)fxt_get_scheduling_type(rec->header);
	rec->timed = true;
	rec->ticks = fxt_next_word(d);
	rec->cpu = (unsigned)fxt_get_scheduling_cpu(rec->header);
	rec->state = (unsigned)fxt_get_scheduling_state(rec->header);
	switch (rec->subtype) {
	case FXT_SCHEDULING_LEGACY_SWITCH:
		rec->cpu = (unsigned)fxt_get_legacy_switch_cpu(rec->header);
		rec->state = (unsigned)fxt_get_legacy_switch_state(rec->header);
		may_leave(d, rec->state, false);
		rec->thread = fxt_read_thread(d, fxt_get_legacy_switch_outgoing(rec->header));
		rec->incoming = fxt_read_thread(d, fxt_get_legacy_switch_incoming(rec->header));
		if (rec->damaged)
			return;
		rec->id = d->r->threads[rec->thread].tid;
		rec->extra = d->r->threads[rec->incoming].tid;
		break;
	case FXT_SCHEDULING_SWITCH:
		rec->id = fxt_next_word(d);             /* outgoing tid */
		rec->extra = fxt_next_word(d);          /* incoming tid */
		may_leave(d, rec->state, true);
		fxt_read_arguments(d, (unsigned)fxt_get_scheduling_args(rec->header));
		break;
	case FXT_SCHEDULING_WAKEUP:
		rec->id = fxt_next_word(d);             /* woken tid */
		fxt_read_arguments(d, (unsigned)fxt_get_scheduling_args(rec->header));
		break;
	default:
		rec->known = false;
		return;
	}
	add_up(d);
}

static void read_log(struct fxt_decoder *d)
{
	struct fxt_record *rec = d->rec;

	reserved(d, (rec->header >> 31 & 1) | rec->header >> 40);
	rec->timed = true;
	rec->ticks = fxt_next_word(d);
	rec->thread = fxt_read_thread(d, fxt_get_log_thread(rec->header));
	rec->name = fxt_read_stream(d, fxt_get_log_bytes(rec->header), true);
	add_up(d);
}

static void read_large(struct fxt_decoder *d)
{
	struct fxt_record *rec = d->rec;
	uint64_t format = fxt_get_large_blob_format(rec->header);
	uint64_t fields;

	rec->subtype = (unsigned)fxt_get_large_type(rec->header);
	if (rec->subtype == 0)
		reserved(d, rec->header >> 44);
	if (rec->subtype != 0 || format > FXT_LARGE_BLOB_BARE) {
		rec->known = false;
		return;
	}
	fields = fxt_next_word(d);
	reserved(d, fields >> (format == FXT_LARGE_BLOB_EVENT ? 44 : 32));
	rec->category = fxt_read_string(d, fxt_get_large_blob_category(fields));
	rec->name = fxt_read_string(d, fxt_get_large_blob_name(fields));
	if (format == FXT_LARGE_BLOB_EVENT) {
		rec->timed = true;
		rec->ticks = fxt_next_word(d);
		rec->thread = fxt_read_thread(d, fxt_get_large_blob_thread(fields));
		fxt_read_arguments(d, (unsigned)fxt_get_large_blob_args(fields));
	}
	rec->blob_bytes = fxt_next_word(d);
	rec->blob = (const unsigned char *)fxt_read_stream(d, rec->blob_bytes, false).text;
	add_up(d);
}

/* An event is read by fxt_read_event(). */
void fxt_read_record(struct fxt_decoder *d)
{
	switch (d->rec->type) {
	case FXT_RECORD_METADATA: read_metadata(d); break;
	case FXT_RECORD_INITIALIZATION: read_initialization(d); break;
	case FXT_RECORD_STRING: read_string_record(d); break;
	case FXT_RECORD_THREAD: read_thread_record(d); break;
	case FXT_RECORD_BLOB: read_blob(d); break;
	case FXT_RECORD_USERSPACE_OBJECT: read_userspace_object(d); break;
	case FXT_RECORD_KERNEL_OBJECT: read_kernel_object(d); break;
	case FXT_RECORD_SCHEDULING: read_scheduling(d); break;
	case FXT_RECORD_LOG: read_log(d); break;
	case FXT_RECORD_LARGE: read_large(d); break;
	default: d->rec->known = false;
	}
}
