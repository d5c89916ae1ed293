"""Type keys to a shell on a terminal of its own, and print all that the shell writes there.

    typed.py KEYS COMMAND...

The shell's prompt is @@. KEYS, in which \\t is the tab key and \\r ends a line, are typed behind the
first prompt, and exit behind the next one. A shell that takes a minute is killed: status 1.
"""
import os
import pty
import select
import signal
import sys
import time


def main():
    end = time.monotonic() + 60
    keys = [sys.argv[1].encode().decode("unicode_escape").encode("latin-1"), b"exit\r"]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(sys.argv[2], sys.argv[2:])
    said = b""
    while True:
        if not select.select([terminal], [], [], max(0, end - time.monotonic()))[0]:
            os.kill(pid, signal.SIGKILL)
            return 1
        try:
            new = os.read(terminal, 1 << 16)
        except OSError:  # EIO: nobody holds the other end
            break
        if not new:
            break
        sys.stdout.buffer.write(new)
        sys.stdout.buffer.flush()
        said += new
        if b"@@" in said and keys:
            said = b""
            os.write(terminal, keys.pop(0))
    os.waitpid(pid, 0)
    return 0


sys.exit(main())
