//! The page: self-contained, harmless whatever names it shows, and working in a real browser.

use std::path::Path;
use std::process::{Command, Stdio};
use tensoracle_compare::{
    Drawing, Report, ReportEntry, TensorRef, Tolerance, Verdict, compare_outputs, html,
};
use tensoracle_test_support::skip;

const HOSTILE: &str = "</script><img src=http://x/ onerror=alert(1)>&\"'";

fn entry(name: &str, dims: &[u64], change: impl Fn(usize, f32) -> f32) -> ReportEntry {
    let count = dims.iter().product::<u64>() as usize;
    let reference: Vec<f32> = (0..count).map(|i| (i as f32 * 0.37).sin()).collect();
    let candidate: Vec<f32> = reference
        .iter()
        .enumerate()
        .map(|(i, &v)| change(i, v))
        .collect();
    let candidate = TensorRef::of(dims, &candidate).unwrap();
    let reference = TensorRef::of(dims, &reference).unwrap();
    let tolerance = Tolerance::new(1e-3, 0.0).unwrap();
    let comparison = compare_outputs(candidate, reference, Some(tolerance)).unwrap();
    let at = comparison
        .finite
        .as_ref()
        .unwrap()
        .worst_absolute
        .as_ref()
        .map_or(0, |at| at.index);
    let mut entry = ReportEntry::compared(name, comparison);
    entry.failed = matches!(entry.verdict, Verdict::Outside | Verdict::Nonfinite);
    entry.drawing = Some(Drawing::of(candidate, reference, at).unwrap());
    entry.facts = vec![("Layer".to_owned(), format!("kind of {name}"))];
    entry
}

fn report() -> Report {
    Report {
        candidate: "new <1>".to_owned(),
        reference: "old".to_owned(),
        tensors: vec![
            entry("b.small", &[4, 8], |i, v| if i == 9 { v + 0.25 } else { v }),
            entry("c.noise", &[3, 90, 70], |i, v| {
                v + 1e-5 * ((i * i) as f32).sin()
            }),
            entry(HOSTILE, &[50], |i, v| if i == 3 { f32::NAN } else { v }),
            entry("a.equal", &[2, 2], |_, v| v),
            ReportEntry::incomparable("d.shapes", "the candidate has shape [1], …"),
        ],
        missing: vec!["gone<b>".to_owned()],
        extra: vec![],
    }
}

#[test]
fn the_page_fetches_nothing_and_runs_no_name() {
    let page = html(&report(), "Title <i>");
    assert!(page.contains("<title>Title &lt;i&gt;</title>"));
    assert!(page.contains("gone&lt;b&gt;") && page.contains("new &lt;1&gt;"));
    assert!(!page.contains("<img"), "a name became an element");
    // Nothing refers outside but names, which are text.
    let without_name = page.replace("src=http://x/", "");
    for outside in [
        "http:", "https:", "src=", "@import", "url(", "<link", "<iframe",
    ] {
        assert!(!without_name.contains(outside), "the page has {outside}");
    }
    for (opening, closing) in [
        ("<table", "</table>"),
        ("<details", "</details>"),
        ("<svg", "</svg>"),
        ("<tr", "</tr>"),
    ] {
        assert_eq!(
            page.matches(opening).count(),
            page.matches(closing).count(),
            "{opening}"
        );
    }
    // Four histograms, four lines along the index, three heat maps: the vector has no slice.
    assert_eq!(page.matches("<svg").count(), 8);
    assert_eq!(page.matches("<canvas").count(), 3);
    assert!(page.contains(">nonfinite</span>") && page.contains("the candidate has shape [1], …"));
    assert_eq!(
        page,
        html(&report(), "Title <i>"),
        "the same report gives the same page"
    );
}

/// Runs Chromium without a window on a page; its output, or why there is none.
fn chromium(page: &Path, profile: &Path, arguments: &[&str]) -> Result<String, String> {
    let program = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|program| {
            let version = Command::new(program)
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            version.is_ok_and(|status| status.success())
        });
    let program = program.ok_or("Chromium is not installed")?;
    let output = Command::new(program)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args(["--hide-scrollbars", "--window-size=1200,1600"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(arguments)
        .arg(format!("file://{}", page.display()))
        .output()
        .map_err(|error| error.to_string())?;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_browser_shows_sorts_and_colours_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    // Written into the document, where `--dump-dom` shows it: faults, the order of rows after a
    // click, the colours of the first heat map's cells 8, 9 and 10, whether a link opens a tensor.
    let probe = r##"<script>
        const result = { faults: window.faults };
        const names = () => [...document.querySelectorAll("tbody th a")].map((a) => a.textContent);
        const button = [...document.querySelectorAll("th button")].find((b) => b.textContent === "Tensor");
        button.click();
        result.ascending = names();
        result.sort = button.parentElement.getAttribute("aria-sort");
        button.click();
        result.descending = names();
        const context = document.querySelector("canvas").getContext("2d");
        result.cells = [0, 1, 2].map((x) => [...context.getImageData(x, 1, 1, 1).data]);
        const closed = document.getElementById("tensor-4");
        result.before = closed.open;
        location.hash = "#tensor-4";
        window.dispatchEvent(new HashChangeEvent("hashchange"));
        result.after = closed.open;
        const pre = document.createElement("pre");
        pre.id = "probe";
        pre.textContent = JSON.stringify(result);
        document.body.append(pre);
        </script>"##;
    let catcher = "<script>window.faults = []; \
                   addEventListener(\"error\", (e) => window.faults.push(e.message));</script>";
    let page = html(&report(), "Test");
    let probed = page
        .replacen("<body>", &format!("<body>{catcher}"), 1)
        .replacen("</body>", &format!("{probe}</body>"), 1);
    std::fs::write(&path, probed).unwrap();
    let profile = folder.path().join("profile");
    let dom = match chromium(&path, &profile, &["--dump-dom"]) {
        Ok(dom) => dom,
        Err(reason) => skip!("{reason}"),
    };
    let json = dom
        .split("<pre id=\"probe\">")
        .nth(1)
        .expect("the page's script did not end");
    let json = json
        .split("</pre>")
        .next()
        .unwrap()
        .replace("&lt;", "<")
        .replace("&gt;", ">");
    let result: serde_json::Value = serde_json::from_str(&json.replace("&amp;", "&")).unwrap();
    assert_eq!(result["faults"], serde_json::json!([]));
    assert_eq!(result["sort"], "ascending");
    let mut sorted = [HOSTILE, "a.equal", "b.small", "c.noise", "d.shapes"];
    assert_eq!(result["ascending"], serde_json::json!(sorted));
    sorted.reverse();
    assert_eq!(result["descending"], serde_json::json!(sorted));
    // Row 1, column 1 is element 9, the only one with an error.
    assert_ne!(result["cells"][1], result["cells"][0]);
    assert_eq!(result["cells"][2], result["cells"][0]);
    assert_eq!(
        (&result["before"], &result["after"]),
        (&false.into(), &true.into())
    );

    // A picture of it: of the size asked for, and with more in it than an empty page has.
    std::fs::write(&path, &page).unwrap();
    let mut sizes = [0, 0];
    for (size, contents) in sizes.iter_mut().zip([page.as_str(), "<!doctype html>"]) {
        std::fs::write(&path, contents).unwrap();
        let picture = folder.path().join("page.png");
        let screenshot = format!("--screenshot={}", picture.display());
        chromium(&path, &profile, &[&screenshot]).unwrap();
        let png = std::fs::read(&picture).unwrap();
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
        assert_eq!(
            (&png[16..20], &png[20..24]),
            (&1200u32.to_be_bytes()[..], &1600u32.to_be_bytes()[..])
        );
        *size = png.len();
    }
    assert!(
        sizes[0] > 10 * sizes[1],
        "the picture is as good as empty: {sizes:?} bytes"
    );
}
