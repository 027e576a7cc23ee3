"""Asks the program npgpu to measure, to check and to predict, and returns what it found."""
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


class Check:
    """What npgpu check says: `verdict` (ok, slow, broken, undecided, not-judged, failed-to-run), `reason`, `findings` and
    `gpus` as data frames, and all of it as `document`."""

    def __init__(self, document: dict[str, Any]):
        self.document = document
        self.verdict: str = document["verdict"]
        self.exit_code: int = document["exit_code"]
        self.reason: str | None = document["reason"]
        self.gpus = pd.DataFrame(document["gpus"], columns=["id", "name", "uuid", "simulated"])
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
    answers = (0, 1, 3, 4, 6, 8, 77)
    code, printed = ask("check", *words_of({"trace": trace, **options}), "--json", answers=answers)
    if not printed.startswith(b"{"):
        raise ProgramFailed(f"npgpu check ended with {code} and no document")
    return Check(json.loads(printed))


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
