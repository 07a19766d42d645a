"""What somebody would set who knows the ISP's rate: the oracles that an adaptive shaper is compared with."""

from narrows.errors import SpecError
from narrows.spec import parsers as p
from narrows.spec.moving_rate import MovingRate, made, whole
from narrows.spec.where import caller
from narrows.units import Duration


def follow(rate: MovingRate, share: str = "95 %", delay: str | Duration = "0 s") -> MovingRate:
    """A share of another rate that moves, so much later: what somebody sets who knows the ISP's rate.
    Until the delay is over for the first time, it is what the rate ends with."""
    if not isinstance(rate, MovingRate):
        raise SpecError(f"follow: {rate!r} does not move", where=caller(), remedy="follow(lte_drive())")
    try:
        part, later_ns = p.percent(share), p.duration(delay).ns
    except p.Wrong as error:
        raise SpecError(f"follow: {error.message}", where=caller(), remedy=error.remedy) from None
    if not part:
        raise SpecError("follow: a share of 0 % is nothing", where=caller(), remedy='"95 %"')
    scaled = [(at, whole(bps * part / 100)) for at, bps in rate.steps]
    if rate.period_ns is None:
        steps = [(0, scaled[0][1]), *((at + later_ns, bps) for at, bps in scaled[1:])]
        return made(f"{rate.called}-followed", steps, steps[-1][0] + 1, repeats=False)
    if later_ns >= rate.period_ns:
        raise SpecError("follow: the delay is not shorter than the rate's period", where=caller())
    shifted = [(at + later_ns, bps) for at, bps in scaled]
    wrapped = [(at - rate.period_ns, bps) for at, bps in shifted if at >= rate.period_ns]
    steps = wrapped + [(at, bps) for at, bps in shifted if at < rate.period_ns]
    if steps[0][0]:
        steps.insert(0, (0, shifted[-1][1]))
    return made(f"{rate.called}-followed", steps, rate.period_ns, repeats=True)
