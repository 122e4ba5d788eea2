# This suite is bash's own tests: parsing, expansions, jobs, traps, redirections, exec, coprocesses.

run_bash()
{
	local source name

	need cc
	source=$(source_of bash) || absent 'source of bash in SUITES_SOURCES'
	cp -r "$source/tests" . && cd tests || return
	for name in recho zecho xcase printenv; do
		cc -w -DHAVE_STRING_H -DHAVE_STDLIB_H -DHAVE_UNISTD_H -include string.h \
			-I"$source" -I"$source/include" -o $name "$source/support/$name.c" ||
			absent "way to compile bash's $name.c"
	done
	export THIS_SH=/bin/bash BUILD_DIR=$PWD BASH_TSTOUT=$PWD/output TMPDIR=$PWD PATH=.:$PATH
	unset BASH_ENV ENV
	for name in run-*; do
		case $name in
		run-all | run-minimal | run-gprof | *~ | *.orig) continue ;;
		esac
		rm -f output
		# Each test prints how its output differs from what was right on its author's machine. Long
		# numbers are replaced, because process ids differ from run to run.
		program timeout -k 10 300 sh "$name" >differences 2>/dev/null
		printf '%s\t%d\t%s\n' "$name" $? \
			"$(sed -E "s,$PWD,HERE,g; s/[0-9]{3,}/N/g" differences | sha1sum | cut -c 1-12)"
		{ echo "== $name"; cat differences; } >&2
		check_traces 5
	done
}
