//! Values that the steps of a JSON pointer lead to.
//!
//! The document is read once, and only these values are kept: a program may write a million rows.

use std::fmt;

use serde::Deserialize as _;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Step that all elements match.
const ALL: &str = "*";

/// Returns the values that the steps lead to; `None` if the text is no JSON document. The label of
/// a value joins the keys and indices that matched `*`.
pub(crate) fn values_at(text: &str, steps: &[String]) -> Option<Vec<(String, Value)>> {
    let mut found = Vec::new();
    let mut reader = serde_json::Deserializer::from_str(text);
    let seed = StepSeed {
        steps,
        label: String::new(),
        found: &mut found,
    };
    seed.deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    Some(found)
}

/// Reader of a value to which some steps are left.
///
/// The recursion is as deep as the number of steps, which comes from the command line.
struct StepSeed<'s> {
    steps: &'s [String],
    label: String,
    found: &'s mut Vec<(String, Value)>,
}

impl StepSeed<'_> {
    /// Reader of an element, to which one step less is left. `key` is set if `*` matched it.
    fn element(&mut self, key: Option<&str>) -> StepSeed<'_> {
        StepSeed {
            steps: self.steps.get(1..).unwrap_or_default(),
            label: match (key, &*self.label) {
                (None, label) => label.to_owned(),
                (Some(key), "") => key.to_owned(),
                (Some(key), label) => format!("{label}.{key}"),
            },
            found: self.found,
        }
    }
}

impl<'de> DeserializeSeed<'de> for StepSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        match self.steps.is_empty() {
            true => {
                let value = Value::deserialize(reader)?;
                self.found.push((self.label, value));
                Ok(())
            }
            false => reader.deserialize_any(self),
        }
    }
}

/// Values without elements lead nowhere.
impl<'de> Visitor<'de> for StepSeed<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let begun = self.found.len();
        while let Some(key) = map.next_key::<String>()? {
            match self.steps.first() {
                Some(step) if step == ALL => map.next_value_seed(self.element(Some(&key)))?,
                Some(step) if *step == key => {
                    // Of two values of one key, the last counts.
                    self.found.truncate(begun);
                    map.next_value_seed(self.element(None))?;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        let step = self.steps.first().map(String::as_str);
        let wanted: Option<usize> = step.and_then(|step| step.parse().ok());
        for index in 0.. {
            let next = if step == Some(ALL) {
                list.next_element_seed(self.element(Some(&index.to_string())))?
            } else if wanted == Some(index) {
                list.next_element_seed(self.element(None))?
            } else {
                list.next_element::<IgnoredAny>()?.map(drop)
            };
            if next.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, pointer: &str, expect: Option<&[(&str, Value)]>) {
        let steps: Vec<String> = pointer.split('/').skip(1).map(str::to_owned).collect();
        let expect = expect.map(|values| {
            let values = values
                .iter()
                .map(|(label, value)| (label.to_string(), value.clone()));
            values.collect::<Vec<_>>()
        });
        assert_eq!(values_at(text, &steps), expect, "{text} {pointer}");
    }

    #[test]
    fn steps_lead_to_values() {
        check("3", "", Some(&[("", json!(3))]));
        check("[[1, 2], {\"a\": 3}]", "/1/a", Some(&[("", json!(3))]));
        check("[[1, 2], {\"a\": 3}]", "/0", Some(&[("", json!([1, 2]))]));
        check(
            "{\"a\": {\"b\": 1}, \"c\": null}",
            "/*/b",
            Some(&[("a", json!(1))]),
        );
        check(
            "[[1], [2]]",
            "/*/*",
            Some(&[("0.0", json!(1)), ("1.0", json!(2))]),
        );
        check("{\"a\": 1, \"a\": 2}", "/a", Some(&[("", json!(2))]));
        for leaf in ["true", "-1", "1", "1.5", "\"a\"", "null"] {
            check(leaf, "/a", Some(&[]));
        }
        for wrong in ["", "{", "{\"a\": 1} 2", "[1,]", "no"] {
            check(wrong, "/a", None);
        }
    }
}
