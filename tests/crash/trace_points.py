"""What a trace holds, read with plain h5py: none of this project's code is trusted here."""
import re
import sys

try:
    import h5py
except ImportError:
    print("skipped: this Python has no h5py")
    sys.exit(77)

SAVED = r"saved (\d+) (\d+)"
SAVED_SHAPE = r"saved probe (\d+) (\d+) x (\d+) threads, ilp (\d+)(?:, (\d+) B each)?(?:, in [^,:]+)?(, alone)?:"


def rows_of(name, table):
    """The points of a sweep or probe, each of which must own the samples that it says."""
    points, samples = table["points"][:], table["samples"][:]
    for row, point in enumerate(points):
        first, count = int(point["first_sample"]), int(point["samples"])
        mine = samples[first:first + count]
        if count == 0 or len(mine) != count or not (mine["point"] == row).all() or (mine["repeats"] == 0).any():
            raise ValueError(f"{name}: point {row} has broken samples")
    return points


def points_of(path):
    """The set of (sweep, bytes), and of (probe, its number, shape but for its bytes), in the trace. Raises if it does not
    open or contradicts itself."""
    found = set()
    with h5py.File(path, "r") as file:
        if file.attrs["schema_name"] != "npgpu-trace":
            raise ValueError("not a trace")
        int(file.attrs["complete"])
        for name, sweep in file["sweeps"].items():
            found |= {(int(name), int(point["bytes"])) for point in rows_of(f"sweep {name}", sweep)}
        for name, probe in file.get("probes", {}).items():
            axes = ("blocks", "threads", "ilp", "access_bytes", "one_block_per_sm")
            found |= {("probe", int(name), *(int(point[axis]) for axis in axes)) for point in rows_of(f"probe {name}", probe)}
    return found


def announced(text, pattern=SAVED):
    """The points and shapes that a program's output calls saved. A last line without its end does not count."""
    lines = text.split("\n")[:-1]
    shapes = (re.search(SAVED_SHAPE, line) for line in lines)
    return {(int(m[1]), int(m[2])) for m in (re.search(pattern, line) for line in lines) if m} | {
        ("probe", int(m[1]), int(m[2]), int(m[3]), int(m[4]), int(m[5] or 0), int(bool(m[6]))) for m in shapes if m}
