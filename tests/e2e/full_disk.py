"""A full disk: one clear sentence, exit 1, and the last checkpoint intact. A small tmpfs where root may mount one, a
file-size limit otherwise."""
import os
import re
import resource
import subprocess

from npgpu_run import PROGRAM, Checks, folder, needs, run

h5py = needs("h5py")
check = Checks()
ARGUMENTS = ["transfer", "--device", "sim:plain", "--direction", "h2d,d2h", "--end", "64MiB", "--schedule", "classic", "--target-time", "40ms",
             "--progress", "points"]


def limit_file_size():
    resource.setrlimit(resource.RLIMIT_FSIZE, (60000, 60000))


def look(path, result, what):
    err = result.stderr
    check(result.returncode == 1, f"{what}: exit {result.returncode}: {err[-300:]}")
    last = [line for line in err.splitlines() if line.startswith("npgpu: ")]
    check(len(last) == 1 and os.path.basename(path) in last[0], f"{what}: one sentence with the file's name: {last}")
    saved = re.findall(r"^saved /(\w+/\d+) (\d+):", err, re.M)
    # One is enough: where a checkpoint took long, the next waits, and many points meet the limit in it together.
    check(len(saved) >= 1, f"{what}: something was saved before")
    with h5py.File(path) as f:
        for series, point in saved:
            check(int(point) < len(f[series]["visits"]), f"{what}: {series} {point} was announced")
    check(not os.path.exists(path + ".tmp"), f"{what}: no half-written file stays")


with folder() as where:
    path = os.path.join(where, "limited.h5")
    done = subprocess.run([PROGRAM, *ARGUMENTS, "--output", path], capture_output=True, text=True, preexec_fn=limit_file_size)
    look(path, done, "file-size limit")
    again = run(*ARGUMENTS, "--output", path, "--resume", "--quiet")
    check(again.code == 0, f"and it resumes once there is room: {again.err[-200:]}")

    disk = os.path.join(where, "disk")
    os.mkdir(disk)
    if os.geteuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160k", "tmpfs", disk],
                                            capture_output=True).returncode == 0:
        try:
            path = os.path.join(disk, "full.h5")
            done = subprocess.run([PROGRAM, *ARGUMENTS, "--output", path], capture_output=True, text=True)
            look(path, done, "full tmpfs")
        finally:
            subprocess.run(["umount", disk])
    else:
        print("skipped: a tmpfs cannot be mounted here; the file-size limit stands in for it")
check.finish()
