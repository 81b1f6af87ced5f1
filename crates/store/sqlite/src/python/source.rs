//! The database of the Python package, and the account that is kept of its rows.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::time::Duration;

use roomkit_core::{Error, ErrorKind, Result};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row, ToSql};
use serde::de::DeserializeOwned;

use super::report::{ImportReport, RowProblem, TableReport};
use crate::error::Doing;

/// `user_version` of a database of the Python package 0.66.
const SCHEMA: i32 = 3;
const PATIENCE: Duration = Duration::from_secs(5);

/// Tables whose rows belong to a room, with the column of their own key.
pub(super) const OF_ROOMS: [(&str, &str); 8] = [
    ("events", "id"),
    ("event_sequences", "room_id"),
    ("bindings", "channel_id"),
    ("participants", "id"),
    ("tasks", "id"),
    ("observations", "id"),
    ("read_markers", "channel_id"),
    ("idempotency", "key"),
];
const OTHERS: [&str; 3] = ["rooms", "identities", "identity_addresses"];

pub(super) struct Source {
    db: Connection,
    columns: HashMap<String, BTreeSet<String>>,
    report: ImportReport,
    /// Rooms that came over, and why the others did not.
    rooms: BTreeMap<String, Option<String>>,
}

/// What could not be read of a row, in words that quote nothing.
pub(super) type Unreadable = String;

impl Source {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let what = format!("opening {}", path.display());
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(path, flags).doing(&what)?;
        db.busy_timeout(PATIENCE).doing(&what)?;
        // One moment for all of it, whatever the Python program writes meanwhile.
        db.execute_batch("PRAGMA query_only = ON; BEGIN")
            .doing(&what)?;
        let columns = columns(&db).doing(&what)?;
        let not_pythons = |why: String| {
            let problem = format!("{}: {why}", path.display());
            Error::new(ErrorKind::InvalidInput, problem)
        };
        if !columns.contains_key("rooms") || !columns.contains_key("events") {
            let why = "is no database of the Python package: it has no rooms and events";
            return Err(not_pythons(why.to_owned()));
        }
        let version: i32 = db
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .doing(&what)?;
        if version != SCHEMA {
            return Err(not_pythons(format!(
                "has schema version {version}, the Python package 0.66 writes {SCHEMA}: open it \
                 once with that, which brings it up to date"
            )));
        }
        let mut source = Self {
            db,
            columns,
            report: ImportReport::default(),
            rooms: BTreeMap::new(),
        };
        source.count();
        Ok(source)
    }

    fn count(&mut self) {
        let known = OF_ROOMS.iter().map(|(table, _)| *table).chain(OTHERS);
        let known: BTreeSet<&str> = known.collect();
        let others: Vec<String> = self
            .columns
            .keys()
            .filter(|name| !known.contains(name.as_str()) && !is_made_anew(name))
            .cloned()
            .collect();
        for table in known {
            let rows = self.count_of(table);
            self.report.tables.push(TableReport {
                table: table.to_owned(),
                rows,
                imported: 0,
            });
        }
        for table in others {
            let rows = self.count_of(&table);
            let reason = format!("no table of the Python package; its {rows} rows are left");
            self.problem(&table, "*", reason);
        }
    }

    fn count_of(&mut self, table: &str) -> u64 {
        if !self.columns.contains_key(table) {
            self.problem(table, "*", "the table is not there");
            return 0;
        }
        // By the table itself: an index may be what is damaged.
        let sql = format!("SELECT count(*) FROM {} NOT INDEXED", quoted(table));
        match self.db.query_row(&sql, [], |row| row.get::<_, i64>(0)) {
            Ok(rows) => rows.cast_unsigned(),
            Err(error) => {
                self.problem(table, "*", damaged(&error));
                0
            }
        }
    }

    /// The name of a column, or what stands for one that is not there.
    pub(super) fn column(&self, table: &str, name: &'static str) -> &'static str {
        let there = self.columns.get(table);
        if there.is_some_and(|columns| columns.contains(name)) {
            name
        } else {
            "NULL"
        }
    }

    /// Rows of a table; where the file is damaged, those before the damage.
    pub(super) fn rows<T>(
        &mut self,
        table: &str,
        sql: &str,
        values: &[&dyn ToSql],
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Vec<T> {
        if !self.columns.contains_key(table) {
            return Vec::new();
        }
        let mut found = Vec::new();
        let mut all = || -> rusqlite::Result<()> {
            let mut statement = self.db.prepare_cached(sql)?;
            let mut rows = statement.query(values)?;
            while let Some(row) = rows.next()? {
                found.push(read(row)?);
            }
            Ok(())
        };
        if let Err(error) = all() {
            let key = values.first().map_or("*", |_| "* of a room");
            self.problem(table, key, damaged(&error));
        }
        found
    }

    pub(super) fn problem(&mut self, table: &str, key: &str, reason: impl Into<String>) {
        self.report.problems.push(RowProblem {
            table: table.to_owned(),
            key: key.to_owned(),
            reason: reason.into(),
        });
    }

    pub(super) fn problems(&mut self, problems: Vec<RowProblem>) {
        self.report.problems.extend(problems);
    }

    pub(super) fn imported(&mut self, table: &str, rows: u64) {
        let mut tables = self.report.tables.iter_mut();
        if let Some(found) = tables.find(|found| found.table == table) {
            found.imported += rows;
        }
    }

    /// The ids of all rooms, in the order in which they were made; a row without one is reported.
    pub(super) fn begin_rooms(&mut self) -> Vec<String> {
        let sql = format!(
            "SELECT rowid, {} FROM rooms ORDER BY {}, rowid",
            self.column("rooms", "id"),
            self.column("rooms", "created_ts"),
        );
        let rows = self.rows("rooms", &sql, &[], |row| Ok((row.get(0)?, text(row, 1))));
        let (mut ids, mut seen) = (Vec::new(), BTreeSet::new());
        for (rowid, id) in rows {
            let rowid: i64 = rowid;
            match id {
                Ok(id) if seen.insert(id.clone()) => ids.push(id),
                Ok(id) => self.problem("rooms", &id, "there is another room with this id"),
                Err(why) => self.problem("rooms", &format!("rowid {rowid}"), why),
            }
        }
        ids
    }

    /// Notes whether a room came over.
    pub(super) fn end_room(&mut self, id: &str, refused: Option<String>) {
        match &refused {
            Some(why) => self.problem("rooms", id, why.clone()),
            None => self.imported("rooms", 1),
        }
        self.rooms.insert(id.to_owned(), refused);
    }

    /// Reports the rows of rooms that did not come over or are not there.
    pub(super) fn report_orphans(&mut self) {
        for (table, key) in OF_ROOMS {
            let sql = format!(
                "SELECT rowid, {}, {} FROM {table}",
                self.column(table, "room_id"),
                self.column(table, key)
            );
            let rows = self.rows(table, &sql, &[], |row| {
                Ok((row.get::<_, i64>(0)?, text(row, 1), text(row, 2)))
            });
            for (rowid, room, key) in rows {
                let name = match (&room, key) {
                    (Ok(room), Ok(key)) if key != *room => format!("{room}/{key}"),
                    (Ok(room), Ok(_)) => room.clone(),
                    _ => format!("rowid {rowid}"),
                };
                let room = room.map(|room| self.rooms.get(&room).cloned());
                match room {
                    Ok(Some(None)) => {}
                    Ok(Some(Some(_))) => self.problem(table, &name, "its room did not come over"),
                    Ok(None) => self.problem(table, &name, "its room is not there"),
                    Err(why) => self.problem(table, &name, format!("room_id {why}")),
                }
            }
        }
    }

    /// Reports the rows that nothing has led to, as where an index is damaged.
    fn report_missing(&mut self) {
        let found = |table: &TableReport| {
            let problems = self.report.problems.iter();
            let problems = problems.filter(|row| row.table == table.table).count();
            table.imported.saturating_add(problems as u64)
        };
        let missing = self.report.tables.iter().filter_map(|table| {
            let missing = table.rows.checked_sub(found(table))?;
            (missing > 0).then(|| (table.table.clone(), missing))
        });
        for (table, missing) in missing.collect::<Vec<_>>() {
            let reason = format!("the file is damaged: {missing} more rows were not found");
            self.problem(&table, "*", reason);
        }
    }

    pub(super) fn finish(&mut self) -> ImportReport {
        self.report_missing();
        let report = std::mem::take(&mut self.report);
        tracing::info!(
            rooms = report.table("rooms").map_or(0, |table| table.imported),
            problems = report.problems.len(),
            "a database of the Python package was imported"
        );
        report
    }
}

fn columns(db: &Connection) -> rusqlite::Result<HashMap<String, BTreeSet<String>>> {
    let mut columns: HashMap<String, BTreeSet<String>> = HashMap::new();
    let mut statement = db.prepare(
        "SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c \
         WHERE t.type = 'table'",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        columns.entry(row.get(0)?).or_default().insert(row.get(1)?);
    }
    Ok(columns)
}

/// The full-text index, which the store makes itself, and SQLite's own tables.
fn is_made_anew(table: &str) -> bool {
    table.starts_with("events_fts") || table.starts_with("sqlite_")
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn damaged(error: &rusqlite::Error) -> String {
    let code = error.sqlite_error_code();
    code.map_or_else(
        || "rows cannot be read".to_owned(),
        |code| format!("rows cannot be read: SQLite says {code:?}"),
    )
}

/// The text of a column that must have one.
pub(super) fn text(row: &Row<'_>, column: usize) -> Result<String, Unreadable> {
    match row.get_ref(column) {
        Ok(ValueRef::Text(bytes)) => {
            let text = std::str::from_utf8(bytes).map_err(|_| "is no UTF-8".to_owned())?;
            Ok(text.to_owned())
        }
        Ok(ValueRef::Null) => Err("is not there".to_owned()),
        _ => Err("is no text".to_owned()),
    }
}

/// The number of a column that must have one from 0 on.
pub(super) fn number(row: &Row<'_>, column: usize) -> Result<u64, Unreadable> {
    match row.get_ref(column) {
        Ok(ValueRef::Integer(number)) => u64::try_from(number).map_err(|_| "is below 0".to_owned()),
        Ok(ValueRef::Null) => Err("is not there".to_owned()),
        _ => Err("is no whole number".to_owned()),
    }
}

/// A record from its JSON, or where it breaks off; nothing of it is quoted.
pub(super) fn record<T: DeserializeOwned>(
    json: &Result<String, Unreadable>,
) -> Result<T, Unreadable> {
    let json = json.as_ref().map_err(|why| format!("data {why}"))?;
    serde_json::from_str(json).map_err(|error| {
        let at = error.column();
        match error.classify() {
            serde_json::error::Category::Data => {
                format!("data: a field is missing or has a value that is not known, at byte {at}")
            }
            _ => format!("data: no JSON from byte {at} on"),
        }
    })
}
