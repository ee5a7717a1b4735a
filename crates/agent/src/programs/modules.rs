// SPDX-License-Identifier: Apache-2.0
//! Loads the kernel modules of a run and writes their parameters.

use crate::base::error::{Error, Result};
use crate::network::netns;
use leowarp_timeline::setup::{Module, Setup};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const AVAILABLE: &str = "net.ipv4.tcp_available_congestion_control";
/// The name of the module parameter that receives the run's time 0.
const ORIGIN: &str = "origin_ns";
/// The value of SYSLOG_ACTION_READ_ALL.
const READ_ALL: i32 = 3;

static OFFERS: OnceLock<String> = OnceLock::new();

/// Loads the user's modules from the run's input directory, and sets all parameters.
pub fn prepare(setup: &Setup, input: &Path) -> Result<()> {
    let mut offers = String::new();
    for module in &setup.modules {
        match &module.file {
            Some(file) => offers += &load(module, &input.join(file))?,
            None if parameters(&module.name).is_dir() => {}
            None => {
                let what =
                    format!("modules.{}: this guest kernel has no module of this name with parameters", module.name);
                let hint = format!("it has: {}", names(Path::new("/sys/module"), |d| d.join("parameters").is_dir())?);
                return Err(Error::Lacks { what, hint });
            }
        }
        module.parameters.iter().try_for_each(|(name, value)| write(&module.name, name, value))?;
    }
    OFFERS.get_or_init(|| offers);
    Ok(())
}

/// Returns the names that the loaded modules have registered, as text for the start of a hint. The text is empty if
/// there are no such names.
pub fn offers() -> &'static str {
    OFFERS.get().map_or("", String::as_str)
}

/// Writes the run's time 0 to the parameter `origin_ns` of every module that has it. The time is on the monotonic
/// clock.
pub fn set_origin(origin_ns: i64) -> Result<()> {
    for module in entries(Path::new("/sys/module"))? {
        if parameters(&module).join(ORIGIN).exists() {
            write(&module, ORIGIN, &origin_ns.to_string())?;
        }
    }
    Ok(())
}

/// Returns the directory of a module's parameters. The directory has the module's name, but each - is replaced by _.
fn parameters(module: &str) -> PathBuf {
    Path::new("/sys/module").join(module.replace('-', "_")).join("parameters")
}

/// Loads a module. Returns the names that the module registered, as text.
fn load(module: &Module, path: &Path) -> Result<String> {
    let file = File::open(path).map_err(|e| Error::Input(format!("open {}: {e}", path.display())))?;
    let before = netns::sysctl(AVAILABLE)?;
    // SAFETY: the parameters are an empty string that outlives the call.
    if unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), c"".as_ptr(), 0) } != 0 {
        let error = io::Error::last_os_error();
        let words = kernel_words(&module.name);
        let hint = match error.raw_os_error() {
            Some(libc::ENOEXEC) => "it was compiled against another kernel: give its source as --cc-module",
            Some(libc::EEXIST) => "the kernel has a module of this name: call the file otherwise",
            Some(libc::ENOENT) => "it uses a function that the kernel does not export to modules",
            _ => "see guest-console.txt for all that the kernel says",
        };
        return Err(Error::Lacks {
            what: format!("load the module {}: {error}{words}", module.name),
            hint: hint.into(),
        });
    }
    let after = netns::sysctl(AVAILABLE)?;
    let new: Vec<&str> = after.split(' ').filter(|name| !before.split(' ').any(|b| b == *name)).collect();
    let registers = if new.is_empty() { "no congestion control".into() } else { new.join(" ") };
    Ok(format!("the module {} registers {registers}; ", module.name))
}

/// Returns the kernel's last log lines about a module. Each line has a semicolon in front of it.
fn kernel_words(module: &str) -> String {
    let mut buffer = vec![0u8; 64 * 1024];
    // SAFETY: the buffer has the size that is passed.
    let n = unsafe { libc::klogctl(READ_ALL, buffer.as_mut_ptr().cast(), buffer.len() as i32) };
    let text = String::from_utf8_lossy(&buffer[..usize::try_from(n).unwrap_or(0)]).into_owned();
    let about: Vec<&str> = text.lines().filter(|line| line.contains(module)).map(without_stamp).collect();
    let last = about.len().saturating_sub(3);
    about[last..].iter().map(|line| format!("; {line}")).collect()
}

/// Removes level and time from a line of the kernel's log: `<4>[ 10.000000] words`.
fn without_stamp(line: &str) -> &str {
    line.split_once("] ").map_or(line, |(_, words)| words).trim_start()
}

fn write(module: &str, name: &str, value: &str) -> Result<()> {
    let path = parameters(module).join(name);
    let of = format!("modules.{module}.{name} = {value:?}");
    let before = match fs::read_to_string(&path) {
        Ok(before) => before,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let hint = match names(&parameters(module), |_| true)?.as_str() {
                "" => "it shows none: declare them with module_param(NAME, TYPE, 0644)".into(),
                known => format!("it has: {known} (those declared with module_param(NAME, TYPE, 0644))"),
            };
            return Err(Error::Lacks { what: format!("{of}: the module has no such parameter"), hint });
        }
        Err(source) => return Err(Error::Kernel { attempt: format!("read {}", path.display()), source }),
    };
    fs::write(&path, value).map_err(|e| {
        let hint = match e.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => format!("it can only be read: declare {name} with permissions 0644"),
            _ => format!("it holds {:?} by default", before.trim_end()),
        };
        Error::Lacks { what: format!("{of}: the guest kernel refuses it: {e}"), hint }
    })
}

fn failed(what: &str, path: &Path, source: io::Error) -> Error {
    Error::Kernel { attempt: format!("{what} {}", path.display()), source }
}

/// Returns the names in a directory for which `wanted` is true, as text for a hint.
fn names(directory: &Path, wanted: impl Fn(&Path) -> bool) -> Result<String> {
    let names = entries(directory)?.into_iter().filter(|name| wanted(&directory.join(name)));
    Ok(names.collect::<Vec<_>>().join(", "))
}

/// Returns the sorted names of a directory's entries. The list is empty if the directory does not exist.
fn entries(directory: &Path) -> Result<Vec<String>> {
    let listed = match fs::read_dir(directory) {
        Ok(listed) => listed,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(failed("read", directory, e)),
    };
    let mut out = Vec::new();
    for entry in listed {
        out.push(entry.map_err(|e| failed("read", directory, e))?.file_name().to_string_lossy().into_owned());
    }
    out.sort();
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_log_loses_its_stamp() {
        assert_eq!(
            without_stamp("<3>[   10.000256] my_cc: Unknown symbol [x] (err -2)"),
            "my_cc: Unknown symbol [x] (err -2)"
        );
        assert_eq!(without_stamp("my_cc"), "my_cc");
    }

    #[test]
    fn names_are_sorted_and_a_missing_directory_has_none() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(names(here, |p| p.join("main.rs").exists()).unwrap(), "src");
        let all = entries(here).unwrap();
        assert!(all.contains(&"Cargo.toml".to_string()) && all.is_sorted());
        assert!(entries(&here.join("nowhere")).unwrap().is_empty());
    }

    #[test]
    fn a_dash_is_written_as_the_kernel_writes_it() {
        assert_eq!(parameters("my-cc"), Path::new("/sys/module/my_cc/parameters"));
    }
}
