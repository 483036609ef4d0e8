//! Disks of the guest: folders that do not fit into its memory, each as the image of a disk.

mod drivers;
mod image;

use std::path::Path;

use relayout_files::InterruptFlag;
use relayout_messages::RecordingProgress;

use self::drivers::DiskDrivers;
use self::image::DiskImage;
pub use self::image::MKE2FS;
use crate::guest_program::GuestFiles;
use crate::kernel_modules::module_name;
use crate::workspace::RecordingWorkspace;
use crate::{Error, GuestKernel, ModuleFolder};

/// File with the guest's orders, of which `collectors/guest/disks.h` speaks.
const ORDERS: &str = "/run/relayout-disks";
/// Label of a file system, before the number of its disk.
const LABEL: &str = "relayout-";

/// Disks that the guest will have.
#[derive(Debug, Default)]
pub struct DiskPlan {
    drivers: Option<DiskDrivers>,
}

impl DiskPlan {
    /// Chooses the drivers for the disks of `files`, and adds the order to mount them.
    ///
    /// # Errors
    /// The kernel has none, neither built in, nor in `folder`, nor among the `wanted` modules.
    pub fn make(
        files: &mut GuestFiles,
        kernel: &GuestKernel<'_>,
        wanted: &[String],
        folder: &ModuleFolder,
    ) -> Result<Self, Error> {
        let Some(first) = files.disks().first() else {
            return Ok(Self::default());
        };
        let has_module = |name: &str| folder.find(name).is_some() || is_wanted(wanted, name);
        let chosen = DiskDrivers::choose(|name| kernel.has_symbol(name), has_module);
        let drivers = chosen.map_err(|missing| Error::NoDiskDriver {
            folder: first.host.clone(),
            files_mib: first.size.file_bytes >> 20,
            memory_mib: files.memory_bytes() >> 20,
            missing,
        })?;
        let mut order = Vec::new();
        for disk in files.disks() {
            order.extend_from_slice(disk.guest.as_os_str().as_encoded_bytes());
            order.push(0);
        }
        files.add_bytes(Path::new(ORDERS), order, 0o600);
        Ok(Self {
            drivers: Some(drivers),
        })
    }

    /// Returns the `wanted` modules, and those that the disks need.
    pub fn add_modules(&self, wanted: &[String]) -> Vec<String> {
        let modules = self.drivers.iter().flat_map(|drivers| &drivers.modules);
        let missing = modules.filter(|name| !is_wanted(wanted, name));
        let missing = missing.map(|name| (*name).to_owned());
        wanted.iter().cloned().chain(missing).collect()
    }

    /// Makes the images.
    ///
    /// # Errors
    /// mke2fs is missing or fails, the host's disk has too little room, or the user stopped it.
    pub fn make_images(
        &self,
        files: &GuestFiles,
        workspace: &RecordingWorkspace,
        progress: &dyn RecordingProgress,
        interrupt: InterruptFlag,
    ) -> Result<GuestDisks, Error> {
        let mut disks = GuestDisks::default();
        let Some(drivers) = &self.drivers else {
            return Ok(disks);
        };
        disks.device = drivers.device;
        for (number, folder) in files.disks().iter().enumerate() {
            progress.step(&format!(
                "making a disk image of {} ({} MiB)",
                folder.host.display(),
                folder.size.file_bytes >> 20
            ));
            let label = format!("{LABEL}{number}");
            let image = DiskImage::make(folder, &label, workspace, progress, interrupt)?;
            disks.images.push(image);
            disks.folders.push(folder.guest.display().to_string());
        }
        Ok(disks)
    }
}

fn is_wanted(wanted: &[String], name: &str) -> bool {
    { wanted.iter() }.any(|wanted| module_name(Path::new(wanted)).as_deref() == Some(name))
}

/// The guest's disks.
#[derive(Default)]
pub struct GuestDisks {
    device: &'static str,
    images: Vec<DiskImage>,
    folders: Vec<String>,
}

impl GuestDisks {
    /// Returns true if the guest has no disks.
    pub fn is_empty(&self) -> bool {
        self.images.is_empty()
    }

    /// Numbers of the open files.
    pub fn file_numbers(&self) -> Vec<i32> {
        self.images.iter().map(DiskImage::number).collect()
    }

    /// QEMU's arguments, for a QEMU that inherits the files.
    pub fn qemu_arguments(&self) -> Vec<String> {
        let arguments = |(number, image): (usize, &DiskImage)| {
            let drive = format!(
                "if=none,id=relayout{number},format=raw,cache=unsafe,file.locking=off,\
                 file=/proc/self/fd/{}",
                image.number()
            );
            let device = format!(
                "{},drive=relayout{number},serial=relayout-{number}",
                self.device
            );
            ["-drive".to_owned(), drive, "-device".to_owned(), device]
        };
        self.images.iter().enumerate().flat_map(arguments).collect()
    }

    /// Description of the disks for the profile: `/ (nvme)`; empty without disks.
    pub fn describe(&self) -> String {
        let described = { self.folders.iter() }.map(|folder| format!("{folder} ({})", self.device));
        described.collect::<Vec<_>>().join(", ")
    }
}
