# Unit tests of single parts of the agent, beside what stands for the rest of it: tests/parts/part.h.

PART_FILES = tests/parts/part.c tests/parts/part.h agent/emit/emit.c tests/suite.h
PART_CPPFLAGS = $(FXT_CPPFLAGS) -iquote $(top_srcdir)/tests -DFXT_CHECKING

if HAVE_CHECK
PART_TESTS = \
	tests/parts/check_arrows \
	tests/parts/check_async \
	tests/parts/check_call_ends \
	tests/parts/check_calls \
	tests/parts/check_explain \
	tests/parts/check_filtered \
	tests/parts/check_function_calls \
	tests/parts/check_function_table \
	tests/parts/check_held \
	tests/parts/check_lanes \
	tests/parts/check_losses \
	tests/parts/check_memory \
	tests/parts/check_modules \
	tests/parts/check_names \
	tests/parts/check_parent_ends \
	tests/parts/check_parents \
	tests/parts/check_requests \
	tests/parts/check_sample \
	tests/parts/check_shared_chunks \
	tests/parts/check_stack_walk \
	tests/parts/check_text \
	tests/parts/check_thread_life \
	tests/parts/check_trace_file \
	tests/parts/check_turn_waits \
	tests/parts/check_turns \
	tests/parts/check_watched
check_PROGRAMS += $(PART_TESTS)
TESTS += $(PART_TESTS)
tests_parts_check_arrows_SOURCES = tests/parts/check_arrows.c agent/arrows/flow.c \
	agent/arrows/async.c $(PART_FILES)
tests_parts_check_arrows_CPPFLAGS = $(PART_CPPFLAGS)
tests_parts_check_async_SOURCES = tests/parts/check_async.c agent/arrows/async.c $(PART_FILES)
tests_parts_check_async_CPPFLAGS = $(PART_CPPFLAGS)
tests_parts_check_filtered_SOURCES = tests/parts/check_filtered.c agent/emit/filtered.c \
	$(PART_FILES)
tests_parts_check_filtered_CPPFLAGS = $(PART_CPPFLAGS)
tests_parts_check_function_calls_SOURCES = tests/parts/check_function_calls.c \
	agent/emit/function_call.c agent/emit/in_progress.c $(PART_FILES)
tests_parts_check_function_calls_CPPFLAGS = $(PART_CPPFLAGS)
tests_parts_check_held_SOURCES = tests/parts/check_held.c agent/emit/deferred.c \
	agent/emit/held_locks.c agent/emit/thread_name.c $(PART_FILES)
tests_parts_check_held_CPPFLAGS = $(PART_CPPFLAGS)
tests_parts_check_lanes_SOURCES = tests/parts/check_lanes.c $(PART_FILES)
tests_parts_check_lanes_CPPFLAGS = $(PART_CPPFLAGS)
tests_parts_check_memory_SOURCES = tests/parts/check_memory.c agent/arrows/async.c \
	agent/base/growing_table.c agent/emit/held_locks.c agent/objects/allocation_site.c \
	agent/objects/block_table.c agent/objects/blocks.c agent/objects/label_text.c \
	agent/objects/memory_life.c $(PART_FILES)
tests_parts_check_memory_CPPFLAGS = $(PART_CPPFLAGS)
tests_parts_check_modules_SOURCES = tests/parts/check_modules.c agent/base/growing_table.c \
	agent/stacks/code.c agent/stacks/code_module.c agent/stacks/load_number.c tests/suite.h
tests_parts_check_modules_CPPFLAGS = $(PART_CPPFLAGS)
tests_parts_check_names_SOURCES = tests/parts/check_names.c agent/base/growing_table.c \
	agent/emit/held_locks.c agent/objects/label.c agent/objects/label_owed.c \
	agent/objects/label_table.c agent/objects/label_text.c $(PART_FILES)
tests_parts_check_names_CPPFLAGS = $(PART_CPPFLAGS)
tests_parts_check_requests_SOURCES = tests/parts/check_requests.c agent/arrows/async.c \
	agent/objects/requests.c $(PART_FILES)
tests_parts_check_requests_CPPFLAGS = $(PART_CPPFLAGS)
tests_parts_check_stack_walk_SOURCES = tests/parts/check_stack_walk.c \
	agent/stacks/return_thunk.c agent/stacks/stack_walk.c $(PART_FILES)
tests_parts_check_stack_walk_CPPFLAGS = $(PART_CPPFLAGS)
tests_parts_check_text_SOURCES = tests/parts/check_text.c agent/emit/program_text.c $(PART_FILES)
tests_parts_check_text_CPPFLAGS = $(PART_CPPFLAGS)
tests_parts_check_watched_SOURCES = tests/parts/check_watched.c agent/stacks/poisson.c \
	agent/emit/watched.c agent/stacks/call_samples.c $(PART_FILES)
tests_parts_check_watched_CPPFLAGS = $(PART_CPPFLAGS)
# These have the text of the file that they test in them.
tests_parts_check_calls_SOURCES = tests/parts/check_calls.c tests/parts/calls_fixture.h $(PART_FILES)
tests_parts_check_calls_CPPFLAGS = $(PART_CPPFLAGS)
tests_parts_check_explain_SOURCES = tests/parts/check_explain.c $(PART_FILES)
tests_parts_check_explain_CPPFLAGS = $(PART_CPPFLAGS)
tests_parts_check_losses_SOURCES = tests/parts/check_losses.c agent/emit/counter.c $(PART_FILES)
tests_parts_check_losses_CPPFLAGS = $(PART_CPPFLAGS)
tests_parts_check_parent_ends_SOURCES = tests/parts/check_parent_ends.c \
	tests/parts/parents_fixture.h $(PART_FILES)
tests_parts_check_parent_ends_CPPFLAGS = $(PART_CPPFLAGS)
tests_parts_check_parents_SOURCES = tests/parts/check_parents.c tests/parts/parents_fixture.h \
	$(PART_FILES)
tests_parts_check_parents_CPPFLAGS = $(PART_CPPFLAGS)
tests_parts_check_sample_SOURCES = tests/parts/check_sample.c $(PART_FILES)
tests_parts_check_sample_CPPFLAGS = $(PART_CPPFLAGS)
tests_parts_check_shared_chunks_SOURCES = tests/parts/check_shared_chunks.c \
	agent/base/growing_table.c agent/emit/counter.c $(PART_FILES)
tests_parts_check_shared_chunks_CPPFLAGS = $(PART_CPPFLAGS)
tests_parts_check_turns_SOURCES = tests/parts/check_turns.c tests/parts/turns_fixture.h $(PART_FILES)
tests_parts_check_turns_CPPFLAGS = $(PART_CPPFLAGS)
tests_parts_check_call_ends_SOURCES = tests/parts/check_call_ends.c tests/parts/calls_fixture.h $(PART_FILES)
tests_parts_check_call_ends_CPPFLAGS = $(PART_CPPFLAGS)
tests_parts_check_turn_waits_SOURCES = tests/parts/check_turn_waits.c tests/parts/turns_fixture.h \
	$(PART_FILES)
tests_parts_check_turn_waits_CPPFLAGS = $(PART_CPPFLAGS)
tests_parts_check_function_table_SOURCES = tests/parts/check_function_table.c $(PART_FILES)
tests_parts_check_function_table_CPPFLAGS = $(PART_CPPFLAGS)
tests_parts_check_thread_life_SOURCES = tests/parts/check_thread_life.c agent/emit/counter.c $(PART_FILES)
tests_parts_check_thread_life_CPPFLAGS = $(PART_CPPFLAGS)
tests_parts_check_trace_file_SOURCES = tests/parts/check_trace_file.c agent/emit/counter.c $(PART_FILES)
tests_parts_check_trace_file_CPPFLAGS = $(PART_CPPFLAGS)
endif
