"""Every call that the documents and the help texts show can be parsed: names, options and choices exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from narrows.cli import query
from narrows.cli.main import build_app
from narrows.store.schema import TABLES
from narrows.studies.find import studies

ROOT = Path(__file__).parents[2]
STUDIES = sorted((ROOT / "python/narrows/studies").glob("*/README.md"))
DOCUMENTS = [ROOT / "README.md", ROOT / "kernel/README.md", *sorted((ROOT / "docs").glob("*.md")), *STUDIES]
LINK = re.compile(r"\]\(([^)\s]+)\)")
IN_BLOCK = re.compile(r"^\s*(?:\./)?narrows [a-z]")
INLINE = re.compile(r"`(?:\./)?(narrows [a-z][^`…]*)`")
MAKE = re.compile(r"(?:`|^ {4})make ([a-z][a-z-]*)", re.MULTILINE)
NOT_WHOLE = re.compile(r"Missing parameter|requires an argument")
GROUP: Any = typer.main.get_command(build_app())


def words_of(text: str) -> list[str] | None:
    """The words of a call; None where it is not whole: a quote or the line goes on."""
    if text.endswith("\\"):
        return None
    try:
        words = shlex.split(text, comments=True)
    except ValueError:
        return None
    return words[: words.index(">")] if ">" in words else words


def calls(text: str) -> Iterator[list[str]]:
    """Calls of narrows in blocks, whatever lines they take."""
    lines = iter(text.splitlines())
    for line in lines:
        if not (IN_BLOCK.match(line) and line.startswith("  ")):
            continue
        call, words = line, words_of(line)
        while words is None:
            call = f"{call.removesuffix(chr(92))}\n{next(lines)}"
            words = words_of(call)
        yield words[1:]


def mentions(text: str) -> Iterator[list[str]]:
    """Calls between backticks, which may leave out what they are not about."""
    for found in INLINE.findall(text):
        words = words_of(" ".join(found.split()))
        assert words is not None, found
        yield words[1:]


def is_group(command: Any) -> bool:
    return hasattr(command, "commands")


def check(words: list[str]) -> None:
    """Parses the call as the program would; nothing is carried out."""
    command: Any = GROUP
    context = command.context_class(command, info_name="narrows")
    while is_group(command):
        name, command, words = command.resolve_command(context, words)
        if not words and (is_group(command) or any(each.required for each in command.params)):
            return  # a mention by name alone
    command.make_context(name, words, parent=context)


def fault(words: list[str]) -> str | None:
    """What is wrong with a call."""
    try:
        check(words)
    except Exception as error:  # whichever class the library has for it
        return f"{type(error).__name__}: {error}"
    return None


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_call_in_a_document_can_be_parsed(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for words in calls(text):
        assert fault(words) is None, f"narrows {shlex.join(words)}: {fault(words)}"
    for words in mentions(text):
        found = fault(words)
        assert found is None or NOT_WHOLE.search(found), f"narrows {shlex.join(words)}: {found}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_in_a_document_leads_to_a_file_and_a_heading_of_it(document: Path) -> None:
    for link in LINK.findall(document.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        name, _, heading = link.partition("#")
        target = document.parent / name if name else document
        assert target.exists(), link
        if heading:
            assert heading in anchors(target), link


def anchors(document: Path) -> set[str]:
    """The addresses of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_a_studys_page_is_short_and_each_study_has_one() -> None:
    assert {page.parent.name for page in STUDIES} == set(studies())
    for page in STUDIES:
        assert len(page.read_text(encoding="utf-8").splitlines()) <= 150, page


def test_the_documents_were_found_and_a_wrong_call_is_noticed() -> None:
    assert sum(len(list(calls(path.read_text(encoding="utf-8")))) for path in DOCUMENTS) > 25
    for wrong in (["calibrat"], ["run", "x.py", "--onyl", "a=b"], ["query", "DIR", "SQL", "--format", "xml"]):
        assert re.search(r"No such|not one of", fault(wrong) or "")


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for document in DOCUMENTS:
        named = set(MAKE.findall(document.read_text(encoding="utf-8")))
        assert named <= targets, (document.name, named - targets)


def leaves(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Each command by its whole name."""
    for name, command in group.commands.items():
        if is_group(command):
            yield from leaves(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


LEAVES = dict(leaves(GROUP))


@pytest.mark.parametrize("name", LEAVES)
def test_an_option_of_one_value_that_is_given_twice_is_refused_by_every_command(name: str) -> None:
    for one in LEAVES[name].params:
        word, again = one.opts[0], (one.secondary_opts or one.opts)[0]
        if word.startswith("-") and not one.is_eager:  # --help stops before all else
            values = [] if one.is_flag else ["1"]
            said = fault([*name.split(), word, *values, again, *values]) or ""
            once = not one.multiple and (not one.is_flag or one.secondary_opts)
            assert (f"{word} is given more than once" in said) == bool(once), (word, said)


@pytest.mark.parametrize("name", LEAVES)
def test_every_commands_help_shows_calls_of_it(name: str) -> None:
    of = name.split()
    shown = [words for words in calls(LEAVES[name].help or "") if words[: len(of)] == of]
    assert shown, f"narrows {name} --help shows no call of it"
    for words in shown:
        assert fault(words) is None, f"narrows {shlex.join(words)}: {fault(words)}"


def test_the_help_of_query_names_every_table() -> None:
    assert query.TABLES.split(", ") == ["runs", "measures", *TABLES]
