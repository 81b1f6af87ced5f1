//! The properties there are, and the faults on which each of them must fail.

use roomkit_shuttle_mutants as mutated;

use crate::explore::{Effort, Outcome, explore};
use crate::{kit, locks, queue, shipped, tasks};

/// Something that holds on every schedule.
#[derive(Debug, Clone, Copy)]
pub struct Property {
    /// What is checked, as `part::property`.
    pub name: &'static str,
    /// On the shipped source.
    pub holds: fn(),
    /// The same on the source with faults.
    on_mutants: fn(),
    /// How many schedules a second of work is worth, roughly: a whole kit takes more steps.
    pub is_slow: bool,
}

macro_rules! property {
    ($name:literal, $holds:expr, $on_mutants:expr, $is_slow:literal) => {
        Property {
            name: $name,
            holds: $holds,
            on_mutants: $on_mutants,
            is_slow: $is_slow,
        }
    };
}

macro_rules! queue {
    ($name:literal, $property:ident) => {
        property!(
            $name,
            queue::$property::<shipped::queue::KeyedQueue<u8>>,
            queue::$property::<mutated::sync::queue::KeyedQueue<u8>>,
            false
        )
    };
}

macro_rules! tasks {
    ($name:literal, $property:ident) => {
        property!(
            $name,
            tasks::$property::<shipped::tasks::Tasks>,
            tasks::$property::<mutated::sync::tasks::Tasks>,
            false
        )
    };
}

macro_rules! locks {
    ($name:literal, $property:ident) => {
        property!(
            $name,
            locks::shipped::$property,
            locks::mutant::$property,
            false
        )
    };
}

macro_rules! kit {
    ($name:literal, $property:ident) => {
        property!($name, kit::shipped::$property, kit::mutant::$property, true)
    };
}

/// All of them.
pub const PROPERTIES: &[Property] = &[
    queue!("queue::woken_when_called", woken_when_called),
    queue!("queue::served_in_order", served_in_order),
    queue!("queue::one_at_a_time", one_at_a_time),
    queue!("queue::bounded", bounded),
    queue!(
        "queue::never_refused_without_need",
        never_refused_without_need
    ),
    queue!("queue::keys_are_apart", keys_are_apart),
    locks!("locks::one_at_a_time", one_at_a_time),
    locks!("locks::rooms_are_apart", rooms_are_apart),
    tasks!("tasks::under_way_all_the_time", under_way_all_the_time),
    tasks!("tasks::idle_when_all_has_ended", idle_when_all_has_ended),
    tasks!("tasks::nothing_after_the_end", nothing_after_the_end),
    tasks!("tasks::work_outlives_its_caller", work_outlives_its_caller),
    kit!(
        "kit::lanes_are_whole_and_in_order",
        lanes_are_whole_and_in_order
    ),
    kit!("kit::callers_may_go_away", callers_may_go_away),
    kit!("kit::closing_lets_all_end", closing_lets_all_end),
    kit!("kit::closing_ends_in_time", closing_ends_in_time),
    kit!("kit::dropping_leaves_nothing", dropping_leaves_nothing),
];

/// A fault in the core, made for the properties to find.
#[derive(Debug, Clone, Copy)]
pub struct Mutant {
    /// What is wrong, as `part: fault`.
    pub name: &'static str,
}

/// All of them.
pub fn mutants() -> impl Iterator<Item = Mutant> {
    mutated::MUTANTS.iter().map(|name| Mutant { name })
}

impl Mutant {
    /// Tries the properties of its part on it until one fails: its name, and what came of it.
    #[must_use]
    pub fn hunt(self, effort: Effort) -> Option<(&'static str, Outcome)> {
        let part = self.name.split(':').next().unwrap_or_default();
        mutated::choose(self.name);
        let of_its_part = PROPERTIES
            .iter()
            .filter(|property| property.name.starts_with(part));
        let found = of_its_part
            .map(|property| (property.name, explore(property.on_mutants, effort)))
            .find(|(_, outcome)| outcome.failure.is_some());
        mutated::choose("");
        found
    }
}

/// The properties on the source with faults while none is switched on: they hold.
pub fn without_a_fault() -> impl Iterator<Item = (&'static str, fn())> {
    PROPERTIES
        .iter()
        .map(|property| (property.name, property.on_mutants))
}
