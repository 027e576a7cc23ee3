"""The overview of real and simulated traces, as screen, Markdown, JSON and page: all four say the same, the screen keeps
to its width and its length, and the page is sound, needs nothing but itself, and runs no code of a trace. Where Chromium
is installed it shows the page at 360 and 1920 pixels, and prints it."""
import html
import html.parser
import json
import os
import re
import shutil
import subprocess

from npgpu_run import SOURCE, Checks, folder, run

check = Checks()
VOID = {"meta", "br", "hr", "img", "input", "link"}
TRACES = [os.path.join(SOURCE, "data", "traces", name) for name in ("h200.h5", "h200_rounds.h5", "host.h5")]


class Page(html.parser.HTMLParser):
    """Every element with its attributes and text; complains where elements do not nest."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.stack, self.elements, self.faults = [], [], []
        self.feed(text)
        self.close()
        if self.stack:
            self.faults.append(f"not closed: {[e['tag'] for e in self.stack]}")

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        if len(set(names)) != len(names):
            self.faults.append(f"{tag} has an attribute twice")
        element = {"tag": tag, "is": dict(attributes), "text": "", "within": [e["tag"] for e in self.stack], "children": []}
        if self.stack:
            self.stack[-1]["children"].append(element)
        self.elements.append(element)
        if tag not in VOID:
            self.stack.append(element)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.stack.pop()

    def handle_endtag(self, tag):
        if not self.stack or self.stack[-1]["tag"] != tag:
            self.faults.append(f"</{tag}> at {self.getpos()} closes {self.stack[-1]['tag'] if self.stack else 'nothing'}")
            return
        self.stack.pop()

    def handle_data(self, data):
        for element in self.stack:
            element["text"] += data

    def all(self, *tags):
        return [e for e in self.elements if e["tag"] in tags]


def check_page(text, what):
    page = Page(text)
    check(not page.faults, f"{what}: elements nest: {page.faults[:3]}")
    check(len(text.encode()) < 2e6, f"{what}: {len(text.encode())} bytes")
    tags = {e["tag"] for e in page.elements}
    check(not tags & {"script", "iframe", "object", "embed", "link", "img", "form", "base"}, f"{what}: elements {tags}")
    for element in page.elements:
        for name, value in element["is"].items():
            value = value or ""
            check(not name.startswith("on"), f"{what}: {element['tag']} has {name}")
            if name in ("src", "href", "action", "srcset", "poster", "xlink:href"):
                check(value.startswith("#"), f"{what}: {element['tag']} leads to {value}")
            check("url(" not in value and "javascript:" not in value.lower(), f"{what}: {name}={value}")
    style = "".join(e["text"] for e in page.all("style"))
    check("url(" not in style and "@import" not in style, f"{what}: the style loads nothing")
    policies = [e["is"].get("content", "") for e in page.all("meta") if e["is"].get("http-equiv") == "Content-Security-Policy"]
    check(policies and "default-src 'none'" in policies[0], f"{what}: a policy forbids requests")
    ids = [e["is"]["id"] for e in page.elements if "id" in e["is"]]
    check(len(set(ids)) == len(ids), f"{what}: ids are unique")
    for element in page.all("a"):
        check(element["is"]["href"][1:] in ids, f"{what}: link to {element['is']['href']}")
    by_id = {e["is"]["id"]: e for e in page.elements if "id" in e["is"]}
    labelled = 0
    for svg in page.all("svg"):
        if svg["is"].get("aria-hidden") == "true":
            continue
        names = [svg["is"].get(name, "") for name in ("aria-labelledby", "aria-describedby")]
        labelled += 1
        check(svg["is"].get("role") == "img" and [by_id[n]["tag"] for n in names if n in by_id] == ["title", "desc"]
              and all(by_id[n]["text"].strip() for n in names), f"{what}: a drawing has title and description: {names}")
    for table in page.all("table"):
        heads = [e for e in table["children"] if e["tag"] == "caption"]
        check(len(heads) == 1 and heads[0]["text"].strip(), f"{what}: a table has a caption")
    for head in page.all("th"):
        check(head["is"].get("scope") in ("col", "row") and head["text"].strip(), f"{what}: a header has scope and text")
    for element in page.elements:
        for name in (element["is"].get("aria-labelledby", "") + " " + element["is"].get("aria-describedby", "")).split():
            check(name in by_id, f"{what}: labelled by {name}")
    levels = [int(e["tag"][1]) for e in page.all("h1", "h2", "h3", "h4")]
    check(levels[0] == 1 and levels.count(1) == 1, f"{what}: one first heading")
    check(all(b <= a + 1 for a, b in zip(levels, levels[1:])), f"{what}: headings skip no level: {levels}")
    check([len(page.all(tag)) for tag in ("main", "header", "nav", "footer")] == [1, 1, 1, 1], f"{what}: landmarks")
    check(page.all("html")[0]["is"].get("lang") == "en", f"{what}: its language is said")
    return page, labelled


def in_page(page):
    return re.sub(r"\s+", " ", page.all("body")[0]["text"])


def digits(value, significant=3):
    """As the program rounds: plain decimal with so many significant digits."""
    exponent = int(f"{value:.{significant - 1}e}".split("e")[1])
    return f"{value:.{max(0, significant - 1 - exponent)}f}"


def check_agreement(trace, what, page):
    """The figures of the JSON stand in text, Markdown and page, and are those of the full report and of derive."""
    overview = json.loads(run("report", trace, "--overview", "--json").out)
    check(overview["document"] == "npgpu-overview" and overview["version"] == 3, f"{what}: {overview['document']} {overview['version']}")
    screen = run("report", trace, "--overview", env={"COLUMNS": "160"}).out
    markdown = run("report", trace, "--markdown").out
    shown = in_page(page)
    report = json.loads(run("report", trace, "--json").out)
    devices = [d for d in overview["devices"] if d["id"] != "host"] or overview["devices"]
    figures = 0
    for device in devices:
        for copies in device["copies"]:
            series = next(s for s in report["transfers"] if s["title"] == copies["title"])
            points = (series["together"] or series["lanes"][0])["points"]
            full = {p["bytes"]: (p["time_us"], p["rate_bytes_per_s"], p["percent_of_limit"], p["stop"]) for p in points}
            short = {p["bytes"]: (p["time_us"], p["rate_bytes_per_s"], p["percent_of_limit"], p["stop"]) for p in copies["sizes"]}
            check(max(full) in short and all(full[size] == values for size, values in short.items()),
                  f"{what}: {copies['title']} as the report has it")
            if not copies["usual"]:
                continue
            figures += 1
            rate = digits(copies["sizes"][-1]["rate_bytes_per_s"]["value"] * 1e-9)
            for form, text in (("screen", screen), ("Markdown", markdown)):
                line = next((l for l in text.splitlines() if copies["name"] in l), "")
                check(re.search(rf"(?<![\d.]){re.escape(rate)}[*d!]*(?!\d)", line), f"{what}: {form}: {rate} of {copies['name']}: {line}")
            check(rate in shown, f"{what}: page: {rate} of {copies['name']}")
        for figure in device["bandwidth"]:
            number = digits(figure["value"] * 1e-9)
            for form, text in (("screen", screen), ("Markdown", markdown), ("page", shown)):
                check(f"{figure['name']} {number}" in text, f"{what}: {form}: {figure['name']} {number}")
                figures += 1
        derived = {d["device"]: {p["name"]: p for p in d["parameters"]} for d in report["derived"]}.get(device["id"], {})
        for figure in device["compute"]:
            suffix = "" if figure["name"] == "fp32" else " " + figure["name"]
            check(derived["P" + suffix]["estimate"]["value"] == figure["value"], f"{what}: {figure['name']} as derive has it")
            part = derived.get(f"P{suffix} reached", derived.get(f"P reached{suffix}", {"estimate": {"value": None}}))["estimate"]["value"]
            if part and figure["percent_at_clock"]:
                check(abs(part * (100 if part < 2 else 1) - figure["percent_at_clock"]) < 0.01, f"{what}: {part} {figure['percent_at_clock']}")
        for level in device["levels"]:
            if level["latency_ns"]:
                check(derived[level["name"] + " latency"]["estimate"]["value"] == level["latency_ns"]["value"], f"{what}: {level['name']}")
        for advice in device["advice"][:1]:
            asked = run("predict", trace, "--bytes-in", advice["in_bytes"], "--bytes-out", advice["out_bytes"], "--kernel-ms",
                        advice["kernel_us"] / 1e3, "--json", *(["--device", device["id"]] if len(devices) > 1 else []))
            predicted = json.loads(asked.out)["best"]
            check((predicted["streams"], predicted["time_us"]) == (advice["best_streams"], advice["best_us"]["value"]),
                  f"{what}: advice as predict gives it: {predicted} {advice}")
    check(figures > 0, f"{what}: figures were compared")
    return screen, overview


# Of traces of each kind what a reader of it looks for.
MAIN_RESULTS = {
    "h100x2_collectives.h5": ("all-reduce, fp32", "bus GB/s", "324.9", "half from"),
    "h100x2_soak.h5": ("883.2 TFLOP/s", "peer to cuda:1, together", "begin, end: medians"),
    "h200_energy.h5": ("pJ each", "838.2 TFLOP/s", "d: disturbed: the device held its clocks back"),
    "h200_pieces.h5": ("next takes times", "fastest by number of pieces", "134 (67.7..266)"),
    "h200_partition.h5": ("unknowns", "tridiagonal partition method, fp32", "2.5e+07"),
    "h200_gemm.h5": ("95 % interval", "gemm cuda:0"),
    "h200_migration.h5": ("95 % interval", "migration cuda:0"),
    "h200_words.h5": ("142.4", "flag async gated"),
    "h100_frees.h5": ("pool-trim",),
}


def check_widths(trace, what, most_lines):
    of = {columns: run("report", trace, "--overview", env={"COLUMNS": str(columns)}).out for columns in (60, 80, 100, 120)}
    for columns, told in of.items():
        # A command is never broken: it is there to be copied.
        wide = [l for l in told.splitlines() if len(l) > columns and "  npgpu " not in l]
        check(not wide, f"{what}: at {columns} columns: {wide[:2]}")
    told = run("report", trace, "--overview").out
    check("\x1b" not in told, f"{what}: no colours in a pipe")
    check(told == of[100], f"{what}: a pipe has 100 columns")
    lines = told.count("\n")
    check(lines <= most_lines, f"{what}: {lines} lines at 100 columns")


def simulated(where):
    trace = os.path.join(where, "simulated.h5")
    made = run("characterize", "--device", "sim:h200", "--quick", "--output", trace, "--rounds", "1")
    check(made.code == 0, made.err[-300:])
    check("SIMULATED" in made.out.splitlines()[0], f"the screen says first what it is: {made.out[:100]}")
    for line in ("HEALTH", "of sim:h200", "QUALITY", "NEXT"):
        check(re.search(rf"^{line}\b", made.out, re.M), f"characterize ends with {line}")
    check(made.out.count("\n") <= 31, f"characterize ends with {made.out.count(chr(10))} lines")
    return trace


def hostile(where):
    """A trace whose texts are markup, code and escape sequences."""
    import h5py
    trace = os.path.join(where, "hostile.h5")
    shutil.copy(TRACES[0], trace)
    evil = "</style></title><script>alert(1)</script><img src=x onerror=alert(1)> \x1b]0;t\x07 \" onload='x' & | `x`"
    with h5py.File(trace, "r+") as f:
        for name in ("hostname", "argv", "tool_version", "run_uuid", "start_time_utc"):
            f.attrs[name] = evil
        for group in ("host", "gpu0"):
            for name in ("cpu_model", "name", "kernel", "driver_version", "link_source", "pci_bus_id"):
                if name in f["provenance"][group].attrs:
                    f["provenance"][group].attrs[name] = evil
        for series in f["transfers"].values():
            series.attrs["device_name"] = evil
            series.attrs["limit_source"] = evil
            series.attrs["error"] = evil
        f["provenance/plan"].attrs["left_out_1"] = evil
    return trace


# ---- in a browser, where there is one --------------------------------------------------------------------------------

# Pages one after the other, each in a frame of its width.
PROBE = """<!DOCTYPE html><title>probe</title><body style="margin:0"><pre id="out"></pre><script>
const pages = PAGES, results = [];
const number = text => { const m = text.match(/rgba?\\(([^)]+)\\)/); return m ? m[1].split(/[ ,\\/]+/).map(Number) : [0, 0, 0, 0]; };
const light = c => { const f = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
                     return 0.2126 * f(c[0]) + 0.7152 * f(c[1]) + 0.0722 * f(c[2]); };
const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
function show() {
 if (results.length == pages.length) {
  document.getElementById("out").textContent = "RESULT" + JSON.stringify(results) + "END";
  return;
 }
 const begin = performance.now(), frame = document.createElement("iframe"), [source, width] = pages[results.length];
 frame.style = `border:0;width:${width}px;height:9000px`;
 frame.onload = () => {
  const loaded = performance.now() - begin, page = frame.contentDocument, view = frame.contentWindow, found = {};
  const ground = e => { for (; e; e = e.parentElement) { const c = number(view.getComputedStyle(e).backgroundColor);
                                                         if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  let worst = 99, where = "", smallest = 99, cut = [];
  for (const e of page.querySelectorAll("body *")) {
    const own = [...e.childNodes].some(n => n.nodeType == 3 && n.data.trim());
    const style = view.getComputedStyle(e);
    if (!own || e.closest("title,desc") || style.display == "none" || e.classList.contains("skip")) continue;
    const ink = number(e instanceof view.SVGElement ? style.fill : style.color), ratio = contrast(ink, ground(e));
    if (ratio < worst) { worst = ratio; where = e.tagName + "." + e.className + ": " + e.textContent.slice(0, 40); }
    const box = e.getBoundingClientRect();
    if (e instanceof view.SVGElement) {
      smallest = Math.min(smallest, parseFloat(style.fontSize) * e.ownerSVGElement.getBoundingClientRect().width / 480);
      const svg = e.ownerSVGElement.getBoundingClientRect();
      if (box.left < svg.left - 2 || box.right > svg.right + 2) cut.push(e.textContent);
    }
  }
  const root = page.documentElement;
  results.push({loaded, worst, where, smallest, cut,
      page_width: root.scrollWidth, view_width: root.clientWidth, dark: view.matchMedia("(prefers-color-scheme:dark)").matches,
      requests: view.performance.getEntriesByType("resource").map(r => r.name)});
  frame.remove();
  show();
 };
 frame.src = source;
 document.body.append(frame);
}
show();
</script>"""


# What Chromium asks for itself when it starts.
OWN = re.compile(r"https?://((clients\d*|accounts|android\.clients|www)\.google\.com|(update|optimizationguide-pa|"
                 r"content-autofill|safebrowsing)\.googleapis\.com|\w+(\.\w+)?\.gvt1\.com|127\.0\.0\.1|localhost)[:/]")


def shown(browser, pages, where, dark=False):
    """What a browser says of each of `pages`, (file, width), and the addresses outside of this machine that it asked for."""
    probe, log = os.path.join(where, "probe.html"), os.path.join(where, "net.json")
    open(probe, "w").write(PROBE.replace("PAGES", json.dumps([("file://" + page, width) for page, width in pages])))
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--dump-dom",
               "--virtual-time-budget=60000", "--window-size=1920,9000", f"--log-net-log={log}",
               f"--user-data-dir={os.path.join(where, 'profile')}", "--disable-background-networking",
               "--disable-component-update", "--no-first-run", *(["--force-dark-mode"] if dark else []), "file://" + probe]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    found = re.search(r"RESULT(\[.*?\])END", done.stdout, re.S)
    asked = set(re.findall(r'"url":"(https?://[^"]+)"', open(log, errors="replace").read()))
    return json.loads(html.unescape(found.group(1))) if found else [], {u for u in asked if not OWN.match(u)}, done.stderr


def in_browser(browser, pages, where):
    """All pages, {name: file}, in two starts of the browser, as these take longest."""
    for dark, widths in ((False, (360, 1920)), (True, (1920,))):
        wanted = [(name, width) for name in pages for width in widths]
        results, asked, err = shown(browser, [(pages[name], width) for name, width in wanted], where, dark)
        check(len(results) == len(wanted), f"the browser says {err[-300:]}")
        check(not asked, f"requests {sorted(asked)[:3]}")
        for (name, width), said in zip(wanted, results):
            what = f"{name} at {width} pixels{', dark' if dark else ''}"
            print(what, {k: said[k] for k in ("loaded", "worst", "where", "smallest", "page_width", "dark")})
            check(said["loaded"] < 2000, f"{what}: shown after {said['loaded']:.0f} ms")
            check(said["page_width"] <= said["view_width"], f"{what}: no scrolling sideways: {said['page_width']}")
            check(said["worst"] >= 4.5, f"{what}: contrast {said['worst']:.2f} of {said['where']}")
            check(said["smallest"] >= 10, f"{what}: text in figures has {said['smallest']:.1f} px")
            check(not said["cut"], f"{what}: text reaches out of its figure: {said['cut'][:3]}")
            check(not said["requests"], f"{what}: requests {said['requests']}")
            check(not dark or said["dark"], f"{what}: dark was asked for")


def on_paper(browser, page, where, name):
    pdf = os.path.join(where, "page.pdf")
    subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", f"--print-to-pdf={pdf}",
                    f"--user-data-dir={os.path.join(where, 'profile')}", "file://" + page], capture_output=True, timeout=120)
    pages = len(re.findall(rb"/Type /Page\b", open(pdf, "rb").read()))
    check(1 <= pages <= 4, f"{name} prints on {pages} pages")


def sees_faults(browser, where):
    """A page that asks for something, is too wide and too pale is found out: else the checks above would prove nothing."""
    page = os.path.join(where, "faulty.html")
    open(page, "w").write('<!DOCTYPE html><body><p style="color:#bbb;width:900px">pale</p><img src="http://npgpu.invalid/x.png">')
    results, asked, _ = shown(browser, [(page, 360)], where)
    said = results[0] if results else None
    check(said and said["requests"] and any("npgpu.invalid" in u for u in asked), f"a request is seen: {said} {asked}")
    check(said and said["page_width"] > said["view_width"] and said["worst"] < 3, f"width and contrast are seen: {said}")


with folder() as where:
    traces = [*TRACES, simulated(where)]
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    page_files = {}  # to be shown
    for trace in traces:
        name = os.path.basename(trace)
        page_file = os.path.join(where, name + ".html")
        made = run("report", trace, "--html", page_file)
        check(made.code == 0 and made.out == "", f"{name}: a page is written, and nothing else: {made.err}")
        page, drawings = check_page(open(page_file, encoding="utf-8").read(), name)
        check(drawings >= 2, f"{name}: {drawings} drawings")
        screen, overview = check_agreement(trace, name, page)
        check_widths(trace, name, 45)
        argv = overview["run"]["argv"]
        check(argv in in_page(page), f"{name}: the command to repeat")
        for missing in overview["not_measured"]:
            check(re.sub(r"\s+", " ", missing) in in_page(page), f"{name}: not measured: {missing}")
        page_files[name] = page_file
        if browser:
            on_paper(browser, page_file, where, name)

    # The picture of a node: its GPUs with the rates on their links, and what is wrong marked where it is.
    def picture(trace):
        name = os.path.basename(trace)
        page_file = os.path.join(where, name + ".html")
        if name not in page_files:
            check(run("report", trace, "--html", page_file).code == 0, f"a page of {trace}")
        page_files[name] = page_file
        page, _ = check_page(open(page_file, encoding="utf-8").read(), trace)
        drawn = [e for e in page.all("figure") if e["is"].get("class") == "node"]
        return [(e["text"], e["is"].get("class", "")) for f in drawn for e in page.all("text") if "figure" in e["within"]
                and f["text"].find(e["text"]) >= 0]

    pair = [text for text, _ in picture(os.path.join(SOURCE, "data", "traces", "h200x2_matrix.h5"))]
    for text in ("cuda:0", "cuda:1", "→ 55.3 GB/s", "← 55.1 GB/s", "→ 394 GB/s", "NVIDIA H200"):
        check(text in pair, f"the picture of two H200s has {text}: {pair}")
    sick = os.path.join(where, "sick.h5")
    run("matrix", "--device", "sim:node8-sick", "--output", sick)
    marked = [text for text, classes in picture(sick) if "bad" in classes]
    for text in ("→ 24.7 GB/s, slow", "to 2: 19.9 GB/s", "to 1: 19.9 GB/s", "slow to 7 GPUs"):
        check(text in marked, f"marked in the picture of a sick node: {text}: {marked}")
    check(len(marked) == 8, f"and nothing else: {marked}")
    check(picture(os.path.join(SOURCE, "data", "traces", "host.h5")) == [], "no picture without a GPU")

    if browser:
        in_browser(browser, page_files, where)
        sees_faults(browser, where)
    else:
        print("skipped: the page in a browser: no chromium is installed")

    # Collectives are of all GPUs: the page has no table of one of them, with dashes alone.
    together = os.path.join(where, "together.html")
    run("report", os.path.join(SOURCE, "data", "traces", "h100x2_collectives.h5"), "--html", together)
    check("GPU by GPU" not in open(together, encoding="utf-8").read(), "no table of GPUs without a figure")

    told = run("report", os.path.join(SOURCE, "data", "traces", "h100x2_collectives.h5")).out
    check(told.lstrip().startswith("collectives of 2 GPUs") and "operation all-to-all" in told, "a report of collectives is their tables")

    # What a trace is about stands on its page and in its Markdown, before how the GPUs' clocks went and every check.
    for name, wanted in MAIN_RESULTS.items():
        trace, about = os.path.join(SOURCE, "data", "traces", name), os.path.join(where, "about.html")
        check(run("report", trace, "--html", about, "--force").code == 0, f"a page of {name}")
        html = open(about, encoding="utf-8").read()
        markdown, end = run("report", trace, "--markdown").out, html.index('id="checks-h"')
        end = min(end, html.find('id="clocks-h"') if 'id="clocks-h"' in html else end)
        for text in wanted:
            check(text in html[:end], f"{name}: its page has {text}")
            check(text in markdown.replace("\\", ""), f"{name}: its Markdown has {text}")
        check("energy" not in name or "power not read" not in html, f"{name}: what its visits read of power is judged")
        check(not re.search(r"<t[hd][^>]*>[^<]*more lane", html), f"{name}: what several copy at once is no copy of one")

    kept = os.path.join(where, "kept.html")
    open(kept, "w").write("mine")
    refused = run("report", traces[0], "--html", kept)
    check(refused.code == 2 and open(kept).read() == "mine" and "--force" in refused.err, "a page that is there stays")
    check(run("report", traces[0], "--html", kept, "--force").code == 0 and "<!DOCTYPE" in open(kept).read(), "unless forced")
    lost = run("report", traces[0], "--html", os.path.join(where, "nowhere", "x.html"))
    check(lost.code == 2 and "does not exist" in lost.err and "--html" in lost.err, f"a folder that is not there: {lost.code} {lost.err}")
    check(sorted(n for n in os.listdir(where) if "tmp" in n) == [], "no temporary file stays")
    check(run("report", traces[0], "--markdown", "--json").code == 2, "two forms at once")
    one = run("report", traces[0], "--overview", "--case", "transfers:0").out
    check("shown are 1 of 19 series" in one, "a selection says so")

    try:
        evil = hostile(where)
    except ImportError:
        print("skipped: hostile texts: no h5py")
    else:
        page_file = os.path.join(where, "hostile.html")
        check(run("report", evil, "--html", page_file).code == 0, "a page of a hostile trace")
        page, _ = check_page(open(page_file, encoding="utf-8").read(), "hostile")
        check("<script>alert(1)</script>" in in_page(page), "its texts are shown as texts")
        for form in ("--overview", "--markdown"):
            told = run("report", evil, form).out
            check("\x1b" not in told and "\x07" not in told, f"{form}: no escape sequences")
        check("<script" not in run("report", evil, "--markdown").out, "Markdown holds no markup of a trace")
check.finish()
