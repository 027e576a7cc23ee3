#!/usr/bin/env python3
"""CONTRIBUTING's map of folders is the tree, every path that README, CONTRIBUTING and docs name is there, and the lines of
sources that docs link to hold what is written behind the link.

    maps_test.py           says what is wrong
    maps_test.py --mend    and corrects the numbers of lines
"""
import glob
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
# Made by a build, a package or a figure; hidden folders are not mapped.
MADE = re.compile(r"build.*|dist|out|__pycache__|\..*")


def text_of(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def folders(below):
    return {os.path.join(below, name).removeprefix("./") for name in os.listdir(os.path.join(ROOT, below))
            if os.path.isdir(os.path.join(ROOT, below, name)) and not MADE.fullmatch(name)}


def there(path):
    """Also `probes/<name>/cuda.cu` and `netpipe/modules/cu*`, if anything fits."""
    return bool(glob.glob(os.path.join(ROOT, re.sub(r"<\w+>", "*", path))))


failures = []
mapped = set(re.findall(r"^\| ([\w/]+) \|", text_of("CONTRIBUTING.md").split("## Folders")[1], re.M)) - {"folder"}
tree = (folders(".") - {"include", "netpipe"}) | {"include/npgpu"} | folders("netpipe")
failures += [f"CONTRIBUTING.md's map has no {folder}" for folder in sorted(tree - mapped)]
failures += [f"CONTRIBUTING.md's map has {folder}, which the tree does not have" for folder in sorted(mapped - tree)]
checked = 0
for name in ("README.md", "CONTRIBUTING.md", *glob.glob("docs/**/*.md", root_dir=ROOT, recursive=True)):
    text = text_of(name)
    named = re.findall(r"`([\w.<>*-]+(?:/[\w.<>*-]+)+)`", text)
    # A link is from where the page is; to a heading of another page, its words with hyphens.
    for path, anchor in re.findall(r"\]\(([\w./-]+)(#[\w-]+)?\)", text):
        target = os.path.normpath(os.path.join(os.path.dirname(name), path))
        named.append(target)
        if anchor and target.endswith(".md") and there(target):
            headings = {"#" + re.sub(r"[^\w -]", "", line).strip().lower().replace(" ", "-")
                        for line in re.findall(r"^#+ (.*)", text_of(target), re.M)}
            if anchor not in headings:
                failures.append(f"{name} links to {target}{anchor}, which has {sorted(headings)}")
    for path in named:
        if path.startswith(("build/", "npgpu/", "share/")):  # not of the source tree
            continue
        checked += 1
        if not there(path):
            failures.append(f"{name} names {path}, which is not there")
# [folder/file.cpp:12](../folder/file.cpp#L12) `what line 12 holds`
LINKED = re.compile(r"\[([\w/.-]+):(\d+)\]\((?:\.\./)+([\w/.-]+)#L(\d+)\)\s+`([^`]+)`")


def line_of(match, name):
    """The line that holds the words; the one nearest to where they were said to be."""
    path, said, target, anchor, words = match.groups()
    lines = text_of(path).splitlines() if there(path) else []
    holding = [number for number, line in enumerate(lines, 1) if words in line]
    if not holding:
        failures.append(f"{name}: no line of {path} holds '{words}'")
        return match[0]
    number = min(holding, key=lambda n: abs(n - int(said)))
    if (path, said, said) != (target, anchor, str(number)):
        failures.append(f"{name}: '{words}' is in line {number} of {path} (tests/maps_test.py --mend)")
    return f"[{path}:{number}]({os.path.relpath(path, os.path.dirname(name))}#L{number}) `{words}`"


for name in sorted(glob.glob("docs/**/*.md", root_dir=ROOT, recursive=True)):
    text = text_of(name)
    mended = LINKED.sub(lambda match: line_of(match, name), text)
    checked += len(LINKED.findall(text))
    if "--mend" in sys.argv and mended != text:
        with open(os.path.join(ROOT, name), "w") as file:
            file.write(mended)
print("\n".join(failures) or f"{len(mapped)} folders and {checked} paths are there")
sys.exit(1 if failures or len(mapped) < 10 or checked < 10 else 0)
