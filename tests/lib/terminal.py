"""Run a command on a terminal of its own, and print all that it writes there.

    terminal.py COLUMNS COMMAND...

The status is that of the command, 128 + N after signal N. Lines end as a terminal gets them, in CR LF.
"""
import fcntl
import os
import pty
import struct
import sys
import termios


def main():
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
        os.execvp(sys.argv[2], sys.argv[2:])
    while True:
        try:
            said = os.read(terminal, 1 << 16)
        except OSError:  # EIO: nobody holds the other end
            break
        if not said:
            break
        sys.stdout.buffer.write(said)
        sys.stdout.buffer.flush()
    status = os.waitpid(pid, 0)[1]
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


sys.exit(main())
