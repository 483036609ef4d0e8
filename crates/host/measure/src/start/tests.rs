use super::*;

fn run(text: &str, limit_s: Option<f64>) -> Result<ProgramOutcome, Error> {
    let starter = ProgramStarter::new(InterruptFlag::catch()).unwrap();
    let schedule = CpuSchedule::new(None, false).unwrap();
    starter.run(&ProgramLaunch {
        command: &ProgramCommand::for_shell(text),
        dir: None,
        schedule: Some(&schedule),
        time_limit: limit_s.map(Duration::from_secs_f64),
        disturbed_code: Some(75),
    })
}

#[test]
fn what_it_wrote_and_used() {
    let text =
        "echo out; echo err >&2; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.1";
    let ended = run(text, None).unwrap();
    assert_eq!((&*ended.stdout, &*ended.stderr), ("out\n", "err\n"));
    assert!(ended.wall_s >= 0.1, "{ended:?}");
    assert!(ended.cpu_s > 0.0, "{ended:?}");
    // The sleep is no CPU time.
    assert!(ended.cpu_s < ended.wall_s, "{ended:?}");
}

#[track_caller]
fn check_failure(text: &str, expect: &str) {
    let error = run(text, Some(5.0)).unwrap_err();
    assert_eq!(error.to_string(), expect);
    assert_eq!(error.category(), relayout_messages::ErrorCategory::Guest);
}

#[test]
fn failures() {
    check_failure(
        "echo fine; echo 'no such case' >&2; exit 3",
        "'echo fine; echo 'no such case' >&2; exit 3' ended with exit code 3:\n  no such case",
    );
    check_failure(
        "kill -SEGV $$",
        "'kill -SEGV $$' was killed by signal 11 (SIGSEGV); it wrote nothing",
    );
    check_failure(
        "echo only; false",
        "'echo only; false' ended with exit code 1:\n  only",
    );
}

#[test]
fn a_program_that_says_that_it_was_disturbed() {
    assert!(run("echo half; exit 75", None).unwrap().said_disturbed);
    assert!(!run("exit 0", None).unwrap().said_disturbed);
}

#[test]
fn time_limit() {
    let error = run("echo working; sleep 60", Some(0.2))
        .unwrap_err()
        .to_string();
    let expect = "'echo working; sleep 60' did not end within 0.2 s and was killed; --time-limit \
                  allows more:\n  working";
    assert_eq!(error, expect);
}

/// Processes that the program left running are killed.
#[test]
fn nothing_is_left() {
    let ended = run("sleep 61 & echo $!", None).unwrap();
    let pid: i32 = ended.stdout.trim().parse().unwrap();
    let is_gone = || {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // A killed process may wait for init to reap it.
        state.is_empty() || state.contains(") Z ")
    };
    let begun = Instant::now();
    while !is_gone() {
        assert!(begun.elapsed() < Duration::from_secs(2), "{pid} still runs");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn program_is_not_there() {
    let starter = ProgramStarter::new(InterruptFlag::catch()).unwrap();
    let command = ProgramCommand::parse("./no-such-program 1").unwrap();
    let error = starter
        .run(&ProgramLaunch {
            command: &command,
            dir: None,
            schedule: None,
            time_limit: None,
            disturbed_code: None,
        })
        .unwrap_err();
    assert_eq!(error.to_string(), "cannot run './no-such-program'");
    assert_eq!(error.category(), relayout_messages::ErrorCategory::Input);
}
