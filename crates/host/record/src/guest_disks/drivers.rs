//! Drivers with which a kernel reads a disk, told from its symbols and from the files of its modules.

use relayout_layout::word_lists::word_series;

/// A part of a kernel that its configuration decides.
struct KernelPart {
    /// Symbol of kernels that have it built in.
    symbol: &'static str,
    /// Module that has it otherwise.
    module: &'static str,
    /// Option of the kernel's configuration.
    option: &'static str,
}

/// The file system of disk images.
const FILE_SYSTEM: KernelPart = KernelPart {
    symbol: "ext4_fill_super",
    module: "ext4",
    option: "CONFIG_EXT4_FS",
};

/// A device of QEMU's that is a disk.
struct DiskModel {
    /// Name of the device.
    device: &'static str,
    parts: &'static [KernelPart],
}

/// Devices, the best one first.
const DISK_MODELS: [DiskModel; 2] = [
    DiskModel {
        device: "nvme",
        parts: &[KernelPart {
            symbol: "nvme_probe",
            module: "nvme",
            option: "CONFIG_BLK_DEV_NVME",
        }],
    },
    DiskModel {
        device: "virtio-blk-pci",
        parts: &[
            KernelPart {
                symbol: "virtio_pci_probe",
                module: "virtio_pci",
                option: "CONFIG_VIRTIO_PCI",
            },
            KernelPart {
                symbol: "virtblk_probe",
                module: "virtio_blk",
                option: "CONFIG_VIRTIO_BLK",
            },
        ],
    },
];

/// Drivers for the guest's disks.
#[derive(Debug, PartialEq, Eq)]
pub struct DiskDrivers {
    /// QEMU's device that they are for.
    pub device: &'static str,
    /// Modules that have to be loaded.
    pub modules: Vec<&'static str>,
}

impl DiskDrivers {
    /// Chooses a device whose drivers the kernel has built in, or else as modules.
    ///
    /// # Errors
    /// The kernel has no file system or no driver; the text names the options of its configuration.
    pub fn choose(
        has_symbol: impl Fn(&str) -> bool,
        has_module: impl Fn(&str) -> bool,
    ) -> Result<Self, String> {
        let modules_of = |parts: &[KernelPart]| -> Option<Vec<&'static str>> {
            let missing = parts.iter().filter(|part| !has_symbol(part.symbol));
            let modules: Vec<_> = missing.map(|part| part.module).collect();
            modules
                .iter()
                .all(|name| has_module(name))
                .then_some(modules)
        };
        let Some(mut modules) = modules_of(&[FILE_SYSTEM]) else {
            return Err(format!("no ext4 ({})", FILE_SYSTEM.option));
        };
        let usable = { DISK_MODELS.iter() }
            .filter_map(|model| Some((model.device, modules_of(model.parts)?)));
        match usable.min_by_key(|(_, modules)| modules.len()) {
            Some((device, drivers)) => {
                modules.extend(drivers);
                Ok(Self { device, modules })
            }
            None => Err(format!("no driver of a disk ({})", describe_models())),
        }
    }
}

/// Describes the options: `CONFIG_A, or CONFIG_B and CONFIG_C`.
fn describe_models() -> String {
    let options = DISK_MODELS.iter().map(|model| {
        let names: Vec<_> = model.parts.iter().map(|part| part.option).collect();
        word_series(&names, usize::MAX)
    });
    options.collect::<Vec<_>>().join(", or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(symbols: &[&str], files: &[&str], expect: Result<(&str, &[&str]), &str>) {
        let found =
            DiskDrivers::choose(|name| symbols.contains(&name), |name| files.contains(&name));
        let found = found.map(|drivers| (drivers.device, drivers.modules));
        let expect = expect.map(|(device, modules)| (device, modules.to_vec()));
        assert_eq!(
            found,
            expect.map_err(str::to_owned),
            "{symbols:?} {files:?}"
        );
    }

    #[test]
    fn drivers_that_are_built_in_come_first() {
        let nvme = ["ext4_fill_super", "nvme_probe"];
        let virtio = ["ext4_fill_super", "virtio_pci_probe", "virtblk_probe"];
        check(&nvme, &[], Ok(("nvme", &[])));
        check(&virtio, &["nvme"], Ok(("virtio-blk-pci", &[])));
        check(
            &virtio[..2],
            &["virtio_blk"],
            Ok(("virtio-blk-pci", &["virtio_blk"])),
        );
        check(&[], &["ext4", "nvme"], Ok(("nvme", &["ext4", "nvme"])));
    }

    #[test]
    fn kernels_without_a_driver_are_told() {
        check(&["nvme_probe"], &[], Err("no ext4 (CONFIG_EXT4_FS)"));
        check(
            &["ext4_fill_super", "virtio_pci_probe"],
            &[],
            Err(
                "no driver of a disk (CONFIG_BLK_DEV_NVME, or CONFIG_VIRTIO_PCI and CONFIG_VIRTIO_BLK)",
            ),
        );
    }
}
