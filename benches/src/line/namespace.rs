//! A network namespace, and the programs in it.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader};
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};

use tappers::Tun;

use super::PACKET;

/// The length of a device's own queue, in packets: so long that none is lost there.
const DEVICE_QUEUE: usize = 100_000;

/// A network namespace of its own, until this is dropped.
#[derive(Debug)]
pub struct Namespace {
    /// The process that keeps it, until the end of its standard input.
    keeper: Child,
}

impl Namespace {
    /// Makes a namespace without any device but the loopback.
    pub(super) fn new() -> io::Result<Self> {
        let mut keeper = Command::new("unshare")
            .args(["--net", "sh", "-c", "ip link set lo up && echo ready && exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = keeper.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let namespace = Self { keeper };
        let mut ready = String::new();
        BufReader::new(stdout).read_line(&mut ready)?;
        if ready.is_empty() {
            return Err(io::Error::other("a network namespace needs root, and the program ip"));
        }
        // No run learns from an earlier one.
        namespace.run("sysctl", &["-q", "-w", "net.ipv4.tcp_no_metrics_save=1"])?;
        Ok(namespace)
    }

    /// Returns a command that runs `program` in this namespace, before all ordinary
    /// programs, so that other work on this machine does not make it late. It ends
    /// with the thread that starts it.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{}/ns/net", self.keeper.id()));
        command.args(["--", "chrt", "--fifo", "1"]);
        command.args(["setpriv", "--pdeathsig", "KILL", "--"]).arg(program);
        command
    }

    /// Adds a TUN device with this address, which leads to another one.
    pub(super) fn add_device(
        &self,
        address: Ipv4Addr,
        to: Ipv4Addr,
        congestion: &str,
    ) -> io::Result<Tun> {
        let device = Tun::new()?;
        let name = device.name()?.name();
        let name = name.to_string_lossy();
        let (address, to) = (address.to_string(), to.to_string());
        let (packet, queue) = (PACKET.to_string(), DEVICE_QUEUE.to_string());
        let keeper = self.keeper.id().to_string();
        succeeds(Command::new("ip").args(["link", "set", "dev", &name, "netns", &keeper]))?;
        let ip = |arguments: &[&str]| self.run("ip", arguments);
        ip(&["address", "add", &address, "dev", &name])?;
        ip(&["link", "set", "dev", &name, "up", "mtu", &packet, "txqueuelen", &queue])?;
        ip(&["route", "add", &to, "dev", &name, "congctl", congestion])?;
        Ok(device)
    }

    fn run(&self, program: &str, arguments: &[&str]) -> io::Result<()> {
        succeeds(self.command(program).args(arguments))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// Runs a command to its end.
fn succeeds(command: &mut Command) -> io::Result<()> {
    match command.status()? {
        status if status.success() => Ok(()),
        status => Err(io::Error::other(format!("{command:?} has ended with {status}"))),
    }
}
