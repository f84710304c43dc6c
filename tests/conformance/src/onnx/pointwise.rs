//! Operators on single elements: unary, element-wise, activations, casts.

use super::Node;
use super::compose::{combined, with_number};
use tensoracle_graph::{
    Activation, ActivationType, DataType, ElementWiseOperation, Graph, GraphError, Tensor,
    UnaryOperation,
};

pub(super) fn unary(node: &Node, g: &mut Graph, x: &[Tensor]) -> Result<Vec<Tensor>, GraphError> {
    let x = x[0];
    let operation = match node.op.as_str() {
        "Abs" => UnaryOperation::Abs,
        "Acos" => UnaryOperation::Acos,
        "Acosh" => UnaryOperation::Acosh,
        "Asin" => UnaryOperation::Asin,
        "Asinh" => UnaryOperation::Asinh,
        "Atan" => UnaryOperation::Atan,
        "Atanh" => UnaryOperation::Atanh,
        "Ceil" => UnaryOperation::Ceil,
        "Cos" => UnaryOperation::Cos,
        "Cosh" => UnaryOperation::Cosh,
        "Erf" => UnaryOperation::Erf,
        "Exp" => UnaryOperation::Exp,
        "Floor" => UnaryOperation::Floor,
        "IsInf" => UnaryOperation::IsInf,
        "IsNaN" => UnaryOperation::IsNan,
        "Neg" => UnaryOperation::Neg,
        "Not" => UnaryOperation::Not,
        "Reciprocal" => UnaryOperation::Recip,
        "Sin" => UnaryOperation::Sin,
        "Sinh" => UnaryOperation::Sinh,
        "Sqrt" => UnaryOperation::Sqrt,
        "Tan" => UnaryOperation::Tan,
        other => unreachable!("{other} is no unary operator"),
    };
    let mut y = g.add_unary(x, operation)?;
    for (attribute, wrong_side) in [
        ("detect_positive", ElementWiseOperation::Greater),
        ("detect_negative", ElementWiseOperation::Less),
    ] {
        if node.op == "IsInf" && node.int(attribute, 1) == 0 {
            let wrong = with_number(g, x, 0.0, wrong_side)?;
            let right = g.add_unary(wrong, UnaryOperation::Not)?;
            y = g.add_elementwise(y, right, ElementWiseOperation::And)?;
        }
    }
    Ok(vec![y])
}

pub(super) fn cast(node: &Node, g: &mut Graph, x: &[Tensor]) -> Result<Vec<Tensor>, GraphError> {
    Ok(vec![g.add_cast(x[0], node.outputs[0].data_type)?])
}

pub(super) fn activation(
    node: &Node,
    g: &mut Graph,
    x: &[Tensor],
) -> Result<Vec<Tensor>, GraphError> {
    use ElementWiseOperation::Prod;
    let x = x[0];
    let parameter = |name, default| node.float(name, default) as f32;
    let with = |function, alpha, beta| Activation {
        function,
        alpha,
        beta,
    };
    let layer = match node.op.as_str() {
        // alpha·(exp(x / alpha) - 1) below zero is Elu of x / alpha, alpha times.
        "Celu" => {
            let alpha = node.float("alpha", 1.0);
            let scaled = with_number(g, x, 1.0 / alpha, Prod)?;
            let y = g.add_activation(scaled, with(ActivationType::Elu, 1.0, 0.0))?;
            return Ok(vec![with_number(g, y, alpha, Prod)?]);
        }
        "HardSwish" => {
            let y = g.add_activation(x, with(ActivationType::HardSigmoid, 1.0 / 6.0, 0.5))?;
            return Ok(vec![g.add_elementwise(x, y, Prod)?]);
        }
        "Clip" => Activation::clip(
            node.real_argument(1).map_or(f32::MIN, |low| low as f32),
            node.real_argument(2).map_or(f32::MAX, |high| high as f32),
        ),
        "Elu" => with(ActivationType::Elu, parameter("alpha", 1.0), 0.0),
        "Gelu" if node.text("approximate") == "tanh" => ActivationType::GeluTanh.into(),
        "Gelu" => ActivationType::GeluErf.into(),
        "HardSigmoid" => with(
            ActivationType::HardSigmoid,
            parameter("alpha", 0.2),
            parameter("beta", 0.5),
        ),
        "LeakyRelu" => with(ActivationType::LeakyRelu, parameter("alpha", 0.01), 0.0),
        "Selu" => with(
            ActivationType::Selu,
            parameter("alpha", 1.67326),
            parameter("gamma", 1.0507),
        ),
        "Sigmoid" => ActivationType::Sigmoid.into(),
        "Softplus" => ActivationType::Softplus.into(),
        "Softsign" => ActivationType::Softsign.into(),
        "ThresholdedRelu" => with(
            ActivationType::ThresholdedRelu,
            parameter("alpha", 1.0),
            0.0,
        ),
        other => unreachable!("{other} is no activation"),
    };
    Ok(vec![g.add_activation(x, layer)?])
}

pub(super) fn elementwise(
    node: &Node,
    g: &mut Graph,
    x: &[Tensor],
) -> Result<Vec<Tensor>, GraphError> {
    use ElementWiseOperation::{Div, FloorDiv, Pow, Prod, Sub, Sum};
    let (operation, then_not) = match node.op.as_str() {
        "Add" | "Sum" | "Mean" => (Sum, false),
        "And" => (ElementWiseOperation::And, false),
        "Div" => (Div, false),
        "Equal" => (ElementWiseOperation::Equal, false),
        "Greater" => (ElementWiseOperation::Greater, false),
        "GreaterOrEqual" => (ElementWiseOperation::Less, true),
        "Less" => (ElementWiseOperation::Less, false),
        "LessOrEqual" => (ElementWiseOperation::Greater, true),
        "Max" => (ElementWiseOperation::Max, false),
        "Min" => (ElementWiseOperation::Min, false),
        "Mod" => {
            // a - b·(a / b), the quotient towards zero with `fmod`, down without.
            let truncates = node.int("fmod", 0) != 0;
            let quotient = match (truncates, g.data_type(x[0])) {
                (true, data_type) => {
                    let quotient = combined(g, x[0], x[1], Div)?;
                    let whole = g.add_cast(quotient, DataType::Int32)?;
                    g.add_cast(whole, data_type)?
                }
                (false, _) => combined(g, x[0], x[1], FloorDiv)?,
            };
            let product = combined(g, x[1], quotient, Prod)?;
            return Ok(vec![combined(g, x[0], product, Sub)?]);
        }
        "Mul" => (Prod, false),
        "Or" => (ElementWiseOperation::Or, false),
        "Pow" => {
            let exponent = g.add_cast(x[1], g.data_type(x[0]))?;
            return Ok(vec![combined(g, x[0], exponent, Pow)?]);
        }
        "Sub" => (Sub, false),
        "Xor" => (ElementWiseOperation::Xor, false),
        other => unreachable!("{other} is no element-wise operator"),
    };
    let mut y = x[0];
    for next in &x[1..] {
        y = combined(g, y, *next, operation)?;
    }
    if node.op == "Mean" {
        y = with_number(g, y, x.len() as f64, Div)?;
    }
    if then_not {
        y = g.add_unary(y, UnaryOperation::Not)?;
    }
    Ok(vec![y])
}
