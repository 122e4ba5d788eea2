# The tool, `fxt`: a file for every subcommand, and the reader they share.

# Without main(), so that the unit tests and the fuzz target link the same.
noinst_LTLIBRARIES += libfxttools.la
libfxttools_la_SOURCES = \
	tools/check.c \
	tools/check.h \
	tools/check_json.c \
	tools/check_links.c \
	tools/check_slices.c \
	tools/command.h \
	tools/dump.c \
	tools/dump.h \
	tools/dump_json.c \
	tools/faults.h \
	tools/json.c \
	tools/json.h \
	tools/map.c \
	tools/map.h \
	tools/message.c \
	tools/message.h \
	tools/options.c \
	tools/print.c \
	tools/print.h \
	tools/reader.c \
	tools/reader.h \
	tools/reader_atoms.c \
	tools/reader_internal.h \
	tools/reader_records.c \
	tools/reader_tables.c \
	tools/symbols.c \
	tools/trace_file.c \
	tools/trace_file.h \
	tools/utf8.c
