"""The command line of the scripts that manipulate sealed archives."""
import copy, os, random, sys


def main(load, breaks, behind):
    """KIND FIRST COUNT IN DIR: load IN, and write it COUNT times, each after breaks["break_KIND"](archive, rng), or with
    the bytes of behind(archive, rng, IN) behind its end for the kind "behind". "none" changes nothing."""
    kind, first, count, source, target = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]
    whole = load(source)
    os.makedirs(target)
    for seed in range(first, first + count):
        archive, rng, more = copy.deepcopy(whole), random.Random(seed), b""
        if kind == "behind":
            more = behind(archive, rng, source)
        elif kind != "none":
            breaks["break_" + kind](archive, rng)
        archive.write("%s/%d" % (target, seed), more)
