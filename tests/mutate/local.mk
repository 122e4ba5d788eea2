# The tests against small faults in the sources: docs/mutation.md.

MUTATE_FILES = tests/mutate/check_rules.py tests/mutate/equivalent tests/mutate/map tests/mutate/mutate.py \
	tests/mutate/rules.py tests/mutate/tree.py

# FILES, SECONDS, COUNT and SEED say which mutants are made; AGAIN names a log, whose mutants that lived are
# tried again; SCRIPTS=no leaves out the scripts of tests/e2e.
.PHONY: mutate
mutate:
	@$(TEST_EXPORTS) exec nice -n 10 python3 -B $(srcdir)/tests/mutate/mutate.py \
		--source='$(abs_top_srcdir)' --build='$(abs_top_builddir)' --made='$(BUILT_SOURCES)' \
		$(if $(WORK),--work='$(WORK)') $(if $(FILES),--files='$(FILES)') \
		$(if $(SECONDS),--seconds='$(SECONDS)') $(if $(COUNT),--count='$(COUNT)') \
		$(if $(SEED),--seed='$(SEED)') $(if $(SCRIPTS),--scripts='$(SCRIPTS)') \
		$(if $(AGAIN),--again='$(AGAIN)') $(if $(LIST),--list)

EXTRA_DIST += $(MUTATE_FILES)
