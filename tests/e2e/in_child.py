"""Python programs in children of this process, which has imported what takes longest: a start costs a fork."""
import os
import runpy
import sys
import tempfile
import traceback

os.environ["MPLBACKEND"] = "Agg"
for library in ("h5py", "matplotlib.pyplot", "numpy", "pandas"):
    try:
        __import__(library)
    except ImportError:
        pass  # the program says what it misses


class Ended:
    def __init__(self, status, stdout, stderr):
        self.returncode, self.stdout, self.stderr = os.waitstatus_to_exitcode(status), stdout, stderr


def run_as_main(words):
    first, *rest = words
    if first == "-c":
        sys.argv, sys.path[0] = ["-c", *rest[1:]], ""
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
    elif first == "-m":
        sys.argv, sys.path[0] = rest, ""
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = words, first if os.path.isdir(first) else os.path.dirname(os.path.abspath(first))
        runpy.run_path(first, run_name="__main__")


def exit_code(words):
    try:
        run_as_main(words)
    except SystemExit as exit:
        if isinstance(exit.code, str):
            print(exit.code, file=sys.stderr)
            return 1
        return exit.code or 0
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def python(*words, cwd=None, env=None, stdin=None):
    """As `python3 WORDS` does; `stdin` is a file or text. Returns code, output and errors."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as typed:
        if isinstance(stdin, str):
            typed.write(stdin.encode())
            typed.seek(0)
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                for file, number in ((stdin if hasattr(stdin, "fileno") else typed, 0), (out, 1), (err, 2)):
                    os.dup2(file.fileno(), number)
                if cwd:
                    os.chdir(cwd)
                if env is not None:
                    os.environ.clear()
                    os.environ.update(env)
                    sys.path[1:1] = filter(None, env.get("PYTHONPATH", "").split(os.pathsep))
                code = exit_code([str(word) for word in words])
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(code)
        status = os.waitpid(child, 0)[1]
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
        return Ended(status, *texts)
