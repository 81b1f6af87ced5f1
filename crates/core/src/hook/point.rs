//! What a hook point is: a type that fixes its payload, so that a hook of another does not compile.

use std::error::Error as StdError;

use super::{HookResult, HookTrigger};
use crate::model::EventSource;

/// How the hooks of a point run (RFC §9.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HookMode {
    /// One after the other, by priority; each may block or change the payload.
    Sync,
    /// Side by side, after the fact; none can block or change anything.
    Async,
}

/// What becomes of the payload when a synchronous hook yields no usable result: it fails, panics,
/// takes too long, or changes the payload into something that is not acceptable (RFC §9.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailurePolicy {
    /// It goes on unchanged: a broken hook does not take a room down.
    Allow,
    /// It is blocked: what the hook may exist to withhold is withheld.
    Block,
}

/// A place where hooks run. Core implements those whose payloads are its own; other crates, and
/// applications, implement theirs.
///
/// ```
/// use roomkit_core::hook::{FailurePolicy, HookPoint, HookResult, HookTrigger};
///
/// /// Before a fax is dialled; a hook may block the call or change the number.
/// #[derive(Debug, Clone, Copy)]
/// struct BeforeFax;
///
/// impl HookPoint for BeforeFax {
///     type Payload = String;
///     type Returns = HookResult<String>;
///     const TRIGGER: HookTrigger = HookTrigger::Custom("before_fax");
///     const FAILURE: FailurePolicy = FailurePolicy::Block;
/// }
/// ```
pub trait HookPoint: Send + Sync + 'static {
    /// What each hook of this point is given, to own.
    type Payload: Clone + Send + Sync + 'static;

    /// What each hook returns: [`HookResult<Self::Payload>`] where it can block and change the
    /// payload, `()` where it only observes.
    type Returns: HookReturn<Self::Payload>;

    /// The trigger's name, for logs, configuration and framework events.
    const TRIGGER: HookTrigger;

    /// How the hooks of this point run; it follows from what they return.
    const MODE: HookMode = <Self::Returns as HookReturn<Self::Payload>>::MODE;

    /// What a failing synchronous hook does to the payload. Default: [`FailurePolicy::Allow`].
    const FAILURE: FailurePolicy = FailurePolicy::Allow;

    /// The source that the hooks' filters look at. A filtered hook does not match a payload without.
    fn source(_payload: &Self::Payload) -> Option<&EventSource> {
        None
    }

    /// Whether a payload that a hook has changed needs no further hook. Default: never.
    fn is_settled(_payload: &Self::Payload) -> bool {
        false
    }
}

/// What the hooks of a point return; it decides how they run.
pub trait HookReturn<P>: Sized + Send + 'static + sealed::Sealed {
    /// The mode of a point whose hooks return this.
    const MODE: HookMode;

    /// The return value as the engine reads it; `payload` is what the hook was given.
    #[doc(hidden)]
    fn into_result(self, payload: &P) -> HookResult<P>;
}

impl<P: Send + 'static> HookReturn<P> for HookResult<P> {
    const MODE: HookMode = HookMode::Sync;

    fn into_result(self, _payload: &P) -> HookResult<P> {
        self
    }
}

impl<P> HookReturn<P> for () {
    const MODE: HookMode = HookMode::Async;

    fn into_result(self, _payload: &P) -> HookResult<P> {
        HookResult::allow()
    }
}

/// The error of a hook that can fail, where it has no type of its own.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// What a hook function may return for `R`: `R` itself, or a `Result` whose error is a failed hook.
#[diagnostic::on_unimplemented(
    message = "a hook at this point must return `{R}`, not `{Self}`",
    note = "hooks that decide return `HookResult<Payload>`, those that look on return `()`; either may \
            be the `Ok` of a `Result`"
)]
pub trait IntoHookReturn<R> {
    /// The value, or why there is none.
    ///
    /// # Errors
    /// The hook's own error.
    fn into_hook_return(self) -> Result<R, BoxError>;
}

impl<P> IntoHookReturn<HookResult<P>> for HookResult<P> {
    fn into_hook_return(self) -> Result<HookResult<P>, BoxError> {
        Ok(self)
    }
}

impl IntoHookReturn<()> for () {
    fn into_hook_return(self) -> Result<(), BoxError> {
        Ok(())
    }
}

impl<R, E: Into<BoxError>> IntoHookReturn<R> for Result<R, E> {
    fn into_hook_return(self) -> Result<R, BoxError> {
        self.map_err(Into::into)
    }
}

mod sealed {
    /// Keeps the two modes the only two.
    #[expect(unnameable_types, reason = "a sealed trait is not for naming")]
    pub trait Sealed {}
    impl<P> Sealed for super::HookResult<P> {}
    impl Sealed for () {}
    impl Sealed for Option<crate::hook::IdentityDecision> {}
}
