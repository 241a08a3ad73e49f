"""What a worker is given to read: the right passages, citable to the line, for any text whatever."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import apsw
import pytest

from submission.knowledge.load import WORLDS, load_world
from submission.knowledge.passages import MAX_CHARS, cut
from submission.knowledge.recall import CANDIDATES, Playbooks
from submission.state.work import Hit
from submission.state.world import Playbook, Stage, World

PITCHES = (
    "Solar microgrids for rural clinics",
    "A marketplace that connects small organic farms with school canteens and cuts food waste",
    "An app that helps freelance developers find flaky tests in their code",
)


@pytest.fixture(scope="module")
def venture() -> World:
    return load_world(WORLDS / "venture")


@pytest.fixture(scope="module")
def playbooks(venture: World) -> Playbooks:
    return Playbooks(venture.playbooks)


def query(stage: Stage, pitch: str) -> str:
    return f"{stage.title} {stage.goal} {stage.artifact.replace('_', ' ')} {pitch}"


def where(hits: tuple[Hit, ...]) -> list[tuple[str, int]]:
    return [(hit.source, hit.start_line) for hit in hits]


# --- relevance --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "source"),
    [
        ("monthly recurring revenue ramp and the breakeven month", "unit-economics"),
        ("subject line of the launch email", "launch-email"),
        ("objectives with key results one can count", "org-and-okrs"),
        ("hero headline and call to action", "landing-pages"),
        ("churn target and win-back message", "retention"),
        ("three tiers or one price", "pricing"),
        ("choosing an audience and its core problem", "positioning"),
        ("when meetings make decisions", "operating-cadence"),
        ("solar microgrids", "field-energy"),
        ("hospital patients", "field-health"),
        ("restaurants that waste food", "field-food"),
        ("village wells and pumps", "field-water"),
        ("teachers and pupils", "field-education"),
        ("small loans and savings", "field-finance"),
        ("flaky tests of developers", "field-devtools"),
        ("parcel delivery drivers", "field-logistics"),
    ],
)
def test_a_question_finds_its_playbook(playbooks: Playbooks, words: str, source: str):
    assert playbooks.search(words)[0].source == f"playbooks/{source}.md"


ABOUT = {
    "positioning": {"playbooks/positioning.md"},
    "org_chart": {"playbooks/org-and-okrs.md"},
    "landing_page": {"playbooks/landing-pages.md"},
    "marketing_email": {"playbooks/launch-email.md"},
    "financial_plan": {"playbooks/unit-economics.md"},
    "retention_plan": {"playbooks/retention.md"},
    "operating_plan": {"playbooks/operating-cadence.md", "playbooks/org-and-okrs.md"},
}


@pytest.mark.parametrize("pitch", PITCHES)
def test_a_brief_gets_a_passage_about_its_artifact(venture: World, playbooks: Playbooks, pitch: str):
    for stage in venture.stages:
        sources = {hit.source for hit in playbooks.search(query(stage, pitch))}
        assert sources & ABOUT[stage.artifact], stage.id


@pytest.mark.parametrize("pitch", PITCHES)
def test_most_briefs_get_passages_of_two_sources(venture: World, playbooks: Playbooks, pitch: str):
    found = [playbooks.search(query(stage, pitch)) for stage in venture.stages]
    assert all(hit.origin == "local-fts5" for hits in found for hit in hits)
    assert sum(len({hit.source for hit in hits}) == 2 for hits in found) >= 6


def test_a_second_passage_of_the_same_source_wins_when_it_is_much_better():
    books = [
        Playbook(source="a.md", text="wells and pumps\n\nwells and pumps and buckets"),
        Playbook(
            source="b.md", text="a bucket, among many other things that have nothing to do with it at all\n\nx\n\ny"
        ),
    ]
    assert {hit.source for hit in Playbooks(books).search("wells pumps buckets")} == {"a.md"}


def test_scores_are_those_of_fts5(venture: World, playbooks: Playbooks):
    """The sums that are prepared at start are the same ranking FTS5's own bm25 gives."""
    passages = [passage for book in venture.playbooks for passage in cut(book)]
    index = apsw.Connection(":memory:")
    index.execute("CREATE VIRTUAL TABLE p USING fts5 (headings, text, tokenize='porter unicode61')")
    index.executemany("INSERT INTO p (rowid, headings, text) VALUES (?, ?, ?)", enumerate_texts(passages))
    sql = "SELECT rowid, -bm25(p, 2.0, 1.0) AS score FROM p WHERE p MATCH ? ORDER BY score DESC, rowid LIMIT ?"
    for words in (["solar", "clinics", "fridges"], ["price"], ["churn", "customers", "month", "saved"]):
        expected = index.execute(sql, (" OR ".join(words), CANDIDATES)).fetchall()
        found = playbooks._match(" ".join(words), CANDIDATES)
        assert [passages.index(passage) for passage, _ in found] == [row for row, _ in expected]
        assert [score for _, score in found] == pytest.approx([score for _, score in expected])


def enumerate_texts(passages):
    return ((row, passage.headings, passage.text) for row, passage in enumerate(passages))


# --- citations --------------------------------------------------------------------------------------------


def test_a_hit_is_what_stands_in_its_lines(venture: World, playbooks: Playbooks):
    texts = {book.source: book.text.splitlines() for book in venture.playbooks}
    for stage in venture.stages:
        for hit in playbooks.search(query(stage, PITCHES[0]), limit=CANDIDATES):
            assert " ".join(texts[hit.source][hit.start_line - 1 : hit.end_line]) == hit.text
            assert len(hit.text) <= MAX_CHARS


def test_the_playbooks_are_of_the_length_and_cut_they_should_be(venture: World):
    assert len(venture.playbooks) >= 8
    for book in venture.playbooks:
        assert 40 <= len(book.text.splitlines()) <= 90, book.source
        blocks = [block for block in book.text.split("\n\n") if not block.startswith("#")]
        assert len(list(cut(book))) == len(blocks), book.source


def test_passages_have_their_headings_and_lines():
    text = "# Title\n\n## First\nOne line\nand another.\n\n\n## Second\n\n- item\n  more\n### Deep #\nlast"
    assert [tuple(passage) for passage in cut(Playbook(source="p.md", text=text))] == [
        ("p.md", 4, 5, "Title First", "One line and another."),
        ("p.md", 10, 11, "Title Second", "- item more"),
        ("p.md", 13, 13, "Title Deep", "last"),
    ]


def test_a_long_paragraph_is_cut_between_lines_and_a_long_line_is_shortened():
    text = "\n".join(["a" * 300, "b" * 300, "c" * 90, "d" * 500])
    passages = list(cut(Playbook(source="p.md", text=text)))
    assert [(passage.start, passage.end, len(passage.text)) for passage in passages] == [
        (1, 1, 300),
        (2, 3, 391),
        (4, 4, 400),
    ]


# --- any text ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \t\n",
        "the of and",
        '"',
        '"unbalanced AND (NEAR',
        "NEAR(a b, 2) OR NOT c* ^d {headings}: x + y - z",
        "headings:solar; DROP TABLE passage; --",
        "💡🔥",
        "طاقة شمسية للعيادات",
        "太阳能微电网",
        "a\0b\x07",
        "\ud800 half a pair",
        "\u202eevitavonni",
        "é́ ñ Straße ﬁ",
        "x" * 10_000,
        "word " * 2_000,
        " ".join(f"w{number}" for number in range(2_000)),
    ],
)
def test_any_text_is_a_safe_query_and_is_answered(playbooks: Playbooks, text: str):
    hits = playbooks.search(text)
    assert len(hits) == 2
    assert hits == playbooks.search(text)


def test_what_meets_nothing_gets_the_first_passages(playbooks: Playbooks):
    assert where(playbooks.search("💡")) == [("playbooks/field-devtools.md", 5), ("playbooks/field-education.md", 5)]


def test_the_limit_is_kept(playbooks: Playbooks):
    for limit in (-1, 0, 1, 2, 5, 40):
        assert len(playbooks.search("customers of a clinic pay each month", limit)) == max(limit, 0)


def test_the_order_does_not_depend_on_the_order_of_words_or_a_second_index(venture: World, playbooks: Playbooks):
    again = Playbooks(venture.playbooks)
    for pitch in PITCHES:
        assert again.search(pitch) == playbooks.search(pitch)
        assert playbooks.search(" ".join(reversed(pitch.split()))) == playbooks.search(pitch)


def test_nothing_is_found_where_nothing_is():
    assert Playbooks([]).search("solar") == ()
    assert Playbooks([Playbook(source="a.md", text="# Only a heading\n")]).search("heading") == ()


def test_threads_may_search_at_once(venture: World, playbooks: Playbooks):
    queries = [query(stage, pitch) for stage in venture.stages for pitch in PITCHES] * 20
    expected = [playbooks.search(text) for text in queries]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(playbooks.search, queries)) == expected


def test_a_search_is_quick(venture: World, playbooks: Playbooks):
    text = query(venture.stages[0], PITCHES[1])[:300]
    best = min(timed(playbooks, text) for _ in range(5))
    assert best / 100 < 500e-6


def timed(playbooks: Playbooks, text: str) -> float:
    start = time.process_time()
    for _ in range(100):
        playbooks.search(text)
    return time.process_time() - start
