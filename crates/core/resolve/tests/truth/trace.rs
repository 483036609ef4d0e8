//! Every access of a program's own code, seen by executing it instruction by instruction.

use std::collections::HashMap;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use iced_x86::{Decoder, DecoderOptions, Instruction, InstructionInfoFactory, OpAccess, Register};
use relayout_layout::dwarf::DwarfFile;
use relayout_profile::{
    AccessKind, Addr, ContextId, CountRow, LoadedModule, Profile, ProfileMeta, RecordedRun, RunId,
    Site, SiteId,
};

use super::{Failure, Truth};

/// Steps after which a program counts as hung.
const STEPS_MAX: u64 = 20_000_000;

/// Executes `program`. Returns its output, and a profile of all accesses by its own code between
/// its two signals.
pub fn run(program: &Path, file: &DwarfFile<'_>) -> Result<(Truth, Profile), Failure> {
    let words = program.with_extension("truth");
    let mut command = Command::new(program);
    command.env("TRUTH_FILE", &words).env("TRUTH_STEP", "1");
    // SAFETY: ptrace is called between fork and exec, and allocates nothing.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            -1 => Err(std::io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    let mut child = command.spawn()?;
    let seen = steps(child.id() as libc::pid_t, file, &words);
    if seen.is_err() {
        let _ = child.kill();
    }
    let _ = child.wait();
    let (bias, seen) = seen?;
    let truth = Truth::parse(&std::fs::read_to_string(&words)?)?;
    if truth.bias != bias {
        return Err("the program moved".into());
    }
    Ok((truth, profile(program, file, bias, &seen)))
}

/// Accesses by address, bytes and kind, with the link-time address of the instruction.
type Seen = HashMap<(u64, u64, u8, Kind), u64>;

/// Kind of an access: it loads, it stores.
type Kind = (bool, bool);

fn steps(pid: libc::pid_t, file: &DwarfFile<'_>, words: &Path) -> Result<(u64, Seen), Failure> {
    let mut seen = Seen::new();
    let mut code: HashMap<u64, Option<Instruction>> = HashMap::new();
    let mut factory = InstructionInfoFactory::new();
    let (mut stepping, mut bias) = (false, 0);
    for _ in 0..STEPS_MAX {
        let mut status = 0;
        // SAFETY: `status` is ours.
        if unsafe { libc::waitpid(pid, &mut status, 0) } == -1 {
            return Err(std::io::Error::last_os_error().into());
        }
        if libc::WIFEXITED(status) {
            return match libc::WEXITSTATUS(status) {
                0 => Ok((bias, seen)),
                code => Err(format!("the program ended with {code}").into()),
            };
        }
        if libc::WIFSIGNALED(status) {
            return Err(format!("the program died of signal {}", libc::WTERMSIG(status)).into());
        }
        match libc::WSTOPSIG(status) {
            libc::SIGUSR1 => {
                stepping = !stepping;
                bias = mapped_at(pid)?;
            }
            libc::SIGTRAP => {}
            other => return Err(format!("signal {other}; see {}", words.display()).into()),
        }
        if stepping {
            look(pid, file, bias, &mut code, &mut factory, &mut seen)?;
        }
        let request = if stepping {
            libc::PTRACE_SINGLESTEP
        } else {
            libc::PTRACE_CONT
        };
        // SAFETY: the process is stopped, and none of our memory is written to.
        if unsafe { libc::ptrace(request, pid, 0, 0) } == -1 {
            return Err(std::io::Error::last_os_error().into());
        }
    }
    Err("the program does not end".into())
}

/// Returns the start of the program's first mapping.
fn mapped_at(pid: libc::pid_t) -> Result<u64, Failure> {
    let exe = std::fs::read_link(format!("/proc/{pid}/exe"))?;
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let own = |line: &&str| line.ends_with(&*exe.to_string_lossy());
    let line = maps.lines().find(own).ok_or("no mapping of the program")?;
    let start = line.split('-').next().ok_or("no address in a mapping")?;
    Ok(u64::from_str_radix(start, 16)?)
}

/// Notes the accesses of the next instruction.
fn look(
    pid: libc::pid_t,
    file: &DwarfFile<'_>,
    bias: u64,
    code: &mut HashMap<u64, Option<Instruction>>,
    factory: &mut InstructionInfoFactory,
    seen: &mut Seen,
) -> Result<(), Failure> {
    // SAFETY: all bytes of the registers may be zero.
    let mut regs: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    // SAFETY: the process is stopped, and the registers are written to `regs`.
    if unsafe { libc::ptrace(libc::PTRACE_GETREGS, pid, 0, &mut regs) } == -1 {
        return Err(std::io::Error::last_os_error().into());
    }
    let pc = regs.rip.wrapping_sub(bias);
    let insn = *code.entry(pc).or_insert_with(|| decoded(file, pc, bias));
    let Some(insn) = insn else { return Ok(()) };
    let info = factory.info(&insn);
    for used in info.used_memory() {
        let kind = match used.access() {
            OpAccess::Read | OpAccess::CondRead => (true, false),
            OpAccess::Write | OpAccess::CondWrite => (false, true),
            OpAccess::ReadWrite | OpAccess::ReadCondWrite => (true, true),
            _ => continue,
        };
        let address = used.virtual_address(0, |register, _, _| value(&regs, register));
        let bytes = u8::try_from(used.memory_size().size()).unwrap_or(0);
        if let Some(address) = address.filter(|_| bytes > 0) {
            *seen.entry((pc, address, bytes, kind)).or_default() += 1;
        }
    }
    Ok(())
}

/// Decodes the file's instruction at `pc`, at its run-time address.
fn decoded(file: &DwarfFile<'_>, pc: u64, bias: u64) -> Option<Instruction> {
    let bytes = (1..=15).rev().find_map(|len| file.bytes_at(pc, len))?;
    let insn = Decoder::with_ip(64, bytes, pc.wrapping_add(bias), DecoderOptions::NONE).decode();
    (!insn.is_invalid()).then_some(insn)
}

/// Returns a register's value. `rip` counts as 0, since operands relative to it come as whole
/// addresses.
fn value(regs: &libc::user_regs_struct, register: Register) -> Option<u64> {
    let full = match register {
        Register::CS | Register::DS | Register::ES | Register::SS => return Some(0),
        Register::FS => return Some(regs.fs_base),
        Register::GS => return Some(regs.gs_base),
        Register::RIP | Register::EIP => return Some(0),
        other => other.full_register(),
    };
    let all = match full {
        Register::RAX => regs.rax,
        Register::RBX => regs.rbx,
        Register::RCX => regs.rcx,
        Register::RDX => regs.rdx,
        Register::RSI => regs.rsi,
        Register::RDI => regs.rdi,
        Register::RBP => regs.rbp,
        Register::RSP => regs.rsp,
        Register::R8 => regs.r8,
        Register::R9 => regs.r9,
        Register::R10 => regs.r10,
        Register::R11 => regs.r11,
        Register::R12 => regs.r12,
        Register::R13 => regs.r13,
        Register::R14 => regs.r14,
        Register::R15 => regs.r15,
        _ => return None,
    };
    Some(match register.size() {
        4 => all & 0xffff_ffff,
        1 => all & 0xff,
        _ => all,
    })
}

fn profile(program: &Path, file: &DwarfFile<'_>, bias: u64, seen: &Seen) -> Profile {
    let path = program.to_string_lossy().into_owned();
    let mut pcs: Vec<u64> = seen.keys().map(|key| key.0).collect();
    pcs.sort_unstable();
    pcs.dedup();
    let site = |&pc: &u64| {
        let len = decoded(file, pc, bias).map_or(0, |insn| insn.len());
        let bytes = file.bytes_at(pc, len).unwrap_or_default().to_vec();
        Site {
            pc: pc.wrapping_add(bias),
            bytes,
        }
    };
    let rows = seen
        .iter()
        .map(|(&(pc, addr, size, kind), &count)| CountRow {
            run: RunId(0),
            addr: Addr(addr),
            size,
            context: ContextId(0),
            site: SiteId(pcs.partition_point(|&other| other < pc) as u32),
            access: match kind {
                (true, true) => AccessKind::ReadWrite,
                (false, true) => AccessKind::Write,
                _ => AccessKind::Read,
            },
            count,
            silent: None,
        });
    let mut counts: Vec<CountRow> = rows.collect();
    counts.sort_by_key(|row| (row.addr, row.site, row.size));
    let module = LoadedModule {
        path: path.clone(),
        build_id: file.build_id_text().unwrap_or_default(),
        start: bias,
        end: bias + 0x1000_0000,
        bias,
    };
    Profile {
        meta: ProfileMeta {
            target: "program".to_owned(),
            machine: "x86_64".to_owned(),
            debug_file: path,
            runs: vec![RecordedRun {
                modules: vec![module],
                ..RecordedRun::default()
            }],
            ..ProfileMeta::default()
        },
        sites: pcs.iter().map(site).collect(),
        counts,
        ..Profile::default()
    }
}
