//! The sequence of owners of a line, from the tickets that its CPUs logged.
//!
//! CPUs take tickets by an atomic add to one word. An add needs the line, so consecutive tickets tell which CPU had the
//! line after which, without a clock.
//!
//! Values in, values out.

/// Owners of a line: index of the CPU that took each ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerSequence(Vec<u16>);

/// Logs that are not those of one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TicketDefect {
    /// Two CPUs, or one twice, logged a ticket.
    #[error("ticket {0} was given twice")]
    GivenTwice(u32),
    /// No CPU logged a ticket.
    #[error("nobody got ticket {0}")]
    Missing(u32),
    /// A ticket that does not exist.
    #[error("there is no ticket {0}")]
    Unknown(u32),
}

/// Lengths of runs of one group of CPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunLengths {
    /// Mean length, in tickets.
    pub mean: f64,
    /// Mean length in a random order of the same tickets.
    pub random: f64,
}

/// Hand-overs between cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearHandOvers {
    /// Share that stays within the group.
    pub share: f64,
    /// The same share if each next core were drawn at random, by how often cores have the line.
    pub by_chance: f64,
}

impl OwnerSequence {
    /// Merges logs of CPUs. Each of the tickets 0 to `tickets` - 1 has to be in one log, once.
    ///
    /// # Errors
    /// Names a ticket for which this is not so.
    pub fn merge(logs: &[impl AsRef<[u32]>], tickets: u32) -> Result<Self, TicketDefect> {
        const NOBODY: u16 = u16::MAX;
        let mut owners = vec![NOBODY; tickets as usize];
        for (cpu, log) in logs.iter().enumerate() {
            for &ticket in log.as_ref() {
                let owner = owners.get_mut(ticket as usize);
                let owner = owner.ok_or(TicketDefect::Unknown(ticket))?;
                if *owner != NOBODY {
                    return Err(TicketDefect::GivenTwice(ticket));
                }
                *owner = cpu as u16;
            }
        }
        match owners.iter().position(|owner| *owner == NOBODY) {
            Some(missing) => Err(TicketDefect::Missing(missing as u32)),
            None => Ok(Self(owners)),
        }
    }

    /// Leaves out so many tickets at the beginning, in which CPUs begin one after the other.
    pub fn without_first(&self, tickets: usize) -> Self {
        Self(self.0.get(tickets..).unwrap_or_default().to_vec())
    }

    /// Returns the share of tickets of each of `cpus` CPUs, over an equal share.
    pub fn relative_shares(&self, cpus: usize) -> Vec<f64> {
        let equal = self.0.len() as f64 / cpus as f64;
        let counts = group_counts(self.0.iter().map(|&cpu| usize::from(cpu)), cpus);
        counts.into_iter().map(|count| count / equal).collect()
    }

    /// Returns the lengths of runs by group; `groups` has the group of each CPU. `None` without tickets.
    pub fn run_lengths(&self, groups: &[u16]) -> Option<RunLengths> {
        let tickets = self.0.len() as f64;
        let owners: Vec<usize> = self.owner_groups(groups).collect();
        let changes = owners.windows(2).filter(|pair| pair[0] != pair[1]).count();
        let counts = group_counts(owners.iter().copied(), group_count(groups));
        // In a random order, two neighbours are of one group as often as two tickets that are drawn.
        let same_pairs: f64 = counts.iter().map(|count| count * (count - 1.0)).sum();
        let random_runs = tickets - same_pairs / tickets;
        (!owners.is_empty()).then(|| RunLengths {
            mean: tickets / (changes + 1) as f64,
            random: tickets / random_runs,
        })
    }

    /// Returns the share of hand-overs between `cores` that stay within one of `groups`; each has the core or group of
    /// each CPU. `None` without a hand-over.
    pub fn near_hand_overs(&self, cores: &[u16], groups: &[u16]) -> Option<NearHandOvers> {
        let group_of_core = |core: usize| {
            let cpu = cores.iter().position(|&own| usize::from(own) == core);
            cpu.map(|cpu| groups[cpu])
        };
        let core_groups: Vec<Option<u16>> = (0..group_count(cores)).map(group_of_core).collect();
        let mut tenures: Vec<usize> = self.owner_groups(cores).collect();
        tenures.dedup();
        let hand_overs = tenures.len().checked_sub(1).filter(|count| *count > 0)?;
        let is_near = |pair: &&[usize]| core_groups[pair[0]] == core_groups[pair[1]];
        let near = tenures.windows(2).filter(is_near).count();
        let counts = group_counts(tenures.iter().copied(), core_groups.len());
        let all = tenures.len() as f64;
        let chance_from = |core: usize| {
            let mates = { counts.iter().zip(&core_groups) }
                .filter(|(_, group)| **group == core_groups[core])
                .map(|(count, _)| count);
            (mates.sum::<f64>() - counts[core]) / (all - counts[core])
        };
        let by_chance = (0..counts.len()).filter(|&core| counts[core] > 0.0);
        let by_chance = by_chance
            .map(|core| counts[core] / all * chance_from(core))
            .sum();
        Some(NearHandOvers {
            share: near as f64 / hand_overs as f64,
            by_chance,
        })
    }

    fn owner_groups(&self, groups: &[u16]) -> impl Iterator<Item = usize> {
        self.0
            .iter()
            .map(|&cpu| usize::from(groups[usize::from(cpu)]))
    }
}

/// Returns the mean length of runs by group if CPUs have one ticket each in turn, in an order that has nothing to do
/// with groups. `None` if all are of one group.
pub fn in_turn_length(groups: &[u16]) -> Option<f64> {
    let cpus = groups.len() as f64;
    let counts = group_counts(
        groups.iter().map(|&group| usize::from(group)),
        group_count(groups),
    );
    let same_pairs: f64 = counts.iter().map(|count| count * (count - 1.0)).sum();
    let pairs = cpus * (cpus - 1.0);
    (same_pairs < pairs).then(|| pairs / (pairs - same_pairs))
}

/// Numbers groups from 0 in the order in which they come first.
pub fn renumber_groups(groups: impl IntoIterator<Item = u16>) -> Vec<u16> {
    let mut known: Vec<u16> = Vec::new();
    let number = |group: u16| {
        let at = known.iter().position(|&other| other == group);
        at.unwrap_or_else(|| {
            known.push(group);
            known.len() - 1
        }) as u16
    };
    groups.into_iter().map(number).collect()
}

/// Number of groups that are numbered from 0.
pub fn group_count(groups: &[u16]) -> usize {
    groups.iter().max().map_or(0, |&last| usize::from(last) + 1)
}

fn group_counts(groups: impl Iterator<Item = usize>, count: usize) -> Vec<f64> {
    let mut counts = vec![0.0; count];
    groups.for_each(|group| counts[group] += 1.0);
    counts
}

#[cfg(test)]
mod tests;
