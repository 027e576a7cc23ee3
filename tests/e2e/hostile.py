"""Text that npgpu did not write (hosts, devices, UUIDs, processes, errors, references, Slurm's variables, files) holds
escapes, line ends, markup, formulas, bytes that are not UTF-8 and characters that turn the direction of text: whatever
is asked, and in whatever form, it stays text. With STRIDE=3 or more in the environment every third question of each text:
for a program that is slow. Together the texts are asked everything, four times."""
import csv
import html.parser
import io
import json
import os
import re
import shutil
import subprocess
import unicodedata
import xml.etree.ElementTree

from npgpu_run import PROGRAM, SOURCE, Checks, folder, needs, written

h5py = needs("h5py")
check = Checks()
STRIDE = min(3, int(os.environ.get("STRIDE", "1")))

TEXTS = [
    b"\x1b]0;evil\x07\x1b[2J\x1b[31mred\x1b[0m",
    b"node7\nINJECTED: ok, 8 GPUs",
    b"\rINJECTED\x08\x08\x7f\xc2\x9b31m",
    b"a|b|c <evil x=\"1\"> `c` *d* _e_ [f](javascript:g) </script> & '",
    b"=cmd|' /C calc'!A0",
    b"@SUM(1+1)*cmd",
    b"+1-1",
    b"-2+3",
    b"\t=1+1",
    b"\xff\xfe broken \xed\xa0\x80 \xc0\xaf",
    "\u202eesrever\u2066 \u2028INJECTED \ufeff\uffff".encode(),
    b'quote " comma , semicolon ; backslash \\ } 1',
]
WORDS = {"schema_name", "schema_version"}  # what no reader would take otherwise


def shown(data):
    return data[:3000].decode("utf-8", "backslashreplace")


def ask(*arguments, cwd, env=None):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NPGPU_") or k == "NPGPU_WAIT_QUIET"}
    environment.update(env or {})
    done = subprocess.run([PROGRAM.encode(), *(a if isinstance(a, bytes) else str(a).encode() for a in arguments)],
                          cwd=cwd, env=environment, timeout=300, stdin=subprocess.DEVNULL, capture_output=True)
    return done.returncode, done.stdout, done.stderr


def plain(data, what):
    """UTF-8 without a character that a terminal acts on, and without a line that foreign text began."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as e:
        check(False, f"{what}: no UTF-8: {e}")
        return ""
    bad = sorted({hex(ord(c)) for c in text if c != "\n" and (unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp"))})
    check(not bad, f"{what}: raw characters {bad}")
    check(not any(line.lstrip(" |").startswith("INJECTED") for line in text.split("\n")),
          f"{what}: a line that foreign text began: {text[:500]}")
    return text


def is_number(cell):
    try:
        float(cell)
    except ValueError:
        return cell in ("-", "+")
    return True


def as_csv(text, what):
    rows = list(csv.reader(io.StringIO(text)))
    check(len(rows) > 1 and len({len(row) for row in rows}) == 1, f"{what}: rows of {sorted({len(r) for r in rows})} cells")
    formulas = [cell for row in rows for cell in row if cell[:1] in ("=", "+", "-", "@", "\t", "\r") and not is_number(cell)]
    check(not formulas, f"{what}: formulas {formulas[:3]}")


def as_json(text, what):
    try:
        all_of_it = json.loads(text)
        json.dumps(all_of_it, ensure_ascii=False).encode("utf-8")  # no half of a pair
        check(True, what)
    except ValueError as e:
        check(False, f"{what}: {e}")


def as_html(text, what):
    class Tags(html.parser.HTMLParser):
        def __init__(self):
            super().__init__()
            self.seen, self.attributes = set(), set()

        def handle_starttag(self, tag, attributes):
            self.seen.add(tag)
            self.attributes |= {name for name, _ in attributes}

    tags = Tags()
    tags.feed(text)
    check("evil" not in tags.seen and "script" not in tags.seen and "x" not in tags.attributes - {"x"},
          f"{what}: {tags.seen}")
    check(("table" if what.startswith("report") else "main") in tags.seen and "<evil" not in text, f"{what}: foreign markup")


def as_xml(text, what):
    try:
        names = {element.tag for element in xml.etree.ElementTree.fromstring(text.encode()).iter()}
        check(names <= {"testsuites", "testsuite", "testcase", "failure", "error", "skipped", "system-out"}, f"{what}: {names}")
    except xml.etree.ElementTree.ParseError as e:
        check(False, f"{what}: {e}")


def as_markdown(text, what):
    check("<evil" not in text and "](javascript" not in text.replace("\\]", ""), f"{what}: markup")
    before = 0
    for line in text.split("\n"):
        cells = len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) if line.startswith("|") else 0
        check(not (cells and before) or cells == before, f"{what}: a row with other cells: {line}")
        before = cells


def as_metrics(text, what):
    label = r'[a-z_]+="(?:[^"\\\n]|\\["\\n])*"'
    line = re.compile(rf'^(?:#.*|npgpu_\w+(?:\{{{label}(?:,{label})*\}})? [-+.\deinfaNI]+)$')
    wrong = [one for one in text.split("\n") if one and not line.match(one)]
    check(not wrong and text.endswith("# EOF\n"), f"{what}: {wrong[:2]}")


def spoil(path, text, name_device=None):
    """Puts `text` into every free text of a trace."""
    with h5py.File(path, "r+") as file:
        def attributes(name, thing):
            for key, value in list(thing.attrs.items()):
                if not isinstance(value, str) or key in WORDS or key.startswith(("units.", "codes.")):
                    continue
                free = name.startswith("provenance") or name == "" or key in (
                    "device_name", "device_uuid", "binding", "error", "schedule", "limit_source")
                if name_device and value == "sim:h200" and not name.startswith("provenance"):
                    thing.attrs.create(key, text, dtype=h5py.string_dtype())
                elif free and not name_device:
                    thing.attrs.create(key, text, dtype=h5py.string_dtype())
        attributes("", file)
        file.visititems(attributes)
        for kind in ("transfers", "probes", "jobs", "calls"):
            for series in file.get(kind, {}).values() if kind in file else []:
                visits = series["visits"]
                rows = visits[:]
                rows["disturber"] = text[:32]
                rows["disturbed"] = 1 | 8
                visits[:] = rows


def text_of(text):
    """As a variable of the environment, whatever its bytes are."""
    return text.decode("utf-8", "surrogateescape")


def questions(path, other):
    """Arguments, and what their answer has to be."""
    out = "page.html"
    return [
        (["report", path], None), (["report", path, "--overview"], None), (["report", path, "--every-size"], None),
        (["report", path, "--markdown"], as_markdown), (["report", path, "--json"], as_json),
        (["report", path, "--overview", "--json"], as_json), (["report", path, "--html", out, "--force"], out),
        (["export", path, "--table", "transfers"], as_csv), (["export", path, "--table", "transfers", "--summary"], as_csv),
        (["export", path, "--table", "probes", "--summary"], as_csv), (["export", path, "--format", "json"], as_json),
        (["export", path, "--format", "npout", "--case", "transfers:0"], None), (["export", path, "--format", "npout"], None),
        (["check", "--trace", path], None), (["check", "--trace", path, "--all"], None),
        (["check", "--trace", path, "--quiet"], None), (["check", "--trace", path, "--exit-codes", "nagios"], None),
        (["check", "--trace", path, "--json"], as_json), (["check", "--trace", path, "--junit", "c.xml", "--quiet"], "c.xml"),
        (["check", "--trace", path, "--openmetrics", "c.prom", "--quiet"], "c.prom"),
        (["check", "--trace", path, "--reference", other], None), (["check", "--trace", other, "--reference", path], None),
        (["check", "--trace", path, "--expect", "gpus=2,name=H100,driver=1,link=gen5x16"], None),
        (["compare", path, other], None), (["compare", other, path, "--all", "--points"], None),
        (["compare", other, path, "--markdown", "--other-hardware", "--all"], as_markdown),
        (["compare", path, other, "--json", "--other-hardware"], as_json),
        (["fleet", path, other], None), (["fleet", path, other, "--all"], None), (["fleet", path, other, "--json"], as_json),
        (["fleet", path, other, "--csv", "-"], as_csv), (["fleet", path, other, "--html", out, "--force"], out),
        (["fleet", path, other, "--openmetrics", "f.prom"], "f.prom"),
        (["derive", path], None), (["derive", path, "--json"], as_json), (["derive", path, "--published"], None), (["derive", path, "--published", "--json"], as_json),
        (["roofline", path, "--counts", "mine=1T,1GB,1ms"], None), (["roofline", path, "--json"], as_json), (["predict", path, "--measured", path], None), (["predict", path, "--measured", other, "--json"], as_json),
        (["merge", "both.h5", path, other, "--force"], None), (["merge", "both.h5", path, other, "--force", "--json"], as_json),
        (["report", "both.h5"], None), (["merge", "bad.h5", path, path], None),
    ]


def judge(arguments, want, cwd, env=None, codes=(0, 1, 2, 3, 4, 5, 6, 7, 8, 77)):
    what = " ".join(shown(a if isinstance(a, bytes) else a.encode()) for a in arguments)
    for name in ("page.html", "c.xml", "c.prom", "f.prom"):
        if os.path.exists(os.path.join(cwd, name)):
            os.remove(os.path.join(cwd, name))
    code, out, err = ask(*arguments, cwd=cwd, env=env)
    check(code in codes, f"{what}: exit {code}: {shown(err)}")
    text = plain(out, what)
    plain(err, what + " (standard error)")
    if code in (1, 2) or want is None:
        return text
    if callable(want):
        want(text, what)
        return text
    path = os.path.join(cwd, want)
    check(os.path.exists(path), f"{what}: no {want}: {shown(err)}")
    if os.path.exists(path):
        with open(path, "rb") as f:
            content = plain(f.read(), f"{what}: {want}")
        {"html": as_html, "xml": as_xml, "prom": as_metrics}[want.rsplit(".", 1)[1]](content, what)
    return text


with folder() as where:
    at = lambda name: os.path.join(where, name)
    for name in ("good.h5", "base.h5"):
        code, out, err = ask("check", "--level", "1", "--device", "sim:h200", "--quiet", "--output", name, cwd=where)
        check(code == 0, f"{name}: {shown(err)}")

    for number, text in enumerate(TEXTS):
        shutil.copy(at("base.h5"), at("x.h5"))
        spoil(at("x.h5"), text)
        # All ways of one text, and for the others those that differ in what they escape.
        for arguments, want in questions("x.h5", "good.h5")[number % STRIDE::STRIDE]:
            judge(arguments, want, where)
        shutil.copy(at("base.h5"), at("y.h5"))
        spoil(at("y.h5"), text, name_device=True)
        for arguments, want in (questions("y.h5", "good.h5")[number::4 * STRIDE]):
            judge(arguments, want, where)

    # A file's name, on the command line and found in a folder.
    for name in (b"\x1b[31mred\nINJECTED.h5", b"=cmd.h5", "\u202e5h.evil.h5".encode(), b"\xff.h5"):
        os.makedirs(at("traces"), exist_ok=True)
        shutil.copy(at("good.h5"), os.path.join(os.fsencode(at("traces")), name))
        shutil.copy(at("good.h5"), os.path.join(os.fsencode(where), name))
        with open(os.path.join(os.fsencode(at("traces")), b"bad-" + name), "wb") as f:
            f.write(b"no trace")
        for arguments in (["report", name], ["check", "--trace", name], ["check", "--trace", name, "--json"],
                          ["compare", name, "good.h5"], ["compare", name, "good.h5", "--markdown"], ["merge", "m.h5", name, "--force"],
                          ["report", b"no" + name], ["fleet", "traces"], ["fleet", "traces", "--json"], ["check", "--reference", name],
                          ["check", "--trace", "good.h5", "--reference", name], ["predict", name], ["transfer", "--device", b"sim:" + name],
                          ["report", "good.h5", "--case", name], [name], ["report", b"--" + name], ["report", "--config", name]):
            judge(arguments, None, where)
        shutil.rmtree(at("traces"))

    # Devices that a spec names, what a scheduler says of the job, and other programs' files.
    for text in TEXTS:
        word = text.decode("utf-8", "replace").replace("\0", "")
        written(at("spec.json"), {"like": os.path.join(SOURCE, "data", "devices", "h200.json"), "name": word})
        environment = {"SLURM_JOB_ID": "12", "SLURM_JOB_NAME": text_of(text), "SLURM_PROCID": "0", "SLURMD_NODENAME": text_of(text)}
        for arguments in (["info", "--device", "sim:spec.json"], ["info", "--device", "sim:spec.json", "--json"],
                          ["transfer", "--device", "sim:spec.json", "--sizes", "8", "--schedule", "classic", "--repeats", "2",
                           "--trials", "2", "--output", "s.h5", "--force"]):
            judge(arguments, None, where, env=environment)
        judge(["report", "s.h5"], None, where)
        judge(["report", "s.h5", "--html", "page.html", "--force"], "page.html", where)
        with open(at("nccl.json"), "w") as f:
            json.dump({"nccl_version": 1, "config": {"ngpus": 1, "nthreads": 1, "devices": [{"device_info": word}]},
                       "results": [{"size": 8, "out_of_place": {"alg_bw": 5}}]}, f)
        judge(["check", "--trace", "good.h5", "--reference", "nccl.json"], None, where, codes=(2,))
        judge(["transfer", "--device", word, "--sizes", word], None, where, codes=(2,))

    # Figures that no device has are refused, and the file is named.
    def refused(content, *words):
        written(at("ref.json"), content)
        code, out, err = ask("check", "--trace", "good.h5", "--reference", "ref.json", cwd=where)
        check(code == 2 and b"ref.json" in err and all(word.encode() in err for word in words), f"{content}: {code} {shown(err)}")
        plain(err, f"the reference {content}")

    def cells(*matrix):
        return {"nvbandwidth": {"testcases": [{"name": "host_to_device_memcpy_ce", "status": "Passed", "bandwidth_matrix": [*matrix]}]}}

    for cell in ("1e308", "1e12", "inf", "nan", "-1", "0", "1e400", "5 GB/s", -1, 0):
        why = "which nothing has" if cell in ("1e308", "1e12") else "which is no bandwidth" if cell == "inf" else ""
        refused(cells(["55"], [cell]), why or "host_to_device_memcpy_ce")
        refused(cells([cell]), why)
    refused(cells(["1e308", "inf", "nan"], ["-1"]))
    for value in (0, -1, 1e300):
        refused({"findings": [{"device": "sim:h200", "metric": "h2d_rate", "value": value, "unit": "B/s"}], "gpus": []}, "h2d_rate")
    refused({"nccl_version": 1, "config": {"ngpus": 1, "nthreads": 1, "devices": []},
             "results": [{"size": 8, "out_of_place": {"alg_bw": 1e300}}]}, "d2d_rate")
    refused({"nccl_version": 1, "config": {"ngpus": 1, "nthreads": 1, "devices": [{"device_info": "\x1b[31mX\0Y"}]},
             "results": [{"size": 8, "out_of_place": {"alg_bw": 5}}, 7, None, [1]]}, "\\x1b[31mX\\x00Y")

check.finish()
