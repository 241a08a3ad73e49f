"""The bytes of the log: one canonical form, sealed so that no byte can change unseen."""

import math
from typing import Any

import pytest
import rfc8785
from hypothesis import example, given, settings
from hypothesis import strategies as st

from submission.state.canonical import Document, canonical, canonical_frozen, freeze
from submission.state.events import Actor, CeoDecision, Draft, MemoryWritten, StageExecuted
from submission.state.evolve import GENESIS
from submission.state.refusals import BrokenLog
from submission.state.store.chain import Sealed, seal, unseal
from submission.state.work import InferenceUsage

AT = "2026-12-01T09:00:00.000Z"
HUMAN = Actor(kind="human", id="player", name='Ann "at":"x"')
USAGE = InferenceUsage(client="test", tier="simulation", model="none")

texts = st.text(max_size=12)
numbers = st.one_of(
    st.integers(),
    st.integers(-(2**54), 2**54),
    st.floats(),
    st.floats(-1e22, 1e22),
    st.floats(-1e-3, 1e-3),
    st.integers(-10_000, 10_000).map(float),
)
anything = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(texts, anything, max_size=5)


def rfc(value: Any) -> bytes | None:
    """What the reference writes, or None where it has no form for the value."""
    try:
        return rfc8785.dumps(value)
    except ValueError:
        return None


def frozen(value: Any) -> Document | None:
    try:
        return Document(freeze(value))
    except ValueError:
        return None


@settings(max_examples=500, deadline=None)
@given(anything)
@example(-0.0)
@example([1e15, 1e16, 1e21, 1e22, 123456789012345680.0, 5e-324, 1e-6, 1e-7, 0.1 + 0.2])
@example({"\U0001f600": 1, "\ufb33": 2, "\ue000": 3, "é": 4, "e": 5, "": 6})
@example('": -1.0, 1e5, \x00\x1f\x7f\u2028 \\ \ue000')
@example({"a": 2**53 - 1, "b": -(2**53) + 1, "c": [[], {}, [1.0], {"x": 10.0}]})
@example([2**53, 1.0])
@example([math.nan])
@example("\ud800")
def test_canonical_is_what_rfc_8785_says(value: Any) -> None:
    expected = rfc(value)
    if expected is None:
        with pytest.raises(ValueError):  # noqa: PT011
            canonical(value)
    else:
        assert canonical(value) == expected


@settings(max_examples=300, deadline=None)
@given(objects)
@example({"a": -0.0, "b": [1.0, 1e15, 0.0001, 9007199254740991.0], "\ue000": 1, "\U0001f600": 2})
def test_what_is_frozen_is_written_the_same_way(value: dict[str, Any]) -> None:
    document = frozen(value)
    if document is not None:
        assert canonical_frozen(document) == rfc8785.dumps(value) == canonical(document)


def sealed(artifact: Document, text: str, cause: int | str | None = None) -> list[Sealed]:
    """Three events that hold these."""
    executed = StageExecuted(
        stage_id="a",
        attempt=1,
        status="executed",
        artifact=artifact,
        artifact_sha256=None,
        score=None,
        iq_hits=(),
        memory_injected=(),
        tools_called=(),
        inference_usage=USAGE,
    )
    decision = CeoDecision(
        gate_id="g", stage_id="a", attempt=1, verb="reject", artifact_sha256=None, idempotency_key=text, reason=text
    )
    memory = MemoryWritten(kind="procedural", text=text)
    drafts = [Draft(executed), Draft(decision, HUMAN, cause), Draft(memory)]
    return seal(drafts, "r-chain", 0, GENESIS, AT)


@settings(max_examples=200, deadline=None)
@given(objects, texts, st.none() | st.integers(1, 2**53 - 1) | texts)
@example({"a": float(2**53), "b": 9999999999999998.0, "\ue000": 1}, "", None)
def test_what_was_sealed_comes_out_as_it_was(value: dict[str, Any], text: str, cause: int | str | None) -> None:
    head = GENESIS
    for seq, entry in enumerate(sealed(frozen(value) or Document(), text, cause), 1):
        event = unseal(entry.line, seq)
        assert event == entry.event
        assert event.prev_hash == head
        assert b"\n" not in entry.line
        assert rfc8785.dumps(rfc_fields(entry)) == entry.line.replace(b',"hash":"%s"' % event.hash.encode(), b"")
        head = event.hash


def rfc_fields(entry: Sealed) -> dict[str, Any]:
    """An event's fields as the reference would be given them."""
    event = entry.event
    return {
        "seq": event.seq,
        "run_id": event.run_id,
        "type": event.type,
        "at": event.at,
        "actor": event.actor.model_dump(),
        "payload": event.payload.model_dump(),
        "cause": event.cause,
        "schema_version": event.schema_version,
        "prev_hash": event.prev_hash,
    }


def test_every_bit_that_flips_is_seen() -> None:
    for seq, entry in enumerate(sealed(Document(freeze({"title": "Lanterns – größer", "n": [1, 2.5]})), "why"), 1):
        for place, byte in enumerate(entry.line):
            for bit in range(8):
                line = entry.line[:place] + bytes([byte ^ 1 << bit]) + entry.line[place + 1 :]
                with pytest.raises(BrokenLog) as caught:
                    unseal(line, seq)
                assert (caught.value.seq, caught.value.verdict) == (seq, "integrity")


@settings(deadline=None)
@given(st.data())
def test_every_cut_insertion_and_other_place_is_seen(data: st.DataObject) -> None:
    entry = data.draw(st.sampled_from(sealed(Document(freeze({"title": "Lanterns"})), "why")))
    start = data.draw(st.integers(0, len(entry.line)))
    end = data.draw(st.integers(start, len(entry.line)))
    line = entry.line[:start] + data.draw(st.binary(max_size=8)) + entry.line[end:]
    seq = entry.event.seq if line != entry.line else entry.event.seq + 1
    with pytest.raises(BrokenLog) as caught:
        unseal(line, seq)
    assert caught.value.verdict == "integrity"


@pytest.mark.parametrize("line", [b"", b"{}", b"\x00", b'"}', b',"hash":"' + b"0" * 64 + b'"}', b"[" * 100_000])
def test_what_is_no_line_at_all_is_broken_and_no_crash(line: bytes) -> None:
    with pytest.raises(BrokenLog) as caught:
        unseal(line, 1)
    assert caught.value.verdict == "integrity"
