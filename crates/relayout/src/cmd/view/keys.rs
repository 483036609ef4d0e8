//! Keys of the terminal as keys of the view.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use relayout_report::view::ViewKey;

/// What an event of the terminal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PressedKey {
    /// A key of the view.
    View(ViewKey),
    /// Ctrl-L: draw everything again.
    Redraw,
    /// Ctrl-C.
    Interrupt,
}

/// Returns the key of an event; `None` for other events, and for keys without a meaning.
pub(super) fn pressed_key(event: &Event) -> Option<PressedKey> {
    let Event::Key(key) = event else {
        return None;
    };
    if key.kind == KeyEventKind::Release {
        return None;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return control_key(key);
    }
    let key = match key.code {
        KeyCode::Up => ViewKey::Up,
        KeyCode::Down => ViewKey::Down,
        KeyCode::Left => ViewKey::Left,
        KeyCode::Right => ViewKey::Right,
        KeyCode::PageUp => ViewKey::PageUp,
        KeyCode::PageDown => ViewKey::PageDown,
        KeyCode::Home => ViewKey::Home,
        KeyCode::End => ViewKey::End,
        KeyCode::Enter => ViewKey::Enter,
        KeyCode::Esc => ViewKey::Escape,
        KeyCode::Tab | KeyCode::BackTab => ViewKey::Tab,
        KeyCode::Backspace => ViewKey::Backspace,
        KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::ALT) => ViewKey::Character(c),
        _ => return None,
    };
    Some(PressedKey::View(key))
}

/// Returns the meaning of a key with Ctrl; pages as in `less`.
fn control_key(key: &KeyEvent) -> Option<PressedKey> {
    match key.code {
        KeyCode::Char('c') => Some(PressedKey::Interrupt),
        KeyCode::Char('l') => Some(PressedKey::Redraw),
        KeyCode::Char('f' | 'd') => Some(PressedKey::View(ViewKey::PageDown)),
        KeyCode::Char('b' | 'u') => Some(PressedKey::View(ViewKey::PageUp)),
        KeyCode::Home => Some(PressedKey::View(ViewKey::Home)),
        KeyCode::End => Some(PressedKey::View(ViewKey::End)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: KeyCode, modifiers: KeyModifiers, expect: Option<PressedKey>) {
        let event = Event::Key(KeyEvent::new(code, modifiers));
        assert_eq!(pressed_key(&event), expect, "{code:?} {modifiers:?}");
    }

    #[test]
    fn keys_have_one_meaning() {
        let view = |key| Some(PressedKey::View(key));
        check(
            KeyCode::Char('S'),
            KeyModifiers::SHIFT,
            view(ViewKey::Character('S')),
        );
        check(
            KeyCode::Char('c'),
            KeyModifiers::CONTROL,
            Some(PressedKey::Interrupt),
        );
        check(KeyCode::Char('x'), KeyModifiers::CONTROL, None);
        check(KeyCode::Char('q'), KeyModifiers::ALT, None);
        check(KeyCode::BackTab, KeyModifiers::SHIFT, view(ViewKey::Tab));
        check(KeyCode::F(1), KeyModifiers::NONE, None);
        assert_eq!(pressed_key(&Event::Resize(80, 24)), None);
    }
}
