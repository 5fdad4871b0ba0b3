//! Lines that came into a file beside the format: messages of the tools, and what a terminal, its log or a pager added.

use super::diagnostic::Span;
use super::ledger::FaultLedger;

/// What a line is, if it belongs to no format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Noise {
    /// A message of a tool or its libraries.
    Message,
    /// Such a message that a device did not answer.
    Silence,
    /// The progress that `ibnetdiscover -s` prints.
    Progress,
    /// A prompt, a log's head, a pager's line.
    Terminal,
}

impl Noise {
    pub fn of(line: &str) -> Option<Noise> {
        let line = line.trim();
        if is_message(line) {
            Some(if is_silence(line) { Noise::Silence } else { Noise::Message })
        } else if line.starts_with("DR path slid ") {
            Some(Noise::Progress)
        } else if is_of_terminal(line) || is_prompt(line) {
            Some(Noise::Terminal)
        } else {
            None
        }
    }

    /// Records that the line at `at` is left out.
    pub fn record<'a>(self, ledger: &mut FaultLedger<'a>, at: Span, line: &'a str) {
        let line = line.trim();
        match self {
            Noise::Message => ledger.assume(at, "a message of the tool is left out: ", line),
            Noise::Silence => ledger.silence(at, silent_device(line)),
            Noise::Progress => ledger.assume(at, "the progress of the discovery is left out", ""),
            Noise::Terminal => ledger.repair(at, "a line of the terminal is left out: ", line),
        }
    }
}

/// What the tools and their libraries write to standard error: `src/query_smp.c:195; …`, `ibwarn: …`.
fn is_message(line: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let of_library = line.split_once("; ").and_then(|(place, _)| place.rsplit_once(".c:"));
    ["ibwarn: ", "ibdebug: ", "ibpanic: ", "ibnetdiscover: ", "iblinkinfo: "]
        .iter()
        .any(|start| line.starts_with(start))
        || of_library.is_some_and(|(_, number)| digits(number))
}

/// Whether a message says that a query was not answered. Attributes of a vendor (0xff00 on) are asked of every device,
/// and those of other vendors do not answer: nothing is lost.
fn is_silence(line: &str) -> bool {
    let of_query =
        ["query_smp.c", "ibnetdisc.c", "mad_rpc", "madrpc", "discover"].iter().any(|part| line.contains(part));
    let failed = line.contains("timed out") || of_query && line.to_ascii_lowercase().contains("failed");
    failed && !line.contains("Attr 0xff")
}

/// The directed route or the LID of the device that a message names: `dlid 0; 0,1,31 Attr …`, `dport (Lid 12)`.
fn silent_device(line: &str) -> Option<&str> {
    let by_route = line.split_once("dlid ").and_then(|(_, rest)| rest.split_once("; ")).map(|(_, route)| route);
    let at = by_route.or_else(|| line.split_once("Lid ").map(|(_, lid)| lid))?;
    let end = at.find(|c: char| !c.is_ascii_digit() && c != ',').unwrap_or(at.len());
    Some(&at[..end]).filter(|device| !device.is_empty())
}

/// What terminals, their logs and pagers add.
fn is_of_terminal(line: &str) -> bool {
    let starts = [
        "=~=~=~=~",
        "Script started on ",
        "Script done on ",
        "Last login: ",
        "--More--",
        "Connection to ",
        "Password:",
    ];
    starts.iter().any(|start| line.starts_with(start))
        || (line.starts_with("lines ") && line.len() < 40)
        || matches!(line, "logout" | "exit" | "(END)" | "^C" | "^D")
}

/// A shell's prompt, with or without a command: `[root@head ~]# ibnetdiscover`, `switch-1 [ ha-active ] (config) #`.
fn is_prompt(line: &str) -> bool {
    let is_data = line.contains("\"S-") || line.contains("\"H-") || line.contains("\"R-") || line.contains('=');
    let mark = line.char_indices().find(|&(at, c)| {
        matches!(c, '#' | '$' | '>' | '%' | '❯')
            && line[at + c.len_utf8()..].chars().next().is_none_or(char::is_whitespace)
    });
    // `❯` alone is a prompt; the others alone are comments, quotes and the like.
    let begins = |at: usize, c: char| at > 0 || c == '❯';
    let Some((at, c)) = mark.filter(|&(at, c)| begins(at, c) && at <= 80 && !is_data) else { return false };
    let (before, command) = (line[..at].trim_end(), line[at + c.len_utf8()..].trim());
    let tool = command.split([' ', '/']).find(|word| !word.is_empty() && *word != "sudo").unwrap_or("");
    let is_tool = tool.starts_with("ib") || ["cat", "less", "more", "exit", "ssh", "fae"].contains(&tool);
    command.is_empty() || is_tool || before.contains(['@', '~']) || before.ends_with([']', ')'])
}

#[cfg(test)]
mod tests {
    use super::Noise;

    #[test]
    fn what_terminals_add_is_known() {
        for line in [
            "=~=~=~=~=~= PuTTY log 2021.06.15 12:06:05 =~=~=~=~=~=",
            "ufm-1 [ mgmt-ha-active ] (config) # ",
            "[root@head ~]# ibnetdiscover",
            "user@host:~$ sudo ibnetdiscover -p",
            "login1> cat topology",
            "--More--",
            "Password:",
            "~/captures ❯ ibnetdiscover",
            "❯",
        ] {
            assert_eq!(Noise::of(line), Some(Noise::Terminal), "{line}");
        }
        assert_eq!(
            Noise::of("DR path slid 0; dlid 0; 0,1 -> new Switch {10} portnum 0 lid 0-0 \"\""),
            Some(Noise::Progress)
        );
        assert_eq!(Noise::of("src/query_smp.c:195; umad"), Some(Noise::Message));
    }

    #[test]
    fn messages_that_nobody_answered_name_the_device() {
        for (line, device) in [
            (
                "src/query_smp.c:195; umad (DR path slid 0; dlid 0; 0,1,1,31 Attr 0x11:0) bad status 110; Connection timed out",
                Some("0,1,1,31"),
            ),
            ("ibwarn: [123] _do_madrpc: recv failed: Connection timed out", None),
            ("ibwarn: [123] mad_rpc: _do_madrpc failed; dport (Lid 12)", Some("12")),
            ("src/query_smp.c:228; sub_get failed: NodeInfo DR path slid 0; dlid 0; 0,4 Failed", Some("0,4")),
        ] {
            assert_eq!((Noise::of(line), super::silent_device(line)), (Some(Noise::Silence), device), "{line}");
        }
        let of_vendor = "src/query_smp.c:195; umad (DR path slid 0; dlid 0; 0,1 Attr 0xff90:1) bad status 110; Connection timed out";
        assert_eq!(Noise::of(of_vendor), Some(Noise::Message));
    }

    #[test]
    fn what_a_format_has_is_no_noise() {
        for line in [
            "chassisguid=0x12",
            "[1]\t\"S-0000000000000010\"[1]\t# \"leaf\" lid 1 4xQDR",
            "vendid=0x2c9 # x",
            "Swtch 4 \"S-0000000000000010\" # leaf",
            "garbage",
        ] {
            assert_eq!(Noise::of(line), None, "{line}");
        }
    }
}
