"""Runs the programs whose calls are compared. Each is run several times, and does the same each time as far
as it can. A workload lists in `programs` what has to be installed. Its prepare(directory) is called once. Its
run(start, directory) is called for each run, with an empty directory: it starts the program that is traced
with start(command, **Popen arguments), and returns the exit status."""
import glob, os, shutil, socket, subprocess, sys, threading, time, http.server

# An environment in which as little as possible differs from run to run.
STEADY = {"PYTHONHASHSEED": "0", "LC_ALL": "C", "TZ": "UTC", "HOME": "/nonexistent",
          "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin",
          "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory",
          "GIT_CONFIG_VALUE_0": "*",
          "GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z",
          "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
          "GIT_COMMITTER_EMAIL": "a@b"}

PYTHON = r"""
import json, os, queue, socket, subprocess, tempfile, threading, zlib
work, done = queue.Queue(), queue.Queue()
def serve():
    while (item := work.get()) is not None:
        done.put(len(zlib.compress(json.dumps(list(range(item))).encode())))
threads = [threading.Thread(target=serve) for _ in range(4)]
for t in threads: t.start()
for i in range(200): work.put(i)
total = sum(done.get() for _ in range(200))
for t in threads: work.put(None)
for t in threads: t.join()
with tempfile.TemporaryDirectory() as directory:
    for i in range(100):
        with open(f"{directory}/{i}", "w") as file: file.write("line\n" * 500)
    total += sum(len(open(entry.path).readlines()) for entry in os.scandir(directory))
a, b = socket.socketpair()
for i in range(100):
    a.sendall(b"x" * 100); b.recv(100)
for i in range(5): subprocess.run(["sh", "-c", "ls / | sort >/dev/null"], check=True)
pid = os.fork()
if not pid: os._exit(0)
os.waitpid(pid, 0)
print(total)
"""


def connected(path):
    """Returns a client of the server at `path`, as soon as it listens there. A server binds before
    it listens."""
    for _ in range(3000):
        client = socket.socket(socket.AF_UNIX)
        try:
            client.connect(path)
            return client
        except (FileNotFoundError, ConnectionRefusedError):
            client.close()
            time.sleep(0.02)
    raise TimeoutError(path)


class Workload:
    programs = ()

    def missing(self):
        return [p for p in self.programs if not shutil.which(p, path=STEADY["PATH"])]

    def prepare(self, directory):
        pass


class Python(Workload):
    name, programs = "python3", ("python3",)

    def run(self, start, directory):
        return start(["/usr/bin/python3", "-S", "-c", PYTHON], cwd=directory,
                     stdout=subprocess.DEVNULL).wait()


class Redis(Workload):
    """Runs a server for one client, which sets strings, lists and sorted sets, has a forked child save them,
    and ends the server."""
    name, programs = "redis-server", ("redis-server",)

    def run(self, start, directory):
        path = directory + "/socket"
        server = start(["redis-server", "--port", "0", "--unixsocket", path, "--dir", directory,
                        "--save", ""], cwd=directory, stdout=subprocess.DEVNULL)
        with connected(path) as client:
            stream = client.makefile("rwb")

            def ask(*words):
                stream.write(b"*%d\r\n" % len(words) +
                             b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
                stream.flush()
                return stream.readline()
            for i in range(500):
                ask(b"SET", b"key%d" % i, b"x" * (i * 7 % 900))
                ask(b"RPUSH", b"list", b"%d" % i)
                ask(b"ZADD", b"sorted", b"%d" % (i * 37 % 501), b"member%d" % i)
            # The server kills the saving child when it ends, so the save has to be over before. LASTSAVE is
            # in seconds, so a save within the same second would not change it.
            before = ask(b"LASTSAVE")
            time.sleep(1.1)
            ask(b"BGSAVE")
            while ask(b"LASTSAVE") == before:
                time.sleep(0.1)
            stream.write(b"*2\r\n$8\r\nSHUTDOWN\r\n$6\r\nNOSAVE\r\n")
            stream.flush()
            return server.wait()


class Curl(Workload):
    name, programs = "curl", ("curl",)

    def run(self, start, directory):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Length", "300000")
                self.end_headers()
                self.wfile.write(b"y" * 300000)

            def log_message(self, *_):
                pass
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            url = f"http://localhost:{server.server_port}/"
            status = start(["curl", "-s", "-4", "-o", "one", url + "1", "-o", "two", url + "2"],
                           cwd=directory).wait()
            server.shutdown()
        return status


class Git(Workload):
    name, programs = "git clone", ("git",)

    def prepare(self, directory):
        self.source = directory + "/source"
        git = ["git", "-C", self.source]
        env = dict(STEADY)
        os.mkdir(self.source)
        subprocess.run(git + ["init", "-q", "-b", "main"], env=env, check=True)
        for i in range(40):
            for j in range(5):
                with open(f"{self.source}/file{i % 13}.{j}", "a", encoding="ascii") as file:
                    file.write("".join(f"{i} {j} {k}\n" for k in range(60)))
            subprocess.run(git + ["add", "."], env=env, check=True)
            subprocess.run(git + ["commit", "-q", "-m", f"change {i}"], env=env, check=True)

    def run(self, start, directory):
        return start(["git", "clone", "-q", "--no-local", self.source, directory + "/clone"],
                     cwd=directory).wait()


class Make(Workload):
    """Compiles seven files, two at a time, and links them, so that make calls vfork, and gcc spawns cc1, as
    and ld."""
    name, programs = "make -j2", ("make", "gcc")

    def run(self, start, directory):
        names = "abcdef"
        for name in names:
            with open(f"{directory}/{name}.c", "w", encoding="ascii") as file:
                file.write(f"#include <stdio.h>\nint {name}(void) {{ return printf(\"{name}\"); }}\n")
        with open(directory + "/main.c", "w", encoding="ascii") as file:
            file.write("int main(void) { return 0; }\n")
        objects = " ".join(f"{n}.o" for n in names + "") + " main.o"
        with open(directory + "/Makefile", "w", encoding="ascii") as file:
            file.write(f"all: {objects}\n\tgcc -o $@ {objects}\n"
                       "%.o: %.c\n\tgcc -O1 -c -o $@ $< && echo $@ >>log\n")
        return start(["make", "-s", "-j2"], cwd=directory, stdout=subprocess.DEVNULL).wait()


class Initdb(Workload):
    """Makes a PostgreSQL data directory. If we are root, initdb is run as postgres, because it refuses to be
    run by root."""
    name = "initdb"
    programs = ("setpriv",) if os.getuid() == 0 else ()

    def missing(self):
        return super().missing() + ([] if glob.glob("/usr/lib/postgresql/*/bin/initdb")
                                    else ["PostgreSQL's initdb"])

    def run(self, start, directory):
        program = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))[-1]
        user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
        if user:
            shutil.chown(directory, "postgres", "postgres")
        return start([program, "-N", "-D", directory + "/data", "--no-locale", "-E", "UTF8"], cwd=directory,
                     stdout=subprocess.DEVNULL, **user).wait()


ALL = (Python(), Redis(), Curl(), Git(), Make(), Initdb())
