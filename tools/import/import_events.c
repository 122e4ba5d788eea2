/* See import_events.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_BABELTRACE2

#include "import_events.h"

#include "import_losses.h"
#include "import_lttng.h"
#include "import_modules.h"
#include "import_own.h"
#include "tools/common/message.h"

/* -- Time ------------------------------------------------------------------------------------------ */

/* Takes the clock of a stream. All times are counted from the earliest offset of a clock. */
static void take_clock(struct fxt_import_events *e, const bt_stream *stream)
{
	const bt_clock_class *clock =
		bt_stream_class_borrow_default_clock_class_const(bt_stream_borrow_class_const(stream));
	int64_t seconds, ns;
	uint64_t cycles;

	if (!clock || e->has_begun)
		return;
	bt_clock_class_get_offset(clock, &seconds, &cycles);
	if (__builtin_mul_overflow(seconds, INT64_C(1000000000), &ns) ||
	    __builtin_add_overflow(
		    ns,
		    (int64_t)((unsigned __int128)cycles * 1000000000 / bt_clock_class_get_frequency(clock)),
		    &ns))
		return;
	if (!e->is_offset_known || ns < e->offset_ns)
		e->offset_ns = ns;
	e->is_offset_known = true;
	e->is_epoch = bt_clock_class_origin_is_unix_epoch(clock);
}

/* Sets *ns to the time in the trace that is made. Returns false if it has none there. */
static bool time_of(const struct fxt_import_events *e, const bt_clock_snapshot *snapshot, uint64_t *ns)
{
	int64_t from_origin;

	if (!snapshot || bt_clock_snapshot_get_ns_from_origin(snapshot, &from_origin) !=
				 BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK)
		return false;
	*ns = from_origin > e->offset_ns ? (uint64_t)from_origin - (uint64_t)e->offset_ns : 0;
	return true;
}

static void begin(struct fxt_import_events *e, uint64_t ns)
{
	if (e->has_begun)
		return;
	e->has_begun = true;
	fxt_import_out_begin(&e->out, e->file, ns, e->is_epoch ? ns + (uint64_t)e->offset_ns : 0);
}

/* -- Events ---------------------------------------------------------------------------------------- */

static char *take_event(struct fxt_import_events *e, const bt_message *message)
{
	const bt_event *event = bt_message_event_borrow_event_const(message);
	uint64_t ns;

	if (!bt_message_event_borrow_stream_class_default_clock_class_const(message) ||
	    !time_of(e, bt_message_event_borrow_default_clock_snapshot_const(message), &ns))
		return fxt_strdup("its events have no times");
	begin(e, ns);
	if (e->is_unsure && ns > e->unsure_until_ns) {
		fxt_import_locks_forget(&e->locks);
		e->is_unsure = false;
	}
	if (fxt_import_is_own(e, bt_stream_borrow_trace_const(bt_event_borrow_stream_const(event))))
		fxt_import_own_take(e, event, ns);
	else
		fxt_import_lttng_take(e, event, ns);
	return fxt_import_out_wrong(&e->out);
}

/* -- Losses ---------------------------------------------------------------------------------------- */

/* Returns how much more a stream has lost than it ever said. Its packets have the sum so far, which the
 * library subtracts from the one before; but LTTng writes some packets whose sum is less. */
static uint64_t more_lost(struct fxt_import_events *e, const bt_stream *stream, uint64_t difference)
{
	bool fresh;
	struct fxt_slot *s = fxt_map_put(&e->lost, (uintptr_t)stream, 0, &fresh);
	uint64_t most = s->value[1];

	s->value[0] += difference;
	if ((int64_t)(s->value[0] - most) <= 0)
		return 0;
	s->value[1] = s->value[0];
	return s->value[1] - most;
}

static void take_loss(struct fxt_import_events *e, const bt_stream *stream, const bt_clock_snapshot *from,
		      const bt_clock_snapshot *to, bool is_counted, uint64_t count)
{
	struct fxt_import_loss loss = {.is_counted = is_counted};

	if (is_counted)
		loss.count = more_lost(e, stream, count);
	if ((is_counted && !loss.count) || !time_of(e, from, &loss.from_ns) || !time_of(e, to, &loss.to_ns))
		return;
	begin(e, loss.from_ns);
	fxt_import_locks_forget(&e->locks);
	e->is_unsure = true;
	if (loss.to_ns > e->unsure_until_ns)
		e->unsure_until_ns = loss.to_ns;
	fxt_import_lost(&e->out, bt_stream_borrow_trace_const(stream), &loss);
}

static void take_discarded_events(struct fxt_import_events *e, const bt_message *m)
{
	const bt_stream *stream = bt_message_discarded_events_borrow_stream_const(m);
	uint64_t count = 0;
	bool is_counted =
		bt_message_discarded_events_get_count(m, &count) == BT_PROPERTY_AVAILABILITY_AVAILABLE;

	/* A trace of ours tells its losses itself. */
	if (fxt_import_is_own(e, bt_stream_borrow_trace_const(stream)))
		return;
	if (bt_stream_class_discarded_events_have_default_clock_snapshots(
		    bt_stream_borrow_class_const(stream)))
		take_loss(e, stream,
			  bt_message_discarded_events_borrow_beginning_default_clock_snapshot_const(m),
			  bt_message_discarded_events_borrow_end_default_clock_snapshot_const(m), is_counted,
			  count);
}

static void take_discarded_packets(struct fxt_import_events *e, const bt_message *m)
{
	const bt_stream *stream = bt_message_discarded_packets_borrow_stream_const(m);

	/* Nobody knows how many events were in them. */
	if (bt_stream_class_discarded_packets_have_default_clock_snapshots(
		    bt_stream_borrow_class_const(stream)))
		take_loss(e, stream,
			  bt_message_discarded_packets_borrow_beginning_default_clock_snapshot_const(m),
			  bt_message_discarded_packets_borrow_end_default_clock_snapshot_const(m), false, 0);
}

/* -- Messages -------------------------------------------------------------------------------------- */

char *fxt_import_events_take(void *context, const bt_message *message)
{
	struct fxt_import_events *e = context;

	switch (bt_message_get_type(message)) {
	case BT_MESSAGE_TYPE_STREAM_BEGINNING:
		take_clock(e, bt_message_stream_beginning_borrow_stream_const(message));
		break;
	case BT_MESSAGE_TYPE_EVENT:
		return take_event(e, message);
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		take_discarded_events(e, message);
		break;
	case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
		take_discarded_packets(e, message);
		break;
	default:
		break;
	}
	return NULL;
}

void fxt_import_events_end(struct fxt_import_events *e)
{
	begin(e, 0);
	fxt_import_own_end(e);
	fxt_import_still_open(&e->out, &e->locks);
}

void fxt_import_events_free(struct fxt_import_events *e)
{
	fxt_import_lttng_free(e);
	fxt_import_own_free(e);
	fxt_map_free(&e->lost);
	fxt_import_fields_free(&e->fields);
	fxt_import_locks_free(&e->locks);
	fxt_import_out_end(&e->out);
	fxt_import_modules_end();
}

#endif
