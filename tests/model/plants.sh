#!/bin/bash
# Plants faults into the emission path, one at a time, and shows that the model finds each: `make plants`. A
# plant is a patch in tests/model/plants/; its first lines say what the fault is. It is applied to a copy of
# the sources, which is then built and run until the fault is found. Most are found within five seconds;
# slots-read-once and turn-not-blocked take ten or more, named-before-told a minute. PLANT_SECONDS (120) is
# the time each may take, and PLANTS names some of them.
set -u
source=$abs_top_srcdir
seconds=${PLANT_SECONDS-120}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

cd "$source" || exit 1
names=${PLANTS-$(cd tests/model/plants && ls ./*.patch)}
# The same flags as tests/model_emission has, of which the optimiser's matter.
flags="-std=gnu11 -g -O2 -fno-tree-slp-vectorize -ftls-model=initial-exec -fexceptions
	-fno-omit-frame-pointer"
for name in $names; do
	name=$(basename "$name" .patch)
	rm -rf "$work/tree"
	mkdir -p "$work/tree/tests" "$work/tree/interpose/functions"
	cp -r agent writer "$work/tree/"
	cp interpose/functions/entry.[ch] interpose/functions/return_word.c "$work/tree/interpose/functions/"
	cp -r tests/model "$work/tree/tests/"
	if ! patch -s -p1 -d "$work/tree" <"tests/model/plants/$name.patch"; then
		echo "plants: $name does not apply any more"
		failed=1
		continue
	fi
	# shellcheck disable=SC2086	# flags are a list; -I has the headers of this build
	if ! (cd "$work/tree" && ls agent/*/*.c writer/*.c interpose/functions/*.c tests/model/*.c |
		xargs -P 2 -n 12 ${CC-cc} -c $flags -DFXT_CHECKING \
		-D_GNU_SOURCE= -I"$abs_top_builddir" -iquote . -iquote writer) ||
		! ${CC-cc} -o "$work/model" "$work"/tree/*.o -pthread -Wl,-T,agent/tables.ld; then
		echo "plants: $name does not build"
		failed=1
		continue
	fi
	start=$(date +%s%N)
	found=no
	"$work/model" --seconds "$seconds" >"$work/log" 2>&1 || found=yes
	ms=$((($(date +%s%N) - start) / 1000000))
	if test $found = yes; then
		echo "plants: $name: found after $ms ms:" \
			"$(grep -v 'again\|: seed [0-9]*$' "$work/log" | head -n 1 | cut -c 1-160)"
	else
		echo "plants: $name: NOT FOUND in $ms ms"
		failed=1
	fi
done
exit $failed
