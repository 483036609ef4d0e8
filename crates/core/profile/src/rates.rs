//! Results that the plugin writes at the end of a simulated window: lines of text, each a kind and
//! `name=value` pairs.

use std::collections::HashMap;

/// Results of a window in simulated time. Times are in picoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimulatedRates {
    /// All of it.
    pub window: WindowRates,
    /// By CPU of the guest.
    pub cpus: Vec<CpuRates>,
    /// Lines for which CPUs stood still, most first.
    pub lines: Vec<LineRates>,
    /// Instructions at which CPUs stood still, most first.
    pub sites: Vec<SiteRates>,
}

/// Counts of a whole window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WindowRates {
    /// Its length.
    pub length_ps: u64,
    /// Operations that the guest finished.
    pub operations: u64,
    /// Accesses that were put in order before they executed.
    pub ordered: u64,
    /// Accesses that were ordered at another address than they then had.
    pub misplaced: u64,
    /// Accesses to contended lines that executed before they were ordered.
    pub unordered: u64,
    /// Events of the host that came in between.
    pub order_breaks: u64,
    /// Why the window ended before its time.
    pub problem: Option<String>,
}

impl WindowRates {
    /// Operations of all CPUs in a second; `None` for an empty window.
    pub fn operations_per_second(&self) -> Option<f64> {
        (self.length_ps > 0).then(|| self.operations as f64 / (self.length_ps as f64 / 1e12))
    }
}

/// Operations of a CPU, and its time by what it did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuRates {
    /// Operations that it finished.
    pub operations: u64,
    /// It executed.
    pub running_ps: u64,
    /// It waited for the line of a load.
    pub load_ps: u64,
    /// It waited for the line of an atomic instruction.
    pub atomic_ps: u64,
    /// It waited for its own stores, before an atomic instruction or with a full store buffer.
    pub stores_ps: u64,
    /// It paused in a spin loop.
    pub pause_ps: u64,
    /// It had nothing to do.
    pub idle_ps: u64,
}

impl CpuRates {
    /// Sum of all times.
    pub fn total_ps(&self) -> u64 {
        let Self {
            operations: _,
            running_ps,
            load_ps,
            atomic_ps,
            stores_ps,
            pause_ps,
            idle_ps,
        } = self;
        running_ps + load_ps + atomic_ps + stores_ps + pause_ps + idle_ps
    }
}

/// Waiting for one cache line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineRates {
    /// Address of its first byte.
    pub address: u64,
    /// Time for which CPUs stood still for it.
    pub wait_ps: u64,
    /// Time for which requests waited until their transfer began.
    pub queue_ps: u64,
    /// Transfers: by stores, upgrades, loads of modified data, and loads of other data.
    pub transfers: [u64; 4],
    /// Transfers from another socket.
    pub far: u64,
}

/// Waiting at one instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteRates {
    /// Address of the instruction.
    pub pc: u64,
    /// Time for which CPUs stood still there.
    pub wait_ps: u64,
    /// Ordered accesses.
    pub requests: u64,
    /// Those that needed a transfer.
    pub misses: u64,
}

impl SimulatedRates {
    /// Reads the plugin's text; `None` if it is damaged.
    pub fn parse(text: &str) -> Option<Self> {
        let mut rates = Self::default();
        for line in text.lines() {
            let (kind, values) = line.split_once(' ')?;
            let values = RateValues::parse(values)?;
            match kind {
                "window" => rates.window = values.window()?,
                "cpu" => rates.cpus.push(values.cpu()?),
                "line" => rates.lines.push(values.line()?),
                "site" => rates.sites.push(values.site()?),
                _ => return None,
            }
        }
        Some(rates)
    }
}

/// `name=value` pairs of a line.
struct RateValues<'t>(HashMap<&'t str, &'t str>);

impl<'t> RateValues<'t> {
    fn parse(text: &'t str) -> Option<Self> {
        let pairs = text.split(' ').map(|pair| pair.split_once('='));
        pairs.collect::<Option<_>>().map(Self)
    }

    fn number(&self, name: &str) -> Option<u64> {
        let text = self.0.get(name)?;
        match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        }
    }

    fn window(&self) -> Option<WindowRates> {
        Some(WindowRates {
            length_ps: self.number("ps")?,
            operations: self.number("operations")?,
            ordered: self.number("ordered")?,
            misplaced: self.number("misplaced")?,
            unordered: self.number("unordered")?,
            order_breaks: self.number("order_breaks")?,
            problem: self.0.get("problem").map(|text| text.replace('_', " ")),
        })
    }

    fn cpu(&self) -> Option<CpuRates> {
        Some(CpuRates {
            operations: self.number("operations")?,
            running_ps: self.number("running")?,
            load_ps: self.number("load")?,
            atomic_ps: self.number("atomic")?,
            stores_ps: self.number("drain")? + self.number("stores")?,
            pause_ps: self.number("pause")?,
            idle_ps: self.number("idle")?,
        })
    }

    fn line(&self) -> Option<LineRates> {
        Some(LineRates {
            address: self.number("address")?,
            wait_ps: self.number("wait")?,
            queue_ps: self.number("queue")?,
            transfers: [
                self.number("take")?,
                self.number("upgrade")?,
                self.number("dirty")?,
                self.number("shared")?,
            ],
            far: self.number("far")?,
        })
    }

    fn site(&self) -> Option<SiteRates> {
        Some(SiteRates {
            pc: self.number("pc")?,
            wait_ps: self.number("wait")?,
            requests: self.number("requests")?,
            misses: self.number("misses")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
window ps=2000000 operations=6 ordered=10 misplaced=0 unordered=1 turns=9 timers=0 kicks=0 order_breaks=0
cpu n=0 operations=6 running=5 load=4 atomic=3 drain=2 stores=1 pause=0 idle=7 requests=10 misses=3
line address=0xffff888000001040 wait=7 queue=2 take=1 upgrade=0 dirty=2 shared=3 far=0 hits=4
site pc=0xffffffff81000010 wait=7 requests=10 misses=3
";

    #[test]
    fn reads_what_the_plugin_writes() {
        let rates = SimulatedRates::parse(TEXT).unwrap();
        assert_eq!(rates.window.operations_per_second(), Some(3e6));
        assert_eq!(rates.cpus[0].operations, 6);
        assert_eq!((rates.cpus[0].stores_ps, rates.cpus[0].total_ps()), (3, 22));
        assert_eq!(rates.lines[0].address, 0xffff_8880_0000_1040);
        assert_eq!(rates.sites[0].misses, 3);
        assert_eq!(rates.window.problem, None);
    }

    #[test]
    fn refuses_what_is_damaged() {
        for cut in [TEXT.len() - 12, 20, 3] {
            assert_eq!(SimulatedRates::parse(&TEXT[..cut]), None, "cut at {cut}");
        }
        assert_eq!(SimulatedRates::parse("door open=1\n"), None);
        assert_eq!(
            SimulatedRates::parse("site pc=-1 wait=0 requests=0 misses=0\n"),
            None
        );
    }
}
