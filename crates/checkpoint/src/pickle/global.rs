//! The closed list of globals: what the machine does when a pickle calls one.
//!
//! What is left out: doing it, in [`super::call`].

use crate::dtype::Element;

/// A global in the heap's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct GlobalId(pub(crate) u32);

/// A module and a name that a pickle gives, and what they mean.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Global<'p> {
    pub(crate) module: &'p str,
    pub(crate) name: &'p str,
    pub(crate) known: Option<Known>,
}

impl std::fmt::Display for Global<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}.{}", self.module, self.name)
    }
}

/// A global on the closed list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Known {
    /// Makes a mapping from nothing, a mapping, or pairs.
    Mapping,
    /// Makes a mapping; the first argument makes values that are missing, and is not looked at.
    DefaultMapping,
    /// Makes a list from nothing or a sequence.
    List,
    /// Makes a set from nothing or a sequence.
    Set,
    /// Makes a tuple from nothing or a sequence; `torch.Size` is one.
    Tuple,
    /// Makes bytes.
    Bytes,
    /// Makes a value that nothing looks into: its type.
    Inert(&'static str),
    /// `torch._utils._rebuild_tensor`.
    RebuildTensor,
    /// `torch._utils._rebuild_tensor_v2`.
    RebuildTensorV2,
    /// `torch._utils._rebuild_tensor_v3`.
    RebuildTensorV3,
    /// `torch._utils._rebuild_parameter` and `_rebuild_parameter_with_state`.
    RebuildParameter,
    /// `torch._tensor._rebuild_from_type_v2`.
    RebuildFromType,
    /// A kind of tensor that safetensors cannot hold.
    OddTensor(&'static str),
    /// The class of a storage.
    StorageClass(&'static Element),
    /// An element type.
    Element(&'static Element),
    /// A class of plain tensors.
    TensorClass,
}

/// Looks up `module.name` on the closed list.
pub(crate) fn known(module: &str, name: &str) -> Option<Known> {
    match module {
        "collections" => match name {
            "OrderedDict" | "Counter" => Some(Known::Mapping),
            "defaultdict" => Some(Known::DefaultMapping),
            _ => None,
        },
        // Python 2 called the module __builtin__.
        "builtins" | "__builtin__" => match name {
            "dict" => Some(Known::Mapping),
            "list" => Some(Known::List),
            "set" | "frozenset" => Some(Known::Set),
            "tuple" => Some(Known::Tuple),
            "bytes" | "bytearray" => Some(Known::Bytes),
            "complex" => Some(Known::Inert("complex")),
            "int" | "long" => Some(Known::Inert("int")),
            "float" => Some(Known::Inert("float")),
            "bool" => Some(Known::Inert("bool")),
            "str" | "unicode" => Some(Known::Inert("str")),
            _ => None,
        },
        "_codecs" if name == "encode" => Some(Known::Bytes),
        // NumPy 2 renamed the module.
        "numpy.core.multiarray" | "numpy._core.multiarray" => match name {
            "scalar" => Some(Known::Inert("numpy scalar")),
            "_reconstruct" => Some(Known::Inert("numpy.ndarray")),
            _ => None,
        },
        "numpy" => match name {
            "dtype" => Some(Known::Inert("numpy.dtype")),
            "ndarray" => Some(Known::Inert("type")),
            _ => None,
        },
        "torch" => torch(name),
        "torch.cuda" => storage_class(name).or_else(|| tensor_class(name)),
        "torch.storage" => match name {
            "UntypedStorage" => storage_class(name),
            "_load_from_bytes" => Some(Known::OddTensor("tensor pickled without torch.save")),
            _ => None,
        },
        "torch._utils" => torch_utils(name),
        "torch._tensor" if name == "_rebuild_from_type_v2" => Some(Known::RebuildFromType),
        "torch.nn.parameter" if matches!(name, "Parameter" | "Buffer") => Some(Known::TensorClass),
        "torch.serialization" if name == "_get_layout" => Some(Known::Inert("torch.layout")),
        _ => None,
    }
}

fn torch(name: &str) -> Option<Known> {
    match name {
        "Size" => Some(Known::Tuple),
        "device" => Some(Known::Inert("torch.device")),
        "per_tensor_affine"
        | "per_tensor_symmetric"
        | "per_channel_affine"
        | "per_channel_symmetric"
        | "per_channel_affine_float_qparams" => Some(Known::Inert("torch.qscheme")),
        _ => storage_class(name)
            .or_else(|| Element::named(name).map(Known::Element))
            .or_else(|| tensor_class(name)),
    }
}

fn storage_class(name: &str) -> Option<Known> {
    Element::of_storage(name).map(Known::StorageClass)
}

fn tensor_class(name: &str) -> Option<Known> {
    let element = name.strip_suffix("Tensor")?;
    let plain = matches!(
        element,
        "" | "Double"
            | "Float"
            | "Half"
            | "BFloat16"
            | "Long"
            | "Int"
            | "Short"
            | "Char"
            | "Byte"
            | "Bool"
    );
    plain.then_some(Known::TensorClass)
}

fn torch_utils(name: &str) -> Option<Known> {
    Some(match name {
        "_rebuild_tensor" => Known::RebuildTensor,
        "_rebuild_tensor_v2" => Known::RebuildTensorV2,
        "_rebuild_tensor_v3" => Known::RebuildTensorV3,
        "_rebuild_parameter" | "_rebuild_parameter_with_state" => Known::RebuildParameter,
        "_rebuild_qtensor" => Known::OddTensor("quantized tensor"),
        "_rebuild_sparse_tensor" | "_rebuild_sparse_csr_tensor" => {
            Known::OddTensor("sparse tensor")
        }
        "_rebuild_nested_tensor" => Known::OddTensor("nested tensor"),
        "_rebuild_meta_tensor_no_storage" => Known::OddTensor("meta tensor without data"),
        "_rebuild_wrapper_subclass" => Known::OddTensor("tensor subclass"),
        "_rebuild_device_tensor_from_numpy"
        | "_rebuild_device_tensor_from_cpu_tensor"
        | "_rebuild_xla_tensor" => Known::OddTensor("tensor of another device's library"),
        _ => return None,
    })
}
