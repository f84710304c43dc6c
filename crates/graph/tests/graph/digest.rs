//! What changes a graph's digest, what does not, and one digest that no release may change.

use std::collections::BTreeMap;
use std::sync::Arc;
use tensoracle_graph::*;

/// One digest and the canonical bytes behind it: a change here means that saved engines are built
/// anew, and asks for another `FORMAT`.
#[test]
fn the_digest_of_a_known_graph() {
    let mut g = Graph::new();
    let x = g.add_input("x", DataType::Float, dims!["n", 2]).unwrap();
    let bias = g.add_constant(Values::new([1, 2], [0.5f32, -1.0])).unwrap();
    let y = g
        .named("shift")
        .add_elementwise(x, bias, ElementWiseOperation::Sum)
        .unwrap();
    let y = g.add_activation(y, Activation::clip(0.0, 0.1)).unwrap();
    g.mark_output("y", y).unwrap();
    let bytes = g.canonical_bytes().unwrap();
    // Both digests are those of another BLAKE3, the Python package.
    assert_eq!(
        String::from_utf8(bytes).unwrap(),
        concat!(
            r#"{"format":1,"inputs":[{"name":"x","data_type":"Float","dims":["n",2]}],"#,
            r#""constants":[{"data_type":"Float","dims":[1,2],"recipe":{"Stored":{"element":"#,
            r#""float","dims":[1,2],"digest":"2289f11e7346cf789fa7f35974d30ed0420e97ec8527c2314adee1030be1fef4"}}}],"#,
            r#""layers":[{"name":"constant_0","layer":{"Constant":{"index":0}},"inputs":[]},"#,
            r#"{"name":"shift","layer":{"ElementWise":{"operation":"Sum"}},"inputs":[0,1]},"#,
            r#"{"name":"activation_0","layer":{"Activation":{"function":"Clip","alpha":0.0,"#,
            r#""beta":0.1}},"inputs":[2]}],"outputs":[{"name":"y","tensor":3}]}"#,
        )
    );
    assert_eq!(
        g.digest().unwrap().to_string(),
        "7d69060c93c9f7f175b3a633a06b578d46c595a1747d744a0f7714614bc7ee62"
    );
}

/// A network that the tests below vary: every argument of it can be given another value.
struct Network {
    input_name: &'static str,
    input_type: DataType,
    input_dims: Dims,
    layer_name: &'static str,
    output_name: &'static str,
    constant: Values,
    operation: ElementWiseOperation,
    swapped: bool,
    output_is_input: bool,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            input_name: "x",
            input_type: DataType::Float,
            input_dims: dims!["n", 2],
            layer_name: "sum",
            output_name: "y",
            constant: Values::new([1, 2], [0.5f32, -1.0]),
            operation: ElementWiseOperation::Sum,
            swapped: false,
            output_is_input: false,
        }
    }
}

impl Network {
    fn graph(self) -> Graph {
        let mut g = Graph::new();
        let x = g
            .add_input(self.input_name, self.input_type, self.input_dims)
            .unwrap();
        let constant = g.named("bias").add_constant(self.constant).unwrap();
        let (a, b) = if self.swapped {
            (constant, x)
        } else {
            (x, constant)
        };
        let y = g
            .named(self.layer_name)
            .add_elementwise(a, b, self.operation)
            .unwrap();
        let y = g.named("end").add_identity(y).unwrap();
        let output = if self.output_is_input { x } else { y };
        g.mark_output(self.output_name, output).unwrap();
        g
    }

    fn digest(self) -> ContentDigest {
        self.graph().digest().unwrap()
    }
}

#[test]
fn changing_anything_that_matters_changes_the_digest() {
    let new = Network::default;
    let half = Values::from_bytes(DataType::Half, vec![1, 2], vec![0; 4]).unwrap();
    let variants = [
        ("nothing", new()),
        (
            "input name",
            Network {
                input_name: "X",
                ..new()
            },
        ),
        (
            "input type",
            Network {
                input_type: DataType::Half,
                constant: half,
                ..new()
            },
        ),
        (
            "fixed dim",
            Network {
                input_dims: dims![1, 2],
                ..new()
            },
        ),
        (
            "another fixed dim",
            Network {
                input_dims: dims![2, 2],
                ..new()
            },
        ),
        (
            "name of a dim",
            Network {
                input_dims: dims!["m", 2],
                ..new()
            },
        ),
        (
            "a dim named like a number",
            Network {
                input_dims: dims!["1", 2],
                ..new()
            },
        ),
        (
            "dynamic dim",
            Network {
                input_dims: dims!["n", "k"],
                ..new()
            },
        ),
        (
            "layer name",
            Network {
                layer_name: "Sum",
                ..new()
            },
        ),
        (
            "output name",
            Network {
                output_name: "Y",
                ..new()
            },
        ),
        (
            "content",
            Network {
                constant: Values::new([1, 2], [0.5f32, -1.5]),
                ..new()
            },
        ),
        (
            "sign of zero",
            Network {
                constant: Values::new([1, 2], [0.0f32, 0.0]),
                ..new()
            },
        ),
        (
            "the other zero",
            Network {
                constant: Values::new([1, 2], [-0.0f32, 0.0]),
                ..new()
            },
        ),
        (
            "shape",
            Network {
                constant: Values::new([1, 1], [0.5f32]),
                ..new()
            },
        ),
        (
            "operation",
            Network {
                operation: ElementWiseOperation::Prod,
                ..new()
            },
        ),
        (
            "wiring",
            Network {
                swapped: true,
                ..new()
            },
        ),
        (
            "output",
            Network {
                output_is_input: true,
                ..new()
            },
        ),
    ];
    let mut seen = BTreeMap::new();
    for (what, network) in variants {
        if let Some(other) = seen.insert(network.digest(), what) {
            panic!("`{what}` has the digest of `{other}`");
        }
    }
}

/// A constant of the content of `Values` under another recipe or name.
#[derive(Debug)]
struct Described {
    recipe: Recipe,
    label: &'static str,
}

impl ConstantSource for Described {
    fn data_type(&self) -> DataType {
        DataType::Float
    }

    fn dims(&self) -> &[u64] {
        &[1, 2]
    }

    fn recipe(&self) -> Result<Recipe, SourceError> {
        Ok(self.recipe.clone())
    }

    fn read(&self, _: &mut [u8]) -> Result<(), SourceError> {
        Err(SourceError {
            subject: self.describe(),
            reason: "not here".into(),
            hint: None,
            cause: None,
        })
    }

    fn describe(&self) -> String {
        self.label.into()
    }
}

#[test]
fn recipes_matter_and_labels_do_not() {
    let stored = || {
        Box::new(Recipe::Stored {
            element: "F32".into(),
            dims: vec![2],
            digest: ContentDigest::of(b"weights"),
        })
    };
    let digest = |label, recipe| {
        let mut g = Graph::new();
        let constant = g
            .named("c")
            .add_constant(Described { recipe, label })
            .unwrap();
        g.mark_output("y", constant).unwrap();
        g.digest().unwrap()
    };
    let other = |element: &str, dims: Vec<u64>, content: &[u8]| Recipe::Stored {
        element: element.into(),
        dims,
        digest: ContentDigest::of(content),
    };
    let slice = |start, end| Recipe::Slice {
        start: vec![start],
        end: vec![end],
        of: stored(),
    };
    let recipes = [
        *stored(),
        other("BF16", vec![2], b"weights"),
        other("F32", vec![1, 2], b"weights"),
        other("F32", vec![2], b"Weights"),
        Recipe::Cast {
            element: "F32".into(),
            of: stored(),
        },
        Recipe::Cast {
            element: "F16".into(),
            of: stored(),
        },
        Recipe::Transpose {
            permutation: vec![0, 1],
            of: stored(),
        },
        Recipe::Transpose {
            permutation: vec![1, 0],
            of: stored(),
        },
        Recipe::Reshape {
            dims: vec![1, 2],
            of: stored(),
        },
        Recipe::Reshape {
            dims: vec![2, 1],
            of: stored(),
        },
        slice(0, 1),
        slice(1, 2),
        slice(0, 2),
        Recipe::Concat {
            axis: 0,
            of: vec![*stored()],
        },
        Recipe::Concat {
            axis: 1,
            of: vec![*stored()],
        },
        Recipe::Concat {
            axis: 0,
            of: vec![*stored(), *stored()],
        },
    ];
    let mut seen = BTreeMap::new();
    for recipe in recipes {
        let named = digest("encoder.weight", recipe.clone());
        assert_eq!(named, digest("decoder.weight in shard 2", recipe.clone()));
        if let Some(other) = seen.insert(named, recipe.clone()) {
            panic!("{recipe:?} has the digest of {other:?}");
        }
    }
}

#[test]
fn what_does_not_matter_does_not_change_the_digest() {
    let plain = Network::default().digest();
    let with_dead = |before: bool| {
        let network = Network::default();
        let mut g = Graph::new();
        let x = g
            .add_input("x", network.input_type, network.input_dims.clone())
            .unwrap();
        let unused = |g: &mut Graph| {
            let constant = g.add_constant(Values::new([1, 2], [9.0f32, 9.0])).unwrap();
            let dead = g
                .add_elementwise(x, constant, ElementWiseOperation::Div)
                .unwrap();
            g.add_unary(dead, UnaryOperation::Exp).unwrap();
        };
        if before {
            unused(&mut g);
        }
        let constant = g.named("bias").add_constant(network.constant).unwrap();
        if !before {
            unused(&mut g);
        }
        let y = g
            .named("sum")
            .add_elementwise(x, constant, network.operation)
            .unwrap();
        let y = g.named("end").add_identity(y).unwrap();
        g.mark_output("y", y).unwrap();
        g.digest().unwrap()
    };
    assert_eq!(with_dead(true), plain);
    assert_eq!(with_dead(false), plain);
    assert_eq!(Network::default().graph().clone().digest().unwrap(), plain);
}

#[test]
fn negative_axes_and_their_order_are_one_spelling() {
    let digest = |add: &dyn Fn(&mut Graph, Tensor) -> Result<Tensor, GraphError>| {
        let mut g = Graph::new();
        let x = g.add_input("x", DataType::Float, dims![4, 4, 4]).unwrap();
        let y = add(&mut g, x).unwrap();
        g.mark_output("y", y).unwrap();
        g.digest().unwrap()
    };
    type Add = Box<dyn Fn(&mut Graph, Tensor) -> Result<Tensor, GraphError>>;
    let pairs: Vec<[Add; 2]> = vec![
        [
            Box::new(|g, x| g.add_softmax(x, -1)),
            Box::new(|g, x| g.add_softmax(x, 2)),
        ],
        [
            Box::new(|g, x| g.add_concatenation(&[x, x], -3)),
            Box::new(|g, x| g.add_concatenation(&[x, x], 0)),
        ],
        [
            Box::new(|g, x| g.add_reduce(x, ReduceOperation::Sum, &[-1, 0], true)),
            Box::new(|g, x| g.add_reduce(x, ReduceOperation::Sum, &[0, 2], true)),
        ],
        [
            Box::new(|g, x| g.add_normalization(x, x, x, Normalization::over([-1, 1]))),
            Box::new(|g, x| g.add_normalization(x, x, x, Normalization::over([1, 2]))),
        ],
        [
            Box::new(|g, x| g.add_slice(x, Slice::new([1], [2], [1]).axes([-1]))),
            Box::new(|g, x| g.add_slice(x, Slice::new([1], [2], [1]).axes([2]))),
        ],
    ];
    for [negative, positive] in pairs {
        assert_eq!(digest(&*negative), digest(&*positive));
    }
}

#[test]
fn a_constant_that_cannot_be_read_has_no_digest() {
    #[derive(Debug)]
    struct Broken;
    impl ConstantSource for Broken {
        fn data_type(&self) -> DataType {
            DataType::Int64
        }
        fn dims(&self) -> &[u64] {
            &[2]
        }
        fn recipe(&self) -> Result<Recipe, SourceError> {
            Err(SourceError {
                subject: "w in a.safetensors".into(),
                reason: "gone".into(),
                hint: None,
                cause: None,
            })
        }
        fn read(&self, _: &mut [u8]) -> Result<(), SourceError> {
            self.recipe().map(|_| ())
        }
        fn describe(&self) -> String {
            "w".into()
        }
    }
    let mut g = Graph::new();
    let dead = g.add_constant(Broken).unwrap();
    assert_eq!(g.shape_value(dead), None);
    let x = g.add_input("x", DataType::Float, dims![1]).unwrap();
    g.mark_output("x again", x).unwrap();
    assert!(g.digest().is_ok(), "a dead constant is not asked");
    g.mark_output("w", dead).unwrap();
    assert_eq!(
        g.digest().unwrap_err().to_string(),
        "w in a.safetensors: gone"
    );
}

#[test]
fn digests_are_written_in_hexadecimal() {
    let digest = ContentDigest::of(b"");
    // The BLAKE3 digest of nothing, from its specification's test vectors.
    let text = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
    assert_eq!(digest.to_string(), text);
    assert_eq!(ContentDigest::try_from(text.to_owned()), Ok(digest));
    for bad in ["", "af13", &text.replace('a', "g"), &format!("{text}00")] {
        assert!(ContentDigest::try_from(bad.to_owned()).is_err(), "{bad}");
    }
    let shared: Arc<dyn ConstantSource> = Arc::new(Values::scalar(1u8));
    assert_eq!(shared.bytes(), Some(&[1u8][..]));
}
