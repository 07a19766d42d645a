"""Proxy suspicion (N4) of sessions, from the initial receive window, the device's maker and the client's AS.

Source: Philip 2025, sections 5.4.4 and 5.8, and Table 5.1 for the classes that come with narrows.

Both conditions count: a session is suspected when its initial
receive window lies more than 10 KB outside the 20th to 80th percentile of its device's class, and it is
proxied when it is suspected and more than 10 % of the sessions of its AS are.
"""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from narrows.errors import UsageError

MARGIN_BYTES = 10_000
AS_SHARE = 0.10

# In KB (1000 bytes): 20th and 80th percentile by manufacturer, of cellular sessions.
WINDOWS_KB = {
    "Apple": (131, 131),
    "Google": (67, 88),
    "Honor": (67, 74),
    "Huawei": (82, 90),
    "Oppo": (67, 88),
    "Oneplus": (67, 77),
    "Tecno": (67, 74),
    "Xiaomi": (67, 89),
    "Motorola": (67, 127),
    "Realme": (67, 88),
    "Samsung": (68, 89),
    "Vivo": (67, 88),
}


@dataclass(frozen=True)
class DeviceClasses:
    """The windows that devices offer: by class (lower case), the 20th and 80th percentile in bytes."""

    windows: dict[str, tuple[int, int]]

    @classmethod
    def published(cls) -> "DeviceClasses":
        """The classes of the definition's source."""
        return cls({name.casefold(): (low * 1000, high * 1000) for name, (low, high) in WINDOWS_KB.items()})

    @classmethod
    def from_csv(cls, file: Path) -> "DeviceClasses":
        """A table of one's own: columns device, p20_bytes, p80_bytes."""
        try:
            rows = pl.read_csv(file).select("device", "p20_bytes", "p80_bytes").rows()
        except (OSError, pl.exceptions.PolarsError) as error:
            raise UsageError(
                f"{file} is no table of device classes: {str(error).splitlines()[0]}",
                remedy="a CSV with the columns device, p20_bytes, p80_bytes",
            ) from error
        for device, low, high in rows:
            if device is None or low is None or high is None or low > high:
                raise UsageError(f"{file}: {device}: {low} to {high} bytes is no range")
        return cls({str(device).casefold(): (int(low), int(high)) for device, low, high in rows})

    @classmethod
    def measured(cls, sessions: pl.DataFrame, *, least: int = 100) -> "DeviceClasses":
        """From sessions themselves, as the published classes were made.

        Percentiles of `initial_rwnd_bytes` by `device`, of classes with at least `least` sessions that have
        one.
        """
        by_class = (
            sessions.drop_nulls(["device", "initial_rwnd_bytes"])
            .group_by(pl.col("device").cast(pl.String).str.to_lowercase().alias("device"))
            .agg(
                pl.len().alias("sessions"),
                pl.col("initial_rwnd_bytes").quantile(0.2, "nearest").alias("low"),
                pl.col("initial_rwnd_bytes").quantile(0.8, "nearest").alias("high"),
            )
            .filter(pl.col("sessions") >= least)
            .sort("device")
        )
        return cls({row["device"]: (int(row["low"]), int(row["high"])) for row in by_class.to_dicts()})


def judge(sessions: pl.DataFrame, classes: DeviceClasses | None = None) -> pl.DataFrame:
    """`sessions` with the columns `proxy_suspected`, `as_suspected_share` and `proxied`.

    Reads `initial_rwnd_bytes`, `device` and `asn`. `proxy_suspected` is NULL without a window or a known
    class. `as_suspected_share` is the share among the sessions of the AS for which that is known, NULL
    without an AS or when there are none. `proxied` is NULL when what is known does not decide it.
    """
    missing = [name for name in ("initial_rwnd_bytes", "device", "asn") if name not in sessions.columns]
    if missing:
        raise UsageError(
            f"sessions have no column {missing[0]}", remedy="--metadata FILE.csv with client, device and asn"
        )
    windows = (classes or DeviceClasses.published()).windows
    table = pl.DataFrame(
        {
            "_class": list(windows),
            "_low": [low for low, _ in windows.values()],
            "_high": [high for _, high in windows.values()],
        },
        schema={"_class": pl.String, "_low": pl.Int64, "_high": pl.Int64},
    )
    window = pl.col("initial_rwnd_bytes")
    outside = (window < pl.col("_low") - MARGIN_BYTES) | (window > pl.col("_high") + MARGIN_BYTES)
    share = pl.col("proxy_suspected").mean().over("asn")
    return (
        sessions.with_columns(_class=pl.col("device").cast(pl.String).str.to_lowercase())
        .join(table, on="_class", how="left", maintain_order="left")
        .with_columns(proxy_suspected=outside)
        .with_columns(as_suspected_share=pl.when(pl.col("asn").is_not_null()).then(share))
        .with_columns(proxied=pl.col("proxy_suspected") & (pl.col("as_suspected_share") > AS_SHARE))
        .drop("_class", "_low", "_high")
    )
