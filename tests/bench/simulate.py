"""One warm `simulate --json` from the shell, and what its time goes into."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time

from tests.bench.figures import Aim, Figure, Pairs, in_turns, paired
from tests.bench.player import PITCHES
from tests.bench.process import ROOT

SCRIPT = ROOT / "submission" / "tools" / "run_quest_simulation.py"

# What any such program needs, without a line of ours.
LIBRARIES = "import argparse, apsw, asyncio, cryptography, jinja2.sandbox, pydantic, rfc8785, rich.console, yaml"

PARTS = """
import asyncio, sys, time
marks = [time.perf_counter()]
from submission.tools import run_quest_simulation as program
marks.append(time.perf_counter())
from submission.knowledge.load import WORLDS, load_worlds
load_worlds(WORLDS)
marks.append(time.perf_counter())
sys.stdout = sys.stderr
program.main(sys.argv[1:])
marks.append(time.perf_counter())
print(*(after - before for before, after in zip(marks, marks[1:])), file=sys.__stdout__)
"""


def measure(quick: bool) -> list[Figure]:
    repetitions = 2 if quick else 7
    with tempfile.TemporaryDirectory() as data:
        options = ["--pitch", PITCHES[0], "--policy", "strict", "--json", "--data", data]
        _took([str(SCRIPT), *options])  # warms the disk's caches, and makes the database
        pairs = in_turns(repetitions, lambda: _took([str(SCRIPT), *options]), lambda: _took(["-c", LIBRARIES]))
        return [
            paired("one simulate, warm", "s", pairs, Aim("value", 1), "floor: Python that imports the libraries alone"),
            *_parts(repetitions, options),
        ]


def _took(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *command], cwd=ROOT, check=True, capture_output=True)
    return time.perf_counter() - began


def _parts(repetitions: int, options: list[str]) -> list[Figure]:
    """The same run in one process that stops the time of each part. Loading the pack happens twice there, so the
    last part is given without it."""
    rows = [_marks(options) for _ in range(repetitions)]
    imports, load, play = (Pairs(column, [1] * repetitions).value for column in zip(*rows, strict=True))
    return [
        Figure("  of it: imports", imports, "s"),
        Figure("  of it: load the pack", load, "s"),
        Figure("  of it: open, play, export", max(play - load, 0), "s"),
    ]


def _marks(options: list[str]) -> tuple[float, ...]:
    command = [sys.executable, "-c", PARTS, *options]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return tuple(float(text) for text in done.stdout.split())
