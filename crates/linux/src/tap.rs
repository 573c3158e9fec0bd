//! TAP and macvtap devices: Ethernet frames of a namespace in the hands of this process.
//!
//! A TAP takes a frame off its socket at once (`skb_orphan` in the kernel's `tun_net_xmit`), so that TCP believes it sent.
//! A macvtap at the far end of a veth pair leaves it to the socket until it is read: TCP small queues sees what waits.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::sys::stat::{Mode, SFlag, mknod};

use crate::netns::Namespace;

/// Longest frame that is read: an 802.11 frame body holds less.
const LONGEST: usize = 4096;

/// A TAP device, which goes when this is dropped, or a macvtap.
#[derive(Debug)]
pub struct Tap {
    file: File,
}

impl Tap {
    /// Creates the device `name` in a namespace, down and without addresses.
    ///
    /// # Errors
    /// Without /dev/net/tun or the privilege.
    pub fn create(namespace: &Namespace, name: &str) -> io::Result<Tap> {
        let file = namespace.enter(|| {
            let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
            let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open("/dev/net/tun")?;
            attach(&file, name)?;
            Ok(file)
        })?;
        Ok(Tap { file })
    }

    /// Opens the macvtap with a device number. The node is made in `directory` and removed again.
    ///
    /// # Errors
    /// Without the privilege to make device nodes, or where `directory` forbids them.
    pub fn open_macvtap(device: libc::dev_t, directory: &Path) -> io::Result<Tap> {
        let node = directory.join(format!("macvtap-{device:x}"));
        mknod(&node, SFlag::S_IFCHR, Mode::S_IRUSR | Mode::S_IWUSR, device)?;
        let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(&node);
        std::fs::remove_file(&node)?;
        let file = file?;
        attach(&file, "")?;
        // SAFETY: the descriptor is open, and TUNSETOFFLOAD takes a plain number: no checksum is left to the reader.
        #[allow(unsafe_code)]
        let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETOFFLOAD, 0) };
        if result == 0 { Ok(Tap { file }) } else { Err(io::Error::last_os_error()) }
    }

    /// The next frame that the namespace has sent; `None` when there is none.
    ///
    /// # Errors
    /// What read(2) says.
    pub fn receive(&self) -> io::Result<Option<Vec<u8>>> {
        let mut buffer = [0; LONGEST];
        match (&self.file).read(&mut buffer) {
            Ok(len) => Ok(Some(buffer[..len].to_vec())),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Hands a frame to the namespace.
    ///
    /// # Errors
    /// What write(2) says, such as that the device is down.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        (&self.file).write(frame).map(|_| ())
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Makes `file` the device `name`.
fn attach(file: &File, name: &str) -> io::Result<()> {
    // SAFETY: ifreq is plain data, for which all zeros is a value.
    #[allow(unsafe_code)]
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name} is too long for an interface")));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the descriptor is open, and TUNSETIFF reads and writes one ifreq, which lives until the call returns.
    #[allow(unsafe_code)]
    let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
