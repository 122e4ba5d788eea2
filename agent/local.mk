# libfxtagent.so, the library that is preloaded: agent/, interpose/ and writer/ in one shared object.

AGENT_SOURCES = \
	agent/agent.c \
	agent/agent.h \
	agent/async.c \
	agent/async.h \
	agent/bind.c \
	agent/bind.h \
	agent/blocks.c \
	agent/blocks.h \
	agent/categories.def \
	agent/clock.c \
	agent/clock.h \
	agent/config.c \
	agent/config.h \
	agent/control.c \
	agent/control.h \
	agent/counter.c \
	agent/counter.h \
	agent/deferred.c \
	agent/deferred.h \
	agent/descriptor.c \
	agent/descriptor.h \
	agent/emit.c \
	agent/endpoint.c \
	agent/endpoint.h \
	agent/emit.h \
	agent/error_text.c \
	agent/error_text.h \
	agent/explain.c \
	agent/explain.h \
	agent/fd_slots.c \
	agent/fd_slots.h \
	agent/fdinfo.c \
	agent/fdinfo.h \
	agent/fds.c \
	agent/fds.h \
	agent/flow.c \
	agent/flow.h \
	agent/follow.c \
	agent/follow.h \
	agent/follow_glob.c \
	agent/follow_glob.h \
	agent/fork.c \
	agent/fork.h \
	agent/function.c \
	agent/function.h \
	agent/held.c \
	agent/held.h \
	agent/heap.h \
	agent/koid.c \
	agent/koid.h \
	agent/kin.c \
	agent/kin.h \
	agent/kin_entry.h \
	agent/label.c \
	agent/label.h \
	agent/label_owed.c \
	agent/label_owed.h \
	agent/label_table.c \
	agent/label_table.h \
	agent/label_text.c \
	agent/lane.c \
	agent/life.c \
	agent/life.h \
	agent/loaded.c \
	agent/loaded.h \
	agent/log.c \
	agent/log.h \
	agent/mappings.c \
	agent/mappings.h \
	agent/memory_life.c \
	agent/memory_life.h \
	agent/module.c \
	agent/module.h \
	agent/open.c \
	agent/open.h \
	agent/output.c \
	agent/output.h \
	agent/printf.c \
	agent/printf.h \
	agent/reach.h \
	agent/requests.c \
	agent/requests.h \
	agent/said.c \
	agent/said.h \
	agent/sample.c \
	agent/sample.h \
	agent/seccomp.c \
	agent/seccomp.h \
	agent/sent.c \
	agent/sent.h \
	agent/shared.c \
	agent/shared.h \
	agent/stack.h \
	agent/strings.def \
	agent/stream.c \
	agent/stream.h \
	agent/stream_names.c \
	agent/stream_table.h \
	agent/symbols.c \
	agent/symbols.h \
	agent/thread.c \
	agent/thread_chunks.c \
	agent/thread_name.c \
	agent/threads.h \
	agent/transfer.c \
	agent/transfer.h \
	agent/trigger.c \
	agent/trigger.h \
	agent/wait.c \
	agent/wait.h \
	agent/watch.c

lib_LTLIBRARIES += libfxtagent.la
libfxtagent_la_SOURCES = $(AGENT_SOURCES) $(INTERPOSE_SOURCES) $(WRITER_SOURCES)
libfxtagent_la_CPPFLAGS = $(AGENT_CPPFLAGS)
libfxtagent_la_LIBADD = libfxthooks.la

# What instrumented functions call, twice each: without a frame of its own.
noinst_LTLIBRARIES += libfxthooks.la
libfxthooks_la_SOURCES = $(HOOK_SOURCES)
libfxthooks_la_CPPFLAGS = $(AGENT_CPPFLAGS)
libfxthooks_la_CFLAGS = $(libfxtagent_la_CFLAGS) -fomit-frame-pointer

# Automake puts these after a user's CPPFLAGS, so the two -U win over what a distribution's build sets there.
# Both macros rename the functions we define (read becomes __read_chk, open becomes open64).
#   initial-exec     any other model calls an allocator at a thread's first use, which is us
#   exceptions       or a cancelled thread's cleanup handlers do not run through our wrappers
#   frame pointers   stacks are walked by them, through our own frames first
#   no-tree-slp-...  pairs of words of a record, put together in a vector register, reach memory a nanosecond later
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
	$(INTERPOSE_LDFLAGS)
EXTRA_libfxtagent_la_DEPENDENCIES = $(INTERPOSE_EXPORTS_MAP)

# A preloaded library is never linked against: its .la file would only invite it.
install-exec-hook:
	rm -f $(DESTDIR)$(libdir)/libfxtagent.la

# Without the .la file libtool's own uninstall does not know the name.
uninstall-hook:
	rm -f $(DESTDIR)$(libdir)/libfxtagent.so
