"""What the figures of a probe read (`narrows.tools.reading`): nothing of a load, which it does not make."""

from __future__ import annotations

from narrows.tools.reading import Figures

FIGURES: Figures = {
    "probe_sent": "a count",
    "probe_received": "a count",
    "probe_unanswered": "a count",
    "probe_loss_ratio": "loss",
}
