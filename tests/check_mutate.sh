#!/bin/bash
# The rules by which `make mutate` makes faults do what docs/mutation.md says, and its map names tests that
# exist.
set -u

command -v python3 >/dev/null || { echo "SKIP: python3 is missing"; exit 77; }
exec python3 -B "${abs_top_srcdir:-.}/tests/mutate/check_rules.py"
