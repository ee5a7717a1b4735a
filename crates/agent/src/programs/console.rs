// SPDX-License-Identifier: Apache-2.0
//! Additional consoles of the guest. Each additional console is connected to a pipe of the host
//! (`python/leowarp/guest/boot/consoles.py`).

use crate::base::error::{check, Error, Result};
use crate::programs::root;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Length of a gate's message. The message must be longer than the capacity of the pipe behind a gate; the host sets
/// this capacity to its minimum, one page.
const MESSAGE_BYTES: usize = 8192;

/// Opens a terminal that does not become this process's controlling terminal.
pub fn opened(path: &Path) -> Result<File> {
    let opened = File::options().read(true).write(true).custom_flags(libc::O_NOCTTY).open(path);
    opened.map_err(|source| Error::Kernel { attempt: format!("open {}", path.display()), source })
}

/// A console of the guest in raw mode, which transports bytes unchanged.
pub fn raw(number: u32) -> Result<File> {
    const TTY_MAJOR: u32 = 4;
    let path = PathBuf::from(format!("/dev/tty{number}"));
    root::make_device(&path, libc::makedev(TTY_MAJOR, number))?;
    let file = opened(&path)?;
    // SAFETY: a zeroed value is valid, and it outlives the calls.
    unsafe {
        let mut settings: libc::termios = std::mem::zeroed();
        check(libc::tcgetattr(file.as_raw_fd(), &raw mut settings), "read the settings of a console")?;
        libc::cfmakeraw(&raw mut settings);
        check(libc::tcsetattr(file.as_raw_fd(), libc::TCSANOW, &raw const settings), "make a console raw")?;
    }
    Ok(file)
}

/// A point at which the host can stop the whole guest, with its clock.
///
/// When the guest writes to a console, its kernel does not return before the host's file has taken everything, however
/// long that takes in real time (arch/um/drivers/chan_kern.c, `need_output_blocking`). If a message is longer than the
/// pipe behind the console, the guest therefore stops until the host has read all of the message.
pub struct Gate {
    console: File,
}

impl Gate {
    /// Creates a gate from a raw console.
    pub fn new(console: File) -> Self {
        Self { console }
    }

    /// Returns when the host has read the message and so lets the guest continue. The message begins with a line that
    /// contains the run time `t_ns`. The host reads this line before it decides how long to stop the guest.
    pub fn wait(&mut self, t_ns: i64) -> Result<()> {
        let text = format!("{:<width$}", format!("{t_ns}\n"), width = MESSAGE_BYTES);
        let written = self.console.write_all(text.as_bytes());
        written.map_err(|source| Error::Kernel { attempt: "wait for the host".into(), source })
    }
}
