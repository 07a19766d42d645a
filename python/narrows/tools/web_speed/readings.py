"""What the figures of the modelled web speed tests mean (`narrows.tools.reading`)."""

from narrows.tools.reading import LATENCY, LESS, THROUGHPUT, Figure, Figures, Reading

FIGURES: Figures = {
    "ookla_model_throughput_bps": Reading(THROUGHPUT, words="Ookla model, speed"),
    "ookla_model_loaded_latency_ms": Reading(LATENCY, words="Ookla model, loaded latency"),
    "librespeed_model_throughput_bps": Reading(THROUGHPUT, words="LibreSpeed model, speed"),
    "librespeed_model_loaded_latency_ms": Reading(LATENCY, words="librespeed model loaded latency"),
}
for _model in ("ookla", "librespeed"):
    FIGURES |= {
        f"{_model}_model_latency_ms": Figure("latency before the load", LESS),
        f"{_model}_model_jitter_ms": Figure("jitter", LESS),
        f"{_model}_model_bytes": Figure("bytes received"),
        f"{_model}_model_connections": Figure("connections"),
    }
