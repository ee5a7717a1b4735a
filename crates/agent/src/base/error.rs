// SPDX-License-Identifier: Apache-2.0
//! The errors of the agent. The agent prints each error once on the guest's standard output, as `leowarp: {"error":
//! ..., "hint": ...}`.

use std::io;

/// The kinds of errors. The kind depends on what the user can do about the error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input is inconsistent, which is a mistake of leowarp's host side.
    #[error("{0}")]
    Input(String),
    /// The kernel refused an operation.
    #[error("{attempt}: {source}")]
    Kernel { attempt: String, source: io::Error },
    /// The guest kernel lacks a feature that the scenario needs.
    #[error("{what}")]
    Lacks { what: String, hint: String },
    /// A user program behaved unexpectedly or cannot run.
    #[error("{what}")]
    Program { what: String, hint: String },
    /// A file in the host's directory could not be written.
    #[error("write {file}: {source}")]
    Output { file: String, source: io::Error },
    /// The results of the run contradict each other.
    #[error("{0}")]
    Broken(String),
}

/// A result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Returns the error of the last system call. `attempt` says what the call was for.
    pub fn last_os(attempt: impl Into<String>) -> Self {
        Self::Kernel { attempt: attempt.into(), source: io::Error::last_os_error() }
    }

    /// Returns the error for a system call's error number. `attempt` is the call's purpose.
    pub fn errno(attempt: impl Into<String>, errno: i32) -> Self {
        Self::Kernel { attempt: attempt.into(), source: io::Error::from_raw_os_error(errno) }
    }

    fn lacks_memory(&self) -> bool {
        match self {
            Self::Kernel { source, .. } => matches!(source.raw_os_error(), Some(libc::ENOMEM | libc::ENOBUFS)),
            _ => false,
        }
    }

    /// Returns advice on what to do about the error.
    pub fn hint(&self) -> String {
        match self {
            Self::Input(_) => {
                "the guest's input comes from `leowarp run`; make agent and package of the same version (`make agent`)"
                    .into()
            }
            Self::Lacks { hint, .. } | Self::Program { hint, .. } => hint.clone(),
            Self::Output { source, .. } if source.raw_os_error() == Some(libc::ENOSPC) => {
                "the disk of the run directory is full; free some space and run again".into()
            }
            Self::Output { .. } => "check the run directory's permissions".into(),
            _ if self.lacks_memory() => "the guest is out of memory; raise guest.memory".into(),
            Self::Kernel { .. } | Self::Broken(_) => {
                "this should not happen: please report it with the plan of this run".into()
            }
        }
    }
}

/// Checks the result of a system call, which is -1 on failure.
pub fn check<T: Copy + PartialEq + From<i8>>(result: T, attempt: &str) -> Result<T> {
    if result == T::from(-1) {
        Err(Error::last_os(attempt))
    } else {
        Ok(result)
    }
}
