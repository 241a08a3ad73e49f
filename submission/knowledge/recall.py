"""The knowledge base of a world: full-text search over its playbooks, in memory and in this process."""

from __future__ import annotations

import math
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import cast

import apsw

from submission.knowledge.passages import Passage, cut
from submission.state.work import Hit
from submission.state.world import Playbook

ORIGIN = "local-fts5"
MAX_QUERY_CHARS = 4_000
MAX_TERMS = 64
CANDIDATES = 16
CLOSE = 0.45
"""A passage of another source goes before a second one of the same when it scores at least this share of it."""

HEADING_WEIGHT, TEXT_WEIGHT = 2.0, 1.0
K1, B = 1.2, 0.75
"""BM25's, as FTS5 has them."""

_STOP_WORDS = """
about after again all also am an and any are as at be because been before being both but by can could did do does each
for from had has have he her here him his how if in into is it its just me more most my new no nor not now of off on
once one only or other our out over own same say says she should so some such than that the their them then there these
they this those through to too under until up us very via was we what when where which while who whose why will with
would you your
"""
_CREATE = """
CREATE VIRTUAL TABLE passage USING fts5 (headings, text, content='', tokenize='porter unicode61');
CREATE VIRTUAL TABLE temp.term USING fts5vocab (main, passage, instance);
"""
_INSERT = "INSERT INTO passage (rowid, headings, text) VALUES (?, ?, ?)"
_INSTANCES = "SELECT term, doc, col FROM temp.term"

Weights = Mapping[str, tuple[tuple[int, float], ...]]
"""By stem: the passages that have it, and what it adds to their score."""


class Playbooks:
    """Searchable playbooks. The index never changes, so the BM25 of each term in each passage is computed when it is
    built, and a search only adds. May be searched from several threads; they take turns."""

    def __init__(self, playbooks: Iterable[Playbook]) -> None:
        self._passages = tuple(passage for playbook in playbooks for passage in cut(playbook))
        self._lock = threading.Lock()
        self._index = apsw.Connection(":memory:")
        with self._index:
            self._index.execute(_CREATE)
            rows = ((row, passage.headings, passage.text) for row, passage in enumerate(self._passages))
            self._index.executemany(_INSERT, rows)
        self._tokenizer = self._index.fts5_tokenizer("porter", ["unicode61"])
        instances = cast(list[tuple[str, int, str]], self._index.execute(_INSTANCES).fetchall())
        self._weights = _weigh(instances, len(self._passages), set(self._stems(_STOP_WORDS)))

    def search(self, query: str, limit: int = 2) -> tuple[Hit, ...]:
        """The best passages first, equal ones in the order of the playbooks, from different sources where that costs
        little. Any text is a safe query; one that meets nothing gets the first passage of each of the first
        playbooks."""
        found = self._match(query, max(limit, CANDIDATES))
        chosen = _spread(found, limit) if found else self._first(limit)
        return tuple(_hit(passage) for passage in chosen)

    def _match(self, query: str, limit: int) -> list[tuple[Passage, float]]:
        """Passages with any of the query's terms and their scores."""
        terms = [stem for stem in dict.fromkeys(self._stems(query[:MAX_QUERY_CHARS])) if stem in self._weights]
        scores = [0.0] * len(self._passages)
        for term in terms[:MAX_TERMS]:
            for row, weight in self._weights[term]:
                scores[row] += weight
        best = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)[:limit]
        return [(self._passages[row], scores[row]) for row in best if scores[row]]

    def _stems(self, text: str) -> list[str]:
        """The words of a text as the index sees them."""
        data = text.encode("utf-8", "replace")
        with self._lock:
            tokens = self._tokenizer(
                data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
            )
        return cast(list[str], tokens)

    def _first(self, limit: int) -> list[Passage]:
        by_source = {passage.source: passage for passage in reversed(self._passages)}
        return [by_source[source] for source in sorted(by_source)][: max(limit, 0)]


def _weigh(instances: list[tuple[str, int, str]], passages: int, without: set[str]) -> Weights:
    """BM25 as FTS5 defines it, for each stem and passage; `instances` are (stem, passage, column)."""
    lengths = Counter(row for _, row, _ in instances)
    average = sum(lengths.values()) / max(passages, 1)
    counts: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for stem, row, column in instances:
        if stem not in without:
            counts[stem][row] += HEADING_WEIGHT if column == "headings" else TEXT_WEIGHT
    weights = {}
    for stem, rows in counts.items():
        rarity = max(math.log((passages - len(rows) + 0.5) / (len(rows) + 0.5)), 1e-6)
        weights[stem] = tuple(
            (row, rarity * count * (K1 + 1) / (count + K1 * (1 - B + B * lengths[row] / average)))
            for row, count in rows.items()
        )
    return weights


def _spread(found: list[tuple[Passage, float]], limit: int) -> list[Passage]:
    """The best `limit`; at each place a source that is not among them yet goes first if its passage is close."""
    rest, chosen = list(found), list[Passage]()
    while rest and len(chosen) < limit:
        sources = {passage.source for passage in chosen}
        fresh = next((item for item in rest if item[0].source not in sources), rest[0])
        best = fresh if fresh[1] >= CLOSE * rest[0][1] else rest[0]
        rest.remove(best)
        chosen.append(best[0])
    return chosen


def _hit(passage: Passage) -> Hit:
    return Hit(
        source=passage.source,
        start_line=passage.start,
        end_line=passage.end,
        text=passage.text,
        origin=ORIGIN,
    )
