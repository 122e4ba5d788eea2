"""The copy of the sources that the faults are made in, with a build folder of its own.

The user's tree is only read. `src` and `build` lie below the work folder; `clean` there has the build of the
sources without a fault, from which what a mutant has changed is put back.
"""
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

GENERATED = ("configure", "Makefile.in", "config.h.in", "aclocal.m4", "build-aux", "m4")
# A fault would be hidden in what the compiler says of variables and lines, so there is no -g; and a static
# library that nobody links would have every source compiled twice.
FLAGS = ("--disable-static", "CFLAGS=-O2 -g0")


class Tree:
    def __init__(self, source, configured, work):
        self.source, self.configured = source, configured
        self.root = work
        self.src = os.path.join(work, "src")
        self.build = os.path.join(work, "build")
        self.clean = os.path.join(work, "clean")
        self.mark = f"FXT_MUTANT={os.getpid()}"
        self.state = {}

    def files(self):
        """Returns the paths of the sources, relative to the top."""
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=self.source,
                                capture_output=True, text=True)
        if listed.returncode == 0 and listed.stdout:
            found = listed.stdout.split("\n")
        else:
            found = [os.path.relpath(os.path.join(folder, name), self.source)
                     for folder, _, names in os.walk(self.source) for name in names]
        for name in GENERATED:
            path = os.path.join(self.source, name)
            if os.path.isdir(path):
                found += [os.path.join(name, inner) for inner in os.listdir(path)]
            else:
                found.append(name)
        built = os.path.relpath(self.configured, self.source) + "/"
        return sorted({name for name in found if name and not name.startswith((built, ".git/")) and
                       os.path.isfile(os.path.join(self.source, name))})

    def copy(self):
        """Makes `src` equal to the user's sources. What has not changed keeps its time."""
        names = self.files()
        for name in names:
            old, new = os.path.join(self.source, name), os.path.join(self.src, name)
            if not os.path.exists(new) or read(old) != read(new):
                os.makedirs(os.path.dirname(new), exist_ok=True)
                shutil.copy2(old, new)
                # An older time than that of what was built from the last one would hide the change.
                if os.path.isdir(self.clean) and name not in GENERATED:
                    os.utime(new)
        for folder, _, inner in os.walk(self.src):
            for name in inner:
                path = os.path.relpath(os.path.join(folder, name), self.src)
                if path not in set_of(names) and not path.endswith(".pyc"):
                    os.unlink(os.path.join(folder, name))

    def configure(self):
        if os.path.exists(os.path.join(self.build, "config.status")):
            return
        os.makedirs(self.build, exist_ok=True)
        said = subprocess.run(["./config.status", "--config"], cwd=self.configured, capture_output=True,
                              text=True, check=True).stdout
        given = [word for word in shlex.split(said)
                 if not word.startswith(("CFLAGS=", "--enable-werror", "--enable-coverage",
                                         "--enable-sanitizers", "--enable-shared"))]
        with open(os.path.join(self.root, "configure.log"), "w") as log:
            subprocess.run(["../src/configure", *given, *FLAGS], cwd=self.build, stdout=log, stderr=log,
                           check=True)

    def make(self, targets, jobs, seconds=None):
        """Runs make for one target after the other: for `all` and `check`, automake's rules begin a make
        each, and two at a time would write the same objects. Returns whether it could make the targets, and
        its output otherwise."""
        for target in targets:
            status, said = run(["make", "-s", f"-j{jobs}", "V=0", "TESTS=", target], self.build,
                               self.environment(), seconds)
            if status != 0:
                return False, said
        return True, ""

    def environment(self):
        found = dict(os.environ)
        # What make hands to its children is about the user's build.
        for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"):
            found.pop(name, None)
        name, value = self.mark.split("=")
        found.update({"abs_top_srcdir": self.src, "abs_top_builddir": self.build, name: value,
                      "FXT": os.path.join(self.build, "fxt"),
                      "FXT_AGENT": os.path.join(self.build, ".libs/libfxtagent.so"),
                      "CK_DEFAULT_TIMEOUT": "20"})
        return found

    def listing(self):
        found = {}
        for folder, _, names in os.walk(self.build):
            for name in names:
                path = os.path.join(folder, name)
                info = os.lstat(path)
                found[path] = (info.st_mtime_ns, info.st_size)
        return found

    def keep(self):
        """Notes the build as the one without a fault. Only what has changed is copied."""
        old, self.state = self.state, self.listing()
        for path, what in self.state.items():
            kept = os.path.join(self.clean, os.path.relpath(path, self.build))
            if old.get(path) == what:
                continue
            if os.path.lexists(kept):
                info = os.lstat(kept)
                if (info.st_mtime_ns, info.st_size) == what:
                    continue
                os.unlink(kept)
            os.makedirs(os.path.dirname(kept), exist_ok=True)
            shutil.copy2(path, kept, follow_symlinks=False)

    def objects(self):
        """Returns the objects that were made since keep(), and whether each differs from what it was."""
        found = {}
        for path, what in self.listing().items():
            if path.endswith(".o") and self.state.get(path) != what:
                kept = os.path.join(self.clean, os.path.relpath(path, self.build))
                found[path] = not os.path.exists(kept) or read(path) != read(kept)
        return found

    def put_back(self):
        """Undoes all that a mutant has changed in the build folder."""
        now = self.listing()
        for path in now.keys() - self.state.keys():
            os.unlink(path)
        for path, what in self.state.items():
            if now.get(path) != what:
                if os.path.lexists(path):
                    os.unlink(path)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                shutil.copy2(os.path.join(self.clean, os.path.relpath(path, self.build)), path,
                             follow_symlinks=False)

    def kill_rest(self):
        """Kills the processes that a test has left behind: each has the mark in its environment."""
        for number in filter(str.isdigit, os.listdir("/proc")):
            try:
                if int(number) != os.getpid() and \
                        self.mark.encode() in read(f"/proc/{number}/environ").split(b"\0"):
                    os.kill(int(number), signal.SIGKILL)
            except OSError:
                pass


_sets = {}


def set_of(names):
    return _sets.setdefault(id(names), set(names))


def read(path):
    with open(path, "rb") as file:
        return file.read()


def run(command, folder, environment, seconds):
    """Runs a command for so many seconds at most. Returns its status (None: it took longer) and output."""
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                 stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = child.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except OSError:
                pass
            child.wait()
        output.seek(0, os.SEEK_END)
        output.seek(max(0, output.tell() - 20000))
        return status, output.read().decode(errors="replace")


def now():
    return time.monotonic()
