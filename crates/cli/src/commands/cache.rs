//! `tensoracle cache`: saved engines listed, pruned, verified, removed and moved.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use clap::{Args, Subcommand};
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use tensoracle_store::{
    Checked, Entry, Imported, Listing, PrunePlan, PruneResult, PruneRules, Selector, Status, Store,
    utc_text,
};

use crate::size::{parse_days, parse_size, size_text};
use crate::terminal::{Terminal, is_for_people, print, print_json};

/// Arguments of `tensoracle cache`.
#[derive(Debug, Args)]
#[command(after_help = "\
Saved engines lie in $XDG_CACHE_HOME/tensoracle, or in ~/.cache/tensoracle where that variable is \
not set. All of these commands are safe beside processes that build or use engines there.

ENGINE is an engine's name, its file name, or the first digits of its identity, as `list` shows \
them.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the saved engines and what they were built from
    List(ListArguments),
    /// Remove engines by the time of their last use, by size, or both
    Prune(PruneArguments),
    /// Check every byte of saved engines; exit status 1 if one is damaged
    Verify(VerifyArguments),
    /// Print the folder of saved engines, or one engine's file
    Path(PathArguments),
    /// Remove one engine that no process has open
    Remove(RemoveArguments),
    /// Copy an engine, with its header, to a file that `import` or an application can open
    Export(ExportArguments),
    /// Save an exported engine under its identity
    Import(ImportArguments),
}

#[derive(Debug, Args)]
struct Output {
    /// Print JSON, which is also what is printed where the output is no terminal
    #[arg(long)]
    json: bool,
}

impl Output {
    fn for_people(&self) -> bool {
        !self.json && is_for_people()
    }
}

#[derive(Debug, Args)]
struct ListArguments {
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The time of an engine's last use is its file's modification time: set when it is saved and by each \
successful opening, not while it runs. With --unused-for only engines used strictly longer ago are \
removed. With --max-size those used longest ago go first, ties in order of the file names, until \
all .engine files together fit. With both, what either rule chooses goes. Engines that a process \
has open, empty files, and files that are no saved engines are never removed, but count toward the \
size. Digest records stay.

Exit status: 0 for success; 1 when a file could not be removed or the size cannot be reached; 2 for \
wrong usage.")]
#[command(group = clap::ArgGroup::new("rule").required(true).multiple(true))]
struct PruneArguments {
    /// Remove engines not used for so many days of 24 hours; fractions are allowed
    #[arg(long, value_name = "DAYS", value_parser = parse_days, group = "rule")]
    unused_for: Option<Duration>,
    /// Remove engines until all fit into SIZE: bytes, or a number with B, KiB, MiB, GiB or TiB
    #[arg(long, value_name = "SIZE", value_parser = parse_size, group = "rule")]
    max_size: Option<u64>,
    /// Show what would be removed and touch nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
struct VerifyArguments {
    /// The engines to verify; all where none is given
    #[arg(value_name = "ENGINE")]
    engines: Vec<String>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
struct PathArguments {
    #[arg(value_name = "ENGINE")]
    engine: Option<String>,
}

#[derive(Debug, Args)]
struct RemoveArguments {
    #[arg(value_name = "ENGINE")]
    engine: String,
}

#[derive(Debug, Args)]
struct ExportArguments {
    #[arg(value_name = "ENGINE")]
    engine: String,
    /// A file, which is replaced when the copy is complete, or a folder
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Debug, Args)]
struct ImportArguments {
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Runs one command on the user's store.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<ExitCode> {
    let store = Store::in_user_cache()?;
    match arguments.command {
        Command::List(arguments) => {
            let listing = store.list()?;
            if arguments.output.for_people() {
                print(&listing_text(&listing))?;
            } else {
                print_json(&listing)?;
            }
        }
        Command::Prune(arguments) => return prune(&store, &arguments),
        Command::Verify(arguments) => return verify(&store, &arguments, terminal),
        Command::Path(PathArguments { engine: None }) => {
            print(&store.folder().display().to_string())?;
        }
        Command::Path(PathArguments {
            engine: Some(engine),
        }) => print(
            &store
                .locate(&Selector::Typed(engine))?
                .display()
                .to_string(),
        )?,
        Command::Remove(arguments) => {
            let path = store.remove(&Selector::Typed(arguments.engine))?;
            print(&format!("removed {}", path.display()))?;
        }
        Command::Export(arguments) => {
            let selector = Selector::Typed(arguments.engine);
            let (path, header) = store.export(&selector, &arguments.file, terminal)?;
            print(&format!("exported {} to {}", header.name(), path.display()))?;
        }
        Command::Import(arguments) => match store.import(&arguments.file, terminal)? {
            Imported::Saved(path) => print(&format!("saved {}", path.display()))?,
            Imported::AlreadyThere(path) => {
                print(&format!("already there: {}", path.display()))?;
            }
        },
    }
    Ok(ExitCode::SUCCESS)
}

fn status(succeeded: bool) -> ExitCode {
    if succeeded {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn listing_text(listing: &Listing) -> String {
    if listing.entries.is_empty() {
        return format!("no saved engines in {}", listing.directory.display());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["NAME", "IDENTITY", "BACKEND", "SIZE", "LAST USED", "STATUS"]);
    for entry in &listing.entries {
        table.add_row(row(entry));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
    }
    if let Some(column) = table.column_mut(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!(
        "{}\n\n{} in {}",
        table.trim_fmt(),
        size_text(listing.total_size_bytes),
        listing.directory.display()
    )
}

fn row(entry: &Entry) -> [String; 6] {
    let (name, identity, backend) = match entry.header() {
        Some(header) => {
            let backend = |field| {
                let value = header.conditions.get(&["backend", field])?;
                Some(value.as_text()?.to_owned())
            };
            let backend: Vec<String> = ["name", "version"]
                .into_iter()
                .filter_map(backend)
                .collect();
            (
                header.name().to_owned(),
                header.identity().to_string()[..12].to_owned(),
                backend.join(" "),
            )
        }
        None => (entry.file.clone(), String::new(), String::new()),
    };
    let status = match &entry.status {
        Status::Unrecognized { reason } => format!("unrecognized: {reason}"),
        status => status.label().to_owned(),
    };
    [
        name,
        identity,
        backend,
        size_text(entry.size_bytes),
        utc_text(entry.recorded_at_ns),
        status,
    ]
}

fn prune(store: &Store, arguments: &PruneArguments) -> Result<ExitCode> {
    #[derive(Serialize)]
    struct Plan<'a> {
        plan: &'a PrunePlan,
    }
    #[derive(Serialize)]
    struct Done<'a> {
        result: &'a PruneResult,
    }
    let rules = PruneRules {
        unused_for: arguments.unused_for,
        max_size: arguments.max_size,
    };
    let plan = store.plan_prune(&rules, SystemTime::now())?;
    let for_people = arguments.output.for_people();
    if for_people {
        print(&plan_text(&plan))?;
    } else {
        print_json(&Plan { plan: &plan })?;
    }
    let result = store.prune(&plan, arguments.dry_run)?;
    if for_people {
        print(&result_text(&result))?;
    } else {
        print_json(&Done { result: &result })?;
    }
    Ok(status(result.succeeded()))
}

fn plan_text(plan: &PrunePlan) -> String {
    let mut lines = vec![format!(
        "{} of {} in {} to remove",
        size_text(plan.total_size_bytes - plan.projected_size_bytes),
        size_text(plan.total_size_bytes),
        plan.directory.display()
    )];
    for selected in &plan.selected {
        let entry = selected.entry();
        lines.push(format!(
            "  {}  {}  last used {}",
            entry.file,
            size_text(entry.size_bytes),
            utc_text(entry.recorded_at_ns)
        ));
    }
    for excluded in &plan.excluded {
        lines.push(format!("  {} stays: {}", excluded.file, excluded.reason));
    }
    if !plan.selected.is_empty() {
        lines.push(plan.notice.to_owned());
    }
    lines.join("\n")
}

fn result_text(result: &PruneResult) -> String {
    let mut lines: Vec<String> = result
        .failed
        .iter()
        .map(|failed| format!("  {} is still there: {}", failed.file, failed.reason))
        .collect();
    lines.extend(
        result
            .missing
            .iter()
            .map(|file| format!("  {file} was gone already")),
    );
    lines.push(match result.projected_size_bytes {
        Some(projected) => format!(
            "dry run: {} would be removed, {} would remain",
            files(result.removed.len()),
            size_text(projected)
        ),
        None => format!(
            "removed {}, {}; {} remain",
            files(result.removed.len()),
            size_text(result.removed_size_bytes),
            size_text(result.remaining_size_bytes)
        ),
    });
    if !result.succeeded() && result.failed.is_empty() {
        lines.push("the size cannot be reached: what remains is never removed".to_owned());
    }
    lines.join("\n")
}

fn files(count: usize) -> String {
    format!("{count} engine{}", if count == 1 { "" } else { "s" })
}

fn verify(store: &Store, arguments: &VerifyArguments, terminal: &Terminal) -> Result<ExitCode> {
    #[derive(Serialize)]
    struct Json<'a> {
        directory: PathBuf,
        entries: &'a [Checked],
    }
    let checked = if arguments.engines.is_empty() {
        store.verify_all(terminal)?
    } else {
        let paths = arguments
            .engines
            .iter()
            .map(|engine| store.locate(&Selector::Typed(engine.clone())))
            .collect::<Result<Vec<PathBuf>, _>>()?;
        store.verify(&paths, terminal)
    };
    if arguments.output.for_people() {
        for checked in &checked {
            let problem = checked.problem.as_deref().unwrap_or("intact");
            print(&format!("{}: {problem}", checked.file))?;
        }
        if checked.is_empty() {
            print(&format!("no saved engines in {}", store.folder().display()))?;
        }
    } else {
        print_json(&Json {
            directory: store.folder().to_owned(),
            entries: &checked,
        })?;
    }
    Ok(status(
        checked.iter().all(|checked| checked.problem.is_none()),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::time::UNIX_EPOCH;
    use tensoracle_progress::Silent;
    use tensoracle_store::{BuildOptions, Conditions, Map, Outcome};

    /// A store with one engine of `name` and something that is none, and the folder above it.
    fn store(name: &str) -> (tempfile::TempDir, Store) {
        let base = tempfile::tempdir().unwrap();
        let store = Store::at(base.path());
        let mut wanted = Conditions::new(name).unwrap();
        wanted
            .set(&["backend", "name"], "cpu")
            .set(&["backend", "version"], "0.1.0");
        match store
            .begin_build(&wanted, BuildOptions::default(), &Silent)
            .unwrap()
        {
            Outcome::Build(mut build) => {
                build.write_all(&[7; 3_000_000]).unwrap();
                drop(build.publish(Map::new()).unwrap());
            }
            Outcome::Saved(_) => panic!("the store was empty"),
        }
        std::fs::write(store.folder().join("foreign.engine"), b"hello").unwrap();
        for entry in std::fs::read_dir(store.folder()).unwrap() {
            let file = std::fs::File::open(entry.unwrap().path()).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_secs(1_767_225_600))
                .unwrap();
        }
        (base, store)
    }

    fn blanked(base: &tempfile::TempDir, text: &str) -> String {
        text.replace(base.path().to_str().unwrap(), "[BASE]")
    }

    #[test]
    fn a_listing_is_a_table_for_people() {
        let (base, store) = store("example");
        let text = listing_text(&store.list().unwrap());
        insta::assert_snapshot!("list_for_people", blanked(&base, &text));
    }

    #[test]
    fn pruning_is_told_in_sentences_for_people() {
        let (base, store) = store("example");
        let rules = PruneRules {
            unused_for: Some(Duration::from_secs(60)),
            max_size: Some(0),
        };
        let plan = store.plan_prune(&rules, SystemTime::now()).unwrap();
        let dry = store.prune(&plan, true).unwrap();
        let done = store.prune(&plan, false).unwrap();
        let text = [plan_text(&plan), result_text(&dry), result_text(&done)].join("\n\n");
        insta::assert_snapshot!("prune_for_people", blanked(&base, &text));
    }
}
