//! Kinds of source files, by their names and texts.

/// Extensions of files that may have code of C or C++.
pub const C_EXTENSIONS: &[&str] = &["c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "inc"];

/// Returns true for headers of the user-space ABI, by their path in the kernel's source or by the
/// exception in their licence.
pub(crate) fn is_uapi(file_name: &str, source: &str) -> bool {
    let parts: Vec<&str> = file_name.split('/').collect();
    let head = source.lines().take(3);
    parts.windows(2).any(|pair| pair == ["include", "uapi"])
        || head
            .into_iter()
            .any(|line| line.contains("WITH Linux-syscall-note"))
}

/// Returns true if the text shows signs of the Linux kernel's source.
pub(crate) fn is_kernel(source: &str) -> bool {
    [
        "__aligned(",
        "<linux/",
        "<asm/",
        "SPDX-License-Identifier: GPL-2.0",
    ]
    .iter()
    .any(|sign| source.contains(sign))
}
