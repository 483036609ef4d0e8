//! Needs that a guest has of its kernel, told from the kernel's symbols before it boots: without
//! them, the recording would wait in vain.

use crate::{Error, GuestKernel};

/// Something that the kernel's configuration decides.
struct KernelNeed {
    /// Symbol of kernels that can do it.
    symbol: &'static str,
    /// Option of the kernel's configuration.
    option: &'static str,
    /// Reason why the guest needs it.
    purpose: &'static str,
}

/// Needs of guests of all machines.
const NEEDS: [KernelNeed; 3] = [
    KernelNeed {
        symbol: "initrd_start",
        option: "CONFIG_BLK_DEV_INITRD",
        purpose: "the guest's files come in an initramfs",
    },
    KernelNeed {
        symbol: "devtmpfs_init",
        option: "CONFIG_DEVTMPFS",
        purpose: "the guest's devices are in devtmpfs",
    },
    KernelNeed {
        symbol: "cgroup_init",
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
    let model = kernel.machine.model();
    let console = KernelNeed {
        symbol: model.console_symbol,
        option: model.console_option,
        purpose: "the guest reports on its serial console",
    };
    let mut needs = NEEDS.iter().chain([&console]);
    if let Some(need) = needs.find(|need| !kernel.has_symbol(need.symbol)) {
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
