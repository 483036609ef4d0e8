//! Parser of the plugin's text: lines, each a kind and `name=value` pairs.

use std::collections::HashMap;

use super::{AccessRates, CpuRates, LineRates, SimulatedRates, SiteRates, WindowRates};
use crate::ids::Addr;
use crate::model::AccessKind;
use crate::simulated_run::{CpuTimes, OrderCounts};

/// Bytes of an instruction, at most.
const CODE_BYTES_MAX: usize = 15;

impl SimulatedRates {
    /// Reads the plugin's text; `None` if it is damaged.
    pub fn parse(text: &str) -> Option<Self> {
        let mut rates = Self::default();
        let mut numbers = HashMap::new();
        for line in text.lines() {
            let (kind, values) = line.split_once(' ')?;
            let values = RateValues::parse(values)?;
            match kind {
                "window" => rates.window = values.window()?,
                "cpu" => rates.cpus.push(values.cpu()?),
                "line" => rates.lines.push(values.line()?),
                "access" => rates.accesses.push(values.access()?),
                "site" => {
                    numbers.insert(values.index("n")?, rates.sites.len());
                    rates.sites.push(values.site()?);
                }
                _ => return None,
            }
        }
        for access in &mut rates.accesses {
            access.site = *numbers.get(&access.site)?;
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

    fn index(&self, name: &str) -> Option<usize> {
        self.number(name)?.try_into().ok()
    }

    fn window(&self) -> Option<WindowRates> {
        Some(WindowRates {
            length_ps: self.number("ps")?,
            operations: self.number("operations")?,
            order: OrderCounts {
                order_breaks: self.number("order_breaks")?,
                ordered: self.number("ordered")?,
                misplaced: self.number("misplaced")?,
                unordered: self.number("unordered")?,
            },
            problem: self.0.get("problem").map(|text| text.replace('_', " ")),
        })
    }

    fn cpu(&self) -> Option<CpuRates> {
        Some(CpuRates {
            operations: self.number("operations")?,
            times: CpuTimes {
                running_ps: self.number("running")?,
                load_ps: self.number("load")?,
                atomic_ps: self.number("atomic")?,
                stores_ps: self.number("drain")?.checked_add(self.number("stores")?)?,
                pause_ps: self.number("pause")?,
                idle_ps: self.number("idle")?,
            },
        })
    }

    fn line(&self) -> Option<LineRates> {
        Some(LineRates {
            address: Addr(self.number("address")?),
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

    /// Reads an access whose site is a number of the plugin.
    fn access(&self) -> Option<AccessRates> {
        Some(AccessRates {
            address: Addr(self.number("address")?),
            line: Addr(self.number("line")?),
            site: self.index("site")?,
            kind: match *self.0.get("kind")? {
                "load" => AccessKind::Read,
                "store" => AccessKind::Write,
                "update" | "atomic" => AccessKind::ReadWrite,
                _ => return None,
            },
            wait_ps: self.number("wait")?,
            requests: self.number("requests")?,
            misses: self.number("misses")?,
        })
    }

    fn site(&self) -> Option<SiteRates> {
        Some(SiteRates {
            pc: self.number("pc")?,
            code: parse_code(self.0.get("code")?)?,
            bytes: self.number("bytes")?.try_into().ok()?,
            wait_ps: self.number("wait")?,
            requests: self.number("requests")?,
            misses: self.number("misses")?,
        })
    }
}

/// Reads the bytes of an instruction in hexadecimal.
fn parse_code(text: &str) -> Option<Vec<u8>> {
    let is_hexadecimal = text.bytes().all(|digit| digit.is_ascii_hexdigit());
    if !is_hexadecimal || !text.len().is_multiple_of(2) || text.len() > 2 * CODE_BYTES_MAX {
        return None;
    }
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).ok();
    (0..text.len()).step_by(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
window ps=2000000 operations=6 ordered=10 misplaced=0 unordered=1 turns=9 timers=0 kicks=0 order_breaks=0
cpu n=0 operations=6 running=5 load=4 atomic=3 drain=2 stores=1 pause=0 idle=7 requests=10 misses=3
line address=0xffff888000001040 wait=7 queue=2 take=1 upgrade=0 dirty=2 shared=3 far=0 hits=4
access address=0xffff888000001048 line=0xffff888000001040 site=5 kind=atomic wait=7 requests=10 misses=3
site n=5 pc=0xffffffff81000010 code=f00fb117 bytes=4 wait=7 requests=10 misses=3
";

    #[test]
    fn reads_what_the_plugin_writes() {
        let rates = SimulatedRates::parse(TEXT).unwrap();
        assert_eq!(rates.window.operations_per_second(), Some(3e6));
        let times = rates.cpus[0].times;
        assert_eq!((times.stores_ps, times.total_ps()), (3, 22));
        assert_eq!(rates.lines[0].address, Addr(0xffff_8880_0000_1040));
        let access = &rates.accesses[0];
        assert_eq!((access.site, access.kind), (0, AccessKind::ReadWrite));
        assert_eq!(rates.sites[0].code, [0xf0, 0x0f, 0xb1, 0x17]);
        assert_eq!(rates.window.problem, None);
    }

    #[test]
    fn refuses_what_is_damaged() {
        for cut in [TEXT.len() - 12, 20, 3] {
            assert_eq!(SimulatedRates::parse(&TEXT[..cut]), None, "cut at {cut}");
        }
        assert_eq!(SimulatedRates::parse("door open=1\n"), None);
        for [good, bad] in [
            ["pc=0xffffffff81000010", "pc=-1"],
            ["site=5", "site=6"],
            ["kind=atomic", "kind=swap"],
            ["code=f00f", "code=f00"],
            ["code=f00f", "code=+f0f"],
        ] {
            assert_eq!(
                SimulatedRates::parse(&TEXT.replace(good, bad)),
                None,
                "{bad}"
            );
        }
    }
}
