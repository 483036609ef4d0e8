//! Functions of the kernel and of programs that the timed model leaves out, or has no rule for.

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

/// Returns true for a function of the clock's interrupt.
pub(super) fn is_interrupt_function(name: &str) -> bool {
    name == "update_process_times" || INTERRUPT_STARTS.iter().any(|start| name.starts_with(start))
}

/// Starts of the names of functions in which a context waits for another.
const WAITING_STARTS: [&str; 23] = [
    "__mutex_lock",
    "__pthread_mutex_lock",
    "__raw_spin_lock",
    "_raw_read_lock",
    "_raw_spin_lock",
    "_raw_write_lock",
    "down_read",
    "down_write",
    "futex_wait",
    "mutex_lock",
    "mutex_optimistic_spin",
    "native_queued_spin_lock_slowpath",
    "osq_lock",
    "pthread_mutex_lock",
    "pv_wait",
    "queued_read_lock",
    "queued_spin_lock",
    "queued_write_lock",
    "rt_mutex_",
    "rwsem_",
    "smp_call_function",
    "up_read",
    "up_write",
];

/// Returns the name if contexts wait in the function.
pub(super) fn waiting_function(name: &str) -> Option<&str> {
    let is_waiting = WAITING_STARTS.iter().any(|start| name.starts_with(start));
    is_waiting.then_some(name)
}
