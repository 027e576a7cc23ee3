"""Every command line and code block of README, docs, contrib, slurm and of --help's examples runs as it is written, with
kept traces in place of the reader's, and on simulated devices where it measures. A block that shows output is compared
with what is printed today by house.samples. What is neither is named here, with its reason."""
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import in_child
from npgpu_run import PROGRAM, SOURCE, Checks

check = Checks()
SOURCE = os.path.abspath(SOURCE)
TRACES = os.path.join(SOURCE, "data/traces")
PAGES = ["README.md", "CONTRIBUTING.md", "data/TABLES.md", "data/TRACE_FORMAT.md",
         *sorted(os.path.relpath(p, SOURCE) for pattern in ("docs/*.md", "docs/dev/*.md", "docs/gallery/README.md", "contrib/**/*.md")
                 for p in glob.glob(os.path.join(SOURCE, pattern), recursive=True))]

# Blocks that are no commands, by the first words of their first line.
NO_COMMAND = {
    # compared with what is printed today, in tests/samples_test.py
    "NVIDIA H200 on vm": "a sample", "cuda:0 (NVIDIA H200)": "a sample",
    # not compared
    "us per call": "a digest by hand of what calls printed on an H200",
    "class            of another": "figures of runs, of which three are kept",
    "GB/s                      one way": "a digest by hand of the report of h200x2_matrix.h5",
    "class                         points  off": "figures of ten runs, of which three are kept",
    "FP32                   regret": "a digest by hand of what predict says of h200_partition.h5",
    # drawings and tables
    "devices --> kinds": "a drawing", "/                       what run": "the trace's tree", "/                  schema_name": "the tree of a merged file",
    # parts of files
    "Prolog=/etc/slurm": "lines of slurm.conf, with which tests/e2e/slurm.py runs Slurm, and compares",
    "const auto devices": "C++ as in examples/streams.cu, which is compiled",
    "if (argc == 2": "C++ as in netpipe/cli/main.cpp, which is compiled",
}
# Commands of others, which need a network, root, or a package manager that is not here: what they name of the sources is
# there. CI runs README's pip, cmake and bootstrap, tests/e2e/reframe_check.py ReFrame's test, tests/e2e/slurm.py Slurm's.
OTHERS = {"pip", "xargs", "docker", "apptainer", "spack", "eb", "rattler-build", "mamba", "reframe", "cmake", "compare.py", "scontrol", "make",
          "contrib/wheel/build", "contrib/release", "git", "scp", "h5dump", "mkdir", "sinfo", "apt", "cpack"}
# What measures: its plan is made (--dry-run), on a simulated device, and nothing is measured, which others of these tests
# do. The kept trace stands for what it would have left.
LONG = {"characterize": "h100_quick_c.h5", "matrix": "h200x2_matrix.h5", "streams": "h200_streams.h5", "calls": "h100_quick_c.h5",
        "partition": "h200_partition.h5", "probe": "h200_gemm.h5", "transfer": "h100_quick_c.h5", "check": "h200_check.h5", "energy": "h200_energy.h5",
        "pieces": "h200_pieces.h5", "collectives": "h100x2_collectives.h5"}
MEASURING = set(LONG)
# Small ones, of one GPU and of others: what the program and the figures make of whole traces is tested elsewhere.
RUNS = ["h100_quick_a.h5", "h100_quick_b.h5", "h100_quick_c.h5"]
OTHER_RUNS = ["h100_check.h5", "h200_check.h5"]
USUAL = RUNS[2]
VERDICTS = {"check": {0, 3, 4, 6, 8, 77}, "compare": {0, 3, 4, 5, 6, 7, 8}, "fleet": {0, 3, 4, 8, 77}, "matrix": {0, 3, 4, 6, 8}, "energy": {0, 77}, "collectives": {0, 3, 6, 8}}
# What an example leaves to the reader, or to its surroundings: the options before it were taken.
INCOMPLETE = ("needs two ranks or more, and this job has one", "pair-rank0.h5", "build npgpu where an MPI with mpicxx is")


def blocks(text):
    """(number of the line, lines) of each block of code: what is indented by four, after an empty line, or fenced."""
    lines, at, found = text.split("\n"), 0, []
    while at < len(lines):
        end = at
        if lines[at].startswith("```"):
            end = next(i for i in range(at + 1, len(lines)) if lines[i].startswith("```"))
            found.append((at + 2, lines[at + 1:end]))
        elif lines[at].startswith("    ") and (at == 0 or not lines[at - 1].strip()):
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            indent = min(len(l) - len(l.lstrip()) for l in lines[at:end] if l.strip())
            found.append((at + 1, [l[indent:] for l in "\n".join(lines[at:end]).rstrip().split("\n")]))
            end -= 1
        at = end + 1
    return found


class Sandbox:
    """A folder with what a reader has: the sources, and traces by the names of the documents."""

    def __init__(self, at):
        self.at = at
        for name in ("data", "docs", "plots", "examples", "slurm", "contrib", "tests", "bootstrap"):
            os.symlink(os.path.join(SOURCE, name), os.path.join(at, name))
        with open(os.path.join(at, "jobs.csv"), "w", encoding="utf-8") as file:
            file.write("name,bytes-in,kernel-ms,bytes-out\nfilter,64MiB,0.5,1MiB\nsort,4MiB,8,4MiB\n")
        with open(os.path.join(at, "kernels.csv"), "w", encoding="utf-8") as file:
            file.write("ID,Kernel Name,Metric Name,Metric Unit,Metric Value\n0,k,gpu__time_duration.sum,us,10\n0,k,dram__bytes.sum,Mbyte,9\n"
                       "0,k,smsp__sass_thread_inst_executed_op_ffma_pred_on.sum,inst,1000\n")

    def path(self, name):
        return os.path.join(self.at, name)

    def provide(self, words, kept=USUAL):
        """Inputs that the reader has, by the names that the command gives them."""
        for word in words:
            name = re.sub(r"(\.h5):\d+$", r"\1", word)
            if name.startswith("data/") or name.startswith("-") or os.path.exists(self.path(name)):
                continue
            runs = OTHER_RUNS if name.startswith("more") else RUNS
            if name == "shared/":
                os.makedirs(self.path(name))
                for run in runs:
                    self.run_npgpu(["report", os.path.join(TRACES, run), "--share", os.path.join(name, run + ".json")])
            elif name.endswith("/") or name.startswith("traces/2"):
                os.makedirs(self.path(name))
                for run in runs:
                    shutil.copy(os.path.join(TRACES, run), self.path(os.path.join(name, run)))
            elif "*" in name and name.endswith(".h5"):
                os.makedirs(os.path.dirname(self.path(name)) or ".", exist_ok=True)
                for i, run in enumerate(runs):
                    shutil.copy(os.path.join(TRACES, run), self.path(name.replace("*", str(i))))
            elif ".h5:" in word:
                self.run_npgpu(["merge", name, *(os.path.join(TRACES, run) for run in RUNS + OTHER_RUNS)])
            elif name == "app.h5":
                self.run_npgpu(["record", "-o", name, "--", FAKE_APP])
            elif name.endswith(".h5"):
                own = [f"h200_{kind}.h5" for kind in ("partition", "pieces") if kind in name]
                shutil.copy(os.path.join(TRACES, own[0] if own else kept), self.path(name))

    def environment(self):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("NPGPU_") or k == "NPGPU_WAIT_QUIET"}
        return {**clean, "NO_COLOR": "1", "NPGPU": PROGRAM}

    def run_npgpu(self, words, **more):
        return subprocess.run([PROGRAM, *words], cwd=self.at, env={**self.environment(), **more}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300)


def output_of(words):
    for i, word in enumerate(words[:-1]):
        if word in ("-o", "--output"):
            return words[i + 1]
    return None


def as_simulated(words):
    """cuda:0 is not here; where NUMA nodes are named, it is a GPU of a node."""
    gpu = "sim:h200x2:0" if "--host-node" in words else "sim:h200"
    return [re.sub(r"^cuda(:\d)?$", gpu, word) for word in words]


KEPT_FOR = {"predict": "h200_streams.h5", "simulate": "h200_streams.h5", "roofline": "h200_probes.h5", "derive": "h200_probes.h5"}


# An application without a GPU, which npgpu records.
FAKE_APP = os.path.join(os.path.dirname(PROGRAM), "netpipe/record/npgpu_fake_app")
# A library of OpenCL that is always the same, where the build has that part.
FAKE_OPENCL = os.path.join(os.path.dirname(PROGRAM), "tests/libnpgpu_fake_opencl.so")


def npgpu(sandbox, words, where, incomplete=INCOMPLETE):
    """One command line of npgpu, without its name."""
    if not words or words[0].startswith("-"):
        ran = sandbox.run_npgpu(words)
        return check(ran.returncode == 0, f"{where}: npgpu {shlex.join(words)}: exit {ran.returncode}: {ran.stderr[-300:]}")
    command, more = words[0], {}
    if command == "record":  # an application, which tests/e2e/record.py has
        return None
    if any(word.startswith("opencl:") for word in words):
        if not os.path.exists(FAKE_OPENCL):
            return print(f"not tried: {where}: this build has no OpenCL")
        more["NPGPU_OPENCL"] = FAKE_OPENCL
    words = [os.path.basename(word) if word.startswith("/var/lib/") else word for word in words]
    if command == "info":
        words = as_simulated(words)
    if command in MEASURING and "--trace" not in words:
        words = as_simulated(words)
        module = words[words.index("--module") + 1] if "--module" in words else ""
        more["NPGPU_DRY_RUN"] = "1"
        if "--device" not in words and module not in ("mpi", "ucx"):
            of_node = "peer" in words or "--host-node" in words
            more["NPGPU_DEVICE"] = "sim:node8" if command in ("matrix", "collectives") else "sim:node8:0" if of_node else "sim:h200"
        if module.startswith("cu"):
            words[words.index("--module") + 1] = "simulated"
        sandbox.provide([words[i + 1] for i, word in enumerate(words[:-1]) if word == "--reference"])
        output = output_of(words)
        if "--append" in words and output:
            sandbox.provide([output])
    else:
        output = None
        inputs = [w for w in words[1:] if w.endswith(".h5") or ".h5:" in w or w.startswith("traces/2") or w.endswith("/") or w in ("TRACE", "A", "B", "DIR", "FOLDER", "NEW")]
        written = {output_of(words)} | ({words[1]} if command == "merge" else set())
        kept = "h100x2_collectives.h5" if "--all-reduce" in words else "h200_node.h5" if {"--flops", "--twin"} & set(words) else KEPT_FOR.get(command, USUAL)
        if "h200_node" in kept:  # which has probes and jobs; a page's own node.h5 may lack one of them
            inputs = [w for w in inputs if not (os.path.exists(sandbox.path(w)) and os.remove(sandbox.path(w)))]
        sandbox.provide([w for w in inputs if w not in written], kept)
    expanded = [name for word in words for name in (sorted(glob.glob(word, root_dir=sandbox.at)) if "*" in word else []) or [word]]
    ran = sandbox.run_npgpu(expanded, **more)
    if ran.returncode == 2 and any(word in ran.stderr or word in words for word in incomplete):
        return ran
    check(ran.returncode in VERDICTS.get(command, {0}), f"{where}: npgpu {shlex.join(words)}: exit {ran.returncode}: {(ran.stderr or ran.stdout)[-300:]}")
    if command in MEASURING and output and (command == "partition" or not os.path.exists(sandbox.path(output))):
        name = LONG[command] if not ("gemm" not in words and command == "probe") else "h200_probes.h5"
        if "free" in ",".join(words).split(","):
            name = "h100_frees.h5"
        shutil.copy(os.path.join(TRACES, name), sandbox.path(output))
    return ran


def python_of(sandbox, arguments, where, redirected=None):
    environment = {**sandbox.environment(), "PYTHONPATH": os.path.join(SOURCE, "plots"), "MPLBACKEND": "Agg"}
    ran = in_child.python(*arguments, cwd=sandbox.at, env=environment)
    if redirected and not ran.returncode:
        with open(sandbox.path(redirected), "w", encoding="utf-8") as file:
            file.write(ran.stdout)
    absent = re.search(r"No module named '(pandas|h5py|matplotlib|pyarrow|duckdb|numpy)'|pip install (h5py|pyarrow|pandas|matplotlib)", ran.stdout + ran.stderr)
    if ran.returncode and absent:
        return print(f"not tried: {where}: {absent[0]}")
    if "holds no product of matrices on one core of the host" in ran.stderr:
        return print(f"not tried: {where}: no trace of data/traces has products on the host's cores")
    return check(ran.returncode == 0, f"{where}: python3 {' '.join(arguments)[:300]}: exit {ran.returncode}: {ran.stderr[-400:]}")


def shell_line(sandbox, line, where):
    """One line of a shell: its commands, joined by && or ; or redirected, one after the other."""
    try:
        words = shlex.split(line, comments=True, posix=True)
    except ValueError as error:
        return check(False, f"{where}: {line}: {error}")
    parts, redirected = [[]], None
    for word in words:
        if word in ("&&", "||", ";") or word.endswith(";"):
            if word.endswith(";") and word != ";":
                parts[-1].append(word[:-1])
            parts.append([])
        else:
            parts[-1].append(word)
    for part in parts:
        while part and re.fullmatch(r"[A-Z_]+=\S*", part[0]):
            part = part[1:]
        if ">" in part:
            redirected, part = part[part.index(">") + 1], part[:part.index(">")]
        if part:
            one_command(sandbox, part, redirected, where)
    return None


def one_command(sandbox, words, redirected, where):
    name, rest = words[0], words[1:]
    if name in ("./bootstrap", "bootstrap"):
        # CI runs bootstrap itself; the command after it is npgpu's.
        return rest[0] in ("build", "test") or npgpu(sandbox, rest, where)
    if name in ("npgpu", "build/default/npgpu"):
        ran = npgpu(sandbox, rest, where)
        if redirected and ran is not None:
            redirected = sandbox.path(redirected.replace("~", "home"))
            os.makedirs(os.path.dirname(redirected), exist_ok=True)
            with open(redirected, "w", encoding="utf-8") as file:
                file.write(ran.stdout)
        return ran
    if name == "mpirun" and any(word.endswith("NPmpi") for word in words):
        return check(True, f"{where}: tests/e2e/np_programs.py runs it")
    if name in ("srun", "mpirun"):
        at = next((i for i, word in enumerate(words) if word == "npgpu"), None)
        return check(at is not None, f"{where}: {words}") if at is None else npgpu(sandbox, [re.sub(r"\$\w+", "4711", w) for w in words[at + 1:]], where)
    if name == "sbatch":
        check(os.path.exists(sandbox.path(rest[0])), f"{where}: there is no {rest[0]}")
        return npgpu(sandbox, [*(rest[1:] or ["characterize"]), "--resume", "--output", "job.h5"], where)
    if name.endswith("every_node.sh"):
        check(os.path.exists(os.path.join(SOURCE, "slurm/every_node.sh")), f"{where}: {name}")
        return npgpu(sandbox, [*(rest[1:] or ["characterize"]), "--resume", "--output", "job.h5"], where)
    if name == "python3":
        files = [w for w in rest if w.endswith(".h5") and not w.startswith("data/")]
        sandbox.provide(files, "h200_partition.h5" if any("partition" in w for w in rest) else "h200_gemm.h5" if any("gemm" in w for w in rest) else USUAL)
        if rest[0].startswith("contrib/wheel"):
            return check(os.path.exists(sandbox.path(rest[0])), f"{where}: there is no {rest[0]}")
        expanded = [n for w in rest for n in (sorted(glob.glob(w, root_dir=sandbox.at)) if "*" in w else []) or [w]]
        return python_of(sandbox, expanded, where, redirected)
    if name in OTHERS or os.path.basename(name) in ("NPmemcpy", "NPmpi", "npgpu_example_streams", "check_gpus", "cp", "echo", "source"):
        for word in rest:  # what they name of the sources is there
            if word.startswith(("contrib/", "slurm/", "data/")) and not any(c in word for c in "*{$") and "repo add" not in " ".join(words):
                check(os.path.exists(sandbox.path(word)), f"{where}: there is no {word}")
        if name == "mkdir":
            os.makedirs(sandbox.path(rest[-1]), exist_ok=True)
        if name == "scp":
            sandbox.provide([os.path.basename(rest[0].split(":")[-1])])
        return None
    if name in ("[", "import"):
        return None
    return check(False, f"{where}: '{name}' is no command that this test knows: {words}")


def is_shell(line):
    words = line.split()
    return bool(words) and (words[0] in OTHERS | {"npgpu", "./bootstrap", "python3", "sbatch", "srun", "mpirun", "build/default/examples/npgpu_example_streams"}
                            or words[0].endswith(".sh") or re.match(r"[A-Z_]+=\S+ /", line) is not None)


def python_block(sandbox, lines, where):
    """Lines as typed at >>>, or a script."""
    code = "\n".join(line[4:] for line in lines if line.startswith((">>> ", "... "))) if lines[0].startswith(">>> ") else "\n".join(lines)
    for name in re.findall(r'"([\w.]+\.h5)"', code):
        sandbox.provide([name], KEPT_FOR["predict"] if ".predict(" in code else USUAL)
    python_of(sandbox, ["-c", code], where)


def list_of_commands(lines, where):
    """README's: names, what they do, and examples within that."""
    with tempfile.TemporaryDirectory(prefix="npgpu-documents-") as at:
        sandbox = Sandbox(at)
        for line in lines:
            name, _, told = line.strip().partition("  ")
            for named in re.findall(r"npgpu ([a-z]+)", name):
                npgpu(sandbox, ["help"] + [named] * (named != "help"), where)
            for example in re.findall(r": npgpu ([^;]+)", told):
                npgpu(sandbox, shlex.split(example), where, UNFINISHED)


def try_block(lines, where):
    first = lines[0].strip()
    if first.startswith("npgpu    "):
        return list_of_commands(lines, where)
    if any(first.startswith(begin) for begin in NO_COMMAND):
        said.add(next(begin for begin in NO_COMMAND if first.startswith(begin)))
        return
    if first.startswith("[") and first.endswith("]"):  # an INI file: each of its commands takes it
        with tempfile.TemporaryDirectory(prefix="npgpu-documents-") as at:
            sandbox = Sandbox(at)
            with open(sandbox.path("site.ini"), "w", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
            for command in re.findall(r"^\[(\w+)\]", "\n".join(lines), re.M):
                npgpu(sandbox, [command, "--config", "site.ini", "--device", "sim:h200", "--dry-run"], where)
        return
    if first.startswith(("npgpu::", "find_package")):  # of a whole program, which is compiled
        whole = ("examples/function.cu", "tests/consumer/CMakeLists.txt")[first.startswith("find_package")]
        with open(os.path.join(SOURCE, whole), encoding="utf-8") as file:
            there = {re.sub(r"\b(consumer|mine)\b", "mine", line.strip()) for line in file}
        return check(all(line.strip() in there for line in lines if line.strip()), f"{where}: it is not of {whole}")
    if lines[0].startswith("$ "):
        return  # house.samples compares it, or has the reason why not
    with tempfile.TemporaryDirectory(prefix="npgpu-documents-") as at:
        sandbox = Sandbox(at)
        part, kind = [], None
        for line in [*lines, None]:
            now = None if line is None or not line.strip() else "python" if line.startswith((">>> ", "... ", "import ")) or (kind == "python" and not is_shell(line)) else "shell"
            if part and (line is None or now not in (kind, None)):
                if kind == "python":
                    python_block(sandbox, part, where)
                else:
                    for command in "\n".join(part).replace("\\\n", " ").split("\n"):
                        shell_line(sandbox, command, where)
                part = []
            if now:
                kind = now
                part.append(line)


def inline_commands(text):
    """`npgpu ...` within sentences and tables, with the placeholders of a reader."""
    plain = re.sub(r"^( {4}|```)[^\n]*$", "", text, flags=re.MULTILINE)
    for command in re.findall(r"`(npgpu [a-z][^`]*)`", re.sub(r"\n(?=\S)", " ", plain)):
        yield " ".join(command.split())


# Within a sentence a command may be without its trace, or end with an option of which only the name matters.
UNFINISHED = (*INCOMPLETE, "the required argument for option", "needs TRACE", "needs FOLDER", "needs DIR", "needs A", "--bytes-in is missing")
# In the place of what a reader would write.
PLACES = {"WORD": "csv", "KIND": "transfers", "TRACE": "node.h5", "A": "a.h5", "B": "b.h5", "OUT": "out.h5", "DIR": "traces/", "FOLDER": "traces/", "FILE": "file", "NEW": "new.h5",
          "COMMAND": "transfer", "NAME": "compute", "X": "x.h5", "X.h5": "x.h5", "TRACE...": "c.h5"}


def inline(page, text):
    with tempfile.TemporaryDirectory(prefix="npgpu-documents-") as at:
        sandbox = Sandbox(at)
        for command in sorted(set(inline_commands(text))):
            words = [PLACES.get(word.strip("'"), word) for word in shlex.split(command, comments=True)][1:]
            if len(words) == 1 or "..." in words:
                ran = sandbox.run_npgpu(["help", words[0]])  # a command that is only named
                check(ran.returncode == 0, f"{page}: `{command}`: {ran.stderr}")
                continue
            npgpu(sandbox, words, f"{page}: `{command}`", UNFINISHED)


def scripts():
    """What the scripts of slurm/ say of how they are called."""
    for path in sorted(glob.glob(os.path.join(SOURCE, "slurm/*.sh"))):
        with open(path, encoding="utf-8") as file:
            usage = re.findall(r"^#   (\S.*)$", file.read(), re.M)
        commands = [re.split(r" {3,}", line)[0] for line in usage if line.startswith(("sbatch ", "slurm/"))]
        check(commands, f"{path} says how it is called")
        for command in commands:
            with tempfile.TemporaryDirectory(prefix="npgpu-documents-") as at:
                shell_line(Sandbox(at), command, os.path.basename(path))


def examples():
    """Of --help."""
    with tempfile.TemporaryDirectory(prefix="npgpu-documents-") as at:
        sandbox = Sandbox(at)
        commands = re.findall(r"^  (?:npgpu )?([a-z]+) ", sandbox.run_npgpu(["--help"]).stdout, re.M)
        tried = 0
        for command in sorted(set(commands)):
            shown = sandbox.run_npgpu(["help", command])
            with tempfile.TemporaryDirectory(prefix="npgpu-documents-") as own:
                its = Sandbox(own)
                for line in re.findall(r"^\s+(npgpu .*)$", shown.stdout.split("xamples", 1)[-1], re.M) if shown.returncode == 0 else []:
                    tried += 1
                    shell_line(its, line, f"help {command}")
        check(tried > 20, f"{tried} examples of --help")


said = set()
for page in [page for page in PAGES if not sys.argv[2:] or page in sys.argv[2:]]:
    with open(os.path.join(SOURCE, page), encoding="utf-8") as file:
        text = file.read()
    for number, lines in blocks(text):
        try_block(lines, f"{page}:{number}")
    inline(page, text)
check(sys.argv[2:] or said == set(NO_COMMAND), f"blocks that are gone: {set(NO_COMMAND) - said}")
scripts()
examples()
check.finish()
