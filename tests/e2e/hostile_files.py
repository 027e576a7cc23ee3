"""Files that a user names and files that are written: what is no file is refused in a sentence, soon and with the
option's name; what is written is whole or not there, and goes through nothing that somebody planted.

    hostile_files.py PROGRAM
"""
import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import threading
import time

from npgpu_run import PROGRAM, SOURCE, Checks, folder, run, written

check = Checks()
DONE, FAILED, USAGE = 0, 1, 2
TRACE = os.path.join(SOURCE, "data/traces/h200_check.h5")
JOBS = os.path.join(SOURCE, "data/traces/h200_streams.h5")  # whose streams predict knows


def asked(*arguments, code, word, **how):
    done = run(*arguments, timeout=60, **how)  # what waits without end fails by that
    lines = done.err.splitlines()
    check(done.code == code and word in done.err and len(lines) == 1, f"{arguments}: {done.code} {done.err[-300:]}")


def inputs(at):
    """Every option that takes a file, and everything that is no file."""
    pipe = os.path.join(at, "pipe")
    os.mkfifo(pipe)
    takes = {"--config": ["report", TRACE, "--config"], "--reference": ["check", "--trace", TRACE, "--reference"],
             "--profile": ["roofline", TRACE, "--profile"]}
    large = os.path.join(at, "large")
    with open(large, "wb") as file:
        file.write(b"{")
        file.truncate(1 << 40)
    for option, command in takes.items():
        for path, word in (("/dev/zero", "is a device"), (at, "is a folder"), (pipe, "no process writes to it"),
                           (large, "has more than"), (os.path.join(at, "none"), "")):
            done = run(*command, path, timeout=60)
            check(done.code == USAGE and option in done.err and path in done.err and word in done.err,
                  f"{option} {path}: {done.code} {done.err[-300:]}")
    for path, word in (("/dev/zero", "is a device"), (at + "/", "is a folder"), (pipe, "is a pipe"), (large, "has more")):
        asked("check", "--device", f"sim:{path}", code=USAGE, word=word)
    asked("report", pipe, code=USAGE, word="is not a plain file")

    # What the shell makes of <(command), and a named pipe that somebody writes to.
    settings = os.path.join(at, "settings")
    os.mkfifo(settings)
    thread = threading.Thread(target=lambda: open(settings, "w", encoding="ascii").write("json = true\n"))
    thread.start()
    done = run("report", TRACE, "--overview", "--config", settings)
    thread.join()
    check(done.code == DONE and json.loads(done.out), f"a named pipe: {done.code} {done.err}")
    done = subprocess.run(["bash", "-c", f'"{PROGRAM}" report "{TRACE}" --overview --config <(echo json = true)'],
                          capture_output=True, text=True)
    check(done.returncode == DONE and json.loads(done.stdout), f"<(...): {done.stderr}")


def nesting(at):
    """JSON that nests deeper than a stack is."""
    path = os.path.join(at, "deep.json")
    written(path, '{"a":' * 500000 + "1" + "}" * 500000)
    for command in (["check", "--trace", TRACE, "--reference", path], ["check", "--device", f"sim:{path}"]):
        asked(*command, code=USAGE, word="nest deeper than")


def environment():
    """A variable that is empty is one that is not there."""
    plain = run("report", TRACE, "--overview")
    names = ("HTML", "OUTPUT", "CASE", "CONFIG", "FORCE", "JSON", "MARKDOWN", "EVERY_SIZE", "OVERVIEW", "BLAS", "CUBLAS",
             "DEVICES", "MPI_LIBRARY")
    done = run("report", TRACE, "--overview", env={f"NPGPU_{name}": "" for name in names})
    check(done.code == DONE and done.out == plain.out, f"empty variables: {done.code} {done.err[-300:]}")


def writers(at):
    """Every option that names a file which is written, and whether one that exists needs --force."""
    def to(name):
        return os.path.join(at, name)
    job = ["--bytes-in", "64MiB", "--kernel-ms", "1", "--bytes-out", "64MiB"]
    return (("html", ["report", TRACE, "--html", to("a.html")], to("a.html"), True),
            ("output", ["export", TRACE, "--output", to("a.csv")], to("a.csv"), True),
            ("chrome", ["simulate", "--device", "sim:h200", *job, "--chrome", to("a.json")], to("a.json"), True),
            ("chrome", ["predict", JOBS, *job, "--chrome", to("p.json")], to("p.json"), True),
            ("junit", ["check", "--trace", TRACE, "--junit", to("a.xml")], to("a.xml"), False),
            ("openmetrics", ["check", "--trace", TRACE, "--openmetrics", to("a.prom")], to("a.prom"), False),
            ("html", ["fleet", TRACE, "--html", to("f.html")], to("f.html"), True),
            ("openmetrics", ["fleet", TRACE, "--openmetrics", to("f.prom")], to("f.prom"), False))


def code_without(command, first):
    """Of a command that cannot write its file: what found something keeps its verdict."""
    return first.code if command[0] in ("check", "fleet") and first.code != DONE else FAILED


def limited(most):
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def outputs(at):
    """Whole or not there, with the permissions that were there, and refused where nobody may write."""
    for option, command, path, is_kept in writers(at):
        most = 500
        first = run(*command)
        check(os.path.getsize(path) > most and os.listdir(at) == [os.path.basename(path)], f"{command}: {first.err}")
        with open(path, "rb") as file:
            whole = file.read()
        if is_kept:
            asked(*command, code=USAGE, word="--force replaces it")
            command = [*command, "--force"]
        os.chmod(path, 0o600)
        check(run(*command).code == first.code and stat.S_IMODE(os.stat(path).st_mode) == 0o600, f"{command}: mode")
        os.chmod(path, 0o444)
        done = run(*command)
        check(done.code == USAGE and "write-protected" in done.err and f"--{option}" in done.err, f"{command}: {done.err}")
        os.chmod(path, 0o644)

        for existing in (True, False):
            if not existing:
                os.remove(path)
            done = subprocess.run([PROGRAM, *command], preexec_fn=lambda: limited(most), stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True)
            check(done.returncode == code_without(command, first) and f"--{option}" in done.stderr and path in done.stderr and
                  "File too large" in done.stderr, f"{command}: {done.returncode} {done.stderr}")
            check(os.listdir(at) == ([os.path.basename(path)] if existing else []), f"{command}: {os.listdir(at)}")
            if command[0] in ("check", "fleet"):
                check(done.stdout == first.out, f"{command}: what was found is lost with the file: {done.stdout[:200]}")
        # Through a link: the link stays, and what it names is written. Through a planted temporary name: nothing.
        os.symlink("real", path)
        os.symlink("precious", os.path.join(at, f".real.npgpu-tmp-{os.getpid()}"))
        check(run(*command).code == first.code and os.path.islink(path), f"{command}: a link is replaced")
        check(not os.path.exists(os.path.join(at, "precious")), "a planted link was followed")
        for name in os.listdir(at):
            os.remove(os.path.join(at, name))
        index = command.index(path)
        check(run(*command[:index], "/dev/null", *command[index + 1:]).code == first.code, f"{command}: /dev/null")
        full = run(*command[:index], "/dev/full", *command[index + 1:])
        check(full.code == code_without(command, first) and "No space left" in full.err, f"{command}: /dev/full: {full.code} {full.err}")
        for wrong, word in ((at, "is a folder"), ("", f"--{option}"), (os.path.join(at, "no", "x"), "does not exist")):
            done = run(*command[:index], wrong, *command[index + 1:])
            check(done.code == USAGE and word in done.err, f"{command}: '{wrong}': {done.code} {done.err}")
        shell = " ".join(f"'{word}'" for word in command[:index]) + " >(wc -c) " + " ".join(command[index + 1:])
        done = subprocess.run(["bash", "-c", f"'{PROGRAM}' {shell} > /dev/null | cat; wait; sleep 0.2"],
                              capture_output=True, text=True)
        check("cannot" not in done.stderr, f"{command}: >(...): {done.stderr}")
        os.mkfifo(path)
        reader = subprocess.Popen(["cat", path], stdout=subprocess.PIPE)
        check(run(*command).code == first.code, f"{command}: a pipe")
        size = len(reader.communicate()[0])
        check(abs(size - len(whole)) < 200, f"{command}: {size} of {len(whole)} bytes came through a pipe")
        os.remove(path)


def small_disk(at):
    """A full disk, where one may be mounted."""
    disk = os.path.join(at, "disk")
    os.mkdir(disk)
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", disk],
                                           capture_output=True).returncode != 0:
        print("skipped: a tmpfs cannot be mounted here")
        return
    try:
        for option, command, path, _ in writers(disk):
            first = run(*(word for word in command if word not in (f"--{option}", path)))
            with open(os.path.join(disk, "ballast"), "wb") as file:
                try:
                    file.write(b"x" * 65536)
                except OSError:
                    pass
            done = run(*command)
            check(done.code == code_without(command, first) and f"--{option}" in done.err and "No space left" in done.err,
                  f"{command}: {done.code} {done.err}")
            check(os.listdir(disk) == ["ballast"], os.listdir(disk))
    finally:
        subprocess.run(["umount", disk])


def standard_output():
    """Full or closed it is a sentence and 1; a reader that has read enough is neither."""
    for command in (["report", TRACE], ["--version"], ["help"], ["completion", "bash"], ["export", TRACE], ["info", "--words"]):
        for redirect in (">/dev/full", ">&-"):
            done = subprocess.run(["sh", "-c", f'"$0" "$@" {redirect}', PROGRAM, *command], stderr=subprocess.PIPE,
                                  text=True)
            check(done.returncode == FAILED and done.stderr.count("\n") == 1 and "standard output" in done.stderr,
                  f"{command} {redirect}: {done.returncode} {done.stderr}")
    done = subprocess.run(["bash", "-c", f'set -o pipefail; "{PROGRAM}" check --device sim:h200 --level 1 | head -n 1'],
                          capture_output=True, text=True)
    check(done.stderr.count("standard output") == 0, done.stderr)


def killed(at):
    """What a killed check leaves in TMPDIR is gone after the next one."""
    command = [PROGRAM, "check", "--device", "sim:h200"]
    for _ in range(3):
        process = subprocess.Popen(command, env={**os.environ, "TMPDIR": at}, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while not os.listdir(at) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
    check(len(os.listdir(at)) <= 1, f"folders of killed runs gather: {os.listdir(at)}")
    check(run("check", "--device", "sim:h200", "--level", "1", env={"TMPDIR": at}).code == DONE, "a check")
    check(os.listdir(at) == [], f"left: {os.listdir(at)}")


with folder() as scratch:
    for part in (inputs, nesting, outputs, small_disk, killed):
        where = os.path.join(scratch, part.__name__)
        os.mkdir(where)
        part(where)
        shutil.rmtree(where, ignore_errors=True)
    environment()
    standard_output()
check.finish()
