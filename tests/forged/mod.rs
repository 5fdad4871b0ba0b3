//! Forged plans and certificates, and whether the two checkers read them alike: the one in Rust and the script in plain
//! Python. What one of them refuses the other must refuse too, or somebody who trusts it accepts what nobody proved.
//!
//! `corpus` is a table of forgeries, each with the words that the refusals must contain; `fuzzed` makes more; `bounds`
//! holds both to their memory; `drained` takes steps out of drains, which the prover must refuse as well; `departed`
//! has something leave before it is empty; `halves` has hosts send on both halves of their LIDs; `astray` leads packets
//! from a whole way to a broken one; `turned` rests on switches that discard what turns back; `reserved` has a service
//! level that is of neither half.

mod astray;
mod bounds;
mod corpus;
mod departed;
mod drained;
mod fuzzed;
mod halves;
mod recovered;
mod reserved;
mod turned;

use crate::support::brought_up::bring_up;
use crate::support::bundled::bundled;
use crate::support::python::python;
use crate::support::removal::{Removal, removal};
use crate::support::short::short;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reconfig::change::{engine_named, prepare};
use reconfig::check::certificate;
use reconfig::plan::{Plan, Scheme};
use reconfig::routing::Parameters;
use reconfig::scenario::{self, Departure, Engines, Scenario};
use reconfig::verify::{Binding, prove_certified};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/check_certificate.py");

/// A plan's file and a certificate, true or not.
#[derive(Clone)]
pub struct Files {
    pub plan: String,
    pub certificate: String,
}

impl Files {
    /// A plan, and the certificate of its proof.
    fn of(plan: Plan) -> Files {
        let plan_file = plan.to_json();
        let (proved, certificate) = prove_certified(plan).map_err(|(_, refusal)| refusal).expect("a sound plan");
        let binding = proved.get().binding(Binding::digest(plan_file.as_bytes()));
        Files { plan: plan_file, certificate: certificate.expect("it has waves").to_text(&binding) }
    }

    /// The root of a bundled fabric leaves, once the routing has changed.
    fn double(name: &str) -> Files {
        let subnet = bring_up(&bundled(name), 1, false);
        let prepared = prepare(removal(&subnet, Scheme::Double, Removal::Planned)).expect("a plan of scheme double");
        Files::of(prepared.plan.plan().clone())
    }

    /// The root leaves once the tables have been overwritten in place.
    fn in_place(name: &str) -> Files {
        let subnet = bring_up(&bundled(name), 1, false);
        let prepared = prepare(removal(&subnet, Scheme::InPlace, Removal::Planned)).expect("a plan of scheme in-place");
        Files::of(prepared.plan.plan().clone())
    }

    /// The same with a routing of several layers, in which sources choose among paths.
    fn layered(name: &str) -> Files {
        Files::of(layered(name))
    }

    fn plan_value(&self) -> Value {
        serde_json::from_str(&self.plan).expect("JSON")
    }

    /// Another plan, with the certificate made out for it: what a careful forger writes.
    fn with_plan(&self, plan: String) -> Files {
        let mut header = self.header();
        header["plan"] = Binding::digest(plan.as_bytes()).into();
        let forged = Files { plan, ..self.clone() };
        forged.with_header(&header.to_string())
    }

    fn header(&self) -> Value {
        serde_json::from_str(self.certificate.lines().nth(1).expect("a header")).expect("JSON")
    }

    fn with_header(&self, header: &str) -> Files {
        let lines: Vec<&str> = self.certificate.lines().collect();
        let body: Vec<&str> = [&[lines[0], header], &lines[2..lines.len() - 1]].concat();
        Files { certificate: sealed(&(body.join("\n") + "\n")), ..self.clone() }
    }

    fn packed(&self) -> Vec<u8> {
        let lines: Vec<&str> = self.certificate.lines().collect();
        STANDARD.decode(lines[2..lines.len() - 1].concat()).expect("base64")
    }

    fn with_letters(&self, letters: &str) -> Files {
        let lines: Vec<&str> = self.certificate.lines().collect();
        Files { certificate: sealed(&format!("{}\n{}\n{letters}\n", lines[0], lines[1])), ..self.clone() }
    }

    fn with_packed(&self, packed: &[u8]) -> Files {
        self.with_letters(&STANDARD.encode(packed))
    }

    /// The evidence, unpacked.
    fn evidence(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        flate2::read::ZlibDecoder::new(&self.packed()[..]).read_to_end(&mut bytes).expect("zlib");
        bytes
    }

    fn with_evidence(&self, evidence: &[u8]) -> Files {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(evidence).expect("memory");
        self.with_packed(&encoder.finish().expect("memory"))
    }

    /// Where the rows of the evidence begin, after the lanes' numbers.
    fn rows_at(&self) -> usize {
        let (header, evidence) = (self.header(), self.evidence());
        let plan = Plan::from_json(&self.plan).expect("a plan");
        let fabric = &*plan.draft().before;
        let cabled = fabric.ports().filter(|(_, port)| port.peer.is_some() && fabric.node(port.node).is_switch());
        let lanes = cabled.count() * header["vls"].as_u64().expect("a number") as usize;
        let mut at = 0;
        for _ in header["moments"].as_array().expect("moments") {
            at += 1;
            // A number ends at a byte without the eighth bit.
            for _ in 0..if evidence[at - 1] == 1 { lanes } else { 0 } {
                at += 1 + evidence[at..].iter().take_while(|&&byte| byte >= 0x80).count();
            }
        }
        at
    }

    /// What the checker in Rust says.
    pub fn checked(&self) -> Verdict {
        let plan = Plan::from_json(&self.plan).map_err(|error| error.to_string())?;
        let checked = certificate::check(&plan, self.plan.as_bytes(), self.certificate.as_bytes());
        let checked = checked.map_err(|fault| fault.to_string())?;
        let certificate::Checked { pairs, lids, dependencies, .. } = checked;
        Ok(format!("{pairs} places (lane, class) of {lids} LIDs are closed, {dependencies} dependencies rise"))
    }

    fn written(&self, folder: &Path) -> [PathBuf; 2] {
        [("plan", &self.plan), ("certificate", &self.certificate)].map(|(name, text)| {
            let path = folder.join(name);
            std::fs::write(&path, text).expect("a file");
            path
        })
    }
}

/// A plan in whose old and new routing sources choose among paths on several layers.
fn layered(name: &str) -> Plan {
    let engine = || Arc::from(engine_named("dfsssp", &Parameters { root: None, seed: 7 }).expect("an engine"));
    let mut scenario = Scenario { departure: Departure::Sudden, ..short(Scenario::remove_root(bundled(name))) };
    scenario.sim.data_vls = 8;
    let plan = scenario::plan(&scenario, Engines { before: engine(), after: engine() }).expect("a plan");
    plan.plan().clone()
}

/// A body with the digest that belongs to it.
fn sealed(body: &str) -> String {
    format!("{body}sha256 {}\n", Binding::digest(body.as_bytes()))
}

/// What a checker says: the numbers of what it accepts, or why it refuses.
pub type Verdict = Result<String, String>;

/// The script, in a process that judges one pair of files after the other.
pub struct Script {
    process: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    folder: tempfile::TempDir,
}

impl Script {
    /// None, with a remark, where there is no Python.
    pub fn start() -> Option<Script> {
        let program = format!(
            "import json, sys\n\
             sys.dont_write_bytecode = True\n\
             sys.path.insert(0, {folder:?})\n\
             import check_certificate\n\
             for line in sys.stdin:\n\
             \x20   plan, certificate = (open(name, 'rb').read() for name in json.loads(line))\n\
             \x20   print(json.dumps(check_certificate.judge(plan, certificate)), flush=True)\n",
            folder = Path::new(SCRIPT).parent().expect("a folder"),
        );
        let python =
            Command::new(python()?).args(["-c", &program]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = python.expect("it has run before");
        let questions = process.stdin.take().expect("a pipe");
        let answers = BufReader::new(process.stdout.take().expect("a pipe"));
        Some(Script { process, questions, answers, folder: tempfile::tempdir().expect("a folder") })
    }

    pub fn judge(&mut self, files: &Files) -> Verdict {
        let names = files.written(self.folder.path());
        writeln!(self.questions, "{}", serde_json::to_string(&names).expect("names")).expect("the script reads");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the script answers");
        let (accepted, said): (bool, String) =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("the script ended: {error}"));
        let first = said.lines().next().unwrap_or_default();
        match accepted {
            true => Ok(first.trim_start_matches("accepted: ").to_string()),
            false => Err(said),
        }
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}
