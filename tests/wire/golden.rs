//! Files of fixtures/mads.

use reconfig::wire::MAD_SIZE;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A golden file: its sections in order, hexadecimal ones and `fields` as text.
pub struct Golden {
    pub name: String,
    sections: Vec<(String, Vec<String>)>,
}

impl Golden {
    pub fn read(name: &str) -> Golden {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/mads").join(format!("{name}.txt"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
        let mut sections: Vec<(String, Vec<String>)> = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            match line {
                "request" | "response" | "block" | "fields" => sections.push((line.to_string(), Vec::new())),
                _ => sections.last_mut().expect("a section before its lines").1.push(line.to_string()),
            }
        }
        Golden { name: name.to_string(), sections }
    }

    pub fn blocks<const N: usize>(&self, section: &str) -> Vec<[u8; N]> {
        let wanted = self.sections.iter().filter(|(name, _)| name == section);
        wanted.map(|(_, lines)| bytes(lines).try_into().expect("a section of the expected length")).collect()
    }

    pub fn mad(&self, section: &str) -> [u8; MAD_SIZE] {
        let found = self.blocks(section);
        assert_eq!(found.len(), 1, "{}: one {section}", self.name);
        found[0]
    }

    pub fn fields(&self) -> Vec<BTreeMap<String, u64>> {
        self.sections.iter().filter(|(name, _)| name == "fields").map(|(_, lines)| numbers(lines)).collect()
    }
}

fn bytes(lines: &[String]) -> Vec<u8> {
    let digits: String = lines.iter().flat_map(|line| line.split_whitespace()).collect();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal")).collect()
}

fn numbers(lines: &[String]) -> BTreeMap<String, u64> {
    let number = |line: &String| {
        let (name, value) = line.split_once(" 0x").expect("a name and a value");
        (name.to_string(), u64::from_str_radix(value, 16).expect("hexadecimal"))
    };
    lines.iter().map(number).collect()
}
