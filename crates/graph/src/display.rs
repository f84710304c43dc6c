//! A graph as a person reads it: one line a layer, with types, shapes and arguments.
//!
//! What is left out: pictures (`draw`) and what machines read (`definition`).

use crate::{Graph, Layer, Node, Tensor};
use serde_json::Value;
use std::fmt;

impl Graph {
    /// How listings name a tensor: by its input or the layer that produces it.
    #[must_use]
    pub fn tensor_name(&self, tensor: Tensor) -> String {
        self.tensor_label(tensor).name
    }

    /// The arguments of a layer that are not empty, as `name=value` joined with spaces.
    #[must_use]
    pub fn arguments(&self, node: &Node) -> String {
        if let Layer::Constant(constant) = node.layer() {
            return self.constants()[constant.index].describe();
        }
        // Layers serialise as {"Kind": {argument: value}}.
        let Ok(Value::Object(layer)) = serde_json::to_value(node.layer()) else {
            return String::new();
        };
        let Some(Value::Object(arguments)) = layer.into_iter().next().map(|(_, value)| value)
        else {
            return String::new();
        };
        let shown: Vec<String> = arguments
            .iter()
            .filter_map(|(name, value)| match value {
                Value::Null => None,
                Value::Array(list) if list.is_empty() => None,
                Value::String(text) => Some(format!("{name}={text}")),
                other => Some(format!("{name}={other}")),
            })
            .collect();
        shown.join(" ")
    }
}

impl fmt::Display for Graph {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, tensor) in self.inputs() {
            let (data_type, dims) = (self.data_type(*tensor), self.dims(*tensor));
            writeln!(formatter, "input {name}: {data_type}{dims}")?;
        }
        let width = self
            .nodes()
            .iter()
            .map(|node| node.name().chars().count())
            .max()
            .unwrap_or(0);
        for node in self.nodes() {
            let output = node.outputs()[0];
            let (data_type, dims) = (self.data_type(output), self.dims(output));
            write!(
                formatter,
                "{:width$} = {}(",
                node.name(),
                node.layer().kind()
            )?;
            for (index, input) in node.inputs().iter().enumerate() {
                let separator = if index == 0 { "" } else { ", " };
                let name = input.map_or_else(|| "-".into(), |tensor| self.tensor_name(tensor));
                write!(formatter, "{separator}{name}")?;
            }
            write!(formatter, ")")?;
            let arguments = self.arguments(node);
            if !arguments.is_empty() {
                write!(formatter, " {arguments}")?;
            }
            writeln!(formatter, " -> {data_type}{dims}")?;
        }
        for (name, tensor) in self.outputs() {
            let (data_type, dims) = (self.data_type(*tensor), self.dims(*tensor));
            writeln!(
                formatter,
                "output {name}: {data_type}{dims} = {}",
                self.tensor_name(*tensor)
            )?;
        }
        Ok(())
    }
}
