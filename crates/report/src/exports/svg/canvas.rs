//! SVG elements from top to bottom, with their names and texts escaped.

use std::fmt::Write as _;

use super::line_row::{border_width, fill};
use crate::documents::report::line_rows::MemberUse;
use crate::words::escape::escape_text;
use crate::words::wrap::wrap_text_at;

/// Width of the picture.
pub(crate) const WIDTH: f64 = 920.0;
/// Space left and right.
pub(crate) const MARGIN: f64 = 24.0;
/// Width of a character of a monospaced font, as a part of its size.
const CHARACTER_WIDTH: f64 = 0.602;
/// Size of the small font, in pixels.
const SMALL_FONT: f64 = 12.0;
const INK: &str = "#1a1a1a";
const BACK: &str = "#ffffff";
/// Colours of the hatching.
const HATCH: [&str; 2] = ["#f1f3f5", "#c9ced4"];

/// Kind of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextStyle {
    Title,
    Heading,
    Prose,
    Listed,
}

impl TextStyle {
    /// Returns the size in pixels, the weight, and the height of a row.
    fn metrics(self) -> (f64, &'static str, f64) {
        match self {
            Self::Title => (18.0, "bold", 26.0),
            Self::Heading => (14.0, "bold", 20.0),
            Self::Prose | Self::Listed => (SMALL_FONT, "normal", 17.0),
        }
    }

    /// Returns how many columns fit where so many of the small font do.
    fn columns(self, small_columns: usize) -> usize {
        let (size, ..) = self.metrics();
        (small_columns as f64 * SMALL_FONT / size) as usize
    }
}

/// Rectangle in the picture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PictureArea {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

/// Body of a picture that grows downwards.
#[derive(Debug)]
pub(crate) struct SvgCanvas {
    body: String,
    /// Top of what is added next.
    top: f64,
}

impl SvgCanvas {
    pub fn new() -> Self {
        Self {
            body: String::new(),
            top: MARGIN,
        }
    }

    pub fn top(&self) -> f64 {
        self.top
    }

    pub fn add_space(&mut self, height: f64) {
        self.top += height;
    }

    /// Adds a text in rows of at most `columns` characters of the small font.
    pub fn add_paragraph(&mut self, text: &str, style: TextStyle, columns: usize) {
        self.add_rows(text, style, style.columns(columns), MARGIN);
    }

    /// Adds a text behind a square with the colour of a use.
    pub fn add_member(&mut self, member_use: MemberUse, text: &str, columns: usize) {
        let square = PictureArea {
            left: MARGIN,
            top: self.top + 2.0,
            width: 11.0,
            height: 11.0,
        };
        self.add_box(member_use, square);
        self.add_rows(text, TextStyle::Listed, columns, MARGIN + 18.0);
    }

    /// Adds squares with the words of their colours, in rows.
    pub fn add_keys(&mut self, keys: &[(MemberUse, &str)]) {
        let mut left = MARGIN;
        for &(member_use, words) in keys {
            let width = 18.0 + text_width(words) + 22.0;
            if left + width > WIDTH {
                left = MARGIN;
                self.top += 20.0;
            }
            let square = PictureArea {
                left,
                top: self.top,
                width: 13.0,
                height: 13.0,
            };
            self.add_box(member_use, square);
            self.add_text(left + 18.0, self.top + 11.0, words, TextStyle::Listed);
            left += width;
        }
        self.top += 20.0;
    }

    /// Adds a box in the colour and with the border of a use.
    pub fn add_box(&mut self, member_use: MemberUse, area: PictureArea) {
        let (fill, border) = (fill(member_use), border_width(member_use));
        let PictureArea {
            left,
            top,
            width,
            height,
        } = area;
        // A border is drawn half outside.
        let (inset, width) = (border / 2.0, (width - border).max(0.0));
        self.add(format_args!(
            r#"<rect x="{:.1}" y="{:.1}" width="{width:.1}" height="{:.1}" fill="{fill}" stroke="{INK}" stroke-width="{border}"/>"#,
            left + inset,
            top + inset,
            height - border,
        ));
    }

    /// Adds a text whose baseline is at `base`.
    pub fn add_text(&mut self, left: f64, base: f64, text: &str, style: TextStyle) {
        let (size, weight, _) = style.metrics();
        let text = xml_text(text);
        self.add(format_args!(
            r#"<text x="{left:.1}" y="{base:.1}" font-size="{size}" font-weight="{weight}">{text}</text>"#
        ));
    }

    /// Begins a group whose words are shown where the mouse rests on it.
    pub fn begin_tip(&mut self, words: &str) {
        self.add(format_args!("<g><title>{}</title>", xml_text(words)));
    }

    /// Begins a group that screen readers read as `words`.
    pub fn begin_group(&mut self, words: &str) {
        self.add(format_args!(
            r#"<g role="img"><title>{}</title>"#,
            xml_text(words)
        ));
    }

    pub fn end_group(&mut self) {
        self.add(format_args!("</g>"));
    }

    /// Returns the document, with what screen readers read first.
    pub fn into_document(self, title: &str, description: &str) -> String {
        let height = self.top + MARGIN;
        let [soft, rule] = HATCH;
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" \
             height=\"{height:.0}\" role=\"group\" aria-labelledby=\"title description\" \
             font-family=\"ui-monospace, DejaVu Sans Mono, monospace\" fill=\"{INK}\">\n\
             <title id=\"title\">{}</title>\n<desc id=\"description\">{}</desc>\n\
             <defs><pattern id=\"hatch\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" \
             patternTransform=\"rotate(45)\"><rect width=\"7\" height=\"7\" fill=\"{soft}\"/>\
             <rect width=\"2\" height=\"7\" fill=\"{rule}\"/></pattern></defs>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"{BACK}\"/>\n{}</svg>\n",
            xml_text(title),
            xml_text(description),
            self.body,
        )
    }

    fn add_rows(&mut self, text: &str, style: TextStyle, columns: usize, left: f64) {
        let (_, _, row_height) = style.metrics();
        for row in text_rows(text, columns) {
            self.add_text(left, self.top + row_height - 6.0, &row, style);
            self.top += row_height;
        }
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        writeln!(self.body, "{element}").expect("writing to a string does not fail");
    }
}

/// Returns the width of a text in the small font.
pub(crate) fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * CHARACTER_WIDTH * SMALL_FONT
}

/// Breaks a text at spaces, and words that are wider than a row anywhere.
fn text_rows(text: &str, columns: usize) -> Vec<String> {
    let shown = escape_text(text).replace(['\n', '\t'], " ");
    let mut rows = Vec::new();
    for line in wrap_text_at(columns, &shown, 0).lines() {
        let chars: Vec<char> = line.chars().collect();
        rows.extend(chars.chunks(columns).map(|part| part.iter().collect()));
    }
    rows
}

/// Returns a text as the content of an element.
fn xml_text(text: &str) -> String {
    let mut escaped = String::new();
    for c in escape_text(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // No XML document may have these.
            '\u{fffe}' | '\u{ffff}' => escaped.extend(c.escape_unicode()),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_no_markup() {
        assert_eq!(
            xml_text("a<b>&\"\u{202e}\0\u{ffff}"),
            r"a&lt;b&gt;&amp;&quot;\u{202e}\u{0}\u{ffff}"
        );
    }

    #[test]
    fn a_long_word_is_broken() {
        assert_eq!(text_rows("abcdefgh ij", 5), ["abcde", "fgh", "ij"]);
        assert_eq!(text_rows("é\u{202e}", 5), [r"é\u{2", "02e}"]);
    }
}
