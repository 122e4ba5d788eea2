#!/bin/bash
# Pages of documentation refer to each other and to files of the tree. This test fails on a link whose page or
# heading does not exist, on the name of a file that the tree does not have, on `make TARGET` without such a
# target, on a page that no other page links to, and on a page about a mechanism that lacks one of its
# sections. It also fails on the path of a file in a comment of the sources that the tree does not have, and
# on a file of the repository that the distribution would lack.
set -u

cd "${abs_top_srcdir:-.}" || exit 1

# The pages name these files of other projects in backticks.
elsewhere="tests/dd/no-allocate.sh tests/ls/stat-free-symlinks.sh tests/misc/csplit-heap.sh
tests/misc/cut-huge-range.sh tests/misc/env-S.pl tests/misc/printf-surprise.sh"

# A tree that was unpacked from a distribution has no git, and no files but those of the distribution and what
# was built in it.
tracked=$(git ls-files 2>/dev/null)
files=${tracked:-$(find . -type f | sed 's|^\./||')}
pages=$(grep -E '^[^/]*\.md$|^docs/.*\.md$' <<<"$files")
manuals=$(grep -E '^docs/.*\.[17]$' <<<"$files")
fragments=$(grep -E '(^|/)local\.mk$|^Makefile\.am$' <<<"$files")
[ -n "$pages" ] && [ -n "$manuals" ] && [ -n "$fragments" ] ||
	{ echo "FAIL: there is no documentation here"; exit 1; }

failures=0
fail()
{
	echo "FAIL: $*"
	failures=$((failures + 1))
}

# Prints a page without its commands and drawings, which stand between lines of ```.
prose()
{
	awk '/^ *```/ { quoted = !quoted; next } !quoted' "$1"
}

# Prints what `prose` leaves out.
drawings()
{
	awk '/^ *```/ { quoted = !quoted; next } quoted' "$1"
}

# Prints the anchors of the headings of a page, as the sites that show these pages make them.
anchors()
{
	prose "$1" | sed -n 's/^##* *//p' | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

# Returns whether there is a file of this name, which may be the end of a path. `*` and NAME stand for any
# characters but /.
has_file()
{
	local pattern

	pattern=$(sed 's/[].[^$+?(){}|\\]/\\&/g; s/\*/[^\/]*/g; s/NAME/[^\/]*/g' <<<"$1")
	grep -qE "(^|/)$pattern\$" <<<"$files"
}

linked=""
for page in $pages; do
	directory=$(dirname "$page")
	while IFS= read -r target; do
		case $target in
		http://* | https://* | "") continue ;;
		esac
		path=${target%%#*}
		path=$(realpath -ms --relative-to=. "$directory/${path:-$(basename "$page")}")
		linked+="$path"$'\n'
		if ! grep -qxF "$path" <<<"$files"; then
			fail "$page: the link to $target leads nowhere"
		elif [ "${target#*#}" != "$target" ] && ! anchors "$path" | grep -qxF "${target#*#}"; then
			fail "$page: $path has no heading #${target#*#}"
		fi
	done < <(prose "$page" | grep -oE '\]\([^) ]+\)' | sed 's/^](//; s/)$//')

	while IFS= read -r name; do
		grep -qwF -- "$name" <<<"$elsewhere" || has_file "$name" ||
			fail "$page: there is no file $name"
	done < <(prose "$page" | grep -oE '`[^` ]+\.(c|cc|h|def|inc|sh|py|md)`' | tr -d '`' | sort -u)

	# In drawings and commands a name has no quotes. A name in capitals stands for any file.
	while IFS= read -r name; do
		has_file "$name" || fail "$page: there is no file $name, which a drawing has"
	done < <(drawings "$page" | grep -oE '(^|[ (,;])[a-z_][A-Za-z0-9_/]*\.(c|cc|h|def|inc|sh)\b' |
		tr -d ' (,;' | sort -u)

	while IFS= read -r target; do
		case $target in
		check | distcheck | install) continue ;;
		esac
		grep -hqE "^([A-Za-z_/-]+ )*$target( [A-Za-z_/-]+)*:" $fragments ||
			fail "$page: there is no target for \`make $target\`"
	done < <(grep -oE '`make [a-z][a-z-]*' "$page" | sed 's/.* //' | sort -u)
done

# Comments of the sources name files of the tree by their paths. NAME stands for any name here too. Files that
# are made are in the build directory.
made="interpose/argument_names.def tools/page/page_files.def"
while IFS=: read -r file name; do
	[[ " $made " == *" $name "* ]] || grep -qxF "$name" <<<"$files" || has_file "$name" ||
		fail "$file: there is no file $name"
done < <(grep -oE '\b(agent|interpose|tools|writer|tests)/[A-Za-z0-9_/]+\.(c|h|def|inc|sh|py)\b' \
	$(grep -E '^(agent|interpose|tools|writer|tests)/.*\.(c|h|def|inc)$' <<<"$files") | sort -u)

# A page about a mechanism has these four sections in this order. The other pages are lists, and the overview.
sections="What it guarantees,Drawing,How it works,What it misses"
for page in $(grep ^docs/ <<<"$pages"); do
	case $page in
	docs/agreement.md | docs/architecture.md | docs/categories.md | docs/costs.md | \
		docs/glossary.md | docs/hosts.md | docs/limits.md | \
		docs/interposed-calls.md | docs/rooms.md | docs/suites.md) continue ;;
	esac
	found=$(prose "$page" | sed -n 's/^## //p' | head -n 4 | paste -sd,)
	[ "$found" = "$sections" ] || fail "$page: its sections begin with $found, and not with $sections"
done

# The makefile says what automake distributes. Without git there is no list to compare that with.
distributed=$(MAKEFLAGS='' ${MAKE:-make} -s -f - -C "${abs_top_builddir:-build}" print-distributed <<'END'
include Makefile
print-distributed:
	@printf '%s\n' $(patsubst $(srcdir)/%,%,$(DISTFILES))
END
) || fail "the makefile does not say what it distributes"
[ "$(wc -w <<<"$distributed")" -gt 200 ] ||
	fail "the makefile distributes hardly anything: $(head -c 300 <<<"$distributed")"
for file in $tracked; do
	case $file in
	.gitignore | */.gitignore) continue ;;
	esac
	grep -qxF -e "$file" -e "./$file" <<<"$distributed" || fail "$file: no makefile distributes it"
done
for page in $(grep ^docs/ <<<"$pages"); do
	grep -qxF "$page" <<<"$linked" || fail "$page: no page links to it"
done

[ "$failures" = 0 ] &&
	echo "$(wc -w <<<"$pages") pages have $(grep -c . \
		<<<"$linked") links, and none leads nowhere; $(grep -c . \
		<<<"$tracked") files are distributed"
exit $((failures != 0))
