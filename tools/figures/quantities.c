/* The table of quantities. docs/trace-limits.md has the same table, and tests/check_limits.c compares the
 * two. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "figures.h"

#define ROW(name, unit, of, needs_of, has_by, find, says) \
	{name, FXT_UNIT_##unit, FXT_OF_##of, needs_of, has_by, fxt_find_figure_##find, 0, says}
#define PERCENTILE(name, percent) \
	{name, FXT_UNIT_NS, FXT_OF_CALL, true, true, fxt_find_figure_percentile, percent, \
	 "the time that " #percent " % of such calls did not exceed, within 1.6 %"}

const struct fxt_quantity fxt_quantities[] = {
	ROW("duration", NS, NOTHING, false, false, duration, "from the first event to the last"),
	ROW("cpu", NS, FUNCTION, false, false, cpu,
	    "for how long threads had a processor, as the kernel tells; of a function, what its samples "
	    "stand for"),
	ROW("processes", NUMBER, NOTHING, false, false, processes, "processes that were traced"),
	ROW("threads", NUMBER, NOTHING, false, false, threads, "their threads"),
	ROW("lost", NUMBER, NOTHING, false, false, lost,
	    "records that were dropped or overwritten, or cannot be read"),
	ROW("findings", NUMBER, RULE, false, false, findings,
	    "faults that the report begins with, but no notes; of a rule, all that it finds"),
	ROW("leaks", NUMBER, NOTHING, false, false, leaks, "heap blocks that were never freed"),
	ROW("heap.peak", BYTES, NOTHING, false, false, heap_peak,
	    "the most that one process had in use at a time"),
	ROW("heap.left", BYTES, NOTHING, false, true, heap_left, "what was never freed"),
	ROW("heap.allocated", BYTES, NOTHING, false, true, heap_allocated, "all that was asked for"),
	ROW("descriptors", NUMBER, NOTHING, false, false, descriptors,
	    "descriptors that were open when their process ended"),
	ROW("failures", NUMBER, CALL, false, false, failures, "calls that failed"),
	ROW("waits", NS, LOCK, false, false, waits,
	    "for how long threads waited for locks, conditions, threads and their like"),
	ROW("waits.count", NUMBER, LOCK, false, false, wait_count, "how often they did"),
	ROW("waits.max", NS, LOCK, false, false, wait_longest, "the longest such wait"),
	ROW("bytes.read", BYTES, FILE, false, false, bytes_read,
	    "what was read from files, sockets and pipes"),
	ROW("bytes.written", BYTES, FILE, false, false, bytes_written, "what was written to them"),
	ROW("count", NUMBER, CALL, true, true, count, "how often the call was made"),
	ROW("total", NS, CALL, true, true, total, "for how long it took in all"),
	ROW("max", NS, CALL, true, true, longest,
	    "the longest one; one that has not returned counts with the time until the trace ends"),
	PERCENTILE("p50", 50),
	PERCENTILE("p90", 90),
	PERCENTILE("p99", 99),
	PERCENTILE("p999", 99.9),
	{.name = NULL},
};
