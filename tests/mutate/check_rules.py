"""Tests the rules of make mutate on a small source, and that each file has tests that exist."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import mutate  # noqa: E402
import rules  # noqa: E402

SAMPLE = '''/* 7 < 8 && nothing here: f(9); */
#define ABOVE(a) ((a) > 10)
enum { MANY = 12, FEW = 1 };
static const char text[] = "a < b";

static int sample(int a, const int *b)
{
	FXT_CHECK(a, <, 99);
	if (a < b[0] && b[1] != 3)
		call(a,
		     "(;");
	atomic_store_explicit(&one, a, memory_order_release);
	two = a + 1;
	for (; a->b >= 0; a--)
		(void)other();
	return a > 1 || !b;
}
'''

# The rule, and the lines as they are afterwards.
EXPECTED = [
    ("halved", "enum { MANY = 6, FEW = 1 };"),
    ("condition", "if (1)"),
    ("condition", "if (0)"),
    ("turned", "if (a >= b[0] && b[1] != 3)"),
    ("one-off", "if (a <= b[0] && b[1] != 3)"),
    ("condition", "if (a < b[0])"),
    ("turned", "if (a < b[0] && b[1] == 3)"),
    ("halved", "if (a < b[0] && b[1] != 1)"),
    ("dropped", ";"),
    ("swapped", "two = a + 1; atomic_store_explicit(&one, a, memory_order_release);"),
    ("dropped", ";"),
    ("relaxed", "atomic_store_explicit(&one, a, memory_order_relaxed);"),
    ("one-off", "two = a;"),
    ("turned", "for (; a->b < 0; a--)"),
    ("one-off", "for (; a->b > 0; a--)"),
    ("dropped", ";"),
    ("turned", "return a <= 1 || !b;"),
    ("one-off", "return a >= 1 || !b;"),
    ("condition", "return a > 1;"),
]


def main():
    wrong = []
    found = rules.mutants_of("sample.c", SAMPLE)
    made = sorted((mutant.rule, mutant.new_lines) for mutant in found)
    for one in sorted(EXPECTED):
        if one in made:
            made.remove(one)
        else:
            wrong.append(f"no mutant is {one}")
    wrong += [f"{one} is a mutant" for one in made]
    for mutant in found:
        applied = mutant.applied(SAMPLE)
        if applied == SAMPLE or applied.count("\n") != SAMPLE.count("\n"):
            wrong.append(f"{mutant} is no change, or changes the number of lines")
        if mutant.function not in ("sample", "enum"):
            wrong.append(f"{mutant} is in no function of that name")

    top = os.environ.get("abs_top_srcdir", ".")
    rows = mutate.read_map()
    files = list(mutate.sources("", top))
    for path in files:
        if not mutate.tests_of(path, rows):
            wrong.append(f"tests/mutate/map: no test can reach {path}")
    for test in sorted({test for _, tests in rows for test in tests}):
        name, case = re.split("[:@]", test)[0], test.partition("@")[2].replace("_", " ")
        path = f"tests/e2e/{name}" if name.endswith(".sh") else \
            "tests/model/model_emission.c" if name == "model" else f"tests/{name}.c"
        if not os.path.exists(os.path.join(top, path)):
            wrong.append(f"tests/mutate/map: there is no {path}")
        elif case:
            with open(os.path.join(top, path)) as file:
                if f'tcase_create("{case}")' not in file.read():
                    wrong.append(f"tests/mutate/map: {path} has no case \"{case}\"")
    for pattern, _ in rows:
        if not any(mutate.tests_of(path, [(pattern, [1])]) for path in files):
            wrong.append(f"tests/mutate/map: no file is {pattern}")
    mutate.read_equivalent()
    for text in wrong:
        print(f"FAIL: {text}")
    print(f"{len(EXPECTED)} mutants of a sample are as the rules say; {len(files)} files have tests")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
