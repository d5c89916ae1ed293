"""rota.py ARCHIVE N: bpk verify --state over N copies of an archive, three of which are damaged, with runs that
--max-time ends and runs that are killed. In each of two rounds every archive must be checked, and none that the state
has as checked in this round again before all others are.
"""
import os
import random
import signal
import subprocess
import sys
import time

BPK = os.environ["BPK"]
rng = random.Random(int(os.environ.get("BPK_TEST_SEED", 0)))


def make(archive, number):
    good = open(archive, "rb").read()
    bad = good[:-9] + bytes([good[-9] ^ 1]) + good[-8:]
    for i in range(number):
        os.makedirs(f"d/{i // 100}", exist_ok=True)
        with open(f"d/{i // 100}/{i}.blp", "wb") as file:
            file.write(bad if i < 3 else good)


def checked_since(start):
    """The sound archives that the state has as checked since then."""
    if not os.path.exists("state"):
        return set()
    lines = [line.split(" ", 3) for line in open("state").read().splitlines()[1:-1]]
    return {rest.split()[-1] for kind, good, _, rest in lines if kind == "good" and int(good) >= start}


def run(rate):
    """Verify until the time is over, or the run is killed. Returns the archives called sound, in order."""
    kills = rng.random() < 0.5
    args = [BPK, "verify", "-v", "-T", "1", "-r", "--state", "state", *rate]
    if not kills:
        args += ["--max-time", str(rng.randrange(1, 4))]
    with open("printed", "wb") as out:
        child = subprocess.Popen([*args, "d"], stdout=out, stderr=subprocess.DEVNULL)
        try:
            child.wait(rng.uniform(1, 4) if kills else None)
        except subprocess.TimeoutExpired:
            child.kill()
    if child.wait() not in (0, 2, -signal.SIGKILL):
        sys.exit(f"status {child.returncode}")
    return [line.split(": ok")[0] for line in open("printed").read().splitlines() if ": ok" in line]


def main(archive, number):
    make(archive, number)
    rate = ["--limit-rate", str(number * os.path.getsize(archive) // 5)] if number < 10000 else []
    runs = checks = 0
    for _ in range(2):
        start, seen, done = time.time_ns(), set(), set()
        while len(done) < number - 3:
            order = run(rate)
            runs, checks = runs + 1, checks + len(order)
            for path in order:
                if path in done and len(done | seen) < number - 3:
                    sys.exit(f"{path} is checked again before {number - 3 - len(done | seen)} others")
                seen.add(path)
            done, seen = checked_since(start), set()
    print(f"{number} archives, two rounds in {runs} runs, {checks} checks")


main(sys.argv[1], int(sys.argv[2]))
