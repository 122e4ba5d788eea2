# The files of interpose/ have the functions that stand in for the C library's. The tables (*.def) list these
# once; the preprocessor makes call numbers, wrappers, real pointers, and the tests of what is exported from
# them.

INTERPOSE_TABLES = \
	interpose/tables/aio.def \
	interpose/tables/calls.def \
	interpose/tables/child.def \
	interpose/tables/clone.def \
	interpose/tables/database.def \
	interpose/tables/dirent.def \
	interpose/tables/dl.def \
	interpose/tables/excluded.def \
	interpose/tables/exec.def \
	interpose/tables/exit.def \
	interpose/tables/families.def \
	interpose/tables/fcntl.def \
	interpose/tables/ipc.def \
	interpose/tables/kernel.def \
	interpose/tables/lock.def \
	interpose/tables/malloc.def \
	interpose/tables/memory.def \
	interpose/tables/netdb.def \
	interpose/tables/path.def \
	interpose/tables/poll.def \
	interpose/tables/process.def \
	interpose/tables/pthread.def \
	interpose/tables/pthread_cond.def \
	interpose/tables/pthread_control.def \
	interpose/tables/random.def \
	interpose/tables/session.def \
	interpose/tables/signal.def \
	interpose/tables/signal_delivery.def \
	interpose/tables/signal_mask.def \
	interpose/tables/socket.def \
	interpose/tables/spawn.def \
	interpose/tables/stat.def \
	interpose/tables/stat_path.def \
	interpose/tables/stdio.def \
	interpose/tables/stdio_char.def \
	interpose/tables/stdio_print.def \
	interpose/tables/stdio_scan.def \
	interpose/tables/sync.def \
	interpose/tables/syslog.def \
	interpose/tables/threads.def \
	interpose/tables/time.def \
	interpose/tables/timer.def \
	interpose/tables/unistd.def \
	interpose/tables/versioned.def

INTERPOSE_SOURCES = \
	interpose/engine/blocking.h \
	interpose/engine/calls.h \
	interpose/engine/descriptor_of.h \
	interpose/engine/each.h \
	interpose/engine/engine.h \
	interpose/engine/fd_results.h \
	interpose/engine/forms.h \
	interpose/engine/given.h \
	interpose/engine/interpose.h \
	interpose/engine/mapped.h \
	interpose/engine/next.c \
	interpose/engine/next.h \
	interpose/engine/object.h \
	interpose/engine/parameters.h \
	interpose/engine/quick.h \
	interpose/engine/readable.c \
	interpose/engine/readable.h \
	interpose/engine/real_syscall.c \
	interpose/engine/real.h \
	interpose/engine/reals.inc \
	interpose/engine/results.h \
	interpose/engine/roles.h \
	interpose/engine/rows.inc \
	interpose/engine/stderr_text.c \
	interpose/engine/stderr_text.h \
	interpose/engine/stdio_results.h \
	interpose/engine/syscall.h \
	interpose/engine/syscall_numbers.h \
	interpose/engine/text.c \
	interpose/engine/trampoline.c \
	interpose/engine/trampoline.h \
	interpose/engine/unrows.inc \
	interpose/engine/variadic.h \
	interpose/engine/versions.h \
	interpose/engine/wrappers.inc \
	interpose/files/aio.c \
	interpose/files/dirent.c \
	interpose/files/fcntl.c \
	interpose/files/path.c \
	interpose/files/poll.c \
	interpose/files/random.c \
	interpose/files/stat.c \
	interpose/files/stat_path.c \
	interpose/files/submit.h \
	interpose/files/unistd.c \
	interpose/functions/patch.c \
	interpose/functions/patch.h \
	interpose/functions/patch_sites.c \
	interpose/functions/patch_sites.h \
	interpose/functions/plt.c \
	interpose/functions/plt.h \
	interpose/memory/heap_sizes.c \
	interpose/memory/heap_sizes.h \
	interpose/memory/malloc.c \
	interpose/memory/memory.c \
	interpose/memory/spare.c \
	interpose/memory/spare.h \
	interpose/net/address.c \
	interpose/net/address.h \
	interpose/net/database.c \
	interpose/net/ipc.c \
	interpose/net/netdb.c \
	interpose/net/socket.c \
	interpose/process/argv.c \
	interpose/process/argv.h \
	interpose/process/child.c \
	interpose/process/clone.c \
	interpose/process/complete.c \
	interpose/process/complete.h \
	interpose/process/departure.c \
	interpose/process/departure.h \
	interpose/process/dl.c \
	interpose/process/exec.c \
	interpose/process/exit.c \
	interpose/process/exit.h \
	interpose/process/kernel.c \
	interpose/process/prctl.c \
	interpose/process/process.c \
	interpose/process/session.c \
	interpose/process/spawn.c \
	interpose/process/versioned.c \
	interpose/signals/fatal.c \
	interpose/signals/fatal.h \
	interpose/signals/signal.c \
	interpose/signals/signal.h \
	interpose/signals/signal_delivery.c \
	interpose/signals/signal_mask.c \
	interpose/signals/time.c \
	interpose/signals/timer.c \
	interpose/start.c \
	interpose/stdio/stdio.c \
	interpose/stdio/stdio_char.c \
	interpose/stdio/stdio_print.c \
	interpose/stdio/stdio_scan.c \
	interpose/stdio/syslog.c \
	interpose/syscall.c \
	interpose/threads/lock.c \
	interpose/threads/lock_wait.h \
	interpose/threads/pthread.c \
	interpose/threads/pthread_cond.c \
	interpose/threads/pthread_control.c \
	interpose/threads/sync.c \
	interpose/threads/sync.h \
	interpose/threads/thread_start.c \
	interpose/threads/thread_start.h \
	interpose/threads/threads.c

# What is exported is decided by visibility; the map has the two versions of pthread_cond_*.
INTERPOSE_LDFLAGS = -Wl,--version-script=$(srcdir)/interpose/engine/exports.map
INTERPOSE_EXPORTS_MAP = $(srcdir)/interpose/engine/exports.map
EXTRA_DIST += $(INTERPOSE_TABLES) interpose/engine/exports.map

HOOK_SOURCES = interpose/threads/cyg_profile.c

# Entries of functions, and the code in integer registers alone that they call.
ENTRY_SOURCES = interpose/functions/entries.S interpose/functions/entry.c interpose/functions/entry.h

INTERPOSE_FLAGS = $(DEFS) $(DEFAULT_INCLUDES) $(libfxtagent_la_CPPFLAGS) $(CPPFLAGS) \
	$(libfxtagent_la_CFLAGS) $(CFLAGS)

# interpose/argument_names.def has the names of arguments, as strings of every trace. It is made again when
# anything here has changed, and replaced only if it differs.
BUILT_SOURCES += interpose/argument_names.def
interpose/argument_names.def: interpose/argument_names.stamp
	@:
interpose/argument_names.stamp: $(INTERPOSE_SOURCES) $(INTERPOSE_TABLES) $(HOOK_SOURCES) \
		agent/base/strings.def interpose/engine/argument_names.sh
	$(AM_V_GEN)$(MKDIR_P) interpose && CC='$(CC)' FLAGS='$(INTERPOSE_FLAGS)' \
		$(SHELL) $(srcdir)/interpose/engine/argument_names.sh $(srcdir) \
		$(patsubst %,$(srcdir)/%,$(filter %.c,$(INTERPOSE_SOURCES) $(HOOK_SOURCES))) > $@.new
	@if cmp -s $@.new interpose/argument_names.def; then rm -f $@.new; \
		else mv $@.new interpose/argument_names.def; fi; touch $@
$(libfxtagent_la_OBJECTS) $(libfxthooks_la_OBJECTS) $(libfxtentries_la_OBJECTS): interpose/argument_names.def
CLEANFILES += interpose/argument_names.def interpose/argument_names.stamp
EXTRA_DIST += interpose/engine/argument_names.sh

# `make expand CALL=fsync` prints the functions that the row of a call expands to.
.PHONY: expand
expand: interpose/argument_names.def
	@CC='$(CC)' FLAGS='$(INTERPOSE_FLAGS)' \
		$(SHELL) $(srcdir)/interpose/engine/expand.sh '$(srcdir)' '$(CALL)'
EXTRA_DIST += interpose/engine/expand.sh
