"""make.py NPGPU: writes the gallery's pages, and its and the docs' pictures anew, from the traces that are kept in data/traces.
make.py NPGPU --check: says which pages are not what the program prints, and which pictures are missing or large; writes
nothing."""
import io
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.dirname(os.path.dirname(HERE))
TRACES = os.path.join(SOURCES, "data", "traces")
DOTS_AN_INCH, COLORS, MOST_BYTES = 100, 256, 100_000  # of a picture

# Page, what it is of, trace, and its pictures: figure, what is drawn of the trace, and a line below it.
MACHINES = (
    ("h200", "A GPU: NVIDIA H200", "h200_run_a.h5", (
        ("rate", {"case": ["transfers:0,1,3,4,5,6"]}, "Copies of pinned memory over their size"),
        ("levels", {}, "Latency of a load over the memory that is walked through: the steps are caches"),
        ("corners", {"probe": "compute"}, "Multiply-adds a second over threads and blocks"),
    )),
    ("h200x2", "A node of two GPUs: 2 x NVIDIA H200", "h200x2_matrix.h5", (
        ("matrix", {}, "Copies and loads between the GPUs and the host"),
    )),
    ("epyc", "A host without a GPU: AMD EPYC", "host.h5", (
        ("rate", {}, "memcpy over its size, in warm and in cold caches"),
    )),
)

# Pictures of other pages: name, figure, traces.
PICTURES = (("h200-chain", "chain", ["h200_node.h5"]), ("h100-frees", "frees", ["h100_frees.h5"]),
            ("universality", "universality", ["h200_opencl.h5", "h200_opencl_memory.h5", "xeon_pocl.h5", "the papers' GPUs"]))
PAPERS = ["probe", "compute,bandwidth", "--device", "sim:gts250,sim:gtx260,sim:gtx470", "--quiet", "--output"]


def page(program, title, trace, pictures, name):
    report = subprocess.run([program, "report", os.path.join(TRACES, trace), "--markdown"], check=True,
                            capture_output=True, text=True).stdout
    drawn = "".join(f"![{line}]({name}-{figure}.png)\n*{line}.*\n\n" for figure, _, line in pictures)
    return (f"# {title}\n\n`npgpu report data/traces/{trace} --markdown` prints what stands below the pictures, "
            f"`--html FILE` writes it as a page\nwith all curves. [The gallery](README.md)\n\n{drawn}{report}")


def draw(traces, figure, how, path):
    """With few colours: a third of the bytes, and nobody sees it."""
    import importlib
    from PIL import Image
    drawn, picture = io.BytesIO(), importlib.import_module(f"npgpu.plots.{figure}").draw(traces, **how)
    picture.savefig(drawn, dpi=DOTS_AN_INCH, bbox_inches="tight")
    Image.open(drawn).convert("RGB").quantize(COLORS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)


def draw_pictures(program):
    with tempfile.TemporaryDirectory() as folder:
        papers = os.path.join(folder, "papers.h5")
        subprocess.run([program, *PAPERS, papers], check=True)
        for name, figure, traces in PICTURES:
            draw([os.path.join(TRACES, t) if t.endswith(".h5") else papers for t in traces], figure, {}, os.path.join(HERE, f"{name}.png"))


def flawed_pictures():
    names = [name for name, _, _ in PICTURES] + [f"{name}-{figure}" for name, _, _, pictures in MACHINES for figure, _, _ in pictures]
    paths = [os.path.join(HERE, f"{name}.png") for name in names]
    return [p for p in paths if not os.path.exists(p) or os.path.getsize(p) > MOST_BYTES]


def main(program, *check):
    stale = []
    os.environ["NPGPU"] = program = os.path.abspath(program)
    for name, title, trace, pictures in MACHINES:
        path = os.path.join(HERE, f"{name}.md")
        text = page(program, title, trace, pictures, name)
        if check:
            is_same = os.path.exists(path) and open(path, encoding="utf-8").read() == text
            stale += [] if is_same else [path]
            continue
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        for figure, how, _ in pictures:
            draw(os.path.join(TRACES, trace), figure, how, os.path.join(HERE, f"{name}-{figure}.png"))
    if not check:
        draw_pictures(program)
    if stale := stale + flawed_pictures():
        sys.exit(f"{', '.join(os.path.relpath(p, SOURCES) for p in stale)}: not what the program prints, or a picture that is not there or over "
                 f"{MOST_BYTES // 1000} kB: python3 docs/gallery/make.py build/default/npgpu")
    print(f"{len(MACHINES)} pages are {'what the program prints' if check else 'written'}")


if __name__ == "__main__":
    sys.path.insert(0, os.path.join(SOURCES, "plots"))
    if "--check" not in sys.argv:
        import matplotlib
        matplotlib.use("Agg")
    main(*sys.argv[1:])
