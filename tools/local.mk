# The tool, `fxt`, is made of its subcommands and the reader that they share. The folders stand in the order
# of docs/rooms.txt: each uses those before it only.

COMMON_FILES = \
	tools/common/command.h \
	tools/common/hash.c \
	tools/common/hash.h \
	tools/common/histogram.c \
	tools/common/histogram.h \
	tools/common/host_clock.c \
	tools/common/host_clock.h \
	tools/common/kernel_clock.h \
	tools/common/late.c \
	tools/common/late.h \
	tools/common/map.c \
	tools/common/map.h \
	tools/common/memory_limit.c \
	tools/common/memory_limit.h \
	tools/common/message.c \
	tools/common/message.h \
	tools/common/nearest.c \
	tools/common/nearest.h \
	tools/common/options.c \
	tools/common/pack.c \
	tools/common/pack.h

READING_FILES = \
	tools/reading/extents.c \
	tools/reading/extents.h \
	tools/reading/faults.h \
	tools/reading/mapped_trace.c \
	tools/reading/mapped_trace.h \
	tools/reading/order.c \
	tools/reading/order.h \
	tools/reading/reader.c \
	tools/reading/reader.h \
	tools/reading/reader_atoms.c \
	tools/reading/reader_forms.c \
	tools/reading/reader_internal.h \
	tools/reading/reader_numbers.c \
	tools/reading/reader_records.c \
	tools/reading/reader_skim.c \
	tools/reading/reader_strings.c \
	tools/reading/reader_symbols.c \
	tools/reading/reader_tables.c

PRINTING_FILES = \
	tools/printing/handle.c \
	tools/printing/handle.h \
	tools/printing/json.c \
	tools/printing/json.h \
	tools/printing/not_seen.c \
	tools/printing/not_seen.h \
	tools/printing/print.c \
	tools/printing/print.h \
	tools/printing/report_log.c \
	tools/printing/report_log.h \
	tools/printing/terminal.c \
	tools/printing/terminal.h \
	tools/printing/witnessed.c \
	tools/printing/witnessed.h

ANALYSIS_FILES = \
	tools/analysis/block_lifetimes.c \
	tools/analysis/block_lifetimes.h \
	tools/analysis/blocked_threads.c \
	tools/analysis/blocked_threads.h \
	tools/analysis/call_stacks.c \
	tools/analysis/call_stacks.h \
	tools/analysis/call_tree.c \
	tools/analysis/call_stacks.h \
	tools/analysis/call_tree.h \
	tools/analysis/categories.c \
	tools/analysis/categories.h \
	tools/analysis/circles.c \
	tools/analysis/circles.h \
	tools/analysis/demangle.c \
	tools/analysis/demangle.h \
	tools/analysis/flights.c \
	tools/analysis/flights.h \
	tools/analysis/gaps.c \
	tools/analysis/gaps.h \
	tools/analysis/left_out.c \
	tools/analysis/left_out.h \
	tools/analysis/made_names.c \
	tools/analysis/made_names.h \
	tools/analysis/loss_spans.c \
	tools/analysis/loss_spans.h \
	tools/analysis/nesting.c \
	tools/analysis/nesting.h \
	tools/analysis/objects.c \
	tools/analysis/objects.h \
	tools/analysis/overview.c \
	tools/analysis/overview.h \
	tools/analysis/process_ends.c \
	tools/analysis/process_ends.h \
	tools/analysis/processor_time.c \
	tools/analysis/processor_time.h \
	tools/analysis/stack_instants.h \
	tools/analysis/switch_times.c \
	tools/analysis/switch_times.h \
	tools/analysis/unseen.c \
	tools/analysis/unseen.h \
	tools/printing/utc_time.c \
	tools/printing/utc_time.h

DESCRIPTORS_FILES = \
	tools/descriptors/fd_images.c \
	tools/descriptors/fd_images.h \
	tools/descriptors/fd_lifetimes.c \
	tools/descriptors/fd_lifetimes.h \
	tools/descriptors/fd_modes.c \
	tools/descriptors/fd_modes.h \
	tools/descriptors/fd_pages.c \
	tools/descriptors/fd_pages.h

LOCKS_FILES = \
	tools/locks/lock_calls.c \
	tools/locks/lock_calls.h \
	tools/locks/lock_circles.c \
	tools/locks/lock_circles.h \
	tools/locks/lock_graph.c \
	tools/locks/lock_graph.h \
	tools/locks/lock_places.c \
	tools/locks/lock_places.h \
	tools/locks/lock_replay.c \
	tools/locks/lock_replay.h \
	tools/locks/lock_scan.c \
	tools/locks/lock_scan.h \
	tools/locks/lock_stacks.c \
	tools/locks/lock_stacks.h

PROGRAMS_FILES = \
	tools/programs/agent_path.c \
	tools/programs/agent_path.h \
	tools/programs/code_file.c \
	tools/programs/code_file.h \
	tools/programs/code_lines.c \
	tools/programs/debug_dirs.c \
	tools/programs/debug_dirs.h \
	tools/programs/elf_facts.c \
	tools/programs/elf_facts.h \
	tools/programs/elf_mapped.c \
	tools/programs/elf_mapped.h \
	tools/programs/frame_names.c \
	tools/programs/frame_names.h \
	tools/programs/libdw_calls.h \
	tools/programs/option_values.c \
	tools/programs/option_values.h \
	tools/programs/triggered.c \
	tools/programs/triggered.h \
	tools/programs/perf_map.c \
	tools/programs/perf_map.h \
	tools/programs/program.c \
	tools/programs/program.h \
	tools/programs/source_lines.c \
	tools/programs/source_lines.h

STACKS_FILES = \
	tools/stacks/flame.c \
	tools/stacks/stacks.c \
	tools/stacks/stacks.h

CALLERS_FILES = \
	tools/callers/contrast.c \
	tools/callers/contrast.h \
	tools/callers/crashes.c \
	tools/callers/crashes.h \
	tools/callers/culprit.c \
	tools/callers/culprit.h \
	tools/callers/failures.c \
	tools/callers/failures.h \
	tools/callers/heap_askers.c \
	tools/callers/heap_askers.h \
	tools/callers/heap_askers_json.c \
	tools/callers/heap_stacks.c \
	tools/callers/heap_stacks.h \
	tools/callers/makers.c \
	tools/callers/makers.h \
	tools/callers/nameless.c \
	tools/callers/nameless.h \
	tools/callers/most_by.c \
	tools/callers/most_by.h \
	tools/callers/stack_durations.c \
	tools/callers/stack_durations.h \
	tools/callers/stack_sums.c \
	tools/callers/stack_sums.h \
	tools/callers/trend.c \
	tools/callers/trend.h \
	tools/callers/who.c \
	tools/callers/who.h \
	tools/callers/wrapper_names.def

PERFETTO_FILES = \
	tools/perfetto/heap_peaks.c \
	tools/perfetto/perfetto_blob.c \
	tools/perfetto/perfetto_blob.h \
	tools/perfetto/perfetto_packets.c \
	tools/perfetto/perfetto_packets.h \
	tools/perfetto/perfetto_symbols.c \
	tools/perfetto/profile.c \
	tools/perfetto/profile.h \
	tools/perfetto/profile_take.c

JOIN_FILES = \
	tools/join/bearers.c \
	tools/join/bearers.h \
	tools/join/cut_calls.c \
	tools/join/cut_calls.h \
	tools/join/frame_namer.c \
	tools/join/frame_namer.h \
	tools/join/frame_records.c \
	tools/join/frame_records.h \
	tools/join/join.c \
	tools/join/join.h \
	tools/join/merge.c \
	tools/join/merge.h \
	tools/join/merge_copy.c \
	tools/join/merge_internal.h \
	tools/join/merge_part.c \
	tools/join/merge_sums.c \
	tools/join/open_lifetimes.c \
	tools/join/open_lifetimes.h \
	tools/join/renumber.c \
	tools/join/renumber.h \
	tools/join/renumber_parts.h \
	tools/join/renumber_patch.c \
	tools/join/run_directory.c \
	tools/join/run_directory.h \
	tools/join/untraced.c \
	tools/join/untraced.h \
	tools/join/wakeups.c \
	tools/join/wakeups.h \
	tools/join/write_behind.c \
	tools/join/write_behind.h

WITNESS_FILES = \
	tools/witness/fresh_tasks.c \
	tools/witness/fresh_tasks.h \
	tools/witness/mapped_module.c \
	tools/witness/mapped_module.h \
	tools/witness/perf_events.c \
	tools/witness/perf_events.h \
	tools/witness/perf_rings.c \
	tools/witness/spaces.c \
	tools/witness/spaces.h \
	tools/witness/unseen_rings.c \
	tools/witness/unseen_rings.h \
	tools/witness/unwind_call.c \
	tools/witness/unwind_call.h \
	tools/witness/unwind_stack.c \
	tools/witness/unwind_stack.h \
	tools/witness/witness.c \
	tools/witness/witness.h \
	tools/witness/witness_blocked.c \
	tools/witness/witness_blocked.h \
	tools/witness/witness_files.c \
	tools/witness/witness_files.h \
	tools/witness/witness_stacks.c \
	tools/witness/witness_stacks.h \
	tools/witness/witness_switches.c \
	tools/witness/witness_switches.h \
	tools/witness/witness_trace.c \
	tools/witness/witness_trace.h

RECORD_FILES = \
	tools/record/afterwards.c \
	tools/record/afterwards.h \
	tools/record/bystander.c \
	tools/record/bystander.h \
	tools/record/descendants.c \
	tools/record/descendants.h \
	tools/record/init.c \
	tools/record/init.h \
	tools/record/joined_directory.c \
	tools/record/joined_directory.h \
	tools/record/keep_pid.c \
	tools/record/keep_pid.h \
	tools/record/merge_command.c \
	tools/record/record.c \
	tools/record/record_accepted.c \
	tools/record/record.h \
	tools/record/record_env.c \
	tools/record/record_options.c \
	tools/record/record_say.c \
	tools/record/record_together.c \
	tools/record/run.c \
	tools/record/run.h \
	tools/record/saver.c \
	tools/record/watch.c \
	tools/record/saver.h \
	tools/record/reaper.c \
	tools/record/reaper.h \
	tools/record/shared_memory.c \
	tools/record/shared_memory.h \
	tools/record/signals.c \
	tools/record/signals.h

ARCHIVE_FILES = \
	tools/archive/archive.c \
	tools/archive/archive.h \
	tools/archive/archive_gap.c \
	tools/archive/archive_gap.h \
	tools/archive/archive_gap_kept.h \
	tools/archive/archive_gap_take.c \
	tools/archive/archive_gap_texts.h \
	tools/archive/archive_lost.c \
	tools/archive/archive_lost.h \
	tools/archive/archive_join.c \
	tools/archive/archive_keep.c \
	tools/archive/archive_keep.h \
	tools/archive/archive_mend.c \
	tools/archive/archive_mend.h \
	tools/archive/archive_told.c \
	tools/archive/archive_told.h \
	tools/archive/archive_walk.c \
	tools/archive/archive_walk.h

MANAGER_FILES = \
	tools/manager/budget.c \
	tools/manager/budget.h \
	tools/manager/client.c \
	tools/manager/client.h \
	tools/manager/client_hear.c \
	tools/manager/client_memory.c \
	tools/manager/client_parts.h \
	tools/manager/client_save.c \
	tools/manager/client_stats.c \
	tools/manager/client_texts.c \
	tools/manager/client_texts.h \
	tools/manager/controller.c \
	tools/manager/controller.h \
	tools/manager/controller_facts.c \
	tools/manager/controller_facts.h \
	tools/manager/controlling.c \
	tools/manager/controlling.h \
	tools/manager/ctl.c \
	tools/manager/ctl_save.c \
	tools/manager/ctl_save.h \
	tools/manager/gates.c \
	tools/manager/gates.h \
	tools/manager/manager.c \
	tools/manager/manager.h \
	tools/manager/manager_commands.h \
	tools/manager/manager_socket.c \
	tools/manager/grants.c \
	tools/manager/grants.h \
	tools/manager/heir.c \
	tools/manager/heir.h \
	tools/manager/heir_moves.c \
	tools/manager/heir_parts.h \
	tools/manager/heir_saves.c \
	tools/manager/serve.c \
	tools/manager/trace_session.c \
	tools/manager/trace_session.h \
	tools/manager/trace_config.c \
	tools/manager/trace_config.h

EXPORT_FILES = \
	tools/export/ctf.c \
	tools/export/ctf.h \
	tools/export/ctf_bytes.h \
	tools/export/ctf_classes.c \
	tools/export/ctf_classes.h \
	tools/export/ctf_file.c \
	tools/export/ctf_file.h \
	tools/export/ctf_kernel.c \
	tools/export/ctf_losses.c \
	tools/export/ctf_lttng.c \
	tools/export/ctf_metadata.c \
	tools/export/ctf_modules.c \
	tools/export/ctf_nodes.c \
	tools/export/ctf_packets.c \
	tools/export/ctf_packets.h \
	tools/export/ctf_running.c \
	tools/export/ctf_running.h \
	tools/export/ctf_shapes.c \
	tools/export/ctf_streams.c \
	tools/export/ctf_take.c \
	tools/export/export.c \
	tools/export/export.h \
	tools/export/sorter.c \
	tools/export/sorter.h \
	tools/export/visit.c \
	tools/export/visit.h \
	tools/export/weighed_stacks.c \
	tools/export/weighed_stacks.h

CONVERT_FILES = \
	tools/convert/convert.c \
	tools/convert/convert.h \
	tools/convert/form_chrome.c \
	tools/convert/form_rows.c \
	tools/convert/form_stacks.c \
	tools/convert/form_text.c \
	tools/convert/form_text.h \
	tools/convert/form_threads.c \
	tools/convert/form_threads.h \
	tools/convert/forms.c \
	tools/convert/output_directory.c \
	tools/convert/output_directory.h \
	tools/convert/query.c \
	tools/convert/query_print.c \
	tools/convert/query_print.h \
	tools/convert/sql.c \
	tools/convert/sql.h \
	tools/convert/sql_report.c \
	tools/convert/sql_schema.c \
	tools/convert/sql_take.c

CHECK_FILES = \
	tools/check/check.c \
	tools/check/check.h \
	tools/check/check_json.c \
	tools/check/check_links.c \
	tools/check/check_slices.c \
	tools/check/check_windows.c

IMPORT_FILES = \
	tools/import/import.c \
	tools/import/import.h \
	tools/import/import_calls.c \
	tools/import/import_calls.h \
	tools/import/import_events.c \
	tools/import/import_events.h \
	tools/import/import_fields.c \
	tools/import/import_fields.h \
	tools/import/import_graph.c \
	tools/import/import_graph.h \
	tools/import/import_library.h \
	tools/import/import_losses.c \
	tools/import/import_losses.h \
	tools/import/import_lttng.c \
	tools/import/import_lttng.h \
	tools/import/import_metadata.c \
	tools/import/import_metadata.h \
	tools/import/import_modules.c \
	tools/import/import_modules.h \
	tools/import/import_open.c \
	tools/import/import_open.h \
	tools/import/import_own.c \
	tools/import/import_own.h \
	tools/import/import_out.c \
	tools/import/import_out.h

NARROW_FILES = \
	tools/narrow/cut.c \
	tools/narrow/cut.h \
	tools/narrow/narrow.c \
	tools/narrow/narrow.h \
	tools/narrow/selection.c \
	tools/narrow/selection.h \
	tools/narrow/selection_fit.c \
	tools/narrow/selection_groups.c \
	tools/narrow/unmatched.c

DUMP_FILES = \
	tools/dump/dump.c \
	tools/dump/dump.h \
	tools/dump/dump_json.c \
	tools/dump/dump_lines.c

CRITICAL_FILES = \
	tools/critical/critical.c \
	tools/critical/critical.h \
	tools/critical/critical_graph.c \
	tools/critical/critical_graph.h \
	tools/critical/critical_path.c \
	tools/critical/critical_print.c \
	tools/critical/critical_replay.c \
	tools/critical/critical_take.c

WAITS_FILES = \
	tools/waits/tracks.c \
	tools/waits/tracks.h \
	tools/waits/call_roles.c \
	tools/waits/call_roles.h \
	tools/waits/kept_time.c \
	tools/waits/kept_time.h \
	tools/waits/lock_holders.c \
	tools/waits/lock_holders.h \
	tools/waits/moved.c \
	tools/waits/moved.h \
	tools/waits/repeats.c \
	tools/waits/closed_in_use.c \
	tools/waits/closed_in_use.h \
	tools/waits/repeats.h \
	tools/waits/standstill.c \
	tools/waits/standstill.h \
	tools/waits/thread_waits.c \
	tools/waits/thread_waits.h \
	tools/waits/timeouts.c \
	tools/waits/timeouts.h \
	tools/waits/wait_listener.h

REPORT_FILES = \
	tools/report/event_facts.c \
	tools/report/event_facts.h \
	tools/report/fd_table.c \
	tools/report/no_wait.c \
	tools/report/no_wait.h \
	tools/report/report.c \
	tools/report/report.h \
	tools/report/report_blocked.c \
	tools/report/report_budget.c \
	tools/report/report_budget.h \
	tools/report/report_calls.c \
	tools/report/report_chains.c \
	tools/report/report_chains.h \
	tools/report/report_chains_print.c \
	tools/report/report_chosen.c \
	tools/report/report_contention.c \
	tools/report/report_contention_print.c \
	tools/report/report_descriptors.c \
	tools/report/report_descriptors.h \
	tools/report/report_files.c \
	tools/report/report_heap.c \
	tools/report/report_json.c \
	tools/report/report_json_why.c \
	tools/report/report_leaks.c \
	tools/report/report_leaks.h \
	tools/report/report_lock_order.c \
	tools/report/report_lock_order.h \
	tools/report/report_losses.c \
	tools/report/report_meanwhile.c \
	tools/report/report_in_progress.c \
	tools/report/report_passes.c \
	tools/report/report_passes.h \
	tools/report/report_print.c \
	tools/report/report_processor.c \
	tools/report/report_processor.h \
	tools/report/report_threads.c \
	tools/report/report_threads.h \
	tools/descriptors/report_transfers.c \
	tools/descriptors/report_transfers.h \
	tools/report/report_waits.c

PAGE_FILES = \
	tools/page/columns.c \
	tools/page/columns.h \
	tools/page/details.c \
	tools/page/details.h \
	tools/page/heap_track.c \
	tools/page/heap_track.h \
	tools/page/levels.c \
	tools/page/levels.h \
	tools/page/page.c \
	tools/page/page.h \
	tools/page/timeline.c \
	tools/page/timeline.h

# What a browser runs lies in files of its own, which become strings of page.c when it is built.
PAGE_TEXTS = tools/page/view.html tools/page/view.css tools/page/view.js
EXTRA_DIST += $(PAGE_TEXTS)
BUILT_SOURCES += tools/page/page_files.def
CLEANFILES += tools/page/page_files.def
tools/page/page_files.def: $(PAGE_TEXTS)
	$(AM_V_GEN)$(MKDIR_P) tools/page && for file in $(PAGE_TEXTS); do \
		name=`basename $$file | tr . _` && \
		echo "static const char page_$$name[] =" && \
		sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $(srcdir)/$$file && echo ";" || exit 1; \
	done > $@.new && mv $@.new $@

FIGURES_FILES = \
	tools/figures/figure_calls.c \
	tools/figures/figure_sums.c \
	tools/figures/figures.c \
	tools/figures/figures.h \
	tools/figures/quantities.c

DIFF_FILES = \
	tools/diff/diff.h \
	tools/diff/diff_command.c \
	tools/diff/diff_compare.c \
	tools/diff/diff_folded.c \
	tools/diff/diff_json.c \
	tools/diff/diff_print.c \
	tools/diff/diff_take.c \
	tools/diff/diff_things.c \
	tools/diff/rank_test.c \
	tools/diff/rank_test.h

LIMITS_FILES = \
	tools/limits/check_command.c \
	tools/limits/junit.c \
	tools/limits/limit.c \
	tools/limits/limit.h \
	tools/limits/limits_print.c

FINDINGS_FILES = \
	tools/findings/crash_words.c \
	tools/findings/crash_words.h \
	tools/findings/find_calls.c \
	tools/findings/find_closed_in_use.c \
	tools/findings/find_contention.c \
	tools/findings/find_critical_path.c \
	tools/findings/find_deadlock.c \
	tools/findings/find_ends.c \
	tools/findings/find_failing_call.c \
	tools/findings/find_held_lock.c \
	tools/findings/find_hot_function.c \
	tools/findings/find_ignored_failure.c \
	tools/findings/find_leak.c \
	tools/findings/find_lock_order.c \
	tools/findings/find_pattern_per_item.c \
	tools/findings/find_sleep_loop.c \
	tools/findings/find_slow_child.c \
	tools/findings/find_stuck.c \
	tools/findings/find_sync.c \
	tools/findings/find_timeout.c \
	tools/findings/stuck.c \
	tools/findings/stuck.h \
	tools/findings/find_makers.c \
	tools/findings/find_threads.c \
	tools/findings/finding.h \
	tools/findings/findings.c \
	tools/findings/findings_json.c \
	tools/findings/findings_page.c \
	tools/findings/findings_print.c \
	tools/findings/report_command.c \
	tools/findings/rule_facts.c \
	tools/findings/rule_facts.h \
	tools/findings/rule_threads.c \
	tools/findings/finding_trace.c \
	tools/findings/rule_threads.h \
	tools/things/things.c \
	tools/things/things.h \
	tools/findings/things_explain.c \
	tools/findings/things_moment.c \
	tools/findings/rules.c \
	tools/findings/rules.def \
	tools/findings/rules.h

VIEW_FILES = \
	tools/view/serve_once.c \
	tools/view/serve_once.h \
	tools/view/view.c \
	tools/view/view.h

TOP_FILES = \
	tools/top/top.c \
	tools/top/top.h \
	tools/top/top_print.c \
	tools/top/top_print.h \
	tools/top/top_screen.c \
	tools/top/top_screen.h \
	tools/top/top_session.c \
	tools/top/top_session.h \
	tools/top/top_sums.c \
	tools/top/top_sums.h

TOOLS_SOURCES = $(COMMON_FILES) $(READING_FILES) $(PRINTING_FILES) $(ANALYSIS_FILES) $(DESCRIPTORS_FILES) \
	$(LOCKS_FILES) $(PROGRAMS_FILES) $(CALLERS_FILES) $(STACKS_FILES) $(PERFETTO_FILES) $(NARROW_FILES) \
	$(WAITS_FILES) $(CRITICAL_FILES) $(REPORT_FILES) $(EXPORT_FILES) $(PAGE_FILES) $(FINDINGS_FILES) \
	$(CONVERT_FILES) $(JOIN_FILES) $(WITNESS_FILES) \
	$(RECORD_FILES) $(ARCHIVE_FILES) $(MANAGER_FILES) \
	$(IMPORT_FILES) $(CHECK_FILES) $(DUMP_FILES) $(FIGURES_FILES) $(LIMITS_FILES) \
	$(DIFF_FILES) $(VIEW_FILES) $(TOP_FILES)

TOOLS_CPPFLAGS = $(AM_CPPFLAGS)
TOOLS_OTHERS_CFLAGS = $(JANSSON_CFLAGS) $(LIBDW_CFLAGS) $(LIBELF_CFLAGS) $(ZSTD_CFLAGS) $(ZLIB_CFLAGS) \
	$(PROTOBUF_C_CFLAGS) $(BABELTRACE2_CFLAGS) $(SQLITE_CFLAGS)
# libdw and libbabeltrace2 are opened when they are needed: tools/common/late.h.
TOOLS_OTHERS_LIBS = $(JANSSON_LIBS) $(LIBELF_LIBS) $(LIBIBERTY_LIBS) $(ZSTD_LIBS) $(ZLIB_LIBS) \
	$(PROTOBUF_C_LIBS) $(SQLITE_LIBS) -lm
TOOLS_LIBS = libfxttools.la libfxtwriter.la $(TOOLS_OTHERS_LIBS)

# This library has everything but main(), so that the unit tests link the same code.
noinst_LTLIBRARIES += libfxttools.la
libfxttools_la_SOURCES = $(TOOLS_SOURCES)
libfxttools_la_CPPFLAGS = $(TOOLS_CPPFLAGS) -DFXT_LIBDIR='"$(libdir)"'
libfxttools_la_CFLAGS = $(AM_CFLAGS) $(TOOLS_OTHERS_CFLAGS)

# The messages of Perfetto that fxt writes become C.
EXTRA_DIST += tools/perfetto/perfetto_trace.proto
if HAVE_PROTOBUF_C
PERFETTO_MADE = tools/perfetto/perfetto_trace.pb-c.c tools/perfetto/perfetto_trace.pb-c.h
nodist_libfxttools_la_SOURCES = $(PERFETTO_MADE)
BUILT_SOURCES += $(PERFETTO_MADE)
CLEANFILES += $(PERFETTO_MADE)
tools/perfetto/perfetto_trace.pb-c.h: tools/perfetto/perfetto_trace.pb-c.c
	@:
tools/perfetto/perfetto_trace.pb-c.c: tools/perfetto/perfetto_trace.proto
	$(AM_V_GEN)$(MKDIR_P) tools/perfetto && \
		$(PROTOC_C) --proto_path=$(srcdir)/tools/perfetto --c_out=tools/perfetto perfetto_trace.proto
endif

# `make fxt` alone makes no BUILT_SOURCES.
$(libfxttools_la_OBJECTS): | tools/page/page_files.def $(PERFETTO_MADE)

bin_PROGRAMS += fxt
fxt_SOURCES = tools/fxt.c
fxt_CPPFLAGS = $(TOOLS_CPPFLAGS)
fxt_LDADD = $(TOOLS_LIBS)

# These unit tests link the tool's objects, unlike those of the writer (tests/local.mk).
if HAVE_CHECK
TOOLS_TESTS = \
	tests/check_archive \
	tests/check_bearers \
	tests/check_call_stacks \
	tests/check_contrast \
	tests/check_crashes \
	tests/check_culprits \
	tests/check_diff \
	tests/check_elf \
	tests/check_figures \
	tests/check_findings \
	tests/check_fuzz \
	tests/check_held \
	tests/check_stuck \
	tests/check_timeouts \
	tests/check_findings_threads \
	tests/check_frame_names \
	tests/check_lifetimes \
	tests/check_limits \
	tests/check_manager \
	tests/check_moving \
	tests/check_objects \
	tests/check_order \
	tests/check_overwritten \
	tests/check_perf_map \
	tests/check_print \
	tests/check_reader \
	tests/check_makers \
	tests/check_report \
	tests/check_report_chains \
	tests/check_report_heap_stacks \
	tests/check_report_lock_facts \
	tests/check_report_lock_model \
	tests/check_report_locks \
	tests/check_report_print \
	tests/check_report_blocked \
	tests/check_report_processor \
	tests/check_report_processor_print \
	tests/check_report_stacks \
	tests/check_skim \
	tests/check_sorter \
	tests/check_strings \
	tests/check_tools \
	tests/check_top \
	tests/check_windows \
	tests/check_witness
if HAVE_PROTOBUF_C
TOOLS_TESTS += tests/check_perfetto
endif
endif
check_PROGRAMS += $(TOOLS_TESTS)
TESTS += $(TOOLS_TESTS)
TOOLS_TESTS_CPPFLAGS = $(TOOLS_CPPFLAGS) -iquote $(top_srcdir)/tests
TOOLS_TESTS_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
TOOLS_TESTS_LIBS = $(TOOLS_LIBS) $(CHECK_LIBS)
TRACE_MAKER = tests/trace_maker.c tests/trace_maker.h tests/trace_words.h
LOCK_MAKER = tests/lock_maker.c tests/lock_maker.h $(TRACE_MAKER)
tests_check_archive_SOURCES = tests/check_archive.c tests/apps/random.h tests/apps/unseen.h
tests_check_archive_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_archive_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_archive_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_bearers_SOURCES = tests/check_bearers.c tests/apps/random.h tests/apps/unseen.h
tests_check_bearers_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_bearers_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_bearers_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_call_stacks_SOURCES = tests/check_call_stacks.c tests/apps/random.h tests/apps/unseen.h \
	$(TRACE_MAKER)
tests_check_call_stacks_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_call_stacks_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_call_stacks_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_contrast_SOURCES = tests/check_contrast.c tests/apps/random.h tests/apps/unseen.h $(TRACE_MAKER)
tests_check_contrast_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_contrast_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_contrast_LDADD = $(TOOLS_TESTS_LIBS)

tests_check_crashes_SOURCES = tests/check_crashes.c tests/apps/random.h tests/apps/unseen.h $(TRACE_MAKER)
tests_check_crashes_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_crashes_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_crashes_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_culprits_SOURCES = tests/check_culprits.c tests/apps/random.h tests/apps/unseen.h $(TRACE_MAKER)
tests_check_culprits_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_culprits_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_culprits_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_diff_SOURCES = tests/check_diff.c tests/apps/random.h tests/apps/unseen.h
tests_check_diff_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_diff_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_diff_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_limits_SOURCES = tests/check_limits.c tests/apps/random.h tests/apps/unseen.h
tests_check_limits_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_limits_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_limits_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_figures_SOURCES = tests/check_figures.c tests/apps/random.h tests/apps/unseen.h $(TRACE_MAKER)
tests_check_figures_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_figures_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_figures_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_findings_SOURCES = tests/check_findings.c $(TRACE_MAKER)
tests_check_findings_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_findings_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_findings_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_fuzz_SOURCES = tests/check_fuzz.c tests/fuzz/fuzz_reader.c tests/apps/random.h \
	tests/apps/unseen.h $(TRACE_MAKER)
tests_check_fuzz_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_fuzz_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_fuzz_LDADD = $(TOOLS_TESTS_LIBS)

tests_check_held_SOURCES = tests/check_held.c tests/apps/random.h tests/apps/unseen.h $(TRACE_MAKER)
tests_check_held_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_held_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_held_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_stuck_SOURCES = tests/check_stuck.c tests/apps/random.h tests/apps/unseen.h $(TRACE_MAKER)
tests_check_stuck_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_stuck_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_stuck_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_timeouts_SOURCES = tests/check_timeouts.c tests/apps/random.h tests/apps/unseen.h $(TRACE_MAKER)
tests_check_timeouts_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_timeouts_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_timeouts_LDADD = $(TOOLS_TESTS_LIBS)

tests_check_findings_threads_SOURCES = tests/check_findings_threads.c tests/apps/random.h \
	tests/apps/unseen.h $(TRACE_MAKER)
tests_check_findings_threads_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_findings_threads_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_findings_threads_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_frame_names_SOURCES = tests/check_frame_names.c $(TRACE_MAKER)
tests_check_frame_names_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_frame_names_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_frame_names_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_elf_SOURCES = tests/check_elf.c
tests_check_elf_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_elf_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_elf_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_lifetimes_SOURCES = tests/check_lifetimes.c tests/apps/random.h tests/apps/unseen.h
tests_check_lifetimes_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_lifetimes_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_lifetimes_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_manager_SOURCES = tests/check_manager.c tests/trace_words.h
tests_check_manager_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_manager_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_manager_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_moving_SOURCES = tests/check_moving.c $(MANAGED_FIXTURE)
tests_check_moving_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS) -iquote $(top_srcdir)/writer
tests_check_moving_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_moving_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_overwritten_SOURCES = tests/check_overwritten.c $(MANAGED_FIXTURE)
tests_check_overwritten_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS) -iquote $(top_srcdir)/writer
tests_check_overwritten_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_overwritten_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_objects_SOURCES = tests/check_objects.c tests/trace_words.h
tests_check_objects_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_objects_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_objects_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_order_SOURCES = tests/check_order.c tests/trace_words.h
tests_check_order_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_order_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_order_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_perfetto_SOURCES = tests/check_perfetto.c tests/perfetto_found.c tests/perfetto_found.h \
	tests/apps/random.h tests/apps/unseen.h $(TRACE_MAKER)
tests_check_perfetto_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_perfetto_CFLAGS = $(TOOLS_TESTS_CFLAGS) $(PROTOBUF_C_CFLAGS)
tests_check_perfetto_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_perf_map_SOURCES = tests/check_perf_map.c tests/apps/random.h tests/apps/unseen.h
tests_check_perf_map_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_perf_map_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_perf_map_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_print_SOURCES = tests/check_print.c
tests_check_print_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_print_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_print_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_reader_SOURCES = tests/check_reader.c tests/trace_words.h
tests_check_reader_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_reader_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_reader_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_report_SOURCES = tests/check_report.c $(TRACE_MAKER) tests/apps/random.h
tests_check_report_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_report_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_report_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_report_chains_SOURCES = tests/check_report_chains.c tests/apps/random.h tests/apps/unseen.h \
	$(TRACE_MAKER)
tests_check_report_chains_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_report_chains_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_report_chains_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_makers_SOURCES = tests/check_makers.c tests/apps/random.h tests/apps/unseen.h $(TRACE_MAKER)
tests_check_makers_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_makers_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_makers_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_report_heap_stacks_SOURCES = tests/check_report_heap_stacks.c tests/apps/random.h \
	tests/apps/unseen.h $(TRACE_MAKER)
tests_check_report_heap_stacks_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_report_heap_stacks_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_report_heap_stacks_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_report_lock_facts_SOURCES = tests/check_report_lock_facts.c $(LOCK_MAKER)
tests_check_report_lock_facts_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_report_lock_facts_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_report_lock_facts_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_report_lock_model_SOURCES = tests/check_report_lock_model.c $(LOCK_MAKER) tests/apps/random.h \
	tests/apps/unseen.h
tests_check_report_lock_model_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_report_lock_model_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_report_lock_model_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_report_locks_SOURCES = tests/check_report_locks.c $(LOCK_MAKER)
tests_check_report_locks_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_report_locks_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_report_locks_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_report_print_SOURCES = tests/check_report_print.c $(TRACE_MAKER)
tests_check_report_print_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_report_print_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_report_print_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_report_blocked_SOURCES = tests/check_report_blocked.c tests/apps/random.h tests/apps/unseen.h \
	$(TRACE_MAKER)
tests_check_report_blocked_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_report_blocked_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_report_blocked_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_report_processor_SOURCES = tests/check_report_processor.c tests/apps/random.h \
	tests/apps/unseen.h $(TRACE_MAKER)
tests_check_report_processor_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_report_processor_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_report_processor_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_report_processor_print_SOURCES = tests/check_report_processor_print.c $(TRACE_MAKER)
tests_check_report_processor_print_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_report_processor_print_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_report_processor_print_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_report_stacks_SOURCES = tests/check_report_stacks.c $(TRACE_MAKER)
tests_check_report_stacks_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_report_stacks_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_report_stacks_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_strings_SOURCES = tests/check_strings.c tests/apps/random.h tests/apps/unseen.h \
	tests/trace_words.h
tests_check_strings_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_strings_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_strings_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_skim_SOURCES = tests/check_skim.c tests/apps/random.h tests/apps/unseen.h tests/trace_words.h
tests_check_skim_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_skim_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_skim_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_tools_SOURCES = tests/check_tools.c tests/trace_words.h
tests_check_tools_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_tools_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_tools_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_top_SOURCES = tests/check_top.c $(TRACE_MAKER)
tests_check_top_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_top_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_top_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_sorter_SOURCES = tests/check_sorter.c tests/apps/random.h tests/apps/unseen.h
tests_check_sorter_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_sorter_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_sorter_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_windows_SOURCES = tests/check_windows.c tests/apps/random.h tests/apps/unseen.h \
	tests/trace_words.h
tests_check_windows_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_windows_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_windows_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_witness_SOURCES = tests/check_witness.c tests/apps/random.h
tests_check_witness_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_witness_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_witness_LDADD = $(TOOLS_TESTS_LIBS)
