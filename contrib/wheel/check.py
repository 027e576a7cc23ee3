"""check.py WHEEL: installs the wheel as a user would, without network or other packages, and runs what is in it."""
import json
import os
import re
import subprocess
import sys
import tempfile
import venv

MOST_BYTES = 25e6
# Of the C library, and what every Linux has with it; the driver's libraries are opened when the program runs.
SHARED = re.compile(r"linux-vdso\.so|ld-linux|lib(c|m|dl|rt|pthread|gcc_s)\.so")


def main(wheel):
    name = os.path.basename(wheel)
    version, build, tag = re.fullmatch(r"npgpu-([\d.]+)-(\d\w+)-py3-none-(\w+)\.whl", name).groups()
    size = os.path.getsize(wheel)
    assert size < MOST_BYTES, f"{name} has {size} bytes"
    with tempfile.TemporaryDirectory() as place:
        # Nothing of the environment helps it: no source, no library path, no program on PATH.
        bare = {"HOME": place, "PATH": os.path.join(place, "venv", "bin") + ":/usr/bin:/bin", "LANG": "C.UTF-8"}

        def run(*command, codes=(0,)):
            ran = subprocess.run(command, cwd=place, env=bare, capture_output=True, text=True)
            assert ran.returncode in codes, f"{' '.join(command)}: {ran.returncode}\n{ran.stdout}{ran.stderr}"
            return ran.stdout

        venv.create(os.path.join(place, "venv"))
        python, program = (os.path.join(place, "venv", "bin", name) for name in ("python", "npgpu"))
        pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check")
        run(*pip, "install", "-q", "--no-index", os.path.abspath(wheel))
        folders = re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", run("readelf", "-d", program))
        assert all(part.startswith(("/", "$ORIGIN")) for text in folders for part in text.split(":")), f"looks in {folders}"
        asked = [line.split()[0] for line in run("ldd", program).splitlines()]
        assert all(map(SHARED.search, asked)), f"needs {asked}"
        assert run("npgpu", "--version").split()[1] == version, run("npgpu", "--version")
        assert "sim:h200" in run("npgpu", "info", "--words"), "the simulated devices are missing"
        info = run("npgpu", "info", "--json")
        toolkit = json.loads(info)["npgpu"]["cuda_toolkit"].replace("none", "")
        assert build == (f"1cuda{toolkit.split('.')[0]}" if toolkit else "0nocuda"), f"{name} was built with CUDA {toolkit}"
        run("npgpu", "transfer", "--device", "sim:h200", "--sizes", "1MiB", "--quiet", "--output", "simulated.h5")
        run("npgpu", "characterize", "--quick", "--quiet", "--output", "here.h5")
        report = json.loads(run("npgpu", "report", "here.h5", "--json"))
        assert len(report["transfers"]) and len(report["probes"]), "nothing was measured"
        if os.path.exists("/proc/driver/nvidia/version") and toolkit:
            assert "cuda:0" in run("npgpu", "report", "here.h5", "--overview"), "no GPU was measured beside a driver"
        found = run("python", "-c", "import npgpu.program; print(npgpu.program.path(), end='')")
        assert os.path.realpath(found) == os.path.realpath(program), f"the package found {found}"
        for page in ("share/man/man1/npgpu.1", "share/npgpu/slurm", "share/doc/npgpu/LICENSE"):
            assert os.path.exists(os.path.join(place, "venv", page)), f"{page} is missing"
        print(run("npgpu", "report", "here.h5", "--overview"))
    print(f"{name}: {size / 1e6:.1f} MB; needs {', '.join(asked)} ({tag}); installed, measured and reported")


main(*sys.argv[1:])
