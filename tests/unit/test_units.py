"""Quantities: reading, writing, arithmetic, and what is refused."""

import pickle

import pytest

from narrows.errors import UnitError
from narrows.units import Duration, Rate, Size, bdp


@pytest.mark.parametrize(
    ("text", "bps"),
    [
        ("100 Mbit/s", 100_000_000),
        ("100Mbit", 100_000_000),
        ("1 Gbit/s", 1_000_000_000),
        ("1.5 Mbit/s", 1_500_000),
        ("512 kbit/s", 512_000),
        ("10Gbps", 10_000_000_000),
        (" 5  bit/s ", 5),
    ],
)
def test_a_rate_is_read_in_bits_per_second(text: str, bps: int) -> None:
    assert Rate.parse(text).bps == bps


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("20 ms", 20_000_000),
        ("1.5 s", 1_500_000_000),
        ("5 us", 5_000),
        ("5 µs", 5_000),
        ("0 s", 0),
        ("7 ns", 7),
        ("2 min", 120_000_000_000),
        ("1e3 ms", 1_000_000_000),
        ("0.1 us", 100),
    ],
)
def test_a_duration_is_read_in_nanoseconds_without_rounding(text: str, ns: int) -> None:
    assert Duration.parse(text).ns == ns


@pytest.mark.parametrize(
    ("text", "count"),
    [("15 KB", 15_000), ("15 KiB", 15_360), ("1514 B", 1514), ("64 bytes", 64), ("1 MiB", 1_048_576)],
)
def test_a_kilobyte_is_1000_bytes_and_a_kibibyte_1024(text: str, count: int) -> None:
    assert Size.parse(text).bytes == count


@pytest.mark.parametrize(
    ("kind", "value", "part"),
    [
        (Rate, "100", '"100 Mbit/s"'),
        (Rate, 100, '"100 Mbit/s"'),
        (Duration, 5, '"5 ms" or "5 s"'),
        (Size, "15", '"15 KB"'),
        (Size, 1.5, '"1.5 KB"'),
    ],
)
def test_a_bare_number_is_an_error_that_says_what_to_write(kind: type, value: object, part: str) -> None:
    with pytest.raises(UnitError, match="has no unit") as caught:
        kind.parse(value)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (Rate, "-5 Mbit/s", "negative"),
        (Duration, "-1 ms", "negative"),
        (Rate, "nan Mbit/s", "is not a rate"),
        (Rate, "inf Mbit/s", "is not a rate"),
        (Rate, float("nan"), "no unit"),
        (Rate, "", "is not a rate"),
        (Rate, "fast", "is not a rate"),
        (Rate, None, "is not a rate"),
        (Rate, True, "is not a rate"),
        (Duration, "0.1 ns", "whole number of ns"),
        (Size, "1.5 B", "whole number of bytes"),
        (Rate, "20 ms", "is a duration, a rate is needed"),
        (Duration, "5 Mbit/s", "is a rate, a duration is needed"),
        (Duration, "1..5 ms", "is not a duration"),
        (Rate, "1,5 Mbit/s", "is not a rate"),
    ],
)
def test_what_is_no_quantity_of_the_kind_is_refused(kind: type, value: object, message: str) -> None:
    with pytest.raises(UnitError, match=message):
        kind.parse(value)


def test_a_quantity_of_another_kind_is_refused() -> None:
    with pytest.raises(UnitError, match="is a duration, a rate is needed"):
        Rate.parse(Duration.parse("5 ms"))


def test_a_misspelt_unit_names_the_nearest_right_one() -> None:
    with pytest.raises(UnitError) as caught:
        Rate.parse("100 mbit/s")
    assert "did you mean Mbit/s?" in str(caught.value)


@pytest.mark.parametrize(
    ("quantity", "human", "label", "tc"),
    [
        (Rate(100_000_000), "100 Mbit/s", "100Mbit", "100Mbit"),
        (Rate(1_500_000_000), "1.5 Gbit/s", "1.5Gbit", "1500Mbit"),
        (Rate(1), "1 bit/s", "1bit", "1bit"),
        (Rate(123_456_789), "123.456789 Mbit/s", "123.456789Mbit", "123456789bit"),
        (Duration(20_000_000), "20 ms", "20ms", "20ms"),
        (Duration(1_500_000_000), "1.5 s", "1.5s", "1500ms"),
        (Duration(5_000), "5 µs", "5us", "5us"),
        (Duration(1), "1 ns", "1ns", "1ns"),
        (Duration(0), "0 s", "0s", "0us"),
        (Size(15_000), "15 KB", "15KB", "15000"),
        (Size(15_360), "15 KiB", "15KiB", "15360"),
        (Size(1514), "1514 B", "1514B", "1514"),
        (Size(0), "0 B", "0B", "0"),
    ],
)
def test_quantities_are_written_for_people_for_labels_and_for_tc(
    quantity: Rate | Duration | Size, human: str, label: str, tc: str
) -> None:
    assert str(quantity) == human
    assert quantity.label() == label
    assert quantity.tc() == tc


@pytest.mark.parametrize("base", [0, 1, 7, 999, 1000, 1024, 1500, 4096, 123_456_789, 10**9, 10**12 + 1])
@pytest.mark.parametrize("kind", [Rate, Duration, Size])
def test_text_and_label_read_back_as_the_same_quantity(kind: type, base: int) -> None:
    quantity = kind(base)
    assert kind.parse(str(quantity)) == quantity
    if base:
        assert kind.parse(quantity.label()) == quantity


def test_the_bandwidth_delay_product_is_rate_times_time_in_bytes() -> None:
    # 100 Mbit/s × 20 ms = 2 Mbit = 250 000 bytes
    assert Rate(100_000_000) * Duration(20_000_000) == Size(250_000)
    assert bdp("100 Mbit/s", "20 ms").bytes == 250_000


def test_the_time_of_a_size_at_a_rate_is_rounded_up() -> None:
    # 1500 bytes at 1 Gbit/s = 12 µs; 1 byte at 3 bit/s = 2.67 s
    assert Size(1500).time_at(Rate(10**9)).ns == 12_000
    assert Size(1).time_at(Rate(3)).ns == 2_666_666_667


def test_equal_kinds_add_compare_and_scale() -> None:
    assert Rate(3) + Rate(4) == Rate(7)
    assert Duration(5) - Duration(2) == Duration(3)
    assert max(Size(3), Size(9)) == Size(9)
    assert Rate(1000).scaled(1.6) == Rate(1600)
    assert Rate(1000).ratio(Rate(500)) == 2.0


def test_different_kinds_neither_add_nor_compare_nor_equal() -> None:
    with pytest.raises(TypeError):
        Rate(1) + Duration(1)  # type: ignore[operator]
    with pytest.raises(TypeError):
        assert Rate(1) < Duration(2)  # type: ignore[operator]
    assert Rate(1) != Duration(1)


def test_a_difference_below_zero_is_refused() -> None:
    with pytest.raises(UnitError, match="negative"):
        Duration(1) - Duration(2)


def test_quantities_do_not_change_and_can_be_keys_and_pickled() -> None:
    rate = Rate(5)
    with pytest.raises(AttributeError):
        rate._base = 6
    assert {rate: "x"}[Rate(5)] == "x"
    assert pickle.loads(pickle.dumps(rate)) == rate
