//! Lines in the shape that the tools print, parsed byte by byte. `None` for any other line, which the cursor then
//! parses and, if it is malformed, reports.

/// Bytes in an fdbs entry of the common shape, line end included.
pub(super) const FDBS_ENTRY: usize = 27;

/// `0x0001 : 005  : 02   : yes` and a line end, as OpenSM prints an entry of its fdbs file: LID and port.
pub(super) fn fdbs_entry(text: &[u8]) -> Option<(u16, u8)> {
    let line: &[u8; FDBS_ENTRY] = text.first_chunk()?;
    let fixed = line[..2] == *b"0x"
        && line[6..9] == *b" : "
        && line[12..16] == *b"  : "
        && line[18..] == *b"   : yes\n"
        && line[16..18].iter().all(u8::is_ascii_digit);
    let nibble = |byte: u8| char::from(byte).to_digit(16);
    let digit = |byte: u8| byte.is_ascii_digit().then_some(u32::from(byte.wrapping_sub(b'0')));
    let lid = nibble(line[2])? << 12 | nibble(line[3])? << 8 | nibble(line[4])? << 4 | nibble(line[5])?;
    let port = digit(line[9])? * 100 + digit(line[10])? * 10 + digit(line[11])?;
    fixed.then_some((unicast(lid)?, u8::try_from(port).ok()?))
}

/// `0x0001 005 # …` or `0x0001 005 : (…)`: LID and port.
pub(super) fn lfts_entry(line: &[u8]) -> Option<(u16, u8)> {
    let (lid, rest) = lid(line)?;
    let (port, rest) = decimal(rest.strip_prefix(b" ")?)?;
    (rest.starts_with(b" # ") || rest.starts_with(b" : (")).then_some((lid, u8::try_from(port).ok()?))
}

/// `3   1   : 0  1  2  …`: input, output and sixteen lanes.
pub(super) fn sl_to_vl_row(line: &[u8]) -> Option<(u8, u8, [u8; 16])> {
    let (input, rest) = decimal(line)?;
    let (output, rest) = decimal(rest.trim_ascii_start())?;
    let mut rest = rest.trim_ascii_start().strip_prefix(b":")?;
    let mut lanes = [0; 16];
    for lane in &mut lanes {
        let (vl, behind) = decimal(rest.trim_ascii_start())?;
        (*lane, rest) = (u8::try_from(vl).ok().filter(|&vl| vl < 16)?, behind);
    }
    let small = |number: u32| u8::try_from(number).ok();
    rest.trim_ascii().is_empty().then_some((small(input)?, small(output)?, lanes))
}

/// `0x0002c90000000099 154 0`: GUID, LID and service level.
pub(super) fn path_sl_row(line: &[u8]) -> Option<(u64, u16, u8)> {
    let (guid, rest) = hexadecimal(line.strip_prefix(b"0x")?, 16)?;
    let (lid, rest) = decimal(rest.strip_prefix(b" ")?)?;
    let (sl, rest) = decimal(rest.strip_prefix(b" ")?)?;
    (rest.is_empty() && sl < 16).then_some((guid, unicast(lid)?, sl as u8))
}

/// `0x0001 : 0  : 5   : 3`, or only its first two fields: LID and service level.
pub(super) fn path_sl_entry(line: &[u8]) -> Option<(u16, u8)> {
    let (lid, rest) = lid(line)?;
    let (sl, rest) = decimal(rest.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start())?;
    let is_entry = rest.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b' ' | b':' | b'\t'));
    (is_entry && sl < 16).then_some((unicast(lid.into())?, sl as u8))
}

fn unicast(lid: u32) -> Option<u16> {
    u16::try_from(lid).ok().filter(|lid| (1..=0xBFFF).contains(lid))
}

/// `0x` and four hexadecimal digits, a unicast LID.
fn lid(line: &[u8]) -> Option<(u16, &[u8])> {
    let (lid, rest) = hexadecimal(line.strip_prefix(b"0x")?, 4)?;
    Some((unicast(u32::try_from(lid).ok()?)?, rest))
}

fn hexadecimal(text: &[u8], most: usize) -> Option<(u64, &[u8])> {
    let mut value = 0;
    let mut digits = 0;
    while let Some(digit) = text.get(digits).and_then(|&byte| char::from(byte).to_digit(16)) {
        (value, digits) = (value << 4 | u64::from(digit), digits + 1);
        if digits > most {
            return None;
        }
    }
    (digits > 0).then_some((value, &text[digits..]))
}

fn decimal(text: &[u8]) -> Option<(u32, &[u8])> {
    let mut value = 0;
    let mut digits = 0;
    while let Some(byte) = text.get(digits).filter(|byte| byte.is_ascii_digit()) {
        (value, digits) = (value * 10 + u32::from(byte - b'0'), digits + 1);
        if digits > 6 {
            return None;
        }
    }
    (digits > 0).then_some((value, &text[digits..]))
}
