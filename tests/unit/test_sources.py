"""What we copied from Cloudflare's client, against the installed package's own sources."""

from __future__ import annotations

import json
import re
from pathlib import Path

import narrows
from narrows.metrics.latency import aim, cloudflare
from narrows.metrics.rate import request_percentile

CLIENT = Path(narrows.__file__).parent / "tools/cloudflare/client"
MAP = CLIENT / "node_modules/@cloudflare/speedtest/dist/speedtest.js.map"


def source(name: str) -> str:
    made = json.loads(MAP.read_text())
    (text,) = (
        text
        for path, text in zip(made["sources"], made["sourcesContent"], strict=True)
        if path.endswith(f"/{name}.ts")
    )
    return str(text)


def numbers(text: str) -> tuple[float, ...]:
    return tuple(float(word) for word in text.replace("\n", " ").split(","))


def snake(name: str) -> str:
    return re.sub("([A-Z])", lambda found: f"_{found[1].lower()}", name)


def test_the_aim_tables_are_those_of_the_package() -> None:
    text = source("internalConfig")
    found = re.findall(r"(\w+): scaleThreshold\(\s*\[([^]]*)\],\s*\[([^]]*)\]\s*\)", text)
    tables = {snake(name): (numbers(at), numbers(given)) for name, at, given in found}
    assert tables == aim.TABLES
    found = re.findall(r"(\w+): \{\s*input: \[([^]]*)\],\s*pointThresholds: \[([^]]*)\]", text)
    experiences = {
        name: (tuple(snake(word) for word in re.findall(r"'(\w+)'", inputs)), numbers(at))
        for name, inputs, at in found
    }
    assert experiences == aim.EXPERIENCES
    assert tuple(re.findall(r"^  '(\w+)',?$", source("ScoresCalculations"), re.M)) == aim.CLASSES


def test_the_thresholds_are_those_of_the_package() -> None:
    text = source("defaultConfig")

    def default(name: str) -> float:
        (found,) = re.findall(rf"^  {name}: ([0-9.]+)", text, re.M)
        return float(found)

    assert default("loadedLatencyMaxPoints") == cloudflare.LAST_POINTS
    assert default("bandwidthPercentile") == request_percentile.PERCENTILE
    assert default("bandwidthMinRequestDuration") == request_percentile.AT_LEAST_MS


def test_what_is_measured_is_the_packages_default_without_packet_loss() -> None:
    def measurements(text: str) -> list[tuple[str, ...]]:
        listed = text[text.index("measurements: [") :]
        listed = re.sub(r"//.*", "", listed[: listed.index("]")])
        entries = (" ".join(entry.split()).strip(" ,") for entry in re.findall(r"\{([^}]*)\}", listed))
        return [tuple(part.strip() for part in entry.split(",")) for entry in entries]

    wanted = [one for one in measurements(source("defaultConfig")) if one[0] != "type: 'packetLoss'"]
    assert measurements((CLIENT / "measure.mjs").read_text()) == wanted
    assert len(wanted) == 24
