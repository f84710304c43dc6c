//! A graph as a picture's source: GraphViz and Mermaid.
//!
//! Constants are listed inside the layers that use them, since drawn apart they would outnumber
//! everything else. What is left out: making the picture.

use crate::display::one_line;
use crate::{Graph, Layer, Node, Tensor};
use std::fmt::Write;

/// A box of the picture.
struct Block {
    id: String,
    lines: Vec<String>,
    is_edge_of_network: bool,
}

/// An arrow of the picture: from, to, what flows.
struct Arrow {
    from: String,
    to: String,
    label: String,
}

impl Graph {
    /// The graph in GraphViz's DOT language, for `dot -Tsvg`.
    #[must_use]
    pub fn to_graphviz(&self) -> String {
        let (blocks, arrows) = self.picture();
        let mut text = String::from("digraph {\n  node [shape=box fontname=\"sans-serif\"]\n");
        for block in blocks {
            let style = if block.is_edge_of_network {
                " style=rounded"
            } else {
                ""
            };
            let label = block
                .lines
                .iter()
                .map(|line| quoted(line))
                .collect::<Vec<_>>()
                .join("\\n");
            let _ = writeln!(text, "  {} [label=\"{label}\"{style}]", block.id);
        }
        for arrow in arrows {
            let label = quoted(&arrow.label);
            let _ = writeln!(text, "  {} -> {} [label=\"{label}\"]", arrow.from, arrow.to);
        }
        text.push_str("}\n");
        text
    }

    /// The graph as a Mermaid flowchart, which many Markdown viewers draw.
    #[must_use]
    pub fn to_mermaid(&self) -> String {
        let (blocks, arrows) = self.picture();
        let mut text = String::from("flowchart TD\n");
        for block in blocks {
            let (open, close) = if block.is_edge_of_network {
                ("([", "])")
            } else {
                ("[", "]")
            };
            let label = block
                .lines
                .iter()
                .map(|line| entities(line))
                .collect::<Vec<_>>()
                .join("<br/>");
            let _ = writeln!(text, "  {}{open}\"{label}\"{close}", block.id);
        }
        for arrow in arrows {
            let label = entities(&arrow.label);
            let _ = writeln!(text, "  {} -- \"{label}\" --> {}", arrow.from, arrow.to);
        }
        text
    }

    fn picture(&self) -> (Vec<Block>, Vec<Arrow>) {
        let (mut blocks, mut arrows) = (Vec::new(), Vec::new());
        for (name, tensor) in self.inputs() {
            blocks.push(Block {
                id: self.block_id(*tensor),
                lines: vec![name.clone(), self.type_and_dims(*tensor)],
                is_edge_of_network: true,
            });
        }
        for node in self.nodes() {
            if is_constant(node) {
                continue;
            }
            let to = self.block_id(node.outputs()[0]);
            let mut lines = vec![node.name().to_owned(), node.layer().kind().to_owned()];
            lines.extend(Some(self.arguments(node)).filter(|arguments| !arguments.is_empty()));
            for input in node.inputs().iter().flatten() {
                match self
                    .producer(*input)
                    .filter(|producer| is_constant(producer))
                {
                    Some(constant) => lines.push(self.arguments(constant)),
                    None => arrows.push(Arrow {
                        from: self.block_id(*input),
                        to: to.clone(),
                        label: self.type_and_dims(*input),
                    }),
                }
            }
            blocks.push(Block {
                id: to,
                lines,
                is_edge_of_network: false,
            });
        }
        for (index, (name, tensor)) in self.outputs().iter().enumerate() {
            let id = format!("out{index}");
            blocks.push(Block {
                id: id.clone(),
                lines: vec![name.clone()],
                is_edge_of_network: true,
            });
            let label = self.type_and_dims(*tensor);
            arrows.push(Arrow {
                from: self.block_id(*tensor),
                to: id,
                label,
            });
        }
        (blocks, arrows)
    }

    fn block_id(&self, tensor: Tensor) -> String {
        format!("t{}", tensor.index())
    }

    fn type_and_dims(&self, tensor: Tensor) -> String {
        format!("{}{}", self.data_type(tensor), self.dims(tensor))
    }
}

fn is_constant(node: &Node) -> bool {
    matches!(node.layer(), Layer::Constant(_))
}

/// For a double-quoted DOT string.
fn quoted(text: &str) -> String {
    one_line(text).replace('\\', "\\\\").replace('"', "\\\"")
}

/// For a double-quoted Mermaid label, which takes character entities.
fn entities(text: &str) -> String {
    one_line(text)
        .replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
