#!/bin/sh
# Prints the functions that a row of the tables expands to: `make expand CALL=fsync`. make calls this with CC
# and FLAGS in the environment. FORMAT may name another formatter than clang-format; without a formatter the
# script breaks and indents the lines itself.
# usage: expand.sh SOURCE_DIRECTORY [CALL]; without a call it lists the names that have a row.
set -u
LC_ALL=C
export LC_ALL
source=$1 call=${2-}

# rows: prints "NAME TABLE HOW" for each row. A row of several lines has its name in the first.
rows() {
	kinds='CALL\|ALIAS\|SYSTEM_CALL\|BY_NUMBER\|BY_NUMBER_ALONE'
	for table in "$source"/interpose/tables/*.def; do
		sed -n \
		    -e "s,^\($kinds\)([a-z_]*\, [^,]*\, \([a-zA-Z_0-9]*\)\,.*,\2 $table table,p" \
		    -e "s,^\(BY_HAND\|BY_HAND_ALIAS\)([a-z_]*\, \([a-zA-Z_0-9]*\)[),].*,\2 $table hand,p" \
		    "$table"
	done
}

# indent: prints its input with a line for each statement, indented by its braces. It is used where there is
# no formatter.
indent() {
	awk '
	function put() {
		sub(/^ +/, "", text)
		if (text != "") {
			for (i = 0; i < depth - (text ~ /^}/); i++)
				printf "\t"
			print text
		}
		text = ""
	}
	{
		for (k = 1; k <= length($0); k++) {
			c = substr($0, k, 1)
			text = text c
			if (c == "(")
				parentheses++
			else if (c == ")")
				parentheses--
			else if (parentheses)
				continue
			else if (c == "{") {
				put()
				depth++
			} else if (c == "}") {
				put()
				depth--
			} else if (c == ";")
				put()
		}
		put()
		print ""
	}'
}

if [ -z "$call" ]; then
	rows | sed 's/ .*//' | sort -u
	exit 0
fi
row=$(rows | awk -v call="$call" '$1 == call { print $2, $3 }' | sort -r | head -n 1)
if [ -z "$row" ]; then
	echo "expand: no row of interpose/tables is named '$call';" \
		"\`make expand\` without CALL= lists the names there are" >&2
	exit 1
fi
file=${row% *}
file=$(cd "$source" && ls interpose/*/"$(basename "${file%.def}").c")
# shellcheck disable=SC2086
text=$(${CC:?} ${FLAGS-} -E -P "$source/$file" | grep -E "[^a-zA-Z_0-9](first|numbered)_$call[^a-zA-Z_0-9]" |
	grep -E "^(__attribute__|static)")
if ! echo "$text" | grep -qE "visibility\(\"default\"\)+ [^;{]*[ *]$call *\(|numbered_$call"; then
	echo "expand: $call is written by hand, in $file" >&2
	exit 1
fi
if command -v "${FORMAT:=clang-format}" > /dev/null 2>&1; then
	echo "$text" | "$FORMAT" --assume-filename="$source/$file"
else
	echo "$text" | indent
fi | sed 's/^}$/}\n/'
