"""Replay is a pure fold: the same state at every seq, and a broken log up to its break."""

from dataclasses import replace

import pytest

from submission.state.evolve import fold
from submission.state.refusals import BrokenLog
from submission.state.replay import frames, replay
from submission.state.run import Run, state_hash
from submission.state.store.verify import sound_events
from tests.given import approve, given, go, start, submit, whole
from tests.logs import everything, lines_of, two_stages


def test_every_frame_is_the_fold_up_to_its_event():
    events = everything().events
    for event, run in frames(events):
        folded = fold(events[: event.seq])
        assert folded == run
        again = replay(events, event.seq).run
        assert again is not None
        assert state_hash(again) == state_hash(run)


def test_replay_gives_the_state_the_game_was_in():
    game = given(start(), go())
    before = game.now
    game.do(submit()).do(approve())
    assert replay(game.events, before.seq).run == before
    assert replay(game.events) == (game.now, None)


def test_replay_from_bytes_is_replay():
    game = everything()
    assert replay(sound_events(lines_of(game))).run == game.now


@pytest.mark.parametrize("until", [0, -1])
def test_before_the_first_event_there_is_no_run(until):
    assert replay(whole().events, until) == (None, None)


def test_past_the_end_is_the_end():
    game = whole()
    assert replay(game.events, 10**9).run == game.now


def test_a_broken_log_replays_up_to_its_break_and_names_it():
    events = two_stages().events
    del events[8]
    run, broken = replay(events)
    assert isinstance(run, Run)
    assert run.seq == 8
    assert broken is not None
    assert (broken.seq, broken.verdict) == (10, "integrity")


def test_what_stands_after_the_asked_seq_is_not_looked_at():
    events = two_stages().events
    events[9] = replace(events[9], prev_hash="0" * 64)
    assert replay(events, 9).broken is None
    assert replay(events, 10).broken is not None


def test_a_reader_that_breaks_ends_the_replay():
    lines = lines_of(two_stages())
    lines[4] = lines[4].replace(b"Lanterns", b"Lantern5")
    run, broken = replay(sound_events(lines))
    assert run is not None
    assert run.seq == 4
    assert broken is not None
    assert (broken.seq, broken.verdict) == (5, "integrity")


def test_frames_before_the_break_are_given():
    events = two_stages().events
    events[3] = events[5]
    given_out = frames(events)
    assert [next(given_out).event.seq for _ in range(3)] == [1, 2, 3]
    with pytest.raises(BrokenLog):
        next(given_out)


def test_no_event_is_no_run():
    assert replay([]) == (None, None)
