//! Documents as pages: one file that works without a network.
//!
//! A page holds the JSON document, compressed, and scripts that show it. So its numbers are those of the document. Names
//! in it come from anybody's files: the scripts make text nodes of them and never markup. The page's policy allows no
//! request to anywhere.

use std::io::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::words::escape::{escape_text, json_text};
use crate::words::kinds::kind_sentences;

const STYLE: &str = include_str!("page/page.css");
const SCRIPTS: [&str; 15] = [
    include_str!("page/dom.js"),
    include_str!("page/words.js"),
    include_str!("page/sources.js"),
    include_str!("page/lines.js"),
    include_str!("page/chart.js"),
    include_str!("page/findings.js"),
    include_str!("page/finding.js"),
    include_str!("page/report.js"),
    include_str!("page/candidate.js"),
    include_str!("page/advise.js"),
    include_str!("page/diff.js"),
    include_str!("page/verify.js"),
    include_str!("page/document.js"),
    include_str!("page/fleet.js"),
    include_str!("page/start.js"),
];
/// Nothing is loaded, and nothing is sent.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      base-uri 'none'; form-action 'none'";

/// Returns the page of a JSON document of this program. `title` is shown by the browser.
///
/// ```
/// let page = relayout_report::page(r#"{"schema":"relayout/diff/1","types":[]}"#, "two <builds>");
///
/// assert!(page.starts_with("<!DOCTYPE html>"));
/// assert!(page.contains("<title>two &lt;builds&gt;</title>"));
/// ```
pub fn page(json: &str, title: &str) -> String {
    let title = markup_text(&escape_text(title));
    let document = BASE64_STANDARD.encode(compressed(&compact(json)));
    let kinds = kind_sentences();
    let scripts = SCRIPTS.concat();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <div id=\"page\"><noscript>This page shows its document with a script of its own. It loads nothing from \
         anywhere.</noscript></div>\n\
         <script id=\"document\" type=\"application/gzip;base64\">\n{document}\n</script>\n\
         <script>\nconst KINDS = {kinds};\n{scripts}</script>\n</body>\n</html>\n"
    )
}

/// Returns text as a file of gzip. A document of 17 MB becomes one of 1 MB.
fn compressed(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    let _ = encoder.write_all(text.as_bytes());
    encoder.finish().unwrap_or_default()
}

/// Returns a document without the spaces that are for people. What is no document stays as it is, and the page says so.
fn compact(json: &str) -> String {
    let value = serde_json::from_str(json);
    let text = value.and_then(|value: Value| json_text(&value, false));
    text.unwrap_or_else(|_| json.to_owned())
}

/// Returns text as markup.
fn markup_text(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use crate::page;

    #[test]
    fn nothing_in_a_title_or_document_is_markup() {
        let page = page(
            r#"{"schema":"relayout/report/1","x":"</script><script>alert(1)</script>"}"#,
            "</title><script>",
        );
        assert_eq!(page.matches("</script>").count(), 2);
        assert_eq!(page.matches("<script").count(), 2);
    }

    #[test]
    fn a_page_names_no_address() {
        let page = page("{}", "x");
        // The name of SVG's elements is no request.
        let page = page.replace("http://www.w3.org/2000/svg", "");
        for word in [
            "http:",
            "https:",
            "//cdn",
            "@import",
            "url(",
            "fetch(",
            "XMLHttp",
            "innerHTML",
        ] {
            assert!(!page.contains(word), "{word}");
        }
    }
}
