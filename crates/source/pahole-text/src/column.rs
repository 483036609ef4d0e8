//! Right-aligned numbers, which are half of a layout's text.

/// Digits of the largest `u64`.
const DIGITS_MAX: usize = 20;

/// Appends a number as `%*u` of C's printf does, or with `hex` as `%#*x`.
pub(super) fn push_number(out: &mut String, value: u64, width: usize, hex: bool) {
    let mut digits = [0; DIGITS_MAX];
    let (radix, prefix) = match hex && value > 0 {
        // `%#x` has no prefix for zero.
        true => (16, "0x"),
        false => (10, ""),
    };
    let mut at = DIGITS_MAX;
    let mut rest = value;
    loop {
        at -= 1;
        digits[at] = b"0123456789abcdef"[(rest % radix) as usize];
        rest /= radix;
        if rest == 0 {
            break;
        }
    }
    let digits = &digits[at..];
    push_spaces(out, width.saturating_sub(prefix.len() + digits.len()));
    out.push_str(prefix);
    out.extend(digits.iter().map(|digit| char::from(*digit)));
}

/// Appends spaces.
pub(super) fn push_spaces(out: &mut String, count: usize) {
    const SPACES: &str = "                                                                ";
    let mut left = count;
    while left > 0 {
        let some = left.min(SPACES.len());
        out.push_str(&SPACES[..some]);
        left -= some;
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn as_printf() {
        for (value, width, hex, expect) in [
            (0, 5, false, "    0"),
            (0, 5, true, "    0"),
            (64, 5, true, " 0x40"),
            (1234567, 5, false, "1234567"),
            (u64::MAX, 5, false, "18446744073709551615"),
            (u64::MAX, 2, true, "0xffffffffffffffff"),
        ] {
            let mut out = String::new();
            super::push_number(&mut out, value, width, hex);
            assert_eq!(out, expect);
        }
    }
}
