"""The figures of transfers: reports with numbers by hand give pictures that are not blank and say what they must; samples
are those that the program summarizes; bad files end with one sentence.

    plots_test.py NPGPU
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

from figures import PERTURBED, PLOTS, PROGRAM, SIZES, check, estimate, ink, inked, refused, run, script, series, traced, words, write  # first: it finds what follows
import matplotlib.image  # noqa: E402
import numpy as np  # noqa: E402
from npgpu.plots import command, figure, latency, loader, rate, ratios, samples  # noqa: E402

ALL = ("rate", "latency", "ratios", "samples", "corners", "chain", "levels", "onchip", "laws", "ladder", "gemm", "gemm_cores", "frees", "pieces", "energy", "roofline", "soak", "collectives",
       "fixed", "asymmetric", "predicted", "regret", "partition", "partition_sums", "partition_overhead", "matrix",
       "numa", "universality", "timeline")


def median_over(visits):
    """Of the medians within those visits that count, as the program estimates a point; `visits` as samples_of has them."""
    return np.median([np.median(us) for us, counts in visits if counts])


def reads_what_the_report_says(where):
    path = write(os.path.join(where, "hand.json"), [series({1000: 2}, pattern="duplex"),
                                                    series({4: 1, 8: 1, 1000: 2, 3000: 4}, perturbed={8})])
    duplex, stream = loader.load([path], "transfers")
    curves = duplex.curves()
    check([c.words["direction"] for c in curves] == ["h2d", "d2h", "both"], "a duplex has two lanes and both together")
    check([c.rate[0] for c in curves] == [500e6, 500e6, 1e9], "both move twice the bytes")
    check([c.limit for c in curves] == [2e9, 2e9, 4e9], "and have both directions' limits")
    (c,) = stream.curves()
    check(c.us.tolist() == [1, 1, 2, 4] and np.allclose([c.low_us[3], c.high_us[3], c.min_us[3]], [3.96, 4.04, 3.92]), "times")
    check((c.fit_us, c.fit_rate, c.perturbed.tolist()) == (5, 1e9, [False, True, False, False]), "fit, and perturbed sizes")
    check((stream.device, stream.device_name, stream.trace.hostname) == ("cuda:0", "Test GPU", "node17"), "the device")
    (c,) = loader.load([write(path, [series({8: 5}, limit=None)])], "transfers")[0].curves()
    check(np.isnan(c.limit), "an unknown limit")


def ratios_by_hand(where):
    path = write(os.path.join(where, "ratios.json"), [series({64: 2, 1000: 4}), series({8: 1, 64: 3, 1000: 10}, memory="pageable"),
                                                      series({61: 3, 64: 2, 67: 2}, direction="d2h", perturbed={61, 67})])
    curves = loader.curves_of(loader.load([path], "transfers"))
    (of, sizes, (value, low, high)), = ratios.pageable_over_pinned(curves)
    check(of.words["memory"] == "pageable" and sizes.tolist() == [64, 1000] and np.allclose(value, [1.5, 2.5]), "3/2 and 10/4 us, where both are")
    check(np.allclose([low[1], high[1]], [9.9 / 4.04, 10.1 / 3.96]), "the interval of a quotient")
    (of, sizes, (value, _, _)), = ratios.odd_over_even(curves)
    check(sizes.tolist() == [61, 67] and np.allclose(value, [61 / 3 / 32, 67 / 64]), "rates next to 64 B in 2 us")
    refused("no case with pageable and pinned memory", "ratios", write(path, [series({64: 2})]), "-o", os.path.join(where, "none.png"))


def chooses_series(where):
    path = write(os.path.join(where, "three.json"), [series(SIZES, direction=d) for d in ("h2d", "d2h", "d2d")])
    indices = lambda cases: [s.index for s in loader.load([path], "transfers", [loader.case_of(c) for c in cases] or None)]
    check(indices(["transfers:2,0"]) == [2, 0] and indices(["transfers:1", "transfers:1"]) == [1], "--case transfers:2,0")
    check(indices(["transfers"]) == [0, 1, 2], "--case transfers")


def samples_are_those_that_the_program_summarizes(where):
    path = traced(os.path.join(where, "made.h5"), "transfer", "--device", "sim:plain", "--async", "--pattern", "stream,duplex,pingpong",
                  "--timing", "host,event", "--end", "64KiB", "--budget", "60s")  # all rounds, on a busy machine too
    for s in loader.load([path], "transfers"):
        for c in s.curves():
            if c.lanes == 1:
                samples = loader.samples_of(c)
                what = f"{s.title}, {c.words['direction']}"
                check({len(visits) for visits in samples} == {6}, f"{what}: six visits to a point")
                check(np.allclose([median_over(visits) for visits in samples], c.us, rtol=1e-12) and
                      np.allclose([min(np.min(us) for us, _ in visits) for visits in samples], c.min_us, rtol=1e-12), what)
    check("SIMULATED" in words(where, "samples", path, "--case", "transfers:1"), "a picture of them")
    piped = os.path.join(where, "piped.svg")
    report = subprocess.run([PROGRAM, "report", path, "--json"], capture_output=True)
    drawn = subprocess.run([sys.executable, PLOTS, "rate", "-", "-o", piped], input=report.stdout, capture_output=True)
    check(drawn.returncode == 0 and os.path.exists(piped), f"a report from a pipe: {drawn.stderr}")
    return path


def disturbed_visits_are_left_out(where, made):
    """As by the program, unless they are more than half of a point's."""
    import h5py
    path = os.path.join(where, "disturbed.h5")
    shutil.copy(made, path)
    with h5py.File(path, "r+") as file:
        number, series = next((number, series) for number, series in file["transfers"].items()
                              if (series.attrs["pattern"], series.attrs["timing"]) == ("stream", "host"))
        visits, samples = series["visits"][:], series["samples"][:]
        bytes_of = sorted(set(visits["bytes"]))
        few, most, slowed = bytes_of[:3]  # two visits of six, four of six, and one with clocks taken away
        for size, rounds in ((few, (0, 3)), (most, (1, 2, 4, 5))):
            visits["disturbed"][(visits["bytes"] == size) & np.isin(visits["round"], rounds)] = 1
        visits["throttle_reasons"][(visits["bytes"] == slowed) & (visits["round"] == 5)] = 0x20 | 1
        visits["throttle_reasons"][(visits["bytes"] == slowed) & (visits["round"] == 4)] = 1  # idle: no harm
        rows = samples["visit"]
        late = visits["disturbed"][rows] + (visits["throttle_reasons"][rows] == 0x21)
        samples["host_us"] *= np.where(late > 0, 10, 1 + 0.01 * visits["round"][rows])
        series["visits"][:], series["samples"][:] = visits, samples
        points = {p.axes["bytes"]: p for p in loader.points_of(series)}
    check(len(points) == len(bytes_of) and {len(p.visits) for p in points.values()} == {6}, "points are groups of visits")
    rounds = lambda size: [int(v.row["round"]) for v in points[size].counted()]
    check((sorted(rounds(few)), sorted(rounds(most)), sorted(rounds(slowed))) == ([1, 2, 4, 5], [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4]),
          "disturbed visits do not count, unless they are more than half")
    check(all((v.samples["visit"] == v.samples["visit"][0]).all() for p in points.values() for v in p.visits), "samples of one visit")
    case = f"transfers:{int(number)}"
    (c,) = loader.load([path], "transfers", [loader.case_of(case)])[0].curves()
    samples = loader.samples_of(c)
    check(np.allclose([median_over(visits) for visits in samples], c.us, rtol=1e-12), "the program's medians are over the same visits")
    check([sum(counts for _, counts in visits) for visits in samples[:4]] == [4, 6, 5, 6], "and samples draws them as such")
    text = words(where, "samples", path, "--case", case)
    check("trial of a disturbed visit" in text, "the figure says what grey is")
    check("trial of a disturbed visit" not in words(where, "samples", made, "--case", case), "where there is any")
    check("6 visits" in words(where, "samples", path, "--case", case, "--bytes", few), "one size, visit by visit")


def pictures(where, made):
    real = write(os.path.join(where, "real.json"), [series(SIZES, perturbed=PERTURBED),
                                                    series(SIZES, direction="d2h", memory="pageable")])
    many = write(os.path.join(where, "many.json"), [series(SIZES, simulated=True, pattern=p, memory=m, direction=d)
                 for p in ("stream", "pingpong", "duplex") for m in ("pinned", "pageable") for d in ("h2d", "d2h")])
    one = write(os.path.join(where, "one.json"), [series({4096: 5.0}, limit=None)])
    cases = [("rate", [real]), ("rate", [many]), ("rate", [one]), ("rate", [real, many, "--case", "transfers:0"]),
             ("rate", [real, "--gbit", "--log", "--minimum"]),
             ("latency", [real]), ("latency", [many]), ("latency", [one]), ("latency", [real, "--no-fit"]), ("ratios", [real]),
             ("samples", [made]), ("samples", [made, "--case", "transfers:2"]), ("samples", [made, "--bytes", "32KiB"])]
    for i, (name, arguments) in enumerate(cases):
        inked(name, arguments, os.path.join(where, f"{i}.png"), 0.01, 0.6, 6)
    for suffix in ("svg", "pdf"):
        twice = []
        for i in range(2):
            out = os.path.join(where, f"twice{i}.{suffix}")
            check(script("rate", real, "-o", out).returncode == 0, f"rate -o {suffix}")
            with open(out, "rb") as file:
                twice.append(file.read())
        check(twice[0] == twice[1], f"the same trace gives the same {suffix}")

    text = words(where, "rate", real)
    for word in ("Test GPU on node17: bandwidth of copies", "Bandwidth (GB/s)", "limit 2 GB/s", "64 KiB", ">h2d<", ">pinned<",
                 ">d2h<", ">pageable<", "Transfer size", "dots: perturbed sizes"):
        check(word in text, f"rate does not say '{word}'")
    check("SIMULATED" not in text, "a measurement is not called simulated")
    check("Gbit/s" in words(where, "rate", real, "--gbit"), "--gbit")
    text = words(where, "rate", many)
    check("SIMULATED Test GPU: bandwidth" in text and "node17" not in text, "a simulated trace says so, and names no host")
    check("limit 4 GB/s both ways" in text, "the limit of both directions")
    text = words(where, "latency", real)
    check("5 us + bytes / 1 GB/s" in text and "10 us" in text and "Latency" in text, "latency shows the fit and its units")
    poor = series(SIZES)
    poor["lanes"][0]["curve"]["fit_worst_residual"] = 0.26
    check("us + bytes" not in words(where, "latency", write(os.path.join(where, "poor.json"), [poor])), "a line that misses a point by 26 % is none")
    check("us + bytes" not in words(where, "latency", real, "--no-fit"), "--no-fit")
    text = words(where, "ratios", real)
    check("a few bytes more or less" in text and "pageable" not in text, "ratios: of two directions nothing is comparable but sizes")
    text = words(where, "ratios", many)
    check("SIMULATED Test GPU" in text and "pageable over pinned" in text and "a few bytes" not in text, "ratios: no perturbed sizes")
    text = words(where, "samples", made)
    check("95 % interval of the median" in text and "Transfer size" in text, "samples says what it shows")

    # All curves are in the legend, those with the usual word for what sets them apart, too.
    cold = write(os.path.join(where, "cold.json"), [series(SIZES), series(SIZES, cache="cold")])
    text = words(where, "rate", cold)
    check(">warm<" in text and ">cold<" in text, "the legend names the curve with warm caches")
    of_a_direction(where, many)
    nothing_is_cut(where)
    style = figure.styles(["a", "b", "c"])
    check(len({s[0] for s in style.values()}) == len({s[2] for s in style.values()}) == 3, "markers as well as colours")

    text = words(where, "rate", real, "--title", "Mine, 100 %", "--font-size", "18")
    check("Mine, 100 %" in text and "Test GPU" not in text, "--title")
    check("font: 18px" in text or "font-size: 18px" in text or "18px" in text, "--font-size")
    width = lambda *more: matplotlib.image.imread(picture(where, real, *more)).shape[1]
    check(1.7 < width("--width", "10") / width("--width", "5") < 2.3, "--width")


def drawn_in(picture):
    """{title of a panel: [(colours of its curves, of names beside them)]}."""
    colors = lambda ax: [matplotlib.colors.to_hex(line.get_color()) for line in ax.lines if line.get_transform() == ax.transData and len(line.get_xdata()) > 9]
    return {ax.get_title(loc="left"): (set(colors(ax)) - {figure.GREY}, [t.get_text() for t in ax.texts if t.xycoords == ("axes fraction", "data")])
            for ax in picture.axes if ax.get_visible()}


def of_a_direction(where, many):
    """A panel for each direction and pattern; a case has one colour in all of them, in every figure, and by itself."""
    found = drawn_in(rate.draw(many))
    check(list(found) == ["h2d", "d2h", "h2d pingpong", "d2h pingpong", "h2d + d2h duplex", "d2h + h2d duplex"], f"panels: {list(found)}")
    pinned, pageable = (figure.COLORS[i].lower() for i in (0, 1))
    check(all(colors == {pinned, pageable} for colors, _ in found.values()), f"colours: {found}")
    check(found["h2d"][1][:2] == ["limit 2 GB/s", "pinned"] or {"pinned", "pageable"} <= set(found["h2d"][1]), f"names at the ends: {found}")
    check({"h2d pinned", "d2h pinned", "both pinned"} <= set(found["h2d + d2h duplex"][1]), f"names of lanes: {found}")
    for draw in (rate.draw, latency.draw, ratios.draw):
        (colors, _), = [its for _, its in zip(range(1), drawn_in(draw(many, case="transfers:2,0" if draw is ratios.draw else "transfers:2")).values())]
        check(colors == {pageable}, f"alone, pageable is {pageable}: {colors}")
    check(all(figure.contrast_to_white(np.array(figure.ink_of(color))) >= 4.5 for color in figure.COLORS) and
          figure.ink_of("#0072B2") == matplotlib.colors.to_rgb("#0072B2"), "text can be read in every colour")
    check(np.allclose(figure.spread([5, 5, 20], [4, 4, 4], 100), [3, 7, 20]) and np.allclose(figure.spread([99, 98.5], [4, 4], 100), [94, 98]),
          "names that would overlap move apart, within the axes")


def outside(picture):
    """What is drawn of data beyond its axes."""
    picture.draw_without_rendering()
    found = []
    for ax in picture.axes:
        box = ax.bbox.padded(1.0)
        for line in ax.lines:
            if line.get_transform() == ax.transData:
                found += [xy for xy in ax.transData.transform(line.get_xydata()) if np.isfinite(xy).all() and not box.contains(*xy)]
        for band in ax.collections:
            for path in band.get_paths() if not band.get_offset_transform() == ax.transData else []:
                found += [xy for xy in band.get_transform().transform(path.vertices) if np.isfinite(xy).all() and not box.contains(*xy)]
    return found


def nothing_is_cut(where):
    """Bands of 40 % lie within the axes; an interval that reaches four times the value neither sets the scale nor is cut."""
    wide = series({2 ** k: 1 + k for k in range(20)})
    for at, p in enumerate(wide["lanes"][0]["points"]):
        for key in ("time_us", "rate_bytes_per_s"):
            value = p[key]["value"]
            p[key].update({"low": 0.6 * value, "high": 1.4 * value} if at != 12 else {"low": 0.1 * value, "high": 5 * value})
    path = write(os.path.join(where, "wide.json"), [wide])
    for draw, how in ((rate.draw, {}), (rate.draw, {"log": True}), (latency.draw, {})):
        picture = draw(path, **how)
        check(not outside(picture), f"{draw.__module__} {how}: beyond the axes: {outside(picture)}")
        (ax,) = picture.axes
        hollow = [line for line in ax.lines if line.get_markerfacecolor() == "white" and len(line.get_xdata())]
        check([line.get_xdata().tolist() for line in hollow] == [[2 ** 12]], f"{draw.__module__}: the one that is hardly known is hollow")
    check("hollow: no better known than to 50 %" in words(where, "rate", path), "and the figure says so")
    (ax,) = rate.draw(path).axes
    check(ax.get_ylim()[1] < 2 * 1.4 * max(p["rate_bytes_per_s"]["value"] for p in wide["lanes"][0]["points"]) * 1e-9 + 2.3, "the scale is of the others")


def picture(where, trace, *arguments):
    out = os.path.join(where, "wide.png")
    check(script("rate", trace, "-o", out, *arguments).returncode == 0, f"rate {arguments}")
    return out


def universality(where, made):
    """A column for each device of several traces, in colours by verdict."""
    paths = [traced(os.path.join(where, f"{name}.h5"), "probe", "compute", "--device", f"sim:{name}", "--rounds", "1") for name in ("gts250", "gtx470")]
    png = os.path.join(where, "universality.png")
    drawn = script("universality", *paths, "-o", png)
    check(drawn.returncode == 0 and not drawn.stderr, f"universality: {drawn.stderr}")
    if drawn.returncode == 0:
        one, _ = ink(png)
        drawn = script("universality", paths[0], "-o", png)
        check(drawn.returncode == 0 and ink(png)[0] > 0.2 and one > 0.2, f"universality: {drawn.stderr}, ink {one} {ink(png)}")
    check(refused("", "universality", made, "-o", png).stderr, "universality of copies")


def a_step(where, made):
    """As it is and as it could be, of a recording, of what predict wrote, and by the costs of another node."""
    kept, node = (os.path.join(PLOTS, "..", "data", "traces", f"h200_{name}.h5") for name in ("record", "node"))
    text = words(where, "timeline", kept, "--on", node)
    for word in ("as it is: 10.5 ms a step", "pinned memory, and copies and kernels in 16 chunks: 1.68 ms a step", "new stream 1", "new stream 16", "copy in", "waits", "2 times"):
        check(word in text, f"timeline: {word}")
    of = json.loads(run("predict", kept, "--json").out)
    png = os.path.join(where, "timeline.png")
    inked("timeline", write_json(where, of), png, 0.1, 0.6, 8)
    of["played"] = of["played"][:1]
    check("nothing that can be judged" in words(where, "timeline", write_json(where, of)), "a step that nothing makes faster")
    of["kernels"], of["played"][0]["spans"] = [], []
    check("as it is" in words(where, "timeline", write_json(where, of)), "a step of nothing")
    of["played"] = []
    refused("no step", "timeline", write_json(where, of), "-o", png)
    refused("holds no records", "timeline", made, "-o", png)
    refused("no simulated device", "timeline", kept, "--on", "nothing", "-o", png)
    refused("timeline shows recordings", "rate", kept, "-o", png)


def write_json(where, document):
    path = os.path.join(where, "forecast.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file)
    return path


def every_figure_helps():
    """And the figures are those that the package lists, which say what they are there, too."""
    check(set(command.FIGURES) == set(ALL), f"figures: {command.FIGURES}")
    listed = script("--help").stdout
    for name in ALL:
        told = script(name, "--help")
        whole = " ".join(told.stdout.split())
        check(told.returncode == 0 and "--font-size" in whole and f"npgpu.plots {name} [-h]" in whole, f"{name} --help: {told.stderr}")
        first = " ".join(command.module(name).__doc__.split("\n\n")[0].split())
        check(first in whole.replace("- ", "-"), f"{name} --help breaks off: {first}")
        check(f"\n  {name} " in listed, f"--help lists no {name}")


def all_that_a_trace_holds(where, made):
    """A picture a figure, and why there is none; the same as the figure by its name."""
    out = os.path.join(where, "all")
    drawn = script(made, "-o", out, "--format", "svg")
    check(drawn.returncode == 0 and sorted(os.listdir(out)) == ["latency.svg", "rate.svg", "ratios.svg", "samples.svg"], f"all: {drawn.stdout}{drawn.stderr}")
    check(f"{out}/rate.svg\n" in drawn.stdout and "no levels: holds no probes" in drawn.stdout, f"all: {drawn.stdout}")
    single = os.path.join(where, "single.svg")
    script("rate", made, "-o", single)
    with open(single, "rb") as one, open(os.path.join(out, "rate.svg"), "rb") as other:
        check(one.read() == other.read(), "rate by its name and among all")
    ended = script(os.path.join(where, "nosuch.h5"), "-o", out)
    check(ended.returncode == 2 and "there is no such file" in ended.stderr and ended.stderr.count("\n") == 1, f"all: {ended.stderr}")


def as_functions(made):
    """They return figures, and leave the look of the caller's own and the list of open figures as they were."""
    was = dict(matplotlib.rcParams)
    matplotlib.rcParams["axes.grid"] = False
    drawn = rate.draw(made, case="transfers:0", title="Mine", width=5)
    check(drawn.get_suptitle().startswith("Mine") if hasattr(drawn, "get_suptitle") else drawn._suptitle.get_text().startswith("Mine"), "a title")
    check(drawn.get_size_inches()[0] == 5 and not matplotlib.pyplot.get_fignums(), "its width, and no figure left open")
    check({**matplotlib.rcParams, "axes.grid": was["axes.grid"]} == was, "the caller's look")
    matplotlib.rcParams["axes.grid"] = was["axes.grid"]
    try:
        rate.draw(made, case="7")
        check(False, "a case that names nothing")
    except loader.BadTrace as error:
        check("names no series" in str(error), f"{error}")


def without_numpy(where):
    """One sentence says what to install."""
    with open(os.path.join(where, "numpy.py"), "w", encoding="utf-8") as file:
        file.write("raise ImportError('none here')\n")
    for name in ALL:
        ended = subprocess.run([sys.executable, PLOTS, name, "x.h5"], capture_output=True, text=True,
                               env={**os.environ, "PYTHONPATH": where})
        check(ended.returncode != 0 and "python3-numpy" in ended.stderr and "Traceback" not in ended.stderr,
              f"{name} without numpy: {ended.stderr}")
    os.remove(os.path.join(where, "numpy.py"))


def bad_input(where, made):
    def put(name, content):
        with open(os.path.join(where, name), "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))

    path = lambda name: os.path.join(where, name)
    put("text.h5", "no HDF5")
    put("empty.h5", "")
    with open(made, "rb") as whole, open(path("half.h5"), "wb") as half:
        half.write(whole.read()[:3000])
    good = write(path("good.json"), [series(SIZES)])
    put("other.json", {"document": "npgpu-trace", "version": "3.0"})
    put("newer.json", {"document": "npgpu-report", "version": 4})
    put("lacking.json", {"document": "npgpu-report", "version": 3})
    write(path("nothing.json"), [])
    write(path("probes.json"), [], probes=[{"title": "p", "case": {"device": "host"}, "simulated": False, "device_name": ""}])
    write(path("pointless.json"), [series({})])
    lame = series(SIZES)
    del lame["lanes"][0]["curve"]
    write(path("lame.json"), [lame])
    with open(path("kept.png"), "wb"):
        os.chmod(path("kept.png"), 0o444)
    table = [("nosuch.h5", "no such file"), (".", "is a folder"), ("text.h5", "neither a trace nor JSON"),
             ("empty.h5", "neither a trace nor JSON"), ("half.h5", "half.h5"), ("other.json", "is JSON, but not"),
             ("newer.json", "version 4"), ("lacking.json", "another npgpu"), ("nothing.json", "holds no transfers"),
             ("probes.json", "corners, chain, levels, onchip, laws, ladder, gemm and gemm_cores show probes"), ("pointless.json", "no usable point"),
             ("lame.json", "of another npgpu")]
    for name in ("rate", "latency", "samples"):
        for bad, word in table if name == "rate" else table[::5]:  # they share the loader
            refused(word, name, path(bad), "-o", path("bad.png"))
            check(not os.path.exists(path("bad.png")), f"{name} {bad} left a picture")
    for name, trace, arguments, word in [
            ("rate", good, ["--case", "transfers:7"], "no transfers:7"), ("rate", good, ["--case", "probes:0"], "not probes"),
            ("rate", good, ["--case", "7"], "names no series"), ("rate", good, ["--case", "transfers:-1"], "names no series"),
            ("rate", good, ["-o", path("x.gif")], "x.gif"), ("rate", good, ["--width", "0"], "no number above 0"),
            ("samples", good, [], "holds no samples"), ("samples", made, ["--case", "transfers:0,1"], "one series"),
            ("samples", made, ["--bytes", "5"], "5 B"), ("samples", made, ["--bytes", "many"], "many"),
            ("latency", good, ["-o", path("no/such/x.png")], "cannot write"),
            ("latency", good, ["-o", path("kept.png")], "write-protected")]:
        refused(word, name, trace, "-o", path("x.png"), *arguments)


def scales_have_labels():
    """One label is no scale: an axis of times has two at least, however short it is."""
    for low, high in ((9, 11), (4, 20), (6, 60), (1, 5000), (1468.4, 1470.9)):
        picture, axes = figure.plt.subplots()
        axes.plot([1, 2], [low, high])
        figure.time_axis(axes, "Time")
        picture.canvas.draw()
        bottom, top = axes.get_ylim()
        labels = [tick.label1.get_text() for tick in [*axes.yaxis.get_major_ticks(), *axes.yaxis.get_minor_ticks()]
                  if bottom <= tick.get_loc() <= top]
        seen = [text for text in labels if text]
        check(len(seen) >= 2 and len(set(seen)) == len(seen), f"labels from {low} to {high} us: {labels}")
        figure.plt.close(picture)
    for spread in (0.2, 3.0, 40.0):
        picture, axes = figure.plt.subplots()
        axes.plot([1, 2], [-spread, spread])
        axes.set_yscale("symlog", linthresh=samples.LINEAR, linscale=1.5)
        samples.percent_axis(axes)
        check(len(axes.get_yticks()) >= 3, f"labels of samples within {spread} %: {axes.get_yticks()}")
        figure.plt.close(picture)


def pieces_have_a_title(folder):
    text = words(folder, "pieces", traced(os.path.join(folder, "pieces.h5"), "pieces", "--device", "sim:h200", "--direction", "h2d"))
    check("SIMULATED H200: copies of many pieces, host to GPU" in text, "the title of pieces is a sentence")


with tempfile.TemporaryDirectory(prefix="npgpu-plots-") as folder:
    scales_have_labels()
    pieces_have_a_title(folder)
    reads_what_the_report_says(folder)
    ratios_by_hand(folder)
    chooses_series(folder)
    trace = samples_are_those_that_the_program_summarizes(folder)
    disturbed_visits_are_left_out(folder, trace)
    pictures(folder, trace)
    universality(folder, trace)
    a_step(folder, trace)
    every_figure_helps()
    all_that_a_trace_holds(folder, trace)
    as_functions(trace)
    without_numpy(folder)
    bad_input(folder, trace)
check.finish()
