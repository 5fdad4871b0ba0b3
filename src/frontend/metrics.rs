//! Metrics in the OpenMetrics text format over HTTP, by default on loopback only.
//!
//! [`Metrics`] is a set of values without globals. The frontend updates it from a [`Status`], and whenever a phase
//! ends. Counters are set to the status's values, so they never differ from what `reconfig status` reports.
//! Deliberately omitted: HTTPS, access control, any request but `GET /metrics`.

use super::bounded::BoundedListener;
use super::control::Status;
use crate::driver::PhaseRecord;
use crate::ids::Half;
use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::net::TcpListener;

/// Names and values of a metric's labels.
type Labels = Vec<(&'static str, String)>;
type Counters = Family<Labels, Counter>;
type Gauges = Family<Labels, Gauge>;
type Histograms = Family<Labels, Histogram, fn() -> Histogram>;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Every metric of one manager.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    smps: Counters,
    retries: Counter,
    late: Counter,
    traps: Counters,
    sweeps: Counter,
    sa_requests: Counters,
    changes: Counters,
    phases: Histograms,
    sweep_seconds: Gauge<f64, AtomicU64>,
    uptime_seconds: Gauge<f64, AtomicU64>,
    role: Gauges,
    state: Gauges,
    subnet_up: Gauge,
    degraded: Gauge,
    left_out: Gauge,
    trouble: Gauge,
    end_ports_fenced: Gauge,
    groups: Gauge,
    group_members: Gauge,
    group_members_unreached: Gauge,
    instead: Gauge,
    upper_half: Gauge,
    switches: Gauge,
    cas: Gauge,
    links: Gauge,
    lids: Gauge,
}

/// Why metrics cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// The address is reachable by others.
    #[error(
        "metrics on {address}: only loopback addresses are served, since there is no access control; pass \
         --metrics-anywhere to serve it all the same"
    )]
    NotLoopback {
        /// The address requested.
        address: SocketAddr,
    },
    /// The address cannot be bound.
    #[error("metrics on {address}: {error}; choose another address with --metrics")]
    Bind {
        /// The address requested.
        address: SocketAddr,
        /// The system's error.
        error: io::Error,
    },
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics::new()
    }
}

impl Metrics {
    /// All values 0.
    pub fn new() -> Metrics {
        // A phase takes microseconds in a simulator, milliseconds on a switch, and a minute if sources are slow to
        // move.
        let buckets: fn() -> Histogram = || Histogram::new(exponential_buckets(0.000_1, 4.0, 12));
        let mut metrics = Metrics {
            registry: Registry::with_prefix("reconfig"),
            smps: Counters::default(),
            retries: Counter::default(),
            late: Counter::default(),
            traps: Counters::default(),
            sweeps: Counter::default(),
            sa_requests: Counters::default(),
            changes: Counters::default(),
            phases: Histograms::new_with_constructor(buckets),
            sweep_seconds: Gauge::default(),
            uptime_seconds: Gauge::default(),
            role: Gauges::default(),
            state: Gauges::default(),
            subnet_up: Gauge::default(),
            degraded: Gauge::default(),
            left_out: Gauge::default(),
            trouble: Gauge::default(),
            end_ports_fenced: Gauge::default(),
            groups: Gauge::default(),
            group_members: Gauge::default(),
            group_members_unreached: Gauge::default(),
            instead: Gauge::default(),
            upper_half: Gauge::default(),
            switches: Gauge::default(),
            cas: Gauge::default(),
            links: Gauge::default(),
            lids: Gauge::default(),
        };
        metrics.register_counts();
        metrics.register_values();
        metrics
    }

    fn register_counts(&mut self) {
        let Metrics { registry, smps, retries, late, traps, sweeps, sa_requests, changes, phases, .. } = self;
        registry.register("smps", "Subnet management packets sent, retries included", smps.clone());
        registry.register("smp_retries", "Subnet management packets sent again for want of an answer", retries.clone());
        registry.register("late_answers", "Answers that came after the request was given up", late.clone());
        registry.register("traps", "Traps received, without repetitions", traps.clone());
        registry.register("sweeps", "Sweeps of the whole subnet", sweeps.clone());
        registry.register("sa_requests", "Requests to subnet administration", sa_requests.clone());
        registry.register("changes", "Changes of the routing that ended", changes.clone());
        registry.register("phase_seconds", "How long the phases of changes took", phases.clone());
    }

    fn register_values(&mut self) {
        let Metrics { registry, sweep_seconds, uptime_seconds, role, state, .. } = self;
        let text = "How long the last sweep of the whole subnet took";
        registry.register("last_sweep_seconds", text, sweep_seconds.clone());
        registry.register("uptime_seconds", "How long the manager has been running", uptime_seconds.clone());
        registry.register("role", "1 for the current state of the manager's election", role.clone());
        registry.register("state", "1 for the state of the change under way, or of the last one", state.clone());
        let gauges = [
            (
                "subnet_up",
                "1 if the subnet is routed under this manager, and any change left by an earlier one has ended",
                &self.subnet_up,
            ),
            ("degraded_attributes", "Attributes that devices fail at", &self.degraded),
            ("left_out_devices", "Devices left out because they fail", &self.left_out),
            ("trouble", "1 while `reconfig status` shows TROUBLE", &self.trouble),
            (
                "end_ports_fenced",
                "End ports known to discard what is sent on some service levels",
                &self.end_ports_fenced,
            ),
            ("multicast_groups", "Multicast groups", &self.groups),
            ("multicast_members", "Memberships in multicast groups", &self.group_members),
            (
                "multicast_members_unreached",
                "Memberships in multicast groups of ports that no tree reaches",
                &self.group_members_unreached,
            ),
            (
                "instead",
                "1 while something stands in for the engine, the scheme or the journal that was chosen",
                &self.instead,
            ),
            ("upper_half", "1 if the upper half of LIDs and service levels is in use", &self.upper_half),
            ("switches", "Switches present", &self.switches),
            ("cas", "Channel adapters present", &self.cas),
            ("links", "Cables present", &self.links),
            ("lids", "LIDs assigned", &self.lids),
        ];
        for (name, text, gauge) in gauges {
            self.registry.register(name, text, gauge.clone());
        }
    }

    /// Updates all values from a status.
    pub fn update(&self, status: &Status) {
        for (attribute, methods) in &status.smps.sent {
            for (method, &count) in methods {
                let labels = vec![("attribute", attribute.clone()), ("method", method.clone())];
                set(&self.smps.get_or_create(&labels), count);
            }
        }
        set(&self.retries, status.smps.retries);
        set(&self.late, status.smps.late);
        for (number, &count) in &status.sweeps.traps {
            set(&self.traps.get_or_create(&vec![("number", number.clone())]), count);
        }
        set(&self.sweeps, status.sweeps.heavy);
        for (attribute, &count) in &status.sa_requests {
            set(&self.sa_requests.get_or_create(&vec![("attribute", attribute.clone())]), count);
        }
        for (outcome, &count) in &status.changes {
            set(&self.changes.get_or_create(&vec![("outcome", outcome.clone())]), count);
        }
        self.sweep_seconds.set(seconds(status.sweeps.last_heavy_ns));
        self.uptime_seconds.set(seconds(status.uptime_ns));
        only(&self.role, "role", &status.role);
        only(&self.state, "state", &status.state);
        self.subnet_up.set(status.subnet_up.into());
        self.degraded.set(status.degraded.len() as i64);
        let out = status.degraded.iter().filter(|degraded| degraded.left_out).map(|degraded| degraded.guid);
        self.left_out.set(out.collect::<BTreeSet<_>>().len() as i64);
        self.trouble.set(status.trouble.is_some().into());
        self.end_ports_fenced.set(i64::try_from(status.end_ports_fenced).unwrap_or(i64::MAX));
        let groups = status.groups.clone().unwrap_or_default();
        for (gauge, value) in [
            (&self.groups, groups.groups),
            (&self.group_members, groups.members),
            (&self.group_members_unreached, groups.unreached),
        ] {
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        }
        self.instead.set(status.instead.is_some().into());
        self.upper_half.set((status.half == Some(Half::Upper)).into());
        let fabric = &status.fabric;
        for (gauge, value) in [
            (&self.switches, fabric.switches),
            (&self.cas, fabric.cas),
            (&self.links, fabric.links),
            (&self.lids, status.lids.given),
        ] {
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        }
    }

    /// Records the duration of a phase that ended.
    pub fn phase(&self, phase: &PhaseRecord) {
        let labels = vec![("phase", phase.name.to_string())];
        self.phases.get_or_create(&labels).observe(seconds(phase.end_ns.saturating_sub(phase.start_ns)));
    }

    /// The metrics as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry);
        text
    }
}

/// A bound server of metrics.
#[derive(Debug)]
pub struct MetricsServer {
    listener: TcpListener,
}

impl MetricsServer {
    /// Binds to `address`; a non-loopback address requires `anywhere`.
    ///
    /// # Errors
    /// The address is not loopback, or cannot be bound.
    pub async fn bind(address: SocketAddr, anywhere: bool) -> Result<MetricsServer, MetricsError> {
        if !address.ip().is_loopback() && !anywhere {
            return Err(MetricsError::NotLoopback { address });
        }
        let listener = TcpListener::bind(address).await.map_err(|error| MetricsError::Bind { address, error })?;
        Ok(MetricsServer { listener })
    }

    /// The bound address, with the system's choice of port if 0 was requested.
    ///
    /// # Errors
    /// The system does not report it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves `GET /metrics` until dropped, to a few clients at a time and to each for a few seconds. Spawn it on a
    /// runtime.
    ///
    /// # Errors
    /// Connections can no longer be accepted.
    pub async fn serve(self, metrics: Arc<Metrics>) -> io::Result<()> {
        let answer = move || {
            let text = metrics.text();
            async move { ([(CONTENT_TYPE, OPEN_METRICS)], text) }
        };
        axum::serve(BoundedListener::new(self.listener), Router::new().route("/metrics", get(answer))).await
    }
}

/// Sets a counter: the status does the counting.
fn set(counter: &Counter, value: u64) {
    counter.inner().store(value, Ordering::Relaxed);
}

/// Sets the gauge with this value of the label to 1, and all others to 0.
fn only(gauges: &Gauges, name: &'static str, value: &str) {
    gauges.clear();
    gauges.get_or_create(&vec![(name, value.to_string())]).set(1);
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
