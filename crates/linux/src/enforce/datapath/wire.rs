//! Netlink where no crate covers it: HTB classes and nftables objects. Headers and attributes by hand, sockets by
//! netlink-sys.

use std::io;
use std::os::fd::AsFd as _;
use std::time::Duration;

use netlink_sys::{Socket, SocketAddr};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::enforce::octets::word;

const HEADER: usize = 16;
const REQUEST: u16 = 1;
const ACK: u16 = 4;
const DUMP: u16 = 0x300;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const NESTED: u16 = 1 << 15;

/// A socket of one netlink family, for requests that are answered at once.
#[derive(Debug)]
pub(crate) struct Requests {
    socket: Socket,
    sequence: u32,
    /// Reused from dump to dump.
    buffer: Vec<u8>,
}

impl Requests {
    pub(crate) fn new(family: isize) -> io::Result<Self> {
        let mut socket = Socket::new(family)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Requests { socket, sequence: 0, buffer: Vec::with_capacity(1 << 16) })
    }

    /// Asks for all objects of a kind and gives the payload of each to `each`.
    pub(crate) fn dump(&mut self, kind: u16, payload: &[u8], mut each: impl FnMut(&[u8])) -> io::Result<()> {
        self.send(kind, REQUEST | DUMP, payload)?;
        self.receive(&mut each)
    }

    /// What `read` makes of all objects of a kind.
    pub(crate) fn list<T>(
        &mut self,
        kind: u16,
        payload: &[u8],
        read: impl Fn(&[u8]) -> Option<T>,
    ) -> io::Result<Vec<T>> {
        let mut all = Vec::new();
        self.dump(kind, payload, |object| all.extend(read(object)))?;
        Ok(all)
    }

    /// Asks for one object and gives its payload to `each`.
    pub(crate) fn get(&mut self, kind: u16, payload: &[u8], mut each: impl FnMut(&[u8])) -> io::Result<()> {
        self.send(kind, REQUEST | ACK, payload)?;
        self.receive(&mut each)
    }

    /// Asks for a change and waits until it is done.
    pub(crate) fn change(&mut self, kind: u16, payload: &[u8]) -> io::Result<()> {
        self.get(kind, payload, |_| ())
    }

    fn send(&mut self, kind: u16, flags: u16, payload: &[u8]) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut message = Vec::with_capacity(HEADER + payload.len());
        message.extend(((HEADER + payload.len()) as u32).to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend(flags.to_ne_bytes());
        message.extend(self.sequence.to_ne_bytes());
        message.extend(0_u32.to_ne_bytes());
        message.extend(payload);
        self.socket.send(&message, 0).map(drop)
    }

    fn receive(&mut self, each: &mut impl FnMut(&[u8])) -> io::Result<()> {
        loop {
            self.buffer.clear();
            self.socket.recv(&mut self.buffer, 0)?;
            let mut rest = &self.buffer[..];
            while let Some((kind, sequence, payload, next)) = message(rest) {
                rest = next;
                // An answer to a request that was given up.
                if sequence != self.sequence {
                    continue;
                }
                match kind {
                    DONE => return Ok(()),
                    ERROR => {
                        let code = word(payload, 0).map_or(0, u32::cast_signed);
                        return if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-code)) };
                    }
                    _ => each(payload),
                }
            }
        }
    }
}

/// A netlink socket that receives the notifications of one multicast group.
#[derive(Debug)]
pub(crate) struct Events {
    socket: Socket,
    buffer: Vec<u8>,
}

impl Events {
    /// Room for what comes while nobody listens; the kernel gives as much as `net.core.rmem_max` allows.
    const ROOM: i32 = 1 << 20;
    /// Events within this time after the first are reported together.
    const GATHER: Duration = Duration::from_millis(20);

    pub(crate) fn new(family: isize, group: u32) -> io::Result<Self> {
        let mut socket = Socket::new(family)?;
        socket.bind_auto()?;
        socket.add_membership(group)?;
        socket.set_rx_buf_sz(Self::ROOM)?;
        socket.set_non_blocking(true)?;
        Ok(Events { socket, buffer: Vec::with_capacity(1 << 16) })
    }

    /// As small as the kernel allows, so that a test can fill it.
    #[cfg(test)]
    pub(crate) fn narrow(&self) -> io::Result<()> {
        self.socket.set_rx_buf_sz(1_i32)
    }

    /// Waits for events, at most for `patience`, and gives kind and payload of each to `each`.
    ///
    /// # Errors
    /// `ENOBUFS`: events were lost. The caller must dump the tables again.
    pub(crate) fn wait(&mut self, patience: Duration, mut each: impl FnMut(u16, &[u8])) -> io::Result<()> {
        let timeout = PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)], timeout) {
            Ok(0) | Err(nix::errno::Errno::EINTR) => return Ok(()),
            Ok(_) => std::thread::sleep(Self::GATHER),
            Err(error) => return Err(error.into()),
        }
        loop {
            self.buffer.clear();
            match self.socket.recv(&mut self.buffer, 0) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                read => read?,
            };
            let mut rest = &self.buffer[..];
            while let Some((kind, _, payload, next)) = message(rest) {
                rest = next;
                each(kind, payload);
            }
        }
    }
}

/// The first message of `bytes`: type, sequence number, payload, and what follows it.
fn message(bytes: &[u8]) -> Option<(u16, u32, &[u8], &[u8])> {
    let length = word(bytes, 0)? as usize;
    let payload = bytes.get(HEADER..length)?;
    let kind = u16::from_ne_bytes([bytes[4], bytes[5]]);
    let next = bytes.len().min(length.next_multiple_of(4));
    Some((kind, word(bytes, 8)?, payload, &bytes[next..]))
}

/// Attributes of `bytes` by type; what is malformed ends the list.
pub(crate) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let [a, b, c, d] = *bytes.first_chunk()?;
        let length = usize::from(u16::from_ne_bytes([a, b]));
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((u16::from_ne_bytes([c, d]) & !NESTED, value))
    })
}

/// The first attribute of type `wanted`.
pub(crate) fn attribute(bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(kind, _)| *kind == wanted).map(|(_, value)| value)
}

/// Appends an attribute.
pub(crate) fn put(message: &mut Vec<u8>, kind: u16, value: &[u8]) {
    message.extend(((4 + value.len()) as u16).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(value);
    message.resize(message.len().next_multiple_of(4), 0);
}

/// `struct tcmsg`.
pub(crate) fn traffic_control(interface: u32, handle: u32, parent: u32) -> Vec<u8> {
    [0, interface, handle, parent, 0].map(u32::to_ne_bytes).concat()
}

/// Appends an attribute that holds attributes.
pub(crate) fn put_nested(message: &mut Vec<u8>, kind: u16, value: &[u8]) {
    put(message, kind | NESTED, value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_read_back_and_malformed_ones_end_the_list() {
        let mut bytes = Vec::new();
        put(&mut bytes, 1, b"abc");
        put_nested(&mut bytes, 2, &[9; 8]);
        assert_eq!(attributes(&bytes).collect::<Vec<_>>(), [(1, &b"abc"[..]), (2, &[9; 8][..])]);
        for cut in 0..bytes.len() {
            assert!(attributes(&bytes[..cut]).count() <= 1 + usize::from(cut >= 20));
        }
        // A length of zero or beyond the end.
        assert_eq!(attributes(&[0, 0, 1, 0, 0, 0]).count(), 0);
        assert_eq!(attributes(&[255, 255, 1, 0, 0, 0]).count(), 0);
    }

    #[test]
    fn a_cut_message_is_none() {
        assert!(message(&[]).is_none() && message(&[20, 0, 0, 0, 1, 0]).is_none());
        assert!(message(&[0; 16]).is_none(), "shorter than its header");
    }
}
