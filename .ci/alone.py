#!/usr/bin/env python3
"""Compiles each source and header by itself, without what its batch includes before it: alone.py BUILD FILE...

BUILD is configured and need not be built. Sources that it leaves out (CUDA) are passed over.
"""
import json
import os
import pathlib
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

build, *names = sys.argv[1:]
entries = json.loads((pathlib.Path(build) / "compile_commands.json").read_text())
commands = {os.path.realpath(e["file"]): e for e in entries}


def compiles(name):
    path = os.path.realpath(name)
    is_header = path.endswith(".hpp")
    # Parts of CUDA sources, and one that a source includes once for each set of instructions, are no headers by themselves.
    if is_header and any(word in pathlib.Path(path).read_text() for word in ("blockIdx", "NPGPU_ISA")):
        return True
    # A header is compiled as a source next to it is: with the folders of the libraries that its room has.
    beside = (e for source, e in commands.items() if os.path.dirname(source) == os.path.dirname(path))
    entry = next(beside, entries[0]) if is_header else commands.get(path)
    if entry is None or 'include "npgpu_git.hpp"' in pathlib.Path(path).read_text():  # which only a build makes
        return True
    words = shlex.split(entry["command"])
    del words[words.index("-o"):]  # -o OBJECT -c SOURCE
    done = subprocess.run([*words, "-w", "-fsyntax-only", "-x", "c++", path], cwd=entry["directory"])
    return done.returncode == 0


with ThreadPoolExecutor(os.cpu_count()) as several:
    failed = [name for name, fine in zip(names, several.map(compiles, names)) if not fine]
print(f"{len(names)} files, {len(failed)} do not compile by themselves: {' '.join(failed) or '-'}")
sys.exit(bool(failed))
