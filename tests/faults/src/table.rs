//! The table: every scene, every step of its clean run, every way in which that step can go wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::doubt::{doubtful, wrong};
use crate::judge::{judge, judge_clean};
use crate::probe::{Fault, Part, Step};
use crate::run::{Run, play};
use crate::scene::Scene;
use crate::store::CALLS;
use crate::twist::Make;

/// One fault at one step of one scene.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The scene.
    pub scene: Scene,
    /// Its step.
    pub step: Step,
    /// What the step is made to do.
    pub fault: Fault,
}

impl Cell {
    /// The cell in words.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}: {} {}", self.scene.name, self.step, self.fault.name())
    }
}

/// A scene with what comes of it when nothing goes wrong.
#[derive(Debug)]
pub struct Row {
    /// The scene.
    pub scene: Scene,
    /// The run without a fault.
    pub clean: Run,
}

impl Row {
    /// Plays the scene without a fault.
    #[must_use]
    pub fn new(scene: Scene, make: Make) -> Self {
        let clean = play(&scene, None, make);
        Self { scene, clean }
    }

    /// The cells of the scene: a fault at a time at each step that was passed.
    #[must_use]
    pub fn cells(&self) -> Vec<Cell> {
        let cell = |step: &Step, fault: &Fault| Cell {
            scene: self.scene,
            step: step.clone(),
            fault: *fault,
        };
        let steps = self.clean.steps.iter();
        steps
            .flat_map(|step| {
                let faults = step.shape.faults().iter();
                faults.map(move |fault| cell(step, fault))
            })
            .collect()
    }

    /// Plays a cell, and says what is wrong with what came of it.
    #[must_use]
    pub fn check(&self, cell: &Cell, make: Make) -> (Run, Vec<String>) {
        let planned = (cell.step.clone(), cell.fault);
        let run = play(&self.scene, Some(planned), make);
        let found = judge(&self.scene, &self.clean, &cell.step, cell.fault, &run);
        (run, found)
    }
}

/// What came of the table.
#[derive(Debug, Default)]
pub struct Report {
    /// How many scenes there are.
    pub scenes: usize,
    /// How many cells, by part and fault.
    pub cells: BTreeMap<Part, BTreeMap<Fault, usize>>,
    /// The calls of the store that no scene makes, by name.
    pub unused: Vec<&'static str>,
    /// How many spans of the scenes' clean runs a telemetry provider was told of.
    pub spans: usize,
    /// What was wrong, by cell.
    pub violations: Vec<String>,
    /// What the judge would not have noticed, by cell.
    pub unnoticed: Vec<String>,
    /// How many changes it would have noticed where one thing alone may come of a fault, and how
    /// many there were.
    pub doubts: (usize, usize),
}

impl Report {
    /// How many cells there are in all.
    #[must_use]
    pub fn len(&self) -> usize {
        let parts = self.cells.values();
        parts.flat_map(BTreeMap::values).sum()
    }

    /// Whether there is no cell.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn count(&mut self, cell: &Cell) {
        let part = self.cells.entry(cell.step.part).or_default();
        *part.entry(cell.fault).or_default() += 1;
    }
}

/// Plays every cell of these scenes, on as many threads as there are cores.
#[must_use]
pub fn prove(scenes: Vec<Scene>, make: impl Into<Make>) -> Report {
    let make = make.into();
    let report = Mutex::new(Report {
        scenes: scenes.len(),
        ..Report::default()
    });
    let note = |name: String, found: Vec<String>, cell: Option<&Cell>| {
        if let Ok(mut report) = report.lock() {
            if let Some(cell) = cell {
                report.count(cell);
            }
            let found = found.into_iter().map(|found| format!("{name}: {found}"));
            report.violations.extend(found);
        }
    };
    let rows: Vec<Row> = side_by_side(&scenes, |scene| {
        let row = Row::new(*scene, make);
        let found = judge_clean(scene, &row.clean);
        note(scene.name.to_owned(), found, None);
        row
    });
    let cells: Vec<(usize, Cell)> = rows
        .iter()
        .enumerate()
        .flat_map(|(at, row)| row.cells().into_iter().map(move |cell| (at, cell)))
        .collect();
    side_by_side(&cells, |(row, cell)| {
        if let Some(row) = rows.get(*row) {
            let (run, found) = row.check(cell, make);
            let is_noticed = |run: &Run| {
                let found = judge(&row.scene, &row.clean, &cell.step, cell.fault, run);
                !found.is_empty()
            };
            if found.is_empty()
                && let Ok(mut report) = report.lock()
            {
                let wrong = wrong(&run).into_iter();
                let unnoticed = wrong.filter(|(_, run)| !is_noticed(run));
                let unnoticed = unnoticed.map(|(what, _)| format!("{}: {what}", cell.name()));
                report.unnoticed.extend(unnoticed);
                let doubtful = doubtful(&run);
                let noticed = doubtful.iter().filter(|(_, run)| is_noticed(run));
                report.doubts.0 += noticed.count();
                report.doubts.1 += doubtful.len();
            }
            note(cell.name(), found, Some(cell));
        }
    });
    let mut report = report.into_inner().unwrap_or_default();
    let steps = rows.iter().flat_map(|row| &row.clean.steps);
    let calls: BTreeSet<&str> = steps.map(|step| step.call.as_str()).collect();
    let unused = CALLS.iter().filter(|call| !calls.contains(*call));
    report.unused = unused.copied().collect();
    report.spans = rows.iter().map(|row| row.clean.spans).sum();
    report.violations.sort();
    report
}

/// Does something with each item, in no order, and returns what came of it in theirs.
fn side_by_side<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { break };
                    let result = work(item);
                    if let Ok(mut done) = done.lock() {
                        done.push((at, result));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
