// SPDX-License-Identifier: Apache-2.0
//! The run's state that all parts of the agent need.

use crate::base::clock::Clock;
use crate::base::ending::Ending;
use leowarp_timeline::setup::{Ends, Link, Setup};
use leowarp_timeline::Event;
use serde_json::{json, Map, Value};
use std::sync::Arc;

/// The state of one run.
#[derive(Clone)]
pub struct Context<'a> {
    pub setup: &'a Setup,
    /// All events of the timeline, including those at time 0.
    pub events: &'a [Event],
    pub clock: Clock,
    pub ending: Arc<Ending>,
    /// The header of every record file, without the columns.
    pub header: Map<String, Value>,
}

impl<'a> Context<'a> {
    /// Creates the context of a run whose clock is set.
    pub fn new(setup: &'a Setup, events: &'a [Event], clock: Clock) -> Self {
        let is_watched = setup.ends == Ends::Flows || !setup.observe.truth;
        let ending = Arc::new(Ending::new(setup.duration_ns, is_watched));
        Self { setup, events, clock, ending, header: header(setup) }
    }

    /// Returns the header of a table with one additional field.
    pub fn header_with(&self, key: &str, value: Value) -> Map<String, Value> {
        let mut header = self.header.clone();
        header.insert(key.into(), value);
        header
    }
}

fn header(setup: &Setup) -> Map<String, Value> {
    let mut header = Map::new();
    // null if the duration is not known when the table is opened; end.json will contain it
    let duration_ns = (setup.ends == Ends::Duration).then_some(setup.duration_ns);
    header.insert("duration_ns".into(), duration_ns.into());
    header.insert("directions".into(), setup.links.iter().flat_map(|link| directions(setup, link)).collect());
    header
}

/// Returns the sending node, the receiving node and the link kind of each direction.
fn directions(setup: &Setup, link: &Link) -> [Value; 2] {
    let (a, b) = (&setup.nodes[link.a].name, &setup.nodes[link.b].name);
    let kind = format!("{:?}", link.kind).to_lowercase();
    [json!([a, b, kind]), json!([b, a, kind])]
}
