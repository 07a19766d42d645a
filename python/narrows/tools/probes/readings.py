"""What the figures of a probe mean (`narrows.tools.reading`): nothing of a load, which it does not make."""

from narrows.tools.reading import LESS, Figure, Figures

FIGURES: Figures = {
    "probe_loss_ratio": Figure("loss", LESS),
    "probe_sent": Figure("packets sent"),
    "probe_received": Figure("packets answered"),
    "probe_unanswered": Figure("packets still on their way at the end"),
}
