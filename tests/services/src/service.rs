//! The services that tests may need: what they are called, and where each comes from.

use std::path::PathBuf;

use crate::error::Result;
use crate::find::{Machine, find};

/// A server that tests may need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    /// PostgreSQL.
    Postgres,
    /// Redis.
    Redis,
}

impl Service {
    /// All there are.
    pub const ALL: [Self; 2] = [Self::Postgres, Self::Redis];

    /// The service of this name, as the manifests write it.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|service| service.name() == name)
    }

    /// Its name in manifests: `postgres`, `redis`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Redis => "redis",
        }
    }

    /// Its name in prose.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Postgres => "PostgreSQL",
            Self::Redis => "Redis",
        }
    }

    /// The variable that holds the address of a running server.
    #[must_use]
    pub fn url_variable(self) -> &'static str {
        match self {
            Self::Postgres => "DATABASE_URL",
            Self::Redis => "REDIS_URL",
        }
    }

    /// The variable that says where the binaries are: PostgreSQL's folder, Redis's file.
    #[must_use]
    pub fn binaries_variable(self) -> &'static str {
        match self {
            Self::Postgres => "ROOMKIT_TEST_PG_BIN",
            Self::Redis => "ROOMKIT_TEST_REDIS_SERVER",
        }
    }

    /// The package of Debian and Ubuntu that has the server.
    #[must_use]
    pub fn package(self) -> &'static str {
        match self {
            Self::Postgres => "postgresql",
            Self::Redis => "redis-server",
        }
    }

    /// What has to be there to start one, in words.
    #[must_use]
    pub fn files(self) -> &'static str {
        match self {
            Self::Postgres => "a folder with initdb, pg_ctl, postgres, createdb and psql",
            Self::Redis => "redis-server",
        }
    }

    /// What is missing and how to get it, in words.
    #[must_use]
    pub fn how_to_get(self) -> String {
        format!(
            "{}, that is {} (Debian and Ubuntu: apt-get install {}); or set {} to a server",
            self.title(),
            self.files(),
            self.package(),
            self.url_variable()
        )
    }

    /// Where this machine has the binaries: PostgreSQL's folder, Redis's file.
    ///
    /// Looked for in the variable of [`Service::binaries_variable`], then in `PATH`, then where
    /// distributions put them.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`](crate::Error::Missing) where there are none,
    /// [`Error::Elsewhere`](crate::Error::Elsewhere) where the variable is wrong.
    pub fn find(self) -> Result<PathBuf> {
        find(self, &Machine::this(self))
    }
}
