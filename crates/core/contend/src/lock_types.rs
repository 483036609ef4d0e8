//! Types that are locks, by name.

use relayout_layout::MemberAt;

/// Names of lock types: Linux first, then glibc, Rust (what is in a `Mutex<T>` beside the value) and Go.
const LOCK_TYPES: [&str; 23] = [
    "qspinlock",
    "raw_spinlock",
    "spinlock",
    "qrwlock",
    "mutex",
    "rw_semaphore",
    "semaphore",
    "rt_mutex_base",
    "percpu_rw_semaphore",
    "optimistic_spin_queue",
    "optimistic_spin_node",
    "mcs_spinlock",
    "__pthread_mutex_s",
    "__pthread_rwlock_arch_t",
    "pthread_spinlock",
    "Mutex",
    "RwLock",
    "parking_lot::raw_mutex::RawMutex",
    "parking_lot::raw_rwlock::RawRwLock",
    "sync.Mutex",
    "sync.RWMutex",
    "internal/sync.Mutex",
    "runtime.mutex",
];

/// Lock of Linux that is taken together with the count beside it, by one compare-and-exchange.
const COUNTED_LOCK: &str = "lockref";

/// Returns the lock type that a member lies in.
pub(crate) fn lock_type_of(member: &MemberAt) -> Option<&str> {
    member
        .types_path
        .iter()
        .map(String::as_str)
        .find(|name| LOCK_TYPES.contains(name))
}

/// Returns the depth of the outermost lock that a member lies in: the index in [`MemberAt::types_path`]. A count that is
/// taken with its lock is a part of it.
///
/// ```
/// use relayout_contend::lock_depth;
/// use relayout_layout::MemberAt;
///
/// let member = |types: &[&str]| MemberAt {
///     types_path: types.iter().map(ToString::to_string).collect(),
///     ..MemberAt::default()
/// };
/// assert_eq!(lock_depth(&member(&["mm_struct", "rw_semaphore", "raw_spinlock"])), Some(1));
/// assert_eq!(lock_depth(&member(&["dentry", "lockref"])), Some(1));
/// assert_eq!(lock_depth(&member(&["dentry"])), None);
/// ```
pub fn lock_depth(member: &MemberAt) -> Option<usize> {
    let is_lock = |name: &String| name == COUNTED_LOCK || LOCK_TYPES.contains(&name.as_str());
    member.types_path.iter().position(is_lock)
}
