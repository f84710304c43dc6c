//! The opcodes: reads one pickle and builds its value.
//!
//! Opcodes and their arguments are those of Python's `pickletools`, protocols 2 to 5. `INT` is
//! the one text opcode, since Python 2 writes it for integers of more than 32 bits whatever the
//! protocol. What is left out: what calls make, in [`super::call`].

use super::cursor::Cursor;
use super::heap::Heap;
use super::value::{Span, Value};
use crate::error::Problem;

/// How far past the last memo slot a pickle may store. Picklers number slots one by one, and
/// some start at 1.
const MEMO_GAP: usize = 64;

/// Turns a persistent id into the value it stands for.
pub(crate) trait Persistent<'p> {
    /// The value, or a sentence saying what is wrong with the id.
    fn load(
        &mut self,
        heap: &mut Heap<'p>,
        id: Value<'p>,
    ) -> Result<Result<Value<'p>, String>, Problem>;
}

/// A pickle without persistent ids.
pub(crate) struct NoPersistent;

impl<'p> Persistent<'p> for NoPersistent {
    fn load(
        &mut self,
        _: &mut Heap<'p>,
        _: Value<'p>,
    ) -> Result<Result<Value<'p>, String>, Problem> {
        Ok(Err("a persistent id where none belongs".into()))
    }
}

/// Runs the pickle that starts at `start` and returns its value and the offset after it.
pub(crate) fn run<'p>(
    heap: &mut Heap<'p>,
    bytes: &'p [u8],
    start: usize,
    persistent: &mut dyn Persistent<'p>,
) -> Result<(Value<'p>, usize), Problem> {
    let mut machine = Machine {
        heap,
        cursor: Cursor::new(bytes, start),
        stack: Vec::new(),
        deepest: 0,
        marks: Vec::new(),
        memo: Vec::new(),
    };
    loop {
        let position = machine.cursor.position();
        match machine.step(persistent) {
            Ok(None) => {}
            Ok(Some(value)) => return Ok((value, machine.cursor.position())),
            Err(Stop::Problem(problem)) => return Err(problem),
            Err(Stop::Here(problem)) => {
                return Err(Problem::Pickle {
                    position: (position - start) as u64,
                    problem,
                });
            }
            Err(Stop::CutShort) => {
                return Err(Problem::truncated(format!(
                    "the pickle's opcode at byte {} needs more bytes than follow",
                    position - start
                )));
            }
        }
    }
}

/// Why a step did not go through.
pub(crate) enum Stop {
    /// Something that names its own place.
    Problem(Problem),
    /// Something wrong with the opcode at hand.
    Here(String),
    /// The bytes end within the opcode at hand.
    CutShort,
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

pub(crate) fn here<T>(problem: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Here(problem.into()))
}

struct Machine<'h, 'p> {
    heap: &'h mut Heap<'p>,
    cursor: Cursor<'p>,
    stack: Vec<Value<'p>>,
    /// The greatest length of the stack and the marks so far, which the budget has paid.
    deepest: usize,
    marks: Vec<usize>,
    memo: Vec<Value<'p>>,
}

impl<'p> Machine<'_, 'p> {
    fn push(&mut self, value: Value<'p>) -> Result<(), Stop> {
        self.stack.push(value);
        self.pay_for_depth()
    }

    fn pay_for_depth(&mut self) -> Result<(), Stop> {
        let depth = self.stack.len() + self.marks.len();
        if depth > self.deepest {
            self.heap
                .budget
                .take_many::<Value<'_>>(depth - self.deepest)?;
            self.deepest = depth;
        }
        Ok(())
    }

    fn pop(&mut self) -> Result<Value<'p>, Stop> {
        let value = self.top()?;
        self.stack.pop();
        Ok(value)
    }

    fn top(&self) -> Result<Value<'p>, Stop> {
        Ok(self.stack[self.last(1)?])
    }

    /// Where the values above the last mark start. The mark is gone after this, the values stay.
    fn unmark(&mut self) -> Result<usize, Stop> {
        self.marks
            .pop()
            .map_or_else(|| here("there is no mark on the stack"), Ok)
    }

    fn push_text(&mut self, bytes: &'p [u8]) -> Result<(), Stop> {
        self.push(std::str::from_utf8(bytes).map_or(Value::BrokenText, Value::Text))
    }

    fn push_tuple(&mut self, start: usize) -> Result<(), Stop> {
        let span = self.heap.new_tuple(&self.stack[start..])?;
        self.stack.truncate(start);
        self.push(Value::Tuple(span))
    }

    /// The last `len` values as a tuple.
    fn short_tuple(&mut self, len: usize) -> Result<(), Stop> {
        let start = self.last(len)?;
        self.push_tuple(start)
    }

    fn store(&mut self, slot: usize) -> Result<(), Stop> {
        let value = self.top()?;
        if slot > self.memo.len() + MEMO_GAP {
            return here(format!(
                "memo slot {slot} where the memo has {} values",
                self.memo.len()
            ));
        }
        if slot >= self.memo.len() {
            self.heap
                .budget
                .take_many::<Value<'_>>(slot + 1 - self.memo.len())?;
            self.memo.resize(slot + 1, Value::None);
        }
        self.memo[slot] = value;
        Ok(())
    }

    fn fetch(&mut self, slot: usize) -> Result<(), Stop> {
        match self.memo.get(slot) {
            Some(value) => self.push(*value),
            None => here(format!("memo slot {slot} is empty")),
        }
    }

    /// Where the last `len` values start.
    fn last(&self, len: usize) -> Result<usize, Stop> {
        let floor = self.marks.last().copied().unwrap_or(0);
        match self.stack.len().checked_sub(len) {
            Some(start) if start >= floor => Ok(start),
            _ => here("the stack is empty"),
        }
    }

    /// Moves the values from `start` into the list or set under them.
    fn append(&mut self, start: usize) -> Result<(), Stop> {
        match self.under(start)? {
            Value::List(list) | Value::Set(list) => {
                self.heap.extend_list(list, &self.stack[start..])?;
            }
            Value::Object(_) | Value::Inert(_) => {}
            other => return here(format!("items for a {}", self.heap.type_name(other))),
        }
        self.stack.truncate(start);
        Ok(())
    }

    /// Moves the keys and values from `start` into the dictionary under them.
    fn set_items(&mut self, start: usize) -> Result<(), Stop> {
        match self.under(start)? {
            Value::Dict(dict) => {
                let (pairs, []) = self.stack[start..].as_chunks::<2>() else {
                    return here("a key without a value");
                };
                self.heap.set_items(dict, pairs)?;
            }
            Value::Object(_) | Value::Inert(_) => {}
            other => return here(format!("entries for a {}", self.heap.type_name(other))),
        }
        self.stack.truncate(start);
        Ok(())
    }

    /// The value under the one at `start`, which is above the last mark.
    fn under(&self, start: usize) -> Result<Value<'p>, Stop> {
        let floor = self.marks.last().copied().unwrap_or(0);
        match start.checked_sub(1) {
            Some(at) if at >= floor => Ok(self.stack[at]),
            _ => here("the stack is empty"),
        }
    }

    fn push_global(&mut self, module: &'p str, name: &'p str) -> Result<(), Stop> {
        let id = self.heap.global_named(module, name)?;
        self.push(Value::Global(id))
    }

    fn arguments(&self, value: Value<'p>) -> Result<Span, Stop> {
        match value {
            Value::Tuple(span) => Ok(span),
            other => here(format!(
                "arguments that are not a tuple but a {}",
                self.heap.type_name(other)
            )),
        }
    }

    /// `callable(*arguments)`, or what stands for it.
    fn call(&mut self, callable: Value<'p>, arguments: Span) -> Result<(), Stop> {
        let value = super::call::call(self.heap, callable, arguments)?;
        self.push(value)
    }

    fn build(&mut self) -> Result<(), Stop> {
        let _state = self.pop()?;
        match self.top()? {
            // An OrderedDict's state is its attributes: a state_dict's _metadata.
            Value::Dict(_) | Value::Object(_) | Value::Inert(_) | Value::OddTensor(_) => Ok(()),
            other => here(format!("state for a {}", self.heap.type_name(other))),
        }
    }

    /// One opcode. The value, when it was the last.
    fn step(&mut self, persistent: &mut dyn Persistent<'p>) -> Result<Option<Value<'p>>, Stop> {
        match self.cursor.u8()? {
            b'.' => return self.pop().map(Some),
            // PROTO
            0x80 => match self.cursor.u8()? {
                2..=5 => {}
                other => return here(format!("protocol {other}; 2 to 5 are known")),
            },
            // FRAME: a hint for buffering.
            0x95 => {
                self.cursor.take(8)?;
            }
            b'(' => {
                self.marks.push(self.stack.len());
                self.pay_for_depth()?;
            }
            // POP removes a mark when that is on top.
            b'0' => {
                if self.marks.last() == Some(&self.stack.len()) {
                    self.marks.pop();
                } else {
                    self.pop()?;
                }
            }
            b'1' => {
                let start = self.unmark()?;
                self.stack.truncate(start);
            }
            b'2' => {
                let value = self.top()?;
                self.push(value)?;
            }
            b'N' => self.push(Value::None)?,
            0x88 => self.push(Value::Bool(true))?,
            0x89 => self.push(Value::Bool(false))?,
            b'J' => {
                let value = self.cursor.u32()? as i32;
                self.push(Value::Int(value.into()))?;
            }
            b'K' => {
                let value = self.cursor.u8()?;
                self.push(Value::Int(value.into()))?;
            }
            b'M' => {
                let value = self.cursor.u16()?;
                self.push(Value::Int(value.into()))?;
            }
            b'I' => self.int_line()?,
            0x8a => {
                let bytes = self.cursor.sized(1)?;
                self.push(integer(bytes))?;
            }
            0x8b => {
                let bytes = self.cursor.sized(4)?;
                self.push(integer(bytes))?;
            }
            b'G' => {
                self.cursor.take(8)?;
                self.push(Value::Float)?;
            }
            // SHORT_BINSTRING, BINSTRING: Python 2's str.
            b'U' | 0x8c => {
                let bytes = self.cursor.sized(1)?;
                self.push_text(bytes)?;
            }
            b'T' | b'X' => {
                let bytes = self.cursor.sized(4)?;
                self.push_text(bytes)?;
            }
            0x8d => {
                let bytes = self.cursor.sized(8)?;
                self.push_text(bytes)?;
            }
            b'C' => {
                self.cursor.sized(1)?;
                self.push(Value::Bytes)?;
            }
            b'B' => {
                self.cursor.sized(4)?;
                self.push(Value::Bytes)?;
            }
            // BINBYTES8, BYTEARRAY8
            0x8e | 0x96 => {
                self.cursor.sized(8)?;
                self.push(Value::Bytes)?;
            }
            b')' => self.push(Value::Tuple(Span::EMPTY))?,
            b't' => {
                let start = self.unmark()?;
                self.push_tuple(start)?;
            }
            0x85 => self.short_tuple(1)?,
            0x86 => self.short_tuple(2)?,
            0x87 => self.short_tuple(3)?,
            b']' => {
                let list = self.heap.new_list()?;
                self.push(Value::List(list))?;
            }
            0x8f => {
                let list = self.heap.new_list()?;
                self.push(Value::Set(list))?;
            }
            // FROZENSET
            0x91 => {
                let start = self.unmark()?;
                let list = self.heap.new_list()?;
                self.heap.extend_list(list, &self.stack[start..])?;
                self.stack.truncate(start);
                self.push(Value::Set(list))?;
            }
            b'}' => {
                let dict = self.heap.new_dict()?;
                self.push(Value::Dict(dict))?;
            }
            // APPEND
            b'a' => {
                let start = self.last(1)?;
                self.append(start)?;
            }
            // APPENDS, ADDITEMS
            b'e' | 0x90 => {
                let start = self.unmark()?;
                self.append(start)?;
            }
            // SETITEM
            b's' => {
                let start = self.last(2)?;
                self.set_items(start)?;
            }
            b'u' => {
                let start = self.unmark()?;
                self.set_items(start)?;
            }
            b'q' => {
                let slot = self.cursor.u8()?;
                self.store(slot.into())?;
            }
            b'r' => {
                let slot = self.cursor.u32()?;
                self.store(slot as usize)?;
            }
            0x94 => self.store(self.memo.len())?,
            b'h' => {
                let slot = self.cursor.u8()?;
                self.fetch(slot.into())?;
            }
            b'j' => {
                let slot = self.cursor.u32()?;
                self.fetch(slot as usize)?;
            }
            b'c' => {
                let (module, name) = (self.cursor.line()?, self.cursor.line()?);
                self.push_global(module, name)?;
            }
            // STACK_GLOBAL
            0x93 => match (self.pop()?, self.pop()?) {
                (Value::Text(name), Value::Text(module)) => self.push_global(module, name)?,
                _ => return here("a global whose name is not text"),
            },
            // REDUCE, NEWOBJ: the machine makes no difference between calling and constructing.
            b'R' | 0x81 => {
                let arguments = self.pop()?;
                let arguments = self.arguments(arguments)?;
                let callable = self.pop()?;
                self.call(callable, arguments)?;
            }
            // NEWOBJ_EX
            0x92 => {
                let _keywords = self.pop()?;
                let arguments = self.pop()?;
                let arguments = self.arguments(arguments)?;
                let callable = self.pop()?;
                self.call(callable, arguments)?;
            }
            // OBJ: an instance of a Python 2 class.
            b'o' => {
                let start = self.unmark()?;
                if start == self.stack.len() {
                    return here("an instance without a class");
                }
                let arguments = self.heap.new_tuple(&self.stack[start + 1..])?;
                let class = self.stack[start];
                self.stack.truncate(start);
                self.call(class, arguments)?;
            }
            b'b' => self.build()?,
            // BINPERSID
            b'Q' => {
                let id = self.pop()?;
                match persistent.load(self.heap, id)? {
                    Ok(value) => self.push(value)?,
                    Err(problem) => return here(problem),
                }
            }
            other => return here(format!("opcode 0x{other:02x} is not one a checkpoint uses")),
        }
        Ok(None)
    }

    /// `INT`: a decimal line, or a truth value.
    fn int_line(&mut self) -> Result<(), Stop> {
        match self.cursor.line()? {
            "00" => self.push(Value::Bool(false)),
            "01" => self.push(Value::Bool(true)),
            line => match line.parse() {
                Ok(value) => self.push(Value::Int(value)),
                Err(_) => here("a line that is not a 64-bit integer"),
            },
        }
    }
}

/// A little-endian two's complement integer of any length.
fn integer(bytes: &[u8]) -> Value<'_> {
    if bytes.len() > 8 {
        return Value::BigInt(bytes);
    }
    let negative = bytes.last().is_some_and(|last| last & 0x80 != 0);
    let mut whole = [if negative { 0xff } else { 0 }; 8];
    whole[..bytes.len()].copy_from_slice(bytes);
    Value::Int(i64::from_le_bytes(whole))
}
