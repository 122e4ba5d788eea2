#!/bin/bash
# Entries of functions call C code where any vector register may have an argument or a result
# (interpose/functions/entry.c). This test fails if that code, or a function of the agent that it calls, uses
# such a register, or if it calls one that is not in the list here.
set -u
export LC_ALL=C
agent=${FXT_AGENT:?} build=${abs_top_builddir:?}
object=$build/interpose/functions/.libs/libfxtentries_la-entry.o
# What is called, with what that calls.
called='fxt_agent_count_short fxt_agent_count fxt_counter_add fxt_stack_has_less has_less_elsewhere'
# What is named and not called: variables and code.
named='_GLOBAL_OFFSET_TABLE_ fxt_forbidden fxt_functions fxt_gate fxt_plt_stubs fxt_return_places
	fxt_return_thunks fxt_self fxt_self_ending'
failed=0

fail() {
	echo "FAIL: $*"
	failed=1
}

test "$(uname -m)" = x86_64 || { echo "there is no such code on this processor"; exit 77; }
command -v objdump >/dev/null || { echo "there is no objdump"; exit 77; }
test -e "$object" || { echo "FAIL: there is no $object"; exit 1; }

# uses_vectors FILE [OPTION...]: prints instructions of a file that name a vector or floating-point register.
uses_vectors() {
	objdump -d --no-show-raw-insn "${@:2}" "$1" | grep -E '%([xyz]mm|st|k[0-7]\b|mm[0-7])' | head -n 3
}

test -z "$(uses_vectors "$object")" || fail "$object uses vector registers: $(uses_vectors "$object")"
for name in $(nm -u "$object" | awk '{ print $NF }'); do
	case " $(echo $called $named) " in
	*" $name "*) ;;
	*) fail "entry.c needs $name, of which this test does not know which registers it uses" ;;
	esac
done
for name in $called; do
	lines=$(objdump -d --no-show-raw-insn --disassemble="$name" "$agent" | grep -c '^ ')
	test "$lines" -gt 0 || fail "$agent has no $name"
	# The compiler may have put a part of it elsewhere.
	found=$(uses_vectors "$agent" --disassemble="$name"; uses_vectors "$agent" --disassemble="$name.cold")
	test -z "$found" || fail "$name uses vector registers: $found"
	callees=$(for part in "$name" "$name.cold"; do
		objdump -d --no-show-raw-insn --disassemble="$part" "$agent"
	done | sed -nE 's/.*(call|jmp) .*<([a-z_0-9]+)(\.cold|@plt)?>.*/\2/p' | sort -u)
	for callee in $callees; do
		case " $called " in
		*" $callee "*) ;;
		*) fail "$name calls $callee, of which this test does not know which registers it uses" ;;
		esac
	done
done
# The check itself works: the agent has functions that use vector registers.
test -n "$(uses_vectors "$agent")" || fail "no use of a vector register is found anywhere"
test $failed = 0 && echo "the entries' code uses integer registers alone"
exit $failed
