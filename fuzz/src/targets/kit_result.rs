use relayout_verify::kit_result::KitResult;

/// The text that the script of a kit wrote.
pub fn kit_result(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let Ok(result) = KitResult::parse(&text) else {
        return;
    };
    for start in &result.starts {
        assert!(
            start.wall_s >= 0.0 && start.cpu_s() >= 0.0,
            "a time below 0"
        );
        assert!(start.line <= text.lines().count());
    }
}
