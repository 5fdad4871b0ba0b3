//! The table of forgeries. Each is made from a sound plan and its certificate, made out anew for the forged plan.

use super::{Files, Script};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// One way to forge.
struct Forgery {
    name: &'static str,
    make: fn(&Files) -> Files,
    /// What the refusal of the checker in Rust contains, and that of the script.
    says: [&'static str; 2],
}

const fn both(name: &'static str, says: &'static str, make: fn(&Files) -> Files) -> Forgery {
    Forgery { name, make, says: [says, says] }
}

const fn each(name: &'static str, says: [&'static str; 2], make: fn(&Files) -> Files) -> Forgery {
    Forgery { name, make, says }
}

const CORPUS: &[Forgery] = &[
    // One thing under two names.
    both("a table set twice, its GUID spelled in two ways", "either may land last", |files| {
        again(files, "sl_to_vl", "node")
    }),
    both("a block set twice, its GUID spelled in two ways", "either may land last", |files| {
        again(files, "lft_block", "switch")
    }),
    both("a source told twice, its GUID spelled in two ways", "either may land last", |files| {
        value(files, |plan| {
            let writes = writes_of(plan, "active_half");
            let mut write = first(writes, "active_half").clone();
            write["active_half"]["at"]["node"] = respelled(&write["active_half"]["at"]["node"]);
            writes.push(write);
        })
    }),
    each("a node listed twice, its GUID spelled in two ways", ["two nodes have GUID", "listed twice"], |files| {
        value(files, |plan| {
            let nodes = plan["fabric"]["nodes"].as_array_mut().expect("nodes");
            let mut node = nodes[0].clone();
            node["guid"] = respelled(&node["guid"]);
            nodes.push(node);
        })
    }),
    // Numbers that are none.
    each("a fraction", ["floating point", "is no whole number"], |files| {
        block(files, |write| write["block"] = json!(0.0))
    }),
    each("an exponent", ["floating point", "is no whole number"], |files| {
        text(files, "\"block\":0,", "\"block\":0e0,")
    }),
    each("a negative number", ["integer `-1`", "is no number of a plan"], |files| {
        block(files, |write| write["block"] = json!(-1))
    }),
    each("minus nought", ["floating point", "is no number of a plan"], |files| {
        text(files, "\"block\":0,", "\"block\":-0,")
    }),
    each("a truth value for a number", ["boolean `false`", "expected a number"], |files| {
        block(files, |write| write["block"] = json!(false))
    }),
    each("a text for a number", ["string \"0\"", "expected a number"], |files| {
        block(files, |write| write["block"] = json!("0"))
    }),
    each("a number for a truth value", ["integer `1`", "expected true or false"], |files| {
        value(files, |plan| plan["fabric"]["nodes"][0]["optimised_sl_to_vl"] = json!(1))
    }),
    each("a number of a hundred digits", ["floating point", "is no number of a plan"], |files| {
        text(files, "\"block\":0,", &format!("\"block\":{},", "9".repeat(100)))
    }),
    each("not a number", ["expected value", "is no whole number"], |files| {
        text(files, "\"block\":0,", "\"block\":NaN,")
    }),
    // Numbers out of range.
    each("a block beyond the last", ["beyond the last one", "from 0 to 767"], |files| {
        block(files, |write| write["block"] = json!(768))
    }),
    both("a port that a node lacks", "has no port", |files| value(files, |plan| plan["sm"]["port"] = json!(200))),
    both("a node that the fabric lacks", "no node", |files| value(files, |plan| plan["sm"]["node"] = json!("0xdead"))),
    each("LID 0", ["outside the unicast range", "from 1 to 49151"], |files| {
        value(files, |plan| *lid_of(plan) = json!(0))
    }),
    each("a lane mask of 17 bits", ["65536", "from 0 to 65535"], |files| {
        value(files, |plan| plan["lanes"]["all"] = json!(65536))
    }),
    each("a GUID of 17 digits", ["no GUID", "expected a GUID"], |files| {
        value(files, |plan| plan["sm"]["node"] = json!("0x10000000000000001"))
    }),
    // Fields.
    both("a field given twice", "duplicate field", |files| text(files, "\"block\":0,", "\"block\":0,\"block\":0,")),
    both("a field of the fabric given twice", "duplicate field", |files| {
        text(files, "\"num_ports\":", "\"num_ports\":1,\"num_ports\":")
    }),
    both("a field of the whole given twice", "duplicate field", |files| {
        text(files, "\"schema\":\"reconfig.plan/2\"", "\"schema\":\"reconfig.plan/2\",\"schema\":\"reconfig.plan/2\"")
    }),
    both("an unknown field", "unknown field", |files| value(files, |plan| plan["remark"] = json!("safe"))),
    both("an unknown field of the policy", "unknown field", |files| {
        value(files, |plan| plan["policy"]["remark"] = json!("safe"))
    }),
    both("an unknown field of the lanes", "unknown field", |files| value(files, |plan| plan["lanes"]["c"] = json!(0))),
    each("a field missing", ["missing field", "has no field"], |files| {
        value(files, |plan| _ = plan.as_object_mut().expect("an object").remove("notes"))
    }),
    each("two fields where one is meant", ["expected", "expected one of"], |files| {
        value(files, |plan| {
            let block = first(writes_of(plan, "lft_block"), "lft_block");
            block["sa_half"] = json!({"half": "lower"});
        })
    }),
    each("nothing where a list is meant", ["invalid type: null", "expected a list"], |files| {
        value(files, |plan| plan["notes"] = Value::Null)
    }),
    // Texts.
    both("blanks among hexadecimal digits", "128 hexadecimal digits", |files| {
        block(files, |write| write["entries"] = json!(format!("ff {}", "f".repeat(125))))
    }),
    both("digits of another script", "16 hexadecimal digits", |files| {
        value(files, |plan| {
            let table = first(writes_of(plan, "sl_to_vl"), "sl_to_vl");
            table["sl_to_vl"]["table"] = json!("\u{0663}".repeat(16));
        })
    }),
    each("half of a surrogate pair", ["hex escape", "expected a text"], |files| {
        text(files, "\"notes\":[", "\"notes\":[\"\\ud800\",").map_plan(|plan| plan.replace("\\ud800\",]", "\\ud800\"]"))
    }),
    each("a byte order mark", ["expected value", "BOM"], |files| files.with_plan(format!("\u{feff}{}", files.plan))),
    each("more after the end", ["trailing characters", "Extra data"], |files| {
        files.with_plan(format!("{}{{}}", files.plan))
    }),
    // Rows.
    both("a forwarding table given twice", "is given twice", |files| twice(files, "/initial/lfts")),
    both("SL-to-VL tables given twice", "is given twice", |files| twice(files, "/initial/sl_to_vl")),
    both("arcs given twice", "is given twice", |files| twice(files, "/drain/0/arcs")),
    each("a port described twice", ["is described twice", "is given twice"], |files| {
        twice(files, "/fabric/nodes/0/ports")
    }),
    both("a link listed twice", "cabled twice", |files| twice(files, "/fabric/links")),
    both("a cable into port 0", "port 0", |files| value(files, |plan| plan["fabric"]["links"][0]["a_port"] = json!(0))),
    each("a node that is not there", ["a link to", "absent"], |files| {
        value(files, |plan| plan["fabric"]["nodes"][0]["present"] = json!(false))
    }),
    each("writes while draining", ["nothing is written while draining"; 2], |files| {
        value(files, |plan| {
            let write = first(writes_of(plan, "lft_block"), "lft_block").clone();
            let waves = plan["waves"].as_array_mut().expect("waves");
            let drain = waves.iter_mut().find(|wave| wave["phase"] == "drain").expect("a drain");
            drain["writes"] = json!([write]);
        })
    }),
    // The drain.
    both("channels that run empty in no order", "cycle", |files| {
        value(files, |plan| masks(plan, |mask| *mask = json!("f".repeat(64))))
    }),
    each("no arcs", ["does not say so", "does not know the way"], |files| {
        value(files, |plan| masks(plan, |mask| *mask = json!("0".repeat(64))))
    }),
    each("a layer of no lanes", ["does not say so", "does not know the way"], |files| {
        value(files, |plan| plan["drain"][0]["lanes"] = json!(0))
    }),
    // The certificate's header.
    each("no lanes to number", ["expected 1 to 15", "from 1 to 15"], |files| {
        header(files, |own| own["vls"] = json!(0))
    }),
    each("a fraction of lanes", ["floating point", "is no whole number"], |files| {
        header(files, |own| own["vls"] = json!(2.0))
    }),
    each("a mask of 17 bits", ["65536", "from 0 to 65535"], |files| {
        header(files, |own| own["moments"][1]["lanes"][0] = json!(65536))
    }),
    each("a service level of -1", ["integer `-1`", "is no number of a plan"], |files| {
        header(files, |own| own["groups"][0][0] = json!(-1))
    }),
    both("an unknown field of the header", "unknown field", |files| header(files, |own| own["remark"] = json!(1))),
    both("a field of the header given twice", "duplicate field", |files| {
        files.with_header(&files.header().to_string().replacen('{', "{\"vls\":2,", 1))
    }),
    each("letters beyond ASCII", ["not ASCII", "ascii"], |files| header(files, |own| own["scheme"] = json!("döuble"))),
    // The evidence.
    each("lines ended by carriage returns", ["no base64", "base64"], |files| {
        let packed = STANDARD.encode(files.packed());
        files.with_letters(&format!("{}\r\n{}", &packed[..40], &packed[40..]))
    }),
    each("spare bits in the last letter", ["no base64", "no base64"], |files| {
        let mut letters = STANDARD.encode(padded(files).packed());
        let at = letters.find('=').expect("padding") - 1;
        let next = next_letter(&letters[at..=at]);
        letters.replace_range(at..=at, next);
        files.with_letters(&letters)
    }),
    both("bytes after the packed evidence", "bytes follow the last row", |files| {
        files.with_packed(&[&files.packed()[..], b"more"].concat())
    }),
    both("bytes after the last row", "bytes follow the last row", |files| {
        files.with_evidence(&[&files.evidence()[..], &[0]].concat())
    }),
    each("packed evidence cut off", ["damaged", "damaged"], |files| {
        let packed = files.packed();
        files.with_packed(&packed[..packed.len() / 2])
    }),
    each("a wrong checksum of the evidence", ["cannot be unpacked", "incorrect data check"], |files| {
        let mut packed = files.packed();
        *packed.last_mut().expect("bytes") ^= 1;
        files.with_packed(&packed)
    }),
    both("a number of six bytes", "exceeds 32 bits", |files| {
        let evidence = files.evidence();
        files.with_evidence(&[&evidence[..1], &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1], &evidence[2..]].concat())
    }),
    both("a number of 33 bits", "exceeds 32 bits", |files| {
        let evidence = files.evidence();
        files.with_evidence(&[&evidence[..1], &[0x80, 0x80, 0x80, 0x80, 0x10], &evidence[2..]].concat())
    }),
    both("a channel listed twice in a row", "lists", |files| row(files, &[1, 0, 0, 0])),
    each("a mask of 17 bits in a row", ["for a mask", "from 0 to 65535"], |files| row(files, &[0x80, 0x80, 4])),
];

/// A new first row, of kind 3: the first channel of the first switch, then what is given in place of its mask.
fn row(files: &Files, masks: &[u8]) -> Files {
    let (evidence, at) = (files.evidence(), files.rows_at());
    let channel = first_channel(files);
    let row = [&[3, 2, channel][..], masks, &[0; 64]].concat();
    files.with_evidence(&[&evidence[..at], &row].concat())
}

/// The index of the first cabled port of a switch.
fn first_channel(files: &Files) -> u8 {
    let plan = reconfig::plan::Plan::from_json(&files.plan).expect("a plan");
    let fabric = &*plan.draft().before;
    let mut ports = fabric.ports().filter(|(_, port)| port.peer.is_some() && fabric.node(port.node).is_switch());
    u8::try_from(ports.next().expect("a cable").0.index()).expect("an index below 128")
}

/// The same evidence, packed so that its letters end in padding.
fn padded(files: &Files) -> Files {
    let evidence = files.evidence();
    let packed = (0..=9).map(|level| {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(level));
        std::io::Write::write_all(&mut encoder, &evidence).expect("memory");
        encoder.finish().expect("memory")
    });
    let packed = packed.into_iter().find(|packed| packed.len() % 3 != 0).expect("ten levels give several lengths");
    files.with_packed(&packed)
}

/// The letter of base64 whose value is one more.
fn next_letter(letter: &str) -> &'static str {
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let at = LETTERS.find(letter).expect("a letter of base64");
    &LETTERS[at + 1..at + 2]
}

impl Files {
    fn map_plan(&self, change: impl FnOnce(String) -> String) -> Files {
        self.with_plan(change(self.plan.clone()))
    }
}

fn value(files: &Files, change: impl FnOnce(&mut Value)) -> Files {
    let mut plan = files.plan_value();
    change(&mut plan);
    files.with_plan(plan.to_string())
}

/// The first occurrence of a text in the plan, without blanks between its parts, replaced.
fn text(files: &Files, from: &str, to: &str) -> Files {
    let plan = files.plan_value().to_string();
    assert!(plan.contains(from), "the plan has no {from}");
    files.with_plan(plan.replacen(from, to, 1))
}

fn header(files: &Files, change: impl FnOnce(&mut Value)) -> Files {
    let mut header = files.header();
    change(&mut header);
    files.with_header(&header.to_string())
}

/// A list whose first row is there twice.
fn twice(files: &Files, list: &str) -> Files {
    value(files, |plan| {
        let rows = plan.pointer_mut(list).and_then(Value::as_array_mut).expect("a list");
        rows.push(rows[0].clone());
    })
}

/// The writes of the first wave that has one of a kind.
fn writes_of<'a>(plan: &'a mut Value, kind: &str) -> &'a mut Vec<Value> {
    let waves = plan["waves"].as_array_mut().expect("waves").iter_mut();
    let mut writes = waves.map(|wave| wave["writes"].as_array_mut().expect("writes"));
    writes.find(|writes| writes.iter().any(|write| write.get(kind).is_some())).expect("a write")
}

fn first<'a>(writes: &'a mut [Value], kind: &str) -> &'a mut Value {
    writes.iter_mut().find(|write| write.get(kind).is_some()).expect("a write")
}

fn block(files: &Files, change: impl FnOnce(&mut Value)) -> Files {
    value(files, |plan| change(&mut first(writes_of(plan, "lft_block"), "lft_block")["lft_block"]))
}

/// The first write of a kind once more, with another spelling of its GUID.
fn again(files: &Files, kind: &str, field: &str) -> Files {
    value(files, |plan| {
        let writes = writes_of(plan, kind);
        let mut write = first(writes, kind).clone();
        write[kind][field] = respelled(&write[kind][field]);
        writes.push(write);
    })
}

/// The same GUID with one more digit.
fn respelled(guid: &Value) -> Value {
    json!(guid.as_str().expect("a GUID").replacen("0x", "0x0", 1))
}

fn lid_of(plan: &mut Value) -> &mut Value {
    let nodes = plan["fabric"]["nodes"].as_array_mut().expect("nodes").iter_mut();
    let mut ports = nodes.flat_map(|node| node["ports"].as_array_mut().expect("ports"));
    &mut ports.find(|port| port.get("lid").is_some()).expect("a port with a LID")["lid"]
}

fn masks(plan: &mut Value, change: impl Fn(&mut Value)) {
    let arcs = plan["drain"][0]["arcs"].as_array_mut().expect("arcs").iter_mut();
    arcs.flat_map(|arcs| arcs["outputs"].as_array_mut().expect("masks")).for_each(change);
}

#[test]
fn both_checkers_refuse_every_forgery_for_what_it_is() {
    let sound = Files::double("fat-tree-4-2");
    let mut script = Script::start();
    if let Some(script) = &mut script {
        assert_eq!(script.judge(&sound), sound.checked(), "an honest plan is accepted with the same numbers");
    }
    let mut faults = Vec::new();
    for Forgery { name, make, says } in CORPUS {
        let forged = make(&sound);
        assert!((&forged.plan, &forged.certificate) != (&sound.plan, &sound.certificate), "{name}: nothing is forged");
        let verdicts = [Some(forged.checked()), script.as_mut().map(|script| script.judge(&forged))];
        for ((verdict, says), who) in verdicts.into_iter().zip(says).zip(["checker", "script"]) {
            match verdict {
                Some(Ok(said)) => faults.push(format!("{name}: the {who} accepts it: {said}")),
                Some(Err(said)) if !said.contains(says) => {
                    faults.push(format!("{name}: the {who}: {said}, not `{says}`"))
                }
                Some(Err(_)) | None => {}
            }
        }
    }
    assert!(faults.is_empty(), "of {} forgeries:\n{}", CORPUS.len(), faults.join("\n"));
    println!("{} forgeries refused by both", CORPUS.len());
}
