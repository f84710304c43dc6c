//! Where containers, storages, tensors and globals of one file's pickles lie, all counted against
//! the file's [`Budget`].
//!
//! What is left out: opcodes and calls.

use super::global::{Global, GlobalId, Known, known};
use super::value::{Key, Root, Span, Storage, Tensor, Value};
use crate::budget::Budget;
use crate::dtype::Element;
use crate::error::Problem;
use std::collections::HashMap;

/// Bytes taken for a container beside its items: the vector itself and its allocation.
const CONTAINER: u64 = 64;

/// How many times its size a thing is taken for that lies in a vector and, by its key, in a hash
/// map, which while it grows has room for more than three times its entries.
pub(crate) const INDEXED: usize = 4;

/// All values of one file.
#[derive(Debug)]
pub(crate) struct Heap<'p> {
    pub(crate) budget: Budget,
    tuple_items: Vec<Value<'p>>,
    lists: Vec<Vec<Value<'p>>>,
    dicts: Vec<Vec<[Value<'p>; 2]>>,
    globals: Vec<Global<'p>>,
    global_ids: HashMap<(&'p str, &'p str), GlobalId>,
    roots: Vec<Root<'p>>,
    root_ids: HashMap<Key<'p>, u32>,
    storages: Vec<Storage>,
    tensors: Vec<Tensor>,
    /// Sizes, then strides, of each tensor.
    extents: Vec<u64>,
}

impl<'p> Heap<'p> {
    pub(crate) fn new(budget: Budget) -> Self {
        Self {
            budget,
            tuple_items: Vec::new(),
            lists: Vec::new(),
            dicts: Vec::new(),
            globals: Vec::new(),
            global_ids: HashMap::new(),
            roots: Vec::new(),
            root_ids: HashMap::new(),
            storages: Vec::new(),
            tensors: Vec::new(),
            extents: Vec::new(),
        }
    }

    pub(crate) fn new_tuple(&mut self, items: &[Value<'p>]) -> Result<Span, Problem> {
        self.budget.take_many::<Value<'_>>(items.len())?;
        let start = index(self.tuple_items.len())?;
        self.tuple_items.extend_from_slice(items);
        index(self.tuple_items.len())?;
        Ok(Span {
            start,
            len: index(items.len())?,
        })
    }

    pub(crate) fn tuple(&self, span: Span) -> &[Value<'p>] {
        &self.tuple_items[span.start as usize..][..span.len as usize]
    }

    pub(crate) fn new_list(&mut self) -> Result<u32, Problem> {
        self.budget.take(CONTAINER)?;
        self.lists.push(Vec::new());
        index(self.lists.len() - 1)
    }

    pub(crate) fn list(&self, list: u32) -> &[Value<'p>] {
        &self.lists[list as usize]
    }

    pub(crate) fn extend_list(&mut self, list: u32, items: &[Value<'p>]) -> Result<(), Problem> {
        let list = &mut self.lists[list as usize];
        grow(&mut self.budget, list, items.len())?;
        list.extend_from_slice(items);
        Ok(())
    }

    /// A new list with the items of `span`.
    pub(crate) fn list_of_tuple(&mut self, span: Span) -> Result<u32, Problem> {
        let list = self.new_list()?;
        let new = &mut self.lists[list as usize];
        grow(&mut self.budget, new, span.len as usize)?;
        new.extend_from_slice(&self.tuple_items[span.start as usize..][..span.len as usize]);
        Ok(list)
    }

    /// A new list with the items of `source`.
    pub(crate) fn copy_of_list(&mut self, source: u32) -> Result<u32, Problem> {
        let list = self.new_list()?;
        if let Ok([new, source]) = self
            .lists
            .get_disjoint_mut([list as usize, source as usize])
        {
            grow(&mut self.budget, new, source.len())?;
            new.extend_from_slice(source);
        }
        Ok(list)
    }

    /// A new tuple with the items of `list`.
    pub(crate) fn tuple_of_list(&mut self, list: u32) -> Result<Span, Problem> {
        let items = &self.lists[list as usize];
        self.budget.take_many::<Value<'_>>(items.len())?;
        let start = index(self.tuple_items.len())?;
        self.tuple_items.extend_from_slice(items);
        Ok(Span {
            start,
            len: index(items.len())?,
        })
    }

    pub(crate) fn new_dict(&mut self) -> Result<u32, Problem> {
        self.budget.take(CONTAINER)?;
        self.dicts.push(Vec::new());
        index(self.dicts.len() - 1)
    }

    /// The entries as they were set. A key that stands twice has its last value.
    pub(crate) fn dict(&self, dict: u32) -> &[[Value<'p>; 2]] {
        &self.dicts[dict as usize]
    }

    pub(crate) fn set_items(
        &mut self,
        dict: u32,
        entries: &[[Value<'p>; 2]],
    ) -> Result<(), Problem> {
        let dict = &mut self.dicts[dict as usize];
        grow(&mut self.budget, dict, entries.len())?;
        dict.extend_from_slice(entries);
        Ok(())
    }

    /// Sets in `dict` what is set in `source`.
    pub(crate) fn update_dict(&mut self, dict: u32, source: u32) -> Result<(), Problem> {
        let Ok([dict, source]) = self
            .dicts
            .get_disjoint_mut([dict as usize, source as usize])
        else {
            return Ok(());
        };
        grow(&mut self.budget, dict, source.len())?;
        dict.extend_from_slice(source);
        Ok(())
    }

    pub(crate) fn global_named(
        &mut self,
        module: &'p str,
        name: &'p str,
    ) -> Result<GlobalId, Problem> {
        if let Some(id) = self.global_ids.get(&(module, name)) {
            return Ok(*id);
        }
        self.budget.take_many::<Global<'_>>(INDEXED)?;
        let id = GlobalId(index(self.globals.len())?);
        self.globals.push(Global {
            module,
            name,
            known: known(module, name),
        });
        self.global_ids.insert((module, name), id);
        Ok(id)
    }

    pub(crate) fn global(&self, id: GlobalId) -> Global<'p> {
        self.globals[id.0 as usize]
    }

    pub(crate) fn known(&self, id: GlobalId) -> Option<Known> {
        self.global(id).known
    }

    /// Globals that are not on the closed list, in the order in which the pickles name them.
    pub(crate) fn unknown_globals(&self) -> impl Iterator<Item = GlobalId> {
        (0u32..)
            .zip(&self.globals)
            .filter(|(_, global)| global.known.is_none())
            .map(|(id, _)| GlobalId(id))
    }

    /// The whole storage `key` of `len` bytes, declared now or before.
    ///
    /// # Errors
    /// A sentence when it was declared before with another size.
    pub(crate) fn declare_root(
        &mut self,
        key: Key<'p>,
        element: &'static Element,
        count: u64,
    ) -> Result<Result<u32, String>, Problem> {
        let Some(len) = count.checked_mul(element.size) else {
            return Ok(Err(format!(
                "storage {key} of {count} elements does not fit any file"
            )));
        };
        if let Some(root) = self.root_ids.get(&key) {
            let before = self.roots[*root as usize].len;
            return Ok(if before == len {
                Ok(*root)
            } else {
                Err(format!(
                    "storage {key} has {before} bytes in one place and {len} in another"
                ))
            });
        }
        self.budget.take_many::<Root<'_>>(INDEXED)?;
        let root = index(self.roots.len())?;
        self.roots.push(Root {
            key,
            len,
            element_size: element.size,
        });
        self.root_ids.insert(key, root);
        Ok(Ok(root))
    }

    pub(crate) fn root(&self, root: u32) -> Root<'p> {
        self.roots[root as usize]
    }

    pub(crate) fn root_of(&self, key: Key<'p>) -> Option<u32> {
        self.root_ids.get(&key).copied()
    }

    /// `len` bytes of a root from `start`, or nothing when they are not all there.
    pub(crate) fn new_storage(
        &mut self,
        root: u32,
        element: &'static Element,
        start: u64,
        len: u64,
    ) -> Result<Option<Value<'p>>, Problem> {
        let end = start.checked_add(len);
        if end.is_none_or(|end| end > self.root(root).len) {
            return Ok(None);
        }
        self.budget.take_many::<Storage>(1)?;
        self.storages.push(Storage {
            root,
            element,
            start,
            len,
        });
        Ok(Some(Value::Storage(index(self.storages.len() - 1)?)))
    }

    pub(crate) fn storage(&self, storage: u32) -> Storage {
        self.storages[storage as usize]
    }

    /// A tensor whose `sizes` and `strides` have the same length, at most 255.
    pub(crate) fn new_tensor(
        &mut self,
        storage: u32,
        element: &'static Element,
        offset: u64,
        sizes: &[u64],
        strides: &[u64],
    ) -> Result<Value<'p>, Problem> {
        self.budget.take_many::<Tensor>(1)?;
        self.budget.take_many::<u64>(sizes.len() * 2)?;
        let extents = index(self.extents.len())?;
        self.extents.extend_from_slice(sizes);
        self.extents.extend_from_slice(strides);
        self.tensors.push(Tensor {
            storage,
            element,
            offset,
            extents,
            rank: sizes.len() as u8,
        });
        Ok(Value::Tensor(index(self.tensors.len() - 1)?))
    }

    pub(crate) fn tensor(&self, tensor: u32) -> Tensor {
        self.tensors[tensor as usize]
    }

    /// The tensor's sizes and strides.
    pub(crate) fn extents(&self, tensor: &Tensor) -> (&[u64], &[u64]) {
        let rank = usize::from(tensor.rank);
        self.extents[tensor.extents as usize..][..2 * rank].split_at(rank)
    }

    /// The value's type as Python names it, or the kind of tensor.
    pub(crate) fn type_name(&self, value: Value<'_>) -> &'static str {
        match value {
            Value::None => "NoneType",
            Value::Bool(_) => "bool",
            Value::Int(_) | Value::BigInt(_) => "int",
            Value::Float => "float",
            Value::Text(_) => "str",
            Value::BrokenText => "str with lone surrogates",
            Value::Bytes => "bytes",
            Value::Tuple(_) => "tuple",
            Value::List(_) => "list",
            Value::Set(_) => "set",
            Value::Dict(_) => "dict",
            Value::Global(id) => match self.known(id) {
                Some(Known::Element(_)) => "torch.dtype",
                Some(Known::Inert("torch.qscheme")) => "torch.qscheme",
                _ => "type or function",
            },
            Value::Inert(name) | Value::OddTensor(name) => name,
            Value::Object(_) => "object",
            Value::Storage(_) => "torch storage",
            Value::Tensor(_) => "tensor",
        }
    }
}

/// Makes room for `more` items, paid for with the allocation's real size.
fn grow<T>(budget: &mut Budget, items: &mut Vec<T>, more: usize) -> Result<(), Problem> {
    let free = items.capacity() - items.len();
    if free < more {
        let added = (more - free).max(items.capacity()).max(1);
        budget.take_many::<T>(added)?;
        items.reserve_exact(free + added);
    }
    Ok(())
}

/// `count` as the number of a value. The budget runs out long before.
fn index(count: usize) -> Result<u32, Problem> {
    u32::try_from(count).map_err(|_| Problem::TooMuchMetadata {
        limit: u64::from(u32::MAX),
    })
}
