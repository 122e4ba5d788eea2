#!/bin/sh
# Prints a line for each string that the tables and files of interpose/ use by name, as in FXT_STR_fd.
# agent/base/strings.def includes these lines, so nobody has to add a name of a row there as well. make calls
# this with CC and FLAGS in the environment.
# usage: argument_names.sh SOURCE_DIRECTORY FILE.c...
set -u
LC_ALL=C
export LC_ALL
source=$1
shift

# The preprocessor runs first, because nothing may be printed if a file cannot be read. Then awk gets the
# strings that agent/base/strings.def has itself, which need no line, and after them all that are used.
# shellcheck disable=SC2086
used=$(${CC:?} ${FLAGS-} -DFXT_WITHOUT_ARGUMENT_NAMES -E -P "$@") || exit 1
{
	sed -n 's/^\(STRING\|NAME\)(\([a-zA-Z_0-9]*\).*/known \2/p' "$source/agent/base/strings.def"
	echo "$used" | grep -o 'FXT_STR_[a-z][a-zA-Z_0-9]*' | sed 's/FXT_STR_/used /' | sort -u
} | awk '
	$1 == "known" { known[$2] = 1; next }
	$2 in known { next }
	# The text of life_NAME is the name of a lifetime, without the prefix.
	$2 ~ /^life_/ { print "STRING(" $2 ", \"" substr($2, 6) "\")"; next }
	{ print "NAME(" $2 ")" }'
