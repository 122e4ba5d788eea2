#!/bin/bash
# The agent and the tool each have a list of the categories, as neither includes anything of the other. They
# have to say the same: names in their order, whether #default has them, and what they show.
set -u

source=${abs_top_srcdir:-.}

# One a line, however the file breaks its lines; comments are gone.
categories()
{
	${CC:-cc} -E -P -x c "$source/$1" | tr -s '[:space:]' ' ' | sed 's/ *CATEGORY(/\nCATEGORY(/g' | grep .
}

agents=$(categories agent/base/categories.def)
tools=$(categories tools/categories.def)
[ -n "$agents" ] || { echo "FAIL: agent/base/categories.def has no categories"; exit 1; }
if [ "$agents" != "$tools" ]; then
	echo "FAIL: agent/base/categories.def (-) and tools/categories.def (+) differ:"
	diff <(echo "$agents") <(echo "$tools")
	exit 1
fi

# What is printed is what the list says.
while IFS= read -r line; do
	name=${line#CATEGORY(} && name=${name%%,*}
	"${FXT:-./fxt}" categories | grep -q "^$name " || { echo "FAIL: fxt categories has no $name"; exit 1; }
done <<<"$agents"
