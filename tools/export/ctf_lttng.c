/* Adds the events of LTTng's own helpers: of the heap, and of instrumented functions. Views of Trace Compass
 * are made of these alone. They stand beside the events of the calls, which say more. See ctf.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "ctf.h"

/* The fields of each class, as LTTng's have them: a letter of the type, and the name. */
static const struct {
	const char *name, *fields[7];
} events[FXT_CTF_LTTNG_COUNT] = {
	[FXT_CTF_MALLOC] = {"lttng_ust_libc:malloc", {"Usize", "Pptr"}},
	[FXT_CTF_CALLOC] = {"lttng_ust_libc:calloc", {"Unmemb", "Usize", "Pptr"}},
	[FXT_CTF_REALLOC] = {"lttng_ust_libc:realloc", {"Pin_ptr", "Usize", "Pptr"}},
	[FXT_CTF_FREE] = {"lttng_ust_libc:free", {"Pptr"}},
	[FXT_CTF_MEMALIGN] = {"lttng_ust_libc:memalign", {"Ualignment", "Usize", "Pptr"}},
	[FXT_CTF_POSIX_MEMALIGN] = {"lttng_ust_libc:posix_memalign",
				    {"Pout_ptr", "Ualignment", "Usize", "Iresult"}},
	[FXT_CTF_FUNC_ENTRY] = {"lttng_ust_cyg_profile:func_entry", {"Paddr", "Pcall_site"}},
	[FXT_CTF_FUNC_EXIT] = {"lttng_ust_cyg_profile:func_exit", {"Paddr", "Pcall_site"}},
	[FXT_CTF_STATEDUMP_START] = {"lttng_ust_statedump:start", {NULL}},
	[FXT_CTF_BIN_INFO] = {"lttng_ust_statedump:bin_info",
			      {"Pbaddr", "Umemsz", "Spath", "Bis_pic", "Bhas_build_id", "Bhas_debug_link"}},
	[FXT_CTF_BUILD_ID] = {"lttng_ust_statedump:build_id", {"Pbaddr", "Qbuild_id"}},
	[FXT_CTF_DEBUG_LINK] = {"lttng_ust_statedump:debug_link", {"Pbaddr", "Ccrc", "Sfilename"}},
	[FXT_CTF_STATEDUMP_END] = {"lttng_ust_statedump:end", {NULL}},
	[FXT_CTF_LIB_LOAD] = {"lttng_ust_lib:load",
			      {"Pbaddr", "Umemsz", "Spath", "Bhas_build_id", "Bhas_debug_link"}},
	[FXT_CTF_LIB_BUILD_ID] = {"lttng_ust_lib:build_id", {"Pbaddr", "Qbuild_id"}},
	[FXT_CTF_LIB_DEBUG_LINK] = {"lttng_ust_lib:debug_link", {"Pbaddr", "Ccrc", "Sfilename"}},
	[FXT_CTF_LIB_UNLOAD] = {"lttng_ust_lib:unload", {"Pbaddr"}},
};

void fxt_ctf_lttng_declare(struct fxt_ctf *c)
{
	for (int i = 0; i < FXT_CTF_LTTNG_COUNT; i++) {
		struct fxt_ctf_fields f = {0};
		struct fxt_text name;

		if (!events[i].name)
			continue;
		for (const char *const *field = events[i].fields; *field; field++) {
			const char *own = *field + 1;

			switch (**field) {
			case 'U':
				fxt_ctf_field(&f, "uint64_t", own);
				break;
			case 'P':
				fxt_ctf_field(&f, "pointer_t", own);
				break;
			case 'I':
				fxt_ctf_field(&f, "int32_t", own);
				break;
			case 'C':
				fxt_ctf_field(&f, "uint32_t", own);
				break;
			case 'B':
				fxt_ctf_field(&f, "uint8_t", own);
				break;
			case 'Q':
				fxt_ctf_field_sequence(&f, "byte_t", own);
				break;
			default:
				fxt_ctf_field(&f, "string", own);
			}
		}
		name = fxt_text_of(events[i].name);
		c->lttng[i] = fxt_ctf_class_add(&c->ust.classes, &name, "", NULL, &f);
	}
}

enum fxt_ctf_lttng fxt_ctf_lttng_of(const struct fxt_record *rec)
{
	static const struct {
		const char *name;
		enum fxt_ctf_lttng is;
	} calls[] = {
		{"malloc", FXT_CTF_MALLOC},
		{"calloc", FXT_CTF_CALLOC},
		{"realloc", FXT_CTF_REALLOC},
		{"reallocarray", FXT_CTF_REALLOCARRAY},
		{"free", FXT_CTF_FREE},
		{"memalign", FXT_CTF_MEMALIGN},
		{"aligned_alloc", FXT_CTF_MEMALIGN},
		{"valloc", FXT_CTF_PAGES},
		{"pvalloc", FXT_CTF_PAGES},
		{"posix_memalign", FXT_CTF_POSIX_MEMALIGN},
	};

	if (fxt_text_is(&rec->category, "function"))
		return FXT_CTF_FUNC_ENTRY;
	if (!fxt_text_is(&rec->category, "malloc"))
		return FXT_CTF_NO_LTTNG;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (fxt_text_is(&rec->name, calls[i].name))
			return calls[i].is;
	}
	return FXT_CTF_NO_LTTNG;
}

/* -- Calls ------------------------------------------------------------------------------------------- */

/* Begins an event, puts numbers, and gives it to the sorter. */
static void add(struct fxt_ctf *c, const struct fxt_visit *v, enum fxt_ctf_lttng what, uint64_t at_ns,
		enum fxt_ctf_rank rank, uint64_t tie, const uint64_t *numbers, unsigned count)
{
	fxt_ctf_begin_item(c, c->lttng[what], v->rec->thread);
	for (unsigned i = 0; i < count; i++)
		fxt_ctf_put_u64(&c->item, numbers[i]);
	if (what == FXT_CTF_POSIX_MEMALIGN)
		fxt_ctf_put_u32(&c->item, (uint32_t)fxt_argument_or(v->rec, "errno", 0));
	fxt_ctf_end_item(c, fxt_ctf_stream_of(c, v->rec->thread), at_ns, rank, tie);
}

/* A call that takes memory is told when it has it, one that gives it back when it begins: so nobody else has
 * the address in between. */
static void add_heap(struct fxt_ctf *c, const struct fxt_visit *v, enum fxt_ctf_lttng what)
{
	uint64_t size = fxt_argument_or(v->rec, "size", 0), nmemb = fxt_argument_or(v->rec, "nmemb", 1),
		 ret = fxt_argument_or(v->rec, "ret", 0), ptr = fxt_argument_or(v->rec, "ptr", 0),
		 alignment = fxt_argument_or(v->rec, "alignment", 4096);
	enum fxt_ctf_rank rank = v->end_ns == v->at_ns ? FXT_CTF_AT : FXT_CTF_ENDS_WITHIN;

	switch (what) {
	case FXT_CTF_FREE:
		add(c, v, what, v->at_ns, FXT_CTF_AT, v->rec->offset, (uint64_t[]){ptr}, 1);
		return;
	case FXT_CTF_MALLOC:
		add(c, v, what, v->end_ns, rank, v->rec->offset, (uint64_t[]){size, ret}, 2);
		return;
	case FXT_CTF_CALLOC:
		add(c, v, what, v->end_ns, rank, v->rec->offset, (uint64_t[]){nmemb, size, ret}, 3);
		return;
	case FXT_CTF_REALLOCARRAY:
		size *= nmemb; /* fallthrough */
	case FXT_CTF_REALLOC:
		add(c, v, FXT_CTF_REALLOC, v->end_ns, rank, v->rec->offset, (uint64_t[]){ptr, size, ret}, 3);
		return;
	case FXT_CTF_MEMALIGN:
	case FXT_CTF_PAGES:
		add(c, v, FXT_CTF_MEMALIGN, v->end_ns, rank, v->rec->offset,
		    (uint64_t[]){alignment, size, ret}, 3);
		return;
	default:
		add(c, v, what, v->end_ns, rank, v->rec->offset, (uint64_t[]){ret, alignment, size}, 3);
	}
}

void fxt_ctf_lttng_call(struct fxt_ctf *c, const struct fxt_visit *v, const struct fxt_ctf_shape *shape)
{
	const uint64_t numbers[] = {shape->address, 0};
	bool is_moment = v->end_ns == v->at_ns;

	if (shape->lttng != FXT_CTF_FUNC_ENTRY) {
		add_heap(c, v, shape->lttng);
		return;
	}
	add(c, v, FXT_CTF_FUNC_ENTRY, v->at_ns, is_moment ? FXT_CTF_AT : FXT_CTF_BEGINS,
	    fxt_ctf_tie_of_begin(v), numbers, 2);
	add(c, v, FXT_CTF_FUNC_EXIT, v->end_ns, is_moment ? FXT_CTF_AT : FXT_CTF_ENDS, fxt_ctf_tie_of_end(v),
	    numbers, 2);
}

void fxt_ctf_lttng_begin(struct fxt_ctf *c, const struct fxt_visit *v, const struct fxt_ctf_shape *shape)
{
	const uint64_t numbers[] = {shape->address, 0};

	if (shape->lttng == FXT_CTF_FUNC_ENTRY)
		add(c, v, FXT_CTF_FUNC_ENTRY, v->at_ns, FXT_CTF_BEGINS, v->rec->offset, numbers, 2);
}

void fxt_ctf_lttng_end(struct fxt_ctf *c, const struct fxt_visit *v, const struct fxt_ctf_shape *shape,
		       enum fxt_ctf_rank rank)
{
	const uint64_t numbers[] = {shape->address, 0};

	if (shape->lttng == FXT_CTF_FUNC_ENTRY)
		add(c, v, FXT_CTF_FUNC_EXIT, v->at_ns, rank,
		    rank == FXT_CTF_AT ? v->rec->offset : FXT_CTF_TIE_OF_RECORD + v->rec->offset, numbers, 2);
}
