#!/bin/sh
# Prints the strings that the tables and files of interpose/ ask for by name, FXT_STR_fd, as lines of agent/base/strings.def, which includes them: so
# a name in a row needs no second line. Called by make, with CC and FLAGS in the environment.
# usage: argument_names.sh SOURCE_DIRECTORY FILE.c...
set -u
LC_ALL=C
export LC_ALL
source=$1
shift

# Those that agent/base/strings.def has itself, and then all that are used; nothing may be printed if a file cannot be read.
# shellcheck disable=SC2086
used=$(${CC:?} ${FLAGS-} -DFXT_WITHOUT_ARGUMENT_NAMES -E -P "$@") || exit 1
{
	sed -n 's/^\(STRING\|NAME\)(\([a-zA-Z_0-9]*\).*/known \2/p' "$source/agent/base/strings.def"
	echo "$used" | grep -o 'FXT_STR_[a-z][a-zA-Z_0-9]*' | sed 's/FXT_STR_/used /' | sort -u
} | awk '
	$1 == "known" { known[$2] = 1; next }
	$2 in known { next }
	# What the lifetime of a descriptor is named.
	$2 ~ /^life_/ { print "STRING(" $2 ", \"" substr($2, 6) "\")"; next }
	{ print "NAME(" $2 ")" }'
