"""bounded.py KILOBYTES SECONDS COMMAND...: runs the command with so much processor time at most.

The exit status is the command's, or 125 after a message when it was killed or had more memory at once.
"""
import os
import resource
import sys

most_kb, most_s, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
pid = os.fork()
if pid == 0:
    resource.setrlimit(resource.RLIMIT_CPU, (most_s, most_s))
    os.execv(command[0], command)
_, status, usage = os.wait4(pid, 0)
if os.WIFSIGNALED(status):
    print('killed by signal %d after %.1f s' % (os.WTERMSIG(status), usage.ru_utime + usage.ru_stime),
          file=sys.stderr)
elif usage.ru_maxrss > most_kb:
    print('took %d KB' % usage.ru_maxrss, file=sys.stderr)
else:
    sys.exit(os.WEXITSTATUS(status))
sys.exit(125)
