//! The smallest use of the transport against hardware: sweeps the subnet behind a port of this machine by directed
//! routes, and prints it as ibnetdiscover does: `cargo run --example sweep -- --list`, or `… -- [--ca NAME] [--port N]
//! [--window N] [--timeout MS] [--loss CHANCE] [--seed N] [--listen SECONDS]`.
//!
//! `--loss` drops that share of the MADs in both directions before they reach the wire, and delays as many, to exercise
//! the retries. `--listen` manages the port for that long after the sweep, and reports the first trap.
//! Without hardware: `ibsim -s -n FILE &`, then `ibsim-run target/release/examples/sweep`.

use reconfig::fabric::format::{Format, write};
use reconfig::fabric::summary::Summary;
use reconfig::ids::PortNum;
use reconfig::subnet::{Manager, SubnetManager, Timing};
use reconfig::transport::faults::{Chances, Faulty};
use reconfig::transport::umad::{Umad, UmadOptions, UmadRole};
use std::error::Error;
use std::time::{Duration, Instant};

/// The options given.
#[derive(Default)]
struct Wanted {
    list: bool,
    options: UmadOptions,
    window: Option<usize>,
    timeout_ms: Option<u64>,
    loss: f64,
    seed: u64,
    listen: Option<Duration>,
}

fn main() -> Result<(), String> {
    // Errors as people read them.
    run(std::env::args().skip(1)).map_err(|error| error.to_string())
}

/// The whole program; the tests call it with other arguments.
pub fn run(arguments: impl Iterator<Item = String>) -> Result<(), Box<dyn Error>> {
    let wanted = wanted(arguments)?;
    if wanted.list {
        return list();
    }
    // The transport waits on tokio's timers; nothing else needs the runtime.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let port = Umad::open(&wanted.options)?;
        eprintln!("through {} port {}", port.adapter(), port.port());
        let chances = Chances { lost: wanted.loss, late: wanted.loss, late_ns: 100_000_000, ..Chances::default() };
        let port = Faulty::new(port, chances, chances, wanted.seed);
        let mut manager = Manager::new(port, timing(&wanted), 0);
        sweep(&mut manager).await?;
        match wanted.listen {
            Some(patience) => listen(&mut manager, patience).await,
            None => Ok(()),
        }
    })
}

async fn sweep(manager: &mut Manager<Faulty<Umad>>) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let found = manager.discover().await?;
    let took = began.elapsed();
    print!("{}", write(&found.fabric, Format::Ibnetdiscover)?);
    eprintln!("{}", Summary::of(&found.fabric));
    found.notices.iter().for_each(|notice| eprintln!("{notice}"));
    let counts = manager.smps();
    eprintln!("{:.3} s, {} SMPs, {} of them sent again", took.as_secs_f64(), counts.total(), counts.retries);
    let transport = manager.transport();
    eprintln!("{:?}\n{:?}", transport.inner().counts(), transport.counts());
    manager.set_topology(&found.fabric, found.sm_port);
    Ok(())
}

/// Waits for the first trap from the subnet.
async fn listen(manager: &mut Manager<Faulty<Umad>>, patience: Duration) -> Result<(), Box<dyn Error>> {
    eprintln!("listening");
    let until_ns = manager.now_ns().saturating_add(u64::try_from(patience.as_nanos())?);
    match manager.next_event(until_ns).await? {
        Some(event) => eprintln!("{event:?}"),
        None => eprintln!("nothing happened"),
    }
    Ok(())
}

fn timing(wanted: &Wanted) -> Timing {
    let standard = Timing::default();
    Timing {
        window: wanted.window.unwrap_or(8),
        timeout_ns: wanted.timeout_ms.map_or(standard.timeout_ns, |ms| ms.saturating_mul(1_000_000)),
        retries: if wanted.loss > 0.0 { 12 } else { standard.retries },
        light_sweep_ns: None,
        ..standard
    }
}

/// The adapters of this machine, one line a port.
fn list() -> Result<(), Box<dyn Error>> {
    for adapter in Umad::list()? {
        for port in &adapter.ports {
            println!(
                "{} port {}: {:?}, {:?}, LID {}, GUID {}, {}",
                adapter.name, port.number, port.state, port.phys_state, port.lid, port.guid, port.link_layer
            );
        }
    }
    Ok(())
}

fn wanted(mut arguments: impl Iterator<Item = String>) -> Result<Wanted, Box<dyn Error>> {
    let mut wanted = Wanted::default();
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{flag} needs a value"));
        match flag.as_str() {
            "--list" => wanted.list = true,
            "--ca" => wanted.options.adapter = Some(value()?),
            "--port" => wanted.options.port = Some(PortNum(value()?.parse()?)),
            "--window" => wanted.window = Some(value()?.parse()?),
            "--timeout" => wanted.timeout_ms = Some(value()?.parse()?),
            "--loss" => wanted.loss = value()?.parse()?,
            "--seed" => wanted.seed = value()?.parse()?,
            "--listen" => {
                wanted.listen = Some(Duration::from_secs(value()?.parse()?));
                wanted.options.role = UmadRole::Manager;
            }
            _ => return Err(format!("unknown argument `{flag}`; see the head of examples/sweep.rs").into()),
        }
    }
    Ok(wanted)
}
