//! A graph as a person reads it: one line a layer, with types, shapes and arguments.
//!
//! What is left out: pictures (`draw`) and what machines read (`definition`).

use crate::{Graph, Layer, Node, Tensor};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

/// Names may hold anything; line breaks and other control characters are shown escaped.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return text.into();
    }
    let mut shown = String::new();
    for character in text.chars() {
        match character.is_control() {
            true => shown.extend(character.escape_default()),
            false => shown.push(character),
        }
    }
    shown.into()
}

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
        // Layers serialise as {"Kind": {argument: value}}. By way of text, which has the shortest
        // spelling of numbers.
        let text = serde_json::to_string(node.layer()).unwrap_or_default();
        let Ok(Value::Object(layer)) = serde_json::from_str(&text) else {
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
            writeln!(formatter, "input {}: {data_type}{dims}", one_line(name))?;
        }
        let width = self
            .nodes()
            .iter()
            .map(|node| one_line(node.name()).chars().count())
            .max()
            .unwrap_or(0);
        for node in self.nodes() {
            let output = node.outputs()[0];
            let (data_type, dims) = (self.data_type(output), self.dims(output));
            write!(
                formatter,
                "{:width$} = {}(",
                one_line(node.name()),
                node.layer().kind()
            )?;
            for (index, input) in node.inputs().iter().enumerate() {
                let separator = if index == 0 { "" } else { ", " };
                let name = input.map_or_else(|| "-".into(), |tensor| self.tensor_name(tensor));
                write!(formatter, "{separator}{}", one_line(&name))?;
            }
            write!(formatter, ")")?;
            let arguments = self.arguments(node);
            if !arguments.is_empty() {
                write!(formatter, " {}", one_line(&arguments))?;
            }
            writeln!(formatter, " -> {data_type}{dims}")?;
        }
        for (name, tensor) in self.outputs() {
            let (data_type, dims) = (self.data_type(*tensor), self.dims(*tensor));
            writeln!(
                formatter,
                "output {}: {data_type}{dims} = {}",
                one_line(name),
                one_line(&self.tensor_name(*tensor))
            )?;
        }
        Ok(())
    }
}
