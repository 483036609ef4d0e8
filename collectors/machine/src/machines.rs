//! Machines by name, with times to move a line that others published.
//!
//! All times are half of a round trip between two CPUs that exchange a word in turn with compare-and-exchange, so one
//! move of a modified line. Times of one source are medians over the pairs of physical cores, computed from its
//! matrix. The line lies in memory of the socket that both CPUs are on.

mod table;

use crate::protocol::CoherenceProtocol;
use crate::topology::{CpuDistance, DistanceTimes, MachineTopology};

pub use self::table::MACHINES;

/// A machine by name.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct KnownMachine {
    /// Name by which users ask for it.
    pub key: &'static str,
    /// Processor.
    pub processor: &'static str,
    /// Cores, expected times to move a line, and protocol.
    pub topology: MachineTopology,
    /// Ranges and origins of the times.
    pub times: KnownTimes,
    /// Publications of the times, and the assumptions about the rest.
    pub source: &'static str,
    /// Origin of the protocol.
    pub protocol_source: &'static str,
}

/// Times to move a modified line between two cores, as far as they are known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct KnownTimes {
    /// Between cores of one cluster.
    pub cluster: KnownTime,
    /// Between clusters of one socket. A socket that is one cluster has the cluster's time.
    pub socket: KnownTime,
    /// Between sockets. A machine of one socket has the socket's time.
    pub other_socket: KnownTime,
}

/// A time to move a line, in nanoseconds, and the range that it is drawn from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct KnownTime {
    /// Expected time.
    pub expected_ns: f64,
    /// Shortest time.
    pub low_ns: f64,
    /// Longest time.
    pub high_ns: f64,
    /// Origin of the three.
    pub origin: TimeOrigin,
}

/// Origin of a time to move a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeOrigin {
    /// Published for this processor. Nine of ten pairs of its cores lie within the range.
    Published,
    /// Published for processors of the same design with other numbers of cores. The range is a tenth wider on both
    /// sides than theirs.
    Relative,
    /// Not published. The source says what the range follows from.
    Assumed,
}

impl TimeOrigin {
    /// Returns the origin in one word: `published`, `relative` or `assumed`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Relative => "relative",
            Self::Assumed => "assumed",
        }
    }
}

impl KnownTimes {
    /// Returns the expected times.
    pub const fn expected(&self) -> DistanceTimes {
        DistanceTimes {
            cluster: self.cluster.expected_ns,
            socket: self.socket.expected_ns,
            other_socket: self.other_socket.expected_ns,
        }
    }
}

impl KnownMachine {
    /// Returns the times of all distances that the machine has, nearest first.
    ///
    /// ```
    /// use relayout_machine::{CpuDistance, find_machine};
    ///
    /// let desktop = find_machine("ryzen-7950x-1s").expect("it is in the table");
    /// let distances: Vec<CpuDistance> = desktop.distances().map(|(distance, _)| distance).collect();
    /// assert_eq!(distances, [CpuDistance::SameCluster, CpuDistance::SameSocket]);
    /// ```
    pub fn distances(&self) -> impl Iterator<Item = (CpuDistance, &KnownTime)> {
        let topology = &self.topology;
        let distances = [
            (CpuDistance::SameCluster, &self.times.cluster, true),
            (
                CpuDistance::SameSocket,
                &self.times.socket,
                topology.cluster_cores < topology.cores,
            ),
            (
                CpuDistance::OtherSocket,
                &self.times.other_socket,
                topology.sockets > 1,
            ),
        ];
        let existing = distances.into_iter().filter(|(.., exists)| *exists);
        existing.map(|(distance, time, _)| (distance, time))
    }

    /// Returns the shortest and the longest time of any distance, as factors of the expected one.
    ///
    /// ```
    /// let haswell = relayout_machine::find_machine("haswell-4s").expect("it is in the table");
    /// let [low, high] = haswell.time_factors();
    /// assert!(low < 0.75 && high > 1.6);
    /// ```
    pub fn time_factors(&self) -> [f64; 2] {
        let factors = self.distances().map(|(_, time)| {
            let expected = time.expected_ns;
            [time.low_ns / expected, time.high_ns / expected]
        });
        factors.fold([1.0, 1.0], |[low, high], [shortest, longest]| {
            [low.min(shortest), high.max(longest)]
        })
    }
}

/// Returns the machine of the table with this name.
///
/// ```
/// let machine = relayout_machine::find_machine("genoa-2s").expect("it is in the table");
/// assert_eq!(machine.topology.all_threads(), 384);
/// ```
pub fn find_machine(key: &str) -> Option<&'static KnownMachine> {
    MACHINES.iter().find(|machine| machine.key == key)
}

/// Protocol and its origin.
type KnownProtocol = (CoherenceProtocol, &'static str);

const fn machine(
    key: &'static str,
    processor: &'static str,
    [sockets, cores, cluster_cores, threads]: [u32; 4],
    [cluster, socket, other_socket]: [KnownTime; 3],
    (protocol, protocol_source): KnownProtocol,
    source: &'static str,
) -> KnownMachine {
    let times = KnownTimes {
        cluster,
        socket,
        other_socket,
    };
    KnownMachine {
        key,
        processor,
        topology: MachineTopology {
            sockets,
            cores,
            cluster_cores,
            threads,
            times: times.expected(),
            protocol,
        },
        times,
        source,
        protocol_source,
    }
}

const fn time(origin: TimeOrigin, [low_ns, expected_ns, high_ns]: [f64; 3]) -> KnownTime {
    KnownTime {
        expected_ns,
        low_ns,
        high_ns,
        origin,
    }
}

#[cfg(test)]
mod tests {
    use super::{KnownTimes, MACHINES, TimeOrigin};

    #[test]
    fn nearer_cpus_take_no_longer() {
        for machine in &MACHINES {
            let topology = &machine.topology;
            let times = topology.times;
            assert!(times.cluster <= times.socket, "{}", machine.key);
            assert!(times.socket <= times.other_socket, "{}", machine.key);
            assert_eq!(
                topology.cores % topology.cluster_cores,
                0,
                "{}",
                machine.key
            );
            assert!(!machine.source.is_empty() && !machine.protocol_source.is_empty());
        }
    }

    #[test]
    fn names_are_unique() {
        for (at, machine) in MACHINES.iter().enumerate() {
            assert!(MACHINES[..at].iter().all(|other| other.key != machine.key));
        }
    }

    #[test]
    fn expected_times_lie_within_their_ranges() {
        for machine in &MACHINES {
            let KnownTimes {
                cluster,
                socket,
                other_socket,
            } = machine.times;
            for time in [cluster, socket, other_socket] {
                let is_ordered = time.low_ns < time.expected_ns && time.expected_ns < time.high_ns;
                assert!(is_ordered && time.low_ns > 0.0, "{}", machine.key);
            }
            assert_eq!(machine.topology.times, machine.times.expected());
        }
    }

    #[test]
    fn distances_that_a_machine_does_not_have_repeat_a_nearer_one() {
        for machine in &MACHINES {
            let (topology, times) = (&machine.topology, &machine.times);
            if topology.cluster_cores == topology.cores {
                assert_eq!(times.socket, times.cluster, "{}", machine.key);
            }
            if topology.sockets == 1 {
                assert_eq!(times.other_socket, times.socket, "{}", machine.key);
            }
        }
    }

    #[test]
    fn sources_name_what_is_not_published() {
        for machine in &MACHINES {
            let has = |origin| machine.distances().any(|(_, time)| time.origin == origin);
            let check = |origin, word: &str| {
                let is_said = !has(origin) || machine.source.contains(word);
                assert!(is_said, "{}: {}", machine.key, machine.source);
            };
            check(TimeOrigin::Relative, "relative");
            check(TimeOrigin::Assumed, "not published");
        }
    }
}
