//! Times as Go writes them (RFC 3339), in nanoseconds since 1970.

use narrows_units::S;

/// `2019-07-16T15:26:05.987748459-04:00`; None where the text is another.
pub fn parse(text: &str) -> Option<i64> {
    let number = |range: std::ops::Range<usize>| -> Option<i64> {
        let digits = text.get(range)?;
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    let bytes = text.as_bytes();
    if !marks.iter().all(|(at, mark)| bytes.get(*at) == Some(mark)) {
        return None;
    }
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let seconds = number(11..13)? * 3600 + number(14..16)? * 60 + number(17..19)?;
    let rest = &text[19..];
    let fraction = rest.strip_prefix('.').unwrap_or("");
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    let nanos: i64 = match digits {
        0 => 0,
        1..=9 => fraction[..digits].parse::<i64>().ok()? * 10i64.pow(9 - digits as u32),
        _ => fraction[..9].parse().ok()?,
    };
    let zone = if digits == 0 { rest } else { &fraction[digits..] };
    let offset = match zone.as_bytes() {
        b"Z" => 0,
        [sign @ (b'+' | b'-'), _, _, b':', _, _] => {
            let of = |part: &str| part.parse::<i64>().ok();
            let minutes = of(&zone[1..3])? * 60 + of(&zone[4..6])?;
            if *sign == b'-' {
                -minutes
            } else {
                minutes
            }
        }
        _ => return None,
    };
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(1970..2262).contains(&year) {
        return None;
    }
    Some((days(year, month, day) * 86_400 + seconds - offset * 60) * S + nanos)
}

/// Days since 1970 in the Gregorian calendar; years begin in March, so that a leap day is the last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + of_year - 719_468
}
