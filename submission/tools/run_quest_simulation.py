"""Plays a pitch through its eight gates without any credential: with a person in the terminal, or with a script."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from submission.state.events import Actor, Mode
from submission.state.ports import StoreFailed
from submission.state.refusals import Refused
from submission.state.run import Run, state_hash
from submission.state.store.export import LogHeader, export_log
from submission.state.views import GateView
from submission.tools.ask import Left, ask
from submission.tools.bootstrap import House, PackFaults, Settings, open_house
from submission.tools.clock import new_run_id
from submission.tools.play import Answer, answer_gate, begin, look, send_to_work
from submission.tools.policies import POLICIES
from submission.tools.show import decision_line, plain, run_summary_panel, stage_table

MAX_RUNS = 10_000
AT_ONCE = 32
"""Runs played at the same time; their commits share the disk's flushes."""


class Options(NamedTuple):
    pitch: str
    world: str | None
    seed: int
    policy: str
    runs: int
    data: Path | None
    log: Path | None
    json: bool
    quiet: bool


def main(argv: list[str] | None = None) -> int:
    """Exit 0 when every campaign finished, 1 when one was left unfinished, 2 when it could not be played."""
    options = _options(argv)
    settings = Settings.from_environment()
    settings = replace(settings, data=options.data) if options.data else settings
    console = Console(stderr=options.json, highlight=False)
    try:
        house = open_house(settings)
        return asyncio.run(_simulate(house, options, console))
    except (StoreFailed, PackFaults, OSError) as error:
        return _fail(str(error))
    except Refused as refusal:
        return _fail(f"{refusal.code}: {refusal.detail + '. ' if refusal.detail else ''}{refusal.right}")
    except KeyboardInterrupt:
        return 130


def _fail(sentence: str) -> int:
    print(f"countersign: {sentence.encode('utf-8', 'replace').decode()}", file=sys.stderr)
    return 2


def _options(argv: list[str] | None) -> Options:
    parser = argparse.ArgumentParser(prog="manage.py simulate", description=__doc__)
    parser.add_argument("--pitch", required=True, help='what you offer and to whom, such as "Solar microgrids for …"')
    parser.add_argument("--world", help="the world to play (default: the one this server plays)")
    parser.add_argument("--seed", type=_seed, default=1, help="same pitch and seed, same artifacts (default 1)")
    parser.add_argument(
        "--policy",
        choices=("ask", *POLICIES),
        help="who decides: ask (you; the default on a terminal) or a script (default otherwise: strict)",
    )
    parser.add_argument("--runs", type=_runs, default=1, help="play this many, each with the next seed")
    parser.add_argument("--data", type=Path, help="folder of the log and its signing key (default data/)")
    parser.add_argument("--log", type=Path, help="where to write the run's log.jsonl (default DATA/logs/RUN.jsonl)")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--quiet", action="store_true", help="no progress, only the summary")
    said = parser.parse_args(argv)
    terminal = sys.stdin.isatty() and sys.stdout.isatty() and not said.json and said.runs == 1
    policy = said.policy or ("ask" if terminal else "strict")
    if policy == "ask" and (said.json or said.runs > 1):
        parser.error("--policy ask asks a person: use it without --json and for one run")
    if said.runs > 1 and said.log:
        parser.error("--log names the file of one run; leave it out to write one file a run")
    return Options(**{**vars(said), "policy": policy})


def _seed(text: str) -> int:
    seed = int(text)
    if not 0 <= seed < 2**53:
        raise argparse.ArgumentTypeError("a seed is a whole number from 0 to 2**53 - 1")
    return seed


def _runs(text: str) -> int:
    runs = int(text)
    if not 1 <= runs <= MAX_RUNS:
        raise argparse.ArgumentTypeError(f"play 1 to {MAX_RUNS:,} runs")
    return runs


async def _simulate(house: House, options: Options, console: Console) -> int:
    try:
        turnstile = asyncio.Semaphore(AT_ONCE)

        async def one(seed: int) -> dict[str, Any]:
            async with turnstile:
                return await _campaign(house, options._replace(seed=seed), console)

        seeds = range(options.seed, options.seed + options.runs)
        results = await asyncio.gather(*(one(seed) for seed in seeds))
    finally:
        await house.close()
    if options.json:
        print(json.dumps(results[0] if options.runs == 1 else {"runs": results}, ensure_ascii=False))
    elif options.runs > 1:
        _print_many(console, results)
    return 0 if all(result["outcome"] for result in results) else 1


def _print_many(console: Console, results: list[dict[str, Any]]) -> None:
    for result in results:
        console.print(
            f"{result['run_id']}  {result['outcome'] or 'unfinished'}  {result['xp']} XP  "
            f"{sum(stage['attempts'] for stage in result['stages'])} attempts  {result['state_hash'][:12]}"
        )
    won = sum(result["outcome"] == "victory" for result in results)
    console.print(f"{won} of {len(results)} campaigns finished")


async def _campaign(house: House, options: Options, console: Console) -> dict[str, Any]:
    """One run from pitch to end, its log exported, as the object that --json prints."""
    human = options.policy == "ask"
    mode: Mode = "human" if human else "rehearsal"
    name = house.settings.player_name
    player = Actor(kind="human", id="player", name=name) if human else _script(options.policy)
    world = options.world if options.world is not None else house.default_world
    run = await begin(house, new_run_id(), world, options.pitch, options.seed, mode, player)
    loud = human or not (options.quiet or options.json or options.runs > 1)
    if loud:
        console.print(f"[bold]{plain(run.pitch[:200])}[/]\n[dim]run {run.run_id} · {mode} · tier simulation[/]")
    with suppress(Left):
        run = await _play(house, run, player, options, console if loud else None)
    run = await house.referee.load(run.run_id)
    path = options.log or house.settings.data / "logs" / f"{run.run_id}.jsonl"
    result = {**summary(run), "log": str(await _export(house, run, path))}
    if options.runs == 1 and not options.json:
        console.print(stage_table(run))
        console.print(run_summary_panel(run, result["log"], result["state_hash"]))
    return result


def _script(policy: str) -> Actor:
    return Actor(kind="scripted", id=f"script:{policy}", name=f"Scripted approver ({policy})")


async def _play(house: House, run: Run, player: Actor, options: Options, console: Console | None) -> Run:
    while run.outcome is None:
        if run.gate is None:
            job, _ = await send_to_work(house, run.run_id, player)
            await house.turns.run(job)
            run = await house.referee.load(run.run_id)
        gate = await look(house, run)
        answer = _answer(options, gate, console)
        receipt = await answer_gate(
            house,
            run.run_id,
            player,
            gate.gate_id,
            gate.artifact_sha256,
            f"{gate.gate_id}:{answer.verb}",
            answer,
        )
        run = await house.referee.load(run.run_id)
        if console is not None:
            console.print(decision_line(gate, receipt))
    return run


def _answer(options: Options, gate: GateView, console: Console | None) -> Answer:
    if options.policy == "ask":
        assert console is not None, "a person is asked on a console"
        return ask(console, gate)
    return POLICIES[options.policy](gate, options.seed)


async def _export(house: House, run: Run, path: Path) -> Path:
    """Write the run's log beside the database or where it was asked for; whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = await house.store.read(run.run_id, 0, run.seq)
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        file.writelines(export_log(LogHeader(run.run_id, run.world), lines, house.key))
    part.replace(path)
    return path


def summary(run: Run) -> dict[str, Any]:
    """The object that --json prints, but for the path of its log."""
    decided = {entry.stage_id: entry for entry in run.decided if entry.rescinded_key is None}
    return {
        "run_id": run.run_id,
        "world": {"id": run.world.id, "version": run.world.version, "sha256": run.world.sha256},
        "mode": run.mode,
        "outcome": run.outcome,
        "xp": run.xp,
        "level": run.level.level,
        "stages": [
            {
                "id": stage.spec.id,
                "beat": stage.spec.beat,
                "role": stage.spec.role,
                "attempts": stage.attempt,
                "floor": stage.score.floor if stage.score else None,
                "score": stage.score.final if stage.score else None,
                "xp": stage.xp,
                "decision": decided[stage.spec.id].verb if stage.spec.id in decided else None,
            }
            for stage in run.stages
        ],
        "events": run.seq,
        "state_hash": state_hash(run),
    }


if __name__ == "__main__":
    sys.exit(main())
