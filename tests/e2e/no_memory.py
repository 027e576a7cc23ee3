"""The k-th allocation of the program fails, alone or with all after it, for many k of commands that read: no signal, one
sentence, and nothing that differs from the sound run is told with its exit code."""
import os
import subprocess
import sys

from npgpu_run import PROGRAM, SOURCE, Checks, folder, run

check = Checks()
LIBRARY = sys.argv[2]
POINTS = int(os.environ.get("POINTS", "25"))  # of each command, about


# The CUDA runtime crashes in initializers of its own.
early = {"FROM_MAIN": "1"} if "cudaMemcpy" in run("--version").out else {}


def points(count):
    """Many of the first, before main and in it, and then ever fewer. The first may be of HDF5, which calls itself without end
    where it cannot begin."""
    step = max(1.0, (count / 40) ** (1 / POINTS))
    k, some = 1.0, set(range(2, 40, max(1, 60 // POINTS)))
    while 40 * k < count:
        some.add(int(40 * k))
        k *= step
    return sorted(some)


with folder() as where:
    count_in = os.path.join(where, "count")
    trace = os.path.join(SOURCE, "data/traces/h200_run_a.h5")
    sick = os.path.join(where, "sick.h5")
    made = run("check", "--device", "sim:sick/half-the-lanes", "--level", "1", "--quiet", "--output", sick)
    check(made.code == 3, made.err)
    for command in (("report", sick), ("check", "--trace", sick), ("predict", trace, "--bytes-in", "64MiB", "--kernel-ms", "1", "--bytes-out", "64MiB"),
                    ("fleet", sick), ("export", sick, "--summary")):
        def attempt(**more):
            return subprocess.run([PROGRAM, *command], capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL,
                                  env={**os.environ, "LD_PRELOAD": LIBRARY, "COUNT_IN": count_in, **early, **more})
        sound = attempt()
        count = int(open(count_in).read()) if os.path.exists(count_in) else 0  # with a sanitizer it is not even loaded
        if count < 1000:
            print(f"skipped: allocations of this build are not those of the C library: {count} seen")
            sys.exit(77)
        ended = 0
        for k in points(count):
            for more in ({}, {"FAIL_ALL": "1"}):
                done = attempt(FAIL_AT=str(k), **more)
                what = f"{command[0]}: allocation {k} of {count}{' and all after it' if more else ''}: exit code {done.returncode}: {done.stderr[-300:]}"
                check(done.returncode >= 0, what)
                if (done.returncode, done.stdout) == (sound.returncode, sound.stdout):
                    continue
                ended += 1
                check(done.returncode in (1, 2), what)
                said = [line for line in done.stderr.splitlines() if line.startswith("npgpu: ")]
                check(len(said) == 1, f"one sentence: {what}")
        check(ended > POINTS, f"{command[0]}: {ended} of them ended it")
check.finish()
