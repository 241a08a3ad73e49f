"""The workforce that needs no credentials: it writes from a pack's `simulation/` folder, about the pitch it was given.

An artifact follows from the pitch, the seed, the stage, the attempt and the directions, and from nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from submission.agents.craft.choices import Choices
from submission.agents.craft.cleaning import clip
from submission.agents.craft.directions import Ask, names_of, read_ask
from submission.agents.craft.flaws import Flaws
from submission.agents.craft.scenes import FOLDER, Scenes, parsed
from submission.agents.craft.upstream import Upstream, get, put
from submission.agents.craft.weaving import Weaver, nudged
from submission.agents.craft.wording import Node, Scene, Wording, fields_of
from submission.agents.pitch import read_pitch
from submission.state.work import Brief, Direction
from submission.state.world import Check, Stage, World

FOLLOWED = "direction_followed"
"""The field in which an artifact says which of the human's words it took up, and where."""

MOST_NOTES = 5
MOST_TRIES = 12
"""How often a draft that must differ from the one before is written anew before it is left as it is."""


@dataclass(frozen=True, slots=True)
class _Script:
    """One artifact's template. `let` are the words that only it uses; `names` is what its fields may be called."""

    let: tuple[tuple[str, Node], ...]
    artifact: Node
    names: Mapping[str, str]
    default: str
    checks: tuple[Check, ...]


class Simulation:
    """Built once from a world; every template is compiled here. Raises KeyError when the pack lacks one it needs."""

    def __init__(self, world: World) -> None:
        wording, files = Wording(), world.files
        self._scenes = Scenes(files, wording)
        self._lexicon = self._scenes.lexicon
        self._aliases = parsed(files[f"{FOLDER}aliases.yaml"])
        weave = parsed(files[f"{FOLDER}weave.yaml"])
        self._weaver = Weaver(weave, self._aliases["labels"], wording, self._lexicon)
        self._manners = {name: frozenset(w.strip() for w in text.split(",")) for name, text in weave["manners"].items()}
        self._scripts = {stage.id: self._script(world, stage, wording) for stage in world.stages}
        self._courses = {
            option: wording.node({"one_of": several}, "course")
            for option, several in parsed(files[f"{FOLDER}options.yaml"]).items()
        }
        self._quest = {
            stage_id: wording.node(words, stage_id) for stage_id, words in parsed(files[f"{FOLDER}quest.yaml"]).items()
        }
        self._flaws = Flaws(parsed(files[f"{FOLDER}flaws.yaml"]), [stage.id for stage in world.stages], wording)

    def write(self, brief: Brief) -> dict[str, Any]:
        """The artifact that a brief asks for."""
        script = self._scripts[brief.stage.id]
        own, wide = self._asks(brief, script)
        inherited = self._inherited(brief)
        decided = self._decided(brief, script, own, inherited)
        given = inherited | decided
        again = {field: index + 1 for index, ask in enumerate(own) for field in self._rewritten(ask, script)}
        for turn in range(MOST_TRIES):
            artifact = self._draft(brief, script, own, wide, given, again, frozenset(decided))
            stale = self._stale(brief, script, own, artifact)
            if not stale:
                break
            again |= {field: again.get(field, 0) + 1 + turn // 4 for field in stale}
        return artifact

    def quest_words(self, pitch: str, seed: int, stage_id: str) -> dict[str, str] | None:
        """Title and goal of a stage in this venture's words; None when the pack has none for it."""
        node = self._quest.get(stage_id)
        scene = Scene(self._scenes.words(pitch, seed, "middle", ()), Choices("quest", pitch, seed))
        return node(scene) if node else None

    # Parts of a draft

    def _draft(
        self,
        brief: Brief,
        script: _Script,
        own: list[Ask],
        wide: list[Ask],
        given: dict[str, str | int],
        again: dict[str, int],
        decided: frozenset[str],
    ) -> dict[str, Any]:
        scene = self._scene(brief, script, given, again)
        artifact: dict[str, Any] = script.artifact(scene)
        flaws = self._flaws.of(brief.pitch, brief.seed, brief.stage.id, brief.stage.artifact)
        self._flaws.spoil(flaws, [field for ask in own for field in ask.fields], artifact, scene)
        notes = [self._follow(ask, script, decided, scene, artifact) for ask in (*wide, *own)]
        course = next(
            (self._courses[d.option_id] for d in reversed(brief.directions) if d.option_id in self._courses), None
        )
        if course:
            artifact["course"] = course(scene)
        if notes:
            artifact[FOLLOWED] = notes[-MOST_NOTES:]
        return artifact

    def _scene(self, brief: Brief, script: _Script, given: dict[str, str | int], again: dict[str, int]) -> Scene:
        lean = next((d.lean for d in reversed(brief.directions) if d.lean), None) or "middle"
        words = dict(self._scenes.words(brief.pitch, brief.seed, lean, tuple(sorted(given.items()))))
        upstream = Upstream(brief.upstream)
        words |= {"up": upstream.value, "up_sum": upstream.total, "range": range}
        scene = Scene(words, Choices("stage", brief.pitch, brief.seed, brief.stage.id), again)
        for name, node in script.let:
            words[name] = node(scene)
        return scene

    def _follow(
        self, ask: Ask, script: _Script, decided: frozenset[str], scene: Scene, artifact: dict[str, Any]
    ) -> str:
        """Weaves one ask into the fields it names, or into the one that fits best; the sentence that says so."""
        where = []
        for field in self._targets(ask, script, artifact):
            value = get(artifact, field)
            where.append(field)
            if self._aliases["settings"].get(field, "").lstrip("-") in decided or field in ask.cures:
                continue
            # Words that replace a field replace the one they are about; other fields they name take them up.
            about = replace(ask, manner="mention") if ask.manner == "become" and len(where) > 1 else ask
            put(artifact, field, self._weaver.woven(field, value, about, scene))
        return self._weaver.followed(ask, where, scene)

    def _targets(self, ask: Ask, script: _Script, artifact: Mapping[str, Any]) -> list[str]:
        """Where in this artifact an ask's words go."""
        targets: list[str] = []
        if ask.manner == "drop" and not ask.fields:
            targets = [field for field, value in artifact.items() if field != FOLLOWED and says(value, ask.phrase)]
        for field in ask.fields or (() if targets else (script.default,)):
            settable = field in self._aliases["settings"] and (ask.number is not None or ask.manner != "mention")
            place = field if settable else self._aliases["into"].get(field, field)
            place = place if get(artifact, place) is not None else field
            if get(artifact, place) is not None and place not in targets:
                targets.append(place)
        return targets or [script.default]

    def _stale(self, brief: Brief, script: _Script, own: list[Ask], artifact: dict[str, Any]) -> list[str]:
        """The fields that had to change since the last attempt and did not."""
        if brief.previous is None:
            return []
        before = {key: thawed(value) for key, value in brief.previous.items() if key != FOLLOWED}
        named = self._targets(own[-1], script, artifact) if own else []
        same = [field for field in named if get(before, field) == get(artifact, field)]
        unchanged = before == {key: value for key, value in artifact.items() if key != FOLLOWED}
        return same or ([script.default] if unchanged else [])

    # What the human's words ask for

    def _asks(self, brief: Brief, script: _Script) -> tuple[list[Ask], list[Ask]]:
        """Rejections and redirects in the human's own words: of this stage, and the newest redirect of another."""
        said = [d for d in brief.directions if d.option_id is None and d.verb != "approve"]
        own = [self._ask(d, script) for d in said if d.stage_id == brief.stage.id]
        other = [d for d in said if d.stage_id != brief.stage.id and d.verb == "redirect"]
        # Fields of another stage's artifact mean nothing here: only the words travel.
        wide = [
            Ask(a.quote, (), frozenset(), "mention", a.phrase, a.form)
            for a in (self._ask(d, script) for d in other[-1:])
        ]
        return own, [ask for ask in wide if ask.phrase]

    def _ask(self, direction: Direction, script: _Script) -> Ask:
        return read_ask(direction, script.names, self._manners, script.checks, self._lexicon)

    def _inherited(self, brief: Brief) -> dict[str, str | int]:
        """Facts of the venture that an approved artifact hands down."""
        said = clip(Upstream(brief.upstream).value("audience", ""), 64)
        audience = self._lexicon.english.lower_first(said)
        told = read_pitch(brief.pitch, self._lexicon).audience
        return {"audience": audience} if audience not in ("", told) else {}

    def _decided(
        self, brief: Brief, script: _Script, own: list[Ask], inherited: dict[str, str | int]
    ) -> dict[str, str | int]:
        """Facts of the venture that a human set at this gate."""
        decided: dict[str, str | int] = {}
        wanted = [
            (field, fact, ask)
            for ask in own
            for field in ask.fields
            if (fact := self._aliases["settings"].get(field)) is not None
        ]
        plain = script.artifact(self._scene(brief, script, inherited, {})) if wanted else {}
        for field, fact, ask in wanted:
            if isinstance(get(plain, field), str):
                if ask.manner == "become" and ask.phrase and ask.form == "noun":
                    decided[fact] = self._lexicon.audience(ask.phrase, lenient=True) or ask.phrase
            elif field not in ask.cures or ask.number is not None:
                self._set_number(decided, plain, fact, ask)
        return decided

    def _set_number(self, decided: dict[str, str | int], plain: Mapping[str, Any], fact: str, ask: Ask) -> None:
        inverse, fact = fact.startswith("-"), fact.lstrip("-")
        fields = [field for field, name in self._aliases["settings"].items() if name == fact]
        value = next((v for v in (get(plain, field) for field in fields) if isinstance(v, int)), None)
        if value is None or (not inverse and ask.manner == "mention" and ask.number is None):
            return
        if inverse:
            decided[fact] = max(value + (-2 if ask.manner == "higher" else 2), 3)
        else:
            decided[fact] = max(nudged(int(decided.get(fact, value)), ask), 1)

    def _rewritten(self, ask: Ask, script: _Script) -> list[str]:
        """The fields of an ask that has no words to take up: they are written anew."""
        anew = ask.manner in ("again", "sharper") and not ask.phrase
        return [field for field in ask.fields or (script.default,) if field not in ask.cures] if anew else []

    def _script(self, world: World, stage: Stage, wording: Wording) -> _Script:
        data = parsed(world.files[f"{FOLDER}artifacts/{stage.id}.yaml"])
        checks = [check for v in world.validators if v.id in stage.validators for check in v.checks]
        kind = stage.artifact
        return _Script(
            let=tuple((name, wording.node(value, name)) for name, value in data.get("let", {}).items()),
            artifact=wording.node(data["artifact"]),
            names=names_of(fields_of(data["artifact"]), self._aliases.get(kind, {})),
            default=self._aliases["default"][kind],
            checks=tuple(checks),
        )


def thawed(value: Any) -> Any:
    """A frozen document as the plain lists and objects a draft is made of."""
    if isinstance(value, Mapping):
        return {key: thawed(item) for key, item in value.items()}
    return [thawed(item) for item in value] if isinstance(value, (list, tuple)) else value


def says(value: Any, phrase: str) -> bool:
    """Whether a draft's value contains a telling word of a phrase."""
    words = [word for word in phrase.lower().split() if len(word) > 3]
    return any(word in str(value).lower() for word in words)
