"""For crashes.sh. Runs programs that die, and compares core files.

    run DIRECTORY [SIGNAL] CMD...   runs CMD there, with core files allowed; sends it SIGNAL once it has said
                                    "ready". Prints how it ended as a parent is told by waitid().
    core PROGRAM FILE               prints what gdb finds in a core file, without addresses that differ from
                                    run to run and without the frames of the agent
"""
import glob
import os
import re
import resource
import subprocess
import sys

CODES = {os.CLD_EXITED: "exited", os.CLD_KILLED: "killed", os.CLD_DUMPED: "dumped"}


def run(directory, *command):
    signum = None
    if command[0].isdigit():
        signum, command = int(command[0]), command[1:]
    os.makedirs(directory, exist_ok=True)

    def prepare():
        os.chdir(directory)
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))

    with open(directory + "/out", "wb") as out, open(directory + "/err", "wb") as err:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=prepare, stderr=err,
                                 stdout=subprocess.PIPE if signum else out)
        if signum:
            for line in child.stdout:
                out.write(line)
                if line == b"ready\n":
                    break
            os.kill(child.pid, signum)
    ended = os.waitid(os.P_PID, child.pid, os.WEXITED)
    print(CODES[ended.si_code], ended.si_status)


# What a fault leaves behind. The registers are those that crashes.c sets.
ASKED = ["p $_siginfo.si_signo", "p $_siginfo.si_code", "p $_siginfo._sifields._sigfault.si_addr", "x/i $pc",
         "p/x $rbx", "p/x $r12", "p/x $r13", "p/x $r14", "p/x $r15", "p/x $rsi", "p/x $eflags", "bt"]


def core(program, name):
    commands = [word for asked in ["set print frame-arguments none"] + ASKED for word in ("-ex", asked)]
    said = subprocess.run(["gdb", "-batch", "-nx", *commands, program, name], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
    lines = [line for line in said.splitlines() if re.match(r"\$|=>|#\d+ |Program terminated", line)]
    was_sent = any(re.match(r"\$2 = (-|0$)", line) for line in lines)
    for line in lines:
        # Within a call the registers are the C library's, and behind a wrapper others.
        if was_sent and re.match(r"\$([3-9]|1\d) |=>", line):
            continue
        # Frames of the agent are in the stack of a call that it stands in for.
        if line[0] == "#" and re.search(r"\.\./\.\./interpose|/interpose/|libfxtagent", line):
            continue
        line = re.sub(r"^#\d+ +(0x[0-9a-f]+ in )?", "# ", line)
        line = re.sub(r"\(.*\) (at|from)", r"() \1", line)
        print(re.sub(r"0x[0-9a-f]{8,}", "ADDRESS", line))


if sys.argv[1] == "run":
    run(*sys.argv[2:])
else:
    found = glob.glob(sys.argv[3])
    if found:
        core(sys.argv[2], found[0])
