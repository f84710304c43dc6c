//! Sums that cannot overflow: a compensated `f64` and a power of two.

/// A value times 2 to an exponent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Scaled {
    pub(crate) value: f64,
    pub(crate) exponent: i32,
}

/// A running sum of [`Scaled`] values, compensated after Neumaier (1974), so that the number of
/// terms hardly matters. Its result depends on the order of the terms alone.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RunningSum {
    sum: f64,
    lost: f64,
    exponent: i32,
}

impl RunningSum {
    pub(crate) fn add(&mut self, term: Scaled) {
        if term.value == 0.0 {
            return;
        }
        let mut value = term.value;
        if self.sum == 0.0 && self.lost == 0.0 {
            self.exponent = term.exponent;
        } else if term.exponent > self.exponent {
            let shift = self.exponent.saturating_sub(term.exponent);
            self.sum = times_power_of_two(self.sum, shift);
            self.lost = times_power_of_two(self.lost, shift);
            self.exponent = term.exponent;
        } else if term.exponent < self.exponent {
            value = times_power_of_two(value, term.exponent.saturating_sub(self.exponent));
        }
        let total = self.sum + value;
        self.lost += if self.sum.abs() >= value.abs() {
            (self.sum - total) + value
        } else {
            (value - total) + self.sum
        };
        self.sum = total;
    }

    /// Adds another sum after this one.
    pub(crate) fn append(&mut self, other: &Self) {
        self.add(Scaled {
            value: other.sum,
            exponent: other.exponent,
        });
        self.add(Scaled {
            value: other.lost,
            exponent: other.exponent,
        });
    }

    pub(crate) fn total(&self) -> Scaled {
        Scaled {
            value: self.sum + self.lost,
            exponent: self.exponent,
        }
    }
}

impl Scaled {
    /// The plain number, infinite or zero where it has no other.
    pub(crate) fn get(self) -> f64 {
        times_power_of_two(self.value, self.exponent)
    }

    pub(crate) fn divided_by(self, divisor: f64) -> Self {
        Self {
            value: self.value / divisor,
            ..self
        }
    }

    pub(crate) fn over(self, divisor: Self) -> Self {
        Self {
            value: self.value / divisor.value,
            exponent: self.exponent.saturating_sub(divisor.exponent),
        }
    }

    /// `10 · log₁₀` of a positive value.
    pub(crate) fn decibels(self) -> f64 {
        10.0 * (self.value.log10() + f64::from(self.exponent) * std::f64::consts::LOG10_2)
    }

    pub(crate) fn sqrt(self) -> Self {
        // An odd exponent lends one power of two to the value.
        let odd = self.exponent.rem_euclid(2);
        Self {
            value: (self.value * f64::from(1 + odd)).sqrt(),
            exponent: (self.exponent - odd) / 2,
        }
    }
}

/// The exponent of a finite number's leading bit, −1074 for zero.
pub(crate) fn exponent_of(value: f64) -> i32 {
    let magnitude = value.to_bits() & !(1 << 63);
    match (magnitude >> 52) as i32 {
        0 => {
            -1074
                + 63i32
                    .saturating_sub_unsigned(magnitude.leading_zeros())
                    .max(0)
        }
        biased => biased - 1023,
    }
}

/// `value · 2^exponent`, rounded at most twice.
pub(crate) fn times_power_of_two(value: f64, exponent: i32) -> f64 {
    // Three factors cover the whole range from the smallest subnormal to the largest number; a
    // result that is normal is exact.
    let mut value = value;
    let mut exponent = exponent.clamp(-2200, 2200);
    while exponent != 0 {
        let step = exponent.clamp(-1022, 1023);
        value *= f64::from_bits(((step + 1023) as u64) << 52);
        exponent -= step;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_and_powers_reach_from_end_to_end() {
        assert_eq!(exponent_of(1.0), 0);
        assert_eq!(exponent_of(-3.9), 1);
        assert_eq!(exponent_of(f64::MAX), 1023);
        assert_eq!(exponent_of(f64::MIN_POSITIVE), -1022);
        assert_eq!(exponent_of(5e-324), -1074);
        assert_eq!(exponent_of(1.5e-323), -1073);
        assert_eq!(exponent_of(0.0), -1074);
        assert_eq!(times_power_of_two(5e-324, 2097), f64::from_bits(2046 << 52));
        assert_eq!(
            times_power_of_two(f64::from_bits(2046 << 52), -2097),
            5e-324
        );
        assert_eq!(times_power_of_two(1.0, i32::MIN), 0.0);
        assert_eq!(times_power_of_two(-1.0, i32::MAX), f64::NEG_INFINITY);
    }

    #[test]
    fn sums_of_squares_beyond_the_range_keep_their_ratio() {
        let mut large = RunningSum::default();
        let mut larger = RunningSum::default();
        // 10 · 2^2000 and 2.5 · 2^2004, with dust that must not matter.
        for _ in 0..10 {
            large.add(Scaled {
                value: 1.0,
                exponent: 2000,
            });
            large.add(Scaled {
                value: 1.0,
                exponent: -2000,
            });
        }
        larger.add(Scaled {
            value: 1.0,
            exponent: -7,
        });
        larger.add(Scaled {
            value: 2.5,
            exponent: 2004,
        });
        assert_eq!(larger.total().over(large.total()).get(), 4.0);
        assert_eq!(larger.total().over(large.total()).sqrt().get(), 2.0);
        assert_eq!(large.total().get(), f64::INFINITY);
        let odd = Scaled {
            value: 8.0,
            exponent: -3,
        };
        assert_eq!(odd.sqrt().get(), 1.0);
    }

    #[test]
    fn cancellation_is_compensated() {
        let mut sum = RunningSum::default();
        for value in [1.0, 1e100, 1.0, -1e100] {
            sum.add(Scaled { value, exponent: 0 });
        }
        assert_eq!(sum.total().get(), 2.0);
    }
}
