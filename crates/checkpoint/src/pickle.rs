//! A pickle machine that builds values and runs nothing.
//!
//! It knows the opcodes that protocols 2 to 5 write and a closed list of globals. A global that is
//! not on the list becomes an inert value that remembers its name: calling it, giving it state or
//! items makes another inert value. What is left out: which values a conversion accepts, in
//! [`crate::flatten`].

pub(crate) mod call;
mod cursor;
pub(crate) mod global;
pub(crate) mod heap;
pub(crate) mod machine;
pub(crate) mod value;

pub(crate) use heap::Heap;
pub(crate) use machine::{Persistent, run};
pub(crate) use value::Value;
