#!/bin/bash
# This test compares the tables of interpose/ with the C library. Every function that the C library has and
# that its headers declare is stood in for (interpose/tables/*.def) or listed as deliberately not
# (interpose/tables/excluded.def). So is every other name of a function that is stood in for, every version of
# it, and every system call of the kernel by number.
set -u
export LC_ALL=C
agent=${FXT_AGENT:?} build=${abs_top_builddir:?}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0

# The headers are all of the C library's own, where the package says which these are.
headers=$(dpkg -L libc6-dev 2>/dev/null |
	sed -n 's,^/usr/include/\([^/]*-linux-gnu[^/]*/\)\?\(.*\)\.h$,\2,p' |
	grep -vE '^(bits|asm|asm-generic|gnu|finclude|linux)/')
test -n "$headers" ||
	headers='aio aliases argp arpa/inet arpa/nameser dirent dlfcn err error execinfo fcntl fstab fts ftw
	glob grp gshadow iconv ifaddrs langinfo libgen locale malloc mntent mqueue net/if netdb netinet/ether
	netinet/in nl_types poll pthread pty pwd regex resolv sched search semaphore shadow signal spawn stdio
	stdio_ext stdlib string strings sys/epoll sys/eventfd sys/fanotify sys/file sys/inotify sys/ioctl
	sys/klog sys/mman sys/mount sys/msg sys/pidfd sys/ptrace sys/quota sys/random sys/reboot sys/resource
	sys/select sys/sem sys/sendfile sys/shm sys/signalfd sys/socket sys/stat sys/statfs sys/statvfs
	sys/swap sys/sysinfo sys/time sys/timerfd sys/timex sys/uio sys/utsname sys/wait sys/xattr syslog
	termios threads time ttyent uchar ucontext unistd utime utmp utmpx wchar wctype wordexp'

# expect_none WHAT FILE: fails unless FILE is empty; its lines are what is wrong.
expect_none() {
	if [ -s "$2" ]; then
		echo "FAIL: $1:" $(cat "$2")
		failed=1
	fi
}

# -- What there is -----------------------------------------------------------------------------------

# declared: prints the names of the functions that preprocessed text declares, which stand before the first
# parenthesis of a declaration. The bodies of inline functions are left out. A name that the library does not
# have (a type's, an attribute's) is no harm.
declared() {
	awk '
	function declaration() {
		if (text !~ /^ *typedef/) {
			gsub(/__attribute__ *\(\([^()]*(\([^()]*\)[^()]*)*\)\)/, "", text)
			if (match(text, /[A-Za-z_][A-Za-z_0-9]* *\(/)) {
				name = substr(text, RSTART, RLENGTH - 1)
				sub(/ +$/, "", name)
				print name
			}
		}
		text = ""
	}
	{
		count = split($0 " ", characters, "")
		for (i = 1; i <= count; i++) {
			c = characters[i]
			if (c == "{")
				depth++
			else if (c == "}") {
				if (!--depth)
					declaration()
			} else if (!depth && c == ";")
				declaration()
			else if (!depth)
				text = text c
		}
	}'
}

# Each header is preprocessed by itself, because some do not go with others, and some with no program of
# today. The options are those of plain programs, of programs that distributions build, and of an older
# standard.
for header in $headers; do
	printf '#if __has_include(<%s.h>)\n#include <%s.h>\n#endif\n' "$header" "$header" > "$tmp/header.c"
	for options in '' '-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -D_FILE_OFFSET_BITS=64' \
		'-std=c99 -D_XOPEN_SOURCE=700'; do
		# shellcheck disable=SC2086
		${CC:?} $options -D_GNU_SOURCE -E -P "$tmp/header.c" 2> /dev/null
	done
	# A declaration that is left open by a header that fails does not go on into the next header.
	echo ';'
done > "$tmp/headers.i"
declared < "$tmp/headers.i" | sort -u > "$tmp/declared"

libc=$(ldd "$agent" | grep -oE '/[^ ]*/libc\.so\.6' | head -n 1)
[ -n "$libc" ] || { echo "FAIL: $agent: no libc found by ldd"; exit 1; }
# A line is the address and name@version of a function. GLIBC_PRIVATE is the version of what parts of the C
# library have for each other.
nm -D --defined-only "$libc" | awk '$2 ~ /^[TWi]$/ && $3 !~ /@GLIBC_PRIVATE$/ { print $1, $3 }' \
	> "$tmp/functions"
sed 's/^[^ ]* //; s/@.*//' "$tmp/functions" | sort -u > "$tmp/libc"

# -- What is known of it -----------------------------------------------------------------------------

"$build/tests/list_calls" | sort -u > "$tmp/interposed"
"$build/tests/list_calls" --excluded | sort > "$tmp/excluded"
for list in declared functions libc interposed excluded; do
	[ "$(wc -l < "$tmp/$list")" -gt 200 ] || { echo "FAIL: too few $list: nothing to compare"; exit 1; }
done
uniq -d "$tmp/excluded" > "$tmp/twice"
expect_none "excluded twice" "$tmp/twice"
sort -u "$tmp/interposed" "$tmp/excluded" > "$tmp/known"

comm -12 "$tmp/declared" "$tmp/libc" | comm -23 - "$tmp/known" > "$tmp/unknown"
expect_none "declared, and neither interposed nor excluded" "$tmp/unknown"

# A line about the role of a call (interpose/engine/roles.h) is about a call that exists, and no call has two
# such lines.
"$build/tests/list_calls" --events | sed 's/.*://' | sort > "$tmp/events"
"$build/tests/list_calls" --roles | sort > "$tmp/roles"
[ -s "$tmp/roles" ] || { echo "FAIL: no roles: nothing to compare"; exit 1; }
uniq -d "$tmp/roles" > "$tmp/twice"
expect_none "a role said twice" "$tmp/twice"
comm -23 "$tmp/roles" "$tmp/events" > "$tmp/unknown"
expect_none "a role of what is not interposed" "$tmp/unknown"

# These are the kernel's calls by number. A call whose function is excluded is excluded too.
printf '#include <sys/syscall.h>\n' | ${CC:?} -E -dM - |
	sed -n 's/^#define __NR_\([a-z_0-9]*\) .*/\1/p' | sort -u > "$tmp/numbers"
"$build/tests/list_calls" --numbers | sort > "$tmp/numbered"
"$build/tests/list_calls" --excluded-numbers | sort > "$tmp/unnumbered"
for list in numbers numbered; do
	[ "$(wc -l < "$tmp/$list")" -gt 200 ] || { echo "FAIL: too few $list: nothing to compare"; exit 1; }
done
sort "$tmp/numbered" "$tmp/unnumbered" | uniq -d > "$tmp/twice"
expect_none "system calls listed twice" "$tmp/twice"
sort -u "$tmp/numbered" "$tmp/unnumbered" "$tmp/excluded" | comm -23 "$tmp/numbers" - > "$tmp/unknown"
expect_none "system calls neither recorded nor excluded" "$tmp/unknown"

# A function that is stood in for has no other name that is in neither list.
awk 'FILENAME ~ /interposed$/ { interposed[$1]; next }
     FILENAME ~ /known$/ { known[$1]; next }
     { name = $2; sub(/@.*/, "", name) }
     name in interposed { ours[$1] = name }
     !(name in known) { others[$1] = others[$1] " " name }
     END { for (address in ours) if (address in others) print ours[address] " is also" others[address] }' \
	"$tmp/interposed" "$tmp/known" "$tmp/functions" > "$tmp/aliases"
expect_none "interposed under one name and not under the other" "$tmp/aliases"

# Some functions have versions with code of their own. A wrapper for one version would be wrong for the other,
# so each needs its own.
nm -D --defined-only "$agent" | awk '{ sub(/@@/, "@", $3); print $3 }' | grep @ |
	sort -u > "$tmp/versions_ours"
awk 'FILENAME ~ /interposed$/ { interposed[$1]; next }
     { name = $2; sub(/@.*/, "", name) }
     name in interposed {
	if (name in address && address[name] != $1) differs[name]
	address[name] = $1
	sub(/@@/, "@", $2)
	versions[name] = versions[name] "\n" $2
     }
     END { for (name in differs) print versions[name] }' "$tmp/interposed" "$tmp/functions" | grep . |
	sort -u > "$tmp/versions"
[ -s "$tmp/versions" ] || { echo "FAIL: nothing has two versions"; failed=1; }
comm -23 "$tmp/versions" "$tmp/versions_ours" > "$tmp/versions_missing"
expect_none "versions that are not stood in for" "$tmp/versions_missing"
# On other processors some functions have fewer versions than here, and the wrappers have as many.
if [ "$(uname -m)" = x86_64 ]; then
	comm -13 "$tmp/versions" "$tmp/versions_ours" > "$tmp/versions_invented"
	expect_none "versions that the C library does not have" "$tmp/versions_invented"
fi

[ "$failed" != 0 ] ||
	echo "$(comm -12 "$tmp/declared" "$tmp/libc" | wc -l) functions and $(wc -l \
		< "$tmp/numbers") system calls are recorded or excluded"
exit "$failed"
