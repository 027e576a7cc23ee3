"""Asks the program npgpu to measure, to check, to compare and to predict, and returns what it found."""
from __future__ import annotations

import html
import json
import os
import tempfile
import weakref
from typing import Any

import pandas as pd

from npgpu.program import ProgramFailed, ask
from npgpu.tables import Tables, load


def words_of(options: dict[str, Any]) -> list[str]:
    """Options of the command line: bytes_in="64MiB" is --bytes-in=64MiB, True a flag, a list one word with commas. None
    and False are left out."""
    words = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        option = "--" + name.rstrip("_").replace("_", "-")
        if isinstance(value, (list, tuple)):
            value = ",".join(map(str, value))
        words.append(option if value is True else f"{option}={os.fspath(value) if isinstance(value, os.PathLike) else value}")
    return words


def measure(command: str, *what: str, output: str | os.PathLike | None = None, **options: Any) -> Tables:
    """Runs a measuring command, and returns its trace as tables.

        npgpu.measure("transfer", direction="h2d", memory="pinned", sizes="8,64MiB").transfers
        npgpu.measure("probe", "compute,bandwidth", output="probes.h5").probes

    `what` are words without an option, and `options` those of the command line (npgpu help transfer). Without `output` the
    trace is kept as long as the tables are. ProgramFailed where something could not be measured."""
    folder = None
    if output is None:
        folder = tempfile.TemporaryDirectory(prefix="npgpu-python-")
        output = os.path.join(folder.name, command + ".h5")
    ask(command, *what, *words_of(options), "--quiet", f"--output={os.fspath(output)}")
    tables = load(output)
    if folder:
        weakref.finalize(tables, folder.cleanup)
    return tables


KEY_FIGURES = ["device", "metric", "value", "low", "high", "unit"]
CHANGE = ["a", "b", "change", "low", "high", "tolerance", "verdict", "reason"]


def frame(rows: list[dict[str, Any]], columns: list[str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=columns)


def answer_of(command: str, *words: Any, codes: tuple[int, ...]) -> dict[str, Any]:
    """The document of a command; ProgramFailed where it ends without one."""
    code, printed = ask(command, *words, "--json", answers=codes)
    if not printed.startswith(b"{"):
        raise ProgramFailed(f"npgpu {command} ended with {code} and no document")
    return json.loads(printed)


def paths_of(traces: Any) -> list[str]:
    return [os.fspath(one) for one in ([traces] if isinstance(traces, (str, os.PathLike)) else traces)]


class Check:
    """What npgpu check says: `verdict` (ok, slow, broken, undecided, not judged, failed to run), `reason`, `findings`,
    `key_figures` and `gpus` as data frames, and all of it as `document`."""

    def __init__(self, document: dict[str, Any]):
        self.document = document
        self.verdict: str = document["verdict"]
        self.exit_code: int = document["exit_code"]
        self.reason: str | None = document["reason"]
        self.gpus = pd.DataFrame(document["gpus"], columns=["id", "name", "uuid", "simulated"])
        self.key_figures = frame(document["key_figures"], KEY_FIGURES)
        findings = [{**one, "cause": next((why["cause"] for why in one["explanations"]), None)} for one in document["findings"]]
        self.findings = pd.DataFrame(findings, columns=["device", "metric", "health", "value", "low", "high", "limit", "unit",
                                                        "would_see", "text", "basis", "cause"])

    @property
    def ok(self) -> bool:
        """Only where all that had to be judged was, and passes."""
        return self.verdict == "ok"

    @property
    def wrong(self) -> pd.DataFrame:
        """The findings that are not as they should be."""
        return self.findings[~self.findings["health"].isin(["pass", "skip"])]

    def __repr__(self) -> str:
        return f"<npgpu.Check {self.verdict}{': ' + self.reason if self.reason else ''}>"

    def _repr_html_(self) -> str:
        return f"<p><b>{html.escape(self.verdict.upper())}</b> {html.escape(self.reason or '')}</p>{self.wrong.to_html(index=False)}"


def check(trace: str | os.PathLike | None = None, **options: Any) -> Check:
    """Checks every GPU of this machine, or those of a trace: npgpu.check(level=1), npgpu.check("node7.h5").

    A verdict is an answer, whatever it is; ProgramFailed where an option is refused or there is nothing to read."""
    return Check(answer_of("check", *words_of({"trace": trace, **options}), codes=(0, 1, 3, 4, 6, 8, 77)))


class Comparison:
    """What npgpu compare says: `outcome`; `figures`, a row each, `cases`, a row a case and part of its sizes, and `key_figures`
    of both sides as data frames; and all of it as `document`. A change of 0.1 is 10 % more time."""

    def __init__(self, document: dict[str, Any]):
        self.document = document
        self.outcome: str = document["outcome"]
        # Other hardware is not compared, and has neither.
        self.figures = frame(document.get("figures", []), ["name", "at", "unit", *CHANGE])
        self.cases = frame([{**case, **part} for case in document.get("cases", []) for part in case["parts"]],
                           ["kind", "name", "title", "lane", "class", "first", "last", "points", *CHANGE])
        self.key_figures = frame([{"side": side, "file": run["file"], **one} for side in "ab" for run in document[side]
                                  for one in run["key_figures"]], ["side", "file", *KEY_FIGURES])

    @property
    def changed(self) -> pd.DataFrame:
        """The figures that are slower or faster in b."""
        return self.figures[self.figures["verdict"].isin(["slower", "faster"])]

    def __repr__(self) -> str:
        return f"<npgpu.Comparison {self.outcome}>"

    def _repr_html_(self) -> str:
        return f"<p><b>{html.escape(self.outcome)}</b></p>{self.changed.to_html(index=False)}"


def compare(a: Any, b: Any, **options: Any) -> Comparison:
    """What has become slower from a to b, each a trace, or a list of traces and folders:
    npgpu.compare("may.h5", "june.h5"), npgpu.compare(["may1.h5", "may2.h5"], "june.h5")."""
    return Comparison(answer_of("compare", *words_of(options), *paths_of(a), "--", *paths_of(b), codes=(0, 3, 5, 6, 7)))


class Fleet:
    """What npgpu fleet says: `suspects`, a row each; `groups`; `key_figures`, a row for each GPU and figure, as data frames; the
    hosts to `exclude`; and all of it as `document`."""

    def __init__(self, document: dict[str, Any]):
        self.document = document
        self.exclude: list[str] = document["exclude"]
        group = ["model", "driver", "link", "simulated", "gpus", "judged"]
        self.groups = frame(document["groups"], group)
        self.suspects = frame([{**{name: one[name] for name in group[:3]}, **suspect, "cause": next((why["text"] for why in suspect["causes"]), None)}
                               for one in document["groups"] for suspect in one["suspects"]],
                              ["host", "device", "uuid", "verdict", "confirmed", "cause", *group[:3]])
        self.key_figures = frame(document["key_figures"], ["host", *KEY_FIGURES])

    def __repr__(self) -> str:
        return f"<npgpu.Fleet of {self.document['gpus']} GPUs, {len(self.suspects)} suspects>"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self)[1:-1])}</p>{self.suspects.to_html(index=False)}"


def fleet(traces: Any, **options: Any) -> Fleet:
    """Which GPUs of many traces differ from the others: npgpu.fleet("traces/"), or a list of traces and folders."""
    return Fleet(answer_of("fleet", *paths_of(traces), *words_of(options), codes=(0, 3, 8, 77)))


class Prediction:
    """What npgpu predict says of one job: its `answer`, as the number of `chunks` and `streams` and their `time_us`. The `best`
    and the `candidates`, a data frame, are those with a chunk in each stream."""

    def __init__(self, document: dict[str, Any]):
        self.document = document
        self.answer: str = document["answer"]
        self.chunks: int = document["advised"]["chunks"]
        self.streams: int = document["advised"]["streams"]
        self.time_us: float = document["advised"]["time_us"]
        self.best: dict[str, Any] = document["best"]
        self.candidates = pd.DataFrame(document["candidates"])

    def __repr__(self) -> str:
        return f"<npgpu.Prediction {self.answer}>"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self)[1:-1])}</p>{self.candidates.to_html(index=False)}"


def predict(trace: str | os.PathLike, **options: Any) -> Prediction:
    """Into how many streams a job should be cut, by the costs of a trace:
    npgpu.predict("node7.h5", bytes_in="64MiB", kernel_ms=1, bytes_out="64MiB")."""
    document = json.loads(ask("predict", trace, *words_of(options), "--json")[1])
    if "advised" not in document:
        raise ProgramFailed("predict: name one job, with bytes_in, kernel_ms or bytes_out")
    return Prediction(document)
