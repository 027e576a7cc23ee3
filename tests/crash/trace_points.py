"""What a trace holds, read with plain h5py: none of this project's code is trusted here."""
import re
import sys

try:
    import h5py
except ImportError:
    print("skipped: this Python has no h5py")
    sys.exit(77)

SAVED = r"saved (\d+) (\d+)"


def points_of(path):
    """The set of (sweep, bytes) in the trace. Raises if it does not open or contradicts itself."""
    found = set()
    with h5py.File(path, "r") as file:
        if file.attrs["schema_name"] != "npgpu-trace":
            raise ValueError("not a trace")
        int(file.attrs["complete"])
        for name, sweep in file["sweeps"].items():
            points, samples = sweep["points"][:], sweep["samples"][:]
            for row, point in enumerate(points):
                first, count = int(point["first_sample"]), int(point["samples"])
                mine = samples[first:first + count]
                if count == 0 or len(mine) != count or not (mine["point"] == row).all() or (mine["repeats"] == 0).any():
                    raise ValueError(f"sweep {name}: point {row} has broken samples")
                found.add((int(name), int(point["bytes"])))
    return found


def announced(text, pattern=SAVED):
    """The points that a program's output calls saved. A last line without its end does not count."""
    lines = text.split("\n")[:-1]
    return {(int(m[1]), int(m[2])) for m in (re.search(pattern, line) for line in lines) if m}
