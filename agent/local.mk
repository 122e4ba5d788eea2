# libfxtagent.so, the library that is preloaded: agent/, interpose/ and writer/ in one shared object.

AGENT_SOURCES = \
	agent/arrows/async.c \
	agent/arrows/async.h \
	agent/arrows/flow.c \
	agent/arrows/flow.h \
	agent/arrows/parent_entry.h \
	agent/arrows/parent_links.c \
	agent/arrows/parent_links.h \
	agent/arrows/shared.c \
	agent/arrows/shared.h \
	agent/arrows/signal_senders.c \
	agent/arrows/signal_senders.h \
	agent/arrows/task_life.c \
	agent/arrows/task_life.h \
	agent/arrows/wait.c \
	agent/arrows/wait.h \
	agent/base/agent.c \
	agent/base/gate.c \
	agent/base/gate.h \
	agent/base/agent.h \
	agent/base/bind.c \
	agent/base/bind.h \
	agent/base/category_list.c \
	agent/base/category_list.h \
	agent/base/connection.c \
	agent/base/connection.h \
	agent/base/error_text.c \
	agent/base/error_text.h \
	agent/base/fdinfo.c \
	agent/base/fdinfo.h \
	agent/base/glob.c \
	agent/base/glob.h \
	agent/base/growing_table.c \
	agent/base/growing_table.h \
	agent/base/heap.c \
	agent/base/heap.h \
	agent/base/koid.c \
	agent/base/koid.h \
	agent/base/lazy_table.h \
	agent/base/loaded.c \
	agent/base/loaded.h \
	agent/base/log.c \
	agent/base/log.h \
	agent/base/output.c \
	agent/base/output.h \
	agent/base/parts.c \
	agent/base/parts.h \
	agent/base/printf.c \
	agent/base/printf.h \
	agent/base/reach.h \
	agent/base/run_key.c \
	agent/base/stack.h \
	agent/base/strings.def \
	agent/base/thread_parts.h \
	agent/base/trigger.c \
	agent/base/trigger.h \
	agent/descriptors/byte_stream.c \
	agent/descriptors/byte_stream.h \
	agent/descriptors/byte_stream_names.c \
	agent/descriptors/byte_stream_table.h \
	agent/descriptors/endpoint.c \
	agent/descriptors/endpoint.h \
	agent/descriptors/fd_slots.c \
	agent/descriptors/fd_slots.h \
	agent/descriptors/fds.c \
	agent/descriptors/fds.h \
	agent/descriptors/name_file.c \
	agent/descriptors/name_file.h \
	agent/descriptors/rings.c \
	agent/descriptors/rings.h \
	agent/descriptors/transfer.c \
	agent/descriptors/transfer.h \
	agent/descriptors/unix_peer.c \
	agent/descriptors/unix_peer.h \
	agent/stacks/call_samples.c \
	agent/stacks/call_samples.h \
	agent/stacks/code.c \
	agent/stacks/code.h \
	agent/stacks/code_module.c \
	agent/stacks/code_module.h \
	agent/stacks/load_number.c \
	agent/stacks/load_number.h \
	agent/stacks/poisson.c \
	agent/stacks/poisson.h \
	agent/stacks/return_thunk.c \
	agent/stacks/return_thunk.h \
	agent/stacks/return_thunk_count.h \
	agent/stacks/stack_nodes.c \
	agent/stacks/stack_nodes.h \
	agent/stacks/stack_walk.c \
	agent/stacks/stack_walk.h \
	agent/stacks/unwind.c \
	agent/stacks/table_cursor.h \
	agent/stacks/unwind.h \
	agent/emit/call_stack.c \
	agent/emit/call_stack.h \
	agent/emit/callers.c \
	agent/emit/callers.h \
	agent/clock/clock_offset.c \
	agent/clock/clock_offset.h \
	agent/clock/wall_clock.c \
	agent/clock/wall_clock.h \
	agent/clock/zone.c \
	agent/clock/zone.h \
	agent/emit/clock.c \
	agent/emit/clock.h \
	agent/emit/counter.c \
	agent/emit/counter.h \
	agent/emit/deferred.c \
	agent/emit/deferred.h \
	agent/emit/emit.c \
	agent/emit/emit.h \
	agent/emit/explain.c \
	agent/emit/explain.h \
	agent/emit/filtered.c \
	agent/emit/filtered.h \
	agent/emit/function.c \
	agent/emit/function.h \
	agent/emit/function_call.c \
	agent/emit/held_locks.c \
	agent/emit/held_locks.h \
	agent/emit/in_progress.c \
	agent/emit/in_progress.h \
	agent/emit/lane.c \
	agent/emit/lanes.h \
	agent/emit/losses.c \
	agent/emit/losses.h \
	agent/emit/program_text.c \
	agent/emit/program_text.h \
	agent/emit/sample.c \
	agent/emit/sample.h \
	agent/emit/thread.c \
	agent/emit/thread.h \
	agent/emit/thread_chunks.c \
	agent/emit/thread_name.c \
	agent/emit/thread_states.c \
	agent/emit/threads.h \
	agent/emit/trace_file.c \
	agent/emit/trace_file.h \
	agent/emit/watched.c \
	agent/fibers/fiber.c \
	agent/fibers/fiber_adopt.c \
	agent/fibers/fiber_calls.c \
	agent/fibers/fiber.h \
	agent/fibers/fiber_stacks.c \
	agent/fibers/fiber_tracks.c \
	agent/fibers/fibers.h \
	agent/names/allocator_code.c \
	agent/names/allocator_code.h \
	agent/names/caller_list.c \
	agent/names/caller_list.h \
	agent/names/function_filter.c \
	agent/names/function_filter.h \
	agent/names/module.c \
	agent/names/module.h \
	agent/names/plt_call.c \
	agent/names/plt_call.h \
	agent/names/plt_call_count.h \
	agent/names/symbols.c \
	agent/names/symbols.h \
	agent/objects/allocation_site.c \
	agent/objects/allocation_site.h \
	agent/objects/block_table.c \
	agent/objects/block_table.h \
	agent/objects/blocks.c \
	agent/objects/blocks.h \
	agent/objects/label.c \
	agent/objects/label.h \
	agent/objects/label_owed.c \
	agent/objects/label_owed.h \
	agent/objects/label_table.c \
	agent/objects/label_table.h \
	agent/objects/label_text.c \
	agent/objects/mappings.c \
	agent/objects/mappings.h \
	agent/objects/memory_life.c \
	agent/objects/memory_life.h \
	agent/objects/requests.c \
	agent/objects/requests.h \
	agent/process/config.c \
	agent/process/config.h \
	agent/process/control.c \
	agent/process/control.h \
	agent/process/crash.c \
	agent/process/crash.h \
	agent/process/descriptor.c \
	agent/process/descriptor.h \
	agent/process/follow.c \
	agent/process/follow.h \
	agent/process/follow_glob.c \
	agent/process/follow_glob.h \
	agent/process/follow_library.c \
	agent/process/follow_program.c \
	agent/process/follow_program.h \
	agent/process/fork.c \
	agent/process/fork.h \
	agent/process/lifecycle.c \
	agent/process/lifecycle.h \
	agent/process/locked_memory.c \
	agent/process/locked_memory.h \
	agent/process/part_table.c \
	agent/process/part_table.h \
	agent/process/stack_config.c \
	agent/process/stack_config.h \
	agent/process/seccomp.c \
	agent/process/seccomp.h

lib_LTLIBRARIES += libfxtagent.la
libfxtagent_la_SOURCES = $(AGENT_SOURCES) $(INTERPOSE_SOURCES) $(WRITER_SOURCES)
libfxtagent_la_CPPFLAGS = $(FXT_CPPFLAGS)
libfxtagent_la_LIBADD = libfxthooks.la
if X86_64
libfxtagent_la_LIBADD += libfxtentries.la
libfxtagent_la_SOURCES += interpose/functions/entry_slow.c interpose/functions/return_word.c
endif

# Instrumented functions call these hooks twice each, so the hooks make no stack frame of their own.
noinst_LTLIBRARIES += libfxthooks.la
libfxthooks_la_SOURCES = $(HOOK_SOURCES)
libfxthooks_la_CPPFLAGS = $(FXT_CPPFLAGS)
libfxthooks_la_CFLAGS = $(libfxtagent_la_CFLAGS) -fomit-frame-pointer

if X86_64
noinst_LTLIBRARIES += libfxtentries.la
libfxtentries_la_SOURCES = $(ENTRY_SOURCES)
libfxtentries_la_CPPFLAGS = $(FXT_CPPFLAGS)
libfxtentries_la_CFLAGS = $(libfxtagent_la_CFLAGS) -mgeneral-regs-only -fomit-frame-pointer
endif

# Automake puts these after a user's CPPFLAGS, so the two -U win over what a distribution's build sets there.
# Both macros rename the functions we define (read becomes __read_chk, open becomes open64).
#   initial-exec     any other model calls an allocator at a thread's first use, and the allocator is us
#   exceptions       without it a cancelled thread's cleanup handlers do not run through our wrappers
#   frame pointers   stacks are walked by them, through our own frames first
#   no-tree-slp-...  pairs of words of a record, put together in a vector register, would reach memory a
#                    nanosecond later
#   no-builtin-*     gcc would take our malloc for the one it knows, and delete or merge stores around it
libfxtagent_la_CFLAGS = -std=gnu11 $(WARN_CFLAGS) -O2 \
	-U_FORTIFY_SOURCE -U_FILE_OFFSET_BITS -fno-tree-slp-vectorize \
	-fvisibility=hidden -ftls-model=initial-exec -fexceptions -fno-omit-frame-pointer \
	-fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free \
	-fno-builtin-aligned_alloc -fno-builtin-posix_memalign

# -z now: lazy binding would run the loader, and take its lock, inside a signal handler.
# -z nodelete: threads may be in our code when somebody calls dlclose.
# -z defs and -static-libgcc: nothing but libc may be needed at run time.
libfxtagent_la_LDFLAGS = -module -avoid-version -shared -static-libgcc \
	-Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete -Wl,-z,defs -Wl,--as-needed \
	$(INTERPOSE_LDFLAGS) $(TABLES_LDFLAGS)
EXTRA_libfxtagent_la_DEPENDENCIES = $(INTERPOSE_EXPORTS_MAP) $(TABLES_SCRIPT)

# Large variables behind the small ones: writer/place.h.
TABLES_SCRIPT = $(srcdir)/agent/tables.ld
TABLES_LDFLAGS = -Wl,-T,$(TABLES_SCRIPT)
EXTRA_DIST += agent/tables.ld

# A preloaded library is never linked against: its .la file would only invite it.
install-exec-hook:
	rm -f $(DESTDIR)$(libdir)/libfxtagent.la

# Without the .la file libtool's own uninstall does not know the name.
uninstall-hook:
	rm -f $(DESTDIR)$(libdir)/libfxtagent.so
