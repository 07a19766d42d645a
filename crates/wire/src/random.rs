//! A seeded generator. Not for secrets: those come from the kernel (`sys::random`).

/// SplitMix64: small, and the same on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in 0..=max.
    pub fn up_to(&mut self, max: i64) -> i64 {
        ((self.next_u64() as u128 * (max.max(0) as u128 + 1)) >> 64) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_splitmix64() {
        // First outputs for seed 1234567, from the reference implementation.
        let mut r = Random::new(1234567);
        assert_eq!(r.next_u64(), 6457827717110365317);
        assert_eq!(r.next_u64(), 3203168211198807973);
    }

    #[test]
    fn draws_stay_in_their_range() {
        let mut r = Random::new(1);
        assert!((0..1000).all(|_| (0..=10).contains(&r.up_to(10))));
        assert_eq!(r.up_to(0), 0);
    }
}
