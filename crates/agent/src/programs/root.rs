// SPDX-License-Identifier: Apache-2.0
//! The file system of a user program: a read-only directory of the user's machine, and a separate writable directory.
//!
//! Before working on this file, read docs/security.md and fs/hostfs/hostfs_kern.c. The user's machine checks each
//! access against the rights of the guest's user. The agent mounts the file systems before the program starts. The
//! program lacks CAP_SYS_ADMIN, so it cannot change the mounted file systems. /proc is mounted read-only, so /proc/sys
//! is not writable for the program. With write access, a program could set `core_pattern`. The kernel would then start
//! the program named there, outside the user program's root directory.

use crate::base::error::{check, Error, Result};
use std::ffi::CString;
use std::path::{Path, PathBuf};

/// The program's writable directory, `{run_dir}` in a scenario.
pub const WRITABLE: &str = "/run/leowarp";
const HOSTS_FILE: &str = "run/hosts";
/// The name, major number and minor number of each device (Documentation/admin-guide/devices.txt).
const DEVICES: [(&str, u32, u32); 5] =
    [("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9)];
const SMALL: &str = "size=1m,mode=755";

/// The root directory of one program.
#[derive(Debug, Clone)]
pub struct Root {
    pub path: PathBuf,
}

impl Root {
    /// Mounts a program's root at /programs/`name`. `host_dir` is a directory of the user's machine, in the form of a
    /// path that hostfs can mount. `hosts` is the text of the program's /etc/hosts.
    pub fn make(name: &str, host_dir: &str, storage_bytes: u64, hosts: &str) -> Result<Self> {
        let path = Path::new("/programs").join(name);
        make_dir(&path)?;
        let read_only = libc::MS_RDONLY | libc::MS_NOSUID | libc::MS_NODEV;
        mount("hostfs", &path, read_only, host_dir)?;
        for place in ["run", "dev", "proc", "sys", "etc/hosts"] {
            if !path.join(place).exists() {
                return Err(Error::Program {
                    what: format!("the root of programs has no /{place}, and the guest mounts its own there"),
                    hint: "flows.rootfs: make an empty directory run, dev, proc and sys, and a file etc/hosts in it"
                        .into(),
                });
            }
        }
        mount("tmpfs", &path.join("run"), libc::MS_NOSUID | libc::MS_NODEV, &format!("size={storage_bytes},mode=755"))?;
        let writable = path.join(WRITABLE.trim_start_matches('/'));
        make_dir(&writable)?;
        let hosts_file = path.join(HOSTS_FILE);
        std::fs::write(&hosts_file, hosts).map_err(|source| kernel("write the hosts file of programs", source))?;
        bind(&hosts_file, &path.join("etc/hosts"))?;
        mount("tmpfs", &path.join("dev"), libc::MS_NOSUID, SMALL)?;
        for (device, major, minor) in DEVICES {
            make_device(&path.join("dev").join(device), libc::makedev(major, minor))?;
        }
        for (link, to) in [("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")] {
            std::os::unix::fs::symlink(to, path.join("dev").join(link))
                .map_err(|e| kernel("make a link in /dev", e))?;
        }
        let shared = path.join("dev/shm");
        make_dir(&shared)?;
        bind(&writable, &shared)?;
        mount("proc", &path.join("proc"), read_only | libc::MS_NOEXEC, "")?;
        mount("tmpfs", &path.join("sys"), read_only | libc::MS_NOEXEC, SMALL)?;
        Ok(Self { path })
    }

    /// Adds the console `number` and /dev/tty to the root's devices. Processes use /dev/tty for their controlling
    /// terminal.
    pub fn add_terminal(&self, number: u32) -> Result<()> {
        const TTY_MAJOR: u32 = 4;
        let devices = self.path.join("dev");
        make_device(&devices.join("tty"), libc::makedev(5, 0))?;
        make_device(&devices.join(format!("tty{number}")), libc::makedev(TTY_MAJOR, number))
    }

    /// Returns the directory of the program's files, as a path of the agent.
    pub fn written(&self) -> PathBuf {
        self.path.join(WRITABLE.trim_start_matches('/'))
    }

    /// Returns whether the program's storage is full.
    pub fn is_full(&self) -> Result<bool> {
        let path = c_path(&self.path.join("run"))?;
        // SAFETY: a zeroed value is valid; the path and the value outlive the call.
        unsafe {
            let mut status: libc::statvfs = std::mem::zeroed();
            check(libc::statvfs(path.as_ptr(), &raw mut status), "look how full a program's directory is")?;
            Ok(status.f_bavail == 0 || status.f_ffree == 0)
        }
    }

    /// Copies the program's files to the directory `to` of the run's output. Only files and directories are copied.
    /// Links are not followed, so no link, device, pipe or socket reaches the user's machine.
    pub fn copy_out(&self, to: &Path) -> Result<()> {
        copy_directory(&self.written(), to)
    }
}

fn copy_directory(from: &Path, to: &Path) -> Result<()> {
    let output = |source| Error::Output { file: to.display().to_string(), source };
    let mut entries = std::fs::read_dir(from)
        .and_then(Iterator::collect::<std::io::Result<Vec<_>>>)
        .map_err(|e| kernel("read what a program wrote", e))?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        // The metadata are those of the entry itself, so a link is reported as a link and not as its target.
        let kind = entry.file_type().map_err(|e| kernel("read what a program wrote", e))?;
        let target = to.join(entry.file_name());
        if kind.is_dir() {
            copy_directory(&entry.path(), &target)?;
        } else if kind.is_file() {
            std::fs::create_dir_all(to).map_err(output)?;
            let mut source = std::fs::File::open(entry.path()).map_err(|e| kernel("read what a program wrote", e))?;
            // fs::copy is not used, because it would also copy the program's mode bits.
            let mut file = std::fs::File::create(&target).map_err(output)?;
            std::io::copy(&mut source, &mut file).map_err(output)?;
        }
    }
    Ok(())
}

fn kernel(attempt: &str, source: std::io::Error) -> Error {
    Error::Kernel { attempt: attempt.into(), source }
}

fn make_dir(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|source| kernel(&format!("make {}", path.display()), source))
}

fn c_path(path: &Path) -> Result<CString> {
    use std::os::unix::ffi::OsStrExt;
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Error::Broken(format!("{} holds a 0", path.display())))
}

fn mount(kind: &str, at: &Path, flags: libc::c_ulong, data: &str) -> Result<()> {
    let (kind, at_c, data) = (c_path(Path::new(kind))?, c_path(at)?, c_path(Path::new(data))?);
    // SAFETY: the strings outlive the call.
    let result = unsafe { libc::mount(kind.as_ptr(), at_c.as_ptr(), kind.as_ptr(), flags, data.as_ptr().cast()) };
    check(result, &format!("mount {kind:?} at {}", at.display())).map(|_| ())
}

fn bind(from: &Path, to: &Path) -> Result<()> {
    let (from, to) = (c_path(from)?, c_path(to)?);
    // SAFETY: the strings outlive the call.
    let result = unsafe { libc::mount(from.as_ptr(), to.as_ptr(), std::ptr::null(), libc::MS_BIND, std::ptr::null()) };
    check(result, &format!("bind {from:?} to {to:?}")).map(|_| ())
}

/// Creates a character device that everyone may open.
pub fn make_device(path: &Path, device: libc::dev_t) -> Result<()> {
    let path = c_path(path)?;
    // SAFETY: the string outlives the calls. chmod is needed because the umask restricts mknod.
    unsafe {
        check(libc::mknod(path.as_ptr(), libc::S_IFCHR, device), &format!("make {path:?}"))?;
        check(libc::chmod(path.as_ptr(), 0o666), &format!("open {path:?} to all")).map(|_| ())
    }
}
