"""Reads what three witnesses say of a run: the trace, the counting library, and strace. The functions
that read them return counts of calls by name."""
import collections, functools, glob, json, os, re, subprocess

FXT, AGENT = os.environ["FXT"], os.environ["FXT_AGENT"]
BUILD = os.environ["abs_top_builddir"]


@functools.lru_cache(None)
def symbols():
    """Returns (symbol, category:event, "table" or "hand") of each entry of the counting library, in order."""
    text = subprocess.run([BUILD + "/tests/list_calls", "--symbols"], stdout=subprocess.PIPE, check=True,
                          text=True).stdout
    return [line.split() for line in text.splitlines()]


@functools.lru_cache(None)
def by_number():
    """Returns (number, name, category:event) of each system call that the agent traces when it is made by
    syscall()."""
    text = subprocess.run([BUILD + "/tests/list_calls", "--by-number"], stdout=subprocess.PIPE, check=True,
                          text=True).stdout
    return [(int(number), name, event)
            for number, name, event in (line.split() for line in text.splitlines())]


def traced(directory):
    """Returns what the traces in a directory have, as {pid: {category:call: count}}, and how many records
    were lost."""
    found, lost = collections.defaultdict(collections.Counter), 0
    for path in glob.glob(directory + "/*.fxt"):
        subprocess.run([FXT, "check", path], stdout=subprocess.DEVNULL, check=True)
        report = json.loads(subprocess.run([FXT, "report", "--json", "--all", path], stdout=subprocess.PIPE,
                                           check=True).stdout)
        pid = report["trace"]["programs"][0]["id"]
        lost += report["trace"]["dropped"] + report["trace"]["overwritten"] + report["trace"]["filtered"]
        for call in report["calls"]:
            found[pid][call["category"] + ":" + call["name"]] += call["count"]
        for call in report["open"]:
            found[pid][call["category"] + ":" + call["call"]] += 1
    for calls in found.values():
        for name in [n for n in calls if n.startswith("agent:")]:
            del calls[name]
    return found, lost


def counted(directory):
    """Returns what the counting library has, as {pid: {category:call: count}}, and in the same form the
    counts of the calls before main()."""
    found, early = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    names = [event for _, event, _ in symbols()]
    for path in glob.glob(directory + "/*"):
        with open(path, "rb") as file:
            values = memoryview(file.read()).cast("Q")
        pid = int(os.path.basename(path).split(".")[0])
        # Behind the functions of symbols(), the library counts syscall() itself.
        functions = len(names) + 1
        for name, value, before in zip(names, values, values[functions:]):
            if value:
                found[pid][name] += value
                early[pid][name] += before
        for number, _, event in by_number():
            if values[2 * functions + number]:
                found[pid][event] += values[2 * functions + number]
    return found, early


# -- strace -ff -k ---------------------------------------------------------------------------------------

CALL = re.compile(r"^([a-z_0-9]+)\(")
FRAME = re.compile(r"^ > (\S+?)\((.*?)(?:\+0x[0-9a-f]+)?\) \[")
# The libraries that the C library consists of. A system call is a wrapper's only if all frames between the
# two are in these or in the agent.
INSIDE = re.compile(r"/(libc|libpthread|libresolv|libnss_[a-z]*|libdl|librt|libm|ld-linux[-a-z0-9_]*)[-.]")


@functools.lru_cache(None)
def recording():
    """Returns {function of the agent that records: category:event}."""
    # Reads and writes have several functions, because those of streams and standard error are recorded by a
    # longer one.
    found = {prefix + symbol: event
             for symbol, event, _ in symbols() for prefix in ("traced_", "special_")}
    found.update({"numbered_" + name: event for _, name, event in by_number()})
    found.update({symbol: event for symbol, event, form in symbols() if form == "hand"})
    # The calls of the exec family share two functions: by_path() takes a path, by_search() searches for the
    # program.
    found.update({"by_path": "process:exec", "by_search": "process:execvp"})
    found.update({f"traced_{age}_{symbol}": event
                  for symbol, event, _ in symbols() for age in ("old", "new")})
    found.update({f"{age}_{symbol}": event for symbol, event, _ in symbols() for age in ("old", "new")})
    return found


def attribute(frames):
    """Returns who made a system call, by the stack that it was made on: ("agent", function), ("traced",
    category:event), ("untraced", function) for a wrapper that does not record, ("loader", ""),
    ("libc", function) or ("raw", library). A frame is (library, function); the innermost comes first."""
    if not frames:
        return ("raw", "?")
    library, _ = frames[0]
    if "libfxtagent" in library:
        return ("agent", frames[0][1])
    if not INSIDE.search(library):
        return ("raw", os.path.basename(library))
    last = frames[0]
    through = None
    for library, function in frames:
        if "libfxtagent" in library:
            # The compiler adds a suffix to the names of functions that it split or specialized (".part.0").
            function = function.split(".")[0]
            if function in recording():
                return ("traced", recording()[function])
            # begin() starts every thread, so it is on all stacks of the thread and made no call itself.
            if function == "begin":
                break
            through = through or function
            continue
        if through == "syscall":
            return ("raw", "syscall()")
        if through:
            return ("untraced", through)
        if not INSIDE.search(library):
            break
        last = library, function
    if all("ld-linux" in library for library, _ in frames if INSIDE.search(library)) or "ld-linux" in last[0]:
        return ("loader", "")
    return ("libc", last[1])


def straced(prefix, stacks):
    """Returns what strace wrote, as {(system call, who made it): count}. The latter is None where strace
    wrote no stacks."""
    found = collections.Counter()
    for path in glob.glob(prefix + ".*"):
        call, frames, interrupted = None, [], []

        def done():
            if call:
                found[call, attribute(tuple(frames)) if stacks else None] += 1
        with open(path, errors="replace") as file:
            for line in file:
                match = FRAME.match(line) if stacks else None
                if match:
                    frames.append(match.groups())
                    continue
                match = CALL.match(line)
                if not match:
                    continue
                done()
                call, frames = match[1], []
                # The call was interrupted. When the handler returns, either the kernel makes the call again,
                # and strace shows that as another call, or the call has failed and is counted then.
                if "= ? ERESTART" in line:
                    interrupted.append((call, frames))
                    call = None
                elif call == "rt_sigreturn":
                    call, frames = interrupted.pop() if interrupted and "EINTR" in line else (None, [])
                elif call == "restart_syscall":
                    call = None
        done()
    return found
