//! Running: shapes, types, ranges, and what is refused.

mod common;

use common::{Place, run};
use proptest::prelude::*;
use tensoracle::{DataType, Error, HostTensor, Session};

fn session() -> Session {
    Place::new().open().unwrap().session().unwrap()
}

fn rows(rows: u64) -> HostTensor {
    HostTensor::new([rows, 3], vec![1.0f32; 3 * rows as usize]).unwrap()
}

#[test]
fn output_shapes_follow_input_shapes() {
    let mut session = session();
    assert!(session.tensor_shape("y").is_err(), "not known before");
    session.set_input_shapes(&[("x", &[5, 3])]).unwrap();
    assert_eq!(session.tensor_shape("y").unwrap(), [5, 2]);
    let outputs = session.run(&[("x", &rows(7))]).unwrap();
    assert_eq!(outputs.get("y").unwrap().dims(), [7, 2]);
    assert_eq!(
        session.tensor_shape("x").unwrap(),
        [7, 3],
        "a run sets shapes by itself"
    );
}

#[test]
fn sessions_of_one_engine_are_independent() {
    let engine = Place::new().open().unwrap();
    let mut threads = Vec::new();
    for count in 1..=8 {
        let engine = engine.clone();
        threads.push(std::thread::spawn(move || {
            (0..50).map(|_| run(&engine, count)).collect()
        }));
    }
    for (count, thread) in (1..=8).zip(threads) {
        let outputs: Vec<Vec<f32>> = thread.join().unwrap();
        for output in outputs {
            assert_eq!(output, [0.5, 1.75].repeat(count));
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let mut session = session();
    let mut refused = |inputs: &[(&str, &HostTensor)]| {
        let error = session.run(inputs).unwrap_err();
        match error.hint() {
            Some(hint) => format!("{error}\nhint: {hint}"),
            None => error.to_string(),
        }
    };
    let halves = HostTensor::from_bytes(DataType::Half, [1, 3], vec![0; 6]).unwrap();
    let (one, nine) = (rows(1), rows(9));
    let four = HostTensor::new([1, 4], [0.0f32; 4]).unwrap();
    let flat = HostTensor::new([3], [0.0f32; 3]).unwrap();
    let messages = [
        refused(&[]),
        refused(&[("z", &one)]),
        refused(&[("x", &one), ("x", &one)]),
        refused(&[("x", &halves)]),
        refused(&[("x", &nine)]),
        refused(&[("x", &rows(0))]),
        refused(&[("x", &four)]),
        refused(&[("x", &flat)]),
    ];
    insta::assert_snapshot!(messages.join("\n"));
    assert!(
        session.run(&[("x", &one)]).is_ok(),
        "the session is not spoilt"
    );
}

#[test]
fn elements_and_types_are_checked() {
    assert!(matches!(
        HostTensor::new([2, 2], [1.0f32; 3]),
        Err(Error::Elements { .. })
    ));
    assert!(HostTensor::new([u64::MAX, 2], [1.0f32; 3]).is_err());
    let tensor = rows(1);
    assert!(matches!(
        tensor.to_vec::<i32>(),
        Err(Error::ElementType { .. })
    ));
    let outputs = session().run(&[("x", &tensor)]).unwrap();
    insta::assert_snapshot!(outputs.get("z").unwrap_err(), @"there is no output `z`; there are: y");
}

proptest! {
    /// Whatever the name, type, shape and bytes: an answer or an error, never a panic.
    #[test]
    fn any_input_is_answered(
        name in prop_oneof![Just("x".to_owned()), "[a-z]{0,3}"],
        data_type in prop::sample::select(&DataType::ALL[..]),
        dims in prop::collection::vec(0u64..10, 0..4),
    ) {
        let bytes = data_type.bytes_for(dims.iter().product()).unwrap();
        let tensor = HostTensor::from_bytes(data_type, dims.clone(), vec![0; bytes as usize]);
        let tensor = tensor.unwrap();
        let fits = name == "x"
            && data_type == DataType::Float
            && matches!(dims[..], [1..=8, 3]);
        prop_assert_eq!(session().run(&[(&name, &tensor)]).is_ok(), fits);
    }

    #[test]
    fn any_shape_is_answered(dims in prop::collection::vec(any::<u64>(), 0..5)) {
        prop_assert!(session().set_input_shapes(&[("x", &dims)]).is_err() || dims[0] <= 8);
    }
}

#[cfg(feature = "ndarray")]
#[test]
fn arrays_of_any_memory_order_go_in_and_come_out() {
    use ndarray::{Array2, array};
    let rows: Array2<f32> = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let transposed = rows.t();
    let tensor = HostTensor::from(&transposed);
    assert_eq!(tensor.dims(), [3, 2]);
    assert_eq!(
        tensor.to_vec::<f32>().unwrap(),
        [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]
    );
    assert_eq!(tensor.to_array::<f32>().unwrap(), transposed.into_dyn());
    assert!(tensor.to_array::<i32>().is_err());
}
