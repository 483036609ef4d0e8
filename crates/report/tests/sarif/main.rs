//! SARIF of checks and of findings, and the structure that both have in common.

mod check;
mod findings;

use serde_json::Value;

/// Checks what GitHub's code scanning requires or shows, by "SARIF support for code scanning", and what the validator of
/// SARIF asks for (SARIF2012, GH2012).
#[track_caller]
fn check_log(log: &Value) {
    assert_eq!(log["version"], "2.1.0");
    assert_eq!(
        log["$schema"],
        "https://json.schemastore.org/sarif-2.1.0.json"
    );
    let runs = log["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 1);
    let driver = &runs[0]["tool"]["driver"];
    assert_eq!(driver["name"], "relayout");
    assert_eq!(driver["version"], "0.1.0");
    assert_eq!(driver["informationUri"], "https://example.org/relayout");
    let rules = driver["rules"].as_array().unwrap();
    for rule in rules {
        check_rule(rule);
    }
    for result in runs[0]["results"].as_array().unwrap() {
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
        check_level(&result["level"]);
        assert!(!text_of(result, "message").is_empty());
        assert!(result["partialFingerprints"]["relayout/v1"].is_string());
        assert_eq!(result["locations"].as_array().unwrap().len(), 1);
        let related = result["relatedLocations"].as_array().unwrap();
        for (id, location) in related.iter().enumerate() {
            assert_eq!(location["id"], id);
            assert!(!text_of(location, "message").is_empty());
        }
        for location in result["locations"]
            .as_array()
            .unwrap()
            .iter()
            .chain(related)
        {
            check_location(&location["physicalLocation"]);
        }
    }
}

#[track_caller]
fn check_rule(rule: &Value) {
    let id = rule["id"].as_str().unwrap();
    let name = rule["name"].as_str().unwrap();
    assert!(
        name.chars().all(char::is_alphanumeric) && name.starts_with(char::is_uppercase),
        "{name}"
    );
    assert_ne!(name, id, "SARIF2.1.0 3.49.7: the name differs from the id");
    for key in ["shortDescription", "fullDescription", "help"] {
        let sentences = text_of(rule, key);
        assert!(
            sentences.ends_with('.') && sentences.len() <= 1024,
            "{id} {key}: {sentences}"
        );
    }
    let (short, full) = (
        text_of(rule, "shortDescription"),
        text_of(rule, "fullDescription"),
    );
    assert!(full.starts_with(short) && full.len() > short.len(), "{id}");
    check_level(&rule["defaultConfiguration"]["level"]);
    let properties = &rule["properties"];
    let tags = properties["tags"].as_array().unwrap();
    assert!(tags.iter().all(Value::is_string));
    let precision = properties["precision"].as_str().unwrap();
    assert!(["very-high", "high", "medium", "low"].contains(&precision));
    let severity = properties["problem.severity"].as_str().unwrap();
    assert!(["error", "warning", "recommendation"].contains(&severity));
}

#[track_caller]
fn check_level(level: &Value) {
    let level = level.as_str().unwrap();
    assert!(["note", "warning", "error"].contains(&level), "{level}");
}

#[track_caller]
fn check_location(location: &Value) {
    let artifact = &location["artifactLocation"];
    let uri = artifact["uri"].as_str().unwrap();
    let is_relative = !uri.starts_with('/') && !uri.contains(':');
    match artifact["uriBaseId"].as_str() {
        Some(base) => assert!(is_relative && base == "SRCROOT", "{location}"),
        None => assert!(uri.starts_with("file:///"), "{location}"),
    }
    assert!(uri.is_ascii() && !uri.contains(' '), "{location}");
    assert!(location["region"]["startLine"].as_u64().unwrap() >= 1);
}

#[track_caller]
fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key]["text"].as_str().unwrap()
}
