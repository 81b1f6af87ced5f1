//! The servers that tests need: found, started, installed or given by the contributor.

mod install;
mod needs;
mod source;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::process::Command;

use roomkit_test_services::{Postgres, PostgresOptions, Redis, RedisOptions, Service};

use crate::error::Result;

pub(crate) use needs::needs;
use source::{Source, resolve};

/// Servers that run until this is dropped, and how tests reach them. Where this process is killed
/// instead, the servers' watchdogs stop them.
#[derive(Debug, Default)]
pub(crate) struct Services {
    postgres: Option<Postgres>,
    redis: Option<Redis>,
    variables: Vec<(&'static str, OsString)>,
}

impl Services {
    /// Provides what is wanted; what cannot be had is an error that names the packages to install.
    pub(crate) fn start(wanted: &BTreeSet<Service>) -> Result<Self> {
        let url = |service: Service| std::env::var(service.url_variable()).ok();
        let mut services = Self::default();
        for (service, source) in resolve(wanted, url, Service::find, install::installer())? {
            match source {
                Source::Given(url) => services.take(service, &url),
                Source::Found => services.launch(service)?,
            }
            // Tests that kill a server start one of their own, and say what is missing if they cannot.
            if let Ok(path) = service.find() {
                services
                    .variables
                    .push((service.binaries_variable(), path.into()));
            }
        }
        Ok(services)
    }

    /// Tells a command's tests where the servers are.
    pub(crate) fn tell(&self, command: &mut Command) {
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
    }

    fn take(&mut self, service: Service, url: &str) {
        let (title, variable) = (service.title(), service.url_variable());
        println!(
            "{title}: {}, from {variable}",
            source::without_password(url)
        );
        self.variables.push((variable, url.into()));
    }

    fn launch(&mut self, service: Service) -> Result<()> {
        let url = match service {
            Service::Postgres => {
                let server = Postgres::start(&PostgresOptions::default())?;
                self.postgres.insert(server).url()
            }
            Service::Redis => {
                let server = Redis::start(&RedisOptions::default())?;
                self.redis.insert(server).url()
            }
        };
        println!("{}: {url}, started for this run", service.title());
        self.variables.push((service.url_variable(), url.into()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_told_where_the_servers_are() {
        let mut services = Services::default();
        services.take(Service::Redis, "redis://:secret@example.org/");
        let mut command = Command::new("cargo");
        services.tell(&mut command);
        let told: Vec<_> = command.get_envs().collect();
        assert_eq!(
            told,
            [(
                "REDIS_URL".as_ref(),
                Some("redis://:secret@example.org/".as_ref())
            )]
        );
    }
}
