//! Documents as pages: one file that works without a network.
//!
//! A page holds the JSON document as it is, and scripts that show it. So its numbers are those of the document. Names
//! in it come from anybody's files: the scripts make text nodes of them and never markup, and nothing in the document
//! can end the element that holds it. The page's policy allows no request to anywhere.

use serde_json::Value;

use crate::escape::{escape_text, json_text};

const STYLE: &str = include_str!("page/page.css");
const SCRIPTS: [&str; 7] = [
    include_str!("page/dom.js"),
    include_str!("page/lines.js"),
    include_str!("page/chart.js"),
    include_str!("page/report.js"),
    include_str!("page/advise.js"),
    include_str!("page/document.js"),
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
    // In JSON, `<` is in strings only.
    let json = compact(json).replace('<', "\\u003c");
    let scripts = SCRIPTS.concat().replace("\"use strict\";\n", "");
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <div id=\"page\"><noscript>This page shows its document with a script of its own. It loads nothing from \
         anywhere.</noscript></div>\n\
         <script id=\"document\" type=\"application/json\">\n{json}\n</script>\n\
         <script>\n\"use strict\";\n{scripts}</script>\n</body>\n</html>\n"
    )
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
    use super::page;

    #[test]
    fn nothing_in_a_document_ends_its_element() {
        let page = page(
            r#"{"schema":"relayout/report/1","x":"</script><script>alert(1)</script>"}"#,
            "x",
        );
        assert_eq!(page.matches("</script>").count(), 2);
        assert!(page.contains(r"\u003c/script>\u003cscript>alert(1)"));
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
