# The tool, `fxt`: a file for every subcommand, and the reader they share.

TOOLS_SOURCES = \
	tools/agent_path.c \
	tools/agent_path.h \
	tools/call_roles.c \
	tools/call_roles.h \
	tools/categories.c \
	tools/categories.def \
	tools/categories.h \
	tools/check.c \
	tools/check.h \
	tools/check_json.c \
	tools/check_links.c \
	tools/check_slices.c \
	tools/check_windows.c \
	tools/command.h \
	tools/cut_calls.c \
	tools/cut_calls.h \
	tools/demangle.c \
	tools/demangle.h \
	tools/dump.c \
	tools/dump.h \
	tools/dump_json.c \
	tools/elf_facts.c \
	tools/elf_facts.h \
	tools/ends.c \
	tools/ends.h \
	tools/faults.h \
	tools/fd_images.c \
	tools/fd_images.h \
	tools/fd_lives.c \
	tools/fd_lives.h \
	tools/fd_modes.c \
	tools/fd_modes.h \
	tools/fd_pages.c \
	tools/fd_pages.h \
	tools/fd_table.c \
	tools/hash.c \
	tools/hash.h \
	tools/histogram.c \
	tools/histogram.h \
	tools/join.c \
	tools/join.h \
	tools/json.c \
	tools/json.h \
	tools/map.c \
	tools/map.h \
	tools/merge.c \
	tools/merge.h \
	tools/merge_command.c \
	tools/merge_sums.c \
	tools/message.c \
	tools/message.h \
	tools/nesting.c \
	tools/nesting.h \
	tools/lives.c \
	tools/lives.h \
	tools/no_wait.c \
	tools/no_wait.h \
	tools/objects.c \
	tools/objects.h \
	tools/open_lifetimes.c \
	tools/open_lifetimes.h \
	tools/options.c \
	tools/order.c \
	tools/order.h \
	tools/overview.c \
	tools/overview.h \
	tools/parts.c \
	tools/parts.h \
	tools/print.c \
	tools/print.h \
	tools/program.c \
	tools/program.h \
	tools/reader.c \
	tools/reader.h \
	tools/reader_atoms.c \
	tools/reader_internal.h \
	tools/reader_records.c \
	tools/reader_skim.c \
	tools/reader_tables.c \
	tools/record.c \
	tools/record.h \
	tools/record_env.c \
	tools/record_say.c \
	tools/report.c \
	tools/report.h \
	tools/report_calls.c \
	tools/report_chains.c \
	tools/report_chains.h \
	tools/report_chains_print.c \
	tools/report_contention.c \
	tools/report_descriptors.c \
	tools/report_descriptors.h \
	tools/report_files.c \
	tools/report_heap.c \
	tools/report_json.c \
	tools/report_json_why.c \
	tools/report_leaks.c \
	tools/report_leaks.h \
	tools/report_log.c \
	tools/report_log.h \
	tools/report_meanwhile.c \
	tools/report_open.c \
	tools/report_print.c \
	tools/report_threads.c \
	tools/report_threads.h \
	tools/report_transfers.c \
	tools/report_transfers.h \
	tools/report_waits.c \
	tools/run.c \
	tools/run.h \
	tools/shared.c \
	tools/shared.h \
	tools/symbols.c \
	tools/trace_file.c \
	tools/trace_file.h \
	tools/untraced.c \
	tools/untraced.h \
	tools/utf8.c \
	tools/write_behind.c \
	tools/write_behind.h

TOOLS_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/tools
TOOLS_LIBS = libfxttools.la libfxtwriter.la $(JANSSON_LIBS) $(LIBELF_LIBS) $(LIBIBERTY_LIBS) -lm

# All but main(), so that the unit tests link the same.
noinst_LTLIBRARIES += libfxttools.la
libfxttools_la_SOURCES = $(TOOLS_SOURCES)
libfxttools_la_CPPFLAGS = $(TOOLS_CPPFLAGS) -DFXT_LIBDIR='"$(libdir)"'
libfxttools_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(LIBELF_CFLAGS)

bin_PROGRAMS += fxt
fxt_SOURCES = tools/fxt.c
fxt_CPPFLAGS = $(TOOLS_CPPFLAGS)
fxt_LDADD = $(TOOLS_LIBS)

# Unit tests that link the tool's objects, unlike those of the writer (tests/local.mk).
if HAVE_CHECK
TOOLS_TESTS = \
	tests/check_elf \
	tests/check_lifetimes \
	tests/check_objects \
	tests/check_order \
	tests/check_print \
	tests/check_reader \
	tests/check_report \
	tests/check_report_print \
	tests/check_skim \
	tests/check_tools \
	tests/check_windows
endif
check_PROGRAMS += $(TOOLS_TESTS)
TESTS += $(TOOLS_TESTS)
TOOLS_TESTS_CPPFLAGS = $(TOOLS_CPPFLAGS) -iquote $(top_srcdir)/tests
TOOLS_TESTS_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
TOOLS_TESTS_LIBS = $(TOOLS_LIBS) $(CHECK_LIBS)
TRACE_MAKER = tests/trace_maker.c tests/trace_maker.h tests/trace_words.h
tests_check_elf_SOURCES = tests/check_elf.c
tests_check_elf_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_elf_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_elf_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_lifetimes_SOURCES = tests/check_lifetimes.c tests/apps/random.h tests/apps/unseen.h
tests_check_lifetimes_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_lifetimes_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_lifetimes_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_objects_SOURCES = tests/check_objects.c tests/trace_words.h
tests_check_objects_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_objects_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_objects_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_order_SOURCES = tests/check_order.c tests/trace_words.h
tests_check_order_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_order_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_order_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_print_SOURCES = tests/check_print.c
tests_check_print_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_print_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_print_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_reader_SOURCES = tests/check_reader.c tests/trace_words.h
tests_check_reader_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_reader_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_reader_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_report_SOURCES = tests/check_report.c $(TRACE_MAKER)
tests_check_report_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_report_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_report_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_report_print_SOURCES = tests/check_report_print.c $(TRACE_MAKER)
tests_check_report_print_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_report_print_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_report_print_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_skim_SOURCES = tests/check_skim.c tests/apps/random.h tests/apps/unseen.h tests/trace_words.h
tests_check_skim_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_skim_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_skim_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_tools_SOURCES = tests/check_tools.c tests/trace_words.h
tests_check_tools_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_tools_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_tools_LDADD = $(TOOLS_TESTS_LIBS)
tests_check_windows_SOURCES = tests/check_windows.c tests/apps/random.h tests/apps/unseen.h tests/trace_words.h
tests_check_windows_CPPFLAGS = $(TOOLS_TESTS_CPPFLAGS)
tests_check_windows_CFLAGS = $(TOOLS_TESTS_CFLAGS)
tests_check_windows_LDADD = $(TOOLS_TESTS_LIBS)
