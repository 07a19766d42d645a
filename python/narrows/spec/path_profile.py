"""Path profiles: which values of path properties go together, and links that are drawn from them.

`link = profile("home-wifi.profile").sample()`: each seed of `repeat()` is another scenario, the same in every
cell of the experiment and on every machine. A profile is a Gaussian copula (NORTA of Cario and Nelson, 1997):
for each property the quantiles as they were measured, and for each pair the correlation of the normal
variables behind them. It is fitted by `narrows profile`; some from published figures come along. Nothing
here fits.
"""

import hashlib
import json
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

from narrows.errors import SpecError, did_you_mean, nearest
from narrows.headers import FULL_FRAME_BYTES
from narrows.qdiscs.bfifo import bfifo
from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.link import Link
from narrows.spec.where import caller
from narrows.units import NS_PER_S, Duration, Rate, Size

FORMAT = 1
SUFFIX = ".profile"
COMES_WITH = Path(__file__).parent / "path_profiles"
LEAST_QUEUE_BYTES = 2 * FULL_FRAME_BYTES
"""A queue of less than two full frames could not take the frames of one delayed ACK's answer."""
RTT_STEP_NS = 10_000
"""Drawn delays and rates are rounded, so that no machine's last bit of a logarithm matters."""
RATE_STEP_BPS = 1000
_NORMAL = NormalDist()

PROPERTIES: dict[str, str] = {
    "base_rtt_ns": "the link's base_rtt",
    "capacity_bps": "its rate",
    "peak_queueing_delay_ns": "its queue: a FIFO that holds so much at that rate",
    "random_loss": "its loss: the share of segments lost with no queue to explain it",
    "jitter_ns": "nothing: what is measured holds the queue's own",
    "ack_aggregation": "nothing: it is the receiver's and the access network's, which the link has not",
    "capacity_variation": "nothing: how a rate moves is not known from how much",
    "reordering": "nothing: the share of segments that came out of order",
    "throughput_bps": "nothing: it is what a service fetched, not what the path could carry",
}
"""What a profile may know of a path, and what a drawn link makes of it."""


@dataclass(frozen=True)
class Property:
    """The distribution of one property.

    `quantiles` are pairs of a share and the value at it, both never falling. `known` of `sessions` had a
    value; both are None where the distribution was published and not measured here. `source` says where it
    is from.
    """

    quantiles: tuple[tuple[float, float], ...]
    known: int | None
    sessions: int | None
    source: str

    def at(self, share: float) -> float:
        """The value at a share: linear between quantiles, in the logarithm where both are positive; the ends
        beyond them."""
        shares = [each for each, _ in self.quantiles]
        index = bisect_right(shares, share)
        if index == 0:
            return self.quantiles[0][1]
        if index == len(shares):
            return self.quantiles[-1][1]
        (low, a), (high, b) = self.quantiles[index - 1 : index + 1]
        part = (share - low) / (high - low)
        return a * math.exp(part * math.log(b / a)) if a > 0 and b > 0 else a + (b - a) * part


@dataclass(frozen=True)
class Correlation:
    """The correlation of the normal variables behind two properties. `known`: sessions with both; None where
    it was published."""

    first: str
    second: str
    value: float
    known: int | None


@dataclass(frozen=True)
class PathProfile:
    """The joint distribution of path properties; pairs that `correlations` lacks are independent."""

    name: str
    what: str
    properties: Mapping[str, Property]
    correlations: tuple[Correlation, ...] = ()

    def draw(self, seed: str) -> dict[str, float]:
        """One scenario: a value for each property, the same for the same seed."""
        names = list(self.properties)
        apart = [_NORMAL.inv_cdf(_uniform(seed, name)) for name in names]
        together = [
            sum(a * b for a, b in zip(row, apart, strict=False)) for row in cholesky(self.matrix(names))
        ]
        return {
            name: self.properties[name].at(_NORMAL.cdf(z)) for name, z in zip(names, together, strict=True)
        }

    def matrix(self, names: Sequence[str]) -> list[list[float]]:
        """The correlations of these properties as a matrix, 0 where none is known."""
        place = {name: index for index, name in enumerate(names)}
        matrix = [[float(a == b) for a in names] for b in names]
        for each in self.correlations:
            a, b = place[each.first], place[each.second]
            matrix[a][b] = matrix[b][a] = each.value
        return matrix

    def sample(self, **options: Any) -> "SampledLink":
        """A link that is drawn from this profile with the run's seed. What `options` give is not drawn;
        they are those of a Link."""
        return SampledLink(profile=self, **options)

    def to_json(self) -> str:
        """The profile as its file holds it."""
        properties = {
            name: {
                "quantiles": [[share, value] for share, value in each.quantiles],
                "known": each.known,
                "sessions": each.sessions,
                "source": each.source,
            }
            for name, each in self.properties.items()
        }
        pairs = [[each.first, each.second, each.value, each.known] for each in self.correlations]
        return json.dumps(
            {"format": FORMAT, "what": self.what, "properties": properties, "correlations": pairs}, indent=1
        )


def _uniform(seed: str, name: str) -> float:
    """A draw between 0 and 1, without both. A property's draw is the same in every profile."""
    digest = hashlib.sha256(f"narrows profile {name} {seed}".encode()).digest()
    return (int.from_bytes(digest[:6], "big") + 0.5) / 2**48


def cholesky(matrix: Sequence[Sequence[float]]) -> list[list[float]]:
    """The lower triangle whose square is the matrix. Raises ValueError when it is no correlation matrix."""
    lower: list[list[float]] = []
    for i, row in enumerate(matrix):
        new: list[float] = []
        for j in range(i):
            rest = row[j] - sum(new[k] * lower[j][k] for k in range(j))
            new.append(rest / lower[j][j])
        left = row[i] - sum(each * each for each in new)
        if left <= 1e-9:
            raise ValueError("the correlations contradict each other")
        lower.append([*new, math.sqrt(left)])
    return lower


class SampledLink(Link):
    """A link whose rate, base RTT, queue and loss are drawn from a profile, where they are not given."""

    profile: PathProfile = option(lambda value: value)
    rate: str | Rate | None = option(p.optional(p.link_rate), default=None)

    def check(self) -> None:
        if "rate" not in self.given and "capacity_bps" not in self["profile"].properties:
            self.fail(f"the profile {self['profile'].name} knows no capacity", 'sample(rate="50 Mbit/s")')
        super().check()

    def check_rate(self) -> None:
        """A rate that is not given is drawn later."""
        if self["rate"] is not None:
            super().check_rate()

    def label(self) -> str:
        return str(self["profile"].name)

    def drawn(self, seed: str) -> "SampledLink":
        """The link of one seed."""
        values = self["profile"].draw(seed)
        link = self
        if "rate" not in self.given:
            link = link.with_value("rate", Rate(_stepped(values["capacity_bps"], RATE_STEP_BPS)))
        if not self.given & {"base_rtt", "delay_down", "delay_up"} and "base_rtt_ns" in values:
            link = link.with_value("base_rtt", Duration(_stepped(values["base_rtt_ns"], RTT_STEP_NS)))
        if "queue" not in self.given and "peak_queueing_delay_ns" in values:
            held = link["rate"].bps / 8 * values["peak_queueing_delay_ns"] / NS_PER_S
            link = link.with_value("queue", bfifo(limit=Size(max(round(held), LEAST_QUEUE_BYTES))))
        if not self.given & {"loss", "loss_up"} and "random_loss" in values:
            link = link.with_value("loss", round(100 * values["random_loss"], 4)).with_value("loss_up", 0.0)
        link.check()
        return link


def _stepped(value: float, step: int) -> int:
    return max(round(value / step), 1) * step


# ---- files -----------------------------------------------------------------------------------------------


def named() -> list[str]:
    """The profiles that come with narrows."""
    return sorted(file.stem for file in COMES_WITH.glob(f"*{SUFFIX}"))


def profile(name: str) -> PathProfile:
    """A path profile: one that comes with narrows by its name, or a file that lies beside the experiment."""
    if not isinstance(name, str) or not name:
        raise SpecError(f"profile: {name!r} is no name", where=caller(), remedy=f'profile("{named()[0]}")')
    if name in named():
        return read(COMES_WITH / f"{name}{SUFFIX}")
    beside = Path(caller().rpartition(":")[0]).parent / name
    if not name.endswith(SUFFIX):
        raise SpecError(
            f"no profile is called {name!r}",
            where=caller(),
            remedy=f"{did_you_mean(name, named())}; a file's name ends with {SUFFIX}",
        )
    try:
        return read(beside)
    except SpecError as error:
        raise SpecError(error.message, where=caller(), remedy=error.remedy) from None


def read(file: Path) -> PathProfile:
    """A profile's file. Raises SpecError when it is none, with what is wrong with it."""
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise _wrong(file, "it is not a text file") from None
    except OSError as error:
        others = [each.name for each in file.parent.glob(f"*{SUFFIX}")] if file.parent.is_dir() else []
        close = nearest(file.name, others)
        raise SpecError(
            f"cannot read the profile {file.name}: {error.strerror}",
            remedy=f"did you mean {close}?" if close else "narrows profile DIR --out FILE makes one",
        ) from None
    try:
        held = json.loads(text, parse_constant=lambda word: _refuse(file, f"{word} is no number"))
        if held["format"] != FORMAT:
            raise _wrong(file, f"its format is {held['format']}, and this narrows reads {FORMAT}")
        _keys(held, ("format", "what", "properties", "correlations"), "it", file)
        for name, each in held["properties"].items():
            _keys(each, ("quantiles", "known", "sessions", "source"), str(name), file)
        properties = {
            str(name): Property(
                tuple((float(share), float(value)) for share, value in each["quantiles"]),
                each["known"],
                each["sessions"],
                str(each["source"]),
            )
            for name, each in held["properties"].items()
        }
        pairs = tuple(Correlation(str(a), str(b), float(r), n) for a, b, r, n in held["correlations"])
        found = PathProfile(file.stem, str(held["what"]), properties, pairs)
    except KeyError as error:
        raise _wrong(file, f"it has no {error.args[0]}") from None
    except json.JSONDecodeError as error:
        raise _wrong(file, f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise _wrong(file, str(error)) from None
    _check(found, file)
    return found


def _keys(held: Mapping[str, Any], keys: Sequence[str], whose: str, file: Path) -> None:
    """Raises SpecError where a key is missing, or there is another: a mistyped one would say nothing."""
    for key in held:
        if key not in keys:
            raise SpecError(f"{file.name}: {whose} has an unknown key {key}", remedy=did_you_mean(key, keys))
    for key in keys:
        if key not in held:
            raise _wrong(file, f"{whose} has no {key}")


def _refuse(file: Path, what: str) -> None:
    raise _wrong(file, what)


def _check(path_profile: PathProfile, file: Path) -> None:
    for name, each in path_profile.properties.items():
        if name not in PROPERTIES:
            raise SpecError(
                f"{file.name} has an unknown property {name}", remedy=did_you_mean(name, PROPERTIES)
            )
        shares, values = zip(*each.quantiles, strict=True) if each.quantiles else ((), ())
        if not shares or list(shares) != sorted(set(shares)) or list(values) != sorted(values):
            raise _wrong(file, f"the quantiles of {name} are none, or fall")
        if not all(math.isfinite(value) and value >= 0 for value in values):
            raise _wrong(file, f"{name} has a value below 0, or none that is finite")
        if not (shares[0] >= 0 and shares[-1] <= 1) or (name in SHARES and values[-1] >= 1):
            raise _wrong(file, f"a share of {name} is not from 0 to 1")
    if not path_profile.properties:
        raise _wrong(file, "it knows no property")
    for pair in path_profile.correlations:
        for name in (pair.first, pair.second):
            if name not in path_profile.properties:
                raise _wrong(file, f"a correlation is of {name}, which it does not know")
        if not math.isfinite(pair.value):
            raise _wrong(file, f"the correlation of {pair.first} and {pair.second} is no number")
    try:
        cholesky(path_profile.matrix(list(path_profile.properties)))
    except ValueError as error:
        raise _wrong(file, str(error)) from None


SHARES = ("random_loss", "reordering")


def _wrong(file: Path, what: str) -> SpecError:
    return SpecError(
        f"{file.name} is no path profile: {what}", remedy="narrows profile DIR --out FILE makes one"
    )
