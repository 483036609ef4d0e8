//! Commands that may do less than this process may.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Lets the command, and what it starts, use one CPU only, as `taskset` does.
pub fn one_cpu(command: &mut Command) -> &mut Command {
    // SAFETY: two system calls on a set of the size that is said.
    unsafe {
        command.pre_exec(|| {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set);
            let cpus = 0..libc::CPU_SETSIZE as usize;
            let first = cpus
                .clone()
                .find(|&cpu| libc::CPU_ISSET(cpu, &set))
                .unwrap_or(0);
            cpus.filter(|&cpu| cpu != first)
                .for_each(|cpu| libc::CPU_CLR(cpu, &mut set));
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
            Ok(())
        })
    }
}

/// Takes the right to SCHED_FIFO, also of root: without the capability, and with the limit at zero,
/// it is not permitted.
pub fn no_real_time(command: &mut Command) -> &mut Command {
    // SAFETY: only plain system calls between fork and exec.
    unsafe {
        command.pre_exec(|| {
            const CAP_SYS_NICE: libc::c_ulong = 23;
            let limit = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            libc::setrlimit(libc::RLIMIT_RTPRIO, &limit);
            libc::prctl(libc::PR_CAPBSET_DROP, CAP_SYS_NICE);
            Ok(())
        })
    }
}

/// Takes root's right to read files whose mode forbids it.
pub fn no_reading_of_all(command: &mut Command) -> &mut Command {
    // SAFETY: only plain system calls between fork and exec.
    unsafe {
        command.pre_exec(|| {
            const CAP_DAC_OVERRIDE: libc::c_ulong = 1;
            const CAP_DAC_READ_SEARCH: libc::c_ulong = 2;
            libc::prctl(libc::PR_CAPBSET_DROP, CAP_DAC_OVERRIDE);
            libc::prctl(libc::PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH);
            Ok(())
        })
    }
}
