//! Functions whose calls stand for accesses: entry points of the compiled-in collector, and
//! functions of libc that it interposes.

/// Parameters of a call that point to accessed memory, counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CallAccess {
    /// Parameter that points to the bytes read; `None` if several do.
    pub read: Option<u8>,
    /// Parameter that points to the bytes written; `None` if several do.
    pub written: Option<u8>,
    /// Accesses may be anywhere behind the parameter's address.
    pub walks_range: bool,
}

/// Returns the accesses of a call of the named function; `None` if its calls stand for none.
pub(super) fn call_access(name: &str) -> Option<CallAccess> {
    let plain = name.strip_prefix("__tsan_").unwrap_or(name);
    if let Some(bulk) = bulk_call_access(plain) {
        return Some(bulk);
    }
    let by_first = if plain.len() < name.len() {
        // __tsan_read8, __tsan_unaligned_write4, __tsan_atomic32_fetch_add, __tsan_vptr_update
        [
            "read",
            "write",
            "unaligned_",
            "volatile_",
            "atomic",
            "vptr_",
        ]
        .iter()
        .any(|start| plain.starts_with(start))
    } else {
        is_lock_call(plain)
    };
    let walks = plain.contains("_range");
    by_first.then_some(CallAccess {
        read: Some(0),
        written: Some(0),
        walks_range: walks,
    })
}

/// Returns true for functions that take a lock, a condition or the like as their first parameter.
fn is_lock_call(name: &str) -> bool {
    const STARTS: [&str; 6] = [
        "pthread_mutex_",
        "pthread_rwlock_",
        "pthread_spin_",
        "pthread_barrier_",
        "pthread_once",
        "sem_",
    ];
    // A wait for a condition takes a mutex, too, and an access does not tell which of the two it is
    // of.
    const EXACT: [&str; 2] = ["pthread_cond_signal", "pthread_cond_broadcast"];
    STARTS.iter().any(|start| name.starts_with(start)) || EXACT.contains(&name)
}

/// Returns the accesses of functions that walk through memory.
fn bulk_call_access(name: &str) -> Option<CallAccess> {
    let name = name.strip_prefix("__").unwrap_or(name);
    let name = name.strip_suffix("_chk").unwrap_or(name);
    let access = |read, written| {
        Some(CallAccess {
            read,
            written,
            walks_range: true,
        })
    };
    match name {
        "memcpy" | "memmove" | "mempcpy" | "memccpy" | "strcpy" | "stpcpy" | "strncpy"
        | "stpncpy" => access(Some(1), Some(0)),
        "bcopy" => access(Some(0), Some(1)),
        "memset" | "bzero" | "explicit_bzero" => access(None, Some(0)),
        "memchr" | "memrchr" | "rawmemchr" | "strlen" | "strnlen" | "strchr" | "strrchr"
        | "strchrnul" | "strdup" | "strndup" => access(Some(0), None),
        "strcat" | "strncat" => access(None, Some(0)),
        "memcmp" | "bcmp" | "memmem" | "strcmp" | "strncmp" | "strcasecmp" | "strncasecmp"
        | "strstr" | "strcasestr" | "strspn" | "strcspn" | "strpbrk" => access(None, None),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expect: Option<(Option<u8>, Option<u8>, bool)>) {
        let found = call_access(name).map(|a| (a.read, a.written, a.walks_range));
        assert_eq!(found, expect, "{name}");
    }

    #[test]
    fn by_name() {
        let first = Some((Some(0), Some(0), false));
        check("__tsan_write8", first);
        check("__tsan_unaligned_read4", first);
        check("__tsan_atomic32_compare_exchange_strong", first);
        check("__tsan_vptr_update", first);
        check("__tsan_read_range", Some((Some(0), Some(0), true)));
        check("pthread_mutex_lock", first);
        check("memcpy", Some((Some(1), Some(0), true)));
        check("__tsan_memcpy", Some((Some(1), Some(0), true)));
        check("__memset_chk", Some((None, Some(0), true)));
        check("memcmp", Some((None, None, true)));
        check("__tsan_func_entry", None);
        check("pthread_cond_wait", None);
        check("puts", None);
    }
}
