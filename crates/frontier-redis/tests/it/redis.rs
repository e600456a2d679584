//! A server of Redis for one test.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use frontier_redis::{RedisOptions, Server};
use test_support::free_port;

/// A script that has a server lose what it has of the crawl `lost`, but for the record of the
/// crawl and the partition of the host in its argument. It returns the number of keys.
pub(crate) const LOSE: &str = "
        local deleted = 0
        for _, key in ipairs(redis.call('KEYS', '{lost:*')) do
          local p = key:match('^{lost:%d+}')
          if redis.call('EXISTS', p .. ':h:' .. ARGV[1]) == 0 and key ~= '{lost:0}:crawl' then
            deleted = deleted + redis.call('DEL', key)
          end
        end
        return deleted";

/// A server on a Unix socket in a folder of its own. It ends with the test.
pub(crate) struct Redis {
    pub(crate) folder: PathBuf,
    arguments: Vec<String>,
    child: Child,
}

impl Redis {
    /// Starts a server that keeps its data in an append-only file, synced each second.
    pub(crate) fn start() -> Self {
        Self::start_with(Vec::new())
    }

    /// Starts a server with these arguments, beside its own.
    pub(crate) fn start_with(arguments: Vec<String>) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("frontier-redis-{}-{n}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        let child = Self::spawn(&folder, &arguments);
        let redis = Self { folder, arguments, child };
        redis.wait();
        redis
    }

    fn spawn(folder: &PathBuf, arguments: &[String]) -> Child {
        let mut command = Command::new("redis-server");
        command.args(["--port", "0", "--unixsocket", "socket", "--save", ""]).args(arguments);
        command.args(["--appendonly", "yes", "--appendfsync", "everysec"]);
        command.args(["--daemonize", "no"]).current_dir(folder);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("redis-server")
    }

    fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    fn wait(&self) {
        let begun = Instant::now();
        while self.try_command(&["PING"]).as_deref() != Some("PONG") {
            assert!(begun.elapsed() < Duration::from_secs(20), "redis-server does not start");
            thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn start_again(&mut self) {
        let _ = fs::remove_file(self.socket());
        self.child = Self::spawn(&self.folder, &self.arguments);
        self.wait();
    }

    /// Returns the length of the append-only file.
    pub(crate) fn appended(&self) -> u64 {
        fs::metadata(self.append_only_file()).map_or(0, |file| file.len())
    }

    /// Cuts the append-only file of a server that does not run.
    pub(crate) fn cut(&self, length: u64) {
        let file = fs::OpenOptions::new().write(true).open(self.append_only_file()).unwrap();
        file.set_len(length).unwrap();
    }

    /// Returns true while the server writes its append-only file anew.
    pub(crate) fn is_rewriting(&self) -> bool {
        self.command(&["INFO", "persistence"]).contains("aof_rewrite_in_progress:1")
    }

    /// Returns the file that the server appends to: the last one.
    pub(crate) fn append_only_file(&self) -> PathBuf {
        let number = |path: &PathBuf| -> Option<u32> {
            let name = path.file_name()?.to_str()?;
            name.strip_prefix("appendonly.aof.")?.strip_suffix(".incr.aof")?.parse().ok()
        };
        let files = fs::read_dir(self.folder.join("appendonlydir")).unwrap();
        files.map(|file| file.unwrap().path()).max_by_key(number).unwrap()
    }

    /// Returns the options for a crawl with leases of two seconds.
    pub(crate) fn options(&self, name: &str) -> RedisOptions {
        let server = Server::parse(&self.url()).unwrap();
        RedisOptions { lease: Duration::from_secs(2), ..RedisOptions::new(server, name) }
    }

    pub(crate) fn url(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// Returns the way to this server over a line on which each call takes so long, and the
    /// most bytes that have come back between two calls.
    pub(crate) fn afar(&self, time: Duration) -> (Server, Arc<AtomicUsize>) {
        let (path, socket) = (self.folder.join("afar"), self.socket());
        let (listener, most) = (UnixListener::bind(&path).unwrap(), Arc::new(AtomicUsize::new(0)));
        let of_lines = Arc::clone(&most);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                carry(client, UnixStream::connect(&socket).unwrap(), time, &of_lines);
            }
        });
        (Server::parse(&format!("unix://{}", path.display())).unwrap(), most)
    }

    /// Sends one command and returns its reply, if that is one line or one text.
    pub(crate) fn command(&self, words: &[&str]) -> String {
        self.try_command(words).unwrap()
    }

    /// Begins to record all commands of the server, those of scripts included.
    pub(crate) fn monitor(&self) -> Monitor {
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        stream.write_all(b"MONITOR\r\n").unwrap();
        let mut ok = [0; 5];
        stream.read_exact(&mut ok).unwrap();
        let reader = BufReader::new(stream.try_clone().unwrap());
        let reading = thread::spawn(|| reader.lines().map_while(Result::ok).collect());
        Monitor { stream, reading }
    }

    fn try_command(&self, words: &[&str]) -> Option<String> {
        let mut stream = UnixStream::connect(self.socket()).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
        let line: String = words.iter().map(|w| format!("${}\r\n{w}\r\n", w.len())).collect();
        stream.write_all(format!("*{}\r\n{line}", words.len()).as_bytes()).ok()?;
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end();
        if let Some(length) = line.strip_prefix('$') {
            let mut text = vec![0; length.parse().ok()?];
            reader.read_exact(&mut text).ok()?;
            return String::from_utf8(text).ok();
        }
        Some(line.get(1..)?.to_owned())
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A record of commands.
pub(crate) struct Monitor {
    stream: UnixStream,
    reading: thread::JoinHandle<Vec<String>>,
}

/// Carries bytes between a client and a server, calls after so long. Those that have come back
/// since the last call are counted, and `most` has the largest count.
fn carry(client: UnixStream, server: UnixStream, time: Duration, most: &Arc<AtomicUsize>) {
    let (mut calls, mut to_client) = (client.try_clone().unwrap(), client);
    let (mut replies, mut to_server) = (server.try_clone().unwrap(), server);
    let (send, on_their_way) = mpsc::channel::<(Instant, Vec<u8>)>();
    let count = Arc::new(AtomicUsize::new(0));
    thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(length @ 1..) = calls.read(&mut bytes) {
            let _ = send.send((Instant::now() + time, bytes[..length].to_vec()));
        }
    });
    let (since_call, most) = (Arc::clone(&count), Arc::clone(most));
    thread::spawn(move || {
        for (at, bytes) in on_their_way {
            thread::sleep(at.saturating_duration_since(Instant::now()));
            since_call.store(0, Ordering::SeqCst);
            if to_server.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = to_server.shutdown(Shutdown::Both);
    });
    thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(length @ 1..) = replies.read(&mut bytes) {
            let length_since = count.fetch_add(length, Ordering::SeqCst) + length;
            most.fetch_max(length_since, Ordering::SeqCst);
            if to_client.write_all(&bytes[..length]).is_err() {
                break;
            }
        }
    });
}

impl Monitor {
    /// Ends the record, and returns a line for each command.
    pub(crate) fn lines(self) -> Vec<String> {
        self.stream.shutdown(Shutdown::Both).unwrap();
        self.reading.join().unwrap()
    }
}

/// Starts three servers as the nodes of a cluster.
pub(crate) fn start_cluster() -> [Redis; 3] {
    let ports = [(); 6].map(|()| free_port());
    let mut n = 0;
    let nodes = [(); 3].map(|()| {
        let words = ["--port", "--cluster-port", "--cluster-enabled", "--bind"];
        let values =
            [ports[n].to_string(), ports[n + 3].to_string(), "yes".into(), "127.0.0.1".into()];
        n += 1;
        Redis::start_with(
            words.into_iter().map(str::to_owned).zip(values).flat_map(<[_; 2]>::from).collect(),
        )
    });
    let slots = [("0", "5460"), ("5461", "10922"), ("10923", "16383")];
    for (node, (first, last)) in nodes.iter().zip(slots) {
        node.command(&["CLUSTER", "ADDSLOTSRANGE", first, last]);
    }
    for n in [1, 2] {
        let (port, bus) = (ports[n].to_string(), ports[n + 3].to_string());
        nodes[0].command(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]);
    }
    let begun = Instant::now();
    let is_ready = |node: &Redis| {
        let info = node.command(&["CLUSTER", "INFO"]);
        info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3")
    };
    while !nodes.iter().all(is_ready) {
        assert!(begun.elapsed() < Duration::from_secs(30), "the cluster is not formed");
        thread::sleep(Duration::from_millis(50));
    }
    nodes
}
