// SPDX-License-Identifier: Apache-2.0
//! What a user program sees and may do: the namespace of its host, a separate root ([`crate::programs::root`]), and the
//! capabilities that a server needs.

use crate::base::error::{Error, Result};
use crate::network::Network;
use crate::network::{netns, router_addresses};
use crate::programs::root::{Root, WRITABLE};
use leowarp_timeline::setup::Setup;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

const OPEN_FILES_MAX: libc::rlim_t = 4096;
/// The default timer slack of Linux (init/init_task.c). It is set because a program would otherwise inherit the agent's
/// slack of 1 ns.
const TIMER_SLACK_NS: libc::c_ulong = 50_000;
/// The capabilities chown, dac_override, dac_read_search, fowner, kill, setgid, setuid, net_bind_service and net_raw of
/// linux/capability.h.
const CAPABILITIES: u64 = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 10 | 1 << 13;

/// The environment of one program.
pub struct Place {
    pub root: Root,
    namespace: OwnedFd,
    directory: String,
}

/// The properties of an environment, besides the host.
pub struct Wanted<'a> {
    /// The unique name of the program's root.
    pub name: &'a str,
    /// The directory on the user's machine that becomes the root, as a path of the guest's hostfs.
    pub host_dir: &'a str,
    pub storage_bytes: u64,
    /// The working directory. None means the writable directory.
    pub directory: Option<&'a String>,
}

impl Place {
    /// Prepares the environment at a host's node.
    pub fn open(network: &Network, setup: &Setup, node: usize, wanted: &Wanted) -> Result<Self> {
        let namespace = network.inside(node, || {
            // Programs may do what they may do on an ordinary host: use ports below 1024, and ping without CAP_NET_RAW.
            netns::set_sysctl("net.ipv4.ip_unprivileged_port_start", "0")?;
            netns::set_sysctl("net.ipv4.ping_group_range", "0 2147483647")?;
            let opened = File::open("/proc/thread-self/ns/net").map(OwnedFd::from);
            opened.map_err(|source| Error::Kernel { attempt: "open a namespace".into(), source })
        })?;
        let root = Root::make(wanted.name, wanted.host_dir, wanted.storage_bytes, &names(setup))?;
        Ok(Self { root, namespace, directory: wanted.directory.cloned().unwrap_or_else(|| WRITABLE.into()) })
    }

    /// Returns the command that starts a program in this environment. The program gets only the environment variables
    /// in `environment`.
    pub fn command(&self, words: &[String], environment: &BTreeMap<String, String>) -> Result<Command> {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env_clear().envs(environment);
        let namespace = self.namespace.as_raw_fd();
        let root = c_string(&self.root.path.display().to_string())?;
        let directory = c_string(&self.directory)?;
        // SAFETY: `confine` makes only plain system calls, and its strings outlive the calls. Between fork and exec,
        // this code allocates no memory.
        unsafe {
            command.pre_exec(move || confine(namespace, &root, &directory));
        }
        Ok(command)
    }
}

/// Returns the error for a program that could not be started.
pub fn not_started(described: &str, source: &std::io::Error) -> Error {
    let hint = match source.kind() {
        std::io::ErrorKind::NotFound => {
            "it is looked for in the guest, where /run, /dev, /proc and /sys are the guest's own; PATH and the \
             working directory are those of the flow"
        }
        _ => "it must be a program for x86-64, or a script whose first line names one",
    };
    Error::Program { what: format!("{described} cannot be started: {source}"), hint: hint.into() }
}

/// Returns the text of /etc/hosts. The text contains each host of the setup with its scenario name, and with this name
/// in lower case. Routers with an address are also in the text.
fn names(setup: &Setup) -> String {
    let mut text =
        String::from(if setup.is_ipv6() { "127.0.0.1 localhost\n::1 localhost\n" } else { "127.0.0.1 localhost\n" });
    for host in &setup.hosts {
        let name = setup.nodes[host.node].name.trim_start_matches("host:").replace(char::is_whitespace, "-");
        let small = name.to_lowercase();
        let also = if small == name { String::new() } else { format!(" {small}") };
        text.push_str(&format!("{} {name}{also}\n", host.address));
    }
    text.push_str(&router_addresses::names(setup));
    text
}

/// Enters the namespace, the root and the directory of the program, and drops rights. This function runs between fork
/// and exec.
fn confine(namespace: RawFd, root: &std::ffi::CStr, directory: &std::ffi::CStr) -> std::io::Result<()> {
    let ok = |result: libc::c_long| if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) };
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Sets {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    const CLOSE_RANGE_CLOEXEC: u32 = 4;
    const ADDR_NO_RANDOMIZE: libc::c_ulong = 0x0040_0000;
    const LAST_CAPABILITY: u64 = 63;
    // SAFETY: these are plain system calls, and their arguments outlive the calls.
    unsafe {
        ok(libc::setsid().into())?;
        ok(libc::setns(namespace, libc::CLONE_NEWNET).into())?;
        ok(libc::chroot(root.as_ptr()).into())?;
        ok(libc::chdir(directory.as_ptr()).into())?;
        libc::umask(0o022);
        ok(libc::personality(ADDR_NO_RANDOMIZE).into())?;
        ok(libc::prctl(libc::PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0).into())?;
        for (resource, most) in [(libc::RLIMIT_NOFILE, OPEN_FILES_MAX), (libc::RLIMIT_CORE, 0)] {
            let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
            ok(libc::setrlimit(resource, &raw const limit).into())?;
        }
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        // The agent's descriptors will be closed when the program is executed. Some descriptors are needed until then.
        // These descriptors already have the flag close-on-exec.
        ok(libc::syscall(libc::SYS_close_range, 3, u32::MAX, CLOSE_RANGE_CLOEXEC))?;
        for capability in (0..=LAST_CAPABILITY).filter(|c| CAPABILITIES >> c & 1 == 0) {
            // EINVAL means that the kernel does not have the capability.
            libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
        }
        ok(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into())?;
        let header = Header { version: VERSION_3, pid: 0 };
        let kept = Sets { effective: CAPABILITIES as u32, permitted: CAPABILITIES as u32, inheritable: 0 };
        let none = Sets { effective: 0, permitted: 0, inheritable: 0 };
        let sets = [kept, none];
        ok(libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()))
    }
}

fn c_string(text: &str) -> Result<std::ffi::CString> {
    std::ffi::CString::new(text).map_err(|_| Error::Input(format!("{text:?} holds a 0")))
}
