#!/bin/bash
# The source lies in folders whose includes run one way. docs/rooms.txt lists the folders in their order, the
# lowest first. This test fails on an include that goes up in that order, and so on every circle between
# folders; on a folder that the list lacks; on an include that leads nowhere; on a name of a file that stands
# in two folders; on a folder of more than 40 files, of the tests too; on a header of agent/, interpose/ or
# writer/ that declares a function or a variable that the folder of the header does not define; on a line
# wider than 110 columns, in a script or makefile too; and if docs/rooms.md is not the page that `make rooms`
# would make now.
#
#   tests/check_rooms.sh            tests
#   tests/check_rooms.sh --page     prints the page
set -u

cd "${abs_top_srcdir:-.}" || exit 1

# A tree that was unpacked from a distribution has no git, and no files but those of the distribution and what
# was built in it.
folders="writer agent interpose tools"
files=$(git ls-files $folders 2>/dev/null) && [ -n "$files" ] || files=$(find $folders -type f)
files=$(grep -E '\.(c|h|def|inc)$' <<<"$files" | LC_ALL=C sort)
# The folder of each file of the tests. Nothing but their number is looked at.
tests=$(git ls-files tests 2>/dev/null) && [ -n "$tests" ] ||
	tests=$(find tests -name '*.[chS]' -o -name '*.sh' -o -name '*.py')
tests=$(sed 's|/[^/]*$||' <<<"$tests")
[ -n "$files" ] && [ -f docs/rooms.txt ] || { echo "FAIL: there is no source here"; exit 1; }

# Prints the page on its standard output, and on descriptor 3 what is wrong, a line each.
look()
{
	LC_ALL=C awk -v list="$files" -v tests="$tests" '
	function wrong(text) { print text > "/dev/fd/3"; }
	function folder_of(path) { return path ~ /\// ? substr(path, 1, match(path, /\/[^\/]*$/) - 1) : "."; }
	# Returns the file that an include in `folder` names: by its path from the top, or in the folder
	# itself, or as the -iquote options of the makefiles say.
	function resolve(name, folder) {
		if ((folder "/" name) in known)
			return folder "/" name
		return name in known ? name : ("writer/" name) in known ? "writer/" name : ""
	}
	function reaches(from, to,    mid) {
		for (mid in place)
			if ((from, mid) in arrow && place[mid] < place[from] && mid != from &&
			    (mid == to || reaches(mid, to)))
				return 1
		return 0
	}
	# Returns whether the arrow follows from others that are drawn.
	function implied(from, to,    mid) {
		for (mid in place)
			if (mid != to && (from, mid) in arrow && place[mid] < place[from] && reaches(mid, to))
				return 1
		return 0
	}
	# Returns how many columns the line takes: a tab leads to the next multiple of 8.
	function width(line,    part, n, i, columns) {
		n = split(line, part, "\t")
		for (i = 1; i < n; i++)
			columns = columns + length(part[i]) - (columns + length(part[i])) % 8 + 8
		return columns + length(part[n])
	}
	# Notes what a declaration or a definition names. What has a body, or is a variable without `extern`,
	# is a definition; a function made by a macro is none.
	function tell(text,    name, from, is_declared) {
		if (text ~ /^ *(typedef|struct [a-z_]+ \{|enum|union)/ || text ~ /^ [A-Z_]+\(/)
			return
		from = folder_of(FILENAME)
		sub(/__attribute__ *\(\(.*\)\)/, "", text)
		is_declared = text ~ /^ *extern / ||
			(text ~ /\(.*; *$/ && text !~ /[={]/ && text !~ /^ _Atomic/)
		while (match(text, /fxt_[a-z0-9_]+ *[(\[=;,]/)) {
			name = substr(text, RSTART, RLENGTH - 1); sub(/ +$/, "", name)
			text = substr(text, RSTART + RLENGTH)
			if (is_declared) {
				if (FILENAME ~ /\.h$/)
					declared[from, name] = FILENAME
				return
			}
			defined[from, name] = 1
		}
	}
	function node(folder) { gsub(/\//, "_", folder); return folder; }

	FILENAME == "docs/rooms.txt" {
		if ($1 == "room") {
			room[++rooms] = $2; place[$2] = rooms
			text[$2] = $0; sub(/^room +[^ ]+ +/, "", text[$2])
		} else if ($1 == "generated" || $1 == "twice" || $1 == "crowded" ||
			 $1 == "elsewhere") {
			allowed[$1, $2] = 1
		} else if (NF && $1 !~ /^#/) {
			wrong("docs/rooms.txt: what is \"" $0 "\"?")
		}
		next
	}
	!begun {
		begun = 1
		n = split(list, file, "\n")
		for (i = 1; i <= n; i++)
			if (!(("generated", file[i]) in allowed))
				known[file[i]] = 1
		for (i = 1; i <= n; i++) {
			if (!(file[i] in known))
				continue
			folder = folder_of(file[i])
			if (++count[folder] == 1 && !(folder in place))
				wrong(folder " is no room of docs/rooms.txt")
			base = substr(file[i], length(folder) + 2)
			stands[base] = stands[base] " " folder
			times[base]++
		}
	}
	!(FILENAME in known) { next }
	length($0) > 40 && width($0) > 110 { wrong(FILENAME ":" FNR " has " width($0) " columns") }
	/^[ \t]*#[ \t]*include[ \t]*"/ {
		name = $0; sub(/^[^"]*"/, "", name); sub(/".*/, "", name)
		from = folder_of(FILENAME)
		to = resolve(name, from)
		if (to == "") {
			if (("generated", name) in allowed)
				used["generated", name] = 1
			else
				wrong(FILENAME " includes " name ", which the tree does not have")
			next
		}
		to = folder_of(to)
		if (to != from) {
			arrow[from, to]++
			if (from in place && to in place && place[to] > place[from])
				up[from, to] = FILENAME " includes " name
		}
	}
	# Declarations and definitions begin in the first column, and end with a semicolon or a brace.
	FNR == 1 { said = ""; is_comment = 0 }
	FILENAME ~ /^tools\// || /^#/ { next }
	is_comment || /^\/\*/ { is_comment = $0 !~ /\*\//; next }
	/^[a-zA-Z_]/ { said = "" }
	/^[a-zA-Z_]/ || (said != "" && /^[ \t]/) {
		said = said " " $0
		if (said ~ /;/ || said ~ /=.*\{/ || said ~ /\{ *$/) {
			tell(said)
			said = ""
		}
		next
	}
	/^\{/ { if (said != "") tell(said " {"); said = "" }
	END {
		for (pair in up) {
			split(pair, end, SUBSEP)
			wrong(up[pair] ": " end[2] " lies above " end[1] \
			      (arrow[end[2], end[1]] ? ", which it includes: a circle" : ""))
		}
		for (pair in declared) {
			split(pair, end, SUBSEP)
			if (pair in defined)
				continue
			used["elsewhere", end[2]] = 1
			if (!(("elsewhere", end[2]) in allowed))
				wrong(declared[pair] " declares " end[2] ", which " end[1] " does not define")
		}
		for (base in times)
			if (times[base] > 1) {
				used["twice", base] = 1
				if (!(("twice", base) in allowed))
					wrong(base " stands in" stands[base])
			}
		for (folder in count)
			held[folder] = count[folder]
		n = split(tests, file, "\n")
		for (i = 1; i <= n; i++)
			held[file[i]]++
		for (folder in held)
			if (held[folder] > 40) {
				used["crowded", folder] = 1
				if (!(("crowded", folder) in allowed))
					wrong(folder " holds " held[folder] \
					      " files, and a folder should hold 40 at most")
			}
		for (pair in allowed) {
			split(pair, end, SUBSEP)
			if (!(pair in used))
				wrong("docs/rooms.txt: \"" end[1] " " end[2] "\" is not needed any more")
		}
		for (i = 1; i <= rooms; i++)
			if (!(room[i] in count))
				wrong("docs/rooms.txt: there is no folder " room[i])

		print "# The folders and the arrows between them\n"
		print "An arrow leads from a folder to one whose files it includes. No arrow leads up in the"
		print "table, so there is no circle. `docs/rooms.txt` has the folders in their order, and"
		print "`make rooms` makes this page from that list and from the lines that begin with"
		print "`#include`. `check_rooms.sh` fails if this page is older than they are.\n"
		print "The drawing leaves out an arrow that follows from others; the table has all of them.\n"
		print "```mermaid\ngraph TD"
		for (i = rooms; i > 0; i--)
			print "    " node(room[i]) "[\"" room[i] "\"]"
		for (i = rooms; i > 0; i--)
			for (j = i - 1; j > 0; j--)
				if ((room[i], room[j]) in arrow && !implied(room[i], room[j]))
					print "    " node(room[i]) " --> " node(room[j])
		print "```\n"
		print "| folder | what lives there | what it includes |\n|---|---|---|"
		for (i = rooms; i > 0; i--) {
			uses = ""
			for (j = rooms; j > 0; j--)
				if ((room[i], room[j]) in arrow)
					uses = uses (uses == "" ? "" : ", ") room[j]
			print "| " room[i] " | " text[room[i]] " | " (uses == "" ? "nothing" : uses) " |"
		}
	}' docs/rooms.txt $files
}

# Prints each line of the scripts, the makefiles and the like that is wider than 110 columns.
look_at_scripts()
{
	local scripts file

	scripts=$(git ls-files 2>/dev/null) && [ -n "$scripts" ] ||
		scripts=$(find . -type f | sed 's|^\./||')
	scripts=$(grep -E '\.(sh|py|mk|am|ac)$|^tests/.*\.(c|cc|h|S)$|/run$|/driver$|^docs/rooms\.txt$' \
		<<<"$scripts" |
		grep -E '^(agent|interpose|tools|writer|tests|docs)/|^[^/]*\.(am|ac)$')
	for file in $scripts; do
		[ ! -f "$file" ] || expand "$file" | LC_ALL=C awk -v file="$file" '
			length > 110 { print file ":" FNR " has " length " columns" }'
	done
}

if [ "${1:-}" = --page ]; then
	look 3>/dev/null
	exit
fi

page=$(mktemp) && faults=$(mktemp) || exit 1
trap 'rm -f "$page" "$faults"' EXIT
look >"$page" 3>"$faults" || echo "awk failed" >>"$faults"
look_at_scripts >>"$faults"
cmp -s "$page" docs/rooms.md || echo "docs/rooms.md is not what \`make rooms\` makes now" >>"$faults"
if [ -s "$faults" ]; then
	LC_ALL=C sort "$faults" | sed 's/^/FAIL: /'
	exit 1
fi
echo "$(grep -c '^room' docs/rooms.txt) folders include each other one way"
