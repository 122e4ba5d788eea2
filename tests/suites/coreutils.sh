# This suite is GNU coreutils' tests, run against the installed programs as an ordinary user.

# These are directories under tests/; each has tens of scripts.
coreutils_tests='chgrp chmod chown cp dd df du fmt id install ln ls mkdir misc mv pr readlink rm rmdir
	split tail-2 touch'

# Writes a program that prints the limits of the C types, in place of the build tree's, which the tests run.
write_getlimits()
{
	cat >"$1" <<'END'
#!/usr/bin/python3
types = (('CHAR', 8, 1), ('SCHAR', 8, 1), ('UCHAR', 8, 0), ('SHRT', 16, 1), ('INT', 32, 1), ('UINT', 32, 0),
         ('LONG', 64, 1), ('ULONG', 64, 0), ('SIZE', 64, 0), ('SSIZE', 64, 1), ('TIME_T', 64, 1),
         ('UID_T', 32, 0), ('GID_T', 32, 0), ('PID_T', 32, 1), ('OFF_T', 64, 1), ('INTMAX', 64, 1),
         ('UINTMAX', 64, 0))
for name, bits, signed in types:
    top, least = (1 << bits - signed) - 1, -(1 << bits - 1) if signed else 0
    print(f'{name}_MAX={top}\n{name}_OFLOW={top + 1}')
    if signed:
        print(f'{name}_MIN={least}\n{name}_UFLOW={least - 1}')
print('IO_BUFSIZE=131072')
END
	chmod 755 "$1"
}

run_coreutils()
{
	local source name test

	need setpriv perl
	source=$(source_of coreutils) || absent 'source of coreutils in SUITES_SOURCES'
	mkdir src tmp && cp -r "$source/tests" . && cp "$source/init.cfg" . && : >config.h
	# The installed programs take the place of the build tree's.
	while read -r name; do
		ln -s "$name" src/
	done < <(dpkg -L coreutils | grep -E '^(/usr)?/s?bin/.')
	write_getlimits src/getlimits
	chmod -R a+rwX .
	export VERSION abs_top_builddir=$PWD abs_top_srcdir=$PWD abs_srcdir=$PWD srcdir=. top_srcdir=. \
		CONFIG_HEADER=$PWD/config.h built_programs="$(ls src | tr '\n' ' ')" host_os=linux-gnu \
		host_triplet="$(uname -m)-pc-linux-gnu" EXEEXT= PACKAGE_VERSION LOCALE_FR=none \
		LOCALE_FR_UTF8=none AWK=awk EGREP='grep -E' MAKE=make PERL=perl SHELL=/bin/sh \
		CC=cc TMPDIR=$PWD/tmp PATH=$PWD/src:$PATH HOME=$PWD/tmp
	VERSION=$(/bin/cat --version | sed -n '1s/.* //p') PACKAGE_VERSION=$VERSION
	for name in ${COREUTILS_TESTS:-$coreutils_tests}; do
		for test in tests/"$name"/*.sh tests/"$name"/*.pl; do
			test -f "$test" || continue
			export CU_TEST_NAME=coreutils,${test//\//-}
			case $test in
			*.sh) set -- /bin/sh "$test" ;;
			*) set -- perl -w -Itests -MCuSkip -MCoreutils -M"CuTmpdir qw($test)" "$test" ;;
			esac
			program timeout -k 10 60 setpriv --reuid=65534 --regid=65534 --clear-groups "$@" \
				9>&2 >output 2>&1
			printf '%s\t%d\n' "$test" $?
			{ echo "== $test"; cat output; } >&2
		done
		check_traces 20
	done
}
