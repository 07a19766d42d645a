"""The equivalents of Table 3.1 and Figures 3.2 to 3.8 of the thesis, where the runs hold their conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from narrows.figures.drawing import Result
from narrows.runs.many_flows import ManyFlows
from narrows.runs.observed import Observed
from narrows.studies.corescale.by_flows import End, Figure, Line, ValueOf, draw
from narrows.studies.corescale.case import Case, thesis_cases


def _on_losses(many: ManyFlows) -> float | None:
    return None if many.mathis_on_losses is None else 100 * many.mathis_on_losses.median_error


def _on_halvings(many: ManyFlows) -> float | None:
    return None if many.mathis_on_halvings is None else 100 * many.mathis_on_halvings.median_error


def _c_losses(many: ManyFlows) -> float | None:
    return None if many.mathis_on_losses is None else many.mathis_on_losses.c


def _c_halvings(many: ManyFlows) -> float | None:
    return None if many.mathis_on_halvings is None else many.mathis_on_halvings.c


def _ratio(many: ManyFlows) -> float | None:
    return None if many.losses_per_halving is None else many.losses_per_halving.ratio


def _bursts(many: ManyFlows) -> float | None:
    return None if many.drop_burstiness is None else many.drop_burstiness.goh_barabasi


def _flow_bursts(many: ManyFlows) -> float | None:
    return None if many.flow_burstiness is None else many.flow_burstiness.goh_barabasi


def _together(many: ManyFlows) -> float | None:
    return None if many.synchronisation is None else many.synchronisation.index


def _percent(cca: str) -> ValueOf:
    return lambda many: 100 * many.shares[cca].share if cca in many.shares else None


def _share_end(cca: str) -> End:
    return End("the share", lambda many: many.share_settled.get(cca))


JAIN_END = End("Jain's index", lambda many: many.jain_settled)


def _jain_of(cca: str) -> ValueOf:
    return lambda many: many.jain_by_cca.get(cca)


def _utilisation(many: ManyFlows) -> float | None:
    return None if many.utilisation is None else 100 * many.utilisation


def _occupancy(many: ManyFlows) -> float | None:
    return None if many.occupancy_mean is None else 100 * many.occupancy_mean


def _alone(*ccas: str) -> Callable[[Case], bool]:
    return lambda case: len(case.ccas) == 1 and case.ccas[0] in ccas


def _pair(cca: str, other: str, single: bool = False) -> Callable[[Case], bool]:
    def wanted(case: Case) -> bool:
        if set(case.ccas) != {cca, other}:
            return False
        return case.count(cca) == 1 if single else 2 * case.count(cca) == case.flows

    return wanted


FIGURES = (
    Figure(
        "chapter3_table_3_1", "Table 3.1: the Mathis constant of NewReno flows",
        "C fitted to the flows of a run by least squares", "C", _alone("reno"),
        (Line("on packet losses", _c_losses), Line("on window halvings", _c_halvings)),
        {"edge": (1.78, 1.47), "core": (3.95, 3.64, 3.24, 1.36, 1.34)}, end=JAIN_END,
    ),
    Figure(
        "chapter3_fig_3_2", "Figure 3.2: error of the Mathis model",
        "Median over the flows of a run of the prediction's relative error", "median error (%)",
        _alone("reno"), (Line("on packet losses", _on_losses), Line("on window halvings", _on_halvings)),
        {"edge": (10,), "core": (45, 55, 10)}, end=JAIN_END,
    ),
    Figure(
        "chapter3_fig_3_3", "Figure 3.3: packets lost per window halving, NewReno",
        "Drops at the bottleneck over window halvings, all flows of a run together", "losses per halving",
        _alone("reno"), (Line("losses per halving", _ratio),), {"edge": (1.7,), "core": (6, 9)},
        end=JAIN_END,
    ),
    Figure(
        "chapter3_burstiness", "Burstiness of the drops and synchronisation of reductions, NewReno",
        "Goh–Barabási index of the times between drops, of the queue's and of each flow's own (median over "
        "flows); chance-corrected index of reducing within one RTT", "index", _alone("reno"),
        (
            Line("burstiness, queue", _bursts), Line("burstiness, flow", _flow_bursts),
            Line("synchronisation", _together),
        ),
        {"edge": (0.2,), "core": (0.35,)}, end=JAIN_END,
    ),
    Figure(
        "chapter3_fig_3_4", "Figure 3.4: BBR against itself",
        "Jain's index of the goodputs of a run's flows", "Jain's index", _alone("bbr"),
        (Line("BBR", lambda many: many.jain),), {"edge": (0.7,), "core": (0.4,)}, 1.02,
        end=JAIN_END,
    ),
    Figure(
        "chapter3_loss_based_jain", "NewReno and CUBIC against themselves",
        "Jain's index of the goodputs of a run's flows", "Jain's index", _alone("reno", "cubic"),
        (Line("NewReno", _jain_of("reno")), Line("CUBIC", _jain_of("cubic"))), {"core": (0.99,)}, 1.02,
        end=JAIN_END,
    ),
    Figure(
        "chapter3_fig_3_5", "Figure 3.5: CUBIC against as many NewReno flows",
        "Share of all that was delivered", "share of CUBIC (%)", _pair("cubic", "reno"),
        (Line("CUBIC", _percent("cubic")),), dict.fromkeys(("edge", "middle", "core"), (70, 80)), 102,
        end=_share_end("cubic"),
    ),
    Figure(
        "chapter3_fig_3_6", "Figure 3.6: one BBR flow against NewReno flows",
        "Share of all that was delivered", "share of the BBR flow (%)", _pair("bbr", "reno", single=True),
        (Line("one BBR flow", _percent("bbr")),), dict.fromkeys(("edge", "middle", "core"), (40,)), 102,
        end=_share_end("bbr"),
    ),
    Figure(
        "chapter3_fig_3_7", "Figure 3.7: one BBR flow against CUBIC flows",
        "Share of all that was delivered", "share of the BBR flow (%)", _pair("bbr", "cubic", single=True),
        (Line("one BBR flow", _percent("bbr")),), dict.fromkeys(("edge", "middle", "core"), (40,)), 102,
        end=_share_end("bbr"),
    ),
    Figure(
        "chapter3_fig_3_8_newreno", "Figure 3.8: BBR against as many NewReno flows",
        "Share of all that was delivered", "share of BBR (%)", _pair("bbr", "reno"),
        (Line("BBR", _percent("bbr")),), dict.fromkeys(("edge", "middle", "core"), (99.9,)), 102,
        end=_share_end("bbr"),
    ),
    Figure(
        "chapter3_fig_3_8_cubic", "Figure 3.8: BBR against as many CUBIC flows",
        "Share of all that was delivered", "share of BBR (%)", _pair("bbr", "cubic"),
        (Line("BBR", _percent("bbr")),), dict.fromkeys(("edge", "middle", "core"), (99.9,)), 102,
        end=_share_end("bbr"),
    ),
    Figure(
        "chapter3_queue", "Utilisation and occupancy of the bottleneck",
        "Goodput over the largest possible; mean backlog over the queue's limit", "%", lambda case: True,
        (Line("utilisation", _utilisation), Line("occupancy", _occupancy)), {}, 105, True,
    ),
)  # fmt: skip


def chapter3_figures(runs: Sequence[Observed]) -> list[Callable[[], Result]]:
    """One callable per figure; none at all if no run has a flow tap."""
    if not any(run.read_many is not None for run in runs):
        return []
    found = thesis_cases(runs)
    return [lambda f=figure: draw(f, found) for figure in FIGURES]  # type: ignore[misc]
