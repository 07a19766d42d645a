"""The equivalents of Table 3.1 and Figures 3.2 to 3.8 of the thesis, where the runs hold their conditions."""

from collections.abc import Callable, Sequence

from narrows.figures.drawing import Result
from narrows.judging.parts import Read
from narrows.runs.observed import Observed
from narrows.studies.corescale.by_flows import End, Figure, Line, draw
from narrows.studies.corescale.case import Case, thesis_cases
from narrows.studies.corescale.claims import t01, t02, t03
from narrows.studies.corescale.claims.measures import JAIN, jain_settled, of_flows, share_of

JAIN_END = End("Jain's index", jain_settled)
JAIN_OF = "Jain's index of the goodputs of a run's flows"


def _jain_of(cca: str) -> Read:
    return lambda run: None if run.many is None else run.many.jain_by_cca.get(cca)


def _percent(read: Read) -> Read:
    return lambda run: None if (value := read(run)) is None else 100 * value


def _alone(*ccas: str) -> Callable[[Case], bool]:
    return lambda case: len(case.ccas) == 1 and case.ccas[0] in ccas


def _pair(cca: str, other: str, single: bool = False) -> Callable[[Case], bool]:
    def wanted(case: Case) -> bool:
        if set(case.ccas) != {cca, other}:
            return False
        return case.count(cca) == 1 if single else 2 * case.count(cca) == case.flows

    return wanted


def _share(name: str, title: str, whose: str, cca: str, other: str, *levels: float) -> Figure:
    """The share of a CCA, `whose` flows are meant, against another; the thesis' levels are of all scales."""
    single = whose.startswith("one")
    return Figure(
        f"chapter3_fig_{name}", f"Figure {title}", "Share of all that was delivered",
        f"share of {whose.replace('one', 'the', 1) if single else whose} (%)", _pair(cca, other, single),
        (Line(whose, share_of(cca, per=0.01)),), dict.fromkeys(("edge", "middle", "core"), levels), 102,
        end=End("the share", lambda many: many.share_settled.get(cca)),
    )  # fmt: skip


FIGURES = (
    Figure(
        "chapter3_table_3_1", "Table 3.1: the Mathis constant of NewReno flows",
        "C fitted to the flows of a run by least squares", "C", _alone("reno"),
        (Line("on packet losses", t01.ON_LOSSES.read), Line("on window halvings", t01.ON_HALVINGS.read)),
        {"edge": (1.78, 1.47), "core": (3.95, 3.64, 3.24, 1.36, 1.34)}, end=JAIN_END,
    ),
    Figure(
        "chapter3_fig_3_2", "Figure 3.2: error of the Mathis model",
        "Median over the flows of a run of the prediction's relative error", "median error (%)",
        _alone("reno"),
        (
            Line("on packet losses", _percent(t02.LOSSES.read)),
            Line("on window halvings", _percent(t02.HALVINGS.read)),
        ),
        {"edge": (10,), "core": (45, 55, 10)}, end=JAIN_END,
    ),
    Figure(
        "chapter3_fig_3_3", "Figure 3.3: packets lost per window halving, NewReno",
        "Drops at the bottleneck over window halvings, all flows of a run together", "losses per halving",
        _alone("reno"), (Line("losses per halving", t03.RATIO.read),), {"edge": (1.7,), "core": (6, 9)},
        end=JAIN_END,
    ),
    Figure(
        "chapter3_burstiness", "Burstiness of the drops and synchronisation of reductions, NewReno",
        "Goh–Barabási index of the times between drops, of the queue's and of each flow's own (median over "
        "flows); chance-corrected index of reducing within one RTT", "index", _alone("reno"),
        (
            Line("burstiness, queue", t03.OF_QUEUE.read), Line("burstiness, flow", t03.BURSTS.read),
            Line("synchronisation", of_flows("synchronisation", "index")),
        ),
        {"edge": (0.2,), "core": (0.35,)}, end=JAIN_END,
    ),
    Figure(
        "chapter3_fig_3_4", "Figure 3.4: BBR against itself", JAIN_OF, "Jain's index", _alone("bbr"),
        (Line("BBR", JAIN.read),), {"edge": (0.7,), "core": (0.4,)}, 1.02, end=JAIN_END,
    ),
    Figure(
        "chapter3_loss_based_jain", "NewReno and CUBIC against themselves", JAIN_OF, "Jain's index",
        _alone("reno", "cubic"), (Line("NewReno", _jain_of("reno")), Line("CUBIC", _jain_of("cubic"))),
        {"core": (0.99,)}, 1.02, end=JAIN_END,
    ),
    _share("3_5", "3.5: CUBIC against as many NewReno flows", "CUBIC", "cubic", "reno", 70, 80),
    _share("3_6", "3.6: one BBR flow against NewReno flows", "one BBR flow", "bbr", "reno", 40),
    _share("3_7", "3.7: one BBR flow against CUBIC flows", "one BBR flow", "bbr", "cubic", 40),
    _share("3_8_newreno", "3.8: BBR against as many NewReno flows", "BBR", "bbr", "reno", 99.9),
    _share("3_8_cubic", "3.8: BBR against as many CUBIC flows", "BBR", "bbr", "cubic", 99.9),
    Figure(
        "chapter3_queue", "Utilisation and occupancy of the bottleneck",
        "Goodput over the largest possible; mean backlog over the queue's limit", "%", lambda case: True,
        (
            Line("utilisation", of_flows("utilisation", per=0.01)),
            Line("occupancy", of_flows("occupancy_mean", per=0.01)),
        ),
        {}, 105, True,
    ),
)  # fmt: skip


def chapter3_figures(runs: Sequence[Observed]) -> list[Callable[[], Result]]:
    """One callable per figure; none at all if no run has a flow tap."""
    if not any(run.read_many is not None for run in runs):
        return []
    found = thesis_cases(runs)
    return [lambda f=figure: draw(f, found) for figure in FIGURES]  # type: ignore[misc]
