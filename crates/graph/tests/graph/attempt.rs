//! Random layers with random arguments, for tests here and of what runs graphs.

use proptest::prelude::*;
use tensoracle_graph::*;

/// A layer to try, as numbers that arguments are made from.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    kind: u8,
    inputs: Vec<prop::sample::Index>,
    numbers: Vec<i64>,
    choice: u8,
}

/// Any layer with any arguments, most of them small.
pub(crate) fn attempt() -> impl Strategy<Value = Attempt> {
    let number = prop_oneof![
        8 => -3i64..6,
        1 => prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(i64::from(i32::MAX)), Just(1 << 40)],
    ];
    (
        0u8..18,
        proptest::collection::vec(any::<prop::sample::Index>(), 3),
        proptest::collection::vec(number, 0..6),
        any::<u8>(),
    )
        .prop_map(|(kind, inputs, numbers, choice)| Attempt {
            kind,
            inputs,
            numbers,
            choice,
        })
}

impl Attempt {
    fn number(&self, index: usize) -> i64 {
        self.numbers.get(index).copied().unwrap_or(0)
    }

    fn sizes(&self) -> Vec<u64> {
        self.numbers.iter().map(|n| n.unsigned_abs()).collect()
    }

    fn pick<T: Copy>(&self, from: &[T]) -> T {
        from[usize::from(self.choice) % from.len()]
    }

    /// Adds the layer over some of `tensors`; refusals are answers too.
    pub(crate) fn add(&self, g: &mut Graph, tensors: &[Tensor]) -> Result<Tensor, GraphError> {
        let t: Vec<Tensor> = self
            .inputs
            .iter()
            .map(|index| *index.get(tensors))
            .collect();
        let numbers = &self.numbers;
        let axis = self.number(0);
        let usizes = || numbers.iter().map(|&n| n as usize).collect::<Vec<_>>();
        match self.kind {
            0 => g.add_activation(t[0], self.pick(&ActivationType::ALL)),
            1 => g.add_cast(t[0], self.pick(&DataType::ALL)),
            2 => g.add_concatenation(&t[..1 + usize::from(self.choice) % 3], axis),
            3 => g.add_constant(Values::new([numbers.len() as u64], numbers)),
            4 => {
                let layer = Convolution {
                    stride: if self.choice & 1 == 0 {
                        vec![]
                    } else {
                        self.sizes()
                    },
                    dilation: if self.choice & 2 == 0 {
                        vec![]
                    } else {
                        self.sizes()
                    },
                    pre_padding: if self.choice & 4 == 0 {
                        vec![]
                    } else {
                        self.sizes()
                    },
                    post_padding: if self.choice & 8 == 0 {
                        vec![]
                    } else {
                        self.sizes()
                    },
                    padding_mode: [
                        PaddingMode::ExplicitRoundDown,
                        PaddingMode::ExplicitRoundUp,
                        PaddingMode::SameUpper,
                        PaddingMode::SameLower,
                    ][usize::from(self.choice >> 4) % 4],
                    groups: if self.choice & 64 == 0 {
                        1
                    } else {
                        axis.unsigned_abs()
                    },
                };
                let rank = g.dims(t[0]).len().max(2) as i64;
                let window = 1 + self.number(1).rem_euclid(3) as u64;
                let channels = g.dims(t[0]).get(1).and_then(Dim::fixed).unwrap_or(1);
                let mut dims = vec![2, (channels as u64).min(64)];
                dims.extend((2..rank).map(|_| window));
                let count = dims.iter().product::<u64>() as usize;
                let kernel = g.add_constant(Values::new(dims, vec![0.0f32; count]))?;
                g.add_convolution(t[0], kernel, None, layer)
            }
            5 => g.add_elementwise(t[0], t[1], self.pick(&ElementWiseOperation::ALL)),
            6 => {
                let mode = self.pick(&[GatherMode::Default, GatherMode::Element, GatherMode::Nd]);
                let elementwise_dims = self.number(1) as usize;
                g.add_gather(
                    t[0],
                    t[1],
                    Gather {
                        mode,
                        axis,
                        elementwise_dims,
                    },
                )
            }
            7 => g.add_identity(t[0]),
            8 => {
                use MatrixOperation::{None as N, Transpose as T, Vector as V};
                let (left, right) = self.pick(&[(N, N), (T, N), (N, T), (V, V), (V, N), (N, V)]);
                g.add_matrix_multiply(t[0], left, t[1], right)
            }
            9 => {
                let groups = if self.choice & 1 == 0 {
                    1
                } else {
                    self.number(5).unsigned_abs()
                };
                g.add_normalization(
                    t[0],
                    t[1],
                    t[1],
                    Normalization::over(numbers.as_slice()).groups(groups),
                )
            }
            10 => g.add_padding(
                t[0],
                [self.number(0), self.number(1)],
                [self.number(2), self.number(3)],
            ),
            11 => g.add_reduce(
                t[0],
                self.pick(&ReduceOperation::ALL),
                numbers,
                self.choice & 32 == 0,
            ),
            12 => g.add_select(t[0], t[1], t[2]),
            13 => g.add_shape(t[0]),
            14 => {
                let layer = match self.choice % 4 {
                    0 => Shuffle::transpose(usizes()),
                    1 => Shuffle::reshape(numbers.as_slice()).zero_is_size(),
                    _ => Shuffle::reshape(numbers.as_slice()),
                };
                match self.choice & 64 {
                    0 => g.add_shuffle(t[0], layer),
                    _ => g.add_shuffle_to(t[0], t[1], Shuffle::default()),
                }
            }
            15 => {
                let rank = g.dims(t[0]).len();
                let list = |from: i64| {
                    (0..rank)
                        .map(|axis| self.number(axis).wrapping_add(from))
                        .collect::<Vec<_>>()
                };
                let mode = self.pick(&[
                    SampleMode::StrictBounds,
                    SampleMode::Wrap,
                    SampleMode::Clamp,
                    SampleMode::Fill,
                    SampleMode::Reflect,
                ]);
                let mut slice = Slice::new(list(0), list(1), list(-1)).mode(mode);
                let mut inputs = SliceInputs::default();
                match self.choice >> 5 {
                    1 => (slice.start, inputs.start) = (vec![], Some(t[1])),
                    2 => (slice.size, inputs.size) = (vec![], Some(t[1])),
                    3 => slice.axes = Some(numbers.clone()),
                    4 => inputs.axes = Some(t[1]),
                    5 => inputs.fill = Some(t[1]),
                    _ => {}
                }
                g.add_slice_with(t[0], slice, inputs)
            }
            16 => g.add_softmax(t[0], axis),
            _ => g.add_unary(t[0], self.pick(&UnaryOperation::ALL)),
        }
    }
}

/// Inputs of several types and ranks, with `n` where a size varies.
pub(crate) fn start(g: &mut Graph, n: Dim) -> Vec<Tensor> {
    let shapes = [
        (DataType::Float, vec![n.clone(), Dim::from(4), Dim::from(6)]),
        (DataType::Float, vec![Dim::from(1), Dim::from(4), n.clone()]),
        (DataType::Float, vec![]),
        (DataType::Int64, vec![n]),
        (
            DataType::Bool,
            vec![Dim::from(1), Dim::from(4), Dim::from(1)],
        ),
        (DataType::Int32, vec![Dim::from(0), Dim::from(2)]),
    ];
    let inputs = shapes.into_iter().enumerate();
    inputs
        .map(|(i, (t, dims))| g.add_input(&format!("x{i}"), t, dims).unwrap())
        .collect()
}
