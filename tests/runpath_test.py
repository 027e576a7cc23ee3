"""Programs and libraries, built and installed, load nothing from the current folder: no RUNPATH has an empty or relative
part, and libraries that are planted there do not run.

    runpath_test.py BUILD_FOLDER CXX_COMPILER"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

failures = []


def run(*command, **how):
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, **how)


def is_elf(path):
    with open(path, "rb") as file:
        return os.path.isfile(path) and file.read(4) == b"\x7fELF"


def dynamic(path):
    """What a file asks the loader for: the libraries, and the folders that it looks in."""
    said = run("readelf", "-d", path).stdout
    folders = [part for text in re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", said) for part in text.split(":")]
    return re.findall(r"\(NEEDED\).*\[(.*)\]", said), folders


def look(path):
    relative = [part for part in dynamic(path)[1] if not part.startswith(("/", "$ORIGIN"))]
    if relative:
        failures.append(f"{path}: its RUNPATH has the parts {relative}")


def plant(program, compiler, place):
    """Runs it where every library that it needs is there too, each of which says so when it is loaded."""
    source = os.path.join(place, "planted.cpp")
    with open(source, "w", encoding="utf-8") as file:
        file.write('#include <unistd.h>\n[[gnu::constructor]] void begin() { (void)!write(1, "PLANTED\\n", 8); }\n')
    subprocess.run([compiler, "-shared", "-fPIC", "-o", f"{place}/planted.so", source], check=True)
    # Also those that are opened by name while it runs.
    for name in (*dynamic(program)[0], "libcuda.so.1", "libnvidia-ml.so.1", "libopenblas.so.0", "libblas.so.3"):
        if not name.startswith(("libc.", "ld-linux")):
            shutil.copy(f"{place}/planted.so", os.path.join(place, name))
    bare = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    for words in (["--version"], ["info"]):
        ran = run(program, *words, cwd=place, env=bare)
        if ran.returncode or "PLANTED" in ran.stdout:
            failures.append(f"{program} {words[0]} in a folder of planted libraries: {ran.returncode}: "
                            f"{ran.stdout[:200]}{ran.stderr[:500]}")


def main(build, compiler):
    build = os.path.abspath(build)
    if not shutil.which("readelf"):
        print("skipped: readelf is not installed (binutils)")
        return 77
    files = [path for path in (*glob.glob(f"{build}/*"), *glob.glob(f"{build}/**/npgpu_*", recursive=True))
             if os.path.isfile(path) and is_elf(path)]
    if not any(dynamic(path)[1] for path in files):
        print("no file has a RUNPATH: libraries are all in the system's folders")
    with tempfile.TemporaryDirectory() as place:
        prefix = os.path.join(place, "prefix")
        for component in ("program", "Unspecified"):  # the program, and the libraries that it opens
            done = run("cmake", "--install", build, "--component", component, "--prefix", prefix)
            if done.returncode:
                failures.append(f"cmake --install: {done.stderr}")
        installed = [path for path in glob.glob(f"{prefix}/**", recursive=True) if os.path.isfile(path) and is_elf(path)]
        for path in files + installed:
            look(path)
        for program in (f"{build}/npgpu", f"{prefix}/bin/npgpu"):
            os.makedirs(f"{place}/planted", exist_ok=True)
            plant(program, compiler, f"{place}/planted")
    print("\n".join(failures) or f"{len(files)} files of the build and {len(installed)} installed ones: none looks in the current folder")
    return 1 if failures else 0


sys.exit(main(*sys.argv[1:]))
