#!/usr/bin/env python3
"""Makes a header of the examples in public headers: header_examples.py FOLDER OUT

An example is what follows the line "// Example:", indented by two. Each becomes a function of its own.
"""
import pathlib
import re
import sys


def examples_of(text):
    found = re.findall(r"^// Example:\n((?://   .*\n)+)", text, re.M)
    return [re.sub(r"^//   ", "    ", code, flags=re.M) for code in found]


def main(folder, out):
    headers = sorted(pathlib.Path(folder).rglob("*.hpp"))
    names = {h: h.relative_to(folder).as_posix() for h in headers}
    examples = {names[h]: codes for h in headers if (codes := examples_of(h.read_text(encoding="utf-8")))}
    lines = [f"#include <{name}>" for name in ("fstream", "iostream", "string", "utility", "vector")]
    lines += [f'#include "npgpu/{names[h]}"' for h in headers]
    without = "".join(f'"{name}", ' for name in names.values() if name not in examples)
    lines.append(f"inline const std::vector<std::string> headers_without_example{{{without}}};")
    lines.append("inline const std::vector<std::pair<std::string, void (*)()>> header_examples{")
    for name, codes in examples.items():
        lines += [f'  {{"{name}", [] {{\n{code}  }}}},' for code in codes]
    pathlib.Path(out).write_text("\n".join(lines) + "\n};\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
