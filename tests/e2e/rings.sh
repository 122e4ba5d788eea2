#!/bin/bash
# What goes through rings of io_uring is not seen. The report says that there are rings, and how many
# operations were submitted and completed: the program prints the same.
# shellcheck source=lib.sh
. "${abs_top_srcdir:?}/tests/e2e/lib.sh"
need python3

bare "$apps/rings" >/dev/null 2>&1
test $? != 77 || skip "there is no io_uring here"

# said FILE: prints what the report's JSON has, as the program prints it; and a line about its text.
said()
{
	"$FXT" report --json --all "$1" | python3 -c '
import json, sys
sums = [0, 0, 0]
for one in json.load(sys.stdin)["io_uring"]:
    print(one["rings"], one["enters"], one["submitted"])
    if one["completed"] != one["submitted"]:
        print("but completed", one["completed"])
    sums = [a + b for a, b in zip(sums, (one["rings"], one["enters"], one["submitted"]))]
print("io_uring: %d rings, %d operations submitted and %d completed, %d calls;" %
      (sums[0], sums[2], sums[2], sums[1]), "what goes through rings is not seen")' | LC_ALL=C sort
	"$FXT" report "$1" | grep '^io_uring' | tr -d ' ' >line
}

for how in '' exec forks; do
	for mode in streaming circular; do
		# shellcheck disable=SC2086
		"$FXT" record -q -m $mode -o rings.fxt -- "$apps/rings" $how >printed 2>err
		is "rings $how: exit status" 0 $?
		said rings.fxt >found
		LC_ALL=C sort printed >expected
		grep -v '^io_uring' found >numbers
		same "rings $how, $mode" expected numbers
		is "the report's line" "$(grep '^io_uring' found | tr -d ' ')" "$(cat line)"
		valid rings.fxt
	done
	traced "alone$how" "$apps/rings" $how >printed
	test "$how" != '' || is "without fxt record" "$(cat printed)" "$(said alone/*.fxt | grep -v io_uring)"
	valid "alone$how"/*.fxt
done
# What is made by instructions is known where the kernel tells of the program: by the thread that polls the
# ring, or by the name of the library.
cp "$apps/libhost_plugin.so" liburing.so.2
for how in "unseen iou-sqp" "library ./liburing.so.2"; do
	by=${how#* }
	by=${by##*/}
	# shellcheck disable=SC2086
	"$FXT" record -q -o unseen.fxt -- "$apps/rings" ${how/ iou-sqp/} 2>err
	status=$?
	valid unseen.fxt
	if test $status = 77 || ! "$FXT" dump unseen.fxt | grep -q kernel:sampling; then
		echo "rings that are made by instructions are left out: $(tail -n 1 err)"
		continue
	fi
	is "$how: exit status" 0 $status
	is "$how: the report's line" \
		"io_uring, by calls that are not seen: rings N ($by); what goes through rings is not seen" \
		"$("$FXT" report unseen.fxt | grep '^io_uring' | sed 's/rings [0-9]* /rings N /')"
	is "$how: JSON" "[False, 0, None]" "$("$FXT" report --json --all unseen.fxt | python3 -c '
import json, sys
for one in json.load(sys.stdin)["io_uring"]:
    print([one["calls_are_seen"], one["rings"], one["completed"]])')"
done
"$FXT" record -q -o none.fxt -- true
is "a program without rings" "" "$("$FXT" report none.fxt | grep io_uring)"
