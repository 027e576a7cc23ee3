"""Traces with one value, attribute or row that is not what it was, by the Python package: its own errors are the only ones,
and no verdict is better than that of the sound trace."""
import os
import random
import shutil
import sys
import warnings

from npgpu_run import Checks, folder, needs, run

needs("h5py", "pandas")
import h5py  # noqa: E402
import npgpu  # noqa: E402
import numpy as np  # noqa: E402

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 24 // int(os.environ.get("STRIDE", "1"))  # fewer under sanitizers
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1
RANK = ["ok", "undecided", "not judged", "slow", "failed to run", "broken"]  # from what is said on nothing wrong to the worst
KINDS = ("transfers", "probes", "jobs", "calls")
check = Checks()


def poison(value, draw):
    """Another value of the same type."""
    if isinstance(value, (bytes, np.bytes_)):
        return draw.choice([b"", b"\xff\xfe", b"=1+1", b"none"])
    if isinstance(value, str):
        return draw.choice(["", "\u202ename", "none", "9" * 300])
    kind = np.asarray(value).dtype
    if kind.kind == "f":
        return kind.type(draw.choice([np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300, 5e-324]))
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        return kind.type(draw.choice([limits.min, limits.max, 0, limits.max // 2]))
    return value


def mutate(path, draw):
    """One change; says which."""
    with h5py.File(path, "r+") as file:
        series = draw.choice([one for kind in KINDS if kind in file for one in list(file[kind].values())])
        name = draw.choice(["visits", "samples"])
        table = series[name]
        what = draw.choice(["value", "column", "attribute", "row", "link"])
        if what in ("value", "column") and len(table):
            rows = table[()]
            column = draw.choice(rows.dtype.names)
            at = draw.randrange(len(rows)) if what == "value" else slice(None)
            to = poison(rows[column][0], draw)
            rows[column][at] = to
            table[()] = rows
            return f"{series.name}/{name}.{column}[{at}] = {to!r}"
        if what == "attribute":
            key = draw.choice(sorted(series.attrs))
            to = poison(series.attrs[key], draw)
            series.attrs[key] = to
            return f"{series.name}@{key} = {to!r}"
        if what == "row" and len(table) > 1:
            rows = table[()][:-1]
            del series[name]
            series[name] = rows
            return f"{series.name}/{name} without its last row"
        del series[name]
        return f"{series.name} without {name}"


def answers(path, sound):
    """What each question answers, or its name and the error."""
    def ask(question):
        try:
            return question()
        except (npgpu.ProgramFailed, npgpu.BadTrace) as refused:
            return str(refused)

    def tables():
        loaded = npgpu.load(path)
        return {**loaded.frames(), **{kind: loaded.samples(kind) for kind in KINDS}}

    return {"check": ask(lambda: npgpu.check(path)), "tables": ask(tables), "compare": ask(lambda: npgpu.compare(sound, path)),
            "fleet": ask(lambda: npgpu.fleet([sound, path])), "facts": ask(lambda: npgpu.load(path).facts)}


with folder() as where:
    sound = {}
    for name, device in (("fine", "sim:h200-node?seed=3"), ("lanes", "sim:sick/half-the-lanes"), ("memory", "sim:sick/slow-memory")):
        path = os.path.join(where, f"{name}.h5")
        run("check", "--level", "1", "--device", device, "--output", path, "--quiet")
        sound[path] = npgpu.check(path).verdict
    check([*sound.values()] == ["ok", "slow", "slow"], sound)
    passed = 0
    for number in range(ROUNDS):
        draw = random.Random(SEED * 100000 + number)
        path = draw.choice([*sound])
        mutant = os.path.join(where, "mutant.h5")
        shutil.copy(path, mutant)
        said = f"round {number}: {mutate(mutant, draw)}"
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # of numpy: a figure that nobody should have
            try:
                told = answers(mutant, path)
            except Exception as error:  # noqa: BLE001: any other error is the fault that is looked for
                check(False, f"{said}: {type(error).__name__}: {error}")
                continue
        verdict = told["check"]
        if not isinstance(verdict, str):
            passed += 1
            check(RANK.index(verdict.verdict) >= RANK.index(sound[path]) or verdict.verdict == "undecided",
                  f"{said}: {verdict.verdict}, the sound one is {sound[path]}")
    check(passed >= ROUNDS // 4, f"{passed} of {ROUNDS} pass the loader")
check.finish()
