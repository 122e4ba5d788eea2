#!/usr/bin/env python3
"""Compares reports on terminals of drawn widths with the same in a pipe.

    terminal.py ROUNDS TRACE...

No line is wider than the terminal. A narrow one has the same words in the same order, one of 100 columns the
same lines, and a wide one no more lines. The draws follow from FXT_SEED."""
import fcntl, os, random, struct, subprocess, sys, termios

FXT = os.environ["FXT"]
SEED = int(os.environ.get("FXT_SEED") or random.SystemRandom().getrandbits(32))
LEAST, USUAL, MOST = 30, 100, 200


def in_pipe(words):
    return subprocess.run([FXT, *words], stdout=subprocess.PIPE, check=True).stdout.decode()


def on_terminal(words, columns):
    """Returns what the command prints on a terminal of that width."""
    ours, its = os.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    run, said = subprocess.Popen([FXT, *words], stdout=its), b""
    os.close(its)
    while True:
        try:
            said += os.read(ours, 65536)
        except OSError:
            break
    os.close(ours)
    assert run.wait() == 0, f"{words} ends with {run.returncode}"
    return said.decode().replace("\r\n", "\n")


def check(words, columns):
    usual, said = in_pipe(words), on_terminal(words, columns)
    widest, what = max(map(len, said.splitlines())), f"{words} on {columns} columns"
    assert widest <= max(LEAST, min(columns, MOST)), f"{what} has a line of {widest}"
    if columns == USUAL:
        assert said == usual, f"{what} and in a pipe differ"
    elif columns < USUAL:
        # A word that is longer than a line is broken.
        assert "".join(said.split()) == "".join(usual.split()), f"{what} has other words"
    else:
        assert len(said.splitlines()) <= len(usual.splitlines()), f"{what} has more lines"
    return widest


def main():
    rng, widest = random.Random(SEED), {}
    for path in sys.argv[2:]:
        for columns in [1, 60, USUAL, MOST] + [rng.randrange(1, 300) for _ in range(int(sys.argv[1]))]:
            words = ["report", *rng.choice([[], ["--all"], ["--top", "3"], ["--explain", "F1"]]), path]
            if "--explain" in words and not in_pipe(["report", path]).count("--explain F1"):
                words = ["report", path]
            widest[columns] = max(widest.get(columns, 0), check(words, columns))
    assert max(widest.values()) > USUAL, "no line is wider than in a pipe"
    print(f"{len(widest)} widths, up to {max(widest.values())} columns are used (seed {SEED})")


try:
    main()
except AssertionError as wrong:
    sys.exit(f"FAIL: {wrong} (seed {SEED})")
