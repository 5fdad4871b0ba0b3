//! Captures after accidents. The example `read_captures` uses it too.

use rand::RngExt;
use rand_pcg::Pcg32;

/// A capture after one to three accidents: cut, lines or sections lost, words of two lines exchanged, encoded
/// otherwise.
pub fn mutilated(bytes: &[u8], rng: &mut Pcg32) -> Vec<u8> {
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    for _ in 0..rng.random_range(1..=3) {
        let lines: Vec<&str> = text.lines().collect();
        let (first, second) = (rng.random_range(0..lines.len().max(1)), rng.random_range(0..lines.len().max(1)));
        text = match rng.random_range(0..8) {
            0 => text.chars().take(rng.random_range(0..=text.chars().count())).collect(),
            1 => text.chars().skip(rng.random_range(0..=text.chars().count())).collect(),
            2 => without(&lines, first, 1),
            3 => without(&lines, first, rng.random_range(1..30)),
            4 => text
                .split("\n\n")
                .enumerate()
                .filter(|(n, _)| n % 5 != first % 5)
                .map(|(_, part)| part)
                .collect::<Vec<_>>()
                .join("\n\n"),
            5 => with_words_exchanged(&lines, first, second, rng),
            6 => with_a_digit_changed(&text, rng),
            _ => format!("[root@head ~]# ibnetdiscover\n{text}\nuser@head:~$ "),
        };
    }
    match rng.random_range(0..4) {
        0 => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        1 => text.replace('\n', "\r\n").into_bytes(),
        2 => text.chars().map(|c| if c == 'H' { 0xe9 } else { c as u8 }).collect(),
        _ => text.into_bytes(),
    }
}

fn without(lines: &[&str], from: usize, count: usize) -> String {
    let kept = lines.iter().enumerate().filter(|(number, _)| !(from..from + count).contains(number));
    kept.map(|(_, line)| *line).collect::<Vec<_>>().join("\n")
}

fn with_words_exchanged(lines: &[&str], first: usize, second: usize, rng: &mut Pcg32) -> String {
    let mut words: Vec<Vec<&str>> = lines.iter().map(|line| line.split(' ').collect()).collect();
    if words.len() > first.max(second) && first != second {
        let (a, b) = (rng.random_range(0..words[first].len()), rng.random_range(0..words[second].len()));
        let word = words[first][a];
        words[first][a] = words[second][b];
        words[second][b] = word;
    }
    words.iter().map(|line| line.join(" ")).collect::<Vec<_>>().join("\n")
}

fn with_a_digit_changed(text: &str, rng: &mut Pcg32) -> String {
    let digits: Vec<usize> = text.char_indices().filter(|(_, c)| c.is_ascii_hexdigit()).map(|(at, _)| at).collect();
    if digits.is_empty() {
        return text.to_string();
    }
    let at = digits[rng.random_range(0..digits.len())];
    format!("{}{:x}{}", &text[..at], rng.random_range(0..16), &text[at + 1..])
}
