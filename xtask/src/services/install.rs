//! The distribution's packages of the servers, for those who may install them.

use std::fs;
use std::process::{Command, Stdio};

use super::source::Installer;
use crate::command::{answers, output, run};

/// Debian starts what it installs, unless this file forbids it.
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// Installs the packages named, with the file of the policy in place for that long only. A shell
/// does it all, so that the file goes away even when xtask is killed. A policy that is there already
/// is the administrator's, and stays as it is.
const SCRIPT: &str = r#"
set -eu
policy=$1
shift
if ! [ -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi
timeout 300 apt-get -o DPkg::Lock::Timeout=120 update -qq
timeout 900 apt-get -o DPkg::Lock::Timeout=120 install -y -qq --no-install-recommends "$@"
"#;

/// What installs packages here; none where this is not root on Debian or one of its descendants.
pub(super) fn installer() -> Option<Installer> {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let root = output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    let able = root && is_debian(&release) && answers(Command::new("apt-get").arg("--version"));
    able.then(|| {
        let install = |packages: &[&str]| {
            println!("installing {}", packages.join(", "));
            run(&mut script(POLICY, packages))
        };
        Box::new(install) as Installer
    })
}

fn script(policy: &str, packages: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", SCRIPT, "install", policy])
        .args(packages)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null());
    command
}

fn is_debian(release: &str) -> bool {
    release
        .lines()
        .filter_map(|line| line.strip_prefix("ID=").or(line.strip_prefix("ID_LIKE=")))
        .flat_map(|value| value.trim_matches(['"', '\'']).split_whitespace())
        .any(|id| matches!(id, "debian" | "ubuntu"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn debian_and_its_descendants_are_known() {
        for release in [
            "ID=debian",
            "NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian",
            "ID=linuxmint\nID_LIKE=\"ubuntu debian\"",
        ] {
            assert!(is_debian(release), "{release}");
        }
        for release in [
            "",
            "ID=fedora\nID_LIKE=\"rhel\"",
            "VERSION_ID=debian",
            "ID=debianish",
        ] {
            assert!(!is_debian(release), "{release}");
        }
    }

    /// Runs the script with an `apt-get` that notes how it was called and whether the policy stands.
    fn install(folder: &Scratch, succeeds: bool) -> (bool, String) {
        let policy = folder.join("policy-rc.d");
        let apt = folder.join("apt-get");
        let end = if succeeds { "true" } else { "false" };
        let (policy_shown, notes) = (policy.display(), folder.join("notes"));
        fs::write(
            &apt,
            format!(
                "#!/bin/sh\necho \"$@\" >>{notes}\n[ -x {policy_shown} ] && {policy_shown} || \
                 echo policy $? >>{notes}\n{end}\n",
                notes = notes.display()
            ),
        )
        .unwrap();
        fs::set_permissions(&apt, fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
        let mut command = script(&policy.display().to_string(), &["one", "two"]);
        let result = run(command.env("PATH", path));
        (result.is_ok(), fs::read_to_string(notes).unwrap())
    }

    #[test]
    fn nothing_is_started_while_packages_are_installed() {
        let folder = Scratch::new("install");
        let (succeeded, notes) = install(&folder, true);
        assert!(succeeded);
        let lines: Vec<&str> = notes.lines().collect();
        assert_eq!(lines.len(), 4, "{notes}");
        assert!(lines[0].ends_with("update -qq"), "{notes}");
        assert!(
            lines[2].ends_with("--no-install-recommends one two"),
            "{notes}"
        );
        assert_eq!([lines[1], lines[3]], ["policy 101"; 2]);
        assert!(!folder.join("policy-rc.d").exists());
    }

    #[test]
    fn a_failure_is_told_and_leaves_no_policy() {
        let folder = Scratch::new("install-fails");
        let (succeeded, notes) = install(&folder, false);
        assert!(!succeeded && !notes.contains("install"), "{notes}");
        assert!(!folder.join("policy-rc.d").exists());
    }

    #[test]
    fn the_administrators_policy_stays() {
        let folder = Scratch::new("install-policy");
        let policy = folder.join("policy-rc.d");
        fs::write(&policy, "#!/bin/sh\nexit 0\n").unwrap();
        assert!(install(&folder, true).0);
        assert_eq!(fs::read_to_string(policy).unwrap(), "#!/bin/sh\nexit 0\n");
    }
}
