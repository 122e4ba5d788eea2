#!/bin/bash
# The agent and the tool each have a list of the categories, as neither includes anything of the other. This
# test fails where the lists differ: in names, in their order, in whether #default has them, and in what they
# show.
set -u

source=${abs_top_srcdir:-.}

# categories FILE: prints the rows of this list, one on a line however the file breaks its lines, and without
# comments.
categories()
{
	${CC:-cc} -E -P -x c "$source/$1" | tr -s '[:space:]' ' ' | sed 's/ *CATEGORY(/\nCATEGORY(/g' | grep .
}

agents=$(categories agent/base/categories.def)
tools=$(categories tools/analysis/known_categories.def)
[ -n "$agents" ] || { echo "FAIL: agent/base/categories.def has no categories"; exit 1; }
if [ "$agents" != "$tools" ]; then
	echo "FAIL: agent/base/categories.def (-) and tools/analysis/known_categories.def (+) differ:"
	diff <(echo "$agents") <(echo "$tools")
	exit 1
fi

# `fxt categories` prints each category of the list.
printed=$("${FXT:-./fxt}" categories) || { echo "FAIL: fxt categories: exit status $?"; exit 1; }
while IFS= read -r line; do
	name=${line#CATEGORY(} && name=${name%%,*}
	grep -q "^$name " <<<"$printed" || { echo "FAIL: fxt categories has no $name"; exit 1; }
done <<<"$agents"
echo "both lists have the same $(wc -l <<<"$agents") categories, and fxt prints them"
