/* Says how a program died. See crash_words.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "crash_words.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "rules.h"
#include "tools/common/message.h"
#include "tools/printing/print.h"

enum {
	NULL_BYTES = 4096,              /* below, an address is that of a null pointer and an offset */
	KERNEL_CODE = 128,              /* SI_KERNEL */
	LEAST_REPEATED = 4,             /* frames of one function that make a sample one of a recursion */
	WORD_COLUMNS = 60,
};

/* -- How ------------------------------------------------------------------------------------------- */

static const char *done_there(const struct fxt_crash *x)
{
	return fxt_text_is(&x->access, "write")     ? "wrote to"
	       : fxt_text_is(&x->access, "execute") ? "executed code at"
	       : fxt_text_is(&x->access, "read")    ? "read"
						    : "used";
}

/* Adds what is known of the address of a fault by itself. */
static void add_address(const struct fxt_crash *x, struct fxt_finding *finding)
{
	/* A mapping that has no such right has this code; one that is not there has another. */
	enum { NO_RIGHT = 2 };

	if (!x->has_address)
		fxt_finding_evidence(finding,
				     "no memory can be there, or the instruction is not for programs");
	else if (x->address < NULL_BYTES)
		fxt_finding_evidence(finding, "that is a null pointer and %" PRIu64 " byte%s", x->address,
				     x->address == 1 ? "" : "s");
	else if (x->signal == SIGBUS)
		fxt_finding_evidence(finding, "that is behind the end of a file, or not aligned");
	else
		fxt_finding_evidence(finding, x->code == NO_RIGHT ? "it has no right to do so there"
								  : "there is no memory");
}

static bool is_fault_of_memory(const struct fxt_crash *x)
{
	return !x->sender && (x->signal == SIGSEGV || x->signal == SIGBUS) &&
	       (x->has_address || x->code == KERNEL_CODE);
}

/* Returns who sent a signal that is no fault. */
static char *sender(const struct fxt_report *report, const struct fxt_crash *x)
{
	if (x->sender == fxt_number(report->r, x->pid))
		return x->signal == SIGPIPE ? fxt_strdup("it wrote where nobody reads any more")
		       : x->signal == SIGABRT ? fxt_strdup("it aborted")
					      : fxt_strdup("it sent this to itself");
	return fxt_format("process %" PRIu64 " sent this", x->sender);
}

static char *how_of(const struct fxt_report *report, const struct fxt_crash *x)
{
	enum { BY_ZERO = 1 };

	if (x->sender)
		return sender(report, x);
	switch (x->signal) {
	case SIGSEGV:
	case SIGBUS:
		if (!is_fault_of_memory(x))
			return NULL;
		return x->has_address ? fxt_format("it %s address 0x%" PRIx64, done_there(x), x->address)
				      : fxt_strdup("it used an invalid address");
	case SIGFPE:
		return fxt_strdup(x->code == BY_ZERO ? "it divided by zero" : "its arithmetic overflowed");
	case SIGILL: return fxt_format("there is no such instruction, at 0x%" PRIx64, x->ip);
	case SIGTRAP: return fxt_strdup("it came to a breakpoint");
	case SIGSYS: return fxt_strdup("it made a system call that its filter forbids");
	default: return NULL;
	}
}

struct fxt_crash_words fxt_crash_words(const struct fxt_report *report, uint64_t pid, int signal)
{
	struct fxt_crash_words w = {.innermost = FXT_NO_FRAME, .recursion = {.frame = FXT_NO_FRAME}};
	const struct fxt_call_stacks *stacks = &report->who->stacks;

	w.crash = fxt_crash_of(&report->crashes, pid, signal);
	if (w.crash) {
		w.innermost = w.crash->innermost;
		if (fxt_crash_is_overflow(w.crash)) {
			w.how = fxt_strdup("its stack overflowed");
			w.recursion = fxt_recursion_of(stacks, w.innermost);
			if (w.recursion.frame != FXT_NO_FRAME)
				w.innermost = w.recursion.frame;
		} else {
			w.how = how_of(report, w.crash);
		}
		return w;
	}
	if (signal != SIGSEGV)
		return w;
	/* Without a crash there was no room for it: only the kernel may have seen the stack. */
	w.innermost = fxt_crashes_last_sample(&report->crashes, pid, &w.sampled_ns);
	w.recursion = fxt_recursion_of(stacks, w.innermost);
	if (w.recursion.times >= LEAST_REPEATED) {
		w.how = fxt_strdup("its stack overflowed");
		w.sure = "likely";
		w.innermost = w.recursion.frame;
	} else {
		w.innermost = FXT_NO_FRAME;
		w.sampled_ns = 0;
	}
	return w;
}

/* -- Evidence -------------------------------------------------------------------------------------- */

static void add_recursion(const struct fxt_crash_words *w, const struct fxt_report *report, uint64_t pid,
			  struct fxt_finding *x)
{
	const struct fxt_recursion *of = &w->recursion;
	char *name = fxt_who_culprit(report->who, FXT_FOR_CALL, of->frame, WORD_COLUMNS);
	uint64_t end_ns = fxt_ends_ns(&report->process_ends, pid);

	if (name && w->sampled_ns)
		fxt_finding_evidence(x, "%zu of %zu frames were %s %s before the end", of->times, of->frames,
				     name, fxt_duration(fxt_ns_between(w->sampled_ns, end_ns)).text);
	else if (name)
		fxt_finding_evidence(x, "%zu of the %zu innermost frames are %s", of->times, of->frames,
				     name);
	free(name);
}

/* Adds the library's function that the culprit has called, and of a fault the one that the instruction is
 * in. */
static void add_place(const struct fxt_report *report, const struct fxt_crash *crash, struct fxt_finding *x)
{
	enum { FRAMES = 64 };
	struct fxt_who_function all[FRAMES], culprit;
	size_t count = fxt_who_functions(report->who, FXT_FOR_CALL, crash->innermost, true, all, FRAMES);
	const char *name = NULL;
	size_t i = 0;

	if (fxt_who_functions(report->who, FXT_FOR_CALL, crash->innermost, false, &culprit, 1)) {
		while (i < count && strcmp(all[i].name, culprit.name) != 0)
			i++;
		if (i && i < count)
			name = all[crash->sender ? i - 1 : 0].name;
		/* A call through a null pointer is in no function. */
		if (name && *name != '[' && *name)
			fxt_finding_evidence(x, crash->sender ? "it had called %s"
							      : "the instruction is in %s", name);
		fxt_who_free_functions(&culprit, 1);
	}
	fxt_who_free_functions(all, count);
}

/* Adds what was at the address. */
static void add_block(const struct fxt_report *report, const struct fxt_crash *crash, struct fxt_finding *x)
{
	const struct fxt_crash_block *b = &crash->block;
	const char *kind = b->is_mapping ? "a mapping" : "a block";
	char *made, *freed, *where, *size;
	uint64_t address = crash->address;

	if (!b->is_known)
		return;
	made = fxt_who_culprit(report->who, FXT_FOR_HEAP, b->made_in, WORD_COLUMNS);
	freed = fxt_who_culprit(report->who, FXT_FOR_HEAP, b->freed_in, WORD_COLUMNS);
	size = b->bytes < 8192 ? fxt_format("%" PRIu64 " bytes", b->bytes)
			       : fxt_strdup(fxt_bytes(b->bytes).text);
	where = address < b->at              ? fxt_format("%" PRIu64 " bytes before", b->at - address)
		: address - b->at < b->bytes ? fxt_strdup("in")
					     : fxt_format("%" PRIu64 " bytes behind",
							  address - b->at - b->bytes);
	if (b->freed_ns)
		fxt_finding_evidence(x, "the address is %s %s of %s that %s freed %s before", where, kind,
				     size, freed ? freed : "was",
				     fxt_duration(fxt_ns_between(b->freed_ns, crash->at_ns)).text);
	else
		fxt_finding_evidence(x, "the address is %s %s of %s", where, kind, size);
	if (made)
		fxt_finding_evidence(x, "%s asked for that %s", made, b->is_mapping ? "mapping" : "block");
	fxt_finding_stack(x, b->is_mapping ? "the mapping was asked for by" : "the block was asked for by",
			  FXT_FOR_HEAP, b->made_in);
	fxt_finding_stack(x, "the block was freed by", FXT_FOR_HEAP, b->freed_in);
	free(where);
	free(size);
	free(freed);
	free(made);
}

/* Adds how the process ended that ended last before this one wrote to nobody. */
static void add_reader(const struct fxt_report *report, const struct fxt_crash *crash, struct fxt_finding *x)
{
	const struct fxt_slot *last = NULL;
	char *process;
	int signal, status;

	for (const struct fxt_slot *s = fxt_map_next(&report->process_ends.by_pid, NULL); s;
	     s = fxt_map_next(&report->process_ends.by_pid, s))
		if (s->a != crash->pid && s->value[0] <= crash->at_ns &&
		    (!last || s->value[0] > last->value[0]))
			last = s;
	if (!last)
		return;
	signal = fxt_ends_signal(last);
	status = fxt_ends_status(&report->process_ends, last->a);
	process = fxt_rule_process(report, last->a);
	if (signal || status >= 0)
		fxt_finding_evidence(x, "%s had ended %s before, %s %d", process,
				     fxt_duration(fxt_ns_between(last->value[0], crash->at_ns)).text,
				     signal ? "by signal" : "with status", signal ? signal : status);
	free(process);
}

void fxt_crash_evidence(const struct fxt_crash_words *w, const struct fxt_report *report, uint64_t pid,
			struct fxt_finding *x)
{
	const struct fxt_crash *crash = w->crash;

	if (w->recursion.frame != FXT_NO_FRAME) {
		add_recursion(w, report, pid, x);
		return;
	}
	if (!crash)
		return;
	if (is_fault_of_memory(crash) && crash->block.is_known)
		add_block(report, crash, x);
	else if (is_fault_of_memory(crash))
		add_address(crash, x);
	add_place(report, crash, x);
	if (crash->sender && crash->signal == SIGPIPE)
		add_reader(report, crash, x);
}
