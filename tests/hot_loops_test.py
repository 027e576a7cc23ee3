#!/usr/bin/env python3
"""The hot loops of the host's compute probe hold the instructions they should, and nothing that touches memory.

    hot_loops_test.py CONFIGURATION OBJECT...     CMake's build type, and the probes' object files

Eight steps of every chain are one turn of a loop. What a compiler folded, joined, spilled or left out shows in the count.
"""
import collections
import re
import shutil
import subprocess
import sys

STEPS = 8
# By source file and type: the instructions of one step, and the registers they work on.
EXPECTED = {
    ("scalar", "Of<float>"): ({"vfmadd...ss": 1}, "xmm"),
    ("scalar", "Of<double>"): ({"vfmadd...sd": 1}, "xmm"),
    ("scalar", "Of<unsigned int>"): ({"imul": 1, "add": 1}, ""),
    ("avx2", "Of<float>"): ({"vfmadd...ps": 1}, "ymm"),
    ("avx2", "Of<double>"): ({"vfmadd...pd": 1}, "ymm"),
    ("avx2", "Of<unsigned int>"): ({"vpmulld": 1, "vpaddd": 1}, "ymm"),
    ("avx512", "Of<float>"): ({"vfmadd...ps": 1}, "zmm"),
    ("avx512", "Of<double>"): ({"vfmadd...pd": 1}, "zmm"),
    ("avx512", "Of<unsigned int>"): ({"vpmulld": 1, "vpaddd": 1}, "zmm"),
}
CHAINS = {("scalar", "Of<unsigned int>"): 9}  # variants of ilp
CHAINS_OF_ISA = {"scalar": 11, "avx2": 11, "avx512": 12}


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def functions(text):
    """(type, ilp) -> [(address, mnemonic, operands)]"""
    found = {}
    body = None
    for line in text.splitlines():
        head = re.match(r"[0-9a-f]+ <(.*)>:$", line)
        if head:
            name = re.search(r"run_chains<npgpu::\(anonymous namespace\)::(.+), (\d+)u>\(", head.group(1))
            body = found.setdefault((name.group(1), int(name.group(2))), []) if name else None
        elif body is not None:
            one = re.match(r"\s*([0-9a-f]+):\s+(\S+)\s*(.*)$", line)
            if one:
                body.append((int(one.group(1), 16), one.group(2), one.group(3)))
    return found


def loop_of(body):
    """The instructions between the target of the one backward jump and the jump."""
    loops = []
    for address, mnemonic, operands in body:
        target = re.match(r"([0-9a-f]+) <", operands)
        if mnemonic.startswith("j") and target and body[0][0] <= int(target.group(1), 16) <= address:
            loops.append([i for i in body if int(target.group(1), 16) <= i[0] < address])
    return loops


def problems(isa, kind, ilp, body):
    loops = loop_of(body)
    if len(loops) != 1:
        return [f"{len(loops)} loops instead of one"]
    step, register = EXPECTED[isa, kind]
    wrong = []
    for pattern, times in step.items():
        hits = [o for _, m, o in loops[0] if re.fullmatch(pattern, m) or re.fullmatch(pattern + "[lq]", m)]
        # A loop of integers may count with an addition of a constant.
        hits = [o for o in hits if "$" not in o]
        if len(hits) != STEPS * ilp * times:
            wrong.append(f"{len(hits)} of {pattern} instead of {STEPS * ilp * times}")
        if register and not all(re.fullmatch(rf"(%{register}\d+,?)+", o) for o in hits):
            wrong.append(f"{pattern} works on something else than {register}")
    in_memory = [f"{m} {o}" for _, m, o in loops[0] if "(" in o]
    if in_memory:
        wrong.append("it touches memory: " + in_memory[0])
    # The loop's own counting; and GCC 12 now and then copies one register a step, which costs the chain nothing.
    if len(loops[0]) > STEPS * ilp * sum(step.values()) + 4 + STEPS:
        wrong.append(f"{len(loops[0])} instructions in all: " + str(collections.Counter(m for _, m, _ in loops[0])))
    return wrong


def main(configuration, objects):
    if configuration in ("", "Debug"):
        skip("this build is not optimized")
    tool = shutil.which("objdump")
    if not tool:
        skip("objdump is missing; binutils has it")
    failed = checked = 0
    for path in objects:
        isa = re.search(r"simd_(scalar|avx2|avx512)\.cpp", path)
        if not isa:
            continue
        isa = isa.group(1)
        text = subprocess.run([tool, "-d", "-C", "--no-show-raw-insn", path], capture_output=True, text=True, check=True).stdout
        if "x86-64" not in text.split("Disassembly")[0]:
            skip("these loops are known for x86-64 only")
        symbols = subprocess.run([tool, "-t", path], capture_output=True, text=True, check=True).stdout
        if re.search("__asan|__ubsan|__tsan|__sanitizer", symbols):
            skip("a sanitizer put its own instructions into the loops")
        found = functions(text)
        for kind in [k for i, k in EXPECTED if i == isa]:
            ilps = sorted(ilp for k, ilp in found if k == kind)
            variants = CHAINS.get((isa, kind), CHAINS_OF_ISA[isa])
            if len(ilps) != variants:
                failed += 1
                print(f"{isa} {kind}: {len(ilps)} loops instead of {variants}: {ilps}")
            for ilp in ilps:
                checked += 1
                for wrong in problems(isa, kind, ilp, found[kind, ilp]):
                    failed += 1
                    print(f"{isa} {kind} with {ilp} chains: {wrong}")
    if not checked:
        print("no loop found in", len(objects), "objects")
        return 1
    print(f"{checked} loops, {failed} problems")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
