#!/usr/bin/env python3
"""Do the tests see a fault? Mutation testing of the engine, the statistics and the judge: mutants.py [FILE...].

Changes one place of a source at a time (universalmutator writes the mutants), builds, and runs the unit tests of its
folder. Prints each mutant that compiles and that no test notices. Run by hand, for it takes minutes a file. Needs
`pip install universalmutator`. The sources stay as they are: the mutants live in a worktree below build/mutants.
"""
import argparse
import difflib
import os
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = ROOT / "build/mutants"
SOURCE, BUILD = PLACE / "source", PLACE / "build"
JUDGED = ["netpipe/engine/statistics.cpp", "netpipe/engine/schedule.cpp", "netpipe/judge/judge.cpp",
          "netpipe/judge/compare/changes.cpp"]


def run(*words, check=True, **how):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, **how)
    if check and done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr[-2000:] or done.stdout[-2000:]}")
    return done


def prepare(jobs):
    """A copy of the last commit, built file by file, so that a mutant costs one compilation."""
    if SOURCE.exists():
        run("git", "-C", SOURCE, "checkout", "--quiet", "--force", "--detach", run("git", "-C", ROOT, "rev-parse", "HEAD").stdout.strip())
    else:
        run("git", "-C", ROOT, "worktree", "add", "--quiet", "--force", "--detach", SOURCE, "HEAD")
    run("cmake", "-S", SOURCE, "-B", BUILD, "-G", "Ninja", "-DNPGPU_CUDA=OFF", "-DNPGPU_BATCH=1", "-DNPGPU_TESTS=ON",
        "-DCMAKE_CXX_FLAGS_RELEASE=-O1", *os.environ.get("NPGPU_CMAKE_ARGS", "").split())
    folders = {folder_of(name) for name in ARGUMENTS.file}
    run("cmake", "--build", BUILD, "-j", jobs, "--target", *(f"npgpu_tests_{folder}" for folder in folders))
    for folder in folders:
        if tests_of(folder, 1800).returncode != 0:
            sys.exit(f"the tests of {folder} fail without a mutant")


def folder_of(name):
    return pathlib.Path(name).parts[1]


def tests_of(folder, seconds):
    return run("ctest", "--test-dir", BUILD, "--stop-on-failure", "-R", rf"^{folder}\.", "-j", 2, check=False, timeout=seconds)


def mutants_of(name, seed):
    """All mutants of a file, in the order that the seed draws."""
    folder = PLACE / "mutants" / name
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    run(sys.executable, "-c", "from universalmutator.genmutants import main; main()", SOURCE / name, "--noCheck", "--mutantDir", folder, cwd=PLACE)
    drawn = sorted(folder.iterdir())
    random.Random(seed).shuffle(drawn)
    return drawn


def fate_of(name, text):
    """Whether the tests notice that the file has this text."""
    (SOURCE / name).write_text(text)
    built = run("cmake", "--build", BUILD, "--target", f"npgpu_tests_{folder_of(name)}", check=False)
    if built.returncode != 0:
        return "does not compile"
    try:
        return "noticed" if tests_of(folder_of(name), ARGUMENTS.seconds).returncode != 0 else "survives"
    except subprocess.TimeoutExpired:
        return "noticed"  # it runs without end


def main():
    prepare(os.cpu_count())
    survivors = 0
    for name in ARGUMENTS.file:
        original = (SOURCE / name).read_text()
        mutants = mutants_of(name, ARGUMENTS.seed)
        count = dict.fromkeys(("noticed", "survives", "does not compile"), 0)
        try:
            for mutant in mutants:
                if count["noticed"] + count["survives"] == ARGUMENTS.mutants:
                    break
                text = mutant.read_text()
                fate = fate_of(name, text)
                count[fate] += 1
                if fate == "survives":
                    lines = difflib.unified_diff(original.splitlines(), text.splitlines(), name, mutant.name, n=0, lineterm="")
                    print("\n".join(list(lines)[2:]), flush=True)
        finally:
            (SOURCE / name).write_text(original)
        survivors += count["survives"]
        print(f"{name}: {sum(count.values())} of {len(mutants)} mutants: " + ", ".join(f"{n} {what}" for what, n in count.items()), flush=True)
    return survivors > 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("file", nargs="*", default=JUDGED, help="sources, as netpipe/judge/judge.cpp")
    parser.add_argument("--mutants", type=int, default=40, help="so many of a file that compile (40)")
    parser.add_argument("--seed", type=int, default=1, help="which of them (1)")
    parser.add_argument("--seconds", type=float, default=120, help="a mutant whose tests take longer is noticed (120)")
    ARGUMENTS = parser.parse_args()
    sys.exit(main())
