/* Makes files of the sorted items, all of them at once: an event goes to the stream of the processor that its
 * thread was on, if that is known, else to that of its process. See ctf.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "ctf.h"
#include "ctf_file.h"
#include "ctf_running.h"

enum { PROGRESS_ITEMS = 1 << 17, CONTEXT_BYTES = 512 };

struct streams {
	struct fxt_ctf *c;
	struct fxt_ctf_file *of_process[FXT_CTF_MOST_STREAMS];
	struct fxt_ctf_file *of_cpu[FXT_CTF_MOST_PROCESSORS], *of_kernel[FXT_CTF_MOST_PROCESSORS];
	struct fxt_ctf_running running;
	int error;
};

/* -- Contexts ---------------------------------------------------------------------------------------- */

int32_t fxt_ctf_number(struct fxt_ctf *c, uint64_t koid)
{
	/* Above the kernel's numbers, and above those that stand for ones that were used again. */
	static const uint64_t FIRST = 0x70000000;
	struct fxt_slot *s;
	bool fresh;

	if (koid <= INT32_MAX)
		return (int32_t)koid;
	s = fxt_map_put(&c->numbers, koid, 0, &fresh);
	if (fresh)
		s->value[0] = FIRST + c->numbers.used % (INT32_MAX - FIRST);
	return (int32_t)s->value[0];
}

/* Makes what all events of a thread have: the numbers of its process and its own, and its name. */
static void make_context(struct fxt_ctf *c, uint32_t thread)
{
	const struct fxt_trace_thread *t = &c->reader->threads[thread];
	struct fxt_text own = fxt_thread_name(c->reader, thread),
			name = own.bytes ? own : fxt_process_name(c->reader, t->pid);
	struct fxt_ctf_bytes out = {0};

	fxt_ctf_put_u32(&out, (uint32_t)fxt_ctf_number(c, t->pid));
	fxt_ctf_put_u32(&out, (uint32_t)fxt_ctf_number(c, t->tid));
	fxt_ctf_put_name(&out, &name);
	c->contexts[thread] = (char *)out.data;
	c->context_bytes[thread] = out.count;
}

static void put_context(struct fxt_ctf *c, struct fxt_ctf_bytes *out, const struct fxt_ctf_item *item)
{
	if (!c->contexts[item->thread])
		make_context(c, item->thread);
	fxt_ctf_put(out, c->contexts[item->thread], c->context_bytes[item->thread]);
	fxt_ctf_put_u64(out, item->node ? fxt_ctf_node_address(c, item->node) : 0);
}

/* -- Streams ----------------------------------------------------------------------------------------- */

static struct fxt_ctf_file *reach(struct streams *s, struct fxt_ctf_file **place,
				  enum fxt_ctf_stream_class class, uint32_t number)
{
	if (!*place)
		*place = fxt_ctf_file_open(s->c, class, number, &s->error);
	return *place;
}

/* Returns the stream of an event of a program; NULL: the file could not be made. There is one of the process
 * in any case, because that is where its losses are told. */
static struct fxt_ctf_file *of_program(struct streams *s, uint32_t stream, uint32_t thread, uint64_t at_ns,
				       uint32_t class)
{
	struct fxt_ctf_file *own = reach(s, &s->of_process[stream], FXT_CTF_OF_PROCESS, stream);
	int32_t cpu = stream == FXT_CTF_OWN_STREAM ? -1 : fxt_ctf_running_cpu(&s->running, thread, at_ns);

	fxt_ctf_class_use(&s->c->ust.classes, class, cpu >= 0);
	return cpu < 0 ? own : reach(s, &s->of_cpu[cpu], FXT_CTF_OF_CPU, (uint32_t)cpu);
}

/* Returns the stream of an event of the kernel. What a thread did is told by the processor that it was on. */
static struct fxt_ctf_file *of_kernel(struct streams *s, uint32_t stream, uint32_t thread, uint64_t at_ns)
{
	uint32_t cpu = stream - FXT_CTF_KERNEL;

	if (stream == FXT_CTF_KERNEL_OF_THREAD) {
		int32_t known = fxt_ctf_running_cpu(&s->running, thread, at_ns);

		cpu = known < 0 ? 0 : (uint32_t)known;
	}
	return reach(s, &s->of_kernel[cpu], FXT_CTF_OF_KERNEL, cpu);
}

static void put_event(struct streams *s, const struct fxt_sorter_item *sorted)
{
	struct fxt_ctf *c = s->c;
	uint64_t at_ns = sorted->key.time > c->first_ns ? sorted->key.time : c->first_ns;
	const unsigned char *fields = sorted->data + sizeof(struct fxt_ctf_item);
	size_t bytes = sorted->key.bytes - sizeof(struct fxt_ctf_item);
	bool is_kernels = sorted->key.stream >= FXT_CTF_KERNEL;
	struct fxt_ctf_item item;
	struct fxt_ctf_file *f;
	struct fxt_ctf_bytes *out;

	memcpy(&item, sorted->data, sizeof(item));
	if (item.late == FXT_CTF_SWITCHES_LOST) {
		fxt_ctf_running_forget(&s->running);
		return;
	}
	f = is_kernels ? of_kernel(s, sorted->key.stream, item.thread, at_ns)
		       : of_program(s, sorted->key.stream, item.thread, at_ns, item.class);
	if (!f)
		return;
	fxt_ctf_file_event(f, at_ns, item.class, bytes + CONTEXT_BYTES);
	out = &f->packets.packet;
	if (!is_kernels)
		put_context(c, out, &item);
	if (item.late >= FXT_CTF_SWITCH)
		fxt_ctf_kernel_put(c, out, &item, fields, bytes, (uint32_t)f->packets.cpu, &s->running);
	else
		fxt_ctf_put(out, fields, bytes);
	if (item.late == FXT_CTF_STACK)
		fxt_ctf_put_stack(c, out, item.node);
	if (f->packets.error)
		s->error = f->packets.error;
}

static void close_files(struct streams *s, struct fxt_ctf_file **files, size_t count)
{
	for (size_t i = 0; i < count; i++)
		s->c->discarded += files[i] ? fxt_ctf_file_close(files[i], &s->error) : 0;
}

/* All files are open at a time. */
static void allow_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int fxt_ctf_write_streams(struct fxt_ctf *c)
{
	struct streams *s;
	struct fxt_sorter_item item;
	uint64_t done = 0;
	int error;

	if (!fxt_sorter_turn(&c->sorter))
		return c->sorter.error;
	allow_files();
	s = fxt_alloc(1, sizeof(*s));
	s->c = c;
	c->contexts = fxt_alloc(c->reader->thread_count, sizeof(*c->contexts));
	c->context_bytes = fxt_alloc(c->reader->thread_count, sizeof(*c->context_bytes));
	fxt_ctf_running_begin(&s->running, c);
	while (!s->error && fxt_sorter_next(&c->sorter, &item)) {
		put_event(s, &item);
		if (++done % PROGRESS_ITEMS == 0)
			fxt_export_progress(c->export, c->item_count + done, 2 * c->item_count);
	}
	close_files(s, s->of_process, FXT_CTF_MOST_STREAMS);
	close_files(s, s->of_cpu, FXT_CTF_MOST_PROCESSORS);
	close_files(s, s->of_kernel, FXT_CTF_MOST_PROCESSORS);
	for (size_t i = 0; i < c->reader->thread_count; i++)
		free(c->contexts[i]);
	free(c->contexts);
	free(c->context_bytes);
	fxt_ctf_running_free(&s->running);
	error = s->error ? s->error : c->sorter.error;
	free(s);
	return error;
}
