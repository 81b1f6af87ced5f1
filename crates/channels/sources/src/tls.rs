//! TLS for both sources: rustls with ring and the roots of the machine, whatever else the process has
//! installed.

use std::sync::Arc;

use roomkit_core::{Error, Result};
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;

pub(crate) fn config() -> Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(|error| Error::source("TLS could not be set up").with_source(error))?;
    Ok(config.with_no_client_auth())
}
