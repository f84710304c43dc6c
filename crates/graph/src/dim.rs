//! One dimension of a shape: a fixed size, or an expression over named sizes that are known when
//! an engine runs.
//!
//! Expressions are kept in one canonical form (a polynomial over names and over divisions, minima
//! and maxima that do not simplify), so that equal expressions compare equal: `n + n` is `2·n`,
//! and `(384·n) / n` is 384. Their size is limited, so that no graph makes them grow without end.
//! What is left out: rules of any layer.

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
    Polynomial(Arc<Polynomial>),
}

#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Polynomial {
    // At least one term that is not constant.
    terms: BTreeMap<Monomial, i64>,
    /// How much there is to write down: terms, names and operations.
    weight: usize,
    /// How deep divisions, minima and maxima lie inside each other.
    depth: usize,
}

/// The heaviest expression: far beyond what layers of a real model make of a few names, and
/// little enough to compare and evaluate at once.
const MAX_WEIGHT: usize = 4096;

/// The deepest expression, which what walks one by recursion relies on.
const MAX_DEPTH: usize = 64;

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
        let terms = BTreeMap::from([(vec![(Atom::Name(name.into()), 1)], 1)]);
        Self(Form::Polynomial(Arc::new(Polynomial {
            terms,
            weight: 2,
            depth: 0,
        })))
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
        let terms = self.polynomial()?;
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
        for (atom, _) in self
            .polynomial()
            .into_iter()
            .flat_map(BTreeMap::keys)
            .flatten()
        {
            match atom {
                Atom::Name(name) => visit(name),
                Atom::FloorDiv(a, b) | Atom::Max(a, b) | Atom::Min(a, b) => {
                    a.names(visit);
                    b.names(visit);
                }
            }
        }
    }

    /// `self + other`; `None` when a coefficient overflows or the expression gets
    /// too large.
    #[must_use]
    pub fn add(&self, other: &Self) -> Option<Self> {
        if let (Some(a), Some(b)) = (self.fixed(), other.fixed()) {
            return a.checked_add(b).map(Self::from);
        }
        let mut terms = self.terms();
        for (monomial, coefficient) in other.terms() {
            add_term(&mut terms, monomial, coefficient)?;
        }
        Self::from_terms(terms)
    }

    /// `self - other`; `None` when a coefficient overflows or the expression gets
    /// too large.
    #[must_use]
    pub fn sub(&self, other: &Self) -> Option<Self> {
        self.add(&other.mul(&Self::from(-1))?)
    }

    /// `self · other`; `None` when a coefficient overflows or the expression gets
    /// too large.
    #[must_use]
    pub fn mul(&self, other: &Self) -> Option<Self> {
        if let (Some(a), Some(b)) = (self.fixed(), other.fixed()) {
            return a.checked_mul(b).map(Self::from);
        }
        let (left_terms, right_terms) = (self.terms(), other.terms());
        if left_terms.len() * right_terms.len() > MAX_WEIGHT {
            return None;
        }
        let mut terms = BTreeMap::new();
        for (left, a) in &left_terms {
            for (right, b) in &right_terms {
                add_term(&mut terms, product(left, right)?, a.checked_mul(*b)?)?;
            }
        }
        Self::from_terms(terms)
    }

    /// The largest integer not above `self / divisor`; `None` on overflow, a divisor of zero, or an
    /// expression that gets too large.
    #[must_use]
    pub fn floor_div(&self, divisor: &Self) -> Option<Self> {
        if divisor.fixed() == Some(0) {
            return None;
        }
        if let (Some(a), Some(b)) = (self.fixed(), divisor.fixed()) {
            return floor_div(a, b).map(Self::from);
        }
        // Terms that the divisor divides leave the division, and so do whole multiples of it in
        // the constant term; what remains stays inside.
        let (mut whole, mut rest) = (BTreeMap::new(), BTreeMap::new());
        for (monomial, coefficient) in self.terms() {
            match (divisor.divides(&monomial, coefficient), divisor.fixed()) {
                (Some((quotient, factor)), _) => add_term(&mut whole, quotient, factor)?,
                (None, Some(by)) if monomial.is_empty() => {
                    let quotient = floor_div(coefficient, by)?;
                    let remainder = coefficient.checked_sub(quotient.checked_mul(by)?)?;
                    add_term(&mut whole, Monomial::new(), quotient)?;
                    add_term(&mut rest, Monomial::new(), remainder)?;
                }
                _ => add_term(&mut rest, monomial, coefficient)?,
            }
        }
        let whole = Self::from_terms(whole)?;
        let rest = Self::from_terms(rest)?;
        let remainder = match (rest.fixed(), divisor.fixed()) {
            (Some(0), _) => Self::from(0),
            (Some(a), Some(b)) => Self::from(floor_div(a, b)?),
            _ if rest == *divisor => Self::from(1),
            _ => Self::atom(Atom::FloorDiv(rest, divisor.clone()))?,
        };
        whole.add(&remainder)
    }

    /// The smallest integer not below `self / divisor`; `None` on overflow, a divisor of zero, or
    /// an expression that gets too large.
    #[must_use]
    pub fn ceil_div(&self, divisor: &Self) -> Option<Self> {
        // Over a positive number: the spelling that rounding down gives as well.
        if let (None, Some(by @ 1..)) = (self.fixed(), divisor.fixed()) {
            return self.add(&Self::from(by - 1))?.floor_div(divisor);
        }
        let negative = self.mul(&Self::from(-1))?.floor_div(divisor)?;
        negative.mul(&Self::from(-1))
    }

    /// The larger of the two; `None` when a coefficient overflows or the expression gets too large.
    #[must_use]
    pub fn larger(&self, other: &Self) -> Option<Self> {
        self.choose(other, Atom::Max, |difference| difference >= 0)
    }

    /// The smaller of the two; `None` when a coefficient overflows or the expression gets too large.
    #[must_use]
    pub fn smaller(&self, other: &Self) -> Option<Self> {
        self.choose(other, Atom::Min, |difference| difference <= 0)
    }

    /// Whether the two differ whatever the named sizes are.
    #[must_use]
    pub fn surely_differs(&self, other: &Self) -> bool {
        self.sub(other)
            .and_then(|difference| difference.fixed())
            .is_some_and(|d| d != 0)
    }

    /// Whether the expression is surely at least 0: a sum of products of sizes, which are.
    #[must_use]
    pub fn is_never_negative(&self) -> bool {
        let Some(terms) = self.polynomial() else {
            return self.fixed().is_some_and(|size| size >= 0);
        };
        terms.iter().all(|(monomial, coefficient)| {
            let names = |(atom, _): &(Atom, u32)| matches!(atom, Atom::Name(_));
            *coefficient >= 0 && monomial.iter().all(names)
        })
    }

    /// The size under the given sizes of the names.
    ///
    /// # Errors
    /// When a name has no size, or a value overflows or divides by zero.
    pub fn evaluate(&self, size_of: &dyn Fn(&str) -> Option<i64>) -> Result<i64, DimError> {
        let terms = match &self.0 {
            Form::Fixed(size) => return Ok(*size),
            Form::Polynomial(polynomial) => &polynomial.terms,
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

    fn atom(atom: Atom) -> Option<Self> {
        Self::from_terms(BTreeMap::from([(vec![(atom, 1)], 1)]))
    }

    fn polynomial(&self) -> Option<&BTreeMap<Monomial, i64>> {
        match &self.0 {
            Form::Fixed(_) => None,
            Form::Polynomial(polynomial) => Some(&polynomial.terms),
        }
    }

    fn terms(&self) -> BTreeMap<Monomial, i64> {
        match &self.0 {
            Form::Fixed(0) => BTreeMap::new(),
            Form::Fixed(size) => BTreeMap::from([(Monomial::new(), *size)]),
            Form::Polynomial(polynomial) => polynomial.terms.clone(),
        }
    }

    /// `None` when the expression is too large.
    fn from_terms(terms: BTreeMap<Monomial, i64>) -> Option<Self> {
        match terms.iter().next() {
            None => return Some(Self::from(0)),
            Some((monomial, coefficient)) if terms.len() == 1 && monomial.is_empty() => {
                return Some(Self::from(*coefficient));
            }
            Some(_) => {}
        }
        let atoms = || terms.keys().flatten().map(|(atom, _)| atom);
        let weight = terms.len() + atoms().map(Atom::weight).sum::<usize>();
        let depth = atoms().map(Atom::depth).max().unwrap_or(0);
        (weight <= MAX_WEIGHT && depth <= MAX_DEPTH).then(|| {
            Self(Form::Polynomial(Arc::new(Polynomial {
                terms,
                weight,
                depth,
            })))
        })
    }

    fn weight_and_depth(&self) -> (usize, usize) {
        match &self.0 {
            Form::Fixed(_) => (1, 0),
            Form::Polynomial(polynomial) => (polynomial.weight, polynomial.depth),
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
            None if self <= other => Self::atom(atom(self.clone(), other.clone()))?,
            None => Self::atom(atom(other.clone(), self.clone()))?,
        })
    }
}

impl Atom {
    fn weight(&self) -> usize {
        match self {
            Self::Name(_) => 1,
            Self::FloorDiv(a, b) | Self::Max(a, b) | Self::Min(a, b) => {
                1 + a.weight_and_depth().0 + b.weight_and_depth().0
            }
        }
    }

    fn depth(&self) -> usize {
        match self {
            Self::Name(_) => 0,
            Self::FloorDiv(a, b) | Self::Max(a, b) | Self::Min(a, b) => {
                1 + a.weight_and_depth().1.max(b.weight_and_depth().1)
            }
        }
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
            Form::Polynomial(polynomial) => &polynomial.terms,
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
mod tests;
