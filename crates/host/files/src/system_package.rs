//! Packages that messages tell the user to install. Another distribution's names go here.

/// Distribution whose packages these are.
pub const DISTRIBUTION: &str = "Debian";
/// Package with the source of a kernel.
pub const KERNEL_SOURCE_PACKAGE: &str = "linux-source-6.1";
/// Command that installs the packages behind it.
const INSTALL_COMMAND: &str = "apt-get install";
/// Programs and files whose packages have other names than they.
const PACKAGES: [(&str, &str); 9] = [
    ("cp", "coreutils"),
    ("gelf.h", "libelf-dev"),
    ("ld", "binutils"),
    ("libc.a", "libc6-dev"),
    ("mke2fs", "e2fsprogs"),
    ("perf", "linux-perf"),
    ("qemu-system-aarch64", "qemu-system-arm"),
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("qemu-x86_64", "qemu-user"),
];

/// Returns the package that has a program, header or library.
///
/// ```
/// assert_eq!(relayout_files::system_package("ld"), "binutils");
/// assert_eq!(relayout_files::system_package("flex"), "flex");
/// assert_eq!(relayout_files::system_package("s390x-linux-gnu-gcc"), "gcc-s390x-linux-gnu");
/// ```
pub fn system_package(tool: &str) -> String {
    let listed = PACKAGES.iter().find(|(name, _)| *name == tool);
    match (listed, tool.strip_suffix("-gcc")) {
        (Some((_, package)), _) => (*package).to_owned(),
        (None, Some(target)) => format!("gcc-{target}"),
        (None, None) => tool.to_owned(),
    }
}

/// Returns the command that installs programs, headers and libraries.
///
/// ```
/// let command = relayout_files::install_command(["flex", "gelf.h"]);
/// assert_eq!(command, "apt-get install flex libelf-dev");
/// ```
pub fn install_command<'t>(tools: impl IntoIterator<Item = &'t str>) -> String {
    let packages: Vec<String> = tools.into_iter().map(system_package).collect();
    format!("{INSTALL_COMMAND} {}", packages.join(" "))
}
