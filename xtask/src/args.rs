//! The few options the commands share.

use crate::error::{Error, Result};

/// The parsed options of one command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Args {
    /// What is not an option, in order.
    pub(crate) names: Vec<String>,
    /// `--scale N`: how many times longer than their short form the long tests run.
    pub(crate) scale: Option<u32>,
    /// `--seconds N`: how long a proof that goes on for ever goes on.
    pub(crate) seconds: Option<u32>,
    /// `--lines`: name each line.
    pub(crate) lines: bool,
    /// `-p CRATE`, any number of times.
    pub(crate) packages: Vec<String>,
    /// `--no-services`: leave out the tests that need a server.
    pub(crate) no_services: bool,
}

impl Args {
    /// Parses, accepting only the options in `known`.
    pub(crate) fn parse(arguments: &[String], known: &[&str]) -> Result<Self> {
        let mut args = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if !argument.starts_with('-') {
                args.names.push(argument.clone());
                continue;
            }
            if !known.contains(&argument.as_str()) {
                return Err(Error::Usage(format!(
                    "there is no option `{argument}` here"
                )));
            }
            match argument.as_str() {
                "--no-services" => args.no_services = true,
                "--lines" => args.lines = true,
                _ => args.take(argument, rest.next())?,
            }
        }
        Ok(args)
    }

    fn take(&mut self, argument: &str, value: Option<&String>) -> Result<()> {
        let value = value.ok_or_else(|| Error::Usage(format!("`{argument}` needs a value")))?;
        match argument {
            "--scale" => self.scale = Some(number(argument, value)?),
            "--seconds" => self.seconds = Some(number(argument, value)?),
            _ => self.packages.push(value.clone()),
        }
        Ok(())
    }

    /// Parses the arguments of a command that has no options, only names.
    pub(crate) fn names(arguments: &[String]) -> Result<Vec<String>> {
        Ok(Self::parse(arguments, &[])?.names)
    }
}

fn number(argument: &str, value: &str) -> Result<u32> {
    match value.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(Error::Usage(format!(
            "`{argument} {value}`: a whole number above 0 is needed"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args> {
        let words: Vec<String> = line.split_whitespace().map(String::from).collect();
        Args::parse(
            &words,
            &["--scale", "--seconds", "-p", "--no-services", "--lines"],
        )
    }

    #[test]
    fn options_and_names_mix() {
        let args = parse("crash --scale 3 -p a --no-services -p b").unwrap();
        assert_eq!(args.names, ["crash"]);
        assert_eq!((args.scale, args.seconds), (Some(3), None));
        assert_eq!(parse("soak --seconds 20").unwrap().seconds, Some(20));
        assert_eq!(args.packages, ["a", "b"]);
        assert!(args.no_services && !parse("crash").unwrap().no_services);
        let args = parse("--lines --seconds 90").unwrap();
        assert!(args.lines && args.seconds == Some(90));
    }

    #[test]
    fn nonsense_is_refused() {
        for line in [
            "--scale",
            "--scale 0",
            "--scale -1",
            "--scale many",
            "--seconds 0",
            "--sale 3",
            "-p",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
