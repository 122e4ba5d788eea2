/* What a database has of the report: findings, and the tables that need more than one record at a time. Their
 * figures are those of fxt report, because they are the same. See sql.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_SQLITE

#include <stdlib.h>
#include <sys/stat.h>

#include "sql.h"
#include "tools/findings/rules.h"

/* The row of a node, or 0. Rows are places of nodes plus 1. */
static int64_t row_of(const struct fxt_report *report, uint32_t node)
{
	return node < report->who->stacks.count ? (int64_t)node + 1 : 0;
}

static void bind_node(sqlite3_stmt *s, int *at, const struct fxt_report *report, uint32_t node)
{
	if (row_of(report, node))
		fxt_sql_bind_i64(s, at, row_of(report, node));
	else
		fxt_sql_bind_null(s, at);
}

static void put_node(struct fxt_sql *q, const struct fxt_report *report, uint32_t node)
{
	enum { COLUMNS = 400 };
	const struct fxt_call_frame *f = &report->who->stacks.frames[node];
	sqlite3_stmt *s = fxt_sql_begin(q, FXT_SQL_STACK);
	struct fxt_who_function one;
	size_t known = fxt_who_functions(report->who, FXT_FOR_CALL, node, true, &one, 1);
	char *culprit = fxt_who_culprit(report->who, FXT_FOR_CALL, node, COLUMNS);
	int at = 0;

	fxt_sql_bind_i64(s, &at, row_of(report, node));
	bind_node(s, &at, report, f->parent);
	fxt_sql_bind_string(s, &at, known ? one.name : NULL);
	fxt_sql_bind_string(s, &at, known && one.line ? one.file : NULL);
	if (known && one.line)
		fxt_sql_bind_i64(s, &at, one.line);
	else
		fxt_sql_bind_null(s, &at);
	fxt_sql_bind_symbol(s, &at, report->r, f->module);
	fxt_sql_bind_u64(s, &at, f->offset);
	fxt_sql_bind_string(s, &at, culprit);
	fxt_sql_insert(q, FXT_SQL_STACK);
	free(culprit);
	fxt_who_free_functions(&one, known);
}

static void put_stacks(struct fxt_sql *q, const struct fxt_report *report)
{
	const struct fxt_call_stacks *stacks = &report->who->stacks;

	for (size_t i = 0; i < stacks->count; i++) {
		bool fresh;

		if (!stacks->frames[i].is_recorded)
			continue;
		fxt_map_put(&q->stacks, stacks->frames[i].provider, stacks->frames[i].id, &fresh)->value[0] =
			i + 1;
		put_node(q, report, (uint32_t)i);
	}
}

static void put_contended(struct fxt_sql *q, const struct fxt_report *report)
{
	for (size_t i = 0; i < report->contention.count; i++) {
		const struct fxt_contended *c = &report->contention.list[i];
		char *lock = fxt_contention_lock(c->known, c->lock);
		sqlite3_stmt *s = fxt_sql_begin(q, FXT_SQL_CONTENDED);
		int at = 0;

		fxt_sql_bind_string(s, &at, fxt_handle_of_lock(report->r, c->pid, c->lock).text);
		fxt_sql_bind_string(s, &at, c->kind);
		fxt_sql_bind_u64(s, &at, c->pid);
		fxt_sql_bind_hex(s, &at, c->lock);
		fxt_sql_bind_string(s, &at, lock);
		fxt_sql_bind_symbol(s, &at, report->r, c->at);
		fxt_sql_bind_symbol(s, &at, report->r, c->held_at);
		fxt_sql_bind_u64(s, &at, c->count);
		fxt_sql_bind_u64(s, &at, c->total_ns);
		fxt_sql_bind_u64(s, &at, c->max_ns);
		if (c->held_count)
			fxt_sql_bind_u64(s, &at, c->held_ns);
		else
			fxt_sql_bind_null(s, &at);
		bind_node(s, &at, report, c->innermost);
		bind_node(s, &at, report, c->holder);
		fxt_sql_insert(q, FXT_SQL_CONTENDED);
		free(lock);
	}
}

static void put_heaps(struct fxt_sql *q, const struct fxt_report *report)
{
	for (size_t i = 0; i < report->heaps.count; i++) {
		const struct fxt_process_heap *h = &report->heaps.list[i];
		sqlite3_stmt *s = fxt_sql_begin(q, FXT_SQL_HEAP);
		int at = 0;

		fxt_sql_bind_u64(s, &at, h->pid);
		fxt_sql_bind_text(s, &at, &h->provider->name);
		fxt_sql_bind_u64(s, &at, h->calls);
		fxt_sql_bind_u64(s, &at, h->failed);
		fxt_sql_bind_u64(s, &at, h->allocated_bytes);
		fxt_sql_bind_u64(s, &at, h->frees);
		fxt_sql_bind_u64(s, &at, h->peak_bytes);
		fxt_sql_bind_u64(s, &at, h->peak_ns);
		fxt_sql_bind_u64(s, &at, h->in_use_bytes);
		fxt_sql_bind_u64(s, &at, h->live_blocks);
		fxt_sql_insert(q, FXT_SQL_HEAP);
	}
}

static void put_files(struct fxt_sql *q, const struct fxt_report *report)
{
	for (size_t i = 0; i < report->files.count; i++) {
		const struct fxt_file *f = &report->files.list[i];
		sqlite3_stmt *s = fxt_sql_begin(q, FXT_SQL_FILE);
		int at = 0;

		fxt_sql_bind_string(s, &at, f->label);
		fxt_sql_bind_u64(s, &at, f->calls);
		fxt_sql_bind_u64(s, &at, f->in_bytes);
		fxt_sql_bind_u64(s, &at, f->out_bytes);
		fxt_sql_bind_u64(s, &at, f->total_ns);
		fxt_sql_insert(q, FXT_SQL_FILE);
	}
}

/* -- Waits, which are told while the report is made -------------------------------------------------- */

static void take_waited(void *context, uint64_t offset, int64_t ns)
{
	sqlite3_stmt *s = fxt_sql_begin(context, FXT_SQL_WAITED);
	int at = 0;

	fxt_sql_bind_i64(s, &at, fxt_sql_event(offset));
	fxt_sql_bind_i64(s, &at, ns);
	fxt_sql_insert(context, FXT_SQL_WAITED);
}

static void take_let_go(void *context, const struct fxt_chain_link *link)
{
	sqlite3_stmt *s = fxt_sql_begin(context, FXT_SQL_LET_GO);
	int at = 0;

	fxt_sql_bind_i64(s, &at, fxt_sql_event(link->offset));
	fxt_sql_bind_u64(s, &at, link->end_ns - link->start_ns);
	fxt_sql_bind_i64(s, &at, link->waker);
	fxt_sql_bind_u64(s, &at, link->woken_ns);
	if (link->cause)
		fxt_sql_bind_i64(s, &at, fxt_sql_event(link->cause->offset));
	else
		fxt_sql_bind_null(s, &at);
	fxt_sql_insert(context, FXT_SQL_LET_GO);
}

static void put_locks(struct fxt_sql *q, const struct fxt_report *report)
{
	for (size_t i = 0; i < report->waits.count; i++) {
		const struct fxt_wait *w = &report->waits.list[i];
		sqlite3_stmt *s = fxt_sql_begin(q, FXT_SQL_LOCK);
		int at = 0;

		fxt_sql_bind_string(s, &at, fxt_wait_handle(report->r, w).text);
		fxt_sql_bind_string(s, &at, w->kind);
		fxt_sql_bind_u64(s, &at, w->pid);
		fxt_sql_bind_hex(s, &at, w->object);
		fxt_sql_bind_string(s, &at, w->label);
		fxt_sql_bind_u64(s, &at, w->count);
		fxt_sql_bind_u64(s, &at, w->total_ns);
		fxt_sql_bind_u64(s, &at, w->max_ns);
		fxt_sql_bind_u64(s, &at, w->waiter_count);
		fxt_sql_insert(q, FXT_SQL_LOCK);
	}
}

static void put_lost(struct fxt_sql *q, const struct fxt_report *report)
{
	for (unsigned i = 0; i < FXT_DROP_COUNT; i++) {
		uint64_t records = fxt_overview_lost(&report->overview, (enum fxt_loss_kind)i);
		sqlite3_stmt *s = fxt_sql_begin(q, FXT_SQL_LOST);
		int at = 0;

		if (!records)
			continue;
		fxt_sql_bind_string(s, &at, fxt_drop_causes[i]);
		fxt_sql_bind_u64(s, &at, records);
		fxt_sql_bind_u64(s, &at, fxt_overview_lost_last_ns(&report->overview, (enum fxt_loss_kind)i));
		fxt_sql_insert(q, FXT_SQL_LOST);
	}
}

/* -- Findings --------------------------------------------------------------------------------------- */

/* Returns the lines of evidence as one text. The caller frees it. */
static char *evidence_of(const struct fxt_finding *x)
{
	size_t bytes;
	char *text;
	FILE *out = fxt_text_stream(&text, &bytes);

	for (unsigned i = 0; i < x->evidence_count; i++)
		fprintf(out, "%s%s", i ? "\n" : "", x->evidence[i]);
	fclose(out);
	return text;
}

static void put_finding(struct fxt_sql *q, const struct fxt_report *report, const struct fxt_finding *x,
			size_t place)
{
	enum { COLUMNS = 400 };
	char *handle = fxt_format("F%zu", place + 1), *rule = fxt_rule_label(x->rule),
	     *culprit = fxt_who_culprit(report->who, x->purpose, x->innermost, COLUMNS),
	     *evidence = evidence_of(x);
	sqlite3_stmt *s = fxt_sql_begin(q, FXT_SQL_FINDING);
	int at = 0;

	fxt_sql_bind_string(s, &at, handle);
	fxt_sql_bind_string(s, &at, x->about.text);
	fxt_sql_bind_string(s, &at, rule);
	fxt_sql_bind_string(s, &at, fxt_gravity_names[x->rule->gravity]);
	fxt_sql_bind_string(s, &at, x->what);
	fxt_sql_bind_string(s, &at, culprit ? culprit : x->culprit);
	fxt_sql_bind_u64(s, &at, x->cost_ns);
	fxt_sql_bind_u64(s, &at, x->cost_bytes);
	fxt_sql_bind_u64(s, &at, x->cost_calls);
	sqlite3_bind_double(s, ++at, x->share);
	fxt_sql_bind_string(s, &at, x->sure ? x->sure : "certain");
	fxt_sql_bind_string(s, &at, evidence);
	bind_node(s, &at, report, x->innermost);
	fxt_sql_insert(q, FXT_SQL_FINDING);
	free(handle);
	free(rule);
	free(culprit);
	free(evidence);
}

static void put_findings(struct fxt_sql *q, const struct fxt_report *report)
{
	struct fxt_findings findings = {0};

	fxt_findings_make(&findings, report, 0);
	for (size_t i = 0; i < findings.count; i++)
		put_finding(q, report, &findings.list[i], i);
	fxt_findings_free(&findings);
}

static void put_processes(struct fxt_sql *q, const struct fxt_report *report)
{
	const struct fxt_reader *r = report->r;
	struct fxt_map told = {0};

	for (size_t i = 0; i < r->thread_count; i++) {
		uint64_t pid = r->threads[i].pid;
		struct fxt_text name = fxt_process_name(r, pid);
		sqlite3_stmt *s;
		int at = 0, signal = 0;
		bool fresh;

		fxt_map_put(&told, pid, 0, &fresh);
		if (!fresh || !pid || pid == FXT_KERNEL_PROVIDER_ID)
			continue;
		s = fxt_sql_begin(q, FXT_SQL_PROCESS);
		fxt_sql_bind_u64(s, &at, pid);
		fxt_sql_bind_string(s, &at, fxt_handle_of_process(r, pid).text);
		fxt_sql_bind_u64(s, &at, fxt_number(r, pid));
		fxt_sql_bind_text(s, &at, &name);
		if (fxt_ends_status(&report->process_ends, pid) >= 0)
			fxt_sql_bind_i64(s, &at, fxt_ends_status(&report->process_ends, pid));
		else
			fxt_sql_bind_null(s, &at);
		if (fxt_ends_known(&report->process_ends, pid, &signal) && signal)
			fxt_sql_bind_i64(s, &at, signal);
		else
			fxt_sql_bind_null(s, &at);
		fxt_sql_insert(q, FXT_SQL_PROCESS);
	}
	fxt_map_free(&told);
}

void fxt_sql_report(struct fxt_sql *q)
{
	const struct fxt_wait_listener listener = {q, take_waited, take_let_go};
	struct fxt_report_options options = {.top = FXT_TOP_ALL, .listener = &listener};
	struct fxt_reader r;
	struct fxt_report report;
	struct stat st;

	options.source = fxt_frame_names_open(stat(q->export->trace, &st) == 0 ? st.st_mtime : 0);
	fxt_reader_init(&r, q->reader->data, q->reader->size);
	fxt_report_make(&report, &r, &options);
	put_stacks(q, &report);
	put_locks(q, &report);
	put_contended(q, &report);
	put_heaps(q, &report);
	put_files(q, &report);
	put_findings(q, &report);
	put_lost(q, &report);
	q->has_times = report.overview.events;
	q->first_ns = report.overview.first_ns;
	q->last_ns = report.overview.last_ns;
	put_processes(q, &report);
	fxt_report_free(&report);
	fxt_reader_free(&r);
	fxt_frame_names_close(options.source);
}

#endif
