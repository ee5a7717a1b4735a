// SPDX-License-Identifier: Apache-2.0
//! The additional consoles of the guest. Each additional console is connected to a pipe of the host
//! (`python/leowarp/guest/boot/consoles.py`).

use crate::base::error::{check, Error, Result};
use crate::programs::root;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The length of a gate's message. The message must be longer than the capacity of the gate's pipe. The host sets this
/// capacity to one page.
const MESSAGE_BYTES: usize = 8192;

/// Opens a terminal that does not become the controlling terminal.
pub fn opened(path: &Path) -> Result<File> {
    let opened = File::options().read(true).write(true).custom_flags(libc::O_NOCTTY).open(path);
    opened.map_err(|source| Error::Kernel { attempt: format!("open {}", path.display()), source })
}

/// Opens a console of the guest in raw mode, which transports bytes unchanged.
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

/// A console through which the host can stop the whole guest and its clock.
///
/// When the guest writes to a console, the guest's kernel returns only after the host's file has taken all bytes
/// (arch/um/drivers/chan_kern.c, `need_output_blocking`). If a message does not fit into the pipe, the guest stops
/// until the host has read the message.
pub struct Gate {
    console: File,
}

impl Gate {
    /// Creates a gate from a raw console.
    pub fn new(console: File) -> Self {
        Self { console }
    }

    /// Writes the message, and returns when the host has read it. The message's first line is the run time `t_ns`. The
    /// host reads this line before it decides how long to stop the guest.
    pub fn wait(&mut self, t_ns: i64) -> Result<()> {
        let text = format!("{:<width$}", format!("{t_ns}\n"), width = MESSAGE_BYTES);
        let written = self.console.write_all(text.as_bytes());
        written.map_err(|source| Error::Kernel { attempt: "wait for the host".into(), source })
    }
}
