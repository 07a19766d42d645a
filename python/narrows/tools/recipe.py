"""A program that comes as a folder: its TOML, read and checked, the words that start it, what it is built of.

In a word narrows fills in what stands as `@name`; which names there are is each kind's own, and the agent has
some of its own.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narrows.errors import SpecError, did_you_mean
from narrows.spec.named import EXAMPLES
from narrows.spec.traffic import Traffic

AGENTS_OWN = ("agent", "out", "own", "checkout", "content")
"""Those that the agent fills in."""
WORD = re.compile(r"@([a-z]+)\b")
_TEXTS, _LISTS, _BUILD = ("about",), ("needs", "files"), "build"
Fail = Callable[[str, str | None], Exception]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What every kind has."""

    name: str
    about: str = ""
    needs: tuple[str, ...] = ()
    """Programs of the system."""
    files: tuple[str, ...] = ()
    """The part of its folder that it is built of."""
    build: tuple[tuple[str, ...], ...] = ()
    """Commands that build it from copies of them, in a directory that is kept."""
    folder: Path | None = None

    def words(self) -> Iterable[str]:
        """All that start it."""
        raise NotImplementedError

    def has(self, switch: str) -> bool:
        """Whether a word that narrows fills in stands in its words."""
        return any(switch in WORD.findall(word) for word in self.words())


@dataclass(frozen=True)
class Kind:
    """What a file of a kind may hold beside what each has: texts, lists of words; and what must be in it,
    with an example."""

    about: str
    texts: tuple[str, ...]
    lists: tuple[str, ...]
    needed: Mapping[str, str]


def recipes(folder: str, file: str) -> list[Path]:
    """The files of those that come with narrows."""
    return sorted((EXAMPLES / folder).glob(f"*/{file}"))


def failing(path: Path) -> Fail:
    """What makes an error of a file."""

    def fail(message: str, remedy: str | None) -> SpecError:
        return SpecError(message, where=str(path), remedy=remedy)

    return fail


def table_in(path: Path, kind: Kind) -> dict[str, Any]:
    """What a file says, each of its type; a SpecError says what is wrong in it."""
    fail = failing(path)
    try:
        table = tomllib.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise fail(f"no {kind.about} can be read: {error}", None) from None
    texts, lists = (*kind.texts, *_TEXTS), (*kind.lists, *_LISTS)
    known = (*texts, *lists, _BUILD)
    for key, value in table.items():
        if key not in known:
            raise fail(f"unknown: {key}", did_you_mean(key, known))
        if not (isinstance(value, str) if key in texts else _is_words(value, nested=key == _BUILD)):
            raise fail(f"{key} = {value!r} is not {'text' if key in texts else 'a list of words'}", None)
    for key, example in kind.needed.items():
        if not table.get(key):
            raise fail(f"{key} is missing", f"{key} = {example}")
    made = {key: value if key in texts else tuple(value) for key, value in table.items()}
    return made | {_BUILD: tuple(tuple(command) for command in table.get(_BUILD, ()))}


def check_words(words: Iterable[str], filled: Iterable[str], fail: Fail) -> None:
    """Raise what `fail(message, remedy)` makes of a word that nobody fills in."""
    known = (*filled, *AGENTS_OWN)
    for found in (found for word in words for found in WORD.findall(word)):
        if found not in known:
            raise fail(f"nothing fills in @{found}", did_you_mean(found, known))


def check_choice(choices: str, has: tuple[str, ...], words: Iterable[str], switch: str, fail: Fail) -> None:
    """Several to choose from need a word that chooses."""
    if len(has) > 1 and switch not in WORD.findall(" ".join(words)):
        raise fail(
            f"{choices}: {', '.join(has)}, and nothing in its words chooses one", f"@{switch} in its words"
        )


def check_switches(item: Traffic, recipe: Recipe, switches: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse an option that was chosen and that no word tells the program. `switches`: the words of each."""
    for name, words in switches.items():
        if item[name] != item.parsed_default(name) and not any(map(recipe.has, words)):
            known = f", or @{words[0]} in its words" if words else ""
            item.fail(f"{recipe.name} has no switch for {name}", f"leave {name} out{known}")


def fill(words: Iterable[str], filled: Mapping[str, str]) -> tuple[str, ...]:
    """The words; what the agent fills in stays."""
    return tuple(WORD.sub(lambda found: filled.get(found[1], found[0]), word) for word in words)


def _is_words(value: Any, *, nested: bool) -> bool:
    if nested:
        return isinstance(value, list) and all(each and _is_words(each, nested=False) for each in value)
    return isinstance(value, list) and all(isinstance(word, str) and word for word in value)
