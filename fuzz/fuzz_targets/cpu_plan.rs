//! A plan of the CPU engine from outside: loading it, and running it where it loads, never panics.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::Arc;
use tensoracle_cpu::{Input, Plan};

fuzz_target!(|data: &[u8]| {
    let Ok(plan) = Plan::load(Arc::new(data.to_vec())) else {
        return;
    };
    let mut session = plan.session();
    // Every input at the smallest sizes that the plan takes; large ones would only take long.
    let shapes: Vec<(String, Vec<u64>)> = plan
        .input_shapes()
        .iter()
        .map(|(name, shape)| (name.clone(), shape.min.clone()))
        .collect();
    let elements: u64 = shapes
        .iter()
        .map(|(_, shape)| shape.iter().fold(1u64, |n, size| n.saturating_mul(*size)))
        .fold(0, u64::saturating_add);
    if elements > 1 << 16 {
        return;
    }
    let named: Vec<_> = shapes.iter().map(|(name, shape)| (&name[..], &shape[..])).collect();
    if session.set_input_shapes(&named).is_err() {
        return;
    }
    let graph = plan.graph();
    let inputs: Vec<_> = graph
        .inputs()
        .iter()
        .filter_map(|(name, tensor)| {
            let data_type = graph.data_type(*tensor);
            let (_, shape) = shapes.iter().find(|(found, _)| found == name)?;
            let bytes = data_type.bytes_for(shape.iter().product())?;
            Some((name, data_type, vec![0u8; bytes as usize]))
        })
        .collect();
    let inputs: Vec<_> = inputs
        .iter()
        .map(|(name, data_type, bytes)| Input {
            name,
            data_type: *data_type,
            bytes,
        })
        .collect();
    let _ = session.run(&inputs);
});
