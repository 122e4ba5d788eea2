# The functions that stand in for the C library's. The tables (*.def) list them once; call numbers, wrappers, real
# pointers, and the tests of what is exported are made from them by the preprocessor.

INTERPOSE_TABLES = \
	interpose/aio.def \
	interpose/signal_delivery.def \
	interpose/calls.def \
	interpose/child.def \
	interpose/clone.def \
	interpose/database.def \
	interpose/dirent.def \
	interpose/dl.def \
	interpose/excluded.def \
	interpose/exec.def \
	interpose/exit.def \
	interpose/families.def \
	interpose/fcntl.def \
	interpose/ipc.def \
	interpose/kernel.def \
	interpose/syslog.def \
	interpose/lock.def \
	interpose/malloc.def \
	interpose/memory.def \
	interpose/netdb.def \
	interpose/path.def \
	interpose/poll.def \
	interpose/process.def \
	interpose/pthread.def \
	interpose/pthread_cond.def \
	interpose/pthread_control.def \
	interpose/random.def \
	interpose/session.def \
	interpose/signal.def \
	interpose/signal_mask.def \
	interpose/socket.def \
	interpose/spawn.def \
	interpose/stat.def \
	interpose/stat_path.def \
	interpose/stdio.def \
	interpose/stdio_char.def \
	interpose/stdio_print.def \
	interpose/stdio_scan.def \
	interpose/threads.def \
	interpose/sync.def \
	interpose/time.def \
	interpose/timer.def \
	interpose/unistd.def \
	interpose/versioned.def

INTERPOSE_SOURCES = \
	interpose/address.c \
	interpose/address.h \
	interpose/aio.c \
	interpose/argv.c \
	interpose/argv.h \
	interpose/signal_delivery.c \
	interpose/calls.h \
	interpose/syscall.c \
	interpose/syscall.h \
	interpose/child.c \
	interpose/clone.c \
	interpose/complete.h \
	interpose/database.c \
	interpose/departure.c \
	interpose/departure.h \
	interpose/descriptor_of.h \
	interpose/dirent.c \
	interpose/dl.c \
	interpose/complete.c \
	interpose/exec.c \
	interpose/exit.c \
	interpose/exit.h \
	interpose/fcntl.c \
	interpose/each.h \
	interpose/engine.h \
	interpose/fd_results.h \
	interpose/forms.h \
	interpose/given.h \
	interpose/heap_sizes.c \
	interpose/heap_sizes.h \
	interpose/blocking.h \
	interpose/interpose.h \
	interpose/ipc.c \
	interpose/kernel.c \
	interpose/syslog.c \
	interpose/lock.c \
	interpose/lock_wait.h \
	interpose/malloc.c \
	interpose/mapped.h \
	interpose/memory.c \
	interpose/netdb.c \
	interpose/next.c \
	interpose/next.h \
	interpose/syscall_numbers.h \
	interpose/object.h \
	interpose/parameters.h \
	interpose/path.c \
	interpose/poll.c \
	interpose/process.c \
	interpose/pthread.c \
	interpose/pthread_cond.c \
	interpose/pthread_control.c \
	interpose/quick.h \
	interpose/random.c \
	interpose/readable.c \
	interpose/readable.h \
	interpose/real.h \
	interpose/reals.inc \
	interpose/results.h \
	interpose/roles.h \
	interpose/rows.inc \
	interpose/stderr_text.c \
	interpose/stderr_text.h \
	interpose/prctl.c \
	interpose/session.c \
	interpose/bus.c \
	interpose/bus.h \
	interpose/signal.c \
	interpose/signal.h \
	interpose/signal_mask.c \
	interpose/socket.c \
	interpose/spawn.c \
	interpose/start.c \
	interpose/stat.c \
	interpose/stat_path.c \
	interpose/stdio.c \
	interpose/stdio_char.c \
	interpose/stdio_print.c \
	interpose/stdio_scan.c \
	interpose/stdio_results.h \
	interpose/submit.h \
	interpose/sync.c \
	interpose/sync.h \
	interpose/text.c \
	interpose/thread_start.c \
	interpose/thread_start.h \
	interpose/threads.c \
	interpose/time.c \
	interpose/timer.c \
	interpose/trampoline.c \
	interpose/trampoline.h \
	interpose/unrows.inc \
	interpose/unistd.c \
	interpose/variadic.h \
	interpose/versioned.c \
	interpose/versions.h \
	interpose/wrappers.inc

# What is exported is decided by visibility; the map has the two versions of pthread_cond_*.
INTERPOSE_LDFLAGS = -Wl,--version-script=$(srcdir)/interpose/exports.map
INTERPOSE_EXPORTS_MAP = $(srcdir)/interpose/exports.map
EXTRA_DIST += $(INTERPOSE_TABLES) interpose/exports.map

HOOK_SOURCES = interpose/cyg_profile.c

INTERPOSE_FLAGS = $(DEFS) $(DEFAULT_INCLUDES) $(libfxtagent_la_CPPFLAGS) $(CPPFLAGS) $(libfxtagent_la_CFLAGS) $(CFLAGS)

# The names of arguments, as strings of every trace. Made again when anything here has changed, and replaced only if it differs.
BUILT_SOURCES += interpose/argument_names.def
interpose/argument_names.def: interpose/argument_names.stamp
	@:
interpose/argument_names.stamp: $(INTERPOSE_SOURCES) $(INTERPOSE_TABLES) $(HOOK_SOURCES) agent/base/strings.def interpose/argument_names.sh
	$(AM_V_GEN)$(MKDIR_P) interpose && CC='$(CC)' FLAGS='$(INTERPOSE_FLAGS)' $(SHELL) $(srcdir)/interpose/argument_names.sh $(srcdir) \
		$(patsubst %,$(srcdir)/%,$(filter %.c,$(INTERPOSE_SOURCES) $(HOOK_SOURCES))) > $@.new
	@if cmp -s $@.new interpose/argument_names.def; then rm -f $@.new; else mv $@.new interpose/argument_names.def; fi; touch $@
$(libfxtagent_la_OBJECTS) $(libfxthooks_la_OBJECTS): interpose/argument_names.def
CLEANFILES += interpose/argument_names.def interpose/argument_names.stamp
EXTRA_DIST += interpose/argument_names.sh

# What becomes of a row of the tables: `make expand CALL=fsync` prints its functions.
.PHONY: expand
expand: interpose/argument_names.def
	@CC='$(CC)' FLAGS='$(INTERPOSE_FLAGS)' \
		$(SHELL) $(srcdir)/interpose/expand.sh '$(srcdir)' '$(CALL)'
EXTRA_DIST += interpose/expand.sh
