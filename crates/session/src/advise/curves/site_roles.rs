//! Roles of functions of the kernel and of libc for the timed model: interrupts, locks, sequence counts; and those for which it
//! has no rule.

use relayout_timed::{LockKind, LockMode, SiteRole};

/// Starts of the names of functions that interrupts of the clock execute. Emulated time brings more of them than an
/// operation would meet.
const INTERRUPT_STARTS: [&str; 32] = [
    "account_process_tick",
    "calc_global_load",
    "clockevents_",
    "cpuacct_",
    "do_softirq",
    "__do_softirq",
    "handle_irq",
    "handle_softirqs",
    "hrtimer_",
    "__hrtimer_",
    "irq_enter",
    "irq_exit",
    "irqtime_",
    "ktime_get_update",
    "nohz_",
    "perf_event_task_tick",
    "raise_softirq",
    "rcu_core",
    "rcu_sched_clock_irq",
    "run_local_timers",
    "run_posix_cpu_timers",
    "run_rebalance_domains",
    "run_timer_softirq",
    "__run_timers",
    "sched_tick",
    "scheduler_tick",
    "sysvec_",
    "task_tick_",
    "tick_",
    "timekeeping_",
    "trigger_load_balance",
    "update_wall_time",
];

/// Entry code of interrupts and exceptions.
const ENTRY_FUNCTIONS: [&str; 2] = ["irqentry_enter", "irqentry_nmi_enter"];

/// Parts of the names of functions, and their roles. The first that fits counts, so what is special comes first.
const ROLES: [(NamePart, SiteRole); 47] = [
    // A holder's own notes.
    (Start("rwsem_set_owner"), SiteRole::Code),
    (Start("rwsem_clear_owner"), SiteRole::Code),
    (Start("rwsem_set_reader_owned"), SiteRole::Code),
    (Start("__rwsem_set_reader_owned"), SiteRole::Code),
    (Start("rwsem_clear_reader_owned"), SiteRole::Code),
    (Start("osq_"), SiteRole::Queue),
    (Part("read_seqcount_retry"), SiteRole::SequenceCheck),
    (Part("read_seqretry"), SiteRole::SequenceCheck),
    (Part("need_seqretry"), SiteRole::SequenceCheck),
    // Semaphores.
    (Start("down_read"), ACQUIRE_SHARED),
    (Start("__down_read"), ACQUIRE_SHARED),
    (Start("rwsem_read_trylock"), ACQUIRE_SHARED),
    (Start("rwsem_down_read"), ACQUIRE_SHARED),
    (Start("down_write"), ACQUIRE),
    (Start("__down_write"), ACQUIRE),
    (Start("rwsem_write_trylock"), ACQUIRE),
    (Start("rwsem_down_write"), ACQUIRE),
    (Start("rwsem_try_write_lock"), ACQUIRE),
    (Start("rwsem_optimistic_spin"), ACQUIRE),
    (Start("rwsem_spin_on_owner"), ACQUIRE),
    (Start("rwsem_can_spin_on_owner"), ACQUIRE),
    (Start("up_read"), RELEASE),
    (Start("__up_read"), RELEASE),
    (Start("up_write"), RELEASE),
    (Start("__up_write"), RELEASE),
    // Mutexes.
    (Start("mutex_unlock"), RELEASE),
    (Start("__mutex_unlock"), RELEASE),
    (Start("mutex_"), ACQUIRE),
    (Start("__mutex_"), ACQUIRE),
    // Those of programs.
    (Start("pthread_mutex_unlock"), RELEASE),
    (Start("__pthread_mutex_unlock"), RELEASE),
    (Start("___pthread_mutex_unlock"), RELEASE),
    (Start("pthread_mutex_lock"), ACQUIRE),
    (Start("__pthread_mutex_lock"), ACQUIRE),
    (Start("___pthread_mutex_lock"), ACQUIRE),
    (Start("__lll_lock_wait"), ACQUIRE),
    (Start("pthread_spin_unlock"), RELEASE),
    (Start("pthread_spin_lock"), SPIN),
    // Spin locks, and those of readers and writers.
    (Start("queued_spin_unlock"), RELEASE),
    (Start("native_queued_spin_unlock"), RELEASE),
    (Start("queued_spin_"), SPIN),
    (Start("native_queued_spin_lock_slowpath"), SPIN),
    (Start("virt_spin_lock"), SPIN),
    (Start("queued_read_unlock"), RELEASE),
    (Start("queued_read_"), SPIN_SHARED),
    (Start("queued_write_unlock"), RELEASE),
    (Start("queued_write_"), SPIN),
];

const ACQUIRE: SiteRole = SiteRole::Acquire(LockKind::Sleeping, LockMode::Alone);
const ACQUIRE_SHARED: SiteRole = SiteRole::Acquire(LockKind::Sleeping, LockMode::Shared);
const SPIN: SiteRole = SiteRole::Acquire(LockKind::Spinning, LockMode::Alone);
const SPIN_SHARED: SiteRole = SiteRole::Acquire(LockKind::Spinning, LockMode::Shared);
const RELEASE: SiteRole = SiteRole::Release;

/// What a function's name is known by.
enum NamePart {
    Start(&'static str),
    Part(&'static str),
}

use NamePart::{Part, Start};

impl NamePart {
    fn fits(&self, name: &str) -> bool {
        match self {
            Start(text) => name.starts_with(text),
            Part(text) => name.contains(text),
        }
    }
}

/// Returns the role of an instruction in these functions, the innermost first.
pub(super) fn role_of_functions(functions: &[String]) -> SiteRole {
    let is_interrupt = |name: &String| {
        name == "update_process_times"
            || INTERRUPT_STARTS.iter().any(|start| name.starts_with(start))
    };
    if functions
        .iter()
        .any(|name| ENTRY_FUNCTIONS.contains(&name.as_str()))
    {
        return SiteRole::Entry;
    }
    if functions.iter().any(is_interrupt) {
        return SiteRole::Interrupt;
    }
    let fits = |part: &NamePart| functions.iter().any(|name| part.fits(name));
    let known = ROLES.iter().find(|(part, _)| fits(part));
    known.map_or(SiteRole::Code, |(_, role)| *role)
}

/// Returns true in functions of a program's locks, which take them and give them back by atomic instructions only.
pub(super) fn is_of_program_lock(functions: &[String]) -> bool {
    functions.iter().any(|name| {
        let name = name.trim_start_matches('_');
        name.starts_with("pthread_mutex_") || name.starts_with("lll_lock_wait")
    })
}

/// Starts of the names of functions in which a context waits for another in a way that the model does not know.
const WAITING_STARTS: [&str; 8] = [
    "__lll_lock_wait",
    "__wait_for_common",
    "futex_wait",
    "percpu_down_write",
    "pv_wait",
    "rt_mutex_",
    "smp_call_function",
    "wait_for_completion",
];

/// Returns the name if contexts wait in the function.
pub(super) fn waiting_function(name: &str) -> Option<&str> {
    let is_waiting = WAITING_STARTS.iter().any(|start| name.starts_with(start));
    is_waiting.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(functions: &[&str], expect: SiteRole) {
        let functions: Vec<String> = functions.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(role_of_functions(&functions), expect);
    }

    #[test]
    fn functions_of_locks() {
        let spin = [
            "arch_atomic_try_cmpxchg",
            "queued_spin_lock",
            "_raw_spin_lock",
        ];
        check(&spin, SPIN);
        check(
            &[
                "pv_queued_spin_unlock",
                "queued_spin_unlock",
                "_raw_spin_unlock",
            ],
            RELEASE,
        );
        let owner = [
            "atomic_long_set",
            "rwsem_set_owner",
            "rwsem_try_write_lock_unqueued",
        ];
        check(&owner, SiteRole::Code);
        check(
            &["rwsem_clear_owner", "__up_write", "up_write"],
            SiteRole::Code,
        );
        check(
            &["atomic_long_fetch_add_release", "__up_write", "up_write"],
            RELEASE,
        );
        check(
            &["rwsem_read_trylock", "__down_read_common", "down_read"],
            ACQUIRE_SHARED,
        );
        check(&["mutex_optimistic_spin", "__mutex_lock_common"], ACQUIRE);
        check(&["__mutex_unlock_fast", "mutex_unlock"], RELEASE);
        check(&["node_cpu", "osq_lock"], SiteRole::Queue);
        check(&["pthread_mutex_lock"], ACQUIRE);
        check(&["pthread_mutex_unlock"], RELEASE);
    }

    #[test]
    fn other_functions() {
        check(&["path_openat"], SiteRole::Code);
        check(&["irqentry_enter"], SiteRole::Entry);
        check(&["update_load_avg", "task_tick_fair"], SiteRole::Interrupt);
        check(
            &["__read_seqcount_retry", "__d_lookup_rcu"],
            SiteRole::SequenceCheck,
        );
    }
}
