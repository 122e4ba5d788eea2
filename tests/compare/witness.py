"""What three witnesses say of a run: the trace, the counting library, and strace. Each as counts by name."""
import collections, functools, glob, json, os, re, subprocess

FXT, AGENT = os.environ["FXT"], os.environ["FXT_AGENT"]
BUILD = os.environ["abs_top_builddir"]


@functools.lru_cache(None)
def symbols():
    """(symbol, category:event, "table" or "hand") of each entry of the counting library, in its order."""
    text = subprocess.run([BUILD + "/tests/list_calls", "--symbols"], stdout=subprocess.PIPE, check=True, text=True).stdout
    return [line.split() for line in text.splitlines()]


@functools.lru_cache(None)
def by_number():
    """[(number, name, category:event)] of each system call that the agent stands in for where syscall() is asked for it."""
    text = subprocess.run([BUILD + "/tests/list_calls", "--by-number"], stdout=subprocess.PIPE, check=True, text=True).stdout
    return [(int(number), name, event) for number, name, event in (line.split() for line in text.splitlines())]


def traced(directory):
    """What the traces in a directory have: {pid: {category:call: count}}, and how many records were lost."""
    found, lost = collections.defaultdict(collections.Counter), 0
    for path in glob.glob(directory + "/*.fxt"):
        subprocess.run([FXT, "check", path], stdout=subprocess.DEVNULL, check=True)
        report = json.loads(subprocess.run([FXT, "report", "--json", path], stdout=subprocess.PIPE, check=True).stdout)
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
    """What the counting library has: {pid: {category:call: count}}, and the same of what was called before main()."""
    found, early = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    names = [event for _, event, _ in symbols()]
    for path in glob.glob(directory + "/*"):
        with open(path, "rb") as file:
            values = memoryview(file.read()).cast("Q")
        pid = int(os.path.basename(path).split(".")[0])
        # The last function is syscall() itself.
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
# What the C library is made of: a call of the program's does not lie behind frames of these.
INSIDE = re.compile(r"/(libc|libpthread|libresolv|libnss_[a-z]*|libdl|librt|libm|ld-linux[-a-z0-9_]*)[-.]")


@functools.lru_cache(None)
def recording():
    """{function of the agent that records: category:event}."""
    # Reads and writes have several: of what may be a stream, or comes after a while; and of what is said on standard error.
    found = {prefix + symbol: event for symbol, event, _ in symbols() for prefix in ("traced_", "special_", "saying_")}
    found.update({"numbered_" + name: event for _, name, event in by_number()})
    found.update({symbol: event for symbol, event, form in symbols() if form == "hand"})
    # What the forms of exec share: those that are given a path, and those that search for the program.
    found.update({"by_path": "process:exec", "by_search": "process:execvp"})
    found.update({f"traced_{age}_{symbol}": event for symbol, event, _ in symbols() for age in ("old", "new")})
    found.update({f"{age}_{symbol}": event for symbol, event, _ in symbols() for age in ("old", "new")})
    return found


def attribute(frames):
    """Who made a system call, by the stack it was made on: ("agent", function), ("traced", category:event), ("untraced", function) in a
    wrapper that does not record, ("loader", ""), ("libc", function), ("raw", library). A frame is (library, function)."""
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
            # The compiler adds to a function's name what it has left out of it.
            function = function.split(".")[0]
            if function in recording():
                return ("traced", recording()[function])
            # What begins a thread is below all that the thread does.
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
    """What strace wrote: {(system call, who): count}; who is None where it wrote no stacks."""
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
                # Interrupted: when the handler is done the kernel makes it again, or it has failed.
                if "= ? ERESTART" in line:
                    interrupted.append((call, frames))
                    call = None
                elif call == "rt_sigreturn":
                    call, frames = interrupted.pop() if interrupted and "EINTR" in line else (None, [])
                elif call == "restart_syscall":
                    call = None
        done()
    return found
