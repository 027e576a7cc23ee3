#!/usr/bin/env python3
"""A kind of measurement is described in its own files, and found by all others: few files outside the folders that bear
its name may name it or a type of its own.

    kinds_test.py           says which kind is named in too many files
    kinds_test.py --count   prints how many there are of each, and with a kind's name which
"""
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
USUAL = 10
# Those that much else is about, as it now stands: devices are described by copies, probes, calls and jobs; energy, soaks
# and collectives are judged by themselves.
MORE = {"transfers": 93, "probes": 35, "calls": 18, "jobs": 15, "energies": 32, "soaks": 22, "collectives": 18}


def sources():
    for top in ("include", "netpipe", "probes"):
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            for name in names:
                if name.endswith((".hpp", ".cpp", ".cu", ".cuh")):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as file:
                        yield os.path.relpath(path, ROOT), file.read()


def code_of(text):
    """Without comments, strings and names of files."""
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', "", text, flags=re.S)


def kinds(files):
    """Name, struct and the stem of its types: "pieces", "Pieces", "Piece"."""
    for text in files.values():
        for struct, body in re.findall(r"^struct (\w+) : UsualKind \{\n(.*?)^\};", text, re.S | re.M):
            name = re.search(r'string_view name = "(\w+)"', body)[1]
            yield name, struct, re.search(r"using Case = (\w+)Case;", body)[1]


def outside(files, name, struct, stem):
    own = {name, stem.lower()}
    names = re.compile(rf"\b(?:{struct}|{stem}[A-Z]\w*)\b")
    return sorted(path for path, text in files.items()
                  if not own & set(path.split("/")[:-1]) and names.search(code_of(text)))


files = dict(sources())
found = {name: outside(files, name, struct, stem) for name, struct, stem in kinds(files)}
if sys.argv[1:2] == ["--count"]:
    for name, paths in found.items():
        print(f"{name:12} {len(paths)}")
        if name in sys.argv[2:]:
            print("  " + "\n  ".join(paths))
    sys.exit()
listed = re.search(r"using Kinds = List<([^;]*)>;", files["include/npgpu/vocabulary/trace.hpp"])[1].split(",")
failures = [] if len(listed) == len(found) else [f"{len(listed)} kinds are listed, and {len(found)} were found: {found}"]
failures += [f"{name} is named in {len(paths)} files outside its folders, more than {MORE.get(name, USUAL)}: "
             f"{', '.join(paths)}" for name, paths in found.items() if len(paths) > MORE.get(name, USUAL)]
# The search itself: a kind's own header names it.
failures += [f"no file names {name}" for name, paths in found.items() if not paths]
print("\n".join(failures))
sys.exit(1 if failures else 0)
