# The tests: unit tests of the writer and the reader, small programs to trace, and end-to-end scripts that
# trace them. `make bench` and `make fuzz` are here too; neither is part of `make check`.

# -- Unit tests: tests/NAME.c, linked with the writer and Check -------------------------------------

if HAVE_CHECK
UNIT_TESTS = \
	tests/check_block_table \
	tests/check_buffer \
	tests/check_buffer_file \
	tests/check_buffer_model \
	tests/check_call_samples \
	tests/check_child \
	tests/check_clock \
	tests/check_config \
	tests/check_encode \
	tests/check_encode_limits \
	tests/check_filter \
	tests/check_labels \
	tests/check_leave \
	tests/check_left \
	tests/check_managed \
	tests/check_mappings \
	tests/check_module \
	tests/check_owed \
	tests/check_own_files \
	tests/check_place \
	tests/check_poisson \
	tests/check_process_stat \
	tests/check_refused \
	tests/check_rewrite \
	tests/check_ring \
	tests/check_senders \
	tests/check_signals \
	tests/check_stack_nodes \
	tests/check_stream \
	tests/check_stream_races \
	tests/check_sys \
	tests/check_task_life \
	tests/check_talk \
	tests/check_told \
	tests/check_unwind \
	tests/check_unwind_tables \
	tests/check_utf8 \
	tests/check_wait \
	tests/check_zone
tests_check_zone_SOURCES = tests/check_zone.c agent/clock/zone.c
tests_check_zone_CPPFLAGS = $(FXT_CPPFLAGS)
tests_check_block_table_SOURCES = tests/check_block_table.c agent/objects/block_table.c \
	agent/base/growing_table.c
tests_check_block_table_CPPFLAGS = $(FXT_CPPFLAGS)
tests_check_buffer_SOURCES = tests/check_buffer.c tests/buffer_fixture.h
tests_check_buffer_file_SOURCES = tests/check_buffer_file.c tests/buffer_fixture.h
tests_check_buffer_model_SOURCES = tests/check_buffer_model.c tests/buffer_fixture.h tests/apps/random.h
tests_check_child_SOURCES = tests/check_child.c $(AGENT_SOURCES) $(WRITER_SOURCES)
if X86_64
tests_check_child_SOURCES += interpose/functions/entry.c interpose/functions/return_word.c
endif
tests_check_child_CPPFLAGS = $(FXT_CPPFLAGS)
tests_check_child_CFLAGS = $(libfxtagent_la_CFLAGS)
tests_check_child_LDFLAGS = -pthread $(TABLES_LDFLAGS)
tests_check_child_LDADD = $(CHECK_LIBS)
EXTRA_DIST += tests/child.table
MANAGED_FIXTURE = tests/managed_fixture.h tests/apps/random.h tests/apps/unseen.h tests/suite.h
tests_check_leave_SOURCES = tests/check_leave.c tests/leave_fixture.h $(MANAGED_FIXTURE)
tests_check_left_SOURCES = tests/check_left.c tests/leave_fixture.h $(MANAGED_FIXTURE)
tests_check_managed_SOURCES = tests/check_managed.c $(MANAGED_FIXTURE)
tests_check_mappings_SOURCES = tests/check_mappings.c agent/objects/mappings.c tests/apps/random.h \
	tests/apps/unseen.h
tests_check_mappings_CPPFLAGS = $(FXT_CPPFLAGS)
tests_check_owed_SOURCES = tests/check_owed.c agent/objects/label_owed.c tests/apps/random.h \
	tests/apps/unseen.h
tests_check_owed_CPPFLAGS = $(FXT_CPPFLAGS)
tests_check_place_SOURCES = tests/check_place.c tests/apps/random.h tests/apps/unseen.h
tests_check_ring_SOURCES = tests/check_ring.c tests/apps/random.h tests/apps/unseen.h
tests_check_senders_SOURCES = tests/check_senders.c agent/arrows/signal_senders.c
tests_check_senders_CPPFLAGS = $(FXT_CPPFLAGS)
tests_check_stack_nodes_SOURCES = tests/check_stack_nodes.c agent/stacks/stack_nodes.c \
	agent/base/growing_table.c tests/apps/random.h tests/apps/unseen.h
tests_check_stack_nodes_CPPFLAGS = $(FXT_CPPFLAGS)
tests_check_task_life_SOURCES = tests/check_task_life.c agent/arrows/task_life.c agent/base/growing_table.c \
	agent/emit/emit.c tests/apps/random.h tests/apps/unseen.h
# With the assertions, so that no record is longer than what was reserved for it.
tests_check_task_life_CPPFLAGS = $(FXT_CPPFLAGS) -DFXT_CHECKING
# These answer the writer's system calls themselves.
SYSCALLS_CPPFLAGS = $(AM_CPPFLAGS) -DFXT_SYSCALL_ELSEWHERE
tests_check_own_files_SOURCES = tests/check_own_files.c tests/syscalls_fixture.h tests/buffer_fixture.h \
	tests/apps/random.h tests/apps/unseen.h $(WRITER_SOURCES)
tests_check_own_files_CPPFLAGS = $(SYSCALLS_CPPFLAGS)
tests_check_own_files_LDADD = $(CHECK_LIBS)
tests_check_sys_SOURCES = tests/check_sys.c tests/syscalls_fixture.h tests/apps/random.h $(WRITER_SOURCES)
tests_check_sys_CPPFLAGS = $(SYSCALLS_CPPFLAGS)
tests_check_sys_LDADD = $(CHECK_LIBS)
tests_check_refused_SOURCES = tests/check_refused.c tests/syscalls_fixture.h tests/buffer_fixture.h \
	tests/apps/random.h tests/apps/unseen.h $(WRITER_SOURCES)
tests_check_refused_CPPFLAGS = $(SYSCALLS_CPPFLAGS)
tests_check_refused_LDADD = $(CHECK_LIBS)
tests_check_talk_SOURCES = tests/check_talk.c tests/syscalls_fixture.h $(MANAGED_FIXTURE) $(WRITER_SOURCES)
tests_check_talk_CPPFLAGS = $(SYSCALLS_CPPFLAGS)
tests_check_talk_LDADD = $(CHECK_LIBS)
tests_check_told_SOURCES = tests/check_told.c agent/emit/call_stack.c agent/emit/emit.c \
	agent/stacks/stack_nodes.c agent/base/growing_table.c tests/apps/random.h tests/apps/unseen.h
tests_check_told_CPPFLAGS = $(FXT_CPPFLAGS) -DFXT_CHECKING
tests_check_module_SOURCES = tests/check_module.c agent/names/module.c tests/apps/random.h tests/apps/unseen.h
tests_check_module_CPPFLAGS = $(FXT_CPPFLAGS)
tests_check_rewrite_SOURCES = tests/check_rewrite.c tests/buffer_fixture.h
tests_check_signals_SOURCES = tests/check_signals.c
# The parts of the agent that read its configuration.
tests_check_config_SOURCES = tests/check_config.c agent/process/config.c agent/process/stack_config.c \
	agent/process/follow.c agent/process/follow_glob.c agent/process/follow_library.c \
	agent/process/follow_program.c \
	agent/base/category_list.c agent/base/glob.c \
	agent/base/loaded.c agent/base/log.c agent/base/output.c agent/base/run_key.c agent/base/trigger.c \
	agent/names/caller_list.c agent/names/function_filter.c
tests_check_config_CPPFLAGS = $(FXT_CPPFLAGS)
# It has the file's text in it.
tests_check_clock_SOURCES = tests/check_clock.c
tests_check_clock_CPPFLAGS = $(FXT_CPPFLAGS)
tests_check_filter_SOURCES = tests/check_filter.c agent/names/function_filter.c agent/base/glob.c
tests_check_filter_CPPFLAGS = $(FXT_CPPFLAGS)
tests_check_call_samples_SOURCES = tests/check_call_samples.c agent/stacks/call_samples.c \
	agent/stacks/poisson.c
tests_check_call_samples_CPPFLAGS = $(FXT_CPPFLAGS)
tests_check_call_samples_LDADD = $(CHECK_LIBS) -lm
tests_check_poisson_SOURCES = tests/check_poisson.c agent/stacks/poisson.c
tests_check_poisson_CPPFLAGS = $(FXT_CPPFLAGS)
tests_check_poisson_LDADD = $(CHECK_LIBS) -lm
tests_check_labels_SOURCES = tests/check_labels.c agent/objects/label_table.c agent/base/growing_table.c
tests_check_labels_CPPFLAGS = $(FXT_CPPFLAGS)
tests_check_unwind_SOURCES = tests/check_unwind.c agent/base/growing_table.c agent/base/loaded.c \
	agent/stacks/code.c agent/stacks/code_module.c agent/stacks/load_number.c agent/stacks/unwind.c
tests_check_unwind_CPPFLAGS = $(FXT_CPPFLAGS)
tests_check_unwind_tables_SOURCES = tests/check_unwind_tables.c tests/unwind_rows.h agent/stacks/unwind.c
tests_check_unwind_tables_CPPFLAGS = $(FXT_CPPFLAGS)
tests_check_stream_SOURCES = tests/check_stream.c tests/stream_fixture.h agent/descriptors/byte_stream.c \
	agent/descriptors/byte_stream_names.c
tests_check_stream_CPPFLAGS = $(FXT_CPPFLAGS)
tests_check_stream_races_SOURCES = tests/check_stream_races.c tests/stream_fixture.h \
	agent/descriptors/byte_stream.c agent/descriptors/byte_stream_names.c
tests_check_stream_races_CPPFLAGS = $(FXT_CPPFLAGS)
tests_check_wait_SOURCES = tests/check_wait.c agent/arrows/wait.c agent/base/growing_table.c
tests_check_wait_CPPFLAGS = $(FXT_CPPFLAGS)
endif
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
EXTRA_DIST += tests/suite.h

# -- The buffer under the thread sanitizer, and under the others where the tree is configured for them --

RACE_FILES = tests/race_buffer.c $(WRITER_SOURCES)
RACE_TESTS = tests/race_buffer
if ENABLE_SANITIZERS
RACE_TESTS += tests/race_memory
endif
check_DATA = $(RACE_TESTS)
TESTS += $(RACE_TESTS)
# It does not know fences, and gcc says so: it takes nothing for ordered by them, which hides nothing.
RACE_CC = $(MKDIR_P) tests && $(CC) $(DEFS) $(DEFAULT_INCLUDES) $(FXT_CPPFLAGS) $(CPPFLAGS) \
	-DFXT_SYSCALL_ELSEWHERE -std=gnu11 $(WARN_CFLAGS) $(TSAN_CFLAGS) -g -O1 -pthread \
	-o $@ $(filter %.c,$^) $(LDFLAGS)

tests/race_buffer: $(RACE_FILES)
if HAVE_TSAN
	$(AM_V_CCLD)$(RACE_CC) -fsanitize=thread
else
	$(AM_V_GEN)$(MKDIR_P) tests && \
	{ echo '#!/bin/sh'; echo 'echo "no thread sanitizer that runs here"; exit 77'; } >$@ && chmod +x $@
endif

tests/race_memory: $(RACE_FILES)
	$(AM_V_CCLD)$(RACE_CC) $(SANITIZER_FLAGS)

CLEANFILES += tests/race_buffer tests/race_memory
EXTRA_DIST += tests/race_buffer.c

# -- The emission path against a model: the agent itself without wrappers, with its assertions ---------
# A minute in `make check`; `tests/model_emission --seconds 3600` for as long as you like.

check_PROGRAMS += tests/model_emission
TESTS += tests/model_emission
tests_model_emission_SOURCES = tests/model/model_emission.c tests/model/model.h tests/model/forks.c \
	tests/model/records.c tests/model/storage.c tests/model/check.c $(AGENT_SOURCES) $(WRITER_SOURCES)
if X86_64
tests_model_emission_SOURCES += interpose/functions/entry.c interpose/functions/return_word.c
endif
tests_model_emission_CPPFLAGS = $(FXT_CPPFLAGS) -DFXT_CHECKING
tests_model_emission_CFLAGS = $(libfxtagent_la_CFLAGS) -g
tests_model_emission_LDFLAGS = -pthread $(TABLES_LDFLAGS)
tests_model_emission_LDADD =

# -- Walks over stacks, beside those of libunwind: tests/e2e/walks.sh runs it --------------------------

# It is compiled as the agent is, without sanitizers: it follows the stacks of signal handlers at any
# instruction.
if HAVE_LIBUNWIND
if X86_64
check_PROGRAMS += tests/check_walks
endif
endif
tests_check_walks_SOURCES = tests/check_walks.c tests/walks.h agent/base/growing_table.c agent/base/loaded.c \
	agent/stacks/code.c agent/stacks/code_module.c agent/stacks/load_number.c \
	agent/stacks/return_thunk.c agent/stacks/stack_nodes.c agent/stacks/stack_walk.c \
	agent/stacks/unwind.c $(WRITER_SOURCES)
tests_check_walks_CPPFLAGS = $(FXT_CPPFLAGS)
tests_check_walks_CFLAGS = $(libfxtagent_la_CFLAGS) $(LIBUNWIND_CFLAGS)
tests_check_walks_LDFLAGS = -pthread
tests_check_walks_LDADD = $(LIBUNWIND_LIBS) -ldl

# That the model finds faults, planted one at a time.
.PHONY: plants
plants:
	@$(TEST_EXPORTS) exec bash $(srcdir)/tests/model/plants.sh

PLANT_FILES = \
	tests/model/plants.sh \
	tests/model/plants/attached-twice.patch \
	tests/model/plants/begin-noted-elsewhere.patch \
	tests/model/plants/durable-in-child.patch \
	tests/model/plants/frame-clobbered.patch \
	tests/model/plants/header-before-filler.patch \
	tests/model/plants/hold-given-back-early.patch \
	tests/model/plants/lanes-kept-at-fork.patch \
	tests/model/plants/lost-wipe-at-fork.patch \
	tests/model/plants/lowered-too-early.patch \
	tests/model/plants/named-before-told.patch \
	tests/model/plants/node-not-told.patch \
	tests/model/plants/return-word-lost.patch \
	tests/model/plants/room-one-word-short.patch \
	tests/model/plants/slots-read-once.patch \
	tests/model/plants/stack-not-reserved.patch \
	tests/model/plants/stack-of-a-left-call.patch \
	tests/model/plants/state-half-entered.patch \
	tests/model/plants/store-behind-chunk.patch \
	tests/model/plants/told-in-parent.patch \
	tests/model/plants/turn-not-blocked.patch
EXTRA_DIST += $(PLANT_FILES)

# -- Programs to trace: tests/apps/NAME.c or NAME.cc, one file each ----------------------------------
# Built by a rule of their own and not by automake's, so that they are ordinary programs, also in a tree
# configured with --enable-sanitizers: the agent cannot be preloaded into an instrumented one.
# A program that needs more says so: tests/apps/NAME: APP_FLAGS = -finstrument-functions

APPS_C = \
	tests/apps/allocator \
	tests/apps/alone \
	tests/apps/amounts \
	tests/apps/awaits \
	tests/apps/bad_arguments \
	tests/apps/branches \
	tests/apps/burns \
	tests/apps/call_trees \
	tests/apps/call_stacks \
	tests/apps/busy \
	tests/apps/by_hand \
	tests/apps/causes \
	tests/apps/chain \
	tests/apps/clocks \
	tests/apps/comes_back \
	tests/apps/controlled \
	tests/apps/coroutines \
	tests/apps/preempts \
	tests/apps/migrates \
	tests/apps/fibers \
	tests/apps/crowds \
	tests/apps/crashes \
	tests/apps/cut \
	tests/apps/deadlock \
	tests/apps/descriptors \
	tests/apps/descriptor_races \
	tests/apps/ends \
	tests/apps/executes_bare \
	tests/apps/count_calls \
	tests/apps/count_databases \
	tests/apps/count_files \
	tests/apps/count_io \
	tests/apps/count_io_fortified \
	tests/apps/count_net \
	tests/apps/count_numbers \
	tests/apps/count_others \
	tests/apps/count_pages \
	tests/apps/count_costs \
	tests/apps/count_paths \
	tests/apps/count_signals \
	tests/apps/count_streams \
	tests/apps/count_threads \
	tests/apps/follow_exec \
	tests/apps/follow_fork \
	tests/apps/runs \
	tests/apps/holds \
	tests/apps/host_cancel \
	tests/apps/host_cancel_locks \
	tests/apps/host_control \
	tests/apps/host_all_numbers \
	tests/apps/host_cut \
	tests/apps/host_fds \
	tests/apps/host_frees \
	tests/apps/host_limits \
	tests/apps/host_overflow \
	tests/apps/host_loader \
	tests/apps/host_locks \
	tests/apps/host_malloc \
	tests/apps/host_maps \
	tests/apps/host_memory \
	tests/apps/host_number \
	tests/apps/host_paths \
	tests/apps/host_pointers \
	tests/apps/host_process \
	tests/apps/host_registered \
	tests/apps/host_sanitized \
	tests/apps/host_filtered \
	tests/apps/host_killed_ending \
	tests/apps/host_owned \
	tests/apps/host_ranges \
	tests/apps/host_seccomp \
	tests/apps/host_start \
	tests/apps/host_stderr \
	tests/apps/host_threads \
	tests/apps/host_unmaps \
	tests/apps/host_vforks \
	tests/apps/hops \
	tests/apps/inlined \
	tests/apps/invariants \
	tests/apps/jumps \
	tests/apps/just_returned \
	tests/apps/parents \
	tests/apps/many_functions \
	tests/apps/modes \
	tests/apps/naps \
	tests/apps/nests \
	tests/apps/inherits \
	tests/apps/lifetimes \
	tests/apps/listens \
	tests/apps/lock_order \
	tests/apps/locks_memory \
	tests/apps/losses \
	tests/apps/lost_connections \
	tests/apps/made_list \
	tests/apps/ring_stacks \
	tests/apps/makes_code \
	tests/apps/objects \
	tests/apps/objects_blocks \
	tests/apps/noted \
	tests/apps/obeys \
	tests/apps/lasts \
	tests/apps/often \
	tests/apps/outlives \
	tests/apps/owns \
	tests/apps/pools \
	tests/apps/process \
	tests/apps/progress \
	tests/apps/quiet \
	tests/apps/rounds \
	tests/apps/same_number \
	tests/apps/repairable \
	tests/apps/says \
	tests/apps/scribble \
	tests/apps/sequence \
	tests/apps/signalled \
	tests/apps/silent \
	tests/apps/slow \
	tests/apps/spends \
	tests/apps/handlers \
	tests/apps/stepped \
	tests/apps/steps \
	tests/apps/streams \
	tests/apps/streams_odd \
	tests/apps/stuck \
	tests/apps/tells \
	tests/apps/waits_to_open \
	tests/apps/thread_names \
	tests/apps/threads \
	tests/apps/throng \
	tests/apps/rings \
	tests/apps/time_spaces \
	tests/apps/unreaped \
	tests/apps/workers
APPS_CXX = \
	tests/apps/fiber_crowd \
	tests/apps/leaks \
	tests/apps/locks_itself \
	tests/apps/peaks \
	tests/apps/allocates \
	tests/apps/throws
APPS_SHARED = tests/apps/ask_for_snapshot.h tests/apps/asleep.h tests/apps/counts.h tests/apps/host.h \
	tests/apps/lifetimes.h tests/apps/lifetimes_uses.c \
	tests/apps/need.h tests/apps/objects.h tests/apps/random.h \
	tests/apps/steps.h tests/apps/steps_calls.c tests/apps/unseen.h

tests/apps/busy tests/apps/call_trees tests/apps/controlled tests/apps/count_calls \
tests/apps/coroutines tests/apps/cut tests/apps/fibers tests/apps/migrates \
tests/apps/ends tests/apps/jumps tests/apps/losses tests/apps/nests \
tests/apps/slow: APP_FLAGS = -finstrument-functions
# What the C++ library's headers define is none of the program's functions.
tests/apps/fiber_crowd: APP_FLAGS = -finstrument-functions \
	-finstrument-functions-exclude-file-list=/usr/include,/usr/lib
tests/apps/alone: APP_FLAGS = -nostdlib -static -fno-stack-protector
tests/apps/alone: tests/apps/unseen.h
# The checking variants are called in optimised code only.
tests/apps/count_io_fortified: APP_FLAGS = -O2
# Frames of all kinds are what optimised code has.
tests/apps/call_stacks: APP_FLAGS = -O2
# Stacks go on behind code without unwind tables, though what calls it has no frame pointers.
tests/apps/by_hand tests/apps/made_list tests/apps/makes_code tests/apps/ring_stacks tests/apps/stuck: \
	APP_FLAGS = -O2
# Programs whose faults a report names by lines of source.
tests/apps/crashes tests/apps/leaks tests/apps/locks_itself tests/apps/peaks: APP_FLAGS = -O2 -g
$(filter tests/apps/count_%,$(APPS_C)): tests/apps/counts.h tests/apps/random.h tests/apps/unseen.h
tests/apps/same_number \
tests/apps/busy tests/apps/by_hand tests/apps/call_stacks tests/apps/call_trees tests/apps/descriptor_races \
tests/apps/descriptors tests/apps/fiber_crowd tests/apps/fibers tests/apps/host_fds tests/apps/makes_code \
tests/apps/made_list tests/apps/ring_stacks \
tests/apps/host_number tests/apps/host_ranges tests/apps/host_unmaps tests/apps/inherits tests/apps/listens \
tests/apps/nests \
tests/apps/host_filtered tests/apps/host_killed_ending \
tests/apps/hops \
tests/apps/many_functions tests/apps/modes tests/apps/progress \
tests/apps/host_all_numbers tests/apps/host_registered \
tests/apps/lost_connections tests/apps/tells tests/apps/threads \
tests/apps/throng: \
	tests/apps/random.h tests/apps/unseen.h
tests/apps/awaits tests/apps/burns tests/apps/busy tests/apps/by_hand tests/apps/call_trees \
	tests/apps/causes tests/apps/coroutines tests/apps/ends tests/apps/fiber_crowd tests/apps/fibers \
	tests/apps/made_list tests/apps/makes_code tests/apps/ring_stacks \
	tests/apps/follow_fork tests/apps/handlers tests/apps/jumps tests/apps/just_returned \
	tests/apps/parents \
	tests/apps/locks_memory tests/apps/nests tests/apps/pools tests/apps/process tests/apps/progress \
	tests/apps/quiet tests/apps/stepped \
	tests/apps/streams tests/apps/streams_odd tests/apps/stuck tests/apps/tells \
	tests/apps/thread_names tests/apps/threads tests/apps/waits_to_open: \
	tests/apps/need.h
tests/apps/causes tests/apps/chain tests/apps/deadlock tests/apps/just_returned tests/apps/losses \
tests/apps/pools \
tests/apps/quiet tests/apps/stepped: tests/apps/unseen.h
tests/apps/bad_arguments: tests/apps/random.h tests/apps/unseen.h
tests/apps/bad_arguments tests/apps/count_numbers: $(addprefix $(top_srcdir)/,$(INTERPOSE_TABLES)) \
	$(top_srcdir)/interpose/engine/syscall_numbers.h
$(filter tests/apps/host_%,$(APPS_C)) tests/apps/workers: tests/apps/host.h
tests/apps/causes tests/apps/chain tests/apps/deadlock tests/apps/modes tests/apps/pools \
tests/apps/quiet: tests/apps/asleep.h
tests/apps/descriptors tests/apps/progress: tests/apps/ask_for_snapshot.h
tests/apps/count_io_fortified: tests/apps/count_io.c
tests/apps/crashes: tests/apps/crashes_library.h tests/apps/need.h tests/apps/libcrashes.so
tests/apps/crashes: APP_LIBS = -Ltests/apps -lcrashes -Wl,-rpath,'$$ORIGIN'
# The stack goes on behind code without frame pointers.
tests/apps/libcrashes.so: APP_FLAGS = -O2 -g -fomit-frame-pointer
tests/apps/libcrashes.so: tests/apps/crashes_library.c tests/apps/crashes_library.h
tests/apps/lifetimes: APP_MORE = $(top_srcdir)/tests/apps/lifetimes_uses.c
tests/apps/lifetimes: tests/apps/lifetimes_uses.c tests/apps/lifetimes.h

# The heap that handlers may use lies behind the agent.
tests/apps/steps: APP_MORE = $(top_srcdir)/tests/apps/steps_calls.c
tests/apps/steps: APP_FLAGS = -O2
tests/apps/steps: APP_LIBS = -Ltests/apps -Wl,--no-as-needed -lsteps_heap -Wl,-rpath,'$$ORIGIN'
tests/apps/steps: tests/apps/steps_calls.c tests/apps/steps.h tests/apps/need.h tests/apps/random.h \
	tests/apps/unseen.h tests/apps/libsteps_heap.so
# The compiler would make a call of calloc() of malloc() there.
tests/apps/libsteps_heap.so: APP_FLAGS = -O2 -fno-builtin
tests/apps/libsteps_heap.so: tests/apps/steps_heap.c

# Hostile conditions, and the libraries for them: one whose constructor comes before the agent's, one to be
# loaded, and one that says what a process has.
HOST_SO = tests/apps/libhost_early.so tests/apps/libhost_plugin.so tests/apps/libhost_witness.so \
	tests/apps/libsteps_heap.so tests/apps/libcrashes.so \
	tests/apps/libobjects_one.so tests/apps/libobjects_two.so
tests/apps/host_control tests/apps/host_seccomp \
tests/apps/libhost_plugin.so: APP_FLAGS = -finstrument-functions
# Resolving a function when it is first called takes more than the smallest of stacks has.
tests/apps/host_control tests/apps/host_overflow: APP_LIBS = -Wl,-z,now
tests/apps/libhost_early.so: APP_FLAGS = -DHOST_EARLY
tests/apps/host_start tests/apps/host_threads: tests/apps/libhost_early.so
tests/apps/host_start tests/apps/host_threads: APP_LIBS = -Ltests/apps -lhost_early -Wl,-rpath,'$$ORIGIN'

tests/apps/libhost_early.so tests/apps/libhost_plugin.so: tests/apps/host_library.c tests/apps/host.h
tests/apps/libhost_witness.so: tests/apps/host_witness.c
$(HOST_SO):
	$(AM_V_CCLD)$(MKDIR_P) tests/apps && \
	$(CC) $(FXT_CPPFLAGS) $(CPPFLAGS) -std=gnu11 $(WARN_CFLAGS) $(CFLAGS) $(APP_FLAGS) -pthread \
		-shared -fPIC -o $@ $< $(LDFLAGS)

# Names of functions and variables of the program, also when it is stripped; and two libraries that differ in
# those.
tests/apps/objects tests/apps/objects_blocks: APP_LIBS = -rdynamic
tests/apps/objects tests/apps/objects_blocks: tests/apps/objects.h
tests/apps/libobjects_one.so: APP_FLAGS = -DOF=one
tests/apps/libobjects_two.so: APP_FLAGS = -DOF=two
tests/apps/libobjects_one.so tests/apps/libobjects_two.so: tests/apps/objects_library.c

# The same program with an allocator of its own.
tests/apps/host_own_malloc: tests/apps/host_malloc.c tests/apps/host.h
	$(AM_V_CCLD)$(MKDIR_P) tests/apps && \
	$(CC) $(FXT_CPPFLAGS) $(CPPFLAGS) -std=gnu11 $(WARN_CFLAGS) $(CFLAGS) -DOWN_MALLOC \
		-fno-builtin -pthread -o $@ $< $(LDFLAGS)

check_DATA += $(HOST_SO) tests/apps/host_own_malloc
CLEANFILES += $(HOST_SO) tests/apps/host_own_malloc
# Compiled by the scripts that run them.
EXTRA_DIST += tests/apps/host_handlers.c tests/apps/host_locked.c tests/apps/host_names.c
EXTRA_DIST += tests/apps/plt_calls.c tests/apps/plt_lib.c
EXTRA_DIST += tests/apps/crashes_library.c tests/apps/crashes_library.h tests/apps/steps_heap.c
EXTRA_DIST += tests/apps/host_library.c tests/apps/host_witness.c tests/apps/objects_library.c
EXTRA_DIST += tests/apps/foreign.c tests/apps/early.c tests/apps/early_main.c

if HAVE_CXX
APPS = $(APPS_C) $(APPS_CXX)
else
APPS = $(APPS_C)
endif
check_DATA += $(APPS)

$(APPS_C): tests/apps/%: tests/apps/%.c
	$(AM_V_CCLD)$(MKDIR_P) tests/apps && \
	$(CC) $(FXT_CPPFLAGS) $(CPPFLAGS) -std=gnu11 $(WARN_CFLAGS) $(CFLAGS) $(APP_FLAGS) -pthread \
		-o $@ $< $(APP_MORE) $(LDFLAGS) $(APP_LIBS)

# The test of names needs debug information of this one, whatever the other programs have.
tests/apps/inlined: APP_FLAGS += -g -O2 -Wl,--build-id

$(APPS_CXX): tests/apps/%: tests/apps/%.cc
	$(AM_V_GEN)$(MKDIR_P) tests/apps && \
	$(CXX) $(CPPFLAGS) $(WARN_CXXFLAGS) $(CXXFLAGS) $(APP_FLAGS) -pthread \
		-o $@ $< $(LDFLAGS) $(APP_LIBS)

CLEANFILES += $(APPS_C) $(APPS_CXX)
EXTRA_DIST += $(APPS_C:=.c) $(APPS_CXX:=.cc) $(APPS_SHARED)

# -- End to end: each script traces something and looks at the trace. Exit status 77 means skipped ---

E2E_TESTS = \
	tests/check_categories.sh \
	tests/check_coverage.sh \
	tests/check_docs.sh \
	tests/check_expand.sh \
	tests/check_exports.sh \
	tests/check_mutate.sh \
	tests/check_registers.sh \
	tests/check_rooms.sh \
	tests/e2e/arguments.sh \
	tests/e2e/after.sh \
	tests/e2e/budget.sh \
	tests/e2e/callers.sh \
	tests/e2e/crashes.sh \
	tests/e2e/causes.sh \
	tests/e2e/ctf_reading.sh \
	tests/e2e/clock.sh \
	tests/e2e/config.sh \
	tests/e2e/connections.sh \
	tests/e2e/containers.sh \
	tests/e2e/copy.sh \
	tests/e2e/counters.sh \
	tests/e2e/counts.sh \
	tests/e2e/critical.sh \
	tests/e2e/convert.sh \
	tests/e2e/ctf.sh \
	tests/e2e/ctl.sh \
	tests/e2e/culprits.sh \
	tests/e2e/descriptors.sh \
	tests/e2e/diff.sh \
	tests/e2e/ends.sh \
	tests/e2e/entries.sh \
	tests/e2e/early.sh \
	tests/e2e/contrast.sh \
	tests/e2e/faults.sh \
	tests/e2e/fibers.sh \
	tests/e2e/preempts.sh \
	tests/e2e/migrates.sh \
	tests/e2e/follow.sh \
	tests/e2e/foreign.sh \
	tests/e2e/functions.sh \
	tests/e2e/handles.sh \
	tests/e2e/limits.sh \
	tests/e2e/healthy.sh \
	tests/e2e/idle.sh \
	tests/e2e/hostile.sh \
	tests/e2e/hosts_libraries.sh \
	tests/e2e/hosts_limits.sh \
	tests/e2e/hosts_process.sh \
	tests/e2e/hosts_same.sh \
	tests/e2e/hosts_seccomp.sh \
	tests/e2e/hosts_threads.sh \
	tests/e2e/invariants.sh \
	tests/e2e/cut.sh \
	tests/e2e/json.sh \
	tests/e2e/kill.sh \
	tests/e2e/kills.sh \
	tests/e2e/parents.sh \
	tests/e2e/lifetimes.sh \
	tests/e2e/lives.sh \
	tests/e2e/loader.sh \
	tests/e2e/long.sh \
	tests/e2e/losses.sh \
	tests/e2e/managed.sh \
	tests/e2e/mistakes.sh \
	tests/e2e/modes.sh \
	tests/e2e/objects.sh \
	tests/e2e/owns.sh \
	tests/e2e/page.sh \
	tests/e2e/page_drawn.sh \
	tests/e2e/perfetto.sh \
	tests/e2e/place.sh \
	tests/e2e/plt.sh \
	tests/e2e/progress.sh \
	tests/e2e/quiet.sh \
	tests/e2e/real.sh \
	tests/e2e/record.sh \
	tests/e2e/other_writers.sh \
	tests/e2e/report.sh \
	tests/e2e/says.sh \
	tests/e2e/sees.sh \
	tests/e2e/rings.sh \
	tests/e2e/serve.sh \
	tests/e2e/short.sh \
	tests/e2e/slow.sh \
	tests/e2e/stacks.sh \
	tests/e2e/stacks_change.sh \
	tests/e2e/steps.sh \
	tests/e2e/snapshot.sh \
	tests/e2e/sql.sh \
	tests/e2e/streams.sh \
	tests/e2e/terminal.sh \
	tests/e2e/texts.sh \
	tests/e2e/throngs.sh \
	tests/e2e/top.sh \
	tests/e2e/users.sh \
	tests/e2e/versions.sh \
	tests/e2e/walks.sh \
	tests/e2e/witness.sh
# What the scripts share, sourced or called by them.
E2E_HELPERS = tests/e2e/bounded.py tests/e2e/ctf_lib.sh tests/e2e/hostile.py \
	tests/e2e/critical.py \
	tests/e2e/cut.py tests/e2e/handles.py tests/e2e/hosts_lib.sh tests/e2e/json_fields.py \
	tests/e2e/junit.py \
	tests/e2e/lib.sh \
	tests/e2e/stacked.py \
	tests/e2e/controller.py tests/e2e/convert.py tests/e2e/ctf.py tests/e2e/fibers.py \
	tests/e2e/filters.py tests/e2e/kills.py \
	tests/e2e/manager.py tests/e2e/numbers.py tests/e2e/odd.py tests/e2e/other_writers.py \
	tests/e2e/sql.py \
	tests/e2e/browser.py tests/e2e/page.py tests/e2e/page_maker.py \
	tests/e2e/crashes.py tests/e2e/progress.py tests/e2e/sleeps.py tests/e2e/steps.py \
	tests/e2e/stuck.py tests/e2e/terminal.py tests/e2e/trace.py tests/e2e/walks.py
# The providers of managed.sh, which keep a model of what they write.
E2E_HELPERS += tests/manager/compare_archive.py tests/manager/hostile_providers.py \
	tests/manager/manager_side.py tests/manager/model_provider.py tests/manager/protocol.py \
	tests/manager/random_manager.py tests/manager/restless_manager.py \
	tests/manager/rounds_program.py tests/manager/seen_provider.py
# The programs that entries.sh compiles, and what compares their counts.
E2E_HELPERS += tests/e2e/ctf_compare.py tests/e2e/ctf_maker.py tests/e2e/ctf_writer.py tests/e2e/entries.py
EXTRA_DIST += tests/functions/args.c tests/functions/coroutines.c tests/functions/counted.h \
	tests/functions/dlopen.c tests/functions/dlopen_lib.c tests/functions/exceptions.cc \
	tests/functions/fork.c tests/functions/longjmp.c tests/functions/realigned.c \
	tests/functions/recursion.c tests/functions/registers.c tests/functions/signals.c \
	tests/functions/sleeps.c tests/functions/tailcalls.c tests/functions/templates.cc \
	tests/functions/threads.c tests/functions/uncaught.cc
# The programs of faults.sh, each with one fault, and the table of what is to be said of them.
EXTRA_DIST += tests/faults/accounts.c tests/faults/ask_clock.c tests/faults/audit_trail.c \
	tests/faults/batch_convert.c tests/faults/beside.h tests/faults/build_index.cc \
	tests/faults/build_stamp.c tests/faults/cart.c tests/faults/chat_loop.c \
	tests/faults/checksums.c tests/faults/collect.c tests/faults/control_pipe.c \
	tests/faults/line_feed.c tests/faults/stock_quotes.c tests/faults/word_lookup.c \
	tests/faults/count_cells.c tests/faults/crunch.c tests/faults/db_pool.c \
	tests/faults/digests.cc tests/faults/event_pump.c tests/faults/expected \
	tests/faults/export_pages.c tests/faults/filter_text.c tests/faults/find_header.c \
	tests/faults/frame_cache.c tests/faults/frame_queue.c tests/faults/front_door.c \
	tests/faults/health_check.c tests/faults/invoices.c tests/faults/job_board.c \
	tests/faults/job_runner.c tests/faults/journal.c tests/faults/key_store.c \
	tests/faults/ledger.c tests/faults/letters.c tests/faults/listener.c \
	tests/faults/log_shipper.c tests/faults/loopback.h tests/faults/mail_box.c \
	tests/faults/mail_report.cc tests/faults/match_lines.c tests/faults/metrics.c \
	tests/faults/name_pool.c tests/faults/notices.c tests/faults/open_gate.cc \
	tests/faults/order_book.c tests/faults/page_render.c tests/faults/page_sums.c \
	tests/faults/phases.c tests/faults/places.c tests/faults/plugins.c tests/faults/previews.c \
	tests/faults/price_list.cc tests/faults/price_server.c tests/faults/quote_feed.c \
	tests/faults/read_numbers.cc tests/faults/relay.c tests/faults/routes.cc \
	tests/faults/rules_tree.c tests/faults/seen_urls.c tests/faults/session_drop.c \
	tests/faults/session_table.c tests/faults/settings.c tests/faults/shared_session.cc \
	tests/faults/shared_stats.c tests/faults/sort_dates.c tests/faults/sort_names.c \
	tests/faults/spawn_worker.c tests/faults/spool.c tests/faults/swap_state.c \
	tests/faults/tail_pipe.c tests/faults/tail_sources.c tests/faults/thumb_pool.c \
	tests/faults/tiles.c tests/faults/till.c tests/faults/token_gate.c tests/faults/tokens.c \
	tests/faults/top_words.c tests/faults/two_ledgers.c tests/faults/warm_up.c \
	tests/faults/watchdog.c tests/faults/year_sums.c
TESTS += $(E2E_TESTS)
EXTRA_DIST += $(E2E_TESTS) $(E2E_HELPERS)

# Runs all tests once `make check TESTS=` has built them: those of single parts JOBS at a time, then those
# from end to end that compare what programs do, and not when, and then the others one after the other. Some
# of these need every core to provoke contention. The longest come first.
JOBS = 1
SIDE_BY_SIDE = $(patsubst %,tests/e2e/%.sh,hosts_process hosts_same hosts_seccomp hostile entries early \
	foreign functions hosts_libraries hosts_limits plt versions arguments loader config)
.PHONY: check-in-turn
check-in-turn:
	@status=0; \
	$(MAKE) $(AM_MAKEFLAGS) -j$(JOBS) check-TESTS TESTS='$(filter-out tests/e2e/%,$(TESTS))' || \
		status=1; \
	$(MAKE) $(AM_MAKEFLAGS) -j$(JOBS) check-TESTS \
		TESTS='$(filter $(E2E_TESTS),$(SIDE_BY_SIDE))' || status=1; \
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS \
		TESTS='$(filter-out $(SIDE_BY_SIDE),$(filter tests/e2e/%,$(TESTS)))' || status=1; \
	exit $$status

# Prints what the interposition tables declare; `make interposed-calls` makes the page about it from that.
check_PROGRAMS += tests/list_calls
tests_list_calls_LDADD =

.PHONY: interposed-calls
interposed-calls: tests/list_calls$(EXEEXT)
	tests/list_calls --document > $(srcdir)/docs/interposed-calls.md
EXTRA_DIST += docs/interposed-calls.md

# The page about the folders and what they include of each other, from the includes.
.PHONY: rooms
rooms:
	abs_top_srcdir=$(abs_top_srcdir) bash $(srcdir)/tests/check_rooms.sh --page > rooms.md.new
	mv rooms.md.new $(srcdir)/docs/rooms.md
EXTRA_DIST += docs/rooms.txt

TEST_EXTENSIONS = .sh
SH_LOG_COMPILER = bash
# It prints why a test failed, and what one that passed did.
LOG_DRIVER = $(SHELL) $(top_srcdir)/tests/driver
SH_LOG_DRIVER = $(LOG_DRIVER)
EXTRA_DIST += tests/driver

# What a script finds in its environment. A developer's own settings of the agent must not reach it.
TEST_EXPORTS = \
	abs_top_builddir='$(abs_top_builddir)'; export abs_top_builddir; \
	abs_top_srcdir='$(abs_top_srcdir)'; export abs_top_srcdir; \
	FXT='$(abs_top_builddir)/fxt'; export FXT; \
	CK_DEFAULT_TIMEOUT=120; export CK_DEFAULT_TIMEOUT; \
	PYTHONDONTWRITEBYTECODE=1; export PYTHONDONTWRITEBYTECODE; \
	FXT_AGENT='$(abs_top_builddir)/.libs/libfxtagent.so'; export FXT_AGENT; \
	CC='$(CC)'; export CC; CXX='$(CXX)'; export CXX; \
	unset FXT_CATEGORIES FXT_OUTPUT FXT_BUFFERING_MODE FXT_BUFFER_SIZE_MB FXT_MAX_SIZE_MB; \
	unset FXT_CALLERS FXT_DEPTH FXT_FILTER FXT_PATCH FXT_PLT FXT_STACKS; \
	unset FXT_THRESHOLD_NS FXT_EXPLAIN_NS FXT_ON_FULL FXT_QUIET FXT_FOLLOW FXT_START FXT_SIGNAL; \
	unset FXT_TRIGGER FXT_TRIGGER_KEEP; \
	unset FXT_HEAP_TRACK_BYTES FXT_SHARED FXT_NAMESPACE FXT_CLOCK FXT_MANAGER; \
	unset FXT_STORAGE FXT_SANITIZER FXT_BUDGET;
AM_TESTS_ENVIRONMENT = $(TEST_EXPORTS)

# -- Benchmarks -------------------------------------------------------------------------------------

# The measured program and the floor it is held against (tests/bench/floor.c), optimised whatever CFLAGS says.
BENCHES = tests/bench/workload tests/bench/libfxtfloor.so
BENCH_FILES = tests/bench/run tests/bench/workload.c tests/bench/instrumented.c tests/bench/floor.c
BENCH_CC = $(CC) -D_GNU_SOURCE= $(CPPFLAGS) -std=gnu11 $(WARN_CFLAGS) $(CFLAGS) -O2 -pthread

tests/bench/workload: tests/bench/workload.c tests/bench/instrumented.c
	$(AM_V_CCLD)$(MKDIR_P) tests/bench && \
	$(BENCH_CC) -finstrument-functions -c -o tests/bench/instrumented.o \
		$(srcdir)/tests/bench/instrumented.c && \
	$(BENCH_CC) -DNAME=profiled $(BENCH_PROFILED) -c -o tests/bench/profiled.o \
		$(srcdir)/tests/bench/instrumented.c && \
	$(BENCH_CC) -DNAME=patched -fpatchable-function-entry=5 -c -o tests/bench/patched.o \
		$(srcdir)/tests/bench/instrumented.c && \
	$(BENCH_CC) -DNAME=in_library -shared -fPIC -o tests/bench/libworkload.so \
		$(srcdir)/tests/bench/instrumented.c && \
	$(BENCH_CC) -o $@ $(srcdir)/tests/bench/workload.c tests/bench/instrumented.o \
		tests/bench/profiled.o tests/bench/patched.o -Ltests/bench -lworkload \
		-Wl,-rpath,$(abs_builddir)/tests/bench

tests/bench/libfxtfloor.so: tests/bench/floor.c
	$(AM_V_CCLD)$(MKDIR_P) tests/bench && \
	$(BENCH_CC) -shared -fPIC -fno-builtin-malloc -o $@ $(srcdir)/tests/bench/floor.c

BENCH_PROFILED = -pg
if X86_64
BENCH_PROFILED += -mfentry
endif

.PHONY: bench
bench: all $(BENCHES)
	@$(TEST_EXPORTS) python3 $(srcdir)/tests/bench/run $(abs_top_builddir) $(BENCH_REPEATS) && \
	exec python3 $(srcdir)/tests/bench/whole $(abs_top_builddir) $(BENCH_REPEATS)

# What short programs and calls cost with all that runs beside them, alone.
BENCH_FILES += tests/bench/whole

.PHONY: bench-whole
bench-whole: all $(BENCHES)
	@$(TEST_EXPORTS) exec python3 $(srcdir)/tests/bench/whole $(abs_top_builddir) $(BENCH_REPEATS)

# How fast large traces are read. It needs no floor, so it has a target of its own.
BENCH_FILES += tests/bench/readers tests/bench/reader_load.c

tests/bench/reader_load: tests/bench/reader_load.c
	$(AM_V_CCLD)$(MKDIR_P) tests/bench && $(BENCH_CC) -o $@ $(srcdir)/tests/bench/reader_load.c

.PHONY: bench-readers
bench-readers: all tests/bench/reader_load
	@$(TEST_EXPORTS) exec python3 $(srcdir)/tests/bench/readers tests/bench/reader_load

CLEANFILES += tests/bench/reader_load
CLEANFILES += $(BENCHES) tests/bench/instrumented.o tests/bench/profiled.o tests/bench/patched.o \
	tests/bench/libworkload.so
EXTRA_DIST += $(BENCH_FILES)

# -- Programs' own test suites, bare and traced: docs/suites.md -----------------------------------

SUITE_FILES = \
	tests/suites/bash.sh \
	tests/suites/coreutils.sh \
	tests/suites/postgres.sh \
	tests/suites/python.sh \
	tests/suites/redis.sh \
	tests/suites/run \
	tests/suites/sqlite.sh \
	tests/suites/stress.sh

.PHONY: suites
suites: all
	@$(TEST_EXPORTS) exec bash $(srcdir)/tests/suites/run $(SUITES)

EXTRA_DIST += $(SUITE_FILES) docs/suites.md

# -- The trace against other witnesses: docs/agreement.md ------------------------------------------

COMPARE_FILES = tests/compare/count.c tests/compare/count.h tests/compare/run \
	tests/compare/stubs.S tests/compare/witness.py tests/compare/workloads.py

tests/compare/libcount.so: tests/compare/count.c tests/compare/count.h tests/compare/stubs.S \
	$(INTERPOSE_TABLES)
	$(AM_V_CCLD)$(MKDIR_P) tests/compare && \
	$(CC) $(FXT_CPPFLAGS) $(CPPFLAGS) -I$(top_srcdir) -std=gnu11 $(WARN_CFLAGS) $(CFLAGS) \
		-fno-builtin -shared -fPIC -o $@ \
		$(srcdir)/tests/compare/count.c $(srcdir)/tests/compare/stubs.S $(LDFLAGS)

.PHONY: compare
compare: all tests/list_calls$(EXEEXT) tests/compare/libcount.so
	@$(TEST_EXPORTS) exec python3 -B $(srcdir)/tests/compare/run $(COMPARE)

CLEANFILES += tests/compare/libcount.so
EXTRA_DIST += $(COMPARE_FILES) docs/agreement.md

# -- CTF directories of many traces against babeltrace2: docs/ctf.md --------------------------------

.PHONY: ctf-proof
ctf-proof: all $(check_PROGRAMS)
	@$(TEST_EXPORTS) exec bash $(srcdir)/tests/e2e/ctf_proof.sh

EXTRA_DIST += tests/e2e/ctf_proof.sh
# Not run while no call is drawn: agent/emit/thread.c.
EXTRA_DIST += tests/e2e/often.sh

# -- Fuzzing the reader: CONTRIBUTING.md says how to run what this builds ----------------------------

FUZZ_FILES = tests/fuzz/fuzz_reader.c $(TOOLS_SOURCES) $(PERFETTO_MADE) $(WRITER_SOURCES)
FUZZ_CPPFLAGS = $(AM_CPPFLAGS) -DFXT_LIBDIR='"$(libdir)"' $(TOOLS_OTHERS_CFLAGS)

.PHONY: fuzz
fuzz: tests/fuzz/fuzz_reader

tests/fuzz/fuzz_reader: $(FUZZ_FILES)
	@test -n "$(FUZZ_CC)" || { echo "make fuzz needs clang (Debian: clang)" >&2; exit 1; }
	$(AM_V_CCLD)$(MKDIR_P) tests/fuzz && \
	$(FUZZ_CC) $(DEFS) $(DEFAULT_INCLUDES) $(FUZZ_CPPFLAGS) -std=gnu11 $(WARN_CFLAGS) \
		-g -O1 -fno-omit-frame-pointer \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
		-o $@ $(filter %.c,$^) $(TOOLS_OTHERS_LIBS)

CLEANFILES += tests/fuzz/fuzz_reader
EXTRA_DIST += tests/fuzz/fuzz_reader.c
