/* fxt report: the sections on processor time, by function and by thread. What they tell of was counted by
 * tools/analysis/processor_time.h. The file report_json_why.c prints the same as JSON.
 */
#ifndef FXT_TOOLS_REPORT_PROCESSOR_H
#define FXT_TOOLS_REPORT_PROCESSOR_H

#include <stdio.h>

#include "tools/analysis/processor_time.h"
#include "tools/programs/frame_names.h"
#include "tools/programs/source_lines.h"

/* Returns whether there are samples, and enough of them to compare functions. */
static inline bool fxt_processor_is_telling(const struct fxt_processor_time *p)
{
	return p->tree.samples >= FXT_FEW_SAMPLES;
}

/* Returns the name of a sampled function as its source has it, without parameters and in at most `columns`
 * characters. The caller frees it. */
char *fxt_sampled_function_label(const struct fxt_reader *r, const struct fxt_tree_function *f,
				 size_t columns);
struct fxt_handle fxt_sampled_function_handle(const struct fxt_reader *r, const struct fxt_tree_function *f);
/* Returns the path of the function's module, or an empty text if it is not known. */
struct fxt_text fxt_sampled_module(const struct fxt_reader *r, const struct fxt_tree_function *f);

/* Finds the line that most samples of the function are in; of a function that was only calling others, the
 * line of its hottest call. `source` may be NULL. Returns false if no line is known. */
bool fxt_sampled_place(const struct fxt_call_tree *t, const struct fxt_reader *r,
		       const struct fxt_tree_function *f, struct fxt_frame_names *source,
		       struct fxt_source_place *place);

/* Prints lines for the head of the report: the hottest functions, unless their section comes next
 * (`is_next`); and what the kernel says of a program with one thread. */
void fxt_processor_print_head(const struct fxt_processor_time *p, const struct fxt_reader *r, bool is_next,
			      FILE *out);
/* Prints the section about functions, if there are samples. */
void fxt_processor_print(const struct fxt_processor_time *p, const struct fxt_reader *r,
			 struct fxt_frame_names *source, size_t top, FILE *out);
/* Prints the section about threads, if there are several. */
void fxt_processor_print_threads(const struct fxt_processor_time *p, const struct fxt_reader *r,
				 bool with_process, size_t top, FILE *out);

struct fxt_json;
/* Prints a member `processor`: an object, or null if the kernel has told nothing. */
void fxt_processor_json(const struct fxt_processor_time *p, struct fxt_json *j, const struct fxt_reader *r,
			struct fxt_frame_names *source);

#endif
