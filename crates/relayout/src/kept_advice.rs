//! Texts of advice that `relayout view` shows again.

use relayout_advice::{ProbedMachine, SearchRequest};
use relayout_report::text::advise::AdviceTextOptions;
use relayout_session::ProfileQuestion;
use relayout_session::advise::AdviceRequest;
use serde::Serialize;

/// Question whose answer is the text of `relayout advise` on one type.
#[derive(Clone, Debug, Serialize)]
pub struct AdviceQuestion {
    type_name: String,
    request: AdviceRequest,
    options: AdviceTextOptions,
}

impl ProfileQuestion for AdviceQuestion {
    const KIND: &'static str = "advice";
    type Answer = String;
}

impl AdviceQuestion {
    /// Questions of users who say nothing but the type, without tag, or not even that: then less is searched.
    pub fn plain(type_name: &str, machine: &ProbedMachine) -> [Self; 2] {
        let options = AdviceTextOptions {
            top: SearchRequest::TOP_DEFAULT,
            diffs: true,
            ..AdviceTextOptions::default()
        };
        [vec![type_name.to_owned()], Vec::new()].map(|types| {
            let request = AdviceRequest::plain(types, machine.clone());
            Self::on_type(type_name, &request, &options)
        })
    }

    /// Question of a user whose request led to the advice on one type.
    pub fn on_type(type_name: &str, request: &AdviceRequest, options: &AdviceTextOptions) -> Self {
        let mut request = request.clone();
        // An array, a variable or a wrapper may have led to the type.
        for name in &mut request.search.types {
            *name = type_name.to_owned();
        }
        // They are a part of what identifies the profile.
        request.debug = Vec::new();
        Self {
            type_name: type_name.to_owned(),
            request,
            options: options.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(question: &AdviceQuestion) -> String {
        serde_json::to_string(question).expect("text")
    }

    /// Tells whether `relayout view` shows the text of a request as the plain advice on `worker`.
    fn check_shown(request: &AdviceRequest, options: &AdviceTextOptions, expect: bool) {
        let asked = key(&AdviceQuestion::on_type("worker", request, options));
        let plain = AdviceQuestion::plain("worker", &ProbedMachine::default());
        let is_shown = plain.iter().any(|question| key(question) == asked);
        assert_eq!(is_shown, expect, "{asked}");
    }

    #[test]
    fn other_options_leave_the_plain_advice() {
        let named = |name: &str| AdviceRequest::plain(vec![name.into()], ProbedMachine::default());
        let plain = named("worker");
        let shown = AdviceTextOptions {
            top: SearchRequest::TOP_DEFAULT,
            diffs: true,
            ..AdviceTextOptions::default()
        };
        check_shown(&plain, &shown, true);
        // The array led to the type, and a debug file names the same build.
        check_shown(&named("workers"), &shown, true);
        let with_debug = AdviceRequest {
            debug: vec!["worker.debug".into()],
            ..plain.clone()
        };
        check_shown(&with_debug, &shown, true);
        let mut fewer = plain.clone();
        fewer.search.top = 1;
        check_shown(&fewer, &shown, false);
        let with_source = AdviceRequest {
            source: Some("linux".into()),
            ..plain.clone()
        };
        check_shown(&with_source, &shown, false);
        let more = AdviceTextOptions {
            all: true,
            ..shown.clone()
        };
        check_shown(&plain, &more, false);
    }
}
