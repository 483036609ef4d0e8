//! Order of versions.

use std::cmp::Ordering;

/// Part of a version.
#[derive(Debug, PartialEq, Eq)]
enum VersionPart<'t> {
    Number(&'t str),
    Words(&'t str),
}

/// Compares two versions: `6.1.9` comes before `6.1.10`, and `6.2-rc1` before `6.2`.
pub fn compare_versions(a: &str, b: &str) -> Ordering {
    let (mut first, mut second) = (version_parts(a).into_iter(), version_parts(b).into_iter());
    loop {
        let order = match (first.next(), second.next()) {
            (None, None) => return a.cmp(b),
            (None, Some(rest)) => end_order(&rest),
            (Some(rest), None) => end_order(&rest).reverse(),
            (Some(VersionPart::Number(x)), Some(VersionPart::Number(y))) => compare_digits(x, y),
            (Some(VersionPart::Words(x)), Some(VersionPart::Words(y))) => compare_words(x, y),
            (Some(VersionPart::Number(_)), Some(VersionPart::Words(_))) => Ordering::Greater,
            (Some(VersionPart::Words(_)), Some(VersionPart::Number(_))) => Ordering::Less,
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// Returns the order of a version that ends against one that goes on.
fn end_order(rest: &VersionPart<'_>) -> Ordering {
    match rest {
        VersionPart::Words(words) if is_before_release(words) => Ordering::Greater,
        _ => Ordering::Less,
    }
}

fn compare_words(x: &str, y: &str) -> Ordering {
    match (is_before_release(x), is_before_release(y)) {
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        _ => x.cmp(y),
    }
}

fn is_before_release(words: &str) -> bool {
    words.trim_start_matches(['-', '~', '.']).starts_with("rc")
}

fn compare_digits(x: &str, y: &str) -> Ordering {
    let (x, y) = (x.trim_start_matches('0'), y.trim_start_matches('0'));
    x.len().cmp(&y.len()).then_with(|| x.cmp(y))
}

fn version_parts(text: &str) -> Vec<VersionPart<'_>> {
    let is_digit = |c: char| c.is_ascii_digit();
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_number = is_digit(first);
        let end = rest
            .find(|c| is_digit(c) != is_number)
            .unwrap_or(rest.len());
        let (part, behind) = rest.split_at(end);
        parts.push(match is_number {
            true => VersionPart::Number(part),
            false => VersionPart::Words(part),
        });
        rest = behind;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_in_order() {
        let ordered = [
            "5.10.0-40-cloud-amd64",
            "6.1.0-9",
            "6.1.0-56-cloud-amd64",
            "6.2-rc1",
            "6.2-rc10",
            "6.2",
            "6.2.1",
            "6.12.117+deb12-cloud-amd64",
            "7.3.4+deb13-cloud-amd64",
        ];
        for (index, a) in ordered.iter().enumerate() {
            for (other, b) in ordered.iter().enumerate() {
                assert_eq!(compare_versions(a, b), index.cmp(&other), "{a} {b}");
            }
        }
    }
}
