//! What a guest needs of its kernel, told from the kernel's symbols before it boots: without it, the
//! recording would wait in vain.

use crate::{Error, GuestKernel};

/// Something that the kernel's configuration decides.
struct KernelNeed {
    /// Symbols, one of which a kernel has that can do it.
    symbols: &'static [&'static str],
    /// Option of the kernel's configuration.
    option: &'static str,
    /// What the guest needs it for.
    purpose: &'static str,
}

const NEEDS: [KernelNeed; 4] = [
    KernelNeed {
        symbols: &["initrd_start"],
        option: "CONFIG_BLK_DEV_INITRD",
        purpose: "the guest's files come in an initramfs",
    },
    KernelNeed {
        symbols: &["univ8250_console", "amba_console"],
        option: "CONFIG_SERIAL_8250_CONSOLE",
        purpose: "the guest reports on its serial console",
    },
    KernelNeed {
        symbols: &["devtmpfs_init"],
        option: "CONFIG_DEVTMPFS",
        purpose: "the guest's devices are in devtmpfs",
    },
    KernelNeed {
        symbols: &["cgroup_init"],
        option: "CONFIG_CGROUPS",
        purpose: "workloads run in cgroups",
    },
];

/// Array with an address for each CPU that the kernel can have.
const PER_CPU_ADDRESSES: &str = "__per_cpu_offset";
const ADDRESS_BYTES: u64 = 8;

/// Fails unless a guest with this kernel can run on `cpus` CPUs.
///
/// # Errors
/// The kernel was built without something that the guest needs, or for fewer CPUs.
pub fn require_support(kernel: &GuestKernel<'_>, cpus: u16) -> Result<(), Error> {
    let refuse = |why: String| {
        Err(Error::Unsuitable {
            path: kernel.image_path.clone(),
            why,
        })
    };
    let is_met = |need: &&KernelNeed| need.symbols.iter().any(|name| kernel.has_symbol(name));
    if let Some(need) = NEEDS.iter().find(|need| !is_met(need)) {
        let KernelNeed {
            option, purpose, ..
        } = need;
        return refuse(format!("it was built without {option}, and {purpose}"));
    }
    match kernel.symbol_bytes(PER_CPU_ADDRESSES) {
        Some(bytes) if bytes > 0 && bytes / ADDRESS_BYTES < u64::from(cpus) => {
            let most = bytes / ADDRESS_BYTES;
            refuse(format!(
                "it was built for at most {most} CPUs (CONFIG_NR_CPUS), and --cpus is {cpus}"
            ))
        }
        _ => Ok(()),
    }
}
