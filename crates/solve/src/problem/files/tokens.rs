//! Words of a text file, with their places.

use super::FileError;

/// Reads words from a text; every complaint names the word's number and its line.
pub(super) struct Tokens<'a> {
    text: &'a [u8],
    at: usize,
    count: usize,
    line: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a [u8]) -> Tokens<'a> {
        Tokens { text, at: 0, count: 0, line: 1 }
    }

    fn skip_space(&mut self) {
        while let Some(&c) = self.text.get(self.at) {
            if !c.is_ascii_whitespace() {
                break;
            }
            self.line += usize::from(c == b'\n');
            self.at += 1;
        }
    }

    /// Where the last word stands.
    pub(super) fn place(&self) -> String {
        format!("token {} (line {})", self.count, self.line)
    }

    /// A complaint about the last word.
    pub(super) fn unexpected(&self, found: impl ToString, wanted: impl ToString) -> FileError {
        FileError::unexpected(self.place(), found, wanted)
    }

    /// The next word.
    pub(super) fn word(&mut self, wanted: &str) -> Result<&'a [u8], FileError> {
        self.skip_space();
        self.count += 1;
        let start = self.at;
        while self.text.get(self.at).is_some_and(|c| !c.is_ascii_whitespace()) {
            self.at += 1;
        }
        if start == self.at {
            Err(self.unexpected("the end of the file", wanted))
        } else {
            Ok(&self.text[start..self.at])
        }
    }

    fn parsed<T: std::str::FromStr>(&mut self, wanted: &str) -> Result<T, FileError> {
        let word = self.word(wanted)?;
        std::str::from_utf8(word)
            .ok()
            .and_then(|w| w.parse().ok())
            .ok_or_else(|| self.unexpected(shown(word), wanted))
    }

    /// The next word as a count or an index.
    pub(super) fn count(&mut self, wanted: &str) -> Result<usize, FileError> {
        self.parsed(wanted)
    }

    /// The next word as an integer.
    pub(super) fn integer(&mut self, wanted: &str) -> Result<i64, FileError> {
        self.parsed(wanted)
    }

    /// The next word as a number, not NaN; infinite where `infinite` allows it.
    pub(super) fn number(&mut self, infinite: bool, wanted: &str) -> Result<f64, FileError> {
        let x: f64 = self.parsed(wanted)?;
        if x.is_nan() || (x.is_infinite() && !infinite) {
            Err(self.unexpected(x, wanted))
        } else {
            Ok(x)
        }
    }

    /// Complains unless `count` more words may follow (a word takes two bytes): nothing is
    /// allocated that the file merely claims.
    pub(super) fn expect(&self, count: usize, what: &str) -> Result<(), FileError> {
        let left = self.text.len() - self.at;
        if count <= left / 2 + 1 {
            return Ok(());
        }
        Err(self.unexpected(format!("{left} more bytes"), format!("{count} {what}")))
    }

    /// The next `count` words as finite numbers.
    pub(super) fn numbers(&mut self, count: usize, what: &str) -> Result<Vec<f64>, FileError> {
        self.expect(count, what)?;
        (0..count).map(|_| self.number(false, what)).collect()
    }

    /// The next `count` words as counts.
    pub(super) fn counts(&mut self, count: usize, what: &str) -> Result<Vec<usize>, FileError> {
        self.expect(count, what)?;
        (0..count).map(|_| self.count(what)).collect()
    }

    /// A word that must be this one.
    pub(super) fn literal(&mut self, wanted: &str) -> Result<(), FileError> {
        let word = self.word(wanted)?;
        if word == wanted.as_bytes() {
            Ok(())
        } else {
            Err(self.unexpected(shown(word), format!("'{wanted}'")))
        }
    }

    /// How many words are left.
    pub(super) fn words_left(&self) -> usize {
        self.text[self.at..]
            .split(|c| c.is_ascii_whitespace())
            .filter(|word| !word.is_empty())
            .count()
    }

    /// The rest of the line.
    pub(super) fn rest_of_line(&mut self) -> &'a [u8] {
        let start = self.at;
        while self.text.get(self.at).is_some_and(|&c| c != b'\n') {
            self.at += 1;
        }
        let line = &self.text[start..self.at];
        if self.at < self.text.len() {
            self.at += 1;
            self.line += 1;
        }
        line
    }
}

/// A word fit for a message: short, without control characters.
pub(super) fn shown(word: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(word)
        .chars()
        .take(40)
        .map(|c| if c.is_control() { '?' } else { c })
        .collect();
    format!("'{text}'")
}
