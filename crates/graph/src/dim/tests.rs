//! What dimension expressions must keep to: one spelling, the values of integers, and limits.

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
    assert_eq!(n().larger(&n().sub(&Dim::from(1)).unwrap()).unwrap(), n());
    assert_eq!(n().larger(&Dim::from(3)), Dim::from(3).larger(&n()));
    // A window of three at a stride of two, and the same size with SAME padding.
    let explicit = n().sub(&Dim::from(1)).unwrap().floor_div(&Dim::from(2));
    let explicit = explicit.unwrap().add(&Dim::from(1)).unwrap();
    assert_eq!(Some(explicit), n().ceil_div(&Dim::from(2)));
}

#[test]
fn expressions_do_not_grow_without_end() {
    // Deeper and deeper, and twice as heavy with every step.
    let two = Dim::from(2);
    let deeper = (0..).try_fold(n(), |dim, _: u64| dim.add(&Dim::from(1))?.floor_div(&two));
    assert_eq!(deeper, None);
    let halved = |dim: &Dim| dim.mul(dim)?.floor_div(&two)?.larger(dim);
    assert_eq!((0..).try_fold(n(), |dim, _: u64| halved(&dim)), None);
    // Sums of many names multiply to more terms than anybody can write.
    let sum = (0..100).try_fold(Dim::from(0), |sum, name| {
        sum.add(&Dim::named(&format!("n{name}")))
    });
    let sum = sum.unwrap();
    assert_eq!(
        (0..8).try_fold(Dim::from(1), |product, _| product.mul(&sum)),
        None
    );
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
        check(square.larger(&linear), value.max(size * a + b));
        check(square.smaller(&linear), value.min(size * a + b));
        check(linear.sub(&square), size * a + b - value);
    }
}
