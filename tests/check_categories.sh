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
echo "fxt categories prints the $(wc -l <<<"$expected") categories"
