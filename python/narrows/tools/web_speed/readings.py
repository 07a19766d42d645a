"""What the figures of the modelled web speed tests read (`narrows.tools.reading`)."""

from __future__ import annotations

from narrows.tools.reading import LATENCY, THROUGHPUT, Figures, Load, Reading

FIGURES: Figures = {
    "ookla_model_throughput_bps": Reading(THROUGHPUT, words="Ookla model, speed"),
    "ookla_model_loaded_latency_ms": Reading(LATENCY, words="Ookla model, loaded latency"),
    "librespeed_model_throughput_bps": Reading(THROUGHPUT, words="LibreSpeed model, speed"),
    "librespeed_model_loaded_latency_ms": Reading(LATENCY, words="librespeed model loaded latency"),
}
for _model in ("ookla", "librespeed"):
    FIGURES |= {
        f"{_model}_model_latency_ms": "before the load",
        f"{_model}_model_jitter_ms": "how delays vary",
        f"{_model}_model_bytes": "a count of bytes",
        f"{_model}_model_connections": "how many connections there were",
    }
LOAD = Load(("ookla_model_throughput_bps", "librespeed_model_throughput_bps"))
