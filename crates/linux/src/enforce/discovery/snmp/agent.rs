//! A simulated SNMP agent. Get-bulk's repetitions are where other requests have the error index.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use snmp2::{Oid, Pdu};

/// Tag, length, content.
pub(super) fn ber(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len() as u32;
    let mut bytes = vec![tag];
    match length {
        0..128 => bytes.push(length as u8),
        _ => bytes.extend([0x84].into_iter().chain(length.to_be_bytes())),
    }
    bytes.extend(content);
    bytes
}

pub(super) fn integer(number: u32) -> Vec<u8> {
    ber(2, &[[0].as_slice(), &number.to_be_bytes()].concat())
}

pub(super) fn row(name: &[u32], value: &[u8]) -> Vec<u8> {
    ber(0x30, &[ber(6, &encoded(name)), value.to_vec()].concat())
}

/// As the library, not what is tested, encodes it.
fn encoded(name: &[u32]) -> Vec<u8> {
    let numbers: Vec<u64> = name.iter().map(|number| u64::from(*number)).collect();
    Oid::from(&numbers).expect("an object identifier").as_bytes().to_vec()
}

fn numbers(name: &Oid) -> Vec<u32> {
    name.iter().expect("small").map(|number| number as u32).collect()
}

/// A response to request `id`.
pub(super) fn response(community: &[u8], id: u32, status: u32, rows: &[u8]) -> Vec<u8> {
    let pdu = ber(0xa2, &[integer(id), integer(status), integer(0), ber(0x30, rows)].concat());
    ber(0x30, &[integer(1), ber(4, community), pdu].concat())
}

/// An agent with a table: names and encoded values, in order.
pub(super) struct Agent {
    pub(super) at: SocketAddr,
    pub(super) asked: Arc<AtomicU32>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Names and encoded values, in order.
pub(super) type Table = Vec<(Vec<u32>, Vec<u8>)>;

pub(super) type Answer = Box<dyn Fn(u32, &Pdu, &[u32]) -> Option<Vec<u8>> + Send>;

impl Agent {
    /// `answer` gets the number of the request, the request and the name it begins at; `None` is silence.
    pub(super) fn new(socket: UdpSocket, answer: Answer) -> Agent {
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let (asked, ends) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
        let (at, counter, end) = (socket.local_addr().unwrap(), asked.clone(), ends.clone());
        let thread = spawn(move || {
            let mut buffer = [0; 2000];
            while !end.load(Ordering::SeqCst) {
                let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
                let pdu = Pdu::from_bytes(&buffer[..length]).expect("a request");
                let (name, _) = pdu.varbinds.clone().next().expect("a name");
                let number = counter.fetch_add(1, Ordering::SeqCst);
                if let Some(bytes) = answer(number, &pdu, &numbers(&name)) {
                    socket.send_to(&bytes, from).unwrap();
                }
            }
        });
        Agent { at, asked, ends, thread: Some(thread) }
    }

    /// One that has `table`, which may change.
    pub(super) fn with(socket: UdpSocket, community: &'static [u8], table: Arc<Mutex<Table>>) -> Agent {
        let answer = move |_, pdu: &Pdu, from: &[u32]| {
            let table = table.lock().unwrap();
            let after = table.iter().filter(|(name, _)| name.as_slice() > from).take(pdu.error_index as usize);
            let mut rows: Vec<u8> = after.flat_map(|(name, value)| row(name, value)).collect();
            if rows.is_empty() {
                rows = row(from, &[0x82, 0]);
            }
            (pdu.community == community).then(|| response(pdu.community, pdu.req_id as u32, 0, &rows))
        };
        Self::new(socket, Box::new(answer))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::SeqCst);
        let ended = self.thread.take().is_none_or(|thread| thread.join().is_ok());
        assert!(ended || std::thread::panicking(), "the agent panicked");
    }
}
