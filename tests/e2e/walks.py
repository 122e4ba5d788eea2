#!/usr/bin/env python3
"""Makes libraries at random, whose functions call each other, and has tests/check_walks compare their stacks.

    walks.py WALKS STEPS        with FXT_SEED, in an empty directory

Each library is compiled in its own way: with and without frame pointers, at all levels of optimisation. Its
functions have frames of all kinds, and call each other directly, through the linkage table, by address, as
the last thing that they do, through the C library, in handlers of signals, and in threads.
"""
import bisect, collections, os, random, re, subprocess, sys

LIBRARIES, FUNCTIONS = 6, 14
LEVELS = ("-O0", "-O1", "-O2", "-O3", "-Os", "-Og")
MORE = ("-fstack-protector-all", "-fstack-clash-protection", "-mno-red-zone", "-fno-optimize-sibling-calls",
        "-fno-shrink-wrap", "-fcf-protection=full", "-fcf-protection=none", "-mstackrealign", "-fno-plt",
        "-maccumulate-outgoing-args", "-fno-inline")

HEAD = """
#include <alloca.h>
#include <pthread.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "walks.h"

static volatile unsigned sink;
static struct walks_state *volatile current;
static volatile unsigned current_depth;

#define CALL(f) (f(s, depth - 1, 1, 2, 3, 4, 5, 6))
#define KEEP() (current = s, current_depth = depth - 1)
"""

# A function calls NEXT once. SIBLING is a call that may be a jump.
FRAMES = {
    "plain": "NEXT sink++;",
    "leaf-like": "if (depth == 0) { sink++; return depth; } NEXT",
    "array": "volatile char a[%(size)d]; a[depth %% %(size)d] = 1; NEXT sink += a[depth %% %(size)d];",
    "alloca": "volatile char *a = alloca(16 + walks_draw(s, %(size)d)); a[0] = 1; NEXT sink += a[0];",
    "variable": "unsigned n = 1 + walks_draw(s, %(size)d); volatile int a[n]; a[n - 1] = 1; NEXT "
                "sink += a[n - 1];",
    "aligned": "_Alignas(%(align)d) volatile char a[%(align)d]; a[0] = 1; NEXT "
               "sink += a[0] + ((unsigned long)a & 1);",
    "aligned-variable": "_Alignas(%(align)d) volatile char a[%(align)d]; "
                        "volatile char *b = alloca(16 + walks_draw(s, %(size)d)); a[0] = b[0] = 1; "
                        "NEXT sink += a[0] + b[0];",
    "registers": "unsigned a = sink, b = a * 3 + 1, c = b ^ a, d = c * 7, e = d - b, f = e * a; NEXT "
                 "sink = a + b * 3 + c * 5 + d * 7 + e * 11 + f;",
    "early": "if (walks_draw(s, 4) == 0) { NEXT return sink; } sink++; NEXT sink += 2;",
    "loop": "for (unsigned i = 0; i < 1 + (depth & 1); i++) sink += i; NEXT",
    "cleanup": "unsigned c __attribute__((cleanup(clean))) = depth; NEXT sink += c;",
    "vector": "double a = sink, b = a * 1.5; NEXT sink = (unsigned)(a + b);",
}

NEXTS = {
    "direct": "sink += CALL(f%(library)d_%(other)d);",
    "linkage": "sink += CALL(f%(far)d_%(other)d);",
    "address": "sink += CALL(table[walks_draw(s, %(functions)d)]);",
    "enter": "s->enter[walks_draw(s, (unsigned)s->count)](s, depth - 1);",
    "sort": "{ int a[2] = {1, 0}; KEEP(); qsort(a, 2, sizeof(*a), order); }",
    "search": "{ int a[1] = {1}, k = 2; KEEP(); bsearch(&k, a, 1, sizeof(*a), order); }",
    "signal": "{ KEEP(); handle_by(s); "
              "syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1); }",
    "thread": "{ pthread_t t; if (s->is_stepped || walks_draw(s, 4)) sink += CALL(f%(library)d_%(other)d); "
              "else { KEEP(); if (!pthread_create(&t, NULL, run, NULL)) pthread_join(t, NULL); } }",
    "jump": "{ jmp_buf b; if (!setjmp(b)) sink += CALL(f%(library)d_%(other)d); }",
}
TAIL = "return CALL(f%(library)d_%(other)d);"
TAIL_FAR = "return CALL(f%(far)d_%(other)d);"

SHARED = """
static unsigned (*const table[])(struct walks_state *, unsigned, long, long, long, long, long, long) = {
	%(names)s
};

static __attribute__((unused)) void clean(unsigned *c) { sink += *c; }

static void go_on(void)
{
	struct walks_state *s = current;
	unsigned depth = current_depth;

	table[walks_draw(s, %(functions)d)](s, depth, 1, 2, 3, 4, 5, 6);
	sink++;
}

static int order(const void *a, const void *b)
{
	static volatile int within;

	if (within++ == 0 || walks_draw(current, 2))
		go_on();
	within--;
	return *(const int *)a - *(const int *)b;
}

static void handler(int number) { (void)number; go_on(); sink++; }
static void handler_with_context(int number, siginfo_t *info, void *context)
{
	(void)number; (void)info; (void)context; go_on(); sink++;
}

/* The frames of libunwind and of all functions have room in it. */
enum { ALTERNATE_BYTES = 4 << 20 };
static __thread char *alternate;

static __attribute__((unused)) void handle_by(struct walks_state *s)
{
	struct sigaction action = {.sa_flags = SA_NODEFER | (walks_draw(s, 2) ? SA_ONSTACK : 0)};
	stack_t stack;

	if (!alternate)
		alternate = mmap(NULL, ALTERNATE_BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	stack = (stack_t){.ss_sp = alternate, .ss_size = ALTERNATE_BYTES};
	sigaltstack(&stack, NULL);
	action.sa_handler = handler;
	if (walks_draw(s, 2)) {
		action.sa_sigaction = handler_with_context;
		action.sa_flags |= SA_SIGINFO;
	}
	sigaction(SIGUSR1, &action, NULL);
}

static __attribute__((unused)) void *run(void *argument) { go_on(); return argument; }

void walks_enter(struct walks_state *s, unsigned depth);
void walks_enter(struct walks_state *s, unsigned depth)
{
	table[walks_draw(s, %(functions)d)](s, depth, 1, 2, 3, 4, 5, 6);
	sink++;
}
"""

FLAGS = ("-std=gnu11", "-D_GNU_SOURCE", "-w", "-g", "-fPIC", "-pthread", "-fasynchronous-unwind-tables",
         "-I", os.path.join(os.environ["abs_top_srcdir"], "tests"))
PARAMETERS = "struct walks_state *s, unsigned depth, long a1, long a2, long a3, long a4, long a5, long a6"


def function(draw, library, number):
    """Returns the text of a function."""
    kind, way = draw.choice(list(FRAMES)), draw.choice(list(NEXTS) + ["tail", "tail-far"])
    values = {"size": draw.choice((8, 40, 200, 1000)), "align": draw.choice((32, 64, 128)),
              "library": library, "far": draw.randrange(LIBRARIES), "other": draw.randrange(FUNCTIONS),
              "functions": FUNCTIONS}
    then = {"tail": TAIL, "tail-far": TAIL_FAR}.get(way) or NEXTS[way]
    compare = "if (walks_draw(s, %d) == 0) s->compare(1 + walks_draw(s, 100));"
    step = (f"{{ {compare % 6} if (depth == 0) {{ s->compare(64); }} else {{ {then % values} }} "
            f"{compare % 9} }}")
    body = (FRAMES[kind] % values).replace("NEXT", step)
    attribute = draw.choice(("", "__attribute__((noinline)) ", "__attribute__((noinline, noclone)) "))
    return (f"/* {kind}, {way} */\n{attribute}unsigned f{library}_{number}({PARAMETERS})\n"
            f"{{ sink += (unsigned)(a1 + a2 + a3 + a4 + a5 + a6); {body} return sink; }}\n")


def compile_by(*arguments):
    subprocess.run([*os.environ.get("CC", "gcc").split(), *arguments], check=True)


def library(draw, number):
    """Writes and compiles the code of a library. Returns its flags."""
    names = [f"f{number}_{i}" for i in range(FUNCTIONS)]
    text = HEAD + "".join(f"unsigned f{i}_{j}({PARAMETERS});\n" for i in range(LIBRARIES)
                          for j in range(FUNCTIONS))
    text += SHARED % {"names": ", ".join(names), "functions": FUNCTIONS}
    text += "".join(function(draw, number, i) for i in range(FUNCTIONS))
    with open(f"walks{number}.c", "w") as file:
        file.write(text)
    pointer = "-fomit-frame-pointer" if number % 2 else "-fno-omit-frame-pointer"
    flags = [draw.choice(LEVELS), pointer] + draw.sample(MORE, draw.randrange(4))
    compile_by(*FLAGS, *flags, "-c", "-o", f"walks{number}.o", f"walks{number}.c")
    return " ".join(flags)


def link(others, draw):
    """Makes the libraries of what was compiled. Each needs the `others`, which have to be there."""
    for i in range(LIBRARIES):
        needed = [f"./walks{j}.so" for j in range(LIBRARIES) if j != i] if others else []
        compile_by("-shared", "-pthread", "-o", f"./walks{i}.so", f"walks{i}.o", *needed,
                   draw.choice(("-Wl,-z,lazy", "-Wl,-z,now")))


def rules_of(path):
    """Returns the rows of a file's unwind tables: the first address, the address behind them, and how the
    caller's stack pointer and frame pointer are found (a register and a number; `exp`; `u`, as it is)."""
    rows, end, columns = [], 0, []
    # It complains of what it does not know in the C library's file, and goes on.
    text = subprocess.run(["readelf", "-wF", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True).stdout
    for line in text.splitlines():
        bounds = re.search(r"pc=([0-9a-f]+)\.\.([0-9a-f]+)", line)
        fields = line.split()
        if bounds:
            end = int(bounds[2], 16)
        elif fields[:1] == ["LOC"]:
            columns = fields
        elif re.match(r"[0-9a-f]{16} ", line):
            row = dict(zip(columns, fields))
            rows.append((int(row["LOC"], 16), end, row["CFA"], row.get("rbp", "u")))
    return sorted(rows)


def rule_at(rows, address):
    """Returns how the caller of the code at this address is found, or None if the tables do not say."""
    at = bisect.bisect_right(rows, (address, float("inf"))) - 1
    return rows[at][2:] if at >= 0 and address < rows[at][1] else None


def explain(ends):
    """Says why stacks ended before those of libunwind. Returns how many should not have."""
    tables, reasons, wrong = {}, collections.Counter(), 0
    for (how, path, name, offset), count in ends.items():
        if name == "__libc_start_main" and how == "called":
            # The first thread begins in the test program, whose code the walk takes for the agent's.
            reasons["at the program's own start"] += count
            continue
        if path not in tables:
            tables[path] = rules_of(path)
        rule = rule_at(tables[path], int(offset, 16) - 1)
        if how == "interrupted" and rule is None:
            reasons["in code without a rule"] += count
        elif how == "interrupted" and ("exp" in rule or not rule[0].startswith(("rsp", "rbp"))):
            # Linkage tables, and the first and last instructions of functions that align their stack, which
            # find it by another register meanwhile.
            reasons["where the rule is no sum of the stack or frame pointer"] += count
        elif rule and not rule[0].startswith(("rsp", "rbp")) and os.path.basename(path).startswith("ld-"):
            # What binds a symbol at its first call keeps its frame by another register.
            reasons["where the dynamic linker binds a symbol"] += count
        else:
            wrong += count
            print(f"{count} stacks ended at {path} {name} {offset}, which was {how}; the rule is {rule}")
    for reason, count in sorted(reasons.items()):
        print(f"{count} stacks ended {reason}")
    return wrong


def main():
    walks, steps = sys.argv[1:]
    seed = int(os.environ["FXT_SEED"])
    draw = random.Random(seed)
    flags = [library(draw, i) for i in range(LIBRARIES)]
    link(False, draw)
    link(True, draw)
    run = subprocess.run([os.path.join(os.environ["abs_top_builddir"], "tests/check_walks"), str(seed), walks,
                          steps, *(f"./walks{i}.so" for i in range(LIBRARIES))], stdout=subprocess.PIPE,
                         text=True)
    ends = collections.Counter()
    for line in run.stdout.splitlines():
        if line.startswith("ends "):
            ends[tuple(line.split()[1:])] += 1
        else:
            print(line)
    wrong = explain(ends)
    if run.returncode:
        print(f"check_walks: status {run.returncode}; the libraries:", *flags, sep="\n  ")
    sys.exit(run.returncode != 0 or wrong)


if __name__ == "__main__":
    main()
