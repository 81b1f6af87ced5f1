//! Identities of the Python package, and the addresses that name them.

use std::collections::{BTreeSet, HashMap};

use roomkit_core::model::Identity;

use super::source::{Source, record, text};

/// An identity's row, and those of addresses that go with it.
pub(super) struct IdentityRow {
    id: String,
    addresses: Vec<String>,
}

/// Every identity that can be read; the others are reported, and so are addresses of none.
pub(super) fn all(source: &mut Source) -> Vec<(IdentityRow, Identity)> {
    let sql = format!(
        "SELECT rowid, {}, {} FROM identities ORDER BY rowid",
        source.column("identities", "id"),
        source.column("identities", "data"),
    );
    let rows = source.rows("identities", &sql, &[], |row| {
        Ok((row.get::<_, i64>(0)?, text(row, 1), text(row, 2)))
    });
    let mut addresses: HashMap<String, Vec<AddressRow>> = HashMap::new();
    for row in address_rows(source) {
        let identity = row.identity.clone().unwrap_or_default();
        addresses.entry(identity).or_default().push(row);
    }
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    for (rowid, id, data) in rows {
        let name = id.clone().unwrap_or_else(|_| format!("rowid {rowid}"));
        let read = record::<Identity>(&data).and_then(|identity| {
            if id.as_ref().is_ok_and(|id| identity.id != *id.as_str()) {
                return Err("data: its id is another".to_owned());
            }
            if !seen.insert((identity.organization_id.clone(), identity.id.clone())) {
                return Err("there is another row with this key".to_owned());
            }
            Ok(identity)
        });
        match read {
            Ok(mut identity) => {
                let mut taken = Vec::new();
                if let Some(rows) = addresses.get_mut(identity.id.as_str()) {
                    rows.retain(|row| match row.add_to(&mut identity) {
                        true => {
                            taken.push(row.name());
                            false
                        }
                        false => true,
                    });
                }
                let row = IdentityRow {
                    addresses: taken,
                    id: name,
                };
                found.push((row, identity));
            }
            Err(why) => source.problem("identities", &name, why),
        }
    }
    let mut left: Vec<AddressRow> = addresses.into_values().flatten().collect();
    left.sort_by_key(|row| row.rowid);
    for row in left {
        let why = match (&row.kind, &row.address) {
            (Err(why), _) => format!("channel_type {why}"),
            (_, Err(why)) => format!("address {why}"),
            _ => "its identity is not there, or of another organisation".to_owned(),
        };
        source.problem("identity_addresses", &row.name(), why);
    }
    found
}

/// Notes what became of an identity.
pub(super) fn done(source: &mut Source, row: IdentityRow, was_there: bool) {
    if was_there {
        source.problem("identities", &row.id, "the identity's id is in use");
        for address in &row.addresses {
            source.problem(
                "identity_addresses",
                address,
                "its identity did not come over",
            );
        }
    } else {
        source.imported("identities", 1);
        source.imported("identity_addresses", row.addresses.len() as u64);
    }
}

struct AddressRow {
    rowid: i64,
    kind: Result<String, String>,
    address: Result<String, String>,
    identity: Option<String>,
    organization: Option<String>,
}

impl AddressRow {
    /// What a row is called in the report: an address is not for logs.
    fn name(&self) -> String {
        format!("rowid {}", self.rowid)
    }

    /// Adds the address to an identity, where it can be read and names this one.
    fn add_to(&self, identity: &mut Identity) -> bool {
        let organization = identity
            .organization_id
            .as_ref()
            .map_or("", |id| id.as_str());
        if self.organization.as_deref().unwrap_or_default() != organization {
            return false;
        }
        let (Ok(kind), Ok(address)) = (&self.kind, &self.address) else {
            return false;
        };
        let known = identity.channel_addresses.entry(kind.clone()).or_default();
        if !known.contains(address) {
            known.push(address.clone());
        }
        true
    }
}

fn address_rows(source: &mut Source) -> Vec<AddressRow> {
    let sql = format!(
        "SELECT rowid, {}, {}, {}, {} FROM identity_addresses ORDER BY rowid",
        source.column("identity_addresses", "channel_type"),
        source.column("identity_addresses", "address"),
        source.column("identity_addresses", "identity_id"),
        source.column("identity_addresses", "organization_id"),
    );
    source.rows("identity_addresses", &sql, &[], |row| {
        Ok(AddressRow {
            rowid: row.get(0)?,
            kind: text(row, 1),
            address: text(row, 2),
            identity: text(row, 3).ok(),
            organization: text(row, 4).ok(),
        })
    })
}
