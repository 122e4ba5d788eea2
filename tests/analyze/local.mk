# `make analyze`: clang-tidy and cppcheck over all C of the project; any finding fails. Each tool is left out,
# with a line that says so, where configure has not found it. What they look for is said in .clang-tidy, what
# they are wrong about in tests/analyze/suppressions.txt.

ANALYZE_CPPFLAGS = $(DEFS) $(DEFAULT_INCLUDES)
# One group of files for each set of flags. A program to trace is an ordinary program.
ANALYZE_AGENT_FILES = $(AGENT_SOURCES) $(INTERPOSE_SOURCES) $(HOOK_SOURCES) $(WRITER_SOURCES)
ANALYZE_TOOL_FILES = $(TOOLS_SOURCES) tools/fxt.c $(UNIT_TESTS:=.c) $(TOOLS_TESTS:=.c) \
	tests/lock_maker.c tests/trace_maker.c tests/list_calls.c tests/race_buffer.c tests/fuzz/fuzz_reader.c
ANALYZE_PROGRAM_FILES = $(APPS_C:=.c) $(filter %.c,$(APPS_SHARED)) \
	$(filter %.c,$(BENCH_FILES) $(COMPARE_FILES))

.PHONY: analyze
analyze:
	@CLANG_TIDY='$(CLANG_TIDY)' CPPCHECK='$(CPPCHECK)' CC='$(CC)'; export CLANG_TIDY CPPCHECK CC; \
	run='bash $(srcdir)/tests/analyze/run $(srcdir)' status=0; \
	$$run agent '$(filter %.c,$(ANALYZE_AGENT_FILES))' $(ANALYZE_CPPFLAGS) $(FXT_CPPFLAGS) || status=1; \
	$$run tools '$(filter %.c,$(ANALYZE_TOOL_FILES))' $(ANALYZE_CPPFLAGS) $(TOOLS_CPPFLAGS) \
		-iquote $(srcdir)/tests '-DFXT_LIBDIR="$(libdir)"' \
		$(JANSSON_CFLAGS) $(LIBELF_CFLAGS) || status=1; \
	$$run programs '$(ANALYZE_PROGRAM_FILES)' $(FXT_CPPFLAGS) || status=1; \
	exit $$status

EXTRA_DIST += tests/analyze/run tests/analyze/suppressions.txt tests/.clang-tidy tools/.clang-tidy
