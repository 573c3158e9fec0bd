//! Packet sockets: whole frames of an interface, of which a filter in the kernel chooses a few.

use std::io::{self, Read as _};
use std::os::fd::AsRawFd as _;

use socket2::{Domain, SockAddr, SockFilter, Socket, Type};

use super::config::Mac;

/// As long a head of a frame as anybody reads, in bytes.
pub(super) const HEAD: usize = 96;
/// `ETH_P_ALL`.
const ALL: u16 = 3;

/// A packet socket that receives frames.
#[derive(Debug)]
pub(super) struct PacketSocket(Socket);

impl PacketSocket {
    /// Receives all that interface `index` receives and `filter` lets pass, and nothing that leaves there. On a port of a bridge that
    /// is before the bridge has seen the frame.
    pub(super) fn on_interface(index: u32, filter: &[SockFilter]) -> io::Result<Self> {
        // Nothing comes before the filter is there.
        let socket = Socket::new_raw(Domain::PACKET, Type::RAW, None)?;
        socket.attach_filter(filter)?;
        ignore_outgoing(&socket)?;
        socket.bind(&address(index, ALL, None)?)?;
        socket.set_nonblocking(true)?;
        Ok(PacketSocket(socket))
    }

    /// Receives frames of `protocol` that come to this box itself, on any interface, if `filter` lets them pass.
    pub(super) fn of_protocol(protocol: u16, filter: &[SockFilter]) -> io::Result<Self> {
        let socket = Socket::new_raw(Domain::PACKET, Type::RAW, None)?;
        socket.attach_filter(filter)?;
        socket.bind(&address(0, protocol, None)?)?;
        socket.set_nonblocking(true)?;
        Ok(PacketSocket(socket))
    }

    /// Frames that are sent have this `skb->priority`. Needs `CAP_NET_ADMIN`.
    pub(super) fn set_priority(&self, priority: u32) -> io::Result<()> {
        self.0.set_priority(priority)
    }

    /// Sends `frame`, of `protocol`, out of interface `index`.
    pub(super) fn send(&self, index: u32, protocol: u16, to: Mac, frame: &[u8]) -> io::Result<()> {
        self.0.send_to(frame, &address(index, protocol, Some(to))?).map(drop)
    }

    /// The head of the next frame, and its length; `WouldBlock` when there is none.
    pub(super) fn receive(&self, head: &mut [u8; HEAD]) -> io::Result<usize> {
        (&self.0).read(head)
    }
}

impl std::os::fd::AsRawFd for PacketSocket {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.0.as_raw_fd()
    }
}

/// `PACKET_IGNORE_OUTGOING` (Linux 4.20): frames that leave are not even copied for this socket.
fn ignore_outgoing(socket: &Socket) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open, and the kernel reads the one integer that is there.
    #[allow(unsafe_code)]
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_IGNORE_OUTGOING,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// `struct sockaddr_ll`; index 0 is any interface.
fn address(index: u32, protocol: u16, to: Option<Mac>) -> io::Result<SockAddr> {
    let index = i32::try_from(index).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the storage is zeroed and larger than sockaddr_ll, all of which is written.
    #[allow(unsafe_code)]
    let ((), address) = unsafe {
        SockAddr::try_init(|storage, length| {
            let link = storage.cast::<libc::sockaddr_ll>();
            (*link).sll_family = libc::AF_PACKET as u16;
            (*link).sll_protocol = protocol.to_be();
            (*link).sll_ifindex = index;
            if let Some(to) = to {
                (*link).sll_halen = 6;
                (&mut (*link).sll_addr)[..6].copy_from_slice(&to.0);
            }
            *length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            Ok(())
        })?
    };
    Ok(address)
}

/// Classic BPF, by its instructions.
pub(super) mod bpf {
    use socket2::SockFilter;

    /// Two bytes at `at`.
    pub(in crate::enforce) const fn half(at: u32) -> SockFilter {
        SockFilter::new(0x28, 0, 0, at)
    }

    /// A byte at `at`.
    pub(in crate::enforce) const fn byte(at: u32) -> SockFilter {
        SockFilter::new(0x30, 0, 0, at)
    }

    /// A random number (`SKF_AD_RANDOM`), of which the bits in `mask` stay.
    pub(in crate::enforce) const fn random(mask: u32) -> [SockFilter; 2] {
        [SockFilter::new(0x20, 0, 0, 0xffff_f000 + 56), SockFilter::new(0x54, 0, 0, mask)]
    }

    /// Goes on `yes` instructions later if what was read is `value`, else `no` later.
    pub(in crate::enforce) const fn is(value: u32, yes: u8, no: u8) -> SockFilter {
        SockFilter::new(0x15, yes, no, value)
    }

    /// Ends the program: the socket gets the first `bytes` bytes of the frame.
    pub(in crate::enforce) const fn keep(bytes: u32) -> SockFilter {
        SockFilter::new(0x06, 0, 0, bytes)
    }
}
