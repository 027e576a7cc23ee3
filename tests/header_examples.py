#!/usr/bin/env python3
"""Makes a header of the examples that begin public headers: header_examples.py FOLDER OUT

An example is what follows the line "// Example:" above #pragma once, indented by two. Each becomes a function of its own.
"""
import pathlib
import re
import sys


def example_of(text):
    head = text.split("#pragma once")[0]
    found = re.search(r"^// Example:\n((?://   .*\n)+)", head, re.M)
    return re.sub(r"^//   ", "    ", found[1], flags=re.M) if found else None


def main(folder, out):
    headers = sorted(pathlib.Path(folder).glob("*.hpp"))
    examples = {h.name: code for h in headers if (code := example_of(h.read_text(encoding="utf-8")))}
    lines = [f"#include <{name}>" for name in ("fstream", "iostream", "string", "utility", "vector")]
    lines += [f'#include "npgpu/{h.name}"' for h in headers]
    without = "".join(f'"{h.name}", ' for h in headers if h.name not in examples)
    lines.append(f"inline const std::vector<std::string> headers_without_example{{{without}}};")
    lines.append("inline const std::vector<std::pair<std::string, void (*)()>> header_examples{")
    for name, code in examples.items():
        lines.append(f'  {{"{name}", [] {{\n{code}  }}}},')
    pathlib.Path(out).write_text("\n".join(lines) + "\n};\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
