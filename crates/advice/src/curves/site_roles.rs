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
const ROLES: [(NamePart, SiteRole); 54] = [
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
    (Start("down_read"), READ_SEMAPHORE),
    (Start("__down_read"), READ_SEMAPHORE),
    (Start("rwsem_read_trylock"), READ_SEMAPHORE),
    (Start("rwsem_down_read"), READ_SEMAPHORE),
    (Start("down_write"), WRITE_SEMAPHORE),
    (Start("__down_write"), WRITE_SEMAPHORE),
    (Start("rwsem_write_trylock"), WRITE_SEMAPHORE),
    (Start("rwsem_down_write"), WRITE_SEMAPHORE),
    (Start("rwsem_try_write_lock"), WRITE_SEMAPHORE),
    (Start("rwsem_optimistic_spin"), WRITE_SEMAPHORE),
    (Start("rwsem_spin_on_owner"), WRITE_SEMAPHORE),
    (Start("rwsem_can_spin_on_owner"), WRITE_SEMAPHORE),
    (Start("up_read"), RELEASE),
    (Start("__up_read"), RELEASE),
    (Start("up_write"), RELEASE),
    (Start("__up_write"), RELEASE),
    // Mutexes.
    (Start("mutex_unlock"), RELEASE),
    (Start("__mutex_unlock"), RELEASE),
    (Start("mutex_"), MUTEX),
    (Start("__mutex_"), MUTEX),
    // Those of the C library.
    (Library("pthread_mutex_unlock"), RELEASE),
    (Library("pthread_mutex_lock"), FUTEX),
    (Library("lll_lock_wait"), FUTEX),
    (Library("pthread_spin_unlock"), RELEASE),
    (Library("pthread_spin_lock"), SPIN),
    // Those of Rust's standard library and of parking_lot.
    (Method("mutex::futex::Mutex", "unlock"), RELEASE),
    (Method("mutex::futex::Mutex", "lock"), SPUN_FUTEX),
    (Method("rwlock::futex::RwLock", "read_unlock"), RELEASE),
    (Method("rwlock::futex::RwLock", "write_unlock"), RELEASE),
    (Method("rwlock::futex::RwLock", "read"), READ_SPUN),
    (Method("rwlock::futex::RwLock", "write"), SPUN_FUTEX),
    (Method("raw_mutex::RawMutex", "unlock"), RELEASE),
    (Method("raw_mutex::RawMutex", "lock"), SPUN_FUTEX),
    (Method("raw_rwlock::RawRwLock", "unlock"), RELEASE),
    (Method("raw_rwlock::RawRwLock", "lock_shared"), READ_SPUN),
    (
        Method("raw_rwlock::RawRwLock", "lock_exclusive"),
        SPUN_FUTEX,
    ),
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

const READ_SEMAPHORE: SiteRole = SiteRole::Acquire(LockKind::Semaphore, LockMode::Shared);
const WRITE_SEMAPHORE: SiteRole = SiteRole::Acquire(LockKind::Semaphore, LockMode::Alone);
const MUTEX: SiteRole = SiteRole::Acquire(LockKind::Mutex, LockMode::Alone);
const FUTEX: SiteRole = SiteRole::Acquire(LockKind::Futex, LockMode::Alone);
const SPUN_FUTEX: SiteRole = SiteRole::Acquire(LockKind::SpunFutex, LockMode::Alone);
const READ_SPUN: SiteRole = SiteRole::Acquire(LockKind::SpunFutex, LockMode::Shared);
const SPIN: SiteRole = SiteRole::Acquire(LockKind::Spinning, LockMode::Alone);
const SPIN_SHARED: SiteRole = SiteRole::Acquire(LockKind::Spinning, LockMode::Shared);
const RELEASE: SiteRole = SiteRole::Release;

/// What a function's name is known by.
enum NamePart {
    Start(&'static str),
    Part(&'static str),
    /// The start, behind underscores.
    Library(&'static str),
    /// The end of a Rust type's path, and the start of the name of its method.
    Method(&'static str, &'static str),
}

use NamePart::{Library, Method, Part, Start};

impl NamePart {
    fn fits(&self, name: &str) -> bool {
        match self {
            Start(text) => name.starts_with(text),
            Part(text) => name.contains(text),
            Library(text) => name.trim_start_matches('_').starts_with(text),
            Method(of_type, method) => name.split_once(of_type).is_some_and(|(_, behind)| {
                { behind.split("::").skip(1) }.any(|segment| segment.starts_with(method))
            }),
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

/// Functions of the C library's locks, which take them and give them back by atomic instructions only.
const ATOMIC_LOCKS: [NamePart; 2] = [Library("pthread_mutex_"), Library("lll_lock_wait")];

/// Returns true in functions of a program's locks, which take them and give them back by atomic instructions only.
pub(super) fn is_of_program_lock(functions: &[String]) -> bool {
    let is_atomic = |name: &String| ATOMIC_LOCKS.iter().any(|part| part.fits(name));
    functions.iter().any(is_atomic)
}

/// Functions in which a context waits for another in a way that the model does not know.
const WAITING: [NamePart; 17] = [
    Start("__wait_for_common"),
    Start("futex_wait"),
    Start("percpu_down_write"),
    Start("pv_wait"),
    Start("rt_mutex_"),
    Start("smp_call_function"),
    Start("wait_for_completion"),
    Library("pthread_barrier_wait"),
    Library("pthread_cond_clockwait"),
    Library("pthread_cond_timedwait"),
    Library("pthread_cond_wait"),
    // It has three words, and which of them is the lock depends on who waits.
    Library("pthread_rwlock_wrlock"),
    Library("new_sem_wait"),
    Library("sem_wait"),
    Method("condvar::futex::Condvar", "wait"),
    Method("thread_parking::futex::Parker", "park"),
    Method("condvar::Condvar", "wait"),
];

/// Returns the name if contexts wait in the function.
pub(super) fn waiting_function(name: &str) -> Option<&str> {
    let is_waiting = WAITING.iter().any(|part| part.fits(name));
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
            READ_SEMAPHORE,
        );
        check(&["mutex_optimistic_spin", "__mutex_lock_common"], MUTEX);
        check(&["__mutex_unlock_fast", "mutex_unlock"], RELEASE);
        check(&["node_cpu", "osq_lock"], SiteRole::Queue);
        check(&["pthread_mutex_lock"], FUTEX);
        check(&["__lll_lock_wait"], FUTEX);
        check(&["pthread_mutex_unlock"], RELEASE);
    }

    /// Names as Rust writes them today, did before version 1.95, and for methods of a trait.
    #[test]
    fn functions_of_locks_in_rust() {
        let mutex = "<std::sys::sync::mutex::futex::Mutex>::";
        check(&[&format!("{mutex}lock_contended")], SPUN_FUTEX);
        check(
            &["core::sync::atomic::atomic_swap", &format!("{mutex}unlock")],
            RELEASE,
        );
        check(&[&format!("{mutex}wake")], SiteRole::Code);
        check(&["std::sys::sync::mutex::futex::Mutex::lock"], SPUN_FUTEX);
        check(
            &["<std::sys::sync::rwlock::futex::RwLock>::read_contended"],
            READ_SPUN,
        );
        check(
            &["<std::sys::sync::rwlock::futex::RwLock>::read_unlock"],
            RELEASE,
        );
        let parking = "<parking_lot::raw_mutex::RawMutex as lock_api::mutex::RawMutex>::";
        check(&[&format!("{parking}lock")], SPUN_FUTEX);
        check(&[&format!("{parking}unlock")], RELEASE);
        // The mutex around the lock.
        check(
            &["<std::sync::poison::mutex::Mutex<u64>>::lock"],
            SiteRole::Code,
        );
    }

    #[test]
    fn functions_in_which_contexts_wait() {
        let check = |name, expect| assert_eq!(waiting_function(name).is_some(), expect, "{name}");
        check("___pthread_cond_wait", true);
        check("<std::sys::sync::condvar::futex::Condvar>::wait", true);
        check("wait_for_completion_timeout", true);
        check("pthread_cond_signal", false);
        check("__lll_lock_wait", false);
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
