// SPDX-License-Identifier: Apache-2.0
//! Further consoles of the guest; behind each is a pipe of the host (`python/leowarp/guest/boot/consoles.py`).

use crate::base::error::{check, Error, Result};
use crate::programs::root;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// More than the capacity of the pipe behind a gate, which the host makes as small as possible: a page.
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
    // SAFETY: a zeroed value is a valid one, and lives through the calls.
    unsafe {
        let mut settings: libc::termios = std::mem::zeroed();
        check(libc::tcgetattr(file.as_raw_fd(), &raw mut settings), "read the settings of a console")?;
        libc::cfmakeraw(&raw mut settings);
        check(libc::tcsetattr(file.as_raw_fd(), libc::TCSANOW, &raw const settings), "make a console raw")?;
    }
    Ok(file)
}

/// A place where the host can stop the whole guest, including its clock.
///
/// The kernel writes to a console's file on the host until everything is written, regardless of real time
/// (arch/um/drivers/chan_kern.c, `need_output_blocking`). A message longer than the pipe behind the console therefore
/// stops the guest until a reader has read all of it.
pub struct Gate {
    console: File,
}

impl Gate {
    /// Makes a gate from a raw console.
    pub fn new(console: File) -> Self {
        Self { console }
    }

    /// Returns when the host lets the guest continue. The message begins with the run time as a line, which the host
    /// may read before deciding.
    pub fn wait(&mut self, t_ns: i64) -> Result<()> {
        let text = format!("{:<width$}", format!("{t_ns}\n"), width = MESSAGE_BYTES);
        let written = self.console.write_all(text.as_bytes());
        written.map_err(|source| Error::Kernel { attempt: "wait for the host".into(), source })
    }
}
