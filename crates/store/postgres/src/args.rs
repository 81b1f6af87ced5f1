//! Arguments of a statement, and columns of its rows.

use roomkit_core::{Error, ErrorKind, Result};
use sqlx::postgres::{PgArguments, PgRow, Postgres};
use sqlx::{Arguments, Decode, Encode, Row, Type};

use crate::error::{Certainty, Failure};
use crate::text;

/// Arguments, in the order of their places.
#[derive(Clone, Default)]
pub(crate) struct Args {
    args: PgArguments,
    failed: bool,
}

impl Args {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn add<'a>(mut self, value: impl Encode<'a, Postgres> + Type<Postgres>) -> Self {
        self.failed |= self.args.add(value).is_err();
        self
    }

    /// An id, which may hold what PostgreSQL refuses.
    pub(crate) fn id(self, id: &str) -> Self {
        self.add(&*text::stored(id))
    }

    pub(crate) fn opt_id(self, id: Option<&str>) -> Self {
        let id = id.map(text::stored);
        self.add(id.as_deref())
    }

    pub(crate) fn ids<'a>(self, ids: impl IntoIterator<Item = &'a str>) -> Self {
        let ids: Vec<_> = ids.into_iter().map(text::stored).collect();
        let ids: Vec<&str> = ids.iter().map(|id| &**id).collect();
        self.add(ids)
    }

    pub(crate) fn into_inner(self) -> Result<PgArguments, Failure> {
        if self.failed {
            let what = "a value is too large to be sent";
            return Err(Failure::local(what, Certainty::NotDone));
        }
        Ok(self.args)
    }
}

/// A number as PostgreSQL holds it; one beyond that is the greatest there is.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The same of a length.
pub(crate) fn length(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number that is never negative.
pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

/// The column at `at`.
pub(crate) fn column<'r, T: Decode<'r, Postgres> + Type<Postgres>>(
    row: &'r PgRow,
    at: usize,
) -> Result<T> {
    row.try_get(at).map_err(|_| {
        let problem = format!("column {at} of a row is not of the form that was asked for");
        Error::new(ErrorKind::StoreFailed, problem)
    })
}

/// The id in the column at `at`.
pub(crate) fn id<T: for<'a> From<&'a str>>(row: &PgRow, at: usize) -> Result<T> {
    let id: &str = column(row, at)?;
    Ok(T::from(&*text::restored(id)))
}
