//! One dimension of a shape: a fixed size, or an expression over named sizes that are known when
//! an engine runs.
//!
//! Expressions are kept in one canonical form (a polynomial over names and over divisions, minima
//! and maxima that do not simplify), so that equal expressions compare equal: `n + n` is `2·n`,
//! and `(384·n) / n` is 384. What is left out: rules of any layer.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A dimension: fixed, or an expression over named sizes.
///
/// ```
/// use tensoracle_graph::Dim;
///
/// let n = Dim::named("n");
/// let joined = n.add(&Dim::from(3)).unwrap().add(&n).unwrap();
/// assert_eq!(joined.to_string(), "2·n + 3");
/// assert_eq!(joined.evaluate(&|name| (name == "n").then_some(5)), Ok(13));
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dim(Form);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Form {
    Fixed(i64),
    // Holds at least one term that is not constant.
    Polynomial(Arc<BTreeMap<Monomial, i64>>),
}

/// A product of atoms with their powers, sorted by atom; empty for the constant term.
type Monomial = Vec<(Atom, u32)>;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Atom {
    Name(Arc<str>),
    FloorDiv(Dim, Dim),
    Max(Dim, Dim),
    Min(Dim, Dim),
}

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DimError {
    /// A name that the caller gave no size for.
    #[error("the size of dimension `{0}` is not known")]
    Unbound(String),
    /// A result outside 64 bits.
    #[error("the size `{0}` does not fit in 64 bits")]
    Overflow(String),
    /// A division whose divisor came out as zero.
    #[error("the size `{0}` divides by zero")]
    DivisionByZero(String),
}

impl Dim {
    /// The dimension called `name`, whose size is given at run time.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self::atom(Atom::Name(name.into()))
    }

    /// The size where it is fixed.
    #[must_use]
    pub fn fixed(&self) -> Option<i64> {
        match self.0 {
            Form::Fixed(size) => Some(size),
            Form::Polynomial(_) => None,
        }
    }

    /// The name where the dimension is one name and nothing else.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        let Form::Polynomial(terms) = &self.0 else {
            return None;
        };
        match terms.iter().next() {
            Some((monomial, 1)) if terms.len() == 1 => match &monomial[..] {
                [(Atom::Name(name), 1)] => Some(name),
                _ => None,
            },
            _ => None,
        }
    }

    /// Calls `visit` with each name the expression mentions, possibly more than once.
    pub fn names(&self, visit: &mut dyn FnMut(&str)) {
        let Form::Polynomial(terms) = &self.0 else {
            return;
        };
        for (atom, _) in terms.keys().flatten() {
            match atom {
                Atom::Name(name) => visit(name),
                Atom::FloorDiv(a, b) | Atom::Max(a, b) | Atom::Min(a, b) => {
                    a.names(visit);
                    b.names(visit);
                }
            }
        }
    }

    /// `self + other`; `None` when a coefficient overflows.
    #[must_use]
    pub fn add(&self, other: &Self) -> Option<Self> {
        if let (Some(a), Some(b)) = (self.fixed(), other.fixed()) {
            return a.checked_add(b).map(Self::from);
        }
        let mut terms = self.terms();
        for (monomial, coefficient) in other.terms() {
            add_term(&mut terms, monomial, coefficient)?;
        }
        Some(Self::from_terms(terms))
    }

    /// `self - other`; `None` when a coefficient overflows.
    #[must_use]
    pub fn sub(&self, other: &Self) -> Option<Self> {
        self.add(&other.mul(&Self::from(-1))?)
    }

    /// `self · other`; `None` when a coefficient overflows.
    #[must_use]
    pub fn mul(&self, other: &Self) -> Option<Self> {
        if let (Some(a), Some(b)) = (self.fixed(), other.fixed()) {
            return a.checked_mul(b).map(Self::from);
        }
        let mut terms = BTreeMap::new();
        for (left, a) in self.terms() {
            for (right, b) in other.terms() {
                add_term(&mut terms, product(&left, &right)?, a.checked_mul(b)?)?;
            }
        }
        Some(Self::from_terms(terms))
    }

    /// The largest integer not above `self / divisor`; `None` on overflow or a divisor of zero.
    #[must_use]
    pub fn floor_div(&self, divisor: &Self) -> Option<Self> {
        if divisor.fixed() == Some(0) {
            return None;
        }
        if let (Some(a), Some(b)) = (self.fixed(), divisor.fixed()) {
            return floor_div(a, b).map(Self::from);
        }
        // Terms that the divisor divides leave the division; what remains stays inside it.
        let (mut whole, mut rest) = (BTreeMap::new(), BTreeMap::new());
        for (monomial, coefficient) in self.terms() {
            match divisor.divides(&monomial, coefficient) {
                Some((quotient, factor)) => add_term(&mut whole, quotient, factor)?,
                None => add_term(&mut rest, monomial, coefficient)?,
            }
        }
        let whole = Self::from_terms(whole);
        let rest = Self::from_terms(rest);
        let remainder = match (rest.fixed(), divisor.fixed()) {
            (Some(0), _) => Self::from(0),
            (Some(a), Some(b)) => Self::from(floor_div(a, b)?),
            _ if rest == *divisor => Self::from(1),
            _ => Self::atom(Atom::FloorDiv(rest, divisor.clone())),
        };
        whole.add(&remainder)
    }

    /// The smallest integer not below `self / divisor`; `None` on overflow or a divisor of zero.
    #[must_use]
    pub fn ceil_div(&self, divisor: &Self) -> Option<Self> {
        let negative = self.mul(&Self::from(-1))?.floor_div(divisor)?;
        negative.mul(&Self::from(-1))
    }

    /// The larger of the two.
    #[must_use]
    pub fn max(&self, other: &Self) -> Option<Self> {
        self.choose(other, Atom::Max, |difference| difference >= 0)
    }

    /// The smaller of the two.
    #[must_use]
    pub fn min(&self, other: &Self) -> Option<Self> {
        self.choose(other, Atom::Min, |difference| difference <= 0)
    }

    /// Whether the two differ whatever the named sizes are.
    #[must_use]
    pub fn surely_differs(&self, other: &Self) -> bool {
        self.sub(other)
            .and_then(|difference| difference.fixed())
            .is_some_and(|d| d != 0)
    }

    /// The size under the given sizes of the names.
    ///
    /// # Errors
    /// When a name has no size, or a value overflows or divides by zero.
    pub fn evaluate(&self, size_of: &dyn Fn(&str) -> Option<i64>) -> Result<i64, DimError> {
        let terms = match &self.0 {
            Form::Fixed(size) => return Ok(*size),
            Form::Polynomial(terms) => terms,
        };
        let overflow = || DimError::Overflow(self.to_string());
        let mut sum = 0i64;
        for (monomial, coefficient) in terms.iter() {
            let mut term = *coefficient;
            for (atom, power) in monomial {
                let value = match atom {
                    Atom::Name(name) => {
                        size_of(name).ok_or_else(|| DimError::Unbound(name.to_string()))?
                    }
                    Atom::FloorDiv(a, b) => {
                        let (a, b) = (a.evaluate(size_of)?, b.evaluate(size_of)?);
                        if b == 0 {
                            return Err(DimError::DivisionByZero(self.to_string()));
                        }
                        floor_div(a, b).ok_or_else(overflow)?
                    }
                    Atom::Max(a, b) => a.evaluate(size_of)?.max(b.evaluate(size_of)?),
                    Atom::Min(a, b) => a.evaluate(size_of)?.min(b.evaluate(size_of)?),
                };
                let value = value.checked_pow(*power).ok_or_else(overflow)?;
                term = term.checked_mul(value).ok_or_else(overflow)?;
            }
            sum = sum.checked_add(term).ok_or_else(overflow)?;
        }
        Ok(sum)
    }

    fn atom(atom: Atom) -> Self {
        Self(Form::Polynomial(Arc::new(BTreeMap::from([(
            vec![(atom, 1)],
            1,
        )]))))
    }

    fn terms(&self) -> BTreeMap<Monomial, i64> {
        match &self.0 {
            Form::Fixed(0) => BTreeMap::new(),
            Form::Fixed(size) => BTreeMap::from([(Monomial::new(), *size)]),
            Form::Polynomial(terms) => (**terms).clone(),
        }
    }

    fn from_terms(terms: BTreeMap<Monomial, i64>) -> Self {
        match terms.iter().next() {
            None => Self::from(0),
            Some((monomial, coefficient)) if terms.len() == 1 && monomial.is_empty() => {
                Self::from(*coefficient)
            }
            Some(_) => Self(Form::Polynomial(Arc::new(terms))),
        }
    }

    /// `coefficient·monomial / self` where it is exact and `self` is a single term.
    fn divides(&self, monomial: &Monomial, coefficient: i64) -> Option<(Monomial, i64)> {
        let divisor = self.terms();
        let (by, factor) = divisor.iter().next().filter(|_| divisor.len() == 1)?;
        if coefficient.checked_rem(*factor)? != 0 {
            return None;
        }
        let mut quotient = monomial.clone();
        for (atom, power) in by {
            let index = quotient.iter().position(|(found, _)| found == atom)?;
            quotient[index].1 = quotient[index].1.checked_sub(*power)?;
        }
        quotient.retain(|(_, power)| *power > 0);
        Some((quotient, coefficient.checked_div(*factor)?))
    }

    fn choose(
        &self,
        other: &Self,
        atom: fn(Self, Self) -> Atom,
        keeps_self: fn(i64) -> bool,
    ) -> Option<Self> {
        Some(match self.sub(other)?.fixed() {
            Some(difference) if keeps_self(difference) => self.clone(),
            Some(_) => other.clone(),
            // Sorted, so that the order of the arguments does not matter.
            None if self <= other => Self::atom(atom(self.clone(), other.clone())),
            None => Self::atom(atom(other.clone(), self.clone())),
        })
    }
}

fn floor_div(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div_euclid(b)?;
    // Euclidean division rounds towards zero's far side for negative divisors.
    Some(if b < 0 && a.rem_euclid(b) != 0 {
        quotient.checked_sub(1)?
    } else {
        quotient
    })
}

fn add_term(
    terms: &mut BTreeMap<Monomial, i64>,
    monomial: Monomial,
    coefficient: i64,
) -> Option<()> {
    let sum = terms
        .get(&monomial)
        .copied()
        .unwrap_or(0)
        .checked_add(coefficient)?;
    if sum == 0 {
        terms.remove(&monomial);
    } else {
        terms.insert(monomial, sum);
    }
    Some(())
}

fn product(left: &Monomial, right: &Monomial) -> Option<Monomial> {
    let mut atoms: BTreeMap<&Atom, u32> = BTreeMap::new();
    for (atom, power) in left.iter().chain(right) {
        let sum = atoms.get(atom).copied().unwrap_or(0).checked_add(*power)?;
        atoms.insert(atom, sum);
    }
    Some(
        atoms
            .into_iter()
            .map(|(atom, power)| (atom.clone(), power))
            .collect(),
    )
}

impl fmt::Display for Dim {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms = match &self.0 {
            Form::Fixed(size) => return write!(formatter, "{size}"),
            Form::Polynomial(terms) => terms,
        };
        // The constant term sorts first and reads best last.
        let constant = terms.iter().filter(|(monomial, _)| monomial.is_empty());
        let others = terms.iter().filter(|(monomial, _)| !monomial.is_empty());
        for (index, (monomial, coefficient)) in others.chain(constant).enumerate() {
            match (index, *coefficient < 0) {
                (0, true) => formatter.write_str("-")?,
                (0, false) => {}
                (_, true) => formatter.write_str(" - ")?,
                (_, false) => formatter.write_str(" + ")?,
            }
            let magnitude = coefficient.unsigned_abs();
            if monomial.is_empty() || magnitude != 1 {
                write!(formatter, "{magnitude}")?;
            }
            for (position, (atom, power)) in monomial.iter().enumerate() {
                if position > 0 || magnitude != 1 {
                    formatter.write_str("·")?;
                }
                write!(formatter, "{atom}")?;
                if *power > 1 {
                    write!(formatter, "^{power}")?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => formatter.write_str(name),
            Self::FloorDiv(a, b) => write!(formatter, "floor(({a}) / ({b}))"),
            Self::Max(a, b) => write!(formatter, "max({a}, {b})"),
            Self::Min(a, b) => write!(formatter, "min({a}, {b})"),
        }
    }
}

impl fmt::Debug for Dim {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl From<i64> for Dim {
    fn from(size: i64) -> Self {
        Self(Form::Fixed(size))
    }
}

impl From<i32> for Dim {
    fn from(size: i32) -> Self {
        Self::from(i64::from(size))
    }
}

impl From<usize> for Dim {
    /// Sizes beyond `i64::MAX` become `i64::MAX`, which no shape can use.
    fn from(size: usize) -> Self {
        Self::from(i64::try_from(size).unwrap_or(i64::MAX))
    }
}

impl From<u64> for Dim {
    /// Sizes beyond `i64::MAX` become `i64::MAX`, which no shape can use.
    fn from(size: u64) -> Self {
        Self::from(i64::try_from(size).unwrap_or(i64::MAX))
    }
}

impl From<&str> for Dim {
    fn from(name: &str) -> Self {
        Self::named(name)
    }
}

impl From<&Dim> for Dim {
    fn from(dim: &Dim) -> Self {
        dim.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn n() -> Dim {
        Dim::named("n")
    }

    fn with_n(size: i64) -> impl Fn(&str) -> Option<i64> {
        move |name| (name == "n").then_some(size)
    }

    #[test]
    fn equal_expressions_compare_equal() {
        let flattened = n().mul(&Dim::from(384)).unwrap();
        assert_eq!(flattened.floor_div(&n()).unwrap(), Dim::from(384));
        assert_eq!(
            flattened.floor_div(&Dim::from(12)).unwrap().to_string(),
            "32·n"
        );
        assert_eq!(n().add(&n()).unwrap(), Dim::from(2).mul(&n()).unwrap());
        assert_eq!(n().sub(&n()).unwrap(), Dim::from(0));
        assert_eq!(n().max(&n().sub(&Dim::from(1)).unwrap()).unwrap(), n());
        assert_eq!(n().max(&Dim::from(3)), Dim::from(3).max(&n()));
    }

    #[test]
    fn expressions_read_as_a_person_writes_them() {
        let half = n()
            .add(&Dim::from(1))
            .unwrap()
            .floor_div(&Dim::from(2))
            .unwrap();
        assert_eq!(half.to_string(), "floor((n + 1) / (2))");
        let cube = n()
            .mul(&n())
            .unwrap()
            .sub(&n())
            .unwrap()
            .sub(&Dim::from(7))
            .unwrap();
        assert_eq!(cube.to_string(), "-n + n^2 - 7");
    }

    #[test]
    fn overflow_and_zero_divisors_are_answers_not_panics() {
        assert_eq!(Dim::from(i64::MAX).add(&Dim::from(1)), None);
        assert_eq!(
            Dim::from(i64::MAX).mul(&n()).unwrap().mul(&Dim::from(2)),
            None
        );
        assert_eq!(n().floor_div(&Dim::from(0)), None);
        let huge = Dim::from(i64::MAX).mul(&n()).unwrap();
        assert!(matches!(
            huge.evaluate(&with_n(2)),
            Err(DimError::Overflow(_))
        ));
        let by_n = Dim::from(7).floor_div(&n()).unwrap();
        assert!(matches!(
            by_n.evaluate(&with_n(0)),
            Err(DimError::DivisionByZero(_))
        ));
        assert_eq!(n().evaluate(&|_| None), Err(DimError::Unbound("n".into())));
    }

    proptest! {
        /// The canonical form has the value that plain integer arithmetic gives.
        #[test]
        fn arithmetic_agrees_with_integers(
            size in 0i64..50,
            a in -20i64..20,
            b in -20i64..20,
            c in -20i64..20,
            divisor in prop_oneof![-9i64..0, 1i64..10],
        ) {
            let linear = n().mul(&Dim::from(a)).unwrap().add(&Dim::from(b)).unwrap();
            let square = linear.mul(&n().add(&Dim::from(c)).unwrap()).unwrap();
            let value = (size * a + b) * (size + c);
            let check = |dim: Option<Dim>, expected: i64| {
                assert_eq!(dim.unwrap().evaluate(&with_n(size)), Ok(expected));
            };
            check(Some(square.clone()), value);
            let floor = (value as f64 / divisor as f64).floor() as i64;
            check(square.floor_div(&Dim::from(divisor)), floor);
            let ceil = (value as f64 / divisor as f64).ceil() as i64;
            check(square.ceil_div(&Dim::from(divisor)), ceil);
            check(square.max(&linear), value.max(size * a + b));
            check(square.min(&linear), value.min(size * a + b));
            check(linear.sub(&square), size * a + b - value);
        }
    }
}
