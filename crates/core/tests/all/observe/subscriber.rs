//! A subscriber of `tracing` that keeps all that it hears, for these tests.

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Metadata, Subscriber};

/// A span as it was heard.
#[derive(Debug, Clone)]
pub(super) struct Heard {
    pub(super) name: &'static str,
    pub(super) parent: Option<usize>,
    pub(super) fields: BTreeMap<&'static str, String>,
}

impl Heard {
    pub(super) fn get(&self, field: &str) -> Option<&str> {
        self.fields.get(field).map(String::as_str)
    }
}

#[derive(Debug, Default)]
struct State {
    spans: Vec<Heard>,
    lines: Vec<String>,
    entered: HashMap<ThreadId, Vec<usize>>,
}

/// Hears everything at level TRACE. A clone is the same one.
#[derive(Debug, Clone, Default)]
pub(super) struct Ear(Arc<Mutex<State>>);

impl Ear {
    /// Listens to what this thread does, as long as the guard is there.
    pub(super) fn listen() -> (Self, DefaultGuard) {
        let ear = Self::default();
        let guard = tracing::subscriber::set_default(ear.clone());
        (ear, guard)
    }

    pub(super) fn spans(&self) -> Vec<Heard> {
        self.0.lock().unwrap().spans.clone()
    }

    /// Every event, with its level and its fields.
    pub(super) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().lines.clone()
    }

    /// The names of the spans, each below its parent, in the order in which they began.
    pub(super) fn tree(&self) -> String {
        let spans = self.spans();
        let mut tree = String::new();
        draw(&spans, None, 0, &mut tree);
        tree
    }
}

fn draw(spans: &[Heard], parent: Option<usize>, depth: usize, tree: &mut String) {
    for (at, span) in spans.iter().enumerate() {
        if span.parent == parent {
            writeln!(tree, "{:indent$}{}", "", span.name, indent = depth * 2).unwrap();
            draw(spans, Some(at), depth + 1, tree);
        }
    }
}

fn number(id: &Id) -> usize {
    usize::try_from(id.into_u64()).unwrap() - 1
}

struct Fields<'a>(&'a mut BTreeMap<&'static str, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

impl Subscriber for Ear {
    fn enabled(&self, _metadata: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut state = self.0.lock().unwrap();
        let parent = if attributes.is_contextual() {
            let entered = state.entered.get(&thread::current().id());
            entered.and_then(|entered| entered.last().copied())
        } else {
            attributes.parent().map(number)
        };
        let mut fields = BTreeMap::new();
        attributes.record(&mut Fields(&mut fields));
        state.spans.push(Heard {
            name: attributes.metadata().name(),
            parent,
            fields,
        });
        Id::from_u64(state.spans.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut state = self.0.lock().unwrap();
        values.record(&mut Fields(&mut state.spans[number(span)].fields));
    }

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = BTreeMap::new();
        event.record(&mut Fields(&mut fields));
        let line = format!("{} {fields:?}", event.metadata().level());
        self.0.lock().unwrap().lines.push(line);
    }

    fn enter(&self, span: &Id) {
        let mut state = self.0.lock().unwrap();
        let entered = state.entered.entry(thread::current().id()).or_default();
        entered.push(number(span));
    }

    fn exit(&self, span: &Id) {
        let mut state = self.0.lock().unwrap();
        let entered = state.entered.entry(thread::current().id()).or_default();
        let at = entered.iter().rposition(|other| *other == number(span));
        entered.remove(at.unwrap());
    }
}
