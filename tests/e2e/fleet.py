"""npgpu fleet on traces with planted outliers, broken files, and folders in which somebody put more than traces.

    fleet.py PROGRAM
"""
import csv
import functools
import glob
import html.parser
import io
import json
import os
import shutil
import subprocess
import sys

from npgpu_run import PROGRAM, SOURCE, Checks, folder, needs, run

_, numpy = needs("h5py", "numpy")
sys.path.insert(0, os.path.join(SOURCE, "tests/bench"))
import fleet  # noqa: E402

check = Checks()
FOUND, DONE, USAGE, NOTHING = 3, 0, 2, 77
TRACES, OUTLIERS = 300, 10


def asked(*arguments, code=FOUND):
    done = run("fleet", *arguments)
    check(done.code == code, f"fleet {arguments}: {done.code} {done.err[-300:]}")
    return done


def report_of(*arguments, code=FOUND):
    return json.loads(asked(*arguments, "--json", code=code).out)


def traces_below(at):
    return sorted(os.path.join(where, name) for where, _, names in os.walk(at) for name in names
                  if name.endswith(".h5"))


def outliers(at):
    """All are found, with their causes, and nothing else; the same bytes come out whatever went in first."""
    planted = fleet.make(at, TRACES, OUTLIERS, 3)
    first = asked(at, "--json")
    hits, missed, false, other = fleet.judge(json.loads(first.out), planted)
    check(len(hits) == OUTLIERS and not missed, f"missed {missed}")
    check(not false, f"found wrongly {false}")
    check(not other, f"other causes {other}")
    check(not first.err, first.err)
    check(all(name.endswith(".h5") for _, _, names in os.walk(at) for name in names), "fleet leaves files behind")
    shuffled = traces_below(at)
    numpy.random.default_rng(5).shuffle(shuffled)
    check(asked(*shuffled, "--json").out == first.out, "another order gives another answer")

    report = json.loads(first.out)
    groups = {group["driver"]: group for group in report["groups"]}
    check([group["gpus"] for group in report["groups"]] == sorted((g["gpus"] for g in report["groups"]), reverse=True) and
          sum(group["gpus"] for group in report["groups"]) == TRACES, "groups are in order of size")
    small = groups[fleet.DRIVERS[2]]
    check(not small["judged"] and "fewer than 5 are not compared with each other" in small["notes"][0] and
          "npgpu compare" in small["notes"][0], small["notes"])
    check("driver: " + fleet.DRIVERS[2] in small["notes"][1], small["notes"])
    found = fleet.suspects_of(report)
    sure = {uuid for uuid, kind in planted.items() if kind in ("link", "clock", "multiprocessors")}
    check({uuid for uuid, one in found.items() if one["confirmed"]} == sure, "who is confirmed")
    check(report["confirmed"] == len(sure), report["confirmed"])
    hosts = sorted({found[uuid]["host"] for uuid in sure})
    check(report["exclude"] == hosts, report["exclude"])
    return planted, hosts


def forms(at, hosts):
    """Text fits the terminal; csv, metrics and page are what others read."""
    for width in (80, 100):
        text = run("fleet", at, env={"COLUMNS": str(width)}).out.splitlines()
        check(text[-1] == "--exclude=" + ",".join(hosts), text[-1])
        check(text[-2] == f"{OUTLIERS} suspects of {TRACES} GPUs: 8 broken or slow, 2 to be looked at; 3 not compared", text[-2])
        check(all(len(line) <= width for line in text[:-1]), [line for line in text[:-1] if len(line) > width])
        check(any("why: the PCIe link is trained with fewer lanes than GPU and slot have" in line for line in text), "no cause")
    rows = list(csv.DictReader(io.StringIO(asked(at, "--csv", "-").out)))
    check(len({row["device_uuid"] for row in rows}) == TRACES and
          len({row["device_uuid"] for row in rows if row["suspect"] == "1"}) == OUTLIERS, "rows of csv")
    table = os.path.join(at, "fleet.csv")
    asked(at, "--csv", table)
    check(list(csv.DictReader(open(table))) == rows, "--csv FILE writes it")
    asked(at, "--csv", table, code=USAGE)  # it is there
    os.remove(table)
    slow = [row for row in rows if row["share"] and float(row["share"]) > 0.5]
    check(slow and all(row["title"] in ("host to GPU, pinned", "GPU to host, pinned", "copy within the GPU") and float(row["z"]) > 5 for row in slow), slow[:1])

    page, metrics = os.path.join(at, "fleet.html"), os.path.join(at, "fleet.prom")
    asked(at, "--html", page, "--openmetrics", metrics)
    asked(at, "--html", page, code=USAGE)  # it is there
    check(asked(at, "--html", page, "--force").out == asked(at).out, "the page changes the text")
    with open(metrics, encoding="utf-8") as file:
        lines = file.read().splitlines()
    check(lines[-1] == "# EOF", lines[-1])
    check(sum(line.startswith("npgpu_fleet_suspect{") for line in lines) == OUTLIERS,
          [line for line in lines if line.startswith("npgpu_fleet_suspect{")])
    with open(page, encoding="utf-8") as file:
        whole = file.read()
    parsed = Page(whole)
    check(not parsed.open and "script" not in parsed.seen, f"elements left open: {parsed.open}")
    check(parsed.seen.count("figure") > 15 and all(host in whole for host in hosts), "figures and hosts of the page")
    for name in (page, metrics):
        os.remove(name)


class Page(html.parser.HTMLParser):
    VOID = {"meta", "path", "br"}

    def __init__(self, text):
        super().__init__()
        self.open, self.seen = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            check(self.open and self.open.pop() == tag, f"</{tag}> closes another element")


def changed(at, planted):
    """A trace that is another one now is judged as it is now; some files of a folder can be named."""
    slow = next(uuid for uuid, kind in planted.items() if kind == "clock")  # whose file has the size of a good one
    changed = next(name for name in traces_below(at) if slow.encode() in open(name, "rb").read())
    number = int(slow[4:12], 16) - 1
    driver = next(one for one in fleet.DRIVERS if one.encode() in open(changed, "rb").read())
    with open(changed, "wb") as out:
        out.write(fleet.Images()[None].trace(number, driver, None, 3))
    check(slow not in fleet.suspects_of(report_of(at)), "a trace that changed is judged as it was")
    some = [name for name in traces_below(at)[:40] if name != changed]
    done = run("fleet", *some, "--json")
    check(json.loads(done.out)["files"] == len(some), done.out[:200])


def strange(at):
    """Whatever else somebody put into the folder: it is listed where it is called *.h5, and nothing is followed, waited
    for, written or ended by it."""
    images = fleet.Images()
    for number in range(6):
        with open(os.path.join(at, f"{number}.h5"), "wb") as out:
            out.write(images[None].trace(number, fleet.DRIVERS[0], None, 1))
    good = report_of(at, code=DONE)
    path = functools.partial(os.path.join, at)
    os.symlink("loop.h5", path("loop.h5"))
    os.symlink("loop", path("loop"))
    os.symlink(at, path("circle"))
    os.symlink("nowhere", path("dangling.h5"))
    os.symlink("/dev/zero", path("zero.h5"))
    os.symlink("/proc/self/mem", path("memory.h5"))
    os.mkfifo(path("pipe.h5"))
    os.mkdir(path("folder.h5"))
    with open(path("sparse.h5"), "wb") as out:
        out.truncate(7 << 40)
    with open(path("half.h5"), "wb") as out:
        out.truncate(3 << 30)
    closed = path("closed")
    os.mkdir(closed, 0)
    # What older versions kept: a pipe, a link or a bomb under that name is nobody's business.
    os.mkfifo(path("npgpu-fleet.index"))
    done = run("fleet", at, "--json", timeout=60)
    check(done.code == DONE, f"{done.code} {done.err}")
    found = json.loads(done.out)
    check(found["groups"] == good["groups"], "strange files change what is found")
    whys = {os.path.basename(one["path"]): one["why"] for one in found["unreadable"]}
    expected = {"loop.h5", "dangling.h5", "zero.h5", "memory.h5", "pipe.h5", "sparse.h5", "half.h5"}
    check(set(whys) - {"closed"} == expected, whys)
    check("closed" in whys or os.geteuid() == 0, whys)
    check(whys["pipe.h5"] == whys["zero.h5"] == "is not a plain file", whys)
    check("too many for a trace" in whys["sparse.h5"] and whys["half.h5"] == "is not an HDF5 file", whys)
    names = [path(name) for name in os.listdir(at)]
    named = run("fleet", *names, "--json", timeout=60)
    check(named.code == DONE and json.loads(named.out)["groups"] == good["groups"], f"{named.code} {named.err}")
    for command in (("compare", at, at), ("merge", at, "--output", os.path.join(os.path.dirname(at), "m.h5"))):
        done = run(*command, timeout=60)
        check(done.code == USAGE and "filesystem error" not in done.err and len(done.err) > 20, f"{command}: {done.err}")
    done = subprocess.run(["sh", "-c", f'ulimit -n 9; exec "$0" fleet "$1" --json', PROGRAM, at], capture_output=True,
                          text=True, timeout=60)
    check(done.returncode == DONE and json.loads(done.stdout)["groups"] == good["groups"], f"few descriptors: {done.stderr}")


def broken(at):
    """What cannot be read is listed, and changes nothing else."""
    images = fleet.Images()
    for number in range(6):
        with open(os.path.join(at, f"{number}.h5"), "wb") as out:
            out.write(images[None].trace(number, fleet.DRIVERS[0], None, 1))
    good = report_of(at, code=DONE)
    whole = open(os.path.join(at, "0.h5"), "rb").read()
    for name, content in (("empty", b""), ("text", b"no trace\n"), ("cut", whole[:len(whole) // 2])):
        with open(os.path.join(at, name + ".h5"), "wb") as out:
            out.write(content)
    os.symlink("nowhere", os.path.join(at, "link.h5"))
    shutil.copy(os.path.join(at, "0.h5"), os.path.join(at, "copy.h5"))
    found = report_of(at, code=DONE)
    whys = {os.path.basename(one["path"]): one["why"] for one in found["unreadable"]}
    check(set(whys) == {"empty.h5", "text.h5", "cut.h5", "link.h5"}, whys)
    check(whys["empty.h5"] == "is empty" and whys["text.h5"] == "is not an HDF5 file" and "truncated" in whys["cut.h5"],
          whys)
    check(found["duplicates"] == 1, found["duplicates"])
    check(found["groups"] == good["groups"], "broken files change what is found")
    text = asked(at, code=DONE).out
    check("4 could not be read" in text and "empty.h5: is empty" in text, text[:300])
    check(asked(os.path.join(at, "empty.h5"), code=USAGE).out == "", "only broken files")
    check("there is no such file" in asked(os.path.join(at, "missing.h5"), code=USAGE).err.lower() or
          "No such file" in asked(os.path.join(at, "missing.h5"), code=USAGE).err, "a file that is not there")
    os.mkdir(os.path.join(at, "none"))
    check("without traces" in asked(os.path.join(at, "none"), code=USAGE).err, "an empty folder")
    check("needs DIR" in asked(code=USAGE).err, "no folder")
    host = os.path.join(SOURCE, "data/traces/host.h5")
    check("no" in asked(host, code=USAGE).err, "a trace of a host alone")
    few = report_of(*(os.path.join(at, f"{number}.h5") for number in range(2)), code=NOTHING)
    check(not few["groups"][0]["judged"], "two GPUs")
    # Two of these eight healthy H100s ran a soak, which heats them up to their power limit.
    # Healthy GPUs: those that were measured at full power are hotter, and held at their power limit.
    everyone = report_of(os.path.join(SOURCE, "data/traces"), code=0)
    named = [gpu for group in everyone["groups"] for gpu in group["suspects"]]
    check(not named, f"healthy GPUs are named: {named}")
    real = report_of(*glob.glob(os.path.join(SOURCE, "data/traces/h100*.h5")), code=NOTHING)
    check(real["gpus"] == 8 and real["groups"] and not real["groups"][0]["suspects"],
          f"healthy GPUs, some of them under load: {real['groups'][0]['suspects']}")


with folder() as scratch:
    main = os.path.join(scratch, "main")
    PLANTED, HOSTS = outliers(main)
    forms(main, HOSTS)
    changed(main, PLANTED)
    for part in (broken, strange):
        where = os.path.join(scratch, part.__name__)
        os.mkdir(where)
        part(where)
check.finish()
