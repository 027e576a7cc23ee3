#!/usr/bin/env python3
"""Pages are in short sentences and plain words: none has more than 35 words, outside of tables and blocks of code, and none
has a word that readers stumbled over. Sources of the program have no comment that begins with "Of", and at most 450 lines."""
import glob
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
LONGEST = 35
PAGES = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md",
         *(page for pattern in ("docs/*.md", "docs/dev/*.md", "docs/gallery/README.md", "data/*.md", "data/*/README.md", "contrib/**/*.md")
           for page in sorted(glob.glob(pattern, root_dir=ROOT, recursive=True)))]
# The trace's format is a specification: its sentences list what a field may hold.
SPECIFICATIONS = {"data/TRACE_FORMAT.md"}
STUMBLED = {"beside": "next to, with", "tells": "says", "told": "said, distinguished", "whose": "of which, with",
            "likewise": "also", "held against": "compared with", "anew": "again", "thereof": "of it", "in place of": "instead of",
            "but for": "except"}
WORDS = re.compile(r"\b(" + "|".join(STUMBLED) + r")\b", re.IGNORECASE)
SOURCES = sorted(path for folder in ("netpipe", "probes", "include")
                 for path in glob.glob(f"{folder}/**/*.*", root_dir=ROOT, recursive=True) if os.path.isfile(os.path.join(ROOT, path)))
LINES = 450
# The first line of a comment. A sentence may go on with "of".
FRAGMENT = re.compile(r"(?<!//)(?://+|/\*+)\s*Of\s")
ITEM = re.compile(r"^\s*([-*]|\d+\.|#+|\|)\s")


def paragraphs(text):
    """(line, text, in a table) of what is read as one: a paragraph, an item of a list, a cell."""
    found, words, start, fenced, code = [], [], 0, False, False

    def end():
        if words:
            found.append((start, " ".join(words), False))
        words.clear()

    for number, line in enumerate([*text.split("\n"), ""], 1):
        fenced ^= line.startswith("```")
        code = not words and line.startswith("    ") or code and (line.startswith("    ") or not line.strip())
        if fenced or line.startswith("```") or code or not line.strip():
            end()
        elif line.lstrip().startswith("|"):
            end()
            found += [(number, cell, True) for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        else:
            if ITEM.match(line):
                end()
            start = start if words else number
            words.append(ITEM.sub("", line).strip())
    return found


def sentences(text):
    """Without code and links; what stands between quotes of code is one word."""
    text = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "X", text))
    text = re.sub(r"\b(et al|c\.c|e\.g|vs)\.", r"\1", text)
    return re.split(r"(?<=[.!?])[*)\"]*\s+", text)


def complaints(page, text):
    found = []
    for line, paragraph, in_table in paragraphs(text):
        for sentence in sentences(paragraph):
            words = sentence.split()
            if len(words) > LONGEST and not in_table and page not in SPECIFICATIONS:
                found.append(f"{page}:{line}: {len(words)} words, {LONGEST} at most: {sentence}")
            found += [f"{page}:{line}: {word!r}; plainer: {STUMBLED[word.lower()]}: {sentence}" for word in WORDS.findall(sentence)]
    return found


def of_source(path, text):
    """Not of text in raw strings, which the program prints."""
    lines = re.sub(r'R"(\w*)\(.*?\)\1"', lambda raw: "\n" * raw[0].count("\n"), text, flags=re.DOTALL).splitlines()
    return [*(f"{path}:{number}: a comment begins with 'Of': {line.strip()}" for number, line in enumerate(lines, 1) if FRAGMENT.search(line)),
            *[f"{path}: {len(lines)} lines, {LINES} at most"] * (len(lines) > LINES)]


# What must be found, and what must not: a page in which each thing is once.
long = " ".join(["word"] * (LONGEST + 1))
assert len(complaints("made.md", f"{long}.\n\n- {long}\n\n    {long}\n\n```\n{long}\n```\n| a | {long} |\nShort. `{long}` is one word.\n")) == 2
assert len(complaints("made.md", "A node whose link is slow. `--beside` is an option.\n| cell | what was told |\n\n    whose\n")) == 2
assert not complaints("made.md", " ".join(["word"] * LONGEST) + ". Another.\n")
assert not complaints("data/TRACE_FORMAT.md", long)
assert len(of_source("made.cpp", "// Of a point.\n  int x;  // Of it.\n/* Of all. */\n// A fraction\n// of it. Of which?\n//Often.\n")) == 3
assert of_source("made.cpp", 'R"(\n// Of one.\n)"; // Of two.')[0].startswith("made.cpp:3: ")
assert len(of_source("made.cpp", "\n" * (LINES + 1))) == 1 and not of_source("made.cpp", "\n" * LINES)

failures = []
for page in PAGES:
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        failures += complaints(page, file.read())
for path in SOURCES:
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        failures += of_source(path, file.read())
print(*failures, sep="\n")
print(f"{len(PAGES)} pages, {len(SOURCES)} sources, {len(failures)} places to mend")
sys.exit(1 if failures or len(PAGES) < 40 or len(SOURCES) < 400 else 0)
