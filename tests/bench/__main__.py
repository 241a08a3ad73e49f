"""Measures everything, or what --only names, and says which aims were kept."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence

from tests.bench import campaign, decisions, growth, latency, logs, memory, simulate, stream
from tests.bench.figures import Figure, table
from tests.bench.process import CAN_MEASURE

GROUPS: dict[str, Callable[[bool], list[Figure]]] = {
    "campaign": campaign.measure,
    "decisions": decisions.measure,
    "latency": latency.measure,
    "growth": growth.measure,
    "log": logs.measure,
    "memory": memory.measure,
    "stream": stream.measure,
    "simulate": simulate.measure,
}
OTHER_PROCESSES = {"campaign", "memory"}
"""Groups that ask the system what a server's process uses."""


def main(argv: Sequence[str] | None = None) -> int:
    """Exit 0 once everything is measured, whatever aims were missed: a busy machine misses many."""
    options = _options(argv)
    began = time.perf_counter()
    figures: list[Figure] = []
    for name in options.only or GROUPS:
        if name in OTHER_PROCESSES and not CAN_MEASURE:
            print(f"{name}: not measured, for it needs /proc", file=sys.stderr)
            continue
        print(f"measuring {name}", file=sys.stderr, flush=True)
        figures += GROUPS[name](options.quick)
    about = {"load": list(os.getloadavg()), "cpus": os.cpu_count(), "seconds": round(time.perf_counter() - began, 1)}
    if options.json:
        print(json.dumps({**about, "figures": [figure.document() for figure in figures]}))
    else:
        load = " ".join(f"{part:.1f}" for part in os.getloadavg())
        print(table(figures))
        print(
            f"\n{about['cpus']} CPUs, load {load}, {about['seconds']} s; medians, ours and the floor measured in turns"
        )
    return 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="manage.py bench", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=GROUPS, metavar="NAME", help=f"of {', '.join(GROUPS)}")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, in under 40 s")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
