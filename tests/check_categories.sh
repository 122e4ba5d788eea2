#!/bin/bash
# This test fails if `fxt categories` lacks a category of writer/categories.def, or has another order.
set -u

expected=$(${CC:-cc} -E -P -x c "${abs_top_srcdir:-.}/writer/categories.def" | tr -s '[:space:]' ' ' |
	sed 's/ *CATEGORY(/\nCATEGORY(/g' | sed -n 's/^CATEGORY(\([a-z]*\),.*/\1/p')
[ -n "$expected" ] || { echo "FAIL: writer/categories.def has no categories"; exit 1; }
printed=$("${FXT:-./fxt}" categories) || { echo "FAIL: fxt categories: exit status $?"; exit 1; }
if ! difference=$(diff <(echo "$expected") <(sed '/^$/,$d; s/ .*//' <<<"$printed")); then
	echo "FAIL: writer/categories.def (<) and fxt categories (>) differ:"
	echo "$difference"
	exit 1
fi
# The pages say which of them #default lacks.
lacking=$(${CC:-cc} -E -P -x c "${abs_top_srcdir:-.}/writer/categories.def" | tr -s '[:space:]' ' ' |
	sed 's/ *CATEGORY(/\nCATEGORY(/g' | sed -n 's/^CATEGORY(\([a-z]*\), 0,.*/\1/p')
said=$(sed -n 's/^\.BR \([a-z" ]*\) \.$/\1/p' <(sed -n '/every category there is but/,/^\.TP/p' \
	"${abs_top_srcdir:-.}/docs/libfxtagent.7") | sed 's/" and "/\n/; s/ *\n */\n/; s/ //g')
if test "$said" != "$lacking"; then
	printf 'FAIL: #default lacks (<), and libfxtagent(7) says (>):\n%s\n' \
		"$(diff <(echo "$lacking") <(echo "$said"))"
	exit 1
fi
for name in $(echo "$expected"); do
	row=$(grep "^| \`$name\` |" "${abs_top_srcdir:-.}/docs/categories.md")
	here=$(grep -c -e 'Not in `#default`' -e 'not by default' <<<"$row")
	there=$("${FXT:-./fxt}" categories | grep "^$name " | grep -c '(not in #default)')
	if test "$here" != "$(grep -cx "$name" <<<"$lacking")" || test "$here" != "$there"; then
		echo "FAIL: docs/categories.md, categories.def and fxt categories disagree:" \
			"whether #default has $name"
		exit 1
	fi
done
echo "fxt categories prints the $(wc -l <<<"$expected") categories"
