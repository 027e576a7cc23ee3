"""What the tests of figures share: the package in plots/ to import and to run, and a count of the checks. Without the
libraries that draw, nothing can be tested, and the tests are skipped."""
import json
import os
import sys

try:
    import h5py  # noqa: F401
    import matplotlib.image
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "e2e"))
matplotlib.use("Agg")
import in_child  # noqa: E402
from npgpu_run import PLOTS, PROGRAM, Checks, run  # noqa: E402, F401

check = Checks()


def script(name, *arguments):
    """As `python3 plots NAME ...` does."""
    return in_child.python(PLOTS, name, *arguments)


def words(where, name, *arguments, **more):
    """The text of a picture."""
    out = os.path.join(where, "words.svg")
    drawn = in_child.python(PLOTS, name, *arguments, "-o", out, **more)
    check(drawn.returncode == 0 and not drawn.stderr, f"{name}: {drawn.stderr}")
    with open(out, encoding="utf-8") as file:
        return file.read()


def traced(path, *command, codes=(0,)):
    """The path of a trace that the program has made."""
    ran = run(*command, "--quiet", "--output", path)
    check(ran.code in codes, f"npgpu {command}: {ran.code} {ran.err}")
    return path


def refused(word, name, *arguments):
    """One sentence with this word, and no picture."""
    ended = script(name, *arguments)
    check(ended.returncode == 2 and word in ended.stderr and "Traceback" not in ended.stderr, f"{name} {arguments}: {ended.returncode} {ended.stderr}")
    return ended


def estimate(value, low=None, high=None):
    return {"value": value, "low": low, "high": high, "method": "by hand"}


def lane(number, name, times, fit=(5, 1e9), copies=1, limit=2e9, perturbed=()):
    """`times`: {bytes: us}; intervals are 1 % wide to each side."""
    points = []
    for size, us in times.items():
        rate = copies * size / us * 1e6
        points.append({"bytes": size, "lane": number, "trials": 7, "stop": "trials", "disturbed": None, "time_us": estimate(us, 0.99 * us, 1.01 * us),
                       "min_us": 0.98 * us, "max_us": 1.1 * us, "mean_us": us, "rate_bytes_per_s": estimate(rate, rate / 1.01, rate / 0.99),
                       "percent_of_limit": limit and 100 * rate / limit, "perturbed": size in perturbed})
    curve = {"fit_latency_us": estimate(fit[0]), "fit_rate_bytes_per_s": estimate(fit[1]), "fit_worst_residual": 0.1}
    return {"lane": number, "name": name, "curve": curve, "points": points}


def series(times, simulated=False, limit=2e9, perturbed=(), **case):
    case = {"module": "cudaMemcpy", "source": "host", "target": "cuda:0", "pattern": "stream", "direction": "h2d",
            "memory": "pinned", "async": False, "timing": "host", "cache": "warm", "executor": "default",
            "source_offset_bytes": 0, "target_offset_bytes": 0, "bind": True, "more_lanes": "", **case}
    one = {"title": f"cudaMemcpy cuda:0 {case['direction']}", "case": case, "schedule": "classic 7", "device_name": "Test GPU",
           "simulated": simulated, "together": None, "lanes": [lane(0, case["direction"], times, limit=limit, perturbed=perturbed)]}
    if case["pattern"] == "duplex":
        one["lanes"].append(lane(1, "d2h" if case["direction"] == "h2d" else "h2d", times, limit=limit))
        one["together"] = lane(0, "both", times, copies=2, limit=2 * limit)
    return one


def write(path, transfers, **more):
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"document": "npgpu-report", "version": 3, "run": {"hostname": "node17"}, "transfers": transfers,
                   "probes": [], "jobs": [], **more}, file)
    return path


def ink(path):
    """Share of pixels that are not white, and how many different colours there are."""
    pixels = (matplotlib.image.imread(path)[..., :3] * 255).round().astype(int).reshape(-1, 3)
    colors = np.bincount(pixels // 32 @ (64, 8, 1))  # eight shades of each of red, green and blue
    return np.mean(np.any(pixels < 250, axis=1)), np.count_nonzero(colors)


def inked(name, arguments, png, least, most, least_colors):
    arguments = [arguments] if isinstance(arguments, str) else arguments
    what, drawn = f"{name} {' '.join(os.path.basename(a) for a in arguments)}", script(name, *arguments, "-o", png)
    check(drawn.returncode == 0 and not drawn.stderr, f"{what}: {drawn.stderr}")
    if drawn.returncode == 0:
        share, colors = ink(png)
        check(least < share < most and colors >= least_colors, f"{what}: {100 * share:.1f} % ink, {colors} colours")


# Times of copies, and the sizes that lie next to a power of two.
SIZES = {n: 5 + n / 1000 for n in [1, 2, 3, 4, 6, 8, 12] + [2 ** k + d for k in range(5, 24) for d in (-3, 0, 3)]}
PERTURBED = {n for n in SIZES if n > 12 and n & (n - 1)}
