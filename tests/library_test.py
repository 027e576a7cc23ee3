#!/usr/bin/env python3
"""Every function that a public header declares is defined in the library that is installed.

    library_test.py LIBRARY.a
"""
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def code_of(path):
    """Without comments, strings, attributes of templates and what stands in braces of functions and classes."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r'R"\(.*?\)"|"(?:\\.|[^"\\])*"', '""', text, flags=re.S)
    return re.sub(r"^#(?:\\\n|[^\n])*$", "", text, flags=re.M)


def declared(path):
    """Names of the functions of namespaces that are declared and not defined there; those of templates, too."""
    out, opened, statement = [], [], ""
    text = code_of(path)
    text = re.sub(r"=\s*\{[^{}]*\}", "= 0", text)  # a parameter's {} is no block
    for c in text:
        if c == "{":
            is_namespace = re.search(r"\bnamespace\b[\w:\s]*$", statement) is not None
            opened.append(is_namespace)
            statement = ""
        elif c == "}":
            opened.pop()
            statement = ""
        elif all(opened):
            if c == ";":
                out.append(" ".join(statement.split()))
                statement = ""
            else:
                statement += c
    names = []
    for one in out:
        one = re.sub(r"^template <[^>]*(?:<[^>]*>[^>]*)*>\s*", "", one)
        match = re.match(r"(?!using|typedef|friend|struct|class|enum|inline|constexpr|extern|static_assert|return)"
                         r"[\w:<>,&*\s\[\]]+?[\s&*](\w+)\s*\(", one)
        if match and not one.startswith("=") and "operator" not in one:
            names.append(match[1])
    return names


library = sys.argv[1]
defined = subprocess.run(["nm", "-C", "--defined-only", library], capture_output=True, text=True, check=True).stdout
while (plain := re.sub(r"<[^<>()]*>", "", defined)) != defined:  # arguments of templates hold names, too
    defined = plain
known = set(re.findall(r"npgpu::(?:\w+::)*(\w+)(?:\[abi:\w+\])?\(", defined))
checked, missing = 0, []
for header in sorted(glob.glob(os.path.join(ROOT, "include/npgpu/*/*.hpp"))):
    for name in declared(header):
        checked += 1
        if name not in known:
            missing.append(f"{os.path.basename(header)} declares {name}(), which {os.path.basename(library)} does not define")
print("\n".join(missing) or f"{checked} functions of public headers, all of them in {os.path.basename(library)}")
sys.exit(bool(missing) or checked < 200)
