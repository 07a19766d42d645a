"""What all constructors of an experiment share: typed options, where they were called, axes, clear errors.

A subclass declares its options as annotated class attributes; type checkers see a constructor with those
keyword arguments. A wrong or misspelt argument raises SpecError with the line of the call. An option may hold
an axis; `resolve` gives the object of one run, in which none is left.
"""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, Self, dataclass_transform

from narrows.errors import SpecError, UnitError, did_you_mean, nearest
from narrows.spec.axis import Axis
from narrows.spec.parsers import Parser, Wrong
from narrows.spec.where import called_from_outside, caller

Choose = Callable[[Axis], Any]

REQUIRED: Any = object()
"""The default of an option that has none."""
created: "list[SpecObject]" = []
"""Every object made since the loader last emptied this; how it finds objects that are never used."""
copied: "list[SpecObject]" = []
"""Objects that are only patterns for others, such as the services given to pairs(): whatever name holds them,
they are no part of a run themselves."""


def only_copy(item: "SpecObject") -> None:
    """Say that others have been made after this one, which is no part of a run itself."""
    created.remove(item)
    copied.append(item)


@dataclass(frozen=True)
class Option:
    """One argument of a constructor."""

    parser: Parser
    default: Any
    doc: str


def option(parser: Parser, *, default: Any = REQUIRED, doc: str = "") -> Any:
    """Declare an argument. Defaults are parsed like given values."""
    return Option(parser, default, doc)


def instance(*kinds: "type[SpecObject]") -> Parser:
    """Reader of options that hold other spec objects."""

    def parse(value: Any) -> Any:
        if isinstance(value, kinds):
            return value
        names = [name for kind in kinds for name in kind.names()]
        if isinstance(value, type) and issubclass(value, kinds):
            raise Wrong(f"{value.__name__} is not called", f"write {value.__name__}()")
        close = nearest(value, names) if isinstance(value, str) else None
        example = close or names[0]
        raise Wrong(f"{value!r} is not one of {', '.join(names)}", f"write {example}() without quotes")

    return parse


@dataclass_transform(kw_only_default=True, field_specifiers=(option,))
class SpecObject:
    """Base of everything an experiment file constructs."""

    options: ClassVar[dict[str, Option]] = {}
    positional: ClassVar[tuple[str, ...]] = ()
    may_stand_alone: ClassVar[bool] = False
    """True if calling the constructor without keeping the result makes sense."""

    where: str
    origin: "SpecObject"
    """The object that the experiment file made, of which this is the form of one run."""
    values: dict[str, Any]
    given: frozenset[str]
    """The options that the experiment set; the others have their defaults."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Option)}
        for name in own:
            delattr(cls, name)
        cls.options = {**cls.options, **own}

    @classmethod
    def names(cls) -> list[str]:
        """The constructor's name, or those of its kinds."""
        return [name for sub in cls.__subclasses__() for name in sub.names()] or [cls.__name__]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.where = caller()
        self.origin = self
        created.append(self)
        if len(args) > len(self.positional):
            extra = args[len(self.positional)]
            known = ", ".join(f"{name}=…" for name in self.options) or "nothing"
            self.fail(f"{extra!r} needs a name", f"{type(self).__name__} takes {known}")
        given = dict(zip(self.positional, args, strict=False))
        for name, value in kwargs.items():
            if name not in self.options:
                self.fail(f"unknown argument {name!r}", did_you_mean(name, self.options))
            if name in given:
                self.fail(f"{name} is given twice")
            given[name] = value
        self.given = frozenset(given)
        self.values = {}
        for name, declared in self.options.items():
            if name not in given and declared.default is REQUIRED:
                self.fail(
                    f"{name} is missing", f"add {name}=…" + (f" ({declared.doc})" if declared.doc else "")
                )
            self.values[name] = self._accept(name, given.get(name, declared.default))
        if not self.has_axes():
            self.check()

    def check(self) -> None:
        """Raise if the options do not go together. Called when no option is an axis any more."""

    def fail(self, message: str, remedy: str | None = None) -> NoReturn:
        """Raise the error of this object's line."""
        raise SpecError(f"{type(self).__name__}: {message}", where=self.where, remedy=remedy)

    def __setattr__(self, name: str, value: Any) -> None:
        """Only narrows' own code sets anything: `link.rate = …` in an experiment would have no effect."""
        if called_from_outside():
            what = f"{type(self).__name__}.{name} = {value!r} has no effect"
            if name in self.options:
                remedy = f"give it to the constructor: {type(self).__name__}({name}=…)"
            else:
                remedy = did_you_mean(name, self.options)
            raise SpecError(what, where=caller(), remedy=remedy)
        super().__setattr__(name, value)

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={self.values[name]!s}" for name in self.options if name in self.given)
        return f"{type(self).__name__}({given})"

    def __bool__(self) -> bool:
        return True

    def parsed_default(self, name: str) -> Any:
        """What an option is when nobody gives it; None of a required one."""
        default = self.options[name].default
        return None if default is REQUIRED else self._parse(name, default)

    def with_value(self, name: str, value: Any) -> Self:
        """A copy with one option changed."""
        other = copy.copy(self)
        other.values = self.values | {name: value}
        return other

    def label(self) -> str:
        """The label of this object as a value of an axis."""
        return type(self).__name__

    # ---- axes

    def _accept(self, name: str, value: Any) -> Any:
        """Check a value, or all values of an axis (which stays an axis)."""
        if isinstance(value, Axis):
            for each in value.values.values():
                self._accept(name, each)
            return value
        return self._parse(name, value)

    def _parse(self, name: str, value: Any) -> Any:
        try:
            return self.options[name].parser(value)
        except Wrong as error:
            self.fail(f"{name}: {error.message}", error.remedy)
        except UnitError as error:
            self.fail(f"{name}: {error.message}", error.remedy)

    def has_axes(self) -> bool:
        """Whether an axis is left here or in what this holds."""
        return any(
            isinstance(value, Axis) or (isinstance(value, SpecObject) and value.has_axes())
            for value in self.values.values()
        )

    def is_settled(self) -> bool:
        """Whether it is the same in every run, and was checked when it was made."""
        return not self.has_axes()

    def resolve(self, choose: Choose) -> Self:
        """This object in one run: `choose` gives the value of each axis."""
        if self.is_settled():
            return self
        resolved = copy.copy(self)
        resolved.values = {name: self._resolve(name, value, choose) for name, value in self.values.items()}
        resolved.check()
        return resolved

    def _resolve(self, name: str, value: Any, choose: Choose) -> Any:
        chosen = settle(value, choose)
        parsed = self._parse(name, chosen) if chosen is not value else value
        return parsed.resolve(choose) if isinstance(parsed, SpecObject) else parsed

    def parts(self) -> Iterator[Any]:
        """The objects and axes that this holds directly."""
        for value in self.values.values():
            if isinstance(value, (SpecObject, Axis)):
                yield value


def settle(value: Any, choose: Choose) -> Any:
    """A value with its axis decided, also where an axis' value is another axis."""
    while isinstance(value, Axis):
        value = choose(value)
    return value
