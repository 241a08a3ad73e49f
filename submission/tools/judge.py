"""Check, replay and compare logs: offline, without a server, a data folder or a world pack.

LOG is a log.jsonl, `-` for standard input, or the id of a run in the data folder. Exit codes: 0 all is well,
1 something failed or the log breaks, 2 there is no log to read.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console, RenderableType

from submission.state.compare import Break, Side, compare
from submission.state.events import Event
from submission.state.ports import StoreFailed
from submission.state.refusals import BrokenLog
from submission.state.replay import Replayed, frames, replay
from submission.state.run import Run, state_hash
from submission.state.store.export import MAX_BYTES, split_log
from submission.state.store.verify import Verification, Worlds, sound_events, verify_lines, verify_log
from submission.state.views import memory_snapshot, run_at
from submission.tools.report import break_line, comparison_parts, run_parts, verification_parts
from submission.tools.show import clean
from submission.tools.story import event_line, heading, told


class NoLog(Exception):
    """There is nothing to judge; the message is one plain sentence."""


class Source(NamedTuple):
    """A log as it was found. `data` is None for a run in the data folder, whose lines nobody has signed."""

    name: str
    data: bytes | None
    lines: tuple[bytes, ...]

    def events(self) -> Iterator[Event]:
        return sound_events(self.lines)


def main(argv: list[str] | None = None) -> int:
    options = _options(argv)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except NoLog as error:
        print(f"countersign: {clean(error)}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # Whoever read along has seen enough; the interpreter must not complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="manage.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    verb = _verb(verbs, "verify", _verify, "five verdicts: integrity, completeness, schema, xp, rescoring", "log")
    verb.add_argument("--key", metavar="KEY_ID", help="the key id that must have signed the log")
    verb = _verb(verbs, "replay", _replay, "the run as it was at any event", "log")
    verb.add_argument("--at", type=_seq, metavar="N", help="at this seq (default: the last)")
    verb.add_argument("--follow", action="store_true", help="tell the story event by event")
    verb.add_argument("--speed", type=_speed, metavar="N", help="with --follow: at most N events a second")
    _verb(verbs, "compare", _compare, "where two runs part and how the companies differ", "a", "b")
    return parser.parse_args(argv)


def _verb(
    verbs: Any, name: str, run: Callable[[argparse.Namespace], int], about: str, *logs: str
) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = verbs.add_parser(name, help=about, description=f"{about}. {__doc__}")
    for log in logs:
        made.add_argument(log, metavar=log.upper(), help="a log.jsonl, - for standard input, or a run id")
    made.add_argument("--data", type=Path, metavar="DIR", help="the data folder that run ids are looked up in")
    made.add_argument("--json", action="store_true", help="print JSON and nothing else")
    made.set_defaults(run=run)
    return made


def _seq(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("a seq is a whole number from 1")
    return int(text)


def _speed(text: str) -> float:
    if not 0.01 <= float(text) <= 1000:
        raise argparse.ArgumentTypeError("a speed is 0.01 to 1000 events a second")
    return float(text)


def _verify(options: argparse.Namespace) -> int:
    source = _read(options.log, options.data)
    worlds = _packs()
    if source.data is None:
        found = verify_lines(source.lines, worlds)
    else:
        found = verify_log(source.data, worlds, options.key)
    if not found.is_log:
        raise NoLog(f"{source.name} is not a Countersign log")
    if options.json:
        _print_json({"log": source.name, **found.model_dump(mode="json")})
    else:
        _print(verification_parts(source.name, found))
    return 0 if _holds(found, signed=source.data is not None) else 1


def _holds(found: Verification, signed: bool) -> bool:
    """All five passed; of lines that nobody was to sign yet, the other four."""
    open_end = () if signed else ("completeness",)
    return all(verdict.status == "passed" or verdict.name in open_end for verdict in found.verdicts)


def _replay(options: argparse.Namespace) -> int:
    source = _read(options.log, options.data)
    if options.follow:
        return _follow(source, options)
    replayed = replay(source.events(), options.at)
    run = _run_of(source, replayed)
    if replayed.broken is None and options.at is not None and run.seq < options.at:
        raise NoLog(f"{source.name} ends at seq {run.seq}")
    if options.json:
        _print_json(_run_json(run, replayed.broken))
    else:
        _print(run_parts(run, replayed.broken))
    return 1 if replayed.broken else 0


def _run_of(source: Source, replayed: Replayed) -> Run:
    if replayed.run is None:
        raise NoLog(f"{source.name} cannot be replayed: {replayed.broken or 'it holds no event'}")
    return replayed.run


def _run_json(run: Run, broken: BrokenLog | None) -> dict[str, Any]:
    return {
        **run_at(run).model_dump(mode="json"),
        "gate": run.gate.model_dump(mode="json") if run.gate else None,
        "memories": memory_snapshot(run).model_dump(mode="json")["memories"],
        "broken": {"seq": broken.seq, "why": broken.why, "verdict": broken.verdict} if broken else None,
    }


def _follow(source: Source, options: argparse.Namespace) -> int:
    """Tell each event as it is folded, so that what stands before a break is told."""
    console, run = _console(), None
    try:
        for event, run in frames(islice(source.events(), options.at)):
            _tell(console, event, run, options.json)
            if options.speed:
                time.sleep(1 / options.speed)
    except BrokenLog as broken:
        _run_of(source, Replayed(run, broken))
        if options.json:
            print(json.dumps({"broken": {"seq": broken.seq, "why": broken.why}}))
        else:
            console.print(break_line(Break(seq=broken.seq, why=broken.why)))
        return 1
    _run_of(source, Replayed(run, None))
    return 0


def _tell(console: Console, event: Event, run: Run, as_json: bool) -> None:
    if as_json:
        who = {"seq": event.seq, "type": event.type, "at": event.at, "actor": event.actor.model_dump()}
        print(json.dumps({**who, "says": told(event, run), "xp": run.xp, "state_hash": state_hash(run)}))
        return
    if chapter := heading(event, run):
        console.print(chapter)
    console.print(event_line(event, run))


def _compare(options: argparse.Namespace) -> int:
    a, b = _read(options.a, options.data), _read(options.b, options.data)
    (events_a, broken_a), (events_b, broken_b) = _up_to_break(a), _up_to_break(b)
    found = compare(events_a, events_b)
    found = found.model_copy(update={"a": _mark(found.a, broken_a), "b": _mark(found.b, broken_b)})
    if options.json:
        _print_json(found.model_dump(mode="json"))
    else:
        _print(comparison_parts(found))
    return 1 if found.a.broken or found.b.broken else 0


def _up_to_break(source: Source) -> tuple[list[Event], BrokenLog | None]:
    """The events that can be read, and what ended the reading. One that begins no run is no log to compare."""
    events: list[Event] = []
    found: BrokenLog | None = None
    try:
        for event in source.events():
            events.append(event)
    except BrokenLog as broken:
        found = broken
    begun = replay(events, 1)
    _run_of(source, begun if events else Replayed(None, found))
    return events, found


def _mark(side: Side, broken: BrokenLog | None) -> Side:
    """A break that the fold found comes before one that ended the reading."""
    if broken is None or side.broken is not None:
        return side
    return side.model_copy(update={"broken": Break(seq=broken.seq, why=broken.why)})


def _read(name: str, folder: Path | None) -> Source:
    try:
        if name == "-":
            return _file("standard input", sys.stdin.buffer.read(MAX_BYTES + 1))
        if Path(name).exists():
            with open(name, "rb") as file:
                return _file(name, file.read(MAX_BYTES + 1))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise NoLog(f"{name} cannot be read: {why}") from error
    return _stored(name, folder or _data_folder())


def _file(name: str, data: bytes) -> Source:
    if len(data) > MAX_BYTES:
        raise NoLog(f"{name} is over {MAX_BYTES >> 20} MiB, more than any log")
    return Source(name, data, split_log(data).lines)


def _data_folder() -> Path:
    from submission.tools.bootstrap import Settings  # a log in a file needs none of what this brings along

    return Settings.from_environment().data


def _stored(run_id: str, folder: Path) -> Source:
    """A run's lines as they lie in the data folder, also while a server owns it."""
    from submission.state.store.sqlite import SqliteStore  # a log in a file needs no database

    async def lines() -> list[bytes]:
        store = SqliteStore.read_only(folder)
        try:
            return await store.read(run_id)
        finally:
            await store.close()

    try:
        found = asyncio.run(lines())
    except StoreFailed as error:
        raise NoLog(f"there is no file {run_id}, and as a run it cannot be read: {error}") from error
    if not found:
        raise NoLog(f"there is no file {run_id}, and no run of that id in {folder}")
    return Source(run_id, None, tuple(found))


def _packs() -> Worlds:
    """The world packs of this machine, to hold a run's pinned rules against; none where none can be loaded."""
    try:
        from submission.knowledge.load import WORLDS, PackFaults, load_worlds  # a judge may have no packs at all
    except ImportError:
        return {}
    try:
        return load_worlds(WORLDS)
    except (PackFaults, OSError):
        return {}


def _console() -> Console:
    """Never fails on a character that the terminal cannot show."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    return Console(highlight=False, emoji=False, markup=False)


def _print(parts: Iterable[RenderableType]) -> None:
    console = _console()
    for part in parts:
        console.print(part)


def _print_json(document: dict[str, Any]) -> None:
    """ASCII, so that no terminal, pipe or locale can spoil it."""
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    sys.exit(main())
