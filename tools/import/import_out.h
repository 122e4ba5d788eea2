/* Writes the records of an FXT trace whose processes, threads and names become known while it is written.
 *
 * Each program is a provider. A process that executes another program goes on as another provider, as in a
 * trace that fxt record has joined. Memory is used for processes, threads and names, and not for events.
 */
#ifndef FXT_TOOLS_IMPORT_OUT_H
#define FXT_TOOLS_IMPORT_OUT_H

#include <stdint.h>
#include <stdio.h>

#include "tools/common/map.h"
#include "writer/fxt_encode.h"

struct fxt_import_text; /* a name that was used before */
struct fxt_import_open; /* a call that has not returned: import_open.h */
struct fxt_import_module; /* a file with code: import_modules.h */

struct fxt_import_program {
	uint32_t id;                    /* of the provider */
	uint64_t pid;
	bool is_named;                  /* by itself, and not only by one of its threads */
	uint64_t statedump_by;          /* the thread that told what is loaded; 0: none has */
	uint64_t first_ns;
	char *name;
	uint64_t *has;                  /* a bit for each string that the provider has */
	size_t has_words, has_capacity;
	struct fxt_import_thread **threads;
	size_t all_threads, thread_capacity;
	struct fxt_import_module *modules;
	size_t module_count, module_capacity;
	struct fxt_map functions;       /* address -> a name that was found: import_modules.c */
	uint64_t lost;                  /* events, as far as they were counted */
	bool has_event;                 /* since nobody knew what it had */
};

struct fxt_import_thread {
	struct fxt_import_program *program;
	/* its process is not the program's if that tells of another one */
	uint64_t pid, tid;
	uint8_t index;                  /* 0: it has none */
	char *name;
	struct fxt_import_open *open;
	size_t open_count, open_capacity;
};

struct fxt_import_out {
	FILE *file;
	struct fxt_import_text *texts;
	size_t text_count;
	struct fxt_import_program *current; /* whose records come next */
	struct fxt_import_program **programs;
	size_t program_count, program_capacity;
	struct fxt_map by_pid;          /* pid -> place of the process's present program */
	struct fxt_map by_id;           /* provider -> place of the program */
	struct fxt_map by_tid;          /* program's id, pid and tid -> place in its `threads` */
	uint64_t flows;
	bool has_failed;                /* a record could not be written */
	int error;                      /* errno of that; 0: the record was too large */
};

/* The most bytes that all strings among the values of an event may have. */
enum { FXT_IMPORT_VALUE_BYTES = 27000 };

/* An argument of an event. Its name and its string live until the event is written. */
struct fxt_import_arg {
	enum fxt_arg_type type;
	const char *name;
	union {
		int64_t i;
		uint64_t u;
		double f;
		const char *string;
	};
};

/* Begins a trace whose clock reads `ns` when it is `utc_ns` nanoseconds after 1970; 0: nobody knows. */
void fxt_import_out_begin(struct fxt_import_out *o, FILE *file, uint64_t ns, uint64_t utc_ns);
/* Writes what is left. Returns what went wrong so far, as a text that the caller frees; NULL: nothing. */
char *fxt_import_out_flush(struct fxt_import_out *o);
/* Returns the same without writing anything. */
char *fxt_import_out_wrong(const struct fxt_import_out *o);
/* Frees everything. */
void fxt_import_out_end(struct fxt_import_out *o);

/* Returns the present program of a process. A process that was not met before gets one. */
struct fxt_import_program *fxt_import_program(struct fxt_import_out *o, uint64_t pid, uint64_t ns);
/* Returns the program that is the provider with this id; it becomes one of the process if it was not met
 * before. */
struct fxt_import_program *fxt_import_provider(struct fxt_import_out *o, uint32_t id, uint64_t pid,
					       uint64_t ns);
/* Makes another program of the process the present one. */
struct fxt_import_program *fxt_import_program_new(struct fxt_import_out *o, uint64_t pid, uint64_t ns);
/* Names the provider, if it has another name or none. Returns whether it had. */
bool fxt_import_provider_name(struct fxt_import_out *o, struct fxt_import_program *p, const char *name);
/* Names the provider and its process, if they have another name or none. */
void fxt_import_program_name(struct fxt_import_out *o, struct fxt_import_program *p, const char *name);

struct fxt_import_thread *fxt_import_thread(struct fxt_import_out *o, struct fxt_import_program *p,
					    uint64_t tid);
/* Returns a thread of another process than the program's, of which the program tells. */
struct fxt_import_thread *fxt_import_thread_of(struct fxt_import_out *o, struct fxt_import_program *p,
					       uint64_t pid, uint64_t tid);
/* Names the thread, if it has another name or none. A track is no thread, but takes what some thread of the
 * process did. */
void fxt_import_thread_name(struct fxt_import_out *o, struct fxt_import_thread *t, const char *name,
			    bool is_track);

/* Writes an event. Arguments beyond the fifteenth are gathered in the fifteenth, as text. */
void fxt_import_event(struct fxt_import_out *o, struct fxt_import_thread *t, enum fxt_event_type type,
		      uint64_t ns, const char *category, const char *name, const struct fxt_import_arg *args,
		      size_t count, uint64_t extra);

/* Writes a userspace object, and a kernel object. */
void fxt_import_object(struct fxt_import_out *o, struct fxt_import_program *p, uint64_t pid, uint64_t pointer,
		       const char *name, const struct fxt_import_arg *args, size_t count);
void fxt_import_kernel_object(struct fxt_import_out *o, struct fxt_import_program *p,
			      enum fxt_kernel_object_type type, uint64_t koid, const char *name,
			      const struct fxt_import_arg *args, size_t count);

void fxt_import_log(struct fxt_import_out *o, struct fxt_import_thread *t, uint64_t ns, const char *text);
/* A blob belongs to the program that is the present one if `p` is NULL. */
void fxt_import_blob(struct fxt_import_out *o, struct fxt_import_program *p, enum fxt_blob_type type,
		     const char *name, const void *data, size_t bytes);

/* A context switch, or the wakeup of a thread. */
struct fxt_import_scheduling {
	bool is_wakeup;
	uint64_t ns, thread, incoming;
	uint16_t cpu;
	enum fxt_thread_state state;
};
void fxt_import_scheduling(struct fxt_import_out *o, struct fxt_import_program *p,
			   const struct fxt_import_scheduling *s, const struct fxt_import_arg *args,
			   size_t count);

/* Says that the program's provider had no room, nobody knows how often. */
void fxt_import_buffer_full(struct fxt_import_out *o, struct fxt_import_program *p);

#endif
