// SPDX-License-Identifier: Apache-2.0
//! Reads a text with one sequence number per line. Empty lines, blanks around a number, and lines that begin with `#`
//! are ignored.

use crate::arrivals::SEQ_MAX;
use crate::error::{Error, Result};

/// The maximum length of a line, which is longer than any sequence number. The reader refuses a longer line before it
/// has read the whole line, so that memory stays bounded.
const LINE_MAX_BYTES: usize = 4096;
const SHOWN_CHARS: usize = 40;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads sequence numbers, one per line.
#[derive(Debug)]
pub struct Text {
    /// The number of complete lines so far.
    lines: u64,
    /// The beginning of an incomplete line.
    rest: Vec<u8>,
    largest: u64,
    bits: Option<u32>,
}

impl Text {
    /// Creates a reader that refuses numbers of more than `bits` bits. `bits` is 1 to 63. None means no limit.
    pub fn new(bits: Option<u32>) -> Self {
        let bits = bits.filter(|bits| (1..64).contains(bits));
        Text { lines: 0, rest: Vec::new(), largest: bits.map_or(SEQ_MAX, |bits| (1 << bits) - 1), bits }
    }

    /// Reads the next bytes of the file. A chunk may end anywhere.
    ///
    /// # Errors
    ///
    /// [`Error::Line`] with the number of the first line that is neither a sequence number, nor empty, nor a comment.
    /// In this case, `into` contains the numbers of all earlier lines.
    pub fn feed(&mut self, mut chunk: &[u8], into: &mut Vec<u64>) -> Result<()> {
        if !self.rest.is_empty() {
            let Some(end) = chunk.iter().position(|&byte| byte == b'\n') else { return self.keep(chunk) };
            self.keep(&chunk[..end])?;
            let line = std::mem::take(&mut self.rest);
            self.line(&line, into)?;
            chunk = &chunk[end + 1..];
        }
        // Fast path: nearly all lines consist of digits and a line end.
        let mut begin = 0;
        while begin < chunk.len() {
            let mut value: u64 = 0;
            let mut at = begin;
            while at < chunk.len() && chunk[at].is_ascii_digit() && at - begin < 18 {
                value = value * 10 + u64::from(chunk[at] - b'0');
                at += 1;
            }
            if at > begin && at < chunk.len() && chunk[at] == b'\n' && value <= self.largest {
                into.push(value);
                self.lines += 1;
                begin = at + 1;
                continue;
            }
            let Some(length) = chunk[begin..].iter().position(|&byte| byte == b'\n') else {
                return self.keep(&chunk[begin..]);
            };
            self.line(&chunk[begin..begin + length], into)?;
            begin += length + 1;
        }
        Ok(())
    }

    /// Reads the last line, which may lack a line end.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Text::feed`].
    pub fn finish(&mut self, into: &mut Vec<u64>) -> Result<()> {
        let line = std::mem::take(&mut self.rest);
        if line.is_empty() {
            return Ok(());
        }
        self.line(&line, into)
    }

    fn keep(&mut self, part: &[u8]) -> Result<()> {
        if self.rest.len() + part.len() > LINE_MAX_BYTES {
            self.rest.extend_from_slice(&part[..part.len().min(SHOWN_CHARS * 4)]);
            let line = std::mem::take(&mut self.rest);
            self.lines += 1;
            return Err(self.error(&line, format!("is longer than {LINE_MAX_BYTES} bytes")));
        }
        self.rest.extend_from_slice(part);
        Ok(())
    }

    fn line(&mut self, line: &[u8], into: &mut Vec<u64>) -> Result<()> {
        self.lines += 1;
        let line = if self.lines == 1 { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line };
        let word = line.trim_ascii();
        if word.is_empty() || word[0] == b'#' {
            return Ok(());
        }
        into.push(self.number(word).map_err(|why| self.error(word, why))?);
        Ok(())
    }

    fn number(&self, word: &[u8]) -> std::result::Result<u64, String> {
        if word.iter().all(u8::is_ascii_digit) {
            let value = word.iter().try_fold(0u64, |value, digit| {
                value.checked_mul(10)?.checked_add(u64::from(digit - b'0')).filter(|&value| value <= SEQ_MAX)
            });
            return match (value, self.bits) {
                (Some(value), _) if value <= self.largest => Ok(value),
                (_, Some(bits)) => Err(format!("does not fit into {bits} bits")),
                _ => Err(format!("is larger than the largest sequence number, {SEQ_MAX}")),
            };
        }
        let sign = matches!(word[0], b'-' | b'+');
        if word[0] == b'-' && word.len() > 1 && word[1..].iter().all(u8::is_ascii_digit) {
            return Err("is negative".into());
        }
        let text = String::from_utf8_lossy(word);
        Err(match text.parse::<f64>() {
            Ok(value) if value.is_finite() && !sign => "is not written as a whole number".into(),
            _ => "is not a sequence number".into(),
        })
    }

    fn error(&self, text: &[u8], why: String) -> Error {
        let text = String::from_utf8_lossy(text);
        let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
        if shown.len() < text.len() {
            shown.push_str("...");
        }
        Error::Line { line: self.lines, text: shown, why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(chunks: &[&[u8]], bits: Option<u32>) -> Result<Vec<u64>> {
        let (mut text, mut into) = (Text::new(bits), Vec::new());
        for chunk in chunks {
            text.feed(chunk, &mut into)?;
        }
        text.finish(&mut into)?;
        Ok(into)
    }

    fn message(content: &str, bits: Option<u32>) -> String {
        read(&[content.as_bytes()], bits).unwrap_err().to_string()
    }

    #[test]
    fn comments_empty_lines_and_blanks_are_passed_over_and_the_last_line_may_lack_its_end() {
        let text = "\u{feff}# order of arrival\r\n1\r\n\n  20\t\n# more\n0\n007";
        assert_eq!(read(&[text.as_bytes()], None).unwrap(), [1, 20, 0, 7]);
        assert_eq!(read(&[b"# only words"], None).unwrap(), [0; 0]);
        assert_eq!(read(&[], None).unwrap(), [0; 0]);
    }

    #[test]
    fn an_error_names_line_and_text_and_rule() {
        assert_eq!(message("1\n\n-3\n", None), "line 3: \"-3\" is negative");
        assert_eq!(message("1\n2.0\n", None), "line 2: \"2.0\" is not written as a whole number");
        assert_eq!(message("1e3", None), "line 1: \"1e3\" is not written as a whole number");
        for wrong in ["seq", "1 2", "+1", "-", "1,2", "0x10", "nan", "1 # one", "-1.5"] {
            assert_eq!(message(wrong, None), format!("line 1: {wrong:?} is not a sequence number"));
        }
        assert_eq!(message("65536", Some(16)), "line 1: \"65536\" does not fit into 16 bits");
        let too_large = "is larger than the largest sequence number, 9223372036854775807";
        assert_eq!(message("9223372036854775808", None), format!("line 1: \"9223372036854775808\" {too_large}"));
        assert!(message(&"9".repeat(50), None).ends_with(too_large));
        assert_eq!(read(&[b"9223372036854775807\n65535"], None).unwrap(), [SEQ_MAX, 65535]);
        assert_eq!(read(&[b"00000000000000000000000000000000065535"], Some(16)).unwrap(), [65535]);
    }

    #[test]
    fn what_has_no_ends_of_line_is_refused_before_it_fills_the_memory() {
        let (mut text, mut into) = (Text::new(None), Vec::new());
        let result = (0..10).try_for_each(|_| text.feed(&[b'1'; 1000], &mut into));
        assert!(result.unwrap_err().to_string().ends_with("is longer than 4096 bytes"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn numbers_come_back_however_the_file_is_cut(numbers in prop::collection::vec(0..=SEQ_MAX, 0..40), cut in 1usize..30) {
            let text: String = numbers.iter().map(|number| format!("{number}\n")).collect();
            let chunks: Vec<&[u8]> = text.as_bytes().chunks(cut).collect();
            prop_assert_eq!(read(&chunks, None).unwrap(), numbers);
        }

        #[test]
        fn any_bytes_are_numbers_or_one_error_however_they_are_cut(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"0123456789\n\r #-+.e".to_vec())], 0..200),
            cut in 1usize..50,
        ) {
            let whole = read(&[&bytes], None);
            prop_assert_eq!(read(&bytes.chunks(cut).collect::<Vec<_>>(), None), whole);
        }
    }
}
