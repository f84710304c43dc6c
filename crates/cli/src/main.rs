//! The `tensoracle` command.
fn main() {}
